//! What an answer that isn't a success means.
//!
//! Owns the mapping from HTTP statuses and error bodies (interface section 7, both shapes) to
//! [`ErrorKind`]. It sends nothing and retries nothing.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};

use crate::text::{escape, shorten};
use crate::{Error, ErrorKind};

/// How much of a service's message is shown.
const MESSAGE_LENGTH: usize = 2000;

/// The error of an answer with a status other than success.
pub(crate) fn error(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    if status.is_redirection() {
        return redirect(status, headers);
    }
    let message = message(body);
    let (kind, what, hint) = describe(status);
    let text = match message {
        Some(message) => format!("{what} ({}): {message}", status.as_u16()),
        None => format!("{what} ({})", status.as_u16()),
    };
    let error = Error::new(kind, text);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn describe(status: StatusCode) -> (ErrorKind, &'static str, Option<&'static str>) {
    match status.as_u16() {
        400 | 422 => (ErrorKind::InvalidArgument, "the service can't serve the request", None),
        401 => (
            ErrorKind::Unauthenticated,
            "the service refused the token",
            Some("log in again, or check the token with `auth status`"),
        ),
        402 | 403 => (
            ErrorKind::PermissionDenied,
            "the token has no permission",
            Some(
                "check the organization and whether its plan includes this (functions other than `discover` need a paid plan)",
            ),
        ),
        404 | 410 => (ErrorKind::NotFound, "the service knows no such resource", None),
        408 => (ErrorKind::TimedOut, "the service gave up waiting", None),
        413 => (ErrorKind::TooLarge, "the request is too large for the service", None),
        429 => (ErrorKind::RateLimited, "the service limits the rate of requests", None),
        501 => (ErrorKind::Unavailable, "the service doesn't implement this", None),
        500..=599 => (ErrorKind::Unavailable, "the service failed", None),
        _ => (ErrorKind::Protocol, "the service gave an answer that isn't documented", None),
    }
}

/// No redirect is followed but that of a download; one to a login page means "log in".
fn redirect(status: StatusCode, headers: &HeaderMap) -> Error {
    let location = headers.get(LOCATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let path = location.split(['?', '#']).next().unwrap_or_default();
    if path.contains("/auth/login") {
        return Error::new(
            ErrorKind::Unauthenticated,
            format!("the service asks for a login ({})", status.as_u16()),
        )
        .with_hint("log in again, or check the token with `auth status`");
    }
    Error::new(
        ErrorKind::Protocol,
        format!("the service redirects ({}), which isn't followed", status.as_u16()),
    )
    .with_hint("check the configured addresses")
}

/// The message of an error body: either documented shape, or plain text; escaped and shortened.
fn message(body: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Body {
        #[serde(default)]
        message: Option<serde_json::Value>,
        #[serde(default)]
        reason: Option<serde_json::Value>,
    }
    let text = match serde_json::from_slice::<Body>(body) {
        Ok(body) => [body.message, body.reason]
            .into_iter()
            .flatten()
            .find_map(|v| v.as_str().filter(|s| !s.trim().is_empty()).map(str::to_owned)),
        Err(_) => None,
    };
    let text = match text {
        Some(text) => text,
        None => plain(body)?,
    };
    Some(shorten(text.trim(), MESSAGE_LENGTH))
}

fn plain(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim();
    // JSON without a message and pages of markup say nothing to a person.
    let useless = text.is_empty() || text.starts_with(['{', '[', '<']) || text.len() > 10_000;
    (!useless).then(|| text.to_owned())
}

/// Whether a safe call may be sent again after this status.
pub(crate) fn is_retryable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429) || (status.is_server_error() && status.as_u16() != 501)
}

/// `Retry-After` in seconds or as a date; a date in the past means now.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// The error of a body that isn't the JSON it should be.
pub(crate) fn not_json(error: &serde_json::Error, body: &[u8]) -> Error {
    let start = body.iter().find(|b| !b.is_ascii_whitespace());
    let why = match start {
        None => "the service answered with nothing".to_owned(),
        Some(b'<') => "the service answered with a web page instead of JSON".to_owned(),
        Some(_) => {
            format!("the service's answer can't be read: {}", shorten(&error.to_string(), 300))
        }
    };
    let error = Error::new(ErrorKind::Protocol, why);
    if start == Some(&b'<') {
        error.with_hint("check the configured addresses and log in again")
    } else {
        error
    }
}

/// The error of a body that isn't even text.
pub(crate) fn not_utf8(body: &[u8]) -> Error {
    if body.starts_with(&[0x1f, 0x8b]) {
        return protocol("the service's answer is compressed, which wasn't asked for");
    }
    protocol("the service's answer isn't UTF-8")
}

/// An answer whose shape isn't the documented one.
pub(crate) fn protocol(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Protocol, message.into())
}

/// Only the origin of a URL: paths and queries can carry signatures.
pub(crate) fn origin(url: &url::Url) -> String {
    escape(&url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn headers(name: reqwest::header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn both_error_shapes_and_plain_text_give_the_message() {
        let first =
            br#"{"code":404,"reason":"not found","message":"no \u001b[1m such","metadata":{}}"#;
        assert_eq!(message(first).unwrap(), "no \\u{1b}[1m such");
        assert_eq!(message(br#"{"code":5,"message":"gone","details":[]}"#).unwrap(), "gone");
        assert_eq!(message(br#"{"code":404,"reason":"not found"}"#).unwrap(), "not found");
        assert_eq!(message(b" upstream\n died ").unwrap(), "upstream\\n died");
        for nothing in [&b""[..], b"{}", b"[1]", b"<html>", b"\xff\xfe", br#"{"message":7}"#] {
            assert_eq!(message(nothing), None);
        }
    }

    #[test]
    fn redirects_to_a_login_page_mean_unauthenticated() {
        let to = |l: &str| error(StatusCode::TEMPORARY_REDIRECT, &headers(LOCATION, l), b"").kind();
        assert_eq!(to("https://x.example/auth/login?next=/"), ErrorKind::Unauthenticated);
        assert_eq!(to("/auth/login"), ErrorKind::Unauthenticated);
        assert_eq!(to("https://evil.example/?x=/auth/login"), ErrorKind::Protocol);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after(&headers(RETRY_AFTER, "7")), Some(Duration::from_secs(7)));
        let past = headers(RETRY_AFTER, "Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(retry_after(&past), Some(Duration::ZERO));
        for bad in ["-1", "soon", "1.5", "99999999999999999999999"] {
            assert_eq!(retry_after(&headers(RETRY_AFTER, bad)), None, "{bad}");
        }
    }
}
