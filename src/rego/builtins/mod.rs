//! The built-in functions: one table, and a file for each family.
//!
//! Owns what each function is called, takes, gives, costs and may fail with. It knows values and
//! types, and neither trees nor the machine that calls it.
//!
//! A function that fails gives an [`Error`]; whether that ends the evaluation (strict) or makes the
//! call undefined is the machine's to decide. Only [`Error::halt`] ends it in any case.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::value::Value;

mod aggregates;
#[cfg(feature = "crypto")]
mod aws;
mod casts;
mod collections;
mod comparison;
#[cfg(feature = "crypto")]
mod crypto;
mod encoding;
mod encoding_rules;
mod glob;
mod glob_intersect;
mod go_float;
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

pub use graph::walk_values;
pub use http::{HttpPem, HttpRequest, HttpResponse, HttpTls, http_failure};
pub(crate) use json_schema::{Sketch, outline};
pub use table::{all, is_missing, lookup};
pub use yaml::from_yaml;

/// What a function gives: a value, or nothing where it is undefined.
pub type Answer = Result<Option<Value>, Error>;

/// One built-in function.
pub struct Builtin {
    /// Its name, such as `array.concat`; operators have OPA's names (`plus`, `eq`).
    pub name: &'static str,
    /// Its operator, such as `+`, where it has one.
    pub infix: Option<&'static str>,
    /// Its types: `string, array[string] -> string`; see [`super::types`] for the grammar.
    pub signature: &'static str,
    /// Its answer depends on more than its arguments; it is fixed within an evaluation.
    pub nondeterministic: bool,
    /// Rego v1 refuses it.
    pub deprecated: bool,
    /// It gives any number of answers (`walk`).
    pub relation: bool,
    /// How it runs.
    pub run: Run,
}

impl Builtin {
    /// True if its answer comes from the network, by way of the host.
    pub fn asks_network(&self) -> bool {
        matches!(self.name, "http.send" | "net.lookup_ip_addr")
    }
}

/// How a function runs.
#[derive(Clone, Copy)]
pub enum Run {
    /// By its arguments.
    Plain(fn(&dyn Context, &[Value]) -> Answer),
    /// By its arguments, with any number of answers; the consumer says whether to go on.
    Each(fn(&dyn Context, &[Value], &mut dyn FnMut(Value) -> bool) -> Result<(), Error>),
    /// By the machine or a compile stage: `eq`, `assign`, `print`, `rego.metadata.*`.
    Machine,
}

/// A failure of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Which kind of failure, as OPA has it.
    pub code: Code,
    /// What failed, in OPA's words where they are short, without the function's name.
    pub message: Cow<'static, str>,
    /// True if it ends the evaluation also where errors of built-ins are undefined.
    pub halt: bool,
}

/// OPA's kinds of failures of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// `eval_type_error`: an argument of a wrong type.
    Type,
    /// `eval_builtin_error`: anything else.
    Builtin,
    /// A bound was reached: the evaluation ends.
    Limit,
    /// The deadline passed or the evaluation was cancelled: it ends.
    Cancelled,
}

impl Error {
    /// An argument (from 1) has a type that the function doesn't take.
    pub fn operand(position: usize, got: &Value, expected: &[&str]) -> Self {
        let expected = match expected {
            [one] => (*one).to_owned(),
            many => format!("one of {{{}}}", many.join(", ")),
        };
        let message = format!("operand {position} must be {expected} but got {}", got.type_name());
        Self { code: Code::Type, message: message.into(), halt: false }
    }

    /// The function failed.
    pub fn failed(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: Code::Builtin, message: message.into(), halt: false }
    }

    /// The evaluation must end.
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

/// What a function may use besides its arguments. One evaluation has one.
pub trait Context {
    /// The time of the evaluation, in nanoseconds since 1970; the same for all of it.
    fn now_ns(&self) -> i64;
    /// A number that is random for the evaluation and fixed for `key` within it.
    fn random(&self, key: &str) -> u64;
    /// Announces that about `bytes` are going to be made; fails where that is too much.
    ///
    /// # Errors
    /// [`Code::Limit`], with `halt`.
    fn charge(&self, bytes: u64) -> Result<(), Error>;
    /// Looks whether the evaluation is over its time or cancelled; to be called in loops.
    ///
    /// # Errors
    /// [`Code::Cancelled`], with `halt`.
    fn check(&self) -> Result<(), Error>;
    /// What is kept for the evaluation: compiled patterns, parsed keys.
    fn cache(&self) -> &Cache;
    /// What `opa.runtime()` gives.
    fn runtime(&self) -> Value;
    /// Sends a request for `http.send` (the request object of the policy, checked by the family's
    /// file) and gives the response object; the host decides whether, and to where.
    ///
    /// # Errors
    /// Whatever the host refuses or the network fails with.
    fn http_send(&self, request: &Value) -> Answer;
    /// Looks up the addresses of a host name; the host decides whether.
    ///
    /// # Errors
    /// Whatever the host refuses or the network fails with.
    fn lookup_host(&self, name: &str) -> Answer;
}

/// Things that functions keep within an evaluation, or longer, by kind and text.
#[derive(Default)]
pub struct Cache(
    std::sync::Mutex<
        std::collections::HashMap<(&'static str, String), Arc<dyn std::any::Any + Send + Sync>>,
    >,
);

impl Cache {
    /// What is kept under `kind` and `key`, made by `make` where there is none yet.
    ///
    /// # Errors
    /// Those of `make`, which are not kept.
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
