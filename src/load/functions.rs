//! Functions that the host supplies in addition to the product's.
//!
//! Owns the host's closures, pure or async. Calls of async functions are batched, remembered within
//! an evaluation and recorded like the product's; pure functions are called directly.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::rego::Value;
use crate::rego::internal::{builtins, types};
use crate::text::escape;
use crate::{Diagnostic, Error, Product};

type PureFn = dyn Fn(&[Value]) -> Result<Option<Value>, Error> + Send + Sync;
type AnswerFuture = Pin<Box<dyn Future<Output = Result<Value, Error>> + Send>>;
type AsyncFn = dyn Fn(Vec<Value>) -> AnswerFuture + Send + Sync;

/// A function that the host supplies and policies can call.
///
/// ```
/// use rego_platform::load::HostFunction;
/// use rego_platform::Value;
///
/// let shout = HostFunction::pure("acme.shout", 1, |args| {
///     let text = args.first().and_then(Value::as_str);
///     Ok(text.map(|text| Value::from(text.to_uppercase())))
/// });
/// assert_eq!(shout.name(), "acme.shout");
/// ```
#[derive(Clone)]
pub struct HostFunction {
    name: Arc<str>,
    arity: u8,
    /// The types, if they are known, as [`crate::rego::internal::types`] writes them.
    signature: Option<Arc<str>>,
    /// Set if it may have the product's prefix.
    of_product: bool,
    pub(crate) kind: Kind,
}

#[derive(Clone)]
pub(crate) enum Kind {
    /// A declaration without an implementation, for `check`.
    Declared,
    Pure(Arc<PureFn>),
    Async(AsyncFunction),
}

/// A closure that returns its answer as a future.
#[derive(Clone)]
pub(crate) struct AsyncFunction(Arc<AsyncFn>);

impl AsyncFunction {
    pub(crate) fn call(&self, arguments: Vec<Value>) -> AnswerFuture {
        (self.0)(arguments)
    }
}

impl fmt::Debug for AsyncFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AsyncFunction")
    }
}

impl fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostFunction({}/{})", self.name, self.arity)
    }
}

impl HostFunction {
    /// Declares a function without implementing it: policies that call it load, and an evaluation
    /// that reaches the call fails. For `check`.
    pub fn declared(name: impl Into<Arc<str>>, arity: u8) -> Self {
        Self { name: name.into(), arity, signature: None, of_product: false, kind: Kind::Declared }
    }

    /// Declares a function with its types, as [`declared`](Self::declared) does.
    pub(crate) fn typed(name: &str, types: &types::Function) -> Self {
        let arguments: Vec<String> = types.args.iter().map(ToString::to_string).collect();
        let result =
            if types.result.is_unknown() { String::new() } else { types.result.to_string() };
        let signature = format!("{} -> {result}", arguments.join(", "));
        // Types of members whose names can't be written in a signature.
        let signature = types::Function::parse(&signature).is_ok().then(|| signature.into());
        let arity = u8::try_from(types.args.len()).unwrap_or(u8::MAX);
        Self { signature, ..Self::declared(name, arity) }
    }

    /// Returns the types in the notation of signatures: `any` where they aren't known.
    pub(crate) fn signature(&self) -> String {
        let any = || format!("{} -> any", vec!["any"; usize::from(self.arity)].join(", "));
        self.signature.as_ref().map_or_else(any, ToString::to_string)
    }

    /// Creates a function whose answer depends on its arguments alone and needs no waiting. `None`
    /// makes the call undefined; an error ends the evaluation.
    pub fn pure(
        name: impl Into<Arc<str>>,
        arity: u8,
        function: impl Fn(&[Value]) -> Result<Option<Value>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { kind: Kind::Pure(Arc::new(function)), ..Self::declared(name, arity) }
    }

    /// Returns the same function, which may have the product's prefix.
    #[doc(hidden)]
    #[must_use]
    pub fn of_product(self) -> Self {
        Self { of_product: true, ..self }
    }

    /// Creates a function whose answer takes time. It must be safe to call on a guess, and must
    /// give the same answer for the same arguments within an evaluation, which calls it only once
    /// for them. It runs on a thread that all such functions of the policies share, with a tokio
    /// runtime, and shouldn't block it.
    pub fn asynchronous<F>(
        name: impl Into<Arc<str>>,
        arity: u8,
        function: impl Fn(Vec<Value>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, Error>> + Send + 'static,
    {
        let function = move |arguments| -> AnswerFuture { Box::pin(function(arguments)) };
        Self { kind: Kind::Async(AsyncFunction(Arc::new(function))), ..Self::declared(name, arity) }
    }

    /// Returns a finding for each of `functions` whose name is invalid or already taken by Rego,
    /// the service or another of them.
    pub(crate) fn invalid(functions: &[Self], product: &Product) -> Vec<Diagnostic> {
        let reason = |index: usize, name: &str, of_product: bool| {
            let part = |part: &str| {
                part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            };
            let first = name.split('.').next().unwrap_or_default();
            if !name.split('.').all(part) || ["data", "input"].contains(&first) {
                Some("isn't a valid function name")
            } else if builtins::lookup(name).is_some() {
                Some("is one of Rego's own functions")
            } else if first == product.as_str() && !of_product {
                Some("has the product's prefix, which is reserved for the service's functions")
            } else if functions.iter().take(index).any(|other| *other.name == *name) {
                Some("is declared twice")
            } else {
                None
            }
        };
        let wrong = |(index, function): (usize, &Self)| {
            let what = reason(index, &function.name, function.of_product)?;
            let message = format!("the host's function `{}` {what}", escape(&function.name));
            Some(Diagnostic::error("name-collision", message))
        };
        functions.iter().enumerate().filter_map(wrong).collect()
    }

    /// Returns the full name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of arguments.
    pub const fn arity(&self) -> u8 {
        self.arity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_and_taken_names_are_refused() {
        let names =
            ["acme.team", "count", "platform.team", "data.x", "a b", "", "a..b", "acme.team"];
        let functions = names.map(|name| HostFunction::declared(name, 1));
        let wrong = HostFunction::invalid(&functions, &Product::default());
        assert_eq!(wrong.len(), 7, "{wrong:?}");
        assert!(HostFunction::invalid(&functions[..1], &Product::default()).is_empty());
    }
}
