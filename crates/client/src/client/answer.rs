//! Errors of responses that aren't a success.
//!
//! Owns the mapping from HTTP statuses and error bodies (interface section 7, both forms) to
//! [`ErrorKind`]. Sends and retries nothing.

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};

use super::endpoints::{Api, DISCOVER, DOWNLOAD, Endpoint};
use crate::http::retry::Failed;
use crate::text::shorten;
use crate::{Error, ErrorKind, Setting, setting};

/// The longest part of a service's message that is shown, in bytes.
const MESSAGE_LENGTH: usize = 2000;

/// The endings of a 500's message for a rejected token, as observed on the real service.
const REFUSED: &[&str] =
    &["API token revoked", "token not found", "user not found", "org not found"];

/// The message of the service's router for an unknown path.
const ROUTER: &str = "Not Found";

/// The beginning and the endings of a refusal's message if the user isn't a member of the organization, from
/// the service's source. They word the error; the status decides its kind.
const NO_MEMBER: (&str, &[&str]) =
    ("user is not a member of organization", &["has no current organization", "org not found"]);

/// The facts about a request for the error of a refusal.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    pub endpoint: Endpoint,
    /// The names of the arguments that refer to resources.
    pub names: Vec<&'a str>,
    /// `true` for an API token over HTTP.
    pub by_api_token: bool,
    /// The organization that was selected.
    pub organization: Option<&'a str>,
}

impl From<Endpoint> for Question<'_> {
    fn from(endpoint: Endpoint) -> Self {
        Self { endpoint, names: Vec::new(), by_api_token: false, organization: None }
    }
}

/// Returns the error of a response whose status isn't a success.
pub fn error(
    question: &Question<'_>,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Error {
    if status.is_redirection() {
        return redirect(status, headers);
    }
    let media_type = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE && media_type.starts_with(b"application/grpc") {
        let error = Error::protocol("unexpected protocol of the server: only gRPC (415)");
        return error.with_hint("set the HTTP address, not the gRPC address");
    }
    refusal(question, status, status.as_str(), body)
}

/// Returns the error of a refusal, whose status is shown as `shown`.
pub fn refusal(question: &Question<'_>, status: StatusCode, shown: &str, body: &[u8]) -> Error {
    let (kind, what, hint) = describe(question.endpoint, status, body);
    let Wording { what, hint, setting } =
        worded(question, status, body).unwrap_or_else(|| Wording {
            what: what.to_owned(),
            hint: hint.to_owned(),
            setting: match hint {
                LOG_IN => Some(setting::TOKEN),
                NOT_CONTROL_PLANE => Some(setting::CONTROL_PLANE),
                NOT_BACKEND => Some(setting::BACKEND),
                _ => None,
            },
        });
    let text = match message(body) {
        Some(message) => format!("{what} ({shown}): {message}"),
        None => format!("{what} ({shown})"),
    };
    let hint = Some(hint).filter(|hint| !hint.is_empty());
    Error::new(kind, text).with_optional_hint(hint).by_setting(setting)
}

/// The wording of a refusal.
struct Wording {
    what: String,
    hint: String,
    setting: Option<Setting>,
}

/// Returns the wording of a refusal that concerns the request's organization, token or resource.
fn worded(question: &Question<'_>, status: StatusCode, body: &[u8]) -> Option<Wording> {
    let Question { endpoint, names, by_api_token, organization } = question;
    let about_one = is_about_one(*endpoint);
    match status.as_u16() {
        // An API token selects none: its own is gone, and with it the token.
        403 | 500 if is_no_member(body) && (organization.is_some() || status != 500) => {
            Some(Wording {
                what: match organization {
                    Some(name) => {
                        let name = shorten(name, 80);
                        format!("unknown organization `{name}`, or the user isn't a member of it")
                    }
                    None => "the user of the token has no organization".to_owned(),
                },
                hint: "check the name of the organization, or select another one".to_owned(),
                setting: Some(setting::ORGANIZATION),
            })
        }
        403 if *by_api_token && about_one => Some(Wording {
            what: "not found or not allowed for this API token".to_owned(),
            hint: format!(
                "check the digest, and that it is in the token's organization; {}",
                forbidden(*endpoint)
            ),
            setting: None,
        }),
        404 if !about_one && says_not_found(body) => Some(Wording {
            what: "unknown resource in the arguments".to_owned(),
            hint: match names.as_slice() {
                [] => "check the names in the arguments".to_owned(),
                names => format!("check that `{}` exists", names.join("` or `")),
            },
            setting: None,
        }),
        _ => None,
    }
}

const NOT_CONTROL_PLANE: &str =
    "set the control plane's HTTP address, not its gRPC port or the platform backend's address";
const NOT_BACKEND: &str =
    "set the platform backend's HTTP address, not its gRPC port or the control plane's address";
const LOG_IN: &str = "check the token; log in again if a user token has expired";

fn describe(
    endpoint: Endpoint,
    status: StatusCode,
    body: &[u8],
) -> (ErrorKind, &'static str, &'static str) {
    match status.as_u16() {
        400 | 422 => (ErrorKind::InvalidArgument, "the service rejected the request", ""),
        401 => (ErrorKind::Unauthenticated, "the service rejected the token", LOG_IN),
        402 | 403 => {
            (ErrorKind::PermissionDenied, "missing permission of the token", forbidden(endpoint))
        }
        500 if is_refused(body) => {
            (ErrorKind::Unauthenticated, "the service rejected the token", LOG_IN)
        }
        404 if is_about_one(endpoint) && says_not_found(body) => {
            (ErrorKind::NotFound, "no such resource of the service", "")
        }
        404 | 410 => (
            ErrorKind::Protocol,
            "no such address of the service",
            match endpoint.api {
                Api::ControlPlane => NOT_CONTROL_PLANE,
                Api::Backend => NOT_BACKEND,
            },
        ),
        408 => (ErrorKind::TimedOut, "the service timed out", ""),
        413 => (ErrorKind::TooLarge, "the request is too large for the service", ""),
        429 => (ErrorKind::RateLimited, "the service limits the rate of requests", ""),
        501 => (ErrorKind::Unavailable, "the service doesn't implement this", ""),
        500..=599 => (ErrorKind::Unavailable, "the service failed", ""),
        _ => (ErrorKind::Protocol, "undocumented response of the service", ""),
    }
}

/// Returns a hint for a refusal, with its possible causes.
fn forbidden(endpoint: Endpoint) -> &'static str {
    if endpoint.name == DOWNLOAD.name {
        "use a user token with the right to download; downloads may need a paid plan"
    } else if endpoint.api == Api::Backend {
        "check the organization, and whether its plan includes this (the platform backend needs a paid plan)"
    } else {
        "check the organization, and the token with `auth status`"
    }
}

/// An error body in either documented form.
#[derive(serde::Deserialize)]
struct Body {
    #[serde(default)]
    code: serde_json::Value,
    #[serde(default)]
    message: serde_json::Value,
    #[serde(default)]
    reason: serde_json::Value,
}

impl Body {
    /// Reads a body that is an object; a derived `Deserialize` would accept an array as well.
    fn read(body: &[u8]) -> Option<Self> {
        let is_object = body.trim_ascii_start().starts_with(b"{");
        serde_json::from_slice(body).ok().filter(|_| is_object)
    }

    fn message(&self) -> &str {
        self.message.as_str().unwrap_or_default()
    }
}

/// Returns `true` for the endpoints of a single resource, which may not exist.
fn is_about_one(endpoint: Endpoint) -> bool {
    [DISCOVER.name, DOWNLOAD.name].contains(&endpoint.name)
}

/// Returns `true` if a 404 is the service's own statement, in either documented form, that the resource
/// doesn't exist. Any other 404 comes from something that isn't the service, or is at another address. The
/// words of the message don't matter.
fn says_not_found(body: &[u8]) -> bool {
    let Some(body) = Body::read(body) else { return false };
    match body.code.as_u64() {
        Some(404) => body.reason.as_str().is_some_and(|reason| {
            ["not found", "not_found"].iter().any(|wording| wording.eq_ignore_ascii_case(reason))
        }),
        Some(5) => body.message() != ROUTER,
        _ => false,
    }
}

/// Returns `true` if a refusal says that the token's user isn't a member of the organization.
fn is_no_member(body: &[u8]) -> bool {
    let (start, ends) = NO_MEMBER;
    Body::read(body).is_some_and(|body| {
        let message = body.message();
        message.starts_with(start) || ends.iter().any(|end| message.ends_with(end))
    })
}

/// Returns `true` if a 500 is the service's refusal of the token.
fn is_refused(body: &[u8]) -> bool {
    Body::read(body).is_some_and(|body| REFUSED.iter().any(|text| body.message().ends_with(text)))
}

/// Returns the error of a redirect: only a download's is followed. One to a login page means "log
/// in".
fn redirect(status: StatusCode, headers: &HeaderMap) -> Error {
    let location = headers.get(LOCATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let path = location.split(['?', '#']).next().unwrap_or_default();
    if path.contains("/auth/login") {
        return Error::unauthenticated(format!(
            "redirect of the service to a login page ({})",
            status.as_u16()
        ))
        .with_hint(LOG_IN)
        .by_setting(setting::TOKEN);
    }
    Error::protocol(format!("unexpected redirect of the service ({})", status.as_u16()))
        .with_hint("check the configured addresses")
}

/// Returns the message of an error body in either documented form, escaped and shortened.
fn message(body: &[u8]) -> Option<String> {
    let body = Body::read(body)?;
    let mut texts = [&body.message, &body.reason].into_iter().filter_map(|text| text.as_str());
    let text = texts.find(|text| !text.trim().is_empty())?;
    Some(shorten(text.trim(), MESSAGE_LENGTH))
}

/// Returns the failure of a refusal. A refused token stays refused, whatever the status.
pub fn refused(error: Error, status: StatusCode, headers: &HeaderMap) -> Failed {
    let is_token = error.kind() == ErrorKind::Unauthenticated;
    let failed = Failed::of_status(error, status, headers);
    Failed { retryable: failed.retryable && !is_token, ..failed }
}

/// Returns `true` for a response with the media type JSON, or without one.
pub fn is_json(headers: &HeaderMap) -> bool {
    let Some(media_type) = headers.get(CONTENT_TYPE) else { return true };
    let media_type = media_type.to_str().unwrap_or_default().to_ascii_lowercase();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence == "application/json" || essence.ends_with("+json")
}

/// Returns the error of a response with a media type other than JSON.
pub fn other_type(headers: &HeaderMap) -> Error {
    let media_type = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let shown = shorten(&String::from_utf8_lossy(media_type), 80);
    Error::protocol(format!(
        "unexpected media type of the service's response: expected JSON, found `{shown}`"
    ))
    .with_hint("check the configured addresses and log in again")
}

/// Returns the error of a body that can't be read as the expected JSON.
pub fn not_json(error: &serde_json::Error) -> Error {
    Error::protocol(format!(
        "invalid response of the service: {}",
        shorten(&error.to_string(), 300)
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn headers(name: reqwest::header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn both_error_forms_give_the_message() {
        let first =
            br#"{"code":404,"reason":"not found","message":"no \u001b[1m such","metadata":{}}"#;
        assert_eq!(message(first).unwrap(), "no \\u{1b}[1m such");
        assert_eq!(message(br#"{"code":5,"message":"gone","details":[]}"#).unwrap(), "gone");
        assert_eq!(message(br#"{"code":404,"reason":"not found"}"#).unwrap(), "not found");
        for nothing in [&b""[..], b"{}", b"[1]", b"text", b"\xff\xfe", br#"{"message":7}"#] {
            assert_eq!(message(nothing), None);
        }
    }

    #[test]
    fn only_the_two_functions_about_one_thing_find_nothing() {
        use super::super::endpoints::{EVIDENCE, PRODUCTS};
        let body = br#"{"code": 5, "message": "artifact not found", "details": []}"#;
        let kind = |endpoint: Endpoint| {
            error(&endpoint.into(), StatusCode::NOT_FOUND, &HeaderMap::new(), body).kind()
        };
        assert_eq!([DISCOVER, DOWNLOAD].map(kind), [ErrorKind::NotFound; 2]);
        assert_eq!([EVIDENCE, PRODUCTS].map(kind), [ErrorKind::Protocol; 2]);
    }

    #[test]
    fn an_answer_is_json_if_it_says_what_it_is() {
        for json in ["application/json", "Application/JSON; charset=utf-8", "application/x+json"] {
            assert!(is_json(&headers(CONTENT_TYPE, json)), "{json}");
        }
        assert!(is_json(&HeaderMap::new()));
        for other in ["text/html", "text/plain; x=application/json", "application/jsonp", ""] {
            assert!(!is_json(&headers(CONTENT_TYPE, other)), "{other}");
        }
    }

    #[test]
    fn hints_name_the_possible_causes() {
        use super::super::endpoints::EVIDENCE;
        let hint = |endpoint: Endpoint| {
            let error = error(&endpoint.into(), StatusCode::FORBIDDEN, &HeaderMap::new(), b"");
            error.hint().unwrap().to_owned()
        };
        assert!(hint(EVIDENCE).contains("paid plan"));
        assert!(hint(DOWNLOAD).contains("user token"));
        assert!(!hint(DISCOVER).contains("plan"));
    }

    #[test]
    fn a_grpc_port_is_recognised() {
        let headers = headers(CONTENT_TYPE, "application/grpc");
        let error = error(&DISCOVER.into(), StatusCode::UNSUPPORTED_MEDIA_TYPE, &headers, b"");
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.hint().unwrap().contains("set the HTTP address, not the gRPC address"));
    }

    #[test]
    fn redirects_to_a_login_page_mean_unauthenticated() {
        let to = |l: &str| {
            let headers = headers(LOCATION, l);
            error(&DISCOVER.into(), StatusCode::TEMPORARY_REDIRECT, &headers, b"").kind()
        };
        assert_eq!(to("https://x.example/auth/login?next=/"), ErrorKind::Unauthenticated);
        assert_eq!(to("/auth/login"), ErrorKind::Unauthenticated);
        assert_eq!(to("https://evil.example/?x=/auth/login"), ErrorKind::Protocol);
    }
}
