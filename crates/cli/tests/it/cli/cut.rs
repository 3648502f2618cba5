//! Lists that the policy's own `limit` cut: reported wherever a result is.

use rego_platform::evaluate::{EvaluateOptions, Evaluated};
use serde_json::json;

use super::Sandbox;
use crate::support;

const WARNING: &str = "platform.evidence([{\"limit\":2}]): the service had more results than the";

const QUERY: &str = "count(platform.evidence({\"limit\": 2}).results)";

fn evaluated(query: &str, options: impl FnOnce(&mut EvaluateOptions)) -> Evaluated {
    let emulator = support::emulator();
    let mut evaluate = support::options(&support::platform(&emulator));
    options(&mut evaluate);
    support::evaluate(&support::policies(&[]), query, "{}", &evaluate)
}

#[test]
fn the_ledger_marks_a_cut_list_exactly_if_the_service_had_more() {
    let all = r#"count(platform.evidence({"project_name": "payments-api"}).results)"#;
    let all = evaluated(all, |_| ());
    let count = all.result.unwrap().value().unwrap().as_i64().unwrap();
    assert!(count > 2);
    assert_eq!(all.ledger.cut().count(), 0);
    for (limit, is_cut) in [(1, true), (count - 1, true), (count, false), (count + 1, false)] {
        let filters = format!(r#"{{"project_name": "payments-api", "limit": {limit}}}"#);
        let query = format!("count(platform.evidence({filters}).results)");
        let evaluated = evaluated(&query, |_| ());
        let shown = evaluated.result.unwrap().value().unwrap().as_i64().unwrap();
        assert_eq!(shown, limit.min(count));
        let cut: Vec<_> = evaluated.ledger.cut().collect();
        assert_eq!(cut.len(), usize::from(is_cut), "{limit} of {count}");
        assert_eq!(evaluated.ledger.to_json()["calls"][0]["cut"], is_cut);
        assert_eq!(evaluated.ledger.table().contains("(cut at its limit)"), is_cut);
    }
}

#[test]
fn eval_warns_and_a_replay_does_too() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("r.json");
    let file = file.to_str().unwrap();
    sandbox.local(&["eval", QUERY, "--record", file]).output().code(0).says(WARNING);
    let output = sandbox.run(&["eval", QUERY, "--replay", file, "-v"]).output().code(0);
    output.says(WARNING).says("(cut at its limit)");
    let whole = QUERY.replace("\"limit\": 2", "\"limit\": 10000");
    sandbox.local(&["eval", &whole]).output().code(0).silent();
}

#[test]
fn every_report_of_a_gate_shows_a_cut_list() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write(
        "p.rego",
        format!("package p\n\ndeny contains \"too few\" if {QUERY} < input.least\n"),
    );
    let input = sandbox.write("in.json", r#"{"least": 1}"#);
    let gate = ["gate", "-d", &policy, "-i", &input, "--format"];
    for format in ["human", "junit", "sarif", "github", "markdown", "tap", "html"] {
        let output = sandbox.local(&[&gate[..], &[format]].concat()).output().code(0);
        assert!(output.stdout.contains("list was cut at the policies"), "{format}: {output:#?}");
    }
    let report = sandbox.local(&[&gate[..], &["json"]].concat()).output().code(0).json();
    assert_eq!(report["inputs"][0]["ledger"]["calls"][0]["cut"], true);
}

#[test]
fn tests_warn_once_and_their_report_names_the_call() {
    let sandbox = Sandbox::new();
    let file = sandbox.write(
        "a_test.rego",
        format!("package a_test\n\ntest_x if {QUERY} == 2\n\ntest_y if {QUERY} == 2\n"),
    );
    let output = sandbox.local(&["test", &file, "--format", "json"]).output().code(0);
    assert_eq!(output.stderr.matches(WARNING).count(), 1, "{output:#?}");
    let call = json!({"function": "platform.evidence", "arguments": "[{\"limit\":2}]"});
    for result in output.json().as_array().unwrap() {
        assert_eq!(result["cut"], json!([call]));
    }
}

#[test]
fn call_warns() {
    let sandbox = Sandbox::new();
    let cut = sandbox.local(&["call", "evidence", "limit=2"]).output().code(0);
    assert_eq!(cut.json()["results"].as_array().unwrap().len(), 2);
    cut.says("warning: the service had more results than the `limit`\n");
    sandbox.local(&["call", "evidence", "limit=10000"]).output().code(0).silent();
}
