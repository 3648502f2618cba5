//! What one evaluation knows: the answers so far, the calls on their way, and what is left of its
//! budget.
//!
//! Owns the memo and the fetching between passes. Which call is noted, and whether a failure
//! counts, is decided by the pass (`batch`).

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::call::{Call, Key};
use super::flight::{Bell, Boarded, Grant, Outcome};
use super::ledger::{Entry, Ledger, Origin};
use super::recording::Replay;
use crate::client::Allowance;
use crate::text::shorten;
use crate::{Error, ErrorKind, NotFound, Platform, Product};

/// What one evaluation may cost. What the exact evaluation needs is counted, not guesses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Budget {
    /// How long it may take; 60 s by default.
    pub timeout: Duration,
    /// How many passes it may take; 200 by default.
    pub passes: u32,
    /// How many different calls; 20,000 by default.
    pub calls: usize,
    /// How many bytes of answers; 1 GiB by default.
    pub bytes: u64,
    /// Whether a prompt may be sent before it is certain that the policy asks for it.
    pub eager_prompts: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            passes: 200,
            calls: 20_000,
            bytes: 1 << 30,
            eager_prompts: false,
        }
    }
}

/// Who answers the calls of an evaluation.
#[derive(Debug, Clone)]
pub enum Answers {
    /// The service.
    Service(Platform),
    /// A recording, and nothing else.
    Replay(Arc<Replay>),
    /// Nobody: every call is an error that gives this advice, with the function's full name for
    /// `{function}`.
    Nobody(String),
}

struct Known {
    outcome: Outcome,
    origin: Origin,
    pass: u32,
    order: usize,
}

#[derive(Default)]
struct State {
    known: HashMap<Key, Known>,
    on_their_way: HashMap<Key, (Boarded, u32)>,
}

pub(crate) struct Session {
    pub product: Product,
    pub not_found: NotFound,
    pub budget: Budget,
    pub deadline: Instant,
    answers: Answers,
    state: Mutex<State>,
    bell: Arc<Bell>,
    exact_bytes: Arc<Allowance>,
    guess_bytes: Arc<Allowance>,
    guesses_left: AtomicUsize,
    /// Microseconds that the evaluation may still wait for guesses alone.
    guess_wait: AtomicU64,
    order: AtomicUsize,
}

/// Bytes that guesses of one evaluation may read.
const GUESS_BYTES: u64 = 64 << 20;

impl Session {
    pub fn new(product: Product, answers: Answers, not_found: NotFound, budget: Budget) -> Self {
        let now = Instant::now();
        let wait = u64::try_from(budget.timeout.as_micros() / 4).unwrap_or(u64::MAX);
        Self {
            product,
            not_found,
            deadline: now.checked_add(budget.timeout).unwrap_or_else(|| now + YEAR),
            answers,
            state: Mutex::default(),
            bell: Arc::default(),
            exact_bytes: Arc::new(Allowance::new(budget.bytes)),
            guess_bytes: Arc::new(Allowance::new(GUESS_BYTES.min(budget.bytes))),
            guesses_left: AtomicUsize::new(budget.calls),
            guess_wait: AtomicU64::new(wait),
            order: AtomicUsize::new(0),
            budget,
        }
    }

    /// The answer to a call, if it is known.
    pub fn known(&self, key: &Key) -> Option<Outcome> {
        self.lock().known.get(key).map(|known| known.outcome.clone())
    }

    /// Whether one more guess may be noted; counts it.
    pub fn may_guess(&self) -> bool {
        self.guesses_left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1))
            .is_ok()
    }

    pub fn has_guesses_left(&self) -> bool {
        self.guesses_left.load(Ordering::Relaxed) > 0 && self.guess_wait.load(Ordering::Relaxed) > 0
    }

    /// Fetches the first call, which the exact evaluation needs, and together with it the guesses
    /// behind it; returns once the first is answered and the guesses had their slice of time.
    pub fn fetch(&self, first: &Call, guesses: &[Call], pass: u32) -> Result<(), Error> {
        match &self.answers {
            Answers::Nobody(advice) => {
                let error = Error::new(ErrorKind::NotAnswered, "nobody answers this call here")
                    .with_hint(advice.replace("{function}", &first.key.function));
                self.learn(first, none(Err(error)), Origin::Replay, pass);
                Ok(())
            }
            Answers::Replay(replay) => {
                for call in std::iter::once(first).chain(guesses) {
                    self.learn(call, none(replay.answer(&call.key)), Origin::Replay, pass);
                }
                Ok(())
            }
            Answers::Service(platform) => {
                self.send(platform, first, false, pass)?;
                for call in guesses {
                    self.send(platform, call, true, pass)?;
                }
                self.await_first(platform, first, pass)?;
                self.await_guesses();
                Ok(())
            }
        }
    }

    fn send(&self, platform: &Platform, call: &Call, guess: bool, pass: u32) -> Result<(), Error> {
        {
            let mut state = self.lock();
            if state.known.contains_key(&call.key) {
                return Ok(());
            }
            if let Some((boarded, _)) = state.on_their_way.get(&call.key) {
                // What is only guessed about has a smaller allowance than what is needed.
                if guess || !boarded.flight.is_guess() {
                    return Ok(());
                }
                state.on_their_way.remove(&call.key);
            }
        }
        let allowance = if guess { &self.guess_bytes } else { &self.exact_bytes };
        let allowance = Arc::clone(allowance);
        let deadline = self.deadline.min(platform.call_deadline());
        let grant = Grant { deadline, allowance, guess };
        let boarded = platform.flights().board(platform, call, grant, &self.bell)?;
        self.lock().on_their_way.insert(call.key.clone(), (boarded, pass));
        Ok(())
    }

    /// Waits for the call that the exact evaluation needs.
    fn await_first(&self, platform: &Platform, first: &Call, pass: u32) -> Result<(), Error> {
        loop {
            if self.known(&first.key).is_some() {
                return Ok(());
            }
            if Instant::now() >= self.deadline {
                return Err(self.out_of_time());
            }
            // Again where it was somebody else's flight, or a guess, that ended at its own limit.
            self.send(platform, first, false, pass)?;
            self.bell.wait(self.deadline, |arrived| {
                self.collect(arrived);
                let state = self.lock();
                state.known.contains_key(&first.key) || !state.on_their_way.contains_key(&first.key)
            });
        }
    }

    /// Gives the guesses their slice of time; those still on their way then stay there.
    fn await_guesses(&self) {
        let left = Duration::from_micros(self.guess_wait.load(Ordering::Relaxed));
        let started = Instant::now();
        if !self.lock().on_their_way.is_empty() {
            self.bell.wait((started + left).min(self.deadline), |arrived| {
                self.collect(arrived);
                self.lock().on_their_way.is_empty()
            });
        }
        let spent = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let _ = self.guess_wait.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
            Some(left.saturating_sub(spent))
        });
    }

    /// Moves what arrived from its way into the memo.
    fn collect(&self, arrived: Vec<Key>) {
        let mut state = self.lock();
        for key in arrived {
            let outcome = match state.on_their_way.get(&key) {
                Some((boarded, _)) => boarded.flight.outcome().cloned(),
                None => None,
            };
            let Some(outcome) = outcome else { continue };
            let Some((boarded, pass)) = state.on_their_way.remove(&key) else { continue };
            let limit = matches!(&outcome.result, Err(e)
                if matches!(e.kind(), ErrorKind::TooLarge | ErrorKind::TimedOut));
            if limit && (boarded.joined || boarded.flight.is_guess()) {
                // Not known: the limit was another's, or a guess's.
                continue;
            }
            let origin = match (boarded.joined, outcome.cached) {
                (true, _) => Origin::Shared,
                (false, true) => Origin::Cache,
                (false, false) => Origin::Network,
            };
            let order = self.order.fetch_add(1, Ordering::Relaxed);
            state.known.insert(key, Known { outcome, origin, pass, order });
        }
    }

    fn learn(&self, call: &Call, outcome: Outcome, origin: Origin, pass: u32) {
        let order = self.order.fetch_add(1, Ordering::Relaxed);
        let known = Known { outcome, origin, pass, order };
        self.lock().known.insert(call.key.clone(), known);
    }

    pub fn out_of_time(&self) -> Error {
        Error::timed_out("the evaluation", self.budget.timeout)
            .with_hint("`--timeout` gives an evaluation more time")
    }

    /// The account: `used` are the calls of the pass that gave the result, with their number.
    pub fn ledger(&self, used: &HashMap<Key, u64>, passes: u32) -> Ledger {
        let state = self.lock();
        let mut rows: Vec<(u32, usize, Entry)> = state
            .known
            .iter()
            .map(|(key, known)| {
                let uses = used.get(key).copied().unwrap_or(0);
                let (outcome, cut) = match &known.outcome.result {
                    Ok(answer) => ("ok", answer.cut),
                    Err(error) => (error.kind().as_str(), false),
                };
                let entry = Entry {
                    function: key.function.to_string(),
                    arguments: shorten(&key.arguments, 200),
                    pass: known.pass,
                    needed: uses > 0,
                    origin: known.origin,
                    outcome,
                    cut,
                    uses,
                    attempts: known.outcome.attempts,
                    bytes: known.outcome.bytes,
                    latency: known.outcome.latency,
                };
                (known.pass, known.order, entry)
            })
            .collect();
        rows.sort_by_key(|(pass, order, _)| (*pass, *order));
        Ledger { passes, calls: rows.into_iter().map(|(_, _, entry)| entry).collect() }
    }

    /// The calls of the pass that gave the result, with their outcomes, for a recording.
    pub fn answers_of(&self, used: &HashSet<Key>) -> Vec<(Key, Outcome)> {
        let state = self.lock();
        let mut out: Vec<_> = used
            .iter()
            .filter_map(|key| state.known.get(key).map(|k| (key.clone(), k.outcome.clone())))
            .collect();
        out.sort_by(|(a, _), (b, _)| a.cmp(b));
        out
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const YEAR: Duration = Duration::from_secs(365 * 86_400);

fn none(result: Result<crate::builtins::Answer, Error>) -> Outcome {
    Outcome { result, attempts: 0, bytes: 0, latency: Duration::ZERO, cached: false }
}
