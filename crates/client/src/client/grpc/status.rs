//! Statuses of gRPC, and their errors.

use reqwest::StatusCode;
use serde_json::json;
use tonic::{Code, Status};

use super::super::answer::Question;
use super::super::{Token, answer};
use super::MAX_MESSAGE;
use crate::http::retry::Failed;
use crate::text::shorten;
use crate::{Error, ErrorKind};

/// Returns the failure for a status of the service.
pub fn refusal(question: &Question<'_>, status: &Status, token: Option<&Token>) -> Failed {
    let message = message(status, token);
    let body = json!({ "code": status.code() as i32, "message": message }).to_string();
    let http = http_status(status.code());
    let shown = format!("{:?}", status.code());
    let error = answer::refusal(question, http, &shown, body.as_bytes());
    answer::refused(error, http, status.metadata().as_ref())
}

/// Returns the failure for a status of the content store at `origin`. The service has said that the content
/// exists, so "not found" is the store's failure.
pub fn store_refusal(origin: &str, status: &Status, token: &Token) -> Failed {
    let code = status.code();
    let message = match shorten(message(status, Some(token)).trim(), 300) {
        text if text.is_empty() => format!("the content store {origin} failed with {code:?}"),
        text => format!("the content store {origin} failed with {code:?}: {text}"),
    };
    let kind = match code {
        Code::ResourceExhausted => ErrorKind::RateLimited,
        _ => ErrorKind::Unavailable,
    };
    let error = Error::new(kind, message);
    Failed {
        refused: matches!(code, Code::Unauthenticated | Code::PermissionDenied),
        ..Failed::of_status(error, http_status(code), status.metadata().as_ref())
    }
}

/// Returns a status's message, unless it repeats the token.
fn message<'a>(status: &'a Status, token: Option<&Token>) -> &'a str {
    let repeats = token.is_some_and(|token| token.occurs_in(status.message().as_bytes()));
    if repeats { "" } else { status.message() }
}

/// Returns the HTTP status equivalent to a code.
const fn http_status(code: Code) -> StatusCode {
    match code {
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
            StatusCode::BAD_REQUEST
        }
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::DeadlineExceeded => StatusCode::REQUEST_TIMEOUT,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable | Code::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        Code::Ok | Code::Unknown | Code::Internal | Code::DataLoss => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// Returns the error of a response other than the expected message.
pub fn unreadable(status: &Status, origin: &str) -> Error {
    if status.code() == Code::OutOfRange {
        let limit = crate::text::size(MAX_MESSAGE as u64);
        let message = format!("message from {origin} too large: the limit is {limit}");
        return Error::too_large(message);
    }
    let why = shorten(status.message(), 300);
    Error::protocol(format!("invalid response from {origin}: {why}"))
}
