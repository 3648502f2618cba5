//! Errors of answers that aren't a success.
//!
//! Owns the mapping from HTTP statuses and error bodies (interface section 7, both forms) to
//! [`ErrorKind`]. Sends and retries nothing.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{CONTENT_RANGE, HeaderMap, LINK, LOCATION, RETRY_AFTER};

use super::endpoints::{Api, DISCOVER, DOWNLOAD, Endpoint};
use crate::text::{escape, shorten};
use crate::{Error, ErrorKind, Setting};

/// The longest part of a service's message that is shown, in bytes.
const MESSAGE_LENGTH: usize = 2000;

/// Messages of a 404 or 500 that mean that the token isn't accepted, as seen on the real service.
const REFUSED: &[&str] = &["api token revoked", "token not found", "org not found"];

/// Returns the error of an answer whose status isn't a success.
pub(crate) fn error(
    endpoint: Endpoint,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Error {
    if status.is_redirection() {
        return redirect(status, headers);
    }
    let (kind, what, hint) = describe(endpoint, status, body);
    let text = match message(body) {
        Some(message) => format!("{what} ({}): {message}", status.as_u16()),
        None => format!("{what} ({})", status.as_u16()),
    };
    let error = Error::new(kind, text);
    let error = match hint {
        "" => return error,
        LOG_IN => error.by_setting(Setting::Token),
        NOT_CONTROL_PLANE => error.by_setting(Setting::ControlPlane),
        NOT_BACKEND => error.by_setting(Setting::Backend),
        _ => error,
    };
    error.with_hint(hint)
}

const NOT_CONTROL_PLANE: &str =
    "is this the control plane's HTTP address, not its gRPC port or the platform backend?";
const NOT_BACKEND: &str =
    "is this the platform backend's HTTP address, not its gRPC port or the control plane?";
const LOG_IN: &str = "check the token; if it is a user token, it may have expired: log in again";

fn describe(
    endpoint: Endpoint,
    status: StatusCode,
    body: &[u8],
) -> (ErrorKind, &'static str, &'static str) {
    match status.as_u16() {
        400 | 422 => (ErrorKind::InvalidArgument, "the service can't serve the request", ""),
        401 => (ErrorKind::Unauthenticated, "the service refused the token", LOG_IN),
        402 | 403 => {
            (ErrorKind::PermissionDenied, "the token has no permission", forbidden(endpoint, body))
        }
        404 | 500 if is_refused(body) => {
            (ErrorKind::Unauthenticated, "the service refused the token", LOG_IN)
        }
        404 if is_not_found(endpoint, body) => {
            (ErrorKind::NotFound, "the service knows no such resource", "")
        }
        404 | 410 => (
            ErrorKind::Protocol,
            "the address isn't one of the service's",
            match endpoint.api {
                Api::ControlPlane => NOT_CONTROL_PLANE,
                Api::Backend => NOT_BACKEND,
            },
        ),
        408 => (ErrorKind::TimedOut, "the service gave up waiting", ""),
        413 => (ErrorKind::TooLarge, "the request is too large for the service", ""),
        429 => (ErrorKind::RateLimited, "the service limits the rate of requests", ""),
        501 => (ErrorKind::Unavailable, "the service doesn't implement this", ""),
        500..=599 => (ErrorKind::Unavailable, "the service failed", ""),
        _ => (ErrorKind::Protocol, "the service gave an answer that isn't documented", ""),
    }
}

/// Returns a hint for a refusal, with its possible causes.
fn forbidden(endpoint: Endpoint, body: &[u8]) -> &'static str {
    let says = |words: &str| message(body).is_some_and(|it| it.to_lowercase().contains(words));
    if says("user token") {
        "use a user token; `auth status` shows the kind of the current one"
    } else if endpoint.name == DOWNLOAD.name {
        "downloads may need a user token with the right to download, and a paid plan"
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
    code: Option<serde_json::Value>,
    #[serde(default)]
    message: Option<serde_json::Value>,
    #[serde(default)]
    reason: Option<serde_json::Value>,
    #[serde(default)]
    metadata: serde_json::Value,
    #[serde(default)]
    details: serde_json::Value,
    /// What neither form has.
    #[serde(flatten)]
    others: serde_json::Map<String, serde_json::Value>,
}

impl Body {
    fn text(value: Option<&serde_json::Value>) -> &str {
        value.and_then(serde_json::Value::as_str).unwrap_or_default().trim()
    }
}

/// Returns `true` if a 404 is the service's own statement, in its documented form, that what was asked
/// for doesn't exist, and the endpoint is one where that can be. Any other 404 comes from something
/// that isn't the service, is at another address, or is about something else.
fn is_not_found(endpoint: Endpoint, body: &[u8]) -> bool {
    if ![DISCOVER.name, DOWNLOAD.name].contains(&endpoint.name) {
        return false;
    }
    let Ok(body) = serde_json::from_slice::<Body>(body) else { return false };
    let (message, reason) = (Body::text(body.message.as_ref()), Body::text(body.reason.as_ref()));
    let is_own = match body.code.as_ref().and_then(serde_json::Value::as_u64) {
        Some(404) => !reason.is_empty(),
        // The router's own message for a route that it doesn't have.
        Some(5) => !message.is_empty() && words(message) != ["not", "found"],
        _ => false,
    };
    is_own
        && !body.others.values().any(states_something)
        && says_missing(&[message, reason])
        && !names_another("metadata", &body.metadata)
        && !names_another("details", &body.details)
}

/// Returns `true` if texts say that what was asked for is missing: they name it, or nothing at all.
/// About anything else that is missing nothing was looked up.
fn says_missing(texts: &[&str]) -> bool {
    let words: Vec<String> = texts.iter().flat_map(|text| words(text)).collect();
    let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let names_nothing = words.iter().all(|word| MISSING.contains(&word.as_str()));
    !texts.iter().any(|text| is_about_another(text))
        && !any(OTHERWISE)
        && (names_nothing || any(RESOURCES))
}

/// Returns `true` if a part of an error's details names another resource, or another reason.
fn names_another(key: &str, value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(text) => {
            let explains = words(key).iter().any(|word| EXPLAINS.contains(&word.as_str()));
            is_about_another(text) || explains && !says_missing(&[text])
        }
        serde_json::Value::Array(items) => items.iter().any(|item| names_another(key, item)),
        serde_json::Value::Object(fields) => fields
            .iter()
            // The type of the details themselves, and who wrote them.
            .filter(|(key, _)| !["@type", "domain", "locale"].contains(&key.as_str()))
            .any(|(key, value)| names_another(key, value)),
        _ => false,
    }
}

fn states_something(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => false,
        serde_json::Value::String(text) => !text.is_empty(),
        serde_json::Value::Array(items) => !items.is_empty(),
        serde_json::Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

/// Returns the words of a text or of an enumeration's value (`NOT_FOUND`, `NotFound`), in lower case.
fn words(text: &str) -> Vec<String> {
    let mut words = super::envelope::words(text);
    words.retain(|word| !word.is_empty());
    words
}

/// Words of a statement that something is missing, which name nothing.
const MISSING: &[&str] = &[
    "a",
    "about",
    "an",
    "any",
    "be",
    "can",
    "could",
    "couldn",
    "did",
    "didn",
    "do",
    "does",
    "doesn",
    "don",
    "exist",
    "exists",
    "find",
    "found",
    "gone",
    "have",
    "here",
    "in",
    "is",
    "isn",
    "it",
    "know",
    "known",
    "missing",
    "no",
    "none",
    "not",
    "nothing",
    "of",
    "requested",
    "such",
    "t",
    "that",
    "the",
    "there",
    "this",
    "unknown",
    "was",
    "wasn",
    "we",
    "with",
];

/// Words for another reason: something may be there the next time, or in another form.
const OTHERWISE: &[&str] = &[
    "again",
    "internal",
    "invalid",
    "lag",
    "later",
    "malformed",
    "replica",
    "retry",
    "temporarily",
    "temporary",
    "timeout",
    "unavailable",
];

/// Words of the keys under which an error's details say what is missing.
const EXPLAINS: &[&str] = &["entity", "reason", "resource", "type"];

/// Words for what the request was about.
const RESOURCES: &[&str] = &[
    "artifact",
    "artifacts",
    "attestation",
    "attestations",
    "blob",
    "commit",
    "component",
    "content",
    "digest",
    "document",
    "evidence",
    "file",
    "image",
    "item",
    "material",
    "object",
    "package",
    "record",
    "reference",
    "referrer",
    "referrers",
    "resource",
    "sbom",
    "sha1",
    "sha256",
    "sha512",
    "statement",
    "subject",
];

/// Words for what a request depends on. Without one of these, nothing was looked up.
const CONTEXT: &[&str] = &[
    "access",
    "account",
    "api",
    "backend",
    "bucket",
    "cas",
    "certificate",
    "cluster",
    "connection",
    "contract",
    "credential",
    "credentials",
    "database",
    "endpoint",
    "group",
    "host",
    "key",
    "license",
    "licence",
    "member",
    "membership",
    "method",
    "node",
    "org",
    "organisation",
    "organization",
    "orgs",
    "organisations",
    "organizations",
    "page",
    "path",
    "permission",
    "permissions",
    "plan",
    "policy",
    "project",
    "repository",
    "role",
    "route",
    "secret",
    "server",
    "service",
    "session",
    "storage",
    "table",
    "tenant",
    "token",
    "upstream",
    "url",
    "user",
    "workflow",
    "workspace",
];

/// Returns `true` if a message is about something that the request depends on, such as its
/// organization or its route. Of these words, the last before "not found" decides, as in "artifact
/// storage backend not found", or else the first: "no artifact in this organization" is about the
/// artifact.
fn is_about_another(message: &str) -> bool {
    let message = message.to_lowercase();
    let words: Vec<&str> = message.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let is_known = |word: &&&str| RESOURCES.contains(*word) || CONTEXT.contains(*word);
    let missing = words.windows(2).position(|pair| pair == ["not", "found"]);
    let before = missing.and_then(|at| words.get(..at)?.iter().rfind(is_known));
    let decides = before.or_else(|| words.iter().find(is_known));
    decides.is_some_and(|word| CONTEXT.contains(word))
}

fn is_refused(body: &[u8]) -> bool {
    serde_json::from_slice::<Body>(body).is_ok_and(|body| {
        let texts = [body.message.as_ref(), body.reason.as_ref()];
        texts.into_iter().any(|text| {
            let text = Body::text(text).to_lowercase().replace('_', " ");
            REFUSED.contains(&text.as_str())
        })
    })
}

/// Returns the error of a redirect: only a download's is followed. One to a login page means "log
/// in".
fn redirect(status: StatusCode, headers: &HeaderMap) -> Error {
    let location = headers.get(LOCATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let path = location.split(['?', '#']).next().unwrap_or_default();
    if path.contains("/auth/login") {
        return Error::new(
            ErrorKind::Unauthenticated,
            format!("the service asks for a login ({})", status.as_u16()),
        )
        .with_hint(LOG_IN)
        .by_setting(Setting::Token);
    }
    Error::new(
        ErrorKind::Protocol,
        format!("the service redirects ({}), which isn't followed", status.as_u16()),
    )
    .with_hint("check the configured addresses")
}

/// Returns the message of an error body, in either documented form or as plain text, escaped and
/// shortened.
fn message(body: &[u8]) -> Option<String> {
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
    // JSON without a message and pages of markup tell a person nothing.
    let useless = text.is_empty() || text.starts_with(['{', '[', '<']) || text.len() > 10_000;
    (!useless).then(|| text.to_owned())
}

/// Returns a SHA-256 digest in a text that isn't one of those asked for.
pub(crate) fn other_digest<'t>(text: &'t str, asked: &[&str]) -> Option<&'t str> {
    const LENGTH: usize = "sha256:".len() + 64;
    let digests = text.match_indices("sha256:").filter_map(|(at, _)| text.get(at..at + LENGTH));
    let hex = |it: &&str| it.bytes().skip("sha256:".len()).all(|b| b.is_ascii_hexdigit());
    digests.filter(hex).find(|found| !asked.iter().any(|asked| asked.eq_ignore_ascii_case(found)))
}

/// Turns "not found" into a protocol error if it is about another digest than those asked for: what
/// was asked for may be there.
pub(crate) fn about_another(error: Error, asked: &[&str]) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    let message = error.to_string();
    match other_digest(&message, asked) {
        Some(other) => protocol(format!(
            "the service answered about another digest than the one asked for, `{other}`: {message}"
        )),
        None => error,
    }
}

/// Returns `true` if a safe call may be retried after this status.
pub(crate) fn is_retryable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429) || (status.is_server_error() && status.as_u16() != 501)
}

/// Returns why the headers or trailers of a success say that it is none, or that its body isn't all.
pub(crate) fn contradiction(headers: &HeaderMap) -> Option<Error> {
    let statuses = headers.get_all("grpc-status");
    let failed = statuses.iter().any(|status| status.as_bytes().trim_ascii() != b"0");
    let goes_on = headers.get_all(LINK).iter().any(|link| {
        let link = String::from_utf8_lossy(link.as_bytes()).to_ascii_lowercase();
        link.split([';', ',']).any(|part| {
            let Some((name, value)) = part.split_once('=') else { return false };
            let value = value.trim().trim_matches(['"', '\'']);
            name.trim() == "rel" && value.split_ascii_whitespace().any(|word| word == "next")
        })
    });
    let explained = headers.get_all("grpc-message").iter().any(|it| !it.as_bytes().is_empty());
    let what = if failed || explained {
        "`grpc-status` or `grpc-message`, an error's"
    } else if goes_on {
        "`link` to a next page: the list may go on"
    } else if headers.contains_key(CONTENT_RANGE) {
        "`content-range`: it may be a part"
    } else {
        return None;
    };
    Some(protocol(format!("the service's answer has the header {what}")))
}

/// Reads `Retry-After`, in seconds or as a date; a date in the past means now.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// Returns the error of a body that can't be read as the expected JSON.
pub(crate) fn not_json(error: &serde_json::Error, body: &[u8]) -> Error {
    let start = body.iter().find(|b| !b.is_ascii_whitespace());
    let why = match start {
        None => "the service answered with an empty body".to_owned(),
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

/// Returns the error of a body that isn't even text.
pub(crate) fn not_utf8(body: &[u8]) -> Error {
    if body.starts_with(&[0x1f, 0x8b]) {
        return protocol("the service's answer is compressed, which wasn't asked for");
    }
    protocol("the service's answer isn't UTF-8")
}

/// Returns the error of an answer that doesn't have the documented form.
pub(crate) fn protocol(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Protocol, message.into())
}

/// Returns just the origin of a URL: paths and queries can carry signatures.
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
    fn both_error_forms_and_plain_text_give_the_message() {
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
    fn a_404_is_the_services_own_or_a_wrong_address() {
        use super::super::endpoints::{EVIDENCE, PRODUCTS};
        let kind = |endpoint, body: &str| {
            error(endpoint, StatusCode::NOT_FOUND, &HeaderMap::new(), body.as_bytes()).kind()
        };
        let kratos =
            r#"{"code": 404, "reason": "not found", "message": "no such", "metadata": {}}"#;
        let status = r#"{"code": 5, "message": "artifact not found", "details": []}"#;
        let within = r#"{"code": 5, "message": "referrer not found in organization x"}"#;
        let bare = r#"{"code": 404, "reason": "NotFound"}"#;
        let detailed = r#"{"code": 5, "message": "no such artifact", "result": null, "details": [{
            "@type": "type.googleapis.com/google.rpc.ResourceInfo", "resource_type": "artifact",
            "resource_name": "sha256:abc", "owner": ""}]}"#;
        let named = r#"{"code": 404, "reason": "ARTIFACT_NOT_FOUND", "message": "x.json is gone",
            "metadata": {"organization": "acme", "request_id": "7"}}"#;
        for body in [kratos, status, within, bare, detailed, named] {
            assert_eq!(kind(DISCOVER, body), ErrorKind::NotFound, "{body}");
            assert_eq!(kind(DOWNLOAD, body), ErrorKind::NotFound, "{body}");
            assert_eq!(kind(EVIDENCE, body), ErrorKind::Protocol, "{body}");
            assert_eq!(kind(PRODUCTS, body), ErrorKind::Protocol, "{body}");
        }
        for body in [
            "",
            "404 page not found",
            "<html>",
            "{}",
            r#"{"code": 5, "message": "Not Found", "details": []}"#,
            r#"{"code": 5, "message": "", "details": []}"#,
            r#"{"code": 404, "message": "no such"}"#,
            r#"{"code": 404, "reason": "", "message": "no such"}"#,
            r#"{"code": 3, "reason": "x", "message": "no such"}"#,
            r#"{"code": 5, "message": " not found "}"#,
            r#"{"code": 5, "message": "NOT FOUND"}"#,
            r#"{"code": 5, "message": "page not found"}"#,
            r#"{"code": 5, "message": "organization not found"}"#,
            r#"{"code": 5, "message": "no route for the artifact"}"#,
            r#"{"code": 404, "reason": "ORGANIZATION_NOT_FOUND", "message": "no such"}"#,
            r#"{"code": 404, "reason": "not found", "message": "user x doesn't exist"}"#,
            r#"{"code": 404, "reason": "x", "message": "m"}"#,
            r#"{"code": 404, "reason": "NOT_FOUND", "message": "namespace not found"}"#,
            r#"{"code": 404, "reason": "NOT_FOUND", "message": "cannot GET /discover"}"#,
            r#"{"code": 404, "reason": "NOT_FOUND", "message": "not found (replica lag)"}"#,
            r#"{"code": 404, "reason": "NOT_FOUND", "message": "artifact not found, retry later"}"#,
            r#"{"code": 404, "reason": "NOT_FOUND", "message": "timeout"}"#,
            r#"{"code": 5, "message": "Not Found."}"#,
            r#"{"code": 5, "message": "ingress not found"}"#,
            r#"{"code": 5, "message": "digest malformed"}"#,
            r#"{"code": 404, "reason": "x", "message": "no such", "metadata": {}}"#,
            r#"{"code": 404, "reason": "not found", "message": "no such",
                "metadata": {"resource": "organization"}}"#,
            r#"{"code": 404, "reason": "not found", "message": "no such",
                "metadata": {"resource_type": "shard"}}"#,
            r#"{"code": 5, "message": "no such", "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "ORG_NOT_FOUND"}]}"#,
            r#"{"code": 404, "reason": "not found", "message": "no such",
                "result": {"revoked": true}}"#,
            r#"{"code": 404, "reason": "not found", "message": "no such", "error": "gateway"}"#,
        ] {
            assert_eq!(kind(DISCOVER, body), ErrorKind::Protocol, "{body}");
        }
        for body in [
            r#"{"code": 5, "message": "token not found"}"#,
            r#"{"code": 404, "reason": "ORG_NOT_FOUND", "message": ""}"#,
        ] {
            assert_eq!(kind(DISCOVER, body), ErrorKind::Unauthenticated, "{body}");
        }
    }

    #[test]
    fn not_found_is_about_the_digest_that_was_asked_for() {
        let digest = |digit: &str| format!("sha256:{}", digit.repeat(64));
        let kind = |message: &str| {
            let error = Error::new(ErrorKind::NotFound, message.to_owned());
            about_another(error, &[&digest("a")]).kind()
        };
        for message in ["not found", "sha256:abc not found", &digest("a"), &digest("A")] {
            assert_eq!(kind(message), ErrorKind::NotFound, "{message}");
        }
        for message in [digest("b"), format!("{}: no such, see {}", digest("a"), digest("b"))] {
            assert_eq!(kind(&message), ErrorKind::Protocol, "{message}");
        }
    }

    #[test]
    fn hints_name_the_possible_causes() {
        use super::super::endpoints::EVIDENCE;
        let hint = |endpoint| {
            let error = error(endpoint, StatusCode::FORBIDDEN, &HeaderMap::new(), b"");
            error.hint().unwrap().to_owned()
        };
        assert!(hint(EVIDENCE).contains("paid plan"));
        assert!(hint(DOWNLOAD).contains("user token"));
        assert!(!hint(DISCOVER).contains("plan"));
        let refused = |body: &str| {
            error(DISCOVER, StatusCode::INTERNAL_SERVER_ERROR, &HeaderMap::new(), body.as_bytes())
                .kind()
        };
        assert_eq!(
            refused(r#"{"code": 500, "message": "API token revoked"}"#),
            ErrorKind::Unauthenticated
        );
        assert_eq!(refused(r#"{"code": 500, "message": "no memory"}"#), ErrorKind::Unavailable);
    }

    #[test]
    fn redirects_to_a_login_page_mean_unauthenticated() {
        let to = |l: &str| {
            error(DISCOVER, StatusCode::TEMPORARY_REDIRECT, &headers(LOCATION, l), b"").kind()
        };
        assert_eq!(to("https://x.example/auth/login?next=/"), ErrorKind::Unauthenticated);
        assert_eq!(to("/auth/login"), ErrorKind::Unauthenticated);
        assert_eq!(to("https://evil.example/?x=/auth/login"), ErrorKind::Protocol);
    }

    #[test]
    fn headers_of_a_part_or_an_error_contradict_a_success() {
        let of = |name: &'static str, value: &str| {
            contradiction(&headers(reqwest::header::HeaderName::from_static(name), value))
        };
        for (name, value) in [
            ("grpc-status", "13"),
            ("grpc-status", "0, 13"),
            ("link", "</2>; rel = \"next\""),
            ("link", "</2>; rel='next'"),
            ("link", "<https://x.example/2>; rel=\"next\""),
            ("link", "</a>; rel=first, </b>; title=\"x\"; rel=\"prev next\""),
            ("content-range", "items 0-0/500"),
        ] {
            assert!(of(name, value).is_some(), "{name}: {value}");
        }
        for (name, value) in
            [("grpc-status", "0"), ("link", "</next>; rel=\"self\""), ("x-total-count", "5")]
        {
            assert!(of(name, value).is_none(), "{name}: {value}");
        }
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
