//! The interface between an evaluation and its host: function calls, prints, the clock,
//! cancellation.
//!
//! # Order and number of calls
//!
//! Calls are made as OPA makes calls of custom built-in functions (`rego.Function…` without
//! `Memoize`): each time that an evaluation reaches one, whether or not the arguments are the same.
//! OPA caches one level above: the results of rules, and of functions by their arguments, for each
//! `with` frame. OPA's cache of non-deterministic built-ins is meant for decision logs and holds
//! only calls of a query that was given one; `opa eval`, `opa test` and the SDK's default give
//! none.

use std::fmt;
use std::sync::Arc;

use crate::builtins;
use crate::syntax::tree::Span;
use crate::value::{GoesOn, Value};

/// A call of a host function.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HostCall<'a> {
    /// The calling expression.
    pub span: Span,
    /// The name of the function.
    pub name: &'a str,
    /// The arguments.
    pub args: &'a [Value],
}

impl<'a> HostCall<'a> {
    /// Makes a call that a policy didn't make.
    pub fn new(name: &'a str, args: &'a [Value]) -> Self {
        Self { span: Span::default(), name, args }
    }
}

/// The answer to a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum HostAnswer {
    /// The function's result.
    Value(Value),
    /// No value: the expression is undefined.
    Undefined,
    /// No value yet. The result of this evaluation isn't used: it goes on only to find the calls that can be made
    /// together with this one.
    Pending,
    /// A failure like that of a built-in function: the expression is undefined, or, if errors are
    /// strict, the first failure is the result's error.
    Error(builtins::Error),
    /// A failure that ends the evaluation with exactly this error.
    Fail(Arc<dyn std::error::Error + Send + Sync>),
}

impl HostAnswer {
    /// A failure that ends the evaluation; the error stays the source of the resulting one.
    pub fn fail(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Fail(Arc::from(error.into()))
    }
}

/// The reason for which the host ends an evaluation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Halt {
    /// The message of the resulting [`EvalError`](super::EvalError).
    pub message: String,
    /// The host's own error.
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Halt {
    /// Makes a reason from a message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Halt {
    /// The host's own error, which the resulting error keeps as its source.
    fn from(error: E) -> Self {
        Self { message: error.to_string(), source: Some(Arc::new(error)) }
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The host of one evaluation. Only `call` must be implemented; by default the clock is the
/// system's, prints are dropped and network requests are refused.
pub trait Host {
    /// Calls a host function.
    fn call(&self, call: &HostCall<'_>) -> HostAnswer;

    /// Looks at what a policy's `with` gives instead of an answer of the host's function; `at` is the
    /// modifier.
    ///
    /// # Errors
    /// The reason to end the evaluation.
    fn stands_in(&self, at: Span, function: &str, answer: &Value) -> Result<(), Halt> {
        let _ = (at, function, answer);
        Ok(())
    }

    /// Returns the member that objects of a function's answer have only if it was sent: a reference to it
    /// that finds nothing is recorded.
    fn may_lack(&self, function: &str) -> Option<&'static str> {
        let _ = function;
        None
    }

    /// Receives the text of a `print` call.
    fn print(&self, span: Span, text: &str) {
        let _ = (span, text);
    }

    /// Checks that the evaluation may go on; called every few hundred steps.
    ///
    /// # Errors
    /// The reason to end the evaluation, such as a timeout or a cancellation.
    fn check(&self) -> Result<(), Halt> {
        Ok(())
    }

    /// Reserves memory, so that the values of the evaluation may have `bytes` bytes in all, where several
    /// evaluations share a limit.
    ///
    /// # Errors
    /// The reason to end the evaluation.
    fn reserve(&self, bytes: u64) -> Result<(), Halt> {
        let _ = bytes;
        Ok(())
    }

    /// Returns what [`check`](Self::check) asks, for work within values, which can't call back to
    /// the host; `None` if nothing ends it.
    fn goes_on(&self) -> Option<GoesOn> {
        None
    }

    /// The time of the evaluation, in nanoseconds since 1970. It's asked for once; the whole
    /// evaluation has that time.
    fn now_ns(&self) -> i64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.ok().and_then(|now| i64::try_from(now.as_nanos()).ok()).unwrap_or_default()
    }

    /// A random number; asked for once for each `key` of an evaluation.
    fn random(&self, key: &str) -> u64 {
        use std::hash::BuildHasher as _;
        std::collections::hash_map::RandomState::new().hash_one(key)
    }

    /// The answer of a built-in function that isn't deterministic: one that the host has fixed, as
    /// in a replay, or a new one from `make`.
    ///
    /// # Errors
    /// The error of `make`.
    fn fixed(
        &self,
        function: &'static str,
        args: &[Value],
        make: &mut dyn FnMut() -> builtins::Answer,
    ) -> builtins::Answer {
        let _ = (function, args);
        make()
    }

    /// The result of `opa.runtime()`.
    fn runtime(&self) -> Value {
        Value::new_object()
    }

    /// Sends the request of `http.send`. The default refuses it.
    ///
    /// # Errors
    /// A refusal, or the network's failure.
    fn http_send(&self, request: &Value) -> builtins::Answer {
        let _ = request;
        Err(builtins::Error::failed("requests aren't allowed here"))
    }

    /// Looks up the addresses of a host name for `net.lookup_ip_addr`. The default refuses it.
    ///
    /// # Errors
    /// A refusal, or the network's failure.
    fn lookup_host(&self, name: &str) -> builtins::Answer {
        let _ = name;
        Err(builtins::Error::failed("look-ups of host names aren't allowed here"))
    }
}

/// A host that has no functions.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn call(&self, call: &HostCall<'_>) -> HostAnswer {
        HostAnswer::Error(builtins::Error::failed(format!("`{}` isn't available here", call.name)))
    }
}
