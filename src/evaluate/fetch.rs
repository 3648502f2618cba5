//! Fetching: sending an evaluation's recorded calls between its passes, and waiting for their responses.
//!
//! Owns the allowance that a call counts against, the time limit for guesses, and the decision
//! about which failures are due to another evaluation's limits. Answers are kept by `session`.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;

use super::budget::{Answers, FunctionCall};
use super::call::{CheckedCall, Target};
use super::cancellation::cancelled;
use super::dispatcher::Dispatcher;
use super::ledger::Origin;
use super::network;
use super::recording_checks;
use super::session::{GuessCost, Known, Sent, Session};
use crate::flight::{CallOutcome, Grant, Key};
use crate::functions::{Answer, Cost};
use crate::runtime::{Runtime, panicked};
use crate::{Error, ErrorKind};

/// The shortest time without an arrival after which guesses are no longer waited for.
const QUIET: Duration = Duration::from_millis(250);

impl Session {
    /// Fetches the first call, which the exact evaluation needs, together with the guesses that
    /// follow it. Returns once the first is answered and the guesses have had their slice of time.
    pub async fn fetch(
        &self,
        first: &CheckedCall,
        guesses: &[CheckedCall],
        pass: u32,
    ) -> Result<(), Error> {
        let all = || std::iter::once(first).chain(guesses);
        let mut carried = false;
        for (index, call) in all().enumerate() {
            if let Some(dispatcher) = self.dispatcher(call) {
                self.send(dispatcher, call, index > 0, pass)?;
                carried = true;
            }
        }
        self.ask(first, guesses, pass).await?;
        if let Some(dispatcher) = self.dispatcher(first) {
            self.await_first(dispatcher, first, pass, self.deadline).await?;
        }
        if carried {
            return self.await_guesses(pass).await;
        }
        if self.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }

    /// Gets the answers of calls that no client sends: from a recording or from the host.
    async fn ask(
        &self,
        first: &CheckedCall,
        guesses: &[CheckedCall],
        pass: u32,
    ) -> Result<(), Error> {
        let all =
            || std::iter::once(first).chain(guesses).filter(|call| self.dispatcher(call).is_none());
        let of_service = |call: &&CheckedCall| matches!(call.target, Target::Product { .. });
        match &self.answers {
            Answers::Service(_) => {}
            Answers::Unavailable(advice) => {
                for call in all().filter(of_service).take(1) {
                    let message = "no source of responses for this call";
                    let error = Error::not_answered(message)
                        .with_hint(advice.replace("{function}", &call.key.function));
                    self.learn(&call.key, none(Err(error)), Origin::Replay, pass);
                }
            }
            Answers::Replay(replay) => {
                for call in all() {
                    let of_host = matches!(call.target, Target::Host { .. });
                    let answer = replay.answer(&call.key, of_host).and_then(|answer| {
                        let value = network::replayed(&call.target, answer.value.clone());
                        let value =
                            value.map_err(|what| recording_checks::tampered(&call.key, &what))?;
                        Ok(Answer { value, ..answer })
                    });
                    self.learn(&call.key, none(answer), Origin::Replay, pass);
                }
            }
            Answers::Responder(responder) => {
                let asked: Vec<&CheckedCall> = all().filter(of_service).collect();
                let calls: Vec<FunctionCall> =
                    asked.iter().map(|call| call.as_function_call()).collect();
                // Within a block, so that a panic of the call itself and of the future's destructor
                // is caught too.
                let asking = async { responder.answer(&calls, self.deadline).await };
                let asking = AssertUnwindSafe(asking).catch_unwind();
                let answers = self.in_time(asking).await?;
                let answers = answers.map_err(|_| panicked("the responder"))?;
                let mut answers = answers.into_iter();
                for call in asked {
                    let answer = answers
                        .next()
                        .unwrap_or_else(|| Err(Error::not_answered("no response of the host")));
                    let answer = answer.and_then(|value| {
                        recording_checks::check(&call.key, &value).map_err(|what| {
                            let message = format!("the host's response {what}");
                            Error::protocol(message)
                        })?;
                        Ok(Answer::from(value))
                    });
                    self.learn(&call.key, none(answer), Origin::Host, pass);
                }
            }
        }
        Ok(())
    }

    /// Fetches one call and waits for it until `until`; after that it stays in flight.
    pub async fn fetch_until(
        &self,
        call: &CheckedCall,
        pass: u32,
        until: Instant,
    ) -> Result<(), Error> {
        match self.dispatcher(call) {
            Some(dispatcher) => self.await_first(dispatcher, call, pass, until).await,
            None => self.fetch(call, &[], pass).await,
        }
    }

    /// Waits for the host's answer, unless the evaluation ends first.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = Box::pin(work);
        let mut poll = |cx: &mut Context<'_>| {
            // Where the host's thread has no runtime, its timers and sockets still work.
            let _entered = match Handle::try_current() {
                Err(_) => Some(self.host.get()?.handle().enter()),
                Ok(_) => None,
            };
            work.as_mut().poll(cx).map(Ok)
        };
        if let Some(done) = poll_fn(&mut poll).now_or_never() {
            return done;
        }
        let timer = {
            let _entered = Runtime::clock()?.handle().enter();
            tokio::time::sleep_until(self.deadline.into())
        };
        let mut timer = pin!(timer);
        let done = poll_fn(|cx| {
            self.notifier.waker().register(cx.waker());
            if self.is_cancelled() {
                return Poll::Ready(Err(cancelled()));
            }
            if let Poll::Ready(done) = poll(cx) {
                return Poll::Ready(done);
            }
            timer.as_mut().poll(cx).map(|()| Err(self.out_of_time()))
        })
        .await;
        // Work that didn't end is dropped here, and its destructor may panic.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
        done
    }

    fn send(
        &self,
        dispatcher: Dispatcher<'_>,
        call: &CheckedCall,
        guess: bool,
        pass: u32,
    ) -> Result<(), Error> {
        let prompt = call.cost() == Cost::Prompt;
        let mut state = self.state.lock();
        if state.known.contains_key(&call.key) || state.in_flight.contains_key(&call.key) {
            return Ok(());
        }
        let deadline = dispatcher.deadline().unwrap_or(self.deadline);
        let (trace, observer) = (self.trace.clone(), self.observer.clone());
        let grant = if prompt {
            // Not subject to this evaluation's limits: others with the same prompt join it, and
            // must not have to pay for it again.
            Grant { deadline, allowance: None, memory: None, trace, observer }
        } else {
            let allowance = if guess { &self.guess_bytes } else { &self.exact_bytes };
            let allowance = Some(Arc::clone(allowance));
            let memory = guess.then(|| Arc::clone(&self.guess_memory));
            Grant { deadline: deadline.min(self.deadline), allowance, memory, trace, observer }
        };
        let weighs = grant.memory.is_some();
        let sent_call = dispatcher.join_or_send(call, grant, &self.notifier)?;
        let weighed = weighs && !sent_call.joined;
        let host = matches!(call.target, Target::Host { .. });
        let prompt = prompt || !call.reads();
        let sent = Sent { call: sent_call, pass, guess, prompt, weighed, host };
        state.in_flight.insert(call.key.clone(), sent);
        Ok(())
    }

    /// Waits for the call that the exact evaluation needs.
    async fn await_first(
        &self,
        dispatcher: Dispatcher<'_>,
        first: &CheckedCall,
        pass: u32,
        until: Instant,
    ) -> Result<(), Error> {
        let runtime = Runtime::clock()?.handle();
        loop {
            // Sends it again if it was another evaluation's flight, or a guess, that ended at its
            // own limit.
            self.send(dispatcher, first, false, pass)?;
            loop {
                let (known, is_in_flight) = {
                    let mut state = self.state.lock();
                    let known = state.known.get(&first.key);
                    let late = |known: &Known| {
                        let failed = known.outcome.result.as_ref().err();
                        failed.is_some_and(|error| error.kind() == ErrorKind::TimedOut)
                    };
                    let (is_known, late) = (known.is_some(), known.is_none_or(late));
                    state.waited = late.then(|| first.key.clone());
                    (is_known, state.in_flight.contains_key(&first.key))
                };
                if known {
                    return Ok(());
                }
                if !is_in_flight {
                    break;
                }
                let now = Instant::now();
                if now >= self.deadline {
                    return Err(self.out_of_time_for(Some(&first.key)));
                }
                if now >= until {
                    return Ok(());
                }
                let is_over = || self.is_cancelled();
                let (arrived, _) = self.notifier.wait(runtime, until, 1, is_over).await;
                self.collect(arrived);
                if self.is_cancelled() {
                    return Err(cancelled());
                }
            }
        }
    }

    /// Waits for the guesses of a pass for their slice of time; those without an answer stay in
    /// flight.
    async fn await_guesses(&self, pass: u32) -> Result<(), Error> {
        let runtime = Runtime::clock()?.handle();
        let started = Instant::now();
        let left = Duration::from_micros(self.guess_wait.load(Ordering::Relaxed));
        let until = (started + left).min(self.deadline);
        let (mut pending, mut quiet) = {
            let state = self.state.lock();
            let of_pass = state.in_flight.values().filter(|sent| sent.pass == pass);
            (of_pass.count(), QUIET.max(state.slowest * 2))
        };
        let mut last = started;
        while pending > 0 {
            let is_over = || self.is_cancelled();
            let quiet_until = until.min(last + quiet);
            let (arrived, at) = self.notifier.wait(runtime, quiet_until, pending, is_over).await;
            if arrived.is_empty() {
                break;
            }
            last = at.unwrap_or_else(Instant::now);
            let (landed, slowest) = self.collect_of(arrived, pass);
            pending = pending.saturating_sub(landed);
            quiet = QUIET.max(slowest * 2);
        }
        let spent = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let _ = self.guess_wait.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
            Some(left.saturating_sub(spent))
        });
        if self.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }

    fn collect(&self, arrived: Vec<Key>) {
        let _ = self.collect_of(arrived, 0);
    }

    /// Moves the calls that arrived into the memo. Returns how many of them `pass` had recorded, and
    /// the longest latency so far.
    fn collect_of(&self, arrived: Vec<Key>, pass: u32) -> (usize, Duration) {
        let mut state = self.state.lock();
        let mut landed = 0;
        for key in arrived {
            let outcome = match state.in_flight.get(&key) {
                Some(sent) => sent.call.flight.outcome().cloned(),
                None => None,
            };
            let Some(outcome) = outcome else { continue };
            let Some(sent) = state.in_flight.remove(&key) else { continue };
            landed += usize::from(sent.pass == pass);
            state.slowest = state.slowest.max(outcome.latency);
            let weighed = sent.weighed || !sent.guess;
            let is_too_much = !weighed && !self.may_keep_guess(outcome.memory);
            if is_too_much || self.is_limit_of_sender(&sent, &outcome) {
                if sent.guess {
                    state.refused.insert(key);
                }
                continue;
            }
            let origin = match (sent.call.joined, outcome.kept) {
                (true, _) => Origin::Shared,
                (false, true) => Origin::Cache,
                (false, false) if sent.host => Origin::Host,
                (false, false) => Origin::Network,
            };
            let paid = sent.guess && !sent.prompt && !sent.call.joined;
            let bytes = if paid { outcome.bytes } else { 0 };
            let guess_cost = sent.guess.then_some(GuessCost { bytes, memory: outcome.memory });
            let order = self.order.fetch_add(1, Ordering::Relaxed);
            state.known.insert(key, Known { outcome, origin, pass: sent.pass, order, guess_cost });
        }
        (landed, state.slowest)
    }

    /// Returns `true` if a failure may be due to the limits of a guess, or of the evaluation that
    /// sent a joined call. Such a failure isn't remembered, and the call is sent again if it is
    /// needed.
    fn is_limit_of_sender(&self, sent: &Sent, outcome: &CallOutcome) -> bool {
        let Err(error) = &outcome.result else { return false };
        if sent.prompt {
            // A second prompt would cost again.
            return false;
        }
        match error.kind() {
            ErrorKind::TooLarge | ErrorKind::TimedOut => sent.call.joined || sent.guess,
            // This evaluation would have had time for more retries.
            ErrorKind::Unavailable | ErrorKind::RateLimited => {
                sent.call.joined && sent.call.flight.deadline() < self.deadline
            }
            _ => false,
        }
    }
}

fn none(result: Result<Answer, Error>) -> CallOutcome {
    let memory = result.as_ref().map_or(0, |answer| answer.value.size());
    CallOutcome { result, attempts: 0, bytes: 0, memory, latency: Duration::ZERO, kept: false }
}
