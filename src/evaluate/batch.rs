//! One pass of an evaluation, which batches independent calls.
//!
//! Owns how a pass treats a call; `pass_loop` decides when passes end. A call whose answer is known
//! returns it. Any other call is noted as pending, and from then on the pass is speculative: its result,
//! errors, prints and coverage are discarded. The engine skips what needs a pending response, and goes on
//! with what needs none. Between passes the noted calls are fetched at once. The first pass that notes no
//! call gives the evaluation's result.
//!
//! Calls after the first noted one are guesses: a guess never raises a failure, and never sends a
//! prompt unless the budget allows it. Guesses share a slice of time and an allowance of calls and
//! bytes; when one of them is used up, the pass ends and nothing worse happens.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use crate::rego::Value;

use super::answered_calls::{AnsweredCalls, is_plain};
use super::blocking::block_on;
use super::call::{CheckedCall, Target};
use super::scope::{Calls, Unmade};
use super::session::{Guess, Session};
use crate::flight::CallOutcome;
use crate::flight::Key;
use crate::load::functions::Kind;
use crate::{Error, ErrorKind, Limit, NotFound};

/// One pass, as the policy's calls see it.
pub(crate) struct Pass {
    session: Arc<Session>,
    number: u32,
    /// The number of further unknown calls to block on instead of noting them.
    credit: AtomicU64,
    /// The time at which the credit and the guessing end.
    guess_until: Instant,
    exact: AtomicBool,
    /// Set once the pass has used up its time for guesses.
    late: AtomicBool,
    notes: Mutex<Notes>,
    bytes: AtomicU64,
    /// The memory of the values of answers.
    memory: AtomicU64,
}

#[derive(Default)]
pub(super) struct Notes {
    pub first: Option<CheckedCall>,
    pub first_at: Option<Instant>,
    pub guesses: Vec<CheckedCall>,
    noted: HashSet<Key>,
    answered: AnsweredCalls,
    /// Calls made while the pass was exact, with the number of uses of each; none for a call that only a
    /// reading made.
    pub used: HashMap<Key, u64>,
}

impl Calls for Pass {
    fn call(&self, function: &str, args: &[Value]) -> Result<Option<Value>, Error> {
        let exact = self.exact.load(Ordering::Relaxed);
        let plain = is_plain(args);
        if plain && let Some(value) = self.notes.lock().answered.get(function, args, exact) {
            return Ok(value);
        }
        let host = self.session.functions.iter().find(|known| known.name() == function);
        let call = match host.map(|known| &known.kind) {
            Some(Kind::Pure(answer)) => {
                return answer(args).map_err(|error| error.in_call(function));
            }
            Some(Kind::Declared) => {
                let message = "no response of the host for this function";
                return Err(Error::not_answered(message).in_call(function));
            }
            Some(Kind::Async(answer)) => CheckedCall::of_host(function, answer, args),
            None => match CheckedCall::of_network(function, args) {
                Some(call) => call.and_then(|call| self.session.may_ask(call)),
                None => CheckedCall::new(&self.session.product, function, args)
                    .map_err(|error| self.session.with_advice(error, function)),
            },
        };
        let call = match call {
            Ok(call) => call,
            Err(error) if exact => return Err(error),
            // The exact evaluation may never make the call that is wrong here.
            Err(_) => return Ok(None),
        };
        if !exact {
            return self.answer_guess(call);
        }
        let key = call.key.clone();
        let value = self.answer_exact(call, 1)?;
        // If the call was noted just now, it has no answer yet.
        if plain && self.exact.load(Ordering::Relaxed) {
            self.notes.lock().answered.put(function, args.to_vec(), key, value.clone());
        }
        Ok(value)
    }

    fn is_exact(&self) -> bool {
        self.exact.load(Ordering::Relaxed)
    }

    fn recall(&self, function: &str, args: &[Value], unmade: Unmade) -> Option<Option<Value>> {
        if is_plain(args)
            && let Some(value) = self.notes.lock().answered.get(function, args, false)
        {
            return Some(value);
        }
        let host = self.session.functions.iter().find(|known| known.name() == function);
        let call = match host.map(|known| &known.kind) {
            Some(Kind::Pure(answer)) => return answer(args).ok(),
            Some(Kind::Declared) => return None,
            Some(Kind::Async(answer)) => CheckedCall::of_host(function, answer, args),
            None => match CheckedCall::of_network(function, args) {
                Some(call) => call,
                None => CheckedCall::new(&self.session.product, function, args),
            },
        };
        let call = call.ok()?;
        // An answer to a guess that turned out wrong isn't one of this evaluation.
        if !self.notes.lock().used.contains_key(&call.key) {
            let uses = match unmade {
                Unmade::Unknown => return None,
                Unmade::Sent => 1,
                Unmade::Supposed => 0,
            };
            let may_send = call.may_be_guessed(self.session.budget.eager_prompts);
            return if may_send { self.answer_again(call, uses) } else { None };
        }
        match self.session.known(&call.key, self.number)?.result {
            Ok(answer) => Some(Some(answer.value)),
            Err(error) if error.kind() == ErrorKind::NotFound => Some(None),
            Err(_) => None,
        }
    }
}

/// Ends a speculative pass, whose result isn't used.
fn ends_here() -> Error {
    Error::internal("the pass ends here")
}

impl Pass {
    pub(super) fn new(
        session: Arc<Session>,
        number: u32,
        credit: u64,
        guess_until: Instant,
    ) -> Self {
        Self {
            session,
            number,
            credit: AtomicU64::new(credit),
            guess_until,
            exact: AtomicBool::new(true),
            late: AtomicBool::new(false),
            notes: Mutex::default(),
            bytes: AtomicU64::new(0),
            memory: AtomicU64::new(0),
        }
    }

    /// Returns `true` if the pass used up its time for guesses.
    pub(super) fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }

    /// Takes the calls that the pass recorded.
    pub(super) fn take_notes(&self) -> Notes {
        let mut notes = std::mem::take(&mut *self.notes.lock());
        notes.answered.settle(&mut notes.used);
        notes
    }

    /// Answers a call that only a survey or a reading makes; `None` if the response isn't known in this pass.
    fn answer_again(&self, call: CheckedCall, uses: u64) -> Option<Option<Value>> {
        if !self.is_exact() {
            return self.answer_guess(call).ok().flatten().map(Some);
        }
        let value = self.answer_exact(call, uses).ok()?;
        self.is_exact().then_some(value)
    }

    /// Answers a call of the exact evaluation, whose response the result depends on: from what is known, by
    /// blocking if that is allowed, or by noting it. `uses` is the number of uses to count.
    fn answer_exact(&self, call: CheckedCall, uses: u64) -> Result<Option<Value>, Error> {
        let first_use = self.count(&call.key, uses)?;
        if let Some(outcome) = self.session.known(&call.key, self.number) {
            return self.raise(&call, outcome, first_use);
        }
        if self.may_block() {
            let until = self.block_until();
            block_on(self.session.fetch_until(&call, self.number, until))?;
            if let Some(outcome) = self.session.known(&call.key, self.number) {
                return self.raise(&call, outcome, first_use);
            }
            if until == self.session.deadline {
                return Err(self.session.out_of_time_for(Some(&call.key)));
            }
        }
        let mut notes = self.notes.lock();
        notes.noted.insert(call.key.clone());
        notes.first = Some(call);
        notes.first_at = Some(Instant::now());
        self.exact.store(false, Ordering::Relaxed);
        Ok(None)
    }

    /// Returns `true` if the pass may block on an unknown call, and uses up one credit.
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

    /// Answers a call that the policy may only have reached because an earlier answer is missing.
    fn answer_guess(&self, call: CheckedCall) -> Result<Option<Value>, Error> {
        if let Some(outcome) = self.session.known(&call.key, self.number) {
            return Ok(outcome.result.ok().map(|answer| answer.value));
        }
        if self.session.budget.one_at_a_time {
            return Err(ends_here());
        }
        let mut notes = self.notes.lock();
        if notes.noted.contains(&call.key) {
            return Ok(None);
        }
        if !call.may_be_guessed(self.session.budget.eager_prompts) {
            return Ok(None);
        }
        let late = Instant::now() >= self.guess_until;
        if late {
            self.late.store(true, Ordering::Relaxed);
        }
        match self.session.may_guess(&call.key) {
            Guess::Noted if !late => {
                notes.noted.insert(call.key.clone());
                notes.guesses.push(call);
                Ok(None)
            }
            Guess::Idle if !late => Ok(None),
            _ => Err(ends_here()),
        }
    }

    /// Counts a call against the budget, with a number of uses. Returns `true` if it is the first in this pass.
    fn count(&self, key: &Key, uses: u64) -> Result<bool, Error> {
        let mut notes = self.notes.lock();
        if let Some(used) = notes.used.get_mut(key) {
            *used += uses;
            return Ok(false);
        }
        let limit = self.session.budget.calls;
        if notes.used.len() >= limit {
            return Err(Error::too_large(format!(
                "too many calls of the evaluation: the limit is {limit}"
            ))
            .at_limit(Limit::Calls));
        }
        notes.used.insert(key.clone(), uses);
        Ok(true)
    }

    /// Turns a known outcome into the answer that the policy sees, or into the failure that ends
    /// the pass.
    fn raise(
        &self,
        call: &CheckedCall,
        outcome: CallOutcome,
        first_use: bool,
    ) -> Result<Option<Value>, Error> {
        if first_use {
            self.session.needed(&call.key);
            let before = self.bytes.fetch_add(outcome.bytes, Ordering::Relaxed);
            let limit = self.session.budget.bytes;
            if before.saturating_add(outcome.bytes) > limit {
                return Err(Error::too_large(format!(
                    "responses of the evaluation too large: the limit is {}",
                    crate::text::size(limit)
                ))
                .at_limit(Limit::Bytes));
            }
            let before = self.memory.fetch_add(outcome.memory, Ordering::Relaxed);
            let limit = self.session.budget.memory;
            if before.saturating_add(outcome.memory) > limit {
                let limit = crate::text::size(limit);
                let message = format!(
                    "responses of the evaluation too large as values: the limit is {limit}"
                );
                return Err(Error::too_large(message).at_limit(Limit::Memory));
            }
            self.session.shared_memory.hold(before.saturating_add(outcome.memory))?;
        }
        match outcome.result {
            Ok(answer) => Ok(Some(answer.value)),
            // Only the service can say that it doesn't have something.
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && matches!(call.target, Target::Product { .. })
                    && self.session.not_found == NotFound::Undefined =>
            {
                Ok(None)
            }
            Err(error) => Err(error.in_call(Arc::clone(&call.key.function))),
        }
    }
}
