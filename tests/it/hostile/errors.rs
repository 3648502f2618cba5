//! Which 404 means "not found", and which 500 means that the token isn't accepted (A6).

use std::sync::{Arc, Mutex};

use rego_platform::ErrorKind::{self, NotFound, Protocol, Unauthenticated, Unavailable};
use serde_json::{Value, json};

use super::script;
use super::server::Server;
use super::stage::{Column, call, platform};

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
