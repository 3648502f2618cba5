//! A call as an evaluation knows it: checked arguments and the key under which equal calls meet.

use std::sync::Arc;

use crate::rego::Value;

use crate::builtins::{Function, Request};
use crate::{Error, Product};

/// What makes calls equal: the function and its normalised arguments.
///
/// The arguments are in the form of OPA's decision logs: the JSON text of the argument array,
/// keys sorted, compact. It is the form of recordings too.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The full name, such as `platform.discover`.
    pub function: Arc<str>,
    pub arguments: Arc<str>,
}

/// A call whose arguments are checked.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub key: Key,
    pub function: &'static Function,
    pub request: Arc<dyn Request>,
}

impl Call {
    /// Checks the arguments of a call of the function with the full name `name`.
    pub fn new(product: &Product, name: &str, arguments: &[Value]) -> Result<Self, Error> {
        let function = name
            .strip_prefix(product.as_str())
            .and_then(|rest| rest.strip_prefix('.'))
            .and_then(crate::builtins::function)
            .ok_or_else(|| {
                Error::new(crate::ErrorKind::Internal, format!("`{name}` is no function"))
            })?;
        let full: Arc<str> = name.into();
        let request =
            function.request(product, arguments).map_err(|e| e.in_call(Arc::clone(&full)))?;
        let normal = Value::from(request.normalised());
        let text = super::output::compact(&normal)?;
        Ok(Self { key: Key { function: full, arguments: text.into() }, function, request })
    }
}
