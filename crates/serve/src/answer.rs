//! Answers in OPA's forms: JSON with a line break at its end, and errors with a code, a message and a list.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rego_platform::evaluate::{OpaError, compact, pretty};
use rego_platform::{Error, ErrorKind, Position, Value};
use serde::Serialize;

/// The beginning of OPA's message if a list of errors follows.
const LISTED: &str = "error(s) occurred";

/// A request that isn't answered, with the reason.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Refusal {
    #[serde(skip)]
    status: StatusCode,
    /// The kind of a service's or a policy's error; for other refusals, the kind for the party at fault.
    #[serde(skip)]
    kind: ErrorKind,
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<OpaError>,
}

impl Refusal {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let is_clients = status.is_client_error();
        let kind = if is_clients { ErrorKind::InvalidArgument } else { ErrorKind::Internal };
        Self { status, kind, code, message: message.into(), errors: Vec::new() }
    }

    /// A request with something wrong in it.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_parameter", message)
    }

    /// Creates the refusal for an internal error.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message)
    }

    /// A query that doesn't compile.
    pub fn of_query(error: &Error) -> Self {
        let errors = OpaError::all(error, None);
        let parsed = errors.iter().all(|error| error.code != "rego_parse_error");
        let what = if parsed { "compiling" } else { "parsing" };
        Self { errors, ..Self::invalid(format!("{LISTED} while {what} query")) }
    }

    /// An evaluation that ended with an error. An error of the policy has OPA's message, and any other its
    /// own, as a failed call of the service.
    pub fn of_evaluation(error: &Error, place: Option<&Position>) -> Self {
        let message = match error.kind() {
            _ if !error.diagnostics().is_empty() => {
                format!("{LISTED} while evaluating query")
            }
            // A client has a token, too, with which it asks this server.
            ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => {
                format!("{}; that is this server's own token for the service", error.report())
            }
            _ => error.report(),
        };
        let errors = OpaError::all(error, place);
        Self { errors, kind: error.kind(), ..Self::internal(message) }
    }

    /// Returns the kind of the error.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the reason as one text: where the message only announces a list, the list's messages.
    pub fn reason(&self) -> String {
        if self.errors.is_empty() || !self.message.starts_with(LISTED) {
            return self.message.clone();
        }
        let messages: Vec<&str> = self.errors.iter().map(|error| error.message.as_str()).collect();
        messages.join("; ")
    }

    /// Returns it as a value, as it stands among other answers and in the log of decisions.
    pub fn value(&self) -> Value {
        Value::from_serialize(self).unwrap_or_default()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut text = serde_json::to_string_pretty(&self).unwrap_or_default();
        text.push('\n');
        let mut response = of_text(self.status, text);
        response.extensions_mut().insert(Reason(self.reason()));
        response
    }
}

/// The reason of a refusal, attached to its response for the log.
#[derive(Debug, Clone)]
pub(crate) struct Reason(pub String);

/// Returns an answer with `value`, unless that has more than `most` bytes as JSON.
pub(crate) fn json(
    status: StatusCode,
    value: &Value,
    is_pretty: bool,
    most: usize,
) -> Result<Response, Refusal> {
    let write = if is_pretty { pretty } else { compact };
    let mut text = write(value).map_err(|error| Refusal::internal(error.report()))?;
    if text.len() > most {
        return Err(Refusal::internal(format!("response too large: more than {most} bytes")));
    }
    text.push('\n');
    Ok(of_text(status, text))
}

fn of_text(status: StatusCode, text: String) -> Response {
    let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    (status, [json], text).into_response()
}

/// Returns an object with the members that have a value.
pub(crate) fn object<const N: usize>(members: [(&'static str, Option<Value>); N]) -> Value {
    members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
