//! What an evaluation needs of the world: calls of the host's functions, prints, the clock, its end.
//!
//! # In which order and how often
//!
//! Calls are made as OPA makes calls of custom built-in functions (`rego.Function…` without
//! `Memoize`): each time an evaluation reaches one, with the same arguments or not. What OPA keeps
//! is above them: the results of rules and of functions by their arguments, per `with` frame.
//! OPA's cache of non-deterministic built-ins is for decision logs and holds only calls of a query
//! that was given one; `opa eval`, `opa test` and the SDK's default don't.

use std::fmt;
use std::sync::Arc;

use crate::rego::builtins;
use crate::rego::syntax::tree::Span;
use crate::rego::value::Value;

/// A place in the text where a host function is called; an index into
/// [`Program::call_sites`](crate::rego::program::Program::call_sites).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallSite(pub u32);

/// A call of a host function.
#[derive(Debug, Clone, Copy)]
pub struct HostCall<'a> {
    /// Its place; nothing where the function stands in for another by `with`.
    pub site: Option<CallSite>,
    /// The expression that calls.
    pub span: Span,
    /// The function.
    pub name: &'a str,
    /// Its arguments.
    pub args: &'a [Value],
}

/// What a call gives.
#[derive(Debug, Clone)]
pub enum HostAnswer {
    /// A value.
    Value(Value),
    /// Nothing: the expression is undefined.
    Undefined,
    /// A failure as built-in functions fail: undefined, and the first one is the result's error
    /// where errors of built-in functions are strict.
    Error(builtins::Error),
    /// A failure that ends the evaluation with this very error.
    Fail(Arc<dyn std::error::Error + Send + Sync>),
}

/// Why the host ends an evaluation.
#[derive(Debug, Clone)]
pub struct Halt {
    /// What [`EvalError`](super::EvalError) says of it.
    pub message: String,
    /// The host's own error.
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Halt {
    /// With a message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The world of one evaluation. Nothing but `call` has to be written for a host without clock,
/// prints and network.
pub trait Host {
    /// Calls a host function.
    fn call(&self, call: &HostCall<'_>) -> HostAnswer;

    /// Takes what `print` says.
    fn print(&self, span: Span, text: &str) {
        let _ = (span, text);
    }

    /// Looks whether the evaluation is over its time or cancelled; asked every few hundred steps.
    ///
    /// # Errors
    /// The reason to end it.
    fn check(&self) -> Result<(), Halt> {
        Ok(())
    }

    /// The time of the evaluation, in nanoseconds since 1970; the same for all of it.
    fn now_ns(&self) -> i64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.ok().and_then(|now| i64::try_from(now.as_nanos()).ok()).unwrap_or_default()
    }

    /// A random number; asked once for each `key` of an evaluation.
    fn random(&self, key: &str) -> u64 {
        use std::hash::BuildHasher as _;
        std::collections::hash_map::RandomState::new().hash_one(key)
    }

    /// The value of a built-in function that isn't the same every time: fixed by the host, as in a
    /// replay, or made now.
    ///
    /// # Errors
    /// What `make` fails with.
    fn fixed(
        &self,
        function: &'static str,
        args: &[Value],
        make: &mut dyn FnMut() -> builtins::Answer,
    ) -> builtins::Answer {
        let _ = (function, args);
        make()
    }

    /// What `opa.runtime()` gives.
    fn runtime(&self) -> Value {
        Value::new_object()
    }

    /// Sends the request of `http.send`; refused unless the host says otherwise.
    ///
    /// # Errors
    /// Whatever the host refuses or the network fails with.
    fn http_send(&self, request: &Value) -> builtins::Answer {
        let _ = request;
        Err(builtins::Error::failed("requests aren't allowed here"))
    }

    /// Looks up the addresses of a host name; refused unless the host says otherwise.
    ///
    /// # Errors
    /// Whatever the host refuses or the network fails with.
    fn lookup_host(&self, name: &str) -> builtins::Answer {
        let _ = name;
        Err(builtins::Error::failed("look-ups of host names aren't allowed here"))
    }
}

/// A host without functions.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn call(&self, call: &HostCall<'_>) -> HostAnswer {
        HostAnswer::Error(builtins::Error::failed(format!("`{}` isn't available here", call.name)))
    }
}
