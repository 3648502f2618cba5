//! Which 404 means "not found", and which 500 means that the token isn't accepted (A6).

use std::sync::{Arc, Mutex};

use rego_platform::ErrorKind::{
    self, NotFound, PermissionDenied, Protocol, Unauthenticated, Unavailable,
};
use rego_platform::{Error, Token, setting};
use serde_json::{Value, json};

use super::script;
use super::server::Server;
use super::stage::{Column, builder, call, platform};
use base64::Engine as _;

/// Messages of the service, of whatever words.
const MESSAGES: [&str; 36] = [
    "artifact quarantined",
    "artifact expired",
    "artifact deleted",
    "artifact is pending",
    "artifact temporarily unavailable",
    "blob digest invalid",
    "blob upload incomplete",
    "content is being replicated, retry later",
    "evidence access denied",
    "image not scanned",
    "material rejected by policy",
    "object locked",
    "package withdrawn",
    "referrer index rebuilding",
    "resource exhausted",
    "sbom not generated yet",
    "statement unverified",
    "manifest unknown",
    "no such key",
    "nothing here",
    "unknown",
    "gone",
    "does not exist",
    "organization not found",
    "token not found",
    "route not found",
    "page not found",
    "not found",
    "NOT FOUND",
    "Not Found.",
    " Not Found",
    "namespace unknown",
    "cannot GET /discover",
    "entity missing",
    "sha256:0000000000000000000000000000000000000000000000000000000000000000 not found",
    "",
];

/// Asks about a digest, with this answer, and returns the kind of the failure and the number of
/// requests.
fn asked(column: Column, answers: Vec<(u16, String)>) -> Vec<(String, ErrorKind, usize)> {
    let current = Arc::new(Mutex::new((0_u16, String::new())));
    let shared = Arc::clone(&current);
    let server = Server::start(move |_| {
        let (status, body) = shared.lock().unwrap().clone();
        script::status(status, &[], &body)
    });
    let platform = platform(&server);
    let (function, arguments) = call(column, 7);
    let ask = |(status, body): (u16, String)| {
        *current.lock().unwrap() = (status, body.clone());
        let before = server.requests().len();
        let error = platform.call(function, &arguments).unwrap_err();
        (body, error.kind(), server.requests().len() - before)
    };
    answers.into_iter().map(ask).collect()
}

fn all(status: u16, bodies: &[Value]) -> Vec<(u16, String)> {
    bodies.iter().map(|body| (status, body.to_string())).collect()
}

#[test]
fn a_404_is_not_found_by_its_code_and_reason_alone() {
    let mut found = Vec::new();
    let mut wrong = Vec::new();
    for message in MESSAGES {
        found.push(json!({"code": 404, "reason": "not found", "message": message, "metadata": {}}));
        found.push(json!({"code": 404, "reason": "NOT_FOUND", "message": message, "error": "x"}));
        found.push(json!({"code": 5, "message": message, "details": [{"reason": "ORG"}]}));
        wrong.push(json!({"code": 404, "reason": "", "message": message}));
        wrong.push(json!({"code": 404, "reason": "gone", "message": message}));
        wrong.push(json!({"code": 404, "message": message}));
        wrong.push(json!({"code": 13, "reason": "not found", "message": message}));
        wrong.push(json!({"code": "404", "reason": "not found", "message": message}));
        wrong.push(json!({"error": message}));
    }
    found.push(json!({"code": 404, "reason": "Not Found"}));
    found.push(json!({"code": 5}));
    wrong.push(json!({"code": 5, "message": "Not Found", "details": []}));
    wrong.push(json!({"code": 404, "reason": "NotFound"}));
    wrong.push(json!({"code": 404, "reason": "ARTIFACT_NOT_FOUND"}));
    wrong.extend([json!([]), json!([5]), json!([404, "", "not found"])]);
    let mut others: Vec<(u16, String)> = ["", "404 page not found", "<html>not found</html>"]
        .map(|body| (404, body.to_owned()))
        .into();
    others.extend(all(404, &wrong));
    others.push((410, json!({"code": 404, "reason": "not found"}).to_string()));
    for column in [Column::Discover, Column::Download] {
        for (body, kind, _) in asked(column, all(404, &found)) {
            assert_eq!(kind, NotFound, "{body}");
        }
        for (body, kind, _) in asked(column, others.clone()) {
            assert_eq!(kind, Protocol, "{body}");
        }
    }
    for (body, kind, _) in asked(Column::Evidence, all(404, &found)) {
        assert_eq!(kind, Protocol, "{body}");
    }
}

#[test]
fn a_500_whose_message_ends_with_a_known_text_refuses_the_token() {
    let (mut refused, mut failed) = (Vec::new(), Vec::new());
    for text in ["API token revoked", "token not found", "user not found", "org not found"] {
        for before in ["", "error setting current org and user: ", "current: ", "x: y: "] {
            refused.push(json!({"code": 500, "message": format!("{before}{text}")}));
            refused.push(json!({"code": 2, "message": format!("{before}{text}"), "details": []}));
        }
        for after in [" again", ".", ": failed to connect", "\n"] {
            failed.push(json!({"code": 500, "message": format!("{text}{after}")}));
        }
        failed.push(json!({"code": 500, "reason": text}));
        failed.push(json!({"error": text}));
        failed.push(json!(text));
    }
    failed.push(json!({"message": "error finding token: failed to connect"}));
    for column in [Column::Discover, Column::Evidence, Column::Prompt, Column::Download] {
        for (body, kind, requests) in asked(column, all(500, &refused)) {
            assert_eq!((kind, requests), (Unauthenticated, 1), "{body}");
        }
        let sent = if column == Column::Prompt { 1 } else { 2 };
        for (body, kind, requests) in asked(column, all(500, &failed)) {
            assert_eq!((kind, requests), (Unavailable, sent), "{body}");
        }
        // Any other status is what it is.
        for (body, kind, _) in asked(column, all(503, &refused)) {
            assert_eq!(kind, Unavailable, "{body}");
        }
    }
}

/// Returns the failure of a call that gets this answer, made with a token that has this audience.
fn refused(column: Column, audience: &str, status: u16, body: &Value) -> Error {
    let body = body.to_string();
    let server = Server::start(move |_| script::status(status, &[], &body));
    let claims = json!({ "aud": [audience] }).to_string();
    let part = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let token = Token::new(format!("{}.{}.x", part("{}"), part(&claims))).unwrap();
    let builder = builder().token(token).organization("acme");
    let builder = builder.controlplane_url(server.url()).base_url(server.url());
    let (function, arguments) = call(column, 7);
    builder.build().unwrap().call(function, &arguments).unwrap_err()
}

const USER: &str = "user-auth.platform";
const API: &str = "api-token-auth.platform";

#[test]
fn a_404_in_the_services_form_is_about_the_id_and_any_other_about_the_address() {
    for own in [
        json!({"code": 5, "message": "project version not found", "details": []}),
        json!({"code": 404, "reason": "not found", "message": "no such version"}),
    ] {
        let error = refused(Column::Compliance, USER, 404, &own);
        assert_eq!(error.kind(), Protocol);
        assert!(error.report().contains("unknown resource in the arguments (404)"), "{error:?}");
        assert_eq!(error.hint(), Some("check that `project_version_id` exists"));
        assert_eq!(error.setting(), None);
    }
    for other in [json!({"code": 5, "message": "Not Found", "details": []}), json!({})] {
        let error = refused(Column::Compliance, USER, 404, &other);
        assert_eq!(error.kind(), Protocol);
        assert_eq!(error.setting(), Some(setting::BACKEND), "{error:?}");
    }
}

/// The service refuses every API token over HTTP, whether the digest exists or not.
#[test]
fn a_403_to_an_api_token_says_that_the_digest_may_not_exist() {
    let body = json!({"code": 403, "reason": "forbidden", "message": "operation not allowed"});
    for column in [Column::Discover, Column::Download] {
        let error = refused(column, API, 403, &body);
        assert_eq!(error.kind(), PermissionDenied);
        assert!(error.report().contains("not found or not allowed"), "{error:?}");
        assert!(!refused(column, USER, 403, &body).report().contains("not found"));
    }
    assert!(!refused(Column::Evidence, API, 403, &body).report().contains("not found"));
}

/// The texts are those of the vendor's public source, release 1.106.1:
/// `app/controlplane/internal/usercontext/currentorganization_middleware.go`.
#[test]
fn an_unknown_organization_is_reported_as_one() {
    let no_member = json!({
        "code": 403, "reason": "USER_NOT_MEMBER_OF_ORG_ERROR_NOT_IN_ORG",
        "message": "user is not a member of organization acme", "metadata": {},
    });
    let none = json!({"code": 500, "message": "org not found"});
    for (status, body, kind) in [(403, no_member, PermissionDenied), (500, none, Unauthenticated)] {
        for column in [Column::Discover, Column::Evidence, Column::Download] {
            let error = refused(column, USER, status, &body);
            assert_eq!(error.kind(), kind);
            assert!(error.report().contains("unknown organization `acme`"), "{error:?}");
            assert_eq!(error.setting(), Some(setting::ORGANIZATION));
            // An API token selects no organization.
            let error = refused(column, API, status, &body);
            assert_eq!(error.kind(), kind);
            assert!(!error.report().contains("`acme`"), "{error:?}");
        }
    }
}
