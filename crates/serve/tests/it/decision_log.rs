//! The log of decisions.

use std::path::Path;
use std::sync::Arc;

use rego_platform::Value;
use rego_platform::evaluate::{Answers, Recording, Replay};
use rego_platform_serve::LogDestination;

use super::support::{CLEAN_IMAGE, Served, emulator, platform, serve, unavailable};

fn logged(files: &[(&str, &str)], answers: Answers, log: &Path) -> Served {
    serve(files, answers, |options| {
        options.decision_log = Some(LogDestination::File(log.to_owned()));
    })
}

fn entries(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().map(|line| Value::from_json(line).unwrap()).collect()
}

fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get_str(name))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_written_before_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.jsonl");
    let emulator = emulator();
    let policy = "package p\n\nkind := platform.discover(input.image, \"\").kind\n\nconflict := x if some x in [1, 2]\n";
    let served = logged(&[("p.rego", policy)], Answers::Service(platform(&emulator)), &log);
    let input = format!(r#"{{"input": {{"image": "{CLEAN_IMAGE}"}}}}"#);
    let answer = served.post("/v1/data/p/kind", &input).await.json();
    let [entry] = &entries(&log)[..] else { panic!("{:?}", entries(&log)) };
    assert_eq!(entry.get_str("decision_id"), answer.get_str("decision_id"));
    assert_eq!(entry.get_str("path"), Some(&"p/kind".into()));
    assert_eq!(entry.get_str("result"), Some(&"CONTAINER_IMAGE".into()));
    assert_eq!(at(entry, &["input", "image"]), Some(&CLEAN_IMAGE.into()));
    let call = format!(r#"["{CLEAN_IMAGE}",""]"#);
    let recorded = at(entry, &["nd_builtin_cache", "platform.discover", &call, "kind"]);
    assert_eq!(recorded, Some(&"CONTAINER_IMAGE".into()), "{}", entry.to_json());
    assert!(at(entry, &["metrics", "timer_rego_query_eval_ns"]).is_some());
    assert!(at(entry, &["bundles", "policies", "revision"]).is_some());
    for name in ["labels", "requested_by", "timestamp", "req_id"] {
        assert!(entry.get_str(name).is_some(), "{name}: {}", entry.to_json());
    }
    assert!(!entry.to_json().contains(&emulator.default_token()));

    served.get("/health/live").await;
    served.post("/v1/data/p/conflict", "{}").await;
    served.get("/v1/query?q=x%3D1").await;
    let [_, failed, query] = &entries(&log)[..] else { panic!("{:?}", entries(&log)) };
    assert_eq!(at(failed, &["error", "code"]), Some(&"internal_error".into()));
    assert_eq!(failed.get_str("result"), None);
    assert_eq!(query.get_str("query"), Some(&"x=1".into()));
    assert_eq!(query.get_str("result").unwrap().to_json(), r#"[{"x":1}]"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_masked_and_dropped_by_the_policies() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.jsonl");
    let policy = r#"package system.log

mask contains "/input/password"

mask contains {"op": "upsert", "path": "/input/user/name", "value": "**"} if input.input.user

mask contains {"op": "remove", "path": "/result/0"} if input.path == "p/list"

mask contains "/input/absent"

drop if input.path == "p/boring"
"#;
    let rule = "package p\n\nlist := [1, 2]\n\nboring := true\n";
    let served = logged(&[("log.rego", policy), ("p.rego", rule)], unavailable(), &log);
    let body = r#"{"input": {"password": "hunter2", "user": {"name": "eve"}}}"#;
    let answer = served.post("/v1/data/p/list", body).await;
    assert!(answer.body.contains("[1,2]"), "{answer:?}");
    served.post("/v1/data/p/boring", body).await;
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("eve"), "{text}");
    let [entry] = &entries(&log)[..] else { panic!("{text}") };
    assert_eq!(entry.get_str("result").unwrap().to_json(), "[2]");
    assert_eq!(entry.get_str("erased").unwrap().to_json(), r#"["/input/password","/result/0"]"#);
    assert_eq!(entry.get_str("masked").unwrap().to_json(), r#"["/input/user/name"]"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_cannot_be_logged_is_not_given() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.jsonl");
    let rule = ("p.rego", "package p\n\nallow := true\n");
    for mask in ["mask contains 1", "mask contains \"/labels\"", "mask contains x if x := 1 / 0"] {
        let mask = format!("package system.log\n\n{mask}\n");
        let served = logged(&[rule, ("log.rego", &mask)], unavailable(), &log);
        let answer = served.post("/v1/data/p/allow", r#"{"input": {"secret": "hunter2"}}"#).await;
        assert_eq!(answer.status, 500, "{mask}: {answer:?}");
        assert!(answer.body.contains("decision_logs: "), "{answer:?}");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "", "{mask}");
        assert_eq!(served.journal.failed.lock().unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_moved_away_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.jsonl");
    let served = logged(&[("p.rego", "package p\n\nallow := true\n")], unavailable(), &log);
    served.post("/v1/data/p/allow", "{}").await;
    std::fs::rename(&log, folder.path().join("old.jsonl")).unwrap();
    served.post("/v1/data/p/allow", "{}").await;
    assert_eq!(entries(&log).len(), 1);
    assert_eq!(entries(&folder.path().join("old.jsonl")).len(), 1);

    // One that can't be begun again is loud until it can.
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    assert_eq!(served.post("/v1/data/p/allow", "{}").await.status, 500);
    assert_eq!(served.get("/health?plugins").await.status, 500);
    std::fs::remove_dir(&log).unwrap();
    assert_eq!(served.post("/v1/data/p/allow", "{}").await.status, 200);
    assert_eq!(served.get("/health?plugins").await.status, 200);
    assert_eq!(entries(&log).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_logged_input_by_input() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.jsonl");
    let served = logged(&[("p.rego", "package p\n\nx := input.x\n")], unavailable(), &log);
    let body = r#"{"inputs": {"a": {"x": 1}, "b": {"x": 2}}}"#;
    let answer = served.post("/v1/batch/data/p/x", body).await.json();
    let batch = answer.get_str("batch_decision_id");
    let mut ids: Vec<_> = entries(&log)
        .iter()
        .map(|entry| {
            assert_eq!(entry.get_str("batch_decision_id"), batch);
            entry.get_str("decision_id").cloned()
        })
        .collect();
    let of = |name: &str| at(&answer, &["responses", name, "decision_id"]).cloned();
    let mut answered = vec![of("a"), of("b")];
    ids.sort();
    answered.sort();
    assert_eq!(ids, answered);
}

/// A gate that asks the service, and a log that masks.
const GATE: [(&str, &str); 2] = [
    (
        "p.rego",
        "package p\n\ndeny contains \"it is no image\" if platform.discover(input.image, \"\").kind != \"CONTAINER_IMAGE\"\n",
    ),
    (
        "log.rego",
        r#"package system.log

mask contains sprintf("/input/%s/password", [replace(urlquery.encode(name), "+", "%20")]) if {
    input.path == "/v1/gate"
    some name, _ in input.input
}

drop if input.input.boring
"#,
    ),
];

fn inputs(name: &str) -> String {
    format!(r#"{{"inputs": {{"{name}": {{"image": "{CLEAN_IMAGE}", "password": "hunter2"}}}}}}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_the_gate_is_an_entry_whose_calls_answer_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.jsonl");
    let emulator = emulator();
    let served = logged(&GATE, Answers::Service(platform(&emulator)), &log);
    let report = served.post("/v1/gate", &inputs("a b/c.json")).await.json();
    served.post("/v1/gate", &inputs("boring")).await;
    let [entry] = &entries(&log)[..] else { panic!("{:?}", entries(&log)) };
    assert_eq!(entry.get_str("path"), Some(&"/v1/gate".into()));
    assert_eq!(at(entry, &["input", "a b/c.json", "image"]), Some(&CLEAN_IMAGE.into()));
    assert_eq!(at(entry, &["input", "a b/c.json", "password"]), None);
    assert_eq!(entry.get_str("erased").unwrap().to_json(), r#"["/input/a%20b%2Fc.json/password"]"#);
    let (mut answered, written) = (report.clone(), entry.get_str("result").unwrap());
    let id = answered.as_object_mut().unwrap().remove(&"decision_id".into());
    assert_eq!((id.as_ref(), &answered), (entry.get_str("decision_id"), written));
    assert_eq!(written.get_str("outcome"), Some(&"passed".into()), "{}", written.to_json());
    for name in ["labels", "bundles", "requested_by", "timestamp", "metrics", "req_id"] {
        assert!(entry.get_str(name).is_some(), "{name}: {}", entry.to_json());
    }
    assert!(!entry.to_json().contains(&emulator.default_token()));

    let calls = entry.get_str("nd_builtin_cache").unwrap().to_json();
    let recording = format!(r#"{{"version": 1, "nd_builtin_cache": {calls}}}"#);
    let recording = Recording::from_slice(recording.as_bytes()).unwrap();
    let replay = Answers::Replay(Arc::new(Replay::new(recording)));
    let again = serve(&GATE, replay, |_| {});
    let given = format!(r#"{{"inputs": {}}}"#, entry.get_str("input").unwrap().to_json());
    let answer = again.post("/v1/gate", &given).await;
    // Times aside.
    let of = |report: &Value| {
        let [input] = report.get_str("inputs").and_then(Value::as_array).unwrap().as_slice() else {
            panic!("{answer:?}")
        };
        let [verdict] = input.get_str("verdicts").and_then(Value::as_array).unwrap().as_slice()
        else {
            panic!("{answer:?}")
        };
        ["policy", "status", "violations"].map(|name| verdict.get_str(name).unwrap().to_json())
    };
    assert_eq!(of(&answer.json()), of(&report), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_verdict_is_logged_and_one_that_cannot_be_logged_is_not_given() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.jsonl");
    let served = logged(&GATE, unavailable(), &log);
    assert_eq!(served.post("/v1/gate", &inputs("a")).await.status, 500);
    let library = logged(&[("p.rego", "package p\n\nallow := true\n")], unavailable(), &log);
    assert_eq!(library.post("/v1/gate", &inputs("a")).await.status, 500);
    let [run, library] = &entries(&log)[..] else { panic!("{:?}", entries(&log)) };
    assert!(!run.to_json().contains("hunter2"), "{}", run.to_json());
    assert_eq!(at(run, &["result", "exit"]), Some(&2.into()), "{}", run.to_json());
    let why = at(library, &["error", "message"]).and_then(Value::as_str).unwrap();
    assert!(why.contains("no policies to evaluate"), "{why}");

    let mask = ("mask.rego", "package system.log\n\nmask contains 1\n");
    let policy = ("p.rego", "package p\n\ndeny contains \"bad\" if input.bad\n");
    let served = logged(&[policy, mask], unavailable(), &log);
    let answer = served.post("/v1/gate", r#"{"inputs": {"a": {"bad": false}}}"#).await;
    assert_eq!(answer.status, 500, "{answer:?}");
    assert!(answer.body.contains("decision_logs: "), "{answer:?}");
    assert_eq!(entries(&log).len(), 2);
}

/// A mask hides a value wherever it is, and an error may repeat it.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_says_nothing_of_what_is_masked() {
    let rule = "package p\n\nn := to_number(input.password)\n\nx := input.password if input.password\n\nx := \"b\"\n\nd := platform.discover(input.password, \"\")\n\ny := to_number(input.name)\n";
    let paths = ["n?strict-builtin-errors=true", "x", "d", "y?strict-builtin-errors=true"];
    for (masks, is_hidden) in [
        (&["/input/password", "/result", "/nd_builtin_cache"][..], true),
        (&["/error"], false),
        (&["/error/message", "/error/errors"], false),
        (&["/input/absent"], false),
        (&[r#"{"op": "upsert", "path": "/input/password", "value": "**"}"#], true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("decisions.jsonl");
        let quoted = |mask: &str| {
            if mask.starts_with('{') { mask.to_owned() } else { format!("\"{mask}\"") }
        };
        let rules = masks.iter().map(|mask| format!("mask contains {}\n\n", quoted(mask)));
        let policy = format!("package system.log\n\n{}", rules.collect::<String>());
        let served = logged(&[("log.rego", &policy), ("p.rego", rule)], unavailable(), &log);
        let body = r#"{"input": {"password": "S3CR3T", "name": "eve"}}"#;
        for path in paths {
            served.post(&format!("/v1/data/p/{path}"), body).await;
        }
        let all = entries(&log);
        assert_eq!(all.len(), paths.len());
        for entry in all {
            let error = entry.get_str("error").map(Value::to_json).unwrap_or_default();
            let is_erased = masks.iter().any(|mask| mask.starts_with("/error"));
            assert!(!error.contains("S3CR3T") || masks == ["/input/absent"], "{masks:?}: {error}");
            assert_eq!(error.contains("(masked)"), is_hidden, "{masks:?}: {error}");
            assert!(is_erased || error.contains("internal_error"), "{masks:?}: {error}");
        }
    }
}

/// The errors of a report are in its causes, its inputs and its reasons.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_says_nothing_of_what_is_masked() {
    let mask = "package system.log\n\nmask contains \"/input/a%20b.json/secret\"\n";
    for (rule, outcome) in [
        ("deny contains \"m\" if to_number(input.secret) == 1", "no_verdict"),
        ("deny contains \"m\" if x == 1\n\nx := input.secret\n\nx := \"b\"", "no_verdict"),
        ("deny contains \"m\" if time.parse_rfc3339_ns(input.secret) == 1", "no_verdict"),
        ("deny contains \"kept\" if input.secret", "failed"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("decisions.jsonl");
        let policy = format!("package p\n\n{rule}\n");
        let files = [("log.rego", mask), ("p.rego", policy.as_str())];
        let served = logged(&files, unavailable(), &log);
        let body = r#"{"inputs": {"a b.json": {"secret": "TOPSECRET-9"}}}"#;
        let answer = served.post("/v1/gate", body).await;
        let [entry] = &entries(&log)[..] else { panic!("{:?}", entries(&log)) };
        let text = entry.to_json();
        assert!(!text.contains("TOPSECRET"), "{rule}: {text}");
        assert_eq!(at(entry, &["result", "outcome"]), Some(&outcome.into()), "{text}");
        // The response isn't masked, and neither is what a policy reports.
        let is_failed = outcome == "failed";
        assert_eq!(answer.body.contains("TOPSECRET"), !is_failed, "{rule}: {answer:?}");
        assert_eq!(text.contains("\"kept\""), is_failed, "{rule}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_line_is_removed_before_the_next_entry() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.jsonl");
    let served = logged(&[("p.rego", "package p\n\nallow := true\n")], unavailable(), &log);
    served.post("/v1/data/p/allow", "{}").await;
    let whole = std::fs::read_to_string(&log).unwrap();
    for half in ["{\"labels\": {", &"x".repeat(200_000)] {
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, format!("{text}{half}")).unwrap();
        served.post("/v1/data/p/allow", "{}").await;
    }
    assert_eq!(entries(&log).len(), 3);
    assert!(std::fs::read_to_string(&log).unwrap().starts_with(&whole));
    // Nothing but half a line is as if there were nothing.
    std::fs::write(&log, "{\"labels\"").unwrap();
    served.post("/v1/data/p/allow", "{}").await;
    assert_eq!(entries(&log).len(), 1);
}
