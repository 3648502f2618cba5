//! The reports: what they hold, and that nobody can write into them.

use rego_platform::gate::model::Run;

use super::{DENY_BAD, gate, shipped};
use crate::cli::Sandbox;

#[test]
fn the_json_report_is_the_model() {
    let sandbox = Sandbox::new();
    let input = "testdata/inputs/upstream_attestations/fail.json";
    let output = shipped(&sandbox, &["-n", "upstream_attestations", "-i", input]).code(1);
    let run: Run = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((run.schema_version, run.exit), (1, 1));
    let policy = &run.policies[0];
    assert_eq!(policy.severity.as_deref(), Some("high"));
    assert!(policy.digest.starts_with("sha256:") && policy.title.is_some());
    assert!(run.sources.iter().any(|source| source.path == policy.files[0]));
    let input = &run.inputs[0];
    assert_eq!(input.digest.as_ref().unwrap().len(), 71);
    assert!(input.ledger.calls.iter().any(|call| call.needed && call.attempts > 0));
    assert!(run.totals.calls > 0 && run.totals.violations > 0);
    let violation = input.verdicts[0].failing().next().unwrap();
    assert!(violation.position.as_ref().unwrap().text.contains("deny contains"));
    assert_eq!(serde_json::to_value(&run).unwrap(), output.json());
}

#[test]
fn several_reports_at_once() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let (json, human) = (path("r.json"), path("r.txt"));
    let both = [format!("json={json}"), format!("human={human}")];
    gate(&sandbox, DENY_BAD, &["--output", &both[0], "--output", &both[1]]).code(0);
    assert!(std::fs::read_to_string(&json).unwrap().contains("\"schema_version\": 1"));
    assert!(std::fs::read_to_string(&human).unwrap().contains("passed"));
    gate(&sandbox, DENY_BAD, &["--output", &both[0], "--output", &both[0]]).code(2);
    gate(&sandbox, DENY_BAD, &["--output", "jsn=x"]).code(2).says("there is no form");
    gate(&sandbox, DENY_BAD, &["--output", "json=/nonexistent/x"]).code(2).says("can't be written");
}

#[test]
fn nobody_writes_into_the_reports() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains input.message\n";
    let input = "{\"message\": \"\\u001b[31m\\n::error::x\\n##[error]y\\u0000\\u202e<script>\"}";
    let file = sandbox.write("in.json", input);
    let policy = sandbox.write("policy.rego", policy);
    for format in ["human", "json"] {
        let run = sandbox.run(&["gate", "-d", &policy, "-i", &file, "-f", format]);
        let output = run.output().code(1);
        let lines = || output.stdout.lines().map(str::trim_start);
        assert!(lines().all(|line| !line.starts_with("::") && !line.starts_with("##[")));
        let harmless = |c: char| c == '\n' || (!c.is_control() && c != '\u{202e}');
        assert!(output.stdout.chars().all(harmless), "{}", output.stdout);
    }
}

#[test]
fn the_outcome_can_be_attested_to() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("in.json", "{}");
    let path = sandbox.path("out.json");
    let attest = path.to_str().unwrap();
    gate(&sandbox, DENY_BAD, &["-i", &file, "--attest", attest]).code(0);
    let text = std::fs::read_to_string(&path).unwrap();
    let statement: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(statement["predicate"]["result"], "PASSED");
    assert_eq!(statement["subject"][0]["name"], file);
    let digest = statement["predicate"]["configuration"][0]["digest"]["sha256"].as_str();
    assert_eq!(digest.unwrap().len(), 64);
    let bad = sandbox.write("in.json", "{\"bad\": true}");
    gate(&sandbox, DENY_BAD, &["-i", &bad, "--attest", attest]).code(1);
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"FAILED\""));
    gate(&sandbox, DENY_BAD, &["--attest", attest]).code(2).says("nothing to attest to");
    let local = ["-i", &file, "--attest", attest, "--local", "testdata/platform"];
    gate(&sandbox, DENY_BAD, &local).code(2).says("exclude each other");
    gate(&sandbox, DENY_BAD, &["--attest", attest, "--replay", &file]).code(2).says("exclude");
}

#[test]
fn a_run_can_be_recorded_and_replayed() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("rec.json");
    let recording = path.to_str().unwrap();
    let input = ["-i", "testdata/inputs/release"];
    let first = shipped(&sandbox, &[&input[..], &["--record", recording]].concat()).code(1).json();
    let fixed = ["gate", "-d", "policies", "-f", "json", "--replay", recording];
    let again = sandbox.run(&[&fixed[..], &input].concat()).output().code(1).json();
    assert_eq!(again["answers"], "replay");
    let verdicts = |report: &serde_json::Value| report["inputs"][0]["verdicts"].clone();
    assert_eq!(verdicts(&first), verdicts(&again));
}
