//! The functions that policies call, in one table.
//!
//! Owns the definition of a function: its name, arguments, result, documentation and cost.
//! Registration, argument errors, documentation and static checks all come from this table. Each
//! function has its own file; `client` owns how requests are sent, `evaluate` how evaluations
//! use them.

mod arguments;
pub(crate) mod discover;
mod download_artifact;
mod effective_assessments;
mod enumeration;
pub(crate) mod environments;
mod evidence;
mod evidence_prompt;
mod findings;
#[doc(hidden)]
pub mod known_fields;
mod lists;
pub(crate) mod product_compliance;
mod product_version;
pub(crate) mod products;
mod project_compliance;
pub(crate) mod projects;
mod set;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::rego::Value;

use crate::client::{Api, Client, Context};
use crate::{Error, Product};

pub use crate::resources::types::{Field, Type};
pub use rego_platform_client::call::{ContentForm, Cost};
pub use set::FunctionSet;

#[doc(hidden)]
pub use crate::resources::types::describe;
pub(crate) use rego_platform_client::call::Answer;

pub(crate) use arguments::{Filter, Invalid, identifier};
pub(crate) use evidence_prompt::is_skipped;
pub(crate) use lists::Listing;
pub(crate) use product_version::VersionRequest;

/// The location of a function's result in the service's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The value of this key. The service may have sent fields that aren't documented.
    Key(&'static str),
    /// A value built from the response, with the documented fields only.
    Composed,
}

/// An argument of a function.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Argument {
    /// The argument's name in the documentation and in errors.
    pub name: &'static str,
    /// The type of its values; any other value is rejected before a call is sent.
    pub ty: Type,
    /// The argument's meaning.
    pub doc: &'static str,
}

/// A checked call, or the violation in its arguments.
pub(crate) type Parsed = Result<Arc<dyn Request>, Invalid>;

/// A row of the table: everything there is to know about a function.
#[non_exhaustive]
pub struct Function {
    /// The name without the product's prefix: `discover`.
    pub name: &'static str,
    /// The arguments, all of them required.
    pub arguments: &'static [Argument],
    /// The type of an answer that was checked.
    pub result: Type,
    /// A one-line summary of the function.
    pub summary: &'static str,
    /// The documentation for policy authors.
    pub doc: &'static str,
    /// The cost of a call.
    pub cost: Cost,
    /// The API that it calls.
    pub api: Api,
    /// `true` if it needs a paid plan (interface 8.3).
    pub paid_plan: bool,
    /// `true` if it is off until a host enables it ([`FunctionSet`]).
    pub optional: bool,
    pub(crate) origin: Origin,
    pub(crate) parse: fn(&[Value]) -> Parsed,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every function: the five of interface section 4.7, those that read the resources of sections 4.1 to
/// 4.6, and two of newer services. All but the five are off until a host enables them ([`FunctionSet`]).
/// None of them writes.
pub static FUNCTIONS: &[&Function] = &[
    &discover::FUNCTION,
    &evidence::FUNCTION,
    &project_compliance::FUNCTION,
    &evidence_prompt::FUNCTION,
    &download_artifact::FUNCTION,
    &products::FUNCTION,
    &product_version::FUNCTION,
    &projects::FUNCTION,
    &environments::FUNCTION,
    &product_compliance::FUNCTION,
    &findings::FUNCTION,
    &effective_assessments::FUNCTION,
];

/// Returns the member that objects in a function's result have only if the service sent it.
pub(crate) fn may_lack(function: &str) -> Option<&'static str> {
    let (_, short) = function.split_once('.')?;
    (short == discover::FUNCTION.name).then_some(discover::PUBLIC)
}

/// Functions that a gate supplies to policy documents alone.
pub(crate) const OF_DOCUMENTS: &[&str] = &["vulnerability"];

/// Returns the function with this `name`, given without a prefix.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().copied().find(|f| f.name == name)
}

impl Function {
    /// The number of arguments of a call.
    pub fn arity(&self) -> u8 {
        u8::try_from(self.arguments.len()).unwrap_or(u8::MAX)
    }

    /// Checks a call's arguments, before anything is sent.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument), which names the argument and what was expected.
    #[doc(hidden)]
    pub fn request(
        &self,
        product: &Product,
        arguments: &[Value],
    ) -> Result<Arc<dyn Request>, Error> {
        if arguments.len() != self.arguments.len() {
            let expected = self.arguments.len();
            let message = format!("takes {expected} arguments, not {}", arguments.len());
            return Err(Error::invalid_argument(message).with_hint(self.called_as(product)));
        }
        (self.parse)(arguments).map_err(|invalid| invalid.into_error(self, product))
    }

    /// Returns a hint for wrong arguments: the function's signature.
    #[doc(hidden)]
    pub fn called_as(&self, product: &Product) -> String {
        let mut text = format!("call it as {product}.{}", self.signature());
        for argument in self.arguments {
            if matches!(argument.ty, Type::Either(Type::String, Type::Null)) {
                text.push_str(&format!("; `{}` may be `\"\"`", argument.name));
            }
        }
        text
    }

    /// Returns the signature that the language's type checker and OPA's capabilities have.
    pub(crate) fn rego_signature(&self) -> String {
        let arguments: Vec<_> = self.arguments.iter().map(|a| a.ty.argument_in_rego()).collect();
        format!("{} -> {}", arguments.join(", "), self.result.result_in_rego())
    }

    /// Returns the call's form, without the product's prefix: `discover(digest, kind)`.
    pub fn signature(&self) -> String {
        let names: Vec<_> = self.arguments.iter().map(|a| a.name).collect();
        format!("{}({})", self.name, names.join(", "))
    }
}

#[doc(hidden)]
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send + 'a>>;

/// A call whose arguments are checked and normalised.
#[doc(hidden)]
pub trait Request: Send + Sync + std::fmt::Debug {
    /// Returns the arguments in normal form: equal calls have equal arguments.
    fn normalised(&self) -> Vec<Value>;

    /// Sends the request to the service.
    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a>;
}

/// Parses the rows on one page of a list function's answer (`evidence`): just the parsing, for the
/// benchmarks.
///
/// # Errors
///
/// When the page doesn't have the documented form.
#[doc(hidden)]
pub fn parse_rows(function: &str, page: &[u8]) -> serde_json::Result<Vec<Value>> {
    let field = self::function(function).and_then(|function| match function.result {
        Type::Object([field]) => Some(field),
        _ => None,
    });
    match field {
        Some(Field { name, ty: Type::Array(Type::Object(fields)), .. }) => {
            let text = std::str::from_utf8(page).map_err(serde::de::Error::custom)?;
            let page = crate::client::parse_rows(name, fields, usize::MAX, text)?;
            Ok(page.contents.unwrap_or_default())
        }
        _ => Err(serde::de::Error::custom("the result of this function isn't a list")),
    }
}

#[cfg(test)]
mod documentation_tests;
