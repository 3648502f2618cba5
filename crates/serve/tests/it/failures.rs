//! A failed call of the service is an error, and never a result.

use rego_platform::Value;
use rego_platform::evaluate::Answers;

use super::support::{CLEAN_IMAGE, emulator, platform, serve};

/// Every way in which a policy might make a failure look like an answer.
const POLICY: &str = r#"package release

default allow := false

allow if count(platform.discover(input.image, "").references) >= 0

deny contains "bad" if platform.discover(input.image, "").kind == "BAD"

negated if not platform.discover(input.image, "").kind == "BAD"

second(image) := "kind" if platform.discover(image, "").kind

else := "no kind"

chosen := second(input.image)

every_one if {
	every image in [input.image] {
		platform.discover(image, "").kind
	}
}

all := [kind | kind := platform.discover(input.image, "").kind]
"#;

const PATHS: [&str; 8] =
    ["", "/allow", "/deny", "/negated", "/chosen", "/every_one", "/all", "/second"];

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_call_is_never_a_result() {
    let emulator = emulator();
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform(&emulator)), |_| {});
    let input = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}"}}}}"#);
    let answered = served.post("/v1/data/release/allow", &input).await;
    assert_eq!(answered.json().to_json(), r#"{"result":true}"#);

    for fault in ["status=503", "status=403", "status=404", "cut=10", "status=500"] {
        emulator.set_faults(vec![format!("discover:{fault}").parse().unwrap()]);
        for path in PATHS.iter().filter(|path| **path != "/second") {
            let answer = served.post(&format!("/v1/data/release{path}"), &input).await;
            assert_eq!(answer.status, 500, "{fault} {path}: {answer:?}");
            let body = answer.json();
            assert_eq!(body.get_str("code"), Some(&"internal_error".into()), "{answer:?}");
            assert!(body.get_str("result").is_none(), "{answer:?}");
            let message = body.get_str("message").and_then(Value::as_str).unwrap();
            assert!(message.starts_with("platform.discover: "), "{answer:?}");
            let body = format!(r#"{{"image": "{CLEAN_IMAGE}"}}"#);
            let older = served.post(&format!("/v0/data/release{path}"), &body).await;
            assert_eq!(older.status, 500, "{fault} {path}: {older:?}");
        }
        let body = format!(
            r#"{{"query": "not data.release.allow with input.image as \"{CLEAN_IMAGE}\""}}"#
        );
        let query = served.post("/v1/query", &body).await;
        assert_eq!(query.status, 500, "{fault}: {query:?}");
        let body = format!(r#"{{"inputs": {{"a": {{"image": "{CLEAN_IMAGE}"}}}}}}"#);
        let batch = served.post("/v1/batch/data/release/negated", &body).await;
        assert_eq!(batch.status, 500, "{fault}: {batch:?}");
        let gate = served.post("/v1/gate", &body).await;
        assert_eq!(gate.status, 500, "{fault}: {gate:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_many_requests_are_shared_and_hold_no_thread() {
    let emulator = emulator();
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform(&emulator)), |_| {});
    emulator.set_faults(vec!["discover:latency=300ms".parse().unwrap()]);
    let input = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}"}}}}"#);
    // Far more than there are threads.
    let all = (0..100).map(|_| served.post("/v1/data/release/allow", &input));
    let answers = futures_util::future::join_all(all).await;
    assert!(answers.iter().all(|answer| answer.body == "{\"result\":true}\n"));
    assert!(emulator.requests().len() < 100, "{}", emulator.requests().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_can_read_the_token() {
    let emulator = emulator();
    let served = serve(&[("p.rego", POLICY)], Answers::Service(platform(&emulator)), |_| {});
    let token = emulator.default_token();
    let query = r#"{"query": "x := opa.runtime()"}"#;
    let runtime = served.post("/v1/query", query).await;
    assert_eq!(runtime.json().to_json(), r#"{"result":[{"x":{}}]}"#);
    let send =
        r#"{"query": "x := http.send({\"method\": \"get\", \"url\": \"http://127.0.0.1:1\"})"}"#;
    let sent = served.post("/v1/query", send).await;
    assert_eq!(sent.status, 500, "{sent:?}");
    for path in ["/v1/config", "/v1/status", "/metrics", "/v1/data", "/v1/policies", "/health"] {
        let answer = served.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.body.contains(&token), "{path}: {answer:?}");
    }
}
