//! Tests of SARIF reports, read as plain JSON.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;

use super::*;
use crate::report::formats::fixture::{HOSTILE, assert_clean, hostile, sample, written};

fn read(run: &Run) -> Value {
    serde_json::from_str(&written(&Sarif::default(), run)).unwrap()
}

#[test]
fn violations_and_missing_verdicts_are_results() {
    let log = read(&sample());
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    let levels: Vec<&str> = results.iter().map(|r| r["level"].as_str().unwrap()).collect();
    assert_eq!(
        levels,
        ["error", "error", "error", "note", "warning", "none", "error", "error"],
        "{results:#?}"
    );
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    assert_eq!(rules[0]["shortDescription"]["text"], "Forbidden licence");
    assert_eq!(rules[0]["helpUri"], "https://example.com/licences");
    assert_eq!(rules[0]["properties"]["security-severity"], "8.0");
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "build/sbom.json");
    let rule = &results[0]["relatedLocations"][0]["physicalLocation"];
    assert_eq!(rule["artifactLocation"]["uri"], "policies/licences.rego");
    assert_eq!(rule["region"]["startLine"], 7);
    assert_eq!(results[0]["suppressions"], Value::Null);
    let waived = &results[2]["suppressions"][0];
    assert_eq!(
        waived["justification"],
        "waived until 2027-12-31 by ops, matched by the input's digest: being replaced"
    );
    assert_eq!(results[5]["suppressions"][0]["justification"], "no image here");
    assert_eq!(results[6]["ruleId"], NO_VERDICT);
    assert!(results[6]["message"]["text"].as_str().unwrap().contains("help: try again"));
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(invocation["exitCode"], 2);
    assert_eq!(invocation["endTimeUtc"], "2026-11-21T05:00:02.500Z");
    assert_eq!(run["artifacts"][0]["hashes"]["sha-256"], "1111");
    let provenance = &run["properties"]["provenance"];
    assert_eq!(provenance["ai"], "AI model used");
    assert_eq!(run["properties"]["inputs"][0]["skipped"][0]["reason"], "no image here");
}

#[test]
fn a_run_that_did_not_pass_has_a_result() {
    let mut run = sample();
    run.inputs.clear();
    for outcome in [Outcome::Failed, Outcome::NoVerdict] {
        run.outcome = outcome;
        assert_eq!(read(&run)["runs"][0]["results"][0]["level"], "error");
    }
    run.outcome = Outcome::Passed;
    assert_eq!(read(&run)["runs"][0]["results"], json!([]));
}

/// GitHub refuses a file with a result without a location, or a run with more than 25,000 results.
#[test]
fn each_result_has_a_location_and_the_most_severe_are_kept() {
    let failure = crate::report::model::Failure { message: "no".into(), ..Default::default() };
    let mut run = sample();
    run.inputs.clear();
    run.failure = Some(failure);
    let uri = |run: &Run| {
        let place = read(run)["runs"][0]["results"][0]["locations"][0]["physicalLocation"].clone();
        place["artifactLocation"]["uri"].clone()
    };
    assert_eq!(uri(&run), run.sources[0].path.as_str());
    run.sources.clear();
    assert_eq!(uri(&run), ".");
    let mut run = sample();
    let input = run.inputs.iter().find(|input| input.outcome == Outcome::Failed).unwrap().clone();
    run.inputs = vec![input];
    run.inputs[0].verdicts.truncate(1);
    let found = &mut run.inputs[0].verdicts[0].violations;
    let one = found.iter().find(|found| found.fails()).unwrap().clone();
    let of = |severity: &str| Violation { severity: Some(severity.to_owned()), ..one.clone() };
    *found = vec![of("low"); 25_003];
    found.extend([of("critical"), of("high")]);
    let said = sarif_without(&run).unwrap();
    // The sample's run has one result more.
    assert!(said.ends_with("; 6 results left out"), "{said}");
    let log = read(&run);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), MAX_RESULTS);
    assert_eq!(results[MAX_RESULTS - 3]["properties"]["severity"], "critical");
    assert_eq!(results[MAX_RESULTS - 2]["properties"]["severity"], "high");
    let note = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert!(note.to_string().contains("6 results left out"), "{note}");
}

/// A fingerprint has every field, and neither where the rule stands nor how the input is spelled.
#[test]
fn fingerprints_tell_violations_apart_and_stay() {
    let run = sample();
    let print = |change: &dyn Fn(&mut Violation, &mut Input)| {
        let mut run = run.clone();
        let input = &mut run.inputs[0];
        let mut found = input.verdicts[0].violations[0].clone();
        change(&mut found, input);
        input.verdicts[0].violations = vec![found];
        read(&run)["runs"][0]["results"][0]["partialFingerprints"]["regoPlatform/v1"].clone()
    };
    let plain = print(&|_, _| ());
    let position = |found: &mut Violation| found.position.as_mut().unwrap().line += 3;
    assert_eq!(print(&|found, _| position(found)), plain);
    assert_eq!(print(&|_, input| input.name.insert_str(0, "./")), plain);
    let field = |found: &mut Violation| {
        found.fields.insert("package_purl".into(), json!("pkg:npm/a@1"));
    };
    assert_ne!(print(&|found, _| field(found)), plain);
    assert_ne!(print(&|found, _| found.message.push('!')), plain);
    assert_ne!(print(&|_, input| input.name.push('x')), plain);
}

#[test]
fn document_numbers_are_stripped_from_file_names() {
    assert_eq!(file_of("a/b.json#12"), Some("a/b.json"));
    assert_eq!(file_of("a#b.json"), Some("a#b.json"));
    assert_eq!(file_of("<stdin>#2"), None);
    assert_eq!(file_of("(no input)"), None);
}

#[test]
fn only_https_is_a_link() {
    assert_eq!(https("https://example.com/a").as_deref(), Some("https://example.com/a"));
    for bad in ["http://x.example", "javascript:alert(1)", "https://u:p@x.example", "//x", ""] {
        assert_eq!(https(bad), None, "{bad}");
    }
}

#[test]
fn hostile_text_never_becomes_a_command() {
    fn strings(value: &Value, visit: &mut dyn FnMut(&str)) {
        match value {
            Value::String(text) => visit(text),
            Value::Array(items) => items.iter().for_each(|item| strings(item, visit)),
            Value::Object(map) => map.values().for_each(|item| strings(item, visit)),
            _ => {}
        }
    }
    for payload in HOSTILE {
        let run = hostile(payload);
        assert_clean(&written(&Sarif::default(), &run), payload);
        let log = read(&run);
        assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 8, "{payload:?}");
        strings(&log, &mut |text| {
            assert!(!text.contains('\n'), "{text}");
            assert_clean(text.trim_start_matches(':'), payload);
        });
    }
}
