//! A parsed document: the value of its text, and fields of it.

use rego_platform::rego::Value;
use rego_platform::{Error, ErrorKind};

use super::model::{Signer, Subject};
use super::parser::Parser;

/// A parsed document, with the subjects of an attestation.
#[derive(Debug)]
pub(super) struct Parsed {
    pub value: Value,
    pub subjects: Vec<Subject>,
    pub predicate_type: Option<String>,
    /// Who signed it; `None` if that wasn't checked.
    pub signers: Option<Vec<Signer>>,
}

impl Parsed {
    /// Creates a document that is no attestation.
    pub fn of(value: Value) -> Self {
        Self { value, subjects: Vec::new(), predicate_type: None, signers: None }
    }
}

/// Parses a value exactly, or returns an error with its position.
pub(super) fn value(text: &str, name: &str, parser: Parser, line: usize) -> Result<Value, Error> {
    parser.read(name, text).map_err(|found| {
        let error = match &found.position {
            Some(at) => {
                let line = at.line as usize + line - 1;
                invalid(format!("{name}:{line}:{}: {}", at.column, found.message))
            }
            None => invalid(format!("{name}: {}", found.message)),
        };
        match found.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    })
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// Returns a field of an object.
pub(super) fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(&Value::from(name)),
        _ => None,
    }
}

/// Returns a field of an object that is a string.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    match field(value, name)? {
        Value::String(text) => Some(text.as_ref()),
        _ => None,
    }
}
