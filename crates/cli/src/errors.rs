//! The errors of `eval` and `test` with `--format json`, in the form of `opa eval`. The same errors are
//! printed on standard error, with their hints.

use rego_platform::Error;
use rego_platform::evaluate::OpaError;
use serde::Serialize;

/// The output in place of an answer.
#[derive(Serialize)]
pub(super) struct Errors {
    errors: Vec<OpaError>,
}

impl Errors {
    pub fn of(error: &Error) -> Self {
        Self { errors: OpaError::all(error, None) }
    }
}
