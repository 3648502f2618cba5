//! The built-in functions: one table, and a file for each family.
//!
//! Owns the name, types, cost and errors of each function. It depends on values and types only, not
//! on the engine nor, apart from `rego.parse_module`, on syntax trees.
//!
//! A function that fails returns an [`Error`]; the engine decides whether it ends the evaluation
//! (strict mode) or makes the call undefined. Only [`Error::halt`] always ends it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::value::Value;

mod aggregates;
#[cfg(feature = "crypto")]
mod aws;
mod bounded;
mod casts;
mod collections;
mod comparison;
#[cfg(feature = "crypto")]
mod crypto;
mod encoding;
mod encoding_rules;
mod glob;
mod glob_intersect;
mod go_format;
mod graph;
mod http;
mod json_patch;
mod json_schema;
#[cfg(feature = "crypto")]
mod jwt;
mod net;
mod net_lookup;
mod numbers;
mod objects;
#[cfg(test)]
mod opa_sample;
mod operands;
mod parse_module;
mod regex;
mod render_template;
mod runtime;
mod semver;
mod sprintf;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod units;
mod uri;
mod uuid;
mod yaml;

pub use bounded::Bounded;
pub use glob::PathGlob;
pub use graph::walk_values;
pub use http::{HTTP_SEND, HttpPem, HttpRequest, HttpResponse, HttpTls, LOOKUP, http_failure};
pub(crate) use json_schema::{Sketch, outline};
pub use regex::GoRegex;
pub use table::{all, is_missing, lookup};
pub use time::duration::go_duration;
pub use uri::is_absolute_url;
pub use yaml::from_yaml;

/// The result of a function; `None` if it is undefined.
pub type Answer = Result<Option<Value>, Error>;

/// A built-in function.
pub struct Builtin {
    /// The name, such as `array.concat`; operators have OPA's names (`plus`, `eq`).
    pub name: &'static str,
    /// The operator, such as `+`, if there is one.
    pub infix: Option<&'static str>,
    /// The types of arguments and result, such as `string, array[string] -> string`; see
    /// `types` for the grammar.
    pub signature: &'static str,
    /// `true` if the result depends on more than the arguments. It is fixed within an evaluation.
    pub nondeterministic: bool,
    /// `true` if Rego v1 rejects the function.
    pub deprecated: bool,
    /// `true` if the function returns any number of results, as `walk` does.
    pub relation: bool,
    /// The implementation.
    pub run: Run,
}

impl Builtin {
    /// Returns `true` if the result comes from the network, by way of the host.
    pub fn asks_network(&self) -> bool {
        matches!(self.name, "http.send" | "net.lookup_ip_addr")
    }
}

/// The implementation of a function.
#[derive(Clone, Copy)]
pub enum Run {
    /// A function of its arguments.
    Plain(fn(&dyn Context, &[Value]) -> Answer),
    /// A function with any number of results; the callback returns `false` to stop.
    Each(fn(&dyn Context, &[Value], &mut dyn FnMut(Value) -> bool) -> Result<(), Error>),
    /// Implemented by the engine or a compile stage: `eq`, `assign`, `print`, `rego.metadata.*`.
    Machine,
    /// Declared, but not implemented.
    Missing,
}

/// The failure of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure, as OPA classifies it.
    pub code: Code,
    /// A description, in OPA's words if they are short, without the function's name.
    pub message: Cow<'static, str>,
    /// `true` if the failure ends the evaluation even when errors of built-ins are undefined.
    pub halt: bool,
}

/// The kinds of failures, as OPA classifies them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// `eval_type_error`: an argument has the wrong type.
    Type,
    /// `eval_builtin_error`: any other failure.
    Builtin,
    /// A limit was reached, which ends the evaluation.
    Limit,
    /// The deadline passed or the evaluation was cancelled, which ends it.
    Cancelled,
}

impl Error {
    /// Returns the error for an argument of the wrong type; positions count from 1.
    pub fn operand(position: usize, got: &Value, expected: &[&str]) -> Self {
        let expected = match expected {
            [one] => (*one).to_owned(),
            many => format!("one of {{{}}}", many.join(", ")),
        };
        let message = format!("operand {position} must be {expected} but got {}", got.type_name());
        Self { code: Code::Type, message: message.into(), halt: false }
    }

    /// Returns the error for any other failure.
    pub fn failed(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: Code::Builtin, message: message.into(), halt: false }
    }

    /// Returns an error that ends the evaluation.
    pub fn halt(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), halt: true }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The services available to functions, besides their arguments. Each evaluation has its own.
pub trait Context {
    /// Returns the time in nanoseconds since 1970, which is fixed for the evaluation.
    fn now_ns(&self) -> i64;
    /// Returns a number that is random per evaluation, and fixed for `key` within it.
    fn random(&self, key: &str) -> u64;
    /// Returns the answer of a function that isn't deterministic: the one that the host has fixed for
    /// the evaluation, as in a replay, or a new one from `make`.
    ///
    /// # Errors
    /// The error of `make`.
    fn fixed(
        &self,
        function: &'static str,
        args: &[Value],
        make: &mut dyn FnMut() -> Answer,
    ) -> Answer {
        let _ = (function, args);
        make()
    }
    /// Accounts for about `bytes` that are going to be allocated; fails if that is too much.
    ///
    /// # Errors
    /// Returns [`Code::Limit`], with `halt`.
    fn charge(&self, bytes: u64) -> Result<(), Error>;
    /// Checks whether the evaluation has timed out or was cancelled; to be called in loops.
    ///
    /// # Errors
    /// Returns [`Code::Cancelled`], with `halt`.
    fn check(&self) -> Result<(), Error>;
    /// Returns the cache for parsed keys and schemas, whose contents count as memory of the
    /// evaluation.
    fn cache(&self) -> &Cache;
    /// Returns the compiled patterns, which evaluations share.
    fn patterns(&self) -> &CompiledPatterns;
    /// Returns the result of `opa.runtime()`.
    fn runtime(&self) -> Value;
    /// Sends a request of `http.send` and returns the response object. `request` is the policy's
    /// request object, which was checked; the host decides whether to send it, and to where.
    ///
    /// # Errors
    /// Returns an error if the host refuses or the network fails.
    fn http_send(&self, request: &Value) -> Answer;
    /// Looks up the addresses of a host name; the host decides whether to.
    ///
    /// # Errors
    /// Returns an error if the host refuses or the network fails.
    fn lookup_host(&self, name: &str) -> Answer;
}

/// Compiled patterns, of limited number and size.
#[derive(Default)]
pub struct CompiledPatterns {
    pub(in crate::builtins) regex: regex::PatternCache<regex::Pattern>,
    pub(in crate::builtins) glob: regex::PatternCache<regex::Compiled>,
}

/// Values that functions cache for an evaluation, by kind and text.
#[derive(Default)]
pub struct Cache(
    std::sync::Mutex<
        std::collections::HashMap<(&'static str, String), Arc<dyn std::any::Any + Send + Sync>>,
    >,
);

impl Cache {
    /// Returns the value cached under `kind` and `key`, or caches the one that `make` returns.
    ///
    /// # Errors
    /// Returns the errors of `make`, which aren't cached.
    pub fn get<T: Send + Sync + 'static>(
        &self,
        kind: &'static str,
        key: &str,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        let lock = || self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let index = (kind, key.to_owned());
        if let Some(kept) = lock().get(&index)
            && let Ok(kept) = Arc::clone(kept).downcast::<T>()
        {
            return Ok(kept);
        }
        let made = Arc::new(make()?);
        let any: Arc<dyn std::any::Any + Send + Sync> = Arc::<T>::clone(&made);
        lock().insert(index, any);
        Ok(made)
    }
}
