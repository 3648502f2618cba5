//! Evaluation in passes: independent calls of one policy travel together.
//!
//! Owns what a pass does with a call and when the passes end. A call whose answer is known
//! returns it; another one is noted and returns undefined, and from then on the pass is no longer
//! exact: its result, errors, prints and coverage are thrown away. Between passes the noted calls
//! are fetched at once. A pass that noted nothing is the evaluation's.
//!
//! Work beyond the first noted call is a guess: it never sends a prompt, never raises a failure,
//! and has a slice of time and an allowance of calls and bytes that end the pass at most.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use regorus::Value;

use super::call::{Call, Key};
use super::flight::Outcome;
use super::scope::{Calls, Chance, Scope};
use super::session::{Guess, Session};
use crate::builtins::Cost;
use crate::{Error, ErrorKind, NotFound};

/// How long a pass may take in which guesses could loop, to begin with; less where an evaluation
/// has little time.
const SLICE: Duration = Duration::from_secs(2);

/// After so many passes in a row that each found one new call, the next passes get credit for
/// blocking calls: `every` stops at its first unknown call, so nothing is gained by passes.
const SINGLES: u32 = 3;

/// The first credit, and how it grows while passes go on finding one new call: there are few
/// passes however long such a chain is, and few calls travel alone once it ends.
const CREDIT: u64 = 4;

/// Calls in one pass.
pub(crate) struct Pass {
    session: Arc<Session>,
    number: u32,
    /// How many more unknown calls block instead of being noted.
    credit: AtomicU64,
    /// When the credit ends, and when guessing does.
    guess_until: Instant,
    exact: AtomicBool,
    /// Whether the time for guesses ended the pass.
    late: AtomicBool,
    notes: Mutex<Notes>,
    bytes: AtomicU64,
}

#[derive(Default)]
struct Notes {
    first: Option<Call>,
    first_at: Option<Instant>,
    guesses: Vec<Call>,
    noted: HashSet<Key>,
    /// Calls made while the pass was exact, with their number.
    used: HashMap<Key, u64>,
}

impl Calls for Pass {
    fn call(&self, function: &str, args: Vec<Value>) -> Result<Value, Error> {
        let exact = self.exact.load(Ordering::Relaxed);
        let call = match Call::new(&self.session.product, function, &args) {
            Ok(call) => call,
            Err(error) if exact => return Err(error),
            // What a guess gets wrong, the exact evaluation may never ask.
            Err(_) => return Ok(Value::Undefined),
        };
        if exact { self.exactly(call) } else { self.guess(call) }
    }
}

impl Pass {
    /// A pass that never notes: each call is fetched when it is made.
    pub fn exact(session: Arc<Session>) -> Self {
        let until = session.deadline;
        Self::new(session, 1, u64::MAX, until)
    }

    fn new(session: Arc<Session>, number: u32, credit: u64, guess_until: Instant) -> Self {
        Self {
            session,
            number,
            credit: AtomicU64::new(credit),
            guess_until,
            exact: AtomicBool::new(true),
            late: AtomicBool::new(false),
            notes: Mutex::default(),
            bytes: AtomicU64::new(0),
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call that the evaluation certainly makes.
    fn exactly(&self, call: Call) -> Result<Value, Error> {
        let first_use = self.count(&call.key)?;
        if let Some(outcome) = self.session.known(&call.key, self.number) {
            return self.raise(&call, outcome, first_use);
        }
        if self.may_block() {
            let until = self.block_until();
            self.session.fetch_until(&call, self.number, until)?;
            if let Some(outcome) = self.session.known(&call.key, self.number) {
                return self.raise(&call, outcome, first_use);
            }
            if until == self.session.deadline {
                return Err(self.session.out_of_time());
            }
        }
        let mut notes = self.notes();
        notes.noted.insert(call.key.clone());
        notes.first = Some(call);
        notes.first_at = Some(Instant::now());
        self.exact.store(false, Ordering::Relaxed);
        Ok(Value::Undefined)
    }

    /// Whether an unknown call may be waited for; uses up credit.
    fn may_block(&self) -> bool {
        match self.credit.load(Ordering::Relaxed) {
            0 => false,
            u64::MAX => true,
            credit => {
                self.credit.store(credit - 1, Ordering::Relaxed);
                Instant::now() < self.guess_until
            }
        }
    }

    fn block_until(&self) -> Instant {
        let all = self.credit.load(Ordering::Relaxed) == u64::MAX;
        if all { self.session.deadline } else { self.guess_until }
    }

    /// A call that only follows from the ignorance of another one.
    fn guess(&self, call: Call) -> Result<Value, Error> {
        if let Some(outcome) = self.session.known(&call.key, self.number) {
            return Ok(outcome.result.map_or(Value::Undefined, |answer| answer.value));
        }
        let mut notes = self.notes();
        if notes.noted.contains(&call.key) {
            return Ok(Value::Undefined);
        }
        if call.function.cost == Cost::Prompt && !self.session.budget.eager_prompts {
            return Ok(Value::Undefined);
        }
        let late = Instant::now() >= self.guess_until;
        if late {
            self.late.store(true, Ordering::Relaxed);
        }
        match self.session.may_guess(&call.key) {
            Guess::Noted if !late => {
                notes.noted.insert(call.key.clone());
                notes.guesses.push(call);
                Ok(Value::Undefined)
            }
            Guess::Idle if !late => Ok(Value::Undefined),
            _ => Err(Error::new(ErrorKind::Internal, "the pass ends here")),
        }
    }

    /// Counts a use of a call against the budget; whether it is the first in this pass.
    fn count(&self, key: &Key) -> Result<bool, Error> {
        let mut notes = self.notes();
        if let Some(uses) = notes.used.get_mut(key) {
            *uses += 1;
            return Ok(false);
        }
        let limit = self.session.budget.calls;
        if notes.used.len() >= limit {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("the evaluation makes more than {limit} calls, its limit"),
            )
            .with_hint("`--max-calls` raises the limit"));
        }
        notes.used.insert(key.clone(), 1);
        Ok(true)
    }

    /// What the policy sees of a known answer.
    fn raise(&self, call: &Call, outcome: Outcome, first_use: bool) -> Result<Value, Error> {
        if first_use {
            self.session.needed(&call.key);
            let before = self.bytes.fetch_add(outcome.bytes, Ordering::Relaxed);
            let limit = self.session.budget.bytes;
            if before.saturating_add(outcome.bytes) > limit {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!("the answers of this evaluation are larger than {limit} bytes"),
                )
                .with_hint("`--max-bytes` raises the limit"));
            }
        }
        match outcome.result {
            Ok(answer) => Ok(answer.value),
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && self.session.not_found == NotFound::Undefined =>
            {
                Ok(Value::Undefined)
            }
            Err(error) => Err(error.in_call(Arc::clone(&call.key.function))),
        }
    }
}

/// The last pass of an evaluation.
pub(crate) struct Last<T> {
    pub result: Result<T, Error>,
    /// The calls that the result depends on, with their number.
    pub used: HashMap<Key, u64>,
    pub passes: u32,
}

/// Evaluates in passes until one notes nothing. `asks` says whether there can be calls; `run` makes one pass under a scope, `failed`
/// says whether it ended with an error.
pub(crate) fn drive<T>(
    session: &Arc<Session>,
    chance: &Arc<Chance>,
    strict: bool,
    asks: bool,
    run: impl Fn(&Arc<Scope>) -> T,
    failed: impl Fn(&T) -> bool,
) -> Last<T> {
    let mut driver = Driver::new(session, asks);
    loop {
        driver.passes += 1;
        let blocking = driver.credit == u64::MAX;
        let span = tracing::debug_span!("pass", number = driver.passes, blocking);
        let _entered = span.enter();
        let started = Instant::now();
        let until = driver.until(session, started);
        let guess_until = started + until.saturating_duration_since(started) / 4 * 3;
        let pass =
            Arc::new(Pass::new(Arc::clone(session), driver.passes, driver.credit, guess_until));
        let result = match driver.refuse(session) {
            Some(error) => Err(error),
            None => {
                let calls: Arc<dyn Calls> = Arc::clone(&pass) as Arc<dyn Calls>;
                let scope = Scope::new(calls, Arc::clone(chance)).strict(strict);
                Ok(run(&Arc::new(scope.until(until, session.budget.timeout))))
            }
        };
        let late = Instant::now() >= until || pass.late.load(Ordering::Relaxed);
        let notes = std::mem::take(&mut *pass.notes());
        let Some(first) = notes.first else {
            if result.as_ref().is_ok_and(&failed) && driver.was_cut_short(session, late) {
                continue;
            }
            return Last { result, used: notes.used, passes: driver.passes };
        };
        // The result may be large; it is worth nothing.
        drop(result);
        let thrown_away = ThrownAway {
            took: started.elapsed(),
            guessed: notes.first_at.map(|at| at.elapsed()).unwrap_or_default(),
            ran_out: Instant::now() >= until,
            late,
            guesses: notes.guesses.len(),
        };
        driver.learn(session, &thrown_away);
        if let Err(error) = session.fetch(&first, &notes.guesses, driver.passes) {
            return Last { result: Err(error), used: notes.used, passes: driver.passes };
        }
    }
}

/// Where the passes of an evaluation stand.
struct Driver {
    /// How many unknown calls of a pass may block; all of them where it is `u64::MAX`.
    credit: u64,
    singles: u32,
    /// How long a pass may take that can be inexact.
    slice: Duration,
    /// What was spent on passes that were thrown away.
    spent: Duration,
    passes: u32,
}

impl Driver {
    fn new(session: &Session, asks: bool) -> Self {
        Self {
            credit: if session.budget.one_at_a_time || !asks { u64::MAX } else { 0 },
            singles: 0,
            slice: SLICE.min(session.budget.timeout / 8),
            spent: Duration::ZERO,
            passes: 0,
        }
    }

    fn refuse(&self, session: &Session) -> Option<Error> {
        if Instant::now() >= session.deadline {
            return Some(session.out_of_time());
        }
        let limit = session.budget.passes;
        (self.passes > limit).then(|| {
            Error::new(
                ErrorKind::TooLarge,
                format!("the evaluation takes more than {limit} passes, its limit"),
            )
            .with_hint("`--max-passes` raises the limit")
        })
    }

    /// When a pass ends that starts now: regorus can't be told to stop once a pass has become
    /// inexact, so a pass in which that can happen gets a slice of the time from the beginning.
    fn until(&self, session: &Session, now: Instant) -> Instant {
        match self.credit {
            u64::MAX => session.deadline,
            0 => session.deadline.min(now + self.slice),
            // Blocking calls take their time too.
            _ => session.deadline.min(now + self.slice * 4),
        }
    }

    /// Whether an exact pass ended because its slice did: it is run again with more time.
    fn was_cut_short(&mut self, session: &Session, late: bool) -> bool {
        let cut = late && self.credit < u64::MAX && Instant::now() < session.deadline;
        if cut {
            self.extend(session);
            self.passes -= 1;
        }
        cut
    }

    /// A longer slice, or no more guesses where that would take too much of the time.
    fn extend(&mut self, session: &Session) {
        let left = session.deadline.saturating_duration_since(Instant::now());
        if self.slice * 16 <= left {
            self.slice *= 4;
        } else {
            self.credit = u64::MAX;
        }
    }

    /// After an inexact pass: how the next ones go on.
    fn learn(&mut self, session: &Session, pass: &ThrownAway) {
        self.spent += pass.took;
        if pass.guesses == 0 {
            self.singles += 1;
            if self.singles >= SINGLES {
                self.credit = self.credit.saturating_mul(CREDIT).max(CREDIT);
            }
        } else {
            self.singles = 0;
            self.credit = 0;
        }
        if pass.ran_out && pass.guessed > self.slice / 2 {
            // It loops where an answer is missing: the next pass would do so again.
            self.credit = u64::MAX;
        } else if pass.ran_out || (pass.late && pass.guesses < FEW) {
            self.extend(session);
        }
        if self.spent > session.budget.timeout / 4 {
            self.credit = u64::MAX;
        }
    }
}

/// What an inexact pass teaches.
struct ThrownAway {
    took: Duration,
    /// How long it went on after its first noted call.
    guessed: Duration,
    ran_out: bool,
    late: bool,
    guesses: usize,
}

/// So few guesses aren't worth a pass that ran into its time for guesses.
const FEW: usize = 16;
