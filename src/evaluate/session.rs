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
use crate::builtins::Cost;
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
    /// Whether each call is sent only once the one before it is answered: nothing is guessed then,
    /// and nothing travels together.
    pub one_at_a_time: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            passes: 200,
            calls: 20_000,
            bytes: 1 << 30,
            eager_prompts: false,
            one_at_a_time: false,
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
    /// Nobody: every call is an error that gives this advice.
    Nobody(String),
}

struct Known {
    outcome: Outcome,
    origin: Origin,
    pass: u32,
    order: usize,
    /// What it took of the allowances for guesses, until it turns out to be needed.
    lent: Option<Lent>,
}

#[derive(Debug, Clone, Copy)]
struct Lent {
    bytes: u64,
}

/// A call on its way.
struct Sent {
    boarded: Boarded,
    pass: u32,
    guess: bool,
    prompt: bool,
}

#[derive(Default)]
struct State {
    known: HashMap<Key, Known>,
    on_their_way: HashMap<Key, Sent>,
    /// Calls whose answers were more than a guess may cost.
    refused: HashSet<Key>,
    /// The longest that an answer took so far.
    slowest: Duration,
}

/// What became of a guess.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    /// It is to be fetched.
    Noted,
    /// It isn't worth asking for.
    Idle,
    /// No more guesses are allowed.
    UsedUp,
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

/// Bytes that guesses of one evaluation may read; those that turn out to be needed don't count.
const GUESS_BYTES: u64 = 64 << 20;

/// How long nothing has to arrive until guesses are no longer waited for, at least.
const QUIET: Duration = Duration::from_millis(250);

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
    pub fn known(&self, key: &Key, pass: u32) -> Option<Outcome> {
        if let Some(known) = self.lock().known.get(key) {
            return Some(known.outcome.clone());
        }
        let Answers::Service(platform) = &self.answers else { return None };
        let outcome = platform.flights().remembered(key)?;
        self.learn(key, outcome.clone(), Origin::Shared, pass);
        Some(outcome)
    }

    /// Whether one more guess may be noted; counts it unless it is on its way.
    pub fn may_guess(&self, key: &Key) -> Guess {
        let state = self.lock();
        if state.refused.contains(key) {
            return Guess::Idle;
        }
        if state.on_their_way.contains_key(key) {
            return Guess::Noted;
        }
        drop(state);
        let left = self
            .guesses_left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        if left.is_ok() { Guess::Noted } else { Guess::UsedUp }
    }

    /// The exact evaluation needs the answer to `key`: if it was guessed, what it took of the
    /// allowances for guesses comes back.
    pub fn needed(&self, key: &Key) {
        let mut state = self.lock();
        let Some(lent) = state.known.get_mut(key).and_then(|known| known.lent.take()) else {
            return;
        };
        self.guesses_left.fetch_add(1, Ordering::AcqRel);
        if lent.bytes > 0 {
            self.guess_bytes.give_back(lent.bytes);
            state.refused.clear();
        }
    }

    /// Fetches the first call, which the exact evaluation needs, and together with it the guesses
    /// behind it; returns once the first is answered and the guesses had their slice of time.
    pub fn fetch(&self, first: &Call, guesses: &[Call], pass: u32) -> Result<(), Error> {
        match &self.answers {
            Answers::Nobody(advice) => {
                let error = Error::new(ErrorKind::NotAnswered, "nobody answers this call here")
                    .with_hint(advice.clone());
                self.learn(&first.key, none(Err(error)), Origin::Replay, pass);
                Ok(())
            }
            Answers::Replay(replay) => {
                for call in std::iter::once(first).chain(guesses) {
                    self.learn(&call.key, none(replay.answer(&call.key)), Origin::Replay, pass);
                }
                Ok(())
            }
            Answers::Service(platform) => {
                self.send(platform, first, false, pass)?;
                for call in guesses {
                    self.send(platform, call, true, pass)?;
                }
                self.await_first(platform, first, pass, self.deadline)?;
                self.await_guesses(pass);
                Ok(())
            }
        }
    }

    /// Fetches one call and waits for it, but not beyond `until`: then it stays on its way.
    pub fn fetch_until(&self, call: &Call, pass: u32, until: Instant) -> Result<(), Error> {
        match &self.answers {
            Answers::Service(platform) => self.await_first(platform, call, pass, until),
            _ => self.fetch(call, &[], pass),
        }
    }

    fn send(&self, platform: &Platform, call: &Call, guess: bool, pass: u32) -> Result<(), Error> {
        let prompt = call.function.cost == Cost::Prompt;
        let mut state = self.lock();
        if state.known.contains_key(&call.key) || state.on_their_way.contains_key(&call.key) {
            return Ok(());
        }
        let deadline = platform.call_deadline();
        let grant = if prompt {
            // Not this evaluation's limits: others that ask the same at the same time join it,
            // and must not have to ask again for more money.
            Grant { deadline, allowance: None }
        } else {
            let allowance = if guess { &self.guess_bytes } else { &self.exact_bytes };
            let allowance = Some(Arc::clone(allowance));
            Grant { deadline: deadline.min(self.deadline), allowance }
        };
        let boarded = platform.flights().board(platform, call, grant, &self.bell)?;
        state.on_their_way.insert(call.key.clone(), Sent { boarded, pass, guess, prompt });
        Ok(())
    }

    /// Waits for the call that the exact evaluation needs.
    fn await_first(
        &self,
        platform: &Platform,
        first: &Call,
        pass: u32,
        until: Instant,
    ) -> Result<(), Error> {
        loop {
            // Again where it was somebody else's flight, or a guess, that ended at its own limit.
            self.send(platform, first, false, pass)?;
            loop {
                let state = self.lock();
                if state.known.contains_key(&first.key) {
                    return Ok(());
                }
                if !state.on_their_way.contains_key(&first.key) {
                    break;
                }
                drop(state);
                let now = Instant::now();
                if now >= self.deadline {
                    return Err(self.out_of_time());
                }
                if now >= until {
                    return Ok(());
                }
                // Not longer at once: a pass that was left behind may hear the bell instead.
                self.collect(self.bell.wait(until.min(now + QUIET)));
            }
        }
    }

    /// Gives the guesses of a pass their slice of time; those still on their way then stay there.
    fn await_guesses(&self, pass: u32) {
        let started = Instant::now();
        let left = Duration::from_micros(self.guess_wait.load(Ordering::Relaxed));
        let until = (started + left).min(self.deadline);
        let state = self.lock();
        let mut pending = state.on_their_way.values().filter(|sent| sent.pass == pass).count();
        let mut quiet = QUIET.max(state.slowest * 2);
        drop(state);
        while pending > 0 {
            let arrived = self.bell.wait(until.min(Instant::now() + quiet));
            if arrived.is_empty() {
                break;
            }
            let (landed, slowest) = self.collect_of(arrived, pass);
            pending = pending.saturating_sub(landed);
            quiet = QUIET.max(slowest * 2);
        }
        let spent = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let _ = self.guess_wait.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
            Some(left.saturating_sub(spent))
        });
    }

    fn collect(&self, arrived: Vec<Key>) {
        let _ = self.collect_of(arrived, 0);
    }

    /// Moves what arrived from its way into the memo; how many of them `pass` had noted, and the
    /// longest that an answer took so far.
    fn collect_of(&self, arrived: Vec<Key>, pass: u32) -> (usize, Duration) {
        let mut state = self.lock();
        let mut landed = 0;
        for key in arrived {
            let outcome = match state.on_their_way.get(&key) {
                Some(sent) => sent.boarded.flight.outcome().cloned(),
                None => None,
            };
            let Some(outcome) = outcome else { continue };
            let Some(sent) = state.on_their_way.remove(&key) else { continue };
            landed += usize::from(sent.pass == pass);
            state.slowest = state.slowest.max(outcome.latency);
            if self.is_anothers(&sent, &outcome) {
                if sent.guess {
                    state.refused.insert(key);
                }
                continue;
            }
            let origin = match (sent.boarded.joined, outcome.cached) {
                (true, _) => Origin::Shared,
                (false, true) => Origin::Cache,
                (false, false) => Origin::Network,
            };
            let paid = sent.guess && !sent.prompt && !sent.boarded.joined;
            let lent = sent.guess.then_some(Lent { bytes: if paid { outcome.bytes } else { 0 } });
            let order = self.order.fetch_add(1, Ordering::Relaxed);
            state.known.insert(key, Known { outcome, origin, pass: sent.pass, order, lent });
        }
        (landed, state.slowest)
    }

    /// Whether a failure says more about the limits of who sent the call, or of a guess, than
    /// about what the call deserves here: then it isn't known, and asked again if it is needed.
    fn is_anothers(&self, sent: &Sent, outcome: &Outcome) -> bool {
        let Err(error) = &outcome.result else { return false };
        if sent.prompt {
            // Asking again would cost again.
            return false;
        }
        match error.kind() {
            ErrorKind::TooLarge | ErrorKind::TimedOut => sent.boarded.joined || sent.guess,
            // Fewer repetitions than there would have been time for here.
            ErrorKind::Unavailable | ErrorKind::RateLimited => {
                sent.boarded.joined && sent.boarded.flight.deadline() < self.deadline
            }
            _ => false,
        }
    }

    fn learn(&self, key: &Key, outcome: Outcome, origin: Origin, pass: u32) {
        let order = self.order.fetch_add(1, Ordering::Relaxed);
        let known = Known { outcome, origin, pass, order, lent: None };
        self.lock().known.insert(key.clone(), known);
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
