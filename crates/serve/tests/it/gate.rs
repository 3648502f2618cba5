//! Verdicts over posted inputs.

use rego_platform::Value;
use reqwest::Method;

use super::support::serve_policy;

const POLICY: &str = "package p\n\ndeny contains \"it is bad\" if input.bad\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_gives_its_report() {
    let served = serve_policy(POLICY);
    let body = r#"{"inputs": {"good": {"bad": false}, "evil": {"bad": true}}}"#;
    let answer = served.post("/v1/gate", body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let report = answer.json();
    assert_eq!(report.get_str("outcome"), Some(&"failed".into()), "{answer:?}");
    let inputs = report.get_str("inputs").and_then(Value::as_array).unwrap();
    let outcomes: Vec<String> = inputs
        .iter()
        .map(|input| {
            let text = |name: &str| input.get_str(name).and_then(Value::as_str).unwrap();
            format!("{}: {}", text("name"), text("outcome"))
        })
        .collect();
    assert_eq!(outcomes, ["evil: failed", "good: passed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_verdict_is_an_error() {
    let served = serve_policy(POLICY);
    let unshaped = served.post("/v1/gate", r#"{"inputs": {"list": [1]}}"#).await;
    assert_eq!(unshaped.status, 500, "{unshaped:?}");
    for body in ["{}", r#"{"inputs": {}}"#, r#"{"inputs": []}"#, r#"{"input": {}}"#] {
        let answer = served.post("/v1/gate", body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
    }
    // YAML 1.1 has a boolean there, YAML 1.2 a string.
    let yaml = [("content-type", "application/yaml")];
    for (input, status) in [("{bad: yes}", 400), ("{bad: \"yes\"}", 200), ("{bad: false}", 200)] {
        let body = format!("inputs: {{a: {input}}}");
        let answer = served.send(Method::POST, "/v1/gate", &yaml, body).await;
        assert_eq!(answer.status, status, "{input}: {answer:?}");
        assert_eq!(
            answer.body.contains("ambiguous YAML scalar: `input.bad` is `yes`"),
            status == 400
        );
    }
    let library = serve_policy("package p\n\nallow if input.good\n");
    let answer = library.post("/v1/gate", r#"{"inputs": {"a": {}}}"#).await;
    assert_eq!(answer.status, 500, "{answer:?}");
    assert!(answer.body.contains("has no verdict rule"), "{answer:?}");
}
