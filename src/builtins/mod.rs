//! The functions that policies call, in one table.
//!
//! Owns the definition of a function: its name, arguments, result, documentation and cost.
//! Registration, argument errors, documentation and static checks all come from this table. Each
//! function has its own file; `client` owns how requests are sent, `evaluate` how evaluations
//! use them.

mod arguments;
mod discover;
mod download_artifact;
pub(crate) mod environments;
mod evidence;
mod evidence_prompt;
pub(crate) mod known_fields;
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

use crate::client::{Client, Context, protocol, refuse_cut};
use crate::{Error, ErrorKind, Product};

pub use crate::resources::types::{Field, Type};
pub use set::FunctionSet;

pub(crate) use crate::resources::types::describe;
use known_fields::{refuse_respelt, refuse_respelt_arguments};

pub(crate) use arguments::{Filter, Invalid, identifier};
pub(crate) use evidence_prompt::is_skipped;
pub(crate) use lists::{Listing, check_organization};
pub(crate) use product_version::VersionRequest;

/// The cost of calling a function, beyond a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cost {
    /// One request or a few.
    Request,
    /// The bytes of an artifact.
    Content,
    /// Money: an AI model evaluates. Never sent twice, and never before it is certain to be needed.
    Prompt,
}

/// The place of a function's result in the service's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is the value of this key. The service may have sent fields that aren't documented.
    Key(&'static str),
    /// It is put together from the answer, and has only the documented fields.
    Composed,
}

/// An argument of a function.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Argument {
    /// Its name in the documentation and in errors.
    pub name: &'static str,
    /// Its type.
    pub ty: Type,
    /// Its meaning.
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
    /// The result's type.
    pub result: Type,
    /// A one-line summary of the function.
    pub summary: &'static str,
    /// The documentation for policy authors.
    pub doc: &'static str,
    /// The cost of a call.
    pub cost: Cost,
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

/// Every function: the five of interface section 4.7, and those that read the resources of sections
/// 4.1 to 4.6, which are off until a host enables them ([`FunctionSet`]). None of them writes.
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
];

/// Functions of newer services than the documented interface describes: policies may call them
/// elsewhere.
pub const NEWER: &[&str] = &["vulnerability", "findings", "effective_assessments"];

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
    /// [`ErrorKind::InvalidArgument`], which names the argument and what was expected.
    pub(crate) fn request(
        &self,
        product: &Product,
        arguments: &[Value],
    ) -> Result<Arc<dyn Request>, Error> {
        if arguments.len() != self.arguments.len() {
            let expected = self.arguments.len();
            let message = format!("takes {expected} arguments, not {}", arguments.len());
            return Err(
                Error::new(ErrorKind::InvalidArgument, message).with_hint(self.called_as(product))
            );
        }
        let request = (self.parse)(arguments)
            .and_then(|request| refuse_respelt_arguments(self, arguments).map(|()| request))
            .map_err(|invalid| invalid.into_error(self, product))?;
        Ok(Arc::new(CheckedRequest { request, result: self.result }))
    }

    /// Returns a hint for wrong arguments: the function's signature.
    pub(crate) fn called_as(&self, product: &Product) -> String {
        let mut text = format!("it is called as {product}.{}", self.signature());
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

/// The answer to a call, as the policy sees it.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub value: Value,
    /// Set if the service had more than the author's `limit`.
    pub cut: bool,
    /// The form of content that was downloaded.
    pub form: Option<ContentForm>,
    /// The number of fields that the question named and the answer lacked, so that they couldn't be
    /// compared.
    pub unchecked: u64,
}

/// The form in which a policy is given content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ContentForm {
    /// The content itself, which is UTF-8.
    Text,
    /// Base64, since the content isn't UTF-8.
    Base64,
}

impl ContentForm {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Base64 => "base64",
        }
    }
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, cut: false, form: None, unchecked: 0 }
    }
}

pub(crate) type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send + 'a>>;

/// A check of an answer, or of a part of one, of a type.
pub(crate) type AnswerCheck = fn(Type, &Value) -> Result<(), Error>;

/// A call whose arguments are checked and normalised.
pub(crate) trait Request: Send + Sync + std::fmt::Debug {
    /// Returns the arguments in normal form: equal calls have equal arguments.
    fn normalised(&self) -> Vec<Value>;

    /// Sends the request to the service.
    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a>;

    /// Sends the request to the service, and calls `check` with the parts of the answer as they
    /// come. `None` if they aren't known before the whole answer.
    fn send_checked<'a>(
        &'a self,
        _client: &'a Client,
        _context: &'a Context,
        _check: AnswerCheck,
    ) -> Option<AnswerFuture<'a>> {
        None
    }
}

/// A request whose answer is checked for known fields and values in another spelling, and for lists
/// within it that are cut.
#[derive(Debug)]
struct CheckedRequest {
    request: Arc<dyn Request>,
    result: Type,
}

impl Request for CheckedRequest {
    fn normalised(&self) -> Vec<Value> {
        self.request.normalised()
    }

    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a> {
        Box::pin(async move {
            if let Some(answer) = self.request.send_checked(client, context, check_answer) {
                return answer.await;
            }
            let answer = self.request.send(client, context).await?;
            check_answer(self.result, &answer.value)?;
            Ok(answer)
        })
    }
}

fn check_answer(ty: Type, answer: &Value) -> Result<(), Error> {
    refuse_respelt(ty, answer)
        .and_then(|()| refuse_cut(ty, answer))
        .map_err(|why| protocol(format!("the service's answer can't be used: {why}")))
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
            Ok(page.rows.unwrap_or_default())
        }
        _ => Err(serde::de::Error::custom("this function's answer isn't a list")),
    }
}

#[cfg(test)]
#[path = "documentation_tests.rs"]
mod documentation_tests;
