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
use super::session::Session;
use crate::builtins::Cost;
use crate::{Error, ErrorKind, NotFound};

/// How long a pass may go on after its first noted call.
const GUESS_SLICE: Duration = Duration::from_secs(2);

/// After so many passes in a row that each found one new call, the rest runs in one pass with
/// blocking calls: `every` stops at its first unknown call, so nothing is gained by passes.
const SINGLES: u32 = 3;

/// Calls in one pass.
pub(crate) struct Pass {
    session: Arc<Session>,
    number: u32,
    /// Whether unknown calls block instead of being noted.
    blocking: bool,
    exact: AtomicBool,
    /// Whether a guess ended the pass.
    ended: AtomicBool,
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
        Self::new(session, 1, true)
    }

    fn new(session: Arc<Session>, number: u32, blocking: bool) -> Self {
        Self {
            session,
            number,
            blocking,
            exact: AtomicBool::new(true),
            ended: AtomicBool::new(false),
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
        if let Some(outcome) = self.session.known(&call.key) {
            return self.raise(&call, outcome, first_use);
        }
        if self.blocking {
            self.session.fetch(&call, &[], self.number)?;
            return match self.session.known(&call.key) {
                Some(outcome) => self.raise(&call, outcome, first_use),
                None => Err(self.session.out_of_time()),
            };
        }
        let mut notes = self.notes();
        notes.noted.insert(call.key.clone());
        notes.first = Some(call);
        notes.first_at = Some(Instant::now());
        self.exact.store(false, Ordering::Relaxed);
        Ok(Value::Undefined)
    }

    /// A call that only follows from the ignorance of another one.
    fn guess(&self, call: Call) -> Result<Value, Error> {
        if let Some(outcome) = self.session.known(&call.key) {
            return Ok(outcome.result.map_or(Value::Undefined, |answer| answer.value));
        }
        let mut notes = self.notes();
        if notes.noted.contains(&call.key) {
            return Ok(Value::Undefined);
        }
        if call.function.cost == Cost::Prompt && !self.session.budget.eager_prompts {
            return Ok(Value::Undefined);
        }
        let late = notes.first_at.is_some_and(|at| at.elapsed() > GUESS_SLICE);
        if late || !self.session.may_guess() {
            self.ended.store(true, Ordering::Relaxed);
            return Err(Error::new(ErrorKind::Internal, "the pass ends here"));
        }
        notes.noted.insert(call.key.clone());
        notes.guesses.push(call);
        Ok(Value::Undefined)
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

/// Evaluates in passes until one notes nothing. `run` makes one pass under a scope, and returns
/// an error when anything failed under it.
pub(crate) fn drive<T>(
    session: &Arc<Session>,
    chance: &Arc<Chance>,
    strict: bool,
    run: impl Fn(&Arc<Scope>) -> Result<T, Error>,
) -> Last<T> {
    let mut driver = Driver { blocking: false, singles: 0, cautious: true, passes: 0 };
    loop {
        driver.passes += 1;
        let span = tracing::debug_span!("pass", number = driver.passes, blocking = driver.blocking);
        let _entered = span.enter();
        let pass = Arc::new(Pass::new(Arc::clone(session), driver.passes, driver.blocking));
        let result = match driver.refuse(session) {
            Some(error) => Err(error),
            None => run(&driver.scope(session, chance, strict, &pass)),
        };
        let notes = std::mem::take(&mut *pass.notes());
        let Some(first) = notes.first else {
            if driver.was_cut_short(session, &result) {
                continue;
            }
            return Last { result, used: notes.used, passes: driver.passes };
        };
        driver.learn(session, &pass, &result, notes.guesses.len());
        if let Err(error) = session.fetch(&first, &notes.guesses, driver.passes) {
            return Last { result: Err(error), used: notes.used, passes: driver.passes };
        }
    }
}

/// Where the passes of an evaluation stand.
struct Driver {
    blocking: bool,
    singles: u32,
    /// Whether a pass gets a part of the time only, so that a guess can't use up all of it.
    cautious: bool,
    passes: u32,
}

impl Driver {
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

    fn scope(
        &self,
        session: &Session,
        chance: &Arc<Chance>,
        strict: bool,
        pass: &Arc<Pass>,
    ) -> Arc<Scope> {
        let timeout = session.budget.timeout;
        let slice = Instant::now() + timeout / 8;
        let until = if self.cautious && !self.blocking {
            slice.min(session.deadline)
        } else {
            session.deadline
        };
        let calls: Arc<dyn Calls> = Arc::clone(pass) as Arc<dyn Calls>;
        Arc::new(Scope::new(calls, Arc::clone(chance)).strict(strict).until(until, timeout))
    }

    /// An exact pass that ran into the slice of a cautious one is run again with all the time.
    fn was_cut_short<T>(&mut self, session: &Session, result: &Result<T, Error>) -> bool {
        let timed_out = matches!(result, Err(e) if e.kind() == ErrorKind::TimedOut);
        let cut = self.cautious && !self.blocking && timed_out && Instant::now() < session.deadline;
        if cut {
            self.cautious = false;
            self.passes -= 1;
        }
        cut
    }

    /// After an inexact pass: whether further passes are worth it.
    fn learn<T>(
        &mut self,
        session: &Session,
        pass: &Pass,
        result: &Result<T, Error>,
        guesses: usize,
    ) {
        self.singles = if guesses == 0 { self.singles + 1 } else { 0 };
        let timed_out = matches!(result, Err(e) if e.kind() == ErrorKind::TimedOut);
        let overran = pass.ended.load(Ordering::Relaxed) || timed_out;
        if overran || self.singles >= SINGLES || !session.has_guesses_left() {
            self.blocking = true;
        }
    }
}
