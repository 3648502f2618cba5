//! The environment of one pass: its deadline, its failure, fixed time and randomness, and the
//! answers to calls.
//!
//! Owns the implementation of the machine's [`Host`]. The first failed call ends the pass with its
//! own error, even if the policy would have handled it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::environment::Environment;
use super::memory::{Reservation, SharedMemory};
use super::network;
use crate::check::mocks::Mocks;
use crate::functions;
use crate::load::{TEST_CASE, path_of};
use crate::rego::Sources as Texts;
use crate::rego::Value;
use crate::rego::internal::builtins;
use crate::rego::syntax::tree::Span;
use crate::rego::value::GoesOn;
use crate::rego::{Halt, Host, HostAnswer, HostCall};
use crate::{Error, Limit};

/// The number of bytes that a pass may print.
const PRINT_LIMIT: u64 = 16 << 20;

/// The number of times that a pass may print.
const PRINTS_LIMIT: usize = 100_000;

/// The output of one `print` call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Print {
    /// The file of the `print`, named as it was loaded.
    pub file: String,
    /// The line of the statement, from 1.
    pub line: u32,
    /// The printed text, not escaped.
    pub message: String,
}

impl Print {
    /// Creates what an engine of the host's own printed.
    pub fn new(file: impl Into<String>, line: u32, message: impl Into<String>) -> Self {
        Self { file: file.into(), line, message: message.into() }
    }
}

/// The treatment of a call that a survey or a reading reaches and that the pass didn't make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmade {
    /// Its response isn't known.
    Unknown,
    /// It is sent like a guess, and is a call of the evaluation.
    Sent,
    /// It is sent like a guess, and only a reading depends on it.
    Supposed,
}

/// Answers the calls of the product's functions during a pass.
pub(crate) trait Calls: Send + Sync {
    /// Answers one call. `function` is the full name, such as `platform.discover`. `None` makes the
    /// call undefined in the policy.
    fn call(&self, function: &str, args: &[Value]) -> Result<Option<Value>, Error>;

    /// Returns `true` if the pass is exact: its result counts.
    fn is_exact(&self) -> bool {
        true
    }

    /// Returns the response of a call of this pass again, without counting a use; `None` if it isn't known.
    fn recall(&self, function: &str, args: &[Value], unmade: Unmade) -> Option<Option<Value>> {
        let _ = (function, args, unmade);
        None
    }
}

/// The host of one pass.
pub(crate) struct Scope {
    deadline: Instant,
    timeout: Duration,
    environment: Arc<Environment>,
    calls: Arc<dyn Calls>,
    cancelled: Option<super::Cancellation>,
    failure: OnceLock<Error>,
    printed: AtomicU64,
    printed_too_much: AtomicBool,
    texts: Texts,
    mocks: Option<Arc<Mocks>>,
    prints: Mutex<Vec<Print>>,
    cases: Mutex<Vec<Vec<Value>>>,
    memory: Reservation,
}

impl Scope {
    /// Creates a scope that ends at `deadline`; `timeout` is shown in the error.
    pub(crate) fn new(
        calls: Arc<dyn Calls>,
        environment: Arc<Environment>,
        deadline: Instant,
        timeout: Duration,
    ) -> Self {
        Self {
            deadline,
            timeout,
            environment,
            calls,
            cancelled: None,
            failure: OnceLock::new(),
            printed: AtomicU64::new(0),
            printed_too_much: AtomicBool::new(false),
            texts: Texts::new(),
            mocks: None,
            prints: Mutex::default(),
            cases: Mutex::default(),
            memory: Reservation::default(),
        }
    }

    /// Returns a scope of the same pass, which fails and prints on its own.
    pub(super) fn sibling(&self) -> Self {
        let (calls, environment) = (Arc::clone(&self.calls), Arc::clone(&self.environment));
        Self {
            memory: self.memory.sibling(),
            ..Self::new(calls, environment, self.deadline, self.timeout)
                .cancelled_by(self.cancelled.clone())
        }
    }

    /// Sets the handle that cancels the evaluation.
    #[must_use]
    pub(crate) fn cancelled_by(mut self, cancelled: Option<super::Cancellation>) -> Self {
        self.cancelled = cancelled;
        self
    }

    /// Sets the memory that the pass shares with other evaluations.
    #[must_use]
    pub(super) fn sharing(mut self, memory: Option<SharedMemory>) -> Self {
        self.memory = Reservation::new(memory);
        self
    }

    /// Sets the texts in which prints have their positions.
    #[must_use]
    pub(crate) fn texts(mut self, texts: &Texts) -> Self {
        self.texts = texts.clone();
        self
    }

    /// Sets the types that mocks are compared with.
    #[must_use]
    pub(crate) fn mocks(mut self, mocks: Option<Arc<Mocks>>) -> Self {
        self.mocks = mocks;
        self
    }

    /// Returns the first failure of the pass.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    /// Records `error` unless the pass has failed before. Returns the recorded failure.
    pub(crate) fn fail(&self, error: Error) -> Error {
        self.failure.get_or_init(|| error).clone()
    }

    /// Returns the time at which the pass must end.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns `true` if the result of the pass counts.
    pub(super) fn is_exact(&self) -> bool {
        self.calls.is_exact()
    }

    /// Returns the value of a nondeterministic built-in, if it was handed out.
    pub(super) fn given(&self, function: &'static str, args: &[Value]) -> Option<Value> {
        self.environment.known(function, args)
    }

    pub(super) fn recall(
        &self,
        function: &str,
        args: &[Value],
        unmade: Unmade,
    ) -> Option<Option<Value>> {
        self.calls.recall(function, args, unmade)
    }

    /// Takes the prints of the pass.
    pub(crate) fn take_prints(&self) -> Vec<Print> {
        std::mem::take(&mut *self.prints.lock())
    }

    /// Takes the cases of table tests that the pass reported.
    pub(crate) fn take_cases(&self) -> Vec<Vec<Value>> {
        std::mem::take(&mut *self.cases.lock())
    }

    /// Fails if the pass has failed before, is cancelled, has printed too much or is out of time.
    pub(crate) fn check_running(&self) -> Result<(), Error> {
        if let Some(error) = self.failure.get() {
            return Err(error.clone());
        }
        if self.cancelled.as_ref().is_some_and(super::Cancellation::is_cancelled) {
            return Err(self.fail(super::cancelled()));
        }
        if self.printed_too_much.load(Ordering::Relaxed) {
            let message = format!(
                "the policy prints more than {PRINT_LIMIT} bytes, or more than {PRINTS_LIMIT} times"
            );
            return Err(self.fail(Error::too_large(message)));
        }
        if Instant::now() >= self.deadline {
            let error =
                Error::timed_out_after("the evaluation", self.timeout).at_limit(Limit::Timeout);
            return Err(self.fail(error));
        }
        Ok(())
    }
}

impl Scope {
    /// Answers a built-in that asks the network. It fails like a call of the service, so that no
    /// policy can mistake its failure for an answer.
    fn network(&self, function: &str, args: &[Value]) -> builtins::Answer {
        let answer = self.check_running().and_then(|()| self.calls.call(function, args));
        answer.map_err(|error| {
            builtins::Error::halt(builtins::Code::Builtin, self.fail(error).to_string())
        })
    }
}

impl Host for Scope {
    fn call(&self, call: &HostCall<'_>) -> HostAnswer {
        if call.name == TEST_CASE {
            if let [Value::Array(keys)] = call.args {
                self.cases.lock().push(keys.to_vec());
            }
            return HostAnswer::Value(Value::Bool(true));
        }
        let answer = self.check_running().and_then(|()| self.calls.call(call.name, call.args));
        match answer {
            Ok(Some(value)) => HostAnswer::Value(value),
            Ok(None) if !self.calls.is_exact() => HostAnswer::Pending,
            Ok(None) => HostAnswer::Undefined,
            Err(error) => HostAnswer::Fail(Arc::new(self.fail(error))),
        }
    }

    fn may_lack(&self, function: &str) -> Option<&'static str> {
        functions::may_lack(function)
    }

    fn stands_in(&self, at: Span, function: &str, answer: &Value) -> Result<(), Halt> {
        let Some(mocks) = &self.mocks else { return Ok(()) };
        mocks.check(at, function, answer).map_err(|error| Halt::from(self.fail(error)))
    }

    fn print(&self, span: Span, text: &str) {
        let before = self.printed.fetch_add(text.len() as u64 + 1, Ordering::Relaxed);
        let mut prints = self.prints.lock();
        if before > PRINT_LIMIT || prints.len() >= PRINTS_LIMIT {
            self.printed_too_much.store(true, Ordering::Relaxed);
            return;
        }
        let position = self.texts.position(span);
        let print = Print {
            file: path_of(position.path).to_owned(),
            line: position.line,
            message: text.to_owned(),
        };
        prints.push(print);
    }

    fn check(&self) -> Result<(), Halt> {
        self.check_running().map_err(Halt::from)
    }

    fn reserve(&self, bytes: u64) -> Result<(), Halt> {
        self.memory.hold(bytes).map_err(|error| Halt::from(self.fail(error)))
    }

    fn goes_on(&self) -> Option<GoesOn> {
        let (deadline, cancelled) = (self.deadline, self.cancelled.clone());
        let is_cancelled =
            move || cancelled.as_ref().is_some_and(super::Cancellation::is_cancelled);
        Some(Arc::new(move || Instant::now() < deadline && !is_cancelled()))
    }

    fn now_ns(&self) -> i64 {
        self.environment.now_ns()
    }

    fn random(&self, key: &str) -> u64 {
        self.environment.random(key)
    }

    fn http_send(&self, request: &Value) -> builtins::Answer {
        self.network(network::HTTP_SEND, std::slice::from_ref(request))
    }

    fn lookup_host(&self, name: &str) -> builtins::Answer {
        self.network(network::LOOKUP, &[Value::from(name)])
    }

    fn fixed(
        &self,
        function: &'static str,
        args: &[Value],
        make: &mut dyn FnMut() -> builtins::Answer,
    ) -> builtins::Answer {
        self.environment.fixed(function, args, make)
    }
}
