//! What this server has beside OPA, and what it refuses.

use reqwest::Method;

use super::support::{CLEAN_IMAGE, emulator, platform, serve, serve_policy};
use rego_platform::Value;
use rego_platform::evaluate::Answers;

const POLICY: &str = "package app\n\nallow if input.user == \"admin\"\n\nconflict := 1 if input.x\n\nconflict := 2 if input.x\n\nhalf := 1 / 0\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_has_an_answer_for_each_input() {
    let served = serve_policy(POLICY);
    let body = r#"{"inputs": {"a": {"user": "admin"}, "b": {}, "c": 1}}"#;
    let answer = served.post("/v1/batch/data/app/allow", body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json().to_json(), r#"{"responses":{"a":{"result":true},"b":{},"c":{}}}"#);

    let body = r#"{"common_input": {"user": "admin"}, "inputs": {"a": {}, "b": {"user": "eve"}}}"#;
    let answer = served.post("/v1/batch/data/app/allow", body).await;
    assert_eq!(answer.json().to_json(), r#"{"responses":{"a":{"result":true},"b":{}}}"#);

    let answer = served.post("/v1/batch/data/app/allow", "{}").await;
    assert!(answer.body.contains("api_usage_warning"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_tells_failures_by_their_status() {
    let served = serve_policy(POLICY);
    let body = r#"{"inputs": {"a": {"x": 1}, "b": {}}}"#;
    let mixed = served.post("/v1/batch/data/app/conflict", body).await;
    assert_eq!(mixed.status, 207);
    let responses = mixed.json().get_str("responses").cloned().unwrap();
    let of = |name: &str, field: &str| responses.get_str(name).unwrap().get_str(field).cloned();
    assert_eq!(of("a", "http_status_code"), Some("500".into()));
    assert_eq!(of("a", "code"), Some("internal_error".into()));
    assert_eq!(of("a", "result"), None);
    assert_eq!(of("b", "http_status_code"), Some("200".into()));

    let all = served.post("/v1/batch/data/app/conflict", r#"{"inputs": {"a": {"x": 1}}}"#).await;
    assert_eq!(all.status, 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_is_called_as_a_policy_calls_it() {
    let emulator = emulator();
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform(&emulator)), |_| {});
    let body = format!(r#"{{"arguments": ["{CLEAN_IMAGE}", ""]}}"#);
    let answer = served.post("/v1/call/discover", &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let kind = answer.json().get_str("result").unwrap().get_str("kind").cloned();
    assert_eq!(kind, Some("CONTAINER_IMAGE".into()));

    let unknown = served.post("/v1/call/discovr", &body).await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.body.contains("discover, "), "{unknown:?}");
    let few = served.post("/v1/call/discover", r#"{"arguments": []}"#).await;
    assert_eq!(few.status, 400);
    let disabled = served.post("/v1/call/products", r#"{"arguments": [{}]}"#).await;
    assert_eq!(disabled.status, 400, "{disabled:?}");
    let missing = format!("sha256:{}", "0".repeat(64));
    let body = format!(r#"{{"arguments": ["{missing}", ""]}}"#);
    let missing = served.post("/v1/call/discover", &body).await;
    assert_eq!(missing.status, 500, "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slash_at_the_end_means_nothing() {
    let served = serve_policy(POLICY);
    for path in ["/v1/policies", "/v1/data", "/v1/data/app", "/health", "/v1/status", "/v1/config"]
    {
        let answer = served.get(path).await;
        let slashed = served.get(&format!("{path}//?pretty=false")).await;
        assert_eq!((slashed.status, &slashed.body), (200, &answer.body), "{path}");
    }
    assert_eq!(served.get("/v1/query/?q=x%3D1").await.status, 200);
    assert_eq!(served.get("//").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_supported_says_so() {
    let served = serve_policy(POLICY);
    for (method, path, status) in [
        (Method::POST, "/v1/compile", 501),
        (Method::POST, "/v1/compile/app/filters", 501),
        (Method::GET, "/v1/data/app?explain=full", 400),
        (Method::GET, "/v1/data/app?rule_labels", 400),
        (Method::PUT, "/v1/data/app", 405),
        (Method::PATCH, "/v1/data/app", 405),
        (Method::DELETE, "/v1/data/app", 405),
        (Method::PUT, "/v1/policies/p", 405),
        (Method::DELETE, "/v1/policies/p", 405),
        (Method::DELETE, "/v1/query", 405),
        (Method::GET, "/v2/data", 404),
    ] {
        let answer = served.send(method.clone(), path, &[], "{}").await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert!(answer.json().get_str("message").is_some(), "{method} {path}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_read_as_strictly_as_a_file() {
    let served = serve_policy(POLICY);
    for body in [r#"{"input": {"user": "eve", "user": "admin"}}"#, "{} {}", "[1]", "\"x\"", "{"] {
        let answer = served.post("/v1/data/app/allow", body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
    }
    let yaml = [("content-type", "application/yaml")];
    let answer =
        served.send(Method::POST, "/v1/data/app/allow", &yaml, "input:\n  user: admin\n").await;
    assert_eq!(answer.json().to_json(), r#"{"result":true}"#);
    let answer =
        served.send(Method::POST, "/v1/data/app/allow", &yaml, "input: {user: a, user: b}").await;
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_what_was_answered() {
    let served = serve_policy(POLICY);
    served.post("/v1/data/app/allow", "{}").await;
    served.post("/v1/data/app/conflict", r#"{"input": {"x": 1}}"#).await;
    let half = served.post("/v1/data/app/half", "{}").await;
    assert_eq!(half.status, 200, "{half:?}");
    let metrics = served.get("/metrics").await;
    assert!(metrics.header("content-type").starts_with("text/plain"), "{metrics:?}");
    for line in [
        r#"http_request_duration_seconds_count{code="200",handler="v1/data",method="post"} 2"#,
        r#"http_request_duration_seconds_count{code="500",handler="v1/data",method="post"} 1"#,
        "rego_platform_builtin_errors_total 1",
        "rego_platform_evaluations_total 3",
        "rego_platform_evaluations_failed_total 1",
        "rego_platform_policies_loaded 1",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line}: {}", metrics.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prints_reach_the_host() {
    let served = serve_policy("package p\n\nallow if print(\"seen\", input.x)\n");
    served.post("/v1/data/p/allow", r#"{"input": {"x": 3}}"#).await;
    assert_eq!(*served.journal.printed.lock().unwrap(), ["seen 3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn health_asks_the_policies() {
    let policy = "package system.health\n\nlive if input.plugins_ready\n\nready := 1\n";
    let served = serve_policy(policy);
    assert_eq!(served.get("/health/live").await.status, 200);
    let ready = served.get("/health/ready").await;
    assert_eq!(ready.status, 500);
    assert!(ready.body.contains("returned unexpected value"), "{ready:?}");
    assert_eq!(served.get("/health/other").await.status, 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_are_listed_with_their_texts() {
    let served = serve_policy(POLICY);
    let all = served.get("/v1/policies").await.json();
    let first = all.get_str("result").and_then(Value::as_array).unwrap().iter().next().cloned();
    let first = first.unwrap();
    assert_eq!(first.get_str("raw"), Some(&POLICY.into()));
    let id = first.get_str("id").and_then(Value::as_str).unwrap().to_owned();
    let one = served.get(&format!("/v1/policies/{}", id.replace('/', "%2F"))).await;
    assert_eq!(one.json().get_str("result"), Some(&first), "{one:?}");
    assert_eq!(served.get("/v1/policies/none").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_calls_has_an_answer_for_each_in_their_order() {
    let emulator = emulator();
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform(&emulator)), |_| {});
    let missing = format!("sha256:{}", "0".repeat(64));
    let call = |function: &str, arguments: &str| {
        format!(r#"{{"function": "{function}", "arguments": {arguments}}}"#)
    };
    let calls = [
        call("discover", &format!(r#"["{missing}", ""]"#)),
        call("discover", &format!(r#"["{CLEAN_IMAGE}", ""]"#)),
        call("discovr", "[]"),
        call("discover", "[]"),
        call("evidence_prompt", r#"["text", "is it fine?"]"#),
        call("discover", r#"["sha256:0", ""]"#),
    ];
    let body = format!(r#"{{"calls": [{}]}}"#, calls.join(", "));
    let answer = served.post("/v1/batch/call", &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let results = answer.json().get_str("results").cloned().unwrap();
    let kinds: Vec<String> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| match result.get_str("error") {
            Some(error) => error.get_str("kind").and_then(Value::as_str).unwrap().to_owned(),
            None => result.get_str("result").unwrap().get_str("kind").unwrap().to_string(),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "not found",
            "\"CONTAINER_IMAGE\"",
            "invalid argument",
            "invalid argument",
            "not answered",
            "invalid argument"
        ]
    );
    for wrong in [
        "{}",
        r#"{"calls": {}}"#,
        r#"{"calls": [1]}"#,
        r#"{"calls": [{"function": "discover", "arguments": {}}]}"#,
        r#"{"calls": [], "exact": "yes"}"#,
    ] {
        let answer = served.post("/v1/batch/call", wrong).await;
        assert_eq!(answer.status, 400, "{wrong}: {answer:?}");
    }
    let none = served.post("/v1/batch/call", r#"{"calls": []}"#).await;
    assert_eq!(none.json().to_json(), r#"{"results":[]}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_sent_only_by_an_exact_pass() {
    let emulator = emulator();
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform(&emulator)), |_| {});
    let ask = async |exact: &str| {
        let body = format!(
            r#"{{"calls": [{{"function": "evidence_prompt", "arguments": ["a text", "is it fine?"]}}]{exact}}}"#
        );
        let before = emulator.requests().len();
        let answer = served.post("/v1/batch/call", &body).await;
        (answer, emulator.requests().len() - before)
    };
    for guess in ["", r#", "exact": false"#] {
        let (answer, sent) = ask(guess).await;
        assert!(answer.body.contains("not answered"), "{answer:?}");
        assert_eq!(sent, 0);
    }
    let (answer, sent) = ask(r#", "exact": true"#).await;
    assert!(!answer.body.contains("not answered") && sent > 0, "{answer:?}");
}
