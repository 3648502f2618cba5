//! Policies and data that clients change. What OPA answers is in `conformance`.

use std::sync::Arc;

use rego_platform_serve::Server;
use reqwest::Method;

use super::support::{Answer, TOKEN, ask, load, serve_policy, writable, write};

const POLICY: &str = "package p\n\ndeny contains \"no\" if input.n > data.limit\n";

async fn send(server: &Server, token: &str, method: Method, path: &str, body: &str) -> Answer {
    let url = format!("http://{}{path}", server.address());
    let token = format!("Bearer {token}");
    ask(&url, method, &[("authorization", &token)], body.to_owned()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_holds_for_queries_and_gates_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("p.rego", POLICY), ("data.json", r#"{"limit": 1}"#)]);
    let server = Server::start(load(folder.path()), writable(&Arc::default())).unwrap();
    let say = async |method, path: &str, body: &str| send(&server, TOKEN, method, path, body).await;
    let gate = async || {
        let answer = say(Method::POST, "/v1/gate", r#"{"inputs": {"a": {"n": 5}}}"#).await;
        answer.json().get_str("exit").cloned()
    };
    assert_eq!(gate().await, Some(1.into()));
    assert_eq!(say(Method::PUT, "/v1/data/limit", "9").await.status, 204);
    assert_eq!(gate().await, Some(0.into()));
    let revision = async || say(Method::GET, "/v1/status", "").await.json().to_json();
    let before = revision().await;
    for policy in ["package p\n\nx := platform.discovr(1)\n", "package p\n\ndeny := y\n"] {
        let answer = say(Method::PUT, "/v1/policies/q.rego", policy).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    assert_eq!(revision().await, before, "what doesn't compile changes nothing");
    let patch =
        r#"[{"op": "replace", "path": "limit", "value": 0}, {"op": "remove", "path": "none"}]"#;
    assert_eq!(say(Method::PATCH, "/v1/data", patch).await.status, 404);
    assert_eq!(gate().await, Some(0.into()), "half a patch holds");
    // The files are as they were.
    server.reload().unwrap();
    assert_eq!(gate().await, Some(1.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_clients_with_a_token_write_where_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("p.rego", POLICY)]);
    let mut open = writable(&Arc::default());
    open.access.tokens.clear();
    let refused = Server::start(load(folder.path()), open).unwrap_err().report();
    assert_eq!(refused, "anyone who may ask could change the policies");

    let server = Server::start(load(folder.path()), writable(&Arc::default())).unwrap();
    let writes = [
        (Method::PUT, "/v1/data/a"),
        (Method::PATCH, "/v1/data/a"),
        (Method::DELETE, "/v1/data/a"),
        (Method::PUT, "/v1/policies/a"),
        (Method::DELETE, "/v1/policies/p.rego"),
    ];
    let read_only = serve_policy(POLICY);
    for (method, path) in writes {
        let answer = send(&server, "0123456789abcdeX", method.clone(), path, "[]").await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
        let answer = read_only.send(method, path, &[], "[]").await;
        assert_eq!(answer.status, 405, "{path}: {answer:?}");
        assert!(answer.body.contains("can't be changed over HTTP"), "{answer:?}");
    }
    let mut bounded = writable(&Arc::default());
    bounded.bounds.body = 10;
    let server = Server::start(load(folder.path()), bounded).unwrap();
    let answer = send(&server, TOKEN, Method::PUT, "/v1/policies/a", "package a.long.name").await;
    assert!(answer.status == 400 && answer.body.contains("too large"), "{answer:?}");
}
