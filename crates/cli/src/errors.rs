//! The errors of `eval` and `test` with `--format json`, in the form of `opa eval`.
//!
//! Owns the form and OPA's codes. The same errors are printed on standard error, with their hints.

use rego_platform::{Diagnostic, Error, Position};
use serde::Serialize;

/// The output in place of an answer.
#[derive(Serialize)]
pub(super) struct Errors {
    errors: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    message: String,
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location>,
}

#[derive(Serialize)]
struct Location {
    file: String,
    row: u32,
    col: u32,
}

impl Errors {
    pub fn of(error: &Error) -> Self {
        let errors = match error.diagnostics() {
            [] => vec![Item {
                message: error.report(),
                code: error.kind().code().to_owned(),
                location: None,
            }],
            found => found.iter().map(Item::of).collect(),
        };
        Self { errors }
    }
}

impl Item {
    fn of(finding: &Diagnostic) -> Self {
        let (code, message) = match finding.code {
            // An error of the evaluation begins with OPA's code.
            "evaluation-error" => {
                finding.message.split_once(": ").unwrap_or((finding.code, &finding.message))
            }
            code => (opa_code(code), finding.message.as_str()),
        };
        let location = finding.position.as_ref().map(|Position { file, line, column, .. }| {
            // A query has no file in OPA.
            let file = if file == "query" { String::new() } else { file.clone() };
            Location { file, row: *line, col: *column }
        });
        Self { message: message.to_owned(), code: code.to_owned(), location }
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
