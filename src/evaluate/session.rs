//! The state of one evaluation across its passes: its answers, its calls in flight, and the rest of
//! its budget.
//!
//! Owns the memo, the allowances and the ledger. Sending and waiting belong to `fetch`; the pass
//! (`batch`) decides which calls are noted and whether a failure counts.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::budget::{Answers, Budget};
use super::call::{CheckedCall, Target};
use super::cancellation::Cancellation;
use super::dispatcher::Dispatcher;
use super::ledger::{CallRecord, Ledger, Origin};
use super::memory::Reservation;
use super::options::EvaluateOptions;
use crate::client::Allowance;
use crate::flight::{CallOutcome, InFlightCall, Key, Notifier};
use crate::functions::is_skipped;
use crate::http::Http;
use crate::load::HostFunction;
use crate::observe::Observers;
use crate::runtime::{LazyRuntime, Runtime};
use crate::text::shorten;
use crate::{Error, Limit, NotFound, Product, TraceParent, setting};

/// A call whose answer is known.
pub(super) struct Known {
    pub(super) outcome: CallOutcome,
    pub(super) origin: Origin,
    pub(super) pass: u32,
    pub(super) order: usize,
    /// The call's share of the allowances for guesses, until it turns out to be needed.
    pub(super) guess_cost: Option<GuessCost>,
}

/// The amounts that a guess took from the allowances.
#[derive(Debug, Clone, Copy)]
pub(super) struct GuessCost {
    /// The bytes taken from the allowance for guesses.
    pub(super) bytes: u64,
    /// The value's share of the memory for guesses.
    pub(super) memory: u64,
}

/// A call in flight.
pub(super) struct Sent {
    pub(super) call: InFlightCall,
    pub(super) pass: u32,
    pub(super) guess: bool,
    pub(super) prompt: bool,
    /// `true` if the memory of its answer is taken from the allowance for guesses as it arrives.
    pub(super) weighed: bool,
    /// `true` if the host's function is called, not the service.
    pub(super) host: bool,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) known: HashMap<Key, Known>,
    pub(super) in_flight: HashMap<Key, Sent>,
    /// Calls whose answers exceeded the allowance for guesses.
    pub(super) refused: HashSet<Key>,
    /// The longest latency of an answer so far.
    pub(super) slowest: Duration,
    /// The last call that the exact evaluation waited for, unless it was answered in time.
    pub(super) waited: Option<Key>,
}

/// The decision about a guess.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    /// The guess is recorded and will be fetched.
    Noted,
    /// The guess isn't fetched again: it is in flight, or its response was too large for a guess.
    Idle,
    /// No more guesses are allowed.
    UsedUp,
}

pub(crate) struct Session {
    pub product: Product,
    pub not_found: NotFound,
    pub budget: Budget,
    pub deadline: Instant,
    pub(super) answers: Answers,
    pub(super) state: Mutex<State>,
    pub(super) notifier: Arc<Notifier>,
    pub(super) exact_bytes: Arc<Allowance>,
    pub(super) guess_bytes: Arc<Allowance>,
    /// The memory that the values of guesses may still take, in bytes.
    pub(super) guess_memory: Arc<Allowance>,
    /// The memory that its answers share with other evaluations.
    pub(super) shared_memory: Reservation,
    guesses_left: AtomicUsize,
    right_guesses: AtomicUsize,
    /// The time that the evaluation may still wait for guesses alone, in microseconds.
    pub(super) guess_wait: AtomicU64,
    pub(super) order: AtomicUsize,
    cancellation: Option<Cancellation>,
    /// The host's own functions.
    pub(super) functions: Arc<[HostFunction]>,
    pub(super) host: Arc<LazyRuntime>,
    /// The client for requests of the policy itself.
    http: Option<Http>,
    pub(super) observer: Observers,
    pub(super) trace: Option<TraceParent>,
}

/// The time after its deadline within which a pass should have ended by itself.
const GRACE: Duration = Duration::from_millis(100);

/// The size of answers that guesses of one evaluation may read; guesses that turn out to be needed
/// don't count.
const GUESS_BYTES: u64 = 256 << 20;

impl Session {
    pub fn new(
        product: Product,
        functions: Arc<[HostFunction]>,
        host: Arc<LazyRuntime>,
        options: &EvaluateOptions,
    ) -> Self {
        let notifier: Arc<Notifier> = Arc::default();
        let budget = options.budget.clone();
        let cancellation = options.cancellation.clone();
        if let Some(cancellation) = &cancellation {
            cancellation.wakes(notifier.waker());
        }
        let now = Instant::now();
        let wait = u64::try_from(budget.timeout.as_micros() / 4).unwrap_or(u64::MAX);
        Self {
            product,
            not_found: options.not_found,
            deadline: now.checked_add(budget.timeout).unwrap_or_else(|| now + YEAR),
            answers: options.answers.clone(),
            observer: options.observer.clone(),
            trace: options.trace.clone(),
            state: Mutex::default(),
            notifier,
            cancellation,
            functions,
            host,
            http: options.http.clone(),
            exact_bytes: Arc::new(Allowance::new(budget.bytes)),
            guess_bytes: Arc::new(Allowance::new(GUESS_BYTES.min(budget.bytes))),
            guess_memory: Arc::new(Allowance::new(budget.memory / 4)),
            shared_memory: Reservation::new(options.memory.clone()),
            guesses_left: AtomicUsize::new(budget.calls),
            right_guesses: AtomicUsize::new(0),
            guess_wait: AtomicU64::new(wait),
            order: AtomicUsize::new(0),
            budget,
        }
    }

    /// Returns `true` if the host cancelled the evaluation.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.as_ref().is_some_and(Cancellation::is_cancelled)
    }

    /// Returns a future that ends with the evaluation's time, or when it is cancelled.
    pub fn ended(&self) -> Result<impl Future<Output = ()> + use<'_>, Error> {
        let timer = {
            let _entered = Runtime::clock()?.handle().enter();
            tokio::time::sleep_until(self.deadline.into())
        };
        let mut timer = Box::pin(timer);
        Ok(poll_fn(move |cx| {
            self.notifier.waker().register(cx.waker());
            if self.is_cancelled() {
                return Poll::Ready(());
            }
            timer.as_mut().poll(cx)
        }))
    }

    /// Returns a future that ends when a pass is overdue, which looks at the time only where it can.
    pub fn overdue(&self) -> Result<impl Future<Output = ()> + use<>, Error> {
        let _entered = Runtime::clock()?.handle().enter();
        Ok(tokio::time::sleep_until((self.deadline + GRACE).into()))
    }

    /// Returns what sends a call; `None` for a call that a recording or a responder answers.
    pub(super) fn dispatcher<'a>(&'a self, call: &'a CheckedCall) -> Option<Dispatcher<'a>> {
        Some(match (&call.target, &self.answers) {
            (_, Answers::Replay(_)) => return None,
            (Target::Http(request), _) => Dispatcher::Http(self.http.as_ref()?, request),
            (Target::Lookup(name), _) => Dispatcher::Lookup(self.http.as_ref()?, name),
            (Target::Host { function, arguments }, _) => {
                Dispatcher::Host(&self.host, function, arguments)
            }
            (Target::Product { request, .. }, Answers::Service(platform)) => {
                Dispatcher::Service(platform, request)
            }
            _ => return None,
        })
    }

    /// Returns a policy's own network call unchanged if a client or a recording can answer it.
    pub(super) fn may_ask(&self, call: CheckedCall) -> Result<CheckedCall, Error> {
        let allowed = self.http.as_ref().is_some_and(|http| !http.allowed().is_empty());
        if allowed || matches!(self.answers, Answers::Replay(_)) {
            return Ok(call);
        }
        let function = &call.key.function;
        let hint = format!("allow the host, or replace the call: `with {function} as {{…}}`");
        Err(Error::not_answered("not enabled: no host is allowed")
            .with_hint(hint)
            .by_setting(setting::ALLOWED_HOSTS)
            .in_call(Arc::clone(function)))
    }

    /// Adds the advice for calls without a response to the hint of an error about a call.
    pub(super) fn with_advice(&self, error: Error, function: &str) -> Error {
        let advice = match &self.answers {
            Answers::Unavailable(advice) if !advice.is_empty() => advice,
            _ => return error,
        };
        let hint = error.hint().map_or_else(String::new, |hint| format!("{hint}; "));
        error.with_hint(hint + &advice.replace("{function}", function))
    }

    /// Returns the outcome of a call, if it is known.
    pub fn known(&self, key: &Key, pass: u32) -> Option<CallOutcome> {
        if let Some(known) = self.state.lock().known.get(key) {
            return Some(known.outcome.clone());
        }
        let Answers::Service(platform) = &self.answers else { return None };
        let outcome = platform.flights().remembered(key)?;
        self.learn(key, outcome.clone(), Origin::Shared, pass);
        Some(outcome)
    }

    /// Decides whether one more guess may be recorded, and counts it if there is anything to fetch.
    pub fn may_guess(&self, key: &Key) -> Guess {
        let state = self.state.lock();
        if state.refused.contains(key) || state.in_flight.contains_key(key) {
            return Guess::Idle;
        }
        drop(state);
        let left = self
            .guesses_left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        if left.is_ok() { Guess::Noted } else { Guess::UsedUp }
    }

    /// Decides whether the value of a guess is kept, and counts its memory.
    pub(super) fn may_keep_guess(&self, memory: u64) -> bool {
        self.guess_memory.take(memory)
    }

    /// Returns the number of guesses that have turned out to be needed.
    pub fn right_guesses(&self) -> usize {
        self.right_guesses.load(Ordering::Acquire)
    }

    /// Marks the answer to `key` as needed by the exact evaluation: if it was guessed, its share of
    /// the allowances for guesses is returned.
    pub fn needed(&self, key: &Key) {
        let mut state = self.state.lock();
        let Some(guess_cost) = state.known.get_mut(key).and_then(|known| known.guess_cost.take())
        else {
            return;
        };
        self.guesses_left.fetch_add(1, Ordering::AcqRel);
        self.right_guesses.fetch_add(1, Ordering::AcqRel);
        self.guess_memory.give_back(guess_cost.memory);
        if guess_cost.bytes > 0 {
            self.guess_bytes.give_back(guess_cost.bytes);
            state.refused.clear();
        }
    }

    /// Caches an outcome.
    pub(super) fn learn(&self, key: &Key, outcome: CallOutcome, origin: Origin, pass: u32) {
        let order = self.order.fetch_add(1, Ordering::Relaxed);
        let known = Known { outcome, origin, pass, order, guess_cost: None };
        self.state.lock().known.insert(key.clone(), known);
    }

    /// Returns the error for a missed deadline, naming the call that was waited for, if any.
    pub fn out_of_time(&self) -> Error {
        let waited = self.state.lock().waited.clone();
        self.out_of_time_for(waited.as_ref())
    }

    /// Returns the error for a missed deadline while waiting for this call.
    pub fn out_of_time_for(&self, key: Option<&Key>) -> Error {
        let error = Error::timed_out_after("the evaluation", self.budget.timeout);
        let Some(key) = key else { return error.at_limit(Limit::Timeout) };
        let arguments = shorten(&key.arguments, 100);
        let waiting = format!("{error}, waiting for `{}` {arguments}", key.function);
        Error::new(error.kind(), waiting).at_limit(Limit::Timeout)
    }

    /// Returns the ledger. `used` are the calls of the pass that gave the result, with the number
    /// of uses of each.
    pub fn ledger(&self, used: &HashMap<Key, u64>, passes: u32) -> Ledger {
        let prompt = self.product.function("evidence_prompt");
        let state = self.state.lock();
        let mut rows: Vec<(u32, usize, CallRecord)> = state
            .known
            .iter()
            .map(|(key, known)| {
                let times = used.get(key).copied().unwrap_or(0);
                let answer = known.outcome.result.as_ref();
                let outcome = answer.map_or_else(|error| error.kind().as_str(), |_| "ok");
                let answer = answer.ok();
                let entry = CallRecord {
                    function: key.function.to_string(),
                    arguments: shorten(&key.arguments, 200),
                    pass: known.pass,
                    needed: times > 0,
                    origin: known.origin,
                    outcome,
                    cut: answer.is_some_and(|answer| answer.cut),
                    rereads: answer.map_or(0, |answer| answer.rereads),
                    skipped: *key.function == *prompt
                        && answer.is_some_and(|answer| is_skipped(&answer.value)),
                    form: answer.and_then(|answer| answer.form),
                    uses: times,
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

    /// Returns the calls of the pass that gave the result with their outcomes, for a recording.
    pub fn answers_of(&self, used: &HashMap<Key, u64>) -> Vec<(Key, CallOutcome)> {
        let state = self.state.lock();
        let mut out: Vec<_> = used
            .keys()
            .filter_map(|key| state.known.get(key).map(|k| (key.clone(), k.outcome.clone())))
            .collect();
        out.sort_by(|(a, _), (b, _)| a.cmp(b));
        out
    }
}

const YEAR: Duration = Duration::from_hours(365 * 24);
