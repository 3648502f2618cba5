//! Errors in the form in which OPA writes them as JSON.
//!
//! Owns the form, OPA's codes, and the position of what is wrong.

use serde::Serialize;

use crate::{Diagnostic, Error, Position};

/// An error in a result of OPA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct OpaError {
    pub message: String,
    pub code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<OpaLocation>,
}

/// The location of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct OpaLocation {
    pub file: String,
    pub row: u32,
    pub col: u32,
}

impl OpaError {
    /// Returns the errors that make up `error`. One without diagnostics is at `place`.
    pub fn all(error: &Error, place: Option<&Position>) -> Vec<Self> {
        match error.diagnostics() {
            [] => vec![Self {
                message: error.report(),
                code: error.kind().code().to_owned(),
                location: place.map(OpaLocation::of),
            }],
            found => found.iter().map(Self::of).collect(),
        }
    }

    fn of(finding: &Diagnostic) -> Self {
        let (code, message) = match finding.code {
            // An error of the evaluation begins with OPA's code.
            "evaluation-error" => {
                finding.message.split_once(": ").unwrap_or((finding.code, &finding.message))
            }
            code => (opa_code(code), finding.message.as_str()),
        };
        let location = finding.position.as_ref().map(OpaLocation::of);
        Self { message: message.to_owned(), code: code.to_owned(), location }
    }
}

impl OpaLocation {
    fn of(Position { file, line, column, .. }: &Position) -> Self {
        // A query has no file in OPA.
        let file = if file == "query" { String::new() } else { file.clone() };
        Self { file, row: *line, col: *column }
    }
}

/// Returns OPA's code for a finding that OPA has, too; else the finding's own.
fn opa_code(code: &'static str) -> &'static str {
    match code {
        "parse-error" => "rego_parse_error",
        "unsafe-variable" => "rego_unsafe_var_error",
        "recursion" => "rego_recursion_error",
        "type-error" | "unknown-function" | "arity" => "rego_type_error",
        "compile-error" => "rego_compile_error",
        code => code,
    }
}
