//! The built-ins as extensions: the same names and meaning as OPA's, with bounds.
//!
//! regorus looks for an extension before it looks for a built-in of its own, so every built-in
//! can be replaced. Each one is called here: the scope is asked whether the pass goes on, the
//! arguments' types are checked before regorus sees them (its own type errors print the whole
//! value, which a small policy can make larger than any memory), and then either regorus' own
//! function runs, with its output bounded, or one of ours where regorus' differs from OPA, can't
//! be bounded, or panics. One file owns one family; `table.rs` lists all of them.
//!
//! Calls with a variable for the result (`numbers.range(1, 5, xs)`) work for the names that
//! regorus has itself, because it takes their number of arguments from its own table. For names
//! that it hasn't, such a call would be undefined: the loader refuses it.

mod arguments;
mod chance;
mod codec;
mod collections;
mod digest;
mod documents;
mod format;
mod glob;
mod graph;
mod native;
mod net;
mod numbers;
mod pattern;
mod size;
mod strings;
mod table;
mod times;

use std::sync::Arc;

use regorus::{Engine, Value};

pub(crate) use size::fits;

use super::scope::{self, Scope};
use crate::{Error, ErrorKind};

/// Why a built-in has no value.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The arguments have no answer: an error where built-in errors are strict, else undefined.
    Operand(String),
    /// A limit was reached, or the call can't be answered as OPA would: an error in any case.
    Refused(Error),
    /// No answer, and no error either.
    Undefined,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// The outcome of a built-in.
type Outcome = Result<Value, Fault>;

fn operand<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Operand(message.into()))
}

/// An error for a call whose answer here would not be OPA's.
fn differs<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Refused(Error::new(ErrorKind::Policy, message)))
}

/// How a built-in gets its value.
#[derive(Clone, Copy)]
enum Run {
    /// regorus' own function; what it makes is in proportion to its arguments.
    Native,
    /// regorus' own function, after the bytes that it will make were worked out and charged.
    Sized(fn(&Scope, &[Value]) -> Result<u64, Fault>),
    /// A function of ours.
    Own(fn(&Scope, &[Value]) -> Outcome),
}

/// A built-in: its name, the types of its arguments, how it gets its value.
struct Builtin {
    name: &'static str,
    /// One word for each argument, one letter for each type that it takes: see `arguments`.
    args: &'static str,
    run: Run,
}

impl Builtin {
    fn arity(&self) -> u8 {
        u8::try_from(self.args.split_whitespace().count()).unwrap_or(u8::MAX)
    }

    fn call(&self, scope: &Scope, args: &[Value]) -> Outcome {
        arguments::check(self.args, args)?;
        match self.run {
            Run::Native => native::call(scope, self.name, args),
            Run::Sized(size) => {
                let bytes = size(scope, args)?;
                size::string(scope, bytes)?;
                native::call(scope, self.name, args)
            }
            Run::Own(own) => own(scope, args),
        }
    }
}

/// Every built-in that evaluations have, with its number of arguments.
pub(crate) fn provided_builtins() -> Vec<(String, u8)> {
    table::TABLE.iter().map(|builtin| (builtin.name.to_owned(), builtin.arity())).collect()
}

/// Built-ins that answer every call with an error; a check says so before the call is reached.
pub(crate) const REFUSED: &[&str] =
    &["http.send", "json.match_schema", "json.verify_schema", "opa.runtime"];

/// The number of arguments of the built-in `name`.
pub(crate) fn arity(name: &str) -> Option<u8> {
    let found = table::TABLE.iter().find(|builtin| builtin.name == name);
    found.map(Builtin::arity)
}

/// Adds `functions` (full names and numbers of arguments, answered by the [`Calls`] of the scope)
/// and the built-ins that `wanted` accepts to `engine`.
///
/// Once for the template: clones share the extensions. Each extension makes every clone some 40 ns
/// slower, so `wanted` should name what the modules and the query call, and no more.
pub(crate) fn install(
    engine: &mut Engine,
    functions: &[(String, u8)],
    wanted: impl Fn(&str) -> bool,
) -> Result<(), Error> {
    let taken =
        |name: &str| Error::new(ErrorKind::Internal, format!("`{name}` is registered already"));
    for (name, arity) in functions {
        let function: Arc<str> = Arc::from(name.as_str());
        let run = move |args: Vec<Value>| ask(&function, args).map_err(anyhow::Error::new);
        engine.add_extension(name.clone(), *arity, Box::new(run)).map_err(|_| taken(name))?;
    }
    for builtin in table::TABLE.iter().filter(|builtin| wanted(builtin.name)) {
        let run = move |args: Vec<Value>| answer(builtin, &args).map_err(anyhow::Error::new);
        engine
            .add_extension(builtin.name.to_owned(), builtin.arity(), Box::new(run))
            .map_err(|_| taken(builtin.name))?;
    }
    Ok(())
}

/// A call of one of the product's functions.
fn ask(function: &Arc<str>, args: Vec<Value>) -> Result<Value, Error> {
    let Some(scope) = scope::current() else {
        let message = "called outside an evaluation of this crate";
        return Err(Error::new(ErrorKind::Internal, message).in_call(Arc::clone(function)));
    };
    scope.check()?;
    for arg in &args {
        // The arguments leave the large stack: they are hashed, compared and written elsewhere.
        size::fits(arg, scope.bounds())
            .map_err(|error| scope.fail(error.in_call(Arc::clone(function))))?;
    }
    // The first failure stands also where it was noted while the call was under way.
    let result = scope.calls().call(function, args);
    match result {
        Ok(value) => scope.failure().map_or(Ok(value), |failure| Err(failure.clone())),
        Err(error) => Err(scope.fail(error)),
    }
}

/// A call of a built-in.
fn answer(builtin: &'static Builtin, args: &[Value]) -> Result<Value, Error> {
    let Some(scope) = scope::current() else {
        let message = format!("`{}` was called outside an evaluation of this crate", builtin.name);
        return Err(Error::new(ErrorKind::Internal, message));
    };
    scope.check()?;
    match builtin.call(&scope, args) {
        Ok(value) => Ok(value),
        Err(Fault::Undefined) => Ok(Value::Undefined),
        Err(Fault::Operand(_)) if !scope.is_strict() => Ok(Value::Undefined),
        Err(Fault::Operand(message)) => {
            let error = Error::new(ErrorKind::Policy, format!("{}: {message}", builtin.name));
            Err(scope.fail(error))
        }
        Err(Fault::Refused(error)) => Err(scope.fail(named(builtin.name, error))),
    }
}

/// `error` with the built-in's name before its message.
fn named(name: &str, error: Error) -> Error {
    match error {
        Error::Other { message, kind, hint, source } => {
            Error::Other { message: format!("{name}: {message}"), kind, hint, source }
        }
        other => other,
    }
}

#[cfg(test)]
pub(super) mod tests;

#[cfg(test)]
mod attacks;
