//! Calls with checked arguments, and with the key that equal calls share.

use std::sync::Arc;

use crate::rego::Value;

use super::budget::FunctionCall;
use crate::flight::Key;
use crate::functions::{Cost, Function, Request};
use crate::load::functions::AsyncFunction;
use crate::rego::internal::builtins::HttpRequest;
use crate::{Error, Product};

/// A call whose arguments are checked.
#[derive(Debug, Clone)]
pub(crate) struct CheckedCall {
    pub key: Key,
    pub target: Target,
}

/// The target of a call.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Product {
        function: &'static Function,
        request: Arc<dyn Request>,
    },
    /// A function that the host supplies, with its arguments.
    Host {
        function: AsyncFunction,
        arguments: Vec<Value>,
    },
    /// An HTTP request of the policy itself.
    Http(Arc<HttpRequest>),
    /// A lookup of a host name's addresses.
    Lookup(Arc<str>),
}

impl CheckedCall {
    /// Checks the arguments of a call of the function with the full name `name`.
    pub fn new(product: &Product, name: &str, arguments: &[Value]) -> Result<Self, Error> {
        let function =
            product.short(name).and_then(crate::functions::function).ok_or_else(|| {
                Error::new(crate::ErrorKind::Internal, format!("`{name}` isn't a function"))
            })?;
        let full: Arc<str> = name.into();
        let request =
            function.request(product, arguments).map_err(|e| e.in_call(Arc::clone(&full)))?;
        let key = key(full, request.normalised())?;
        Ok(Self { key, target: Target::Product { function, request } })
    }

    /// Returns a call of a function that the host supplies.
    pub fn of_host(
        name: &str,
        function: &AsyncFunction,
        arguments: &[Value],
    ) -> Result<Self, Error> {
        let whole = Value::from(arguments.to_vec());
        let key = if whole.has_json_form() {
            key(name.into(), arguments.to_vec())?
        } else {
            // As JSON, a set would equal an array, and the key 1 the key "1".
            Key { function: name.into(), arguments: whole.to_string().into() }
        };
        let (function, arguments) = (function.clone(), arguments.to_vec());
        Ok(Self { key, target: Target::Host { function, arguments } })
    }

    /// Returns the call in the form in which a responder gets it.
    pub fn as_function_call(&self) -> FunctionCall {
        let arguments = match &self.target {
            Target::Product { request, .. } => request.normalised(),
            Target::Host { arguments, .. } => arguments.clone(),
            Target::Http(_) | Target::Lookup(_) => Vec::new(),
        };
        FunctionCall { function: Arc::clone(&self.key.function), arguments }
    }

    /// Returns the cost of the call.
    pub fn cost(&self) -> Cost {
        match &self.target {
            Target::Product { function, .. } => function.cost,
            _ => Cost::Request,
        }
    }

    /// Returns `true` if it may be sent before it is certain that the policy needs it.
    pub fn may_be_guessed(&self, eager_prompts: bool) -> bool {
        self.reads() && (self.cost() != Cost::Prompt || eager_prompts)
    }

    /// Returns `true` if equal calls of other evaluations have the same answer.
    ///
    /// A host's function may answer for the tenant of its policies, and a request with headers that
    /// its key ignores may be answered for the user whom they name.
    pub fn is_shared(&self) -> bool {
        match &self.target {
            Target::Product { .. } | Target::Lookup(_) => true,
            Target::Http(request) => self.reads() && !request.ignores_headers,
            Target::Host { .. } => false,
        }
    }

    /// Returns `true` if it has no side effects, so that it may be repeated, or sent on a guess.
    pub fn reads(&self) -> bool {
        match &self.target {
            Target::Http(request) => matches!(&*request.method, "" | "GET" | "HEAD"),
            _ => true,
        }
    }
}

/// The key of a call of the function with the full name `function`.
pub(super) fn key(function: Arc<str>, arguments: Vec<Value>) -> Result<Key, Error> {
    let text = super::output::compact(&Value::from(arguments))?;
    Ok(Key { function, arguments: text.into() })
}
