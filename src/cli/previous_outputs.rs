//! The files that the tool writes, and recognising those of an earlier run.
//!
//! Owns their kinds and forms. A run leaves out what it writes, and so may only replace
//! a file in a folder that it reads if that file is nothing but an earlier output of the same kind:
//! a word of it in a scan or an attestation isn't enough.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use crate::evaluate::Recording;
use crate::gate::model::{self, Run};
use crate::gate::reports;

/// The size of the largest file that is looked at.
const MAX_BYTES: u64 = 256 << 20;

/// The name of the tool in what it writes.
pub(super) const TOOL: &str = "rego-platform";

/// The type of the predicate about tests.
pub(super) const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// The type of SLSA's verification summary.
pub(super) const SUMMARY: &str = "https://slsa.dev/verification_summary/v1";

/// The name of the inventory in a test result.
pub(super) const INVENTORY: &str = "inventory.json";

/// The content of an output file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Content that isn't read in a folder of policies or inputs.
    Other,
    /// JSON, which would be.
    Data,
    /// The gate's report as JSON.
    Report,
    /// The gate's report as SARIF.
    Sarif,
    /// The statement about a run.
    Statement,
    /// A recording. It is written at the end, and may lie among the tests that it is for.
    Recording,
}

/// Returns `true` if the whole content of a file is what the tool writes as `content`.
pub(super) fn is_output(path: &Path, content: Content) -> bool {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path);
    let read = opened.and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    if read.is_err() || bytes.len() as u64 > MAX_BYTES {
        return false;
    }
    match content {
        Content::Other | Content::Data => false,
        Content::Recording => is_recording(&bytes),
        Content::Report => is_report(&bytes),
        Content::Sarif => {
            serde_json::from_slice(&bytes).is_ok_and(|value| reports::is_sarif_of(&value, TOOL))
        }
        Content::Statement => serde_json::from_slice(&bytes).is_ok_and(|it| is_statement(&it)),
    }
}

fn is_recording(bytes: &[u8]) -> bool {
    // It has no other fields.
    Recording::from_slice(bytes).is_ok()
}

fn is_report(bytes: &[u8]) -> bool {
    let Ok(run) = serde_json::from_slice::<Run>(bytes) else { return false };
    let Ok(written) = serde_json::from_slice::<Value>(bytes) else { return false };
    let Ok(again) = serde_json::to_value(&run) else { return false };
    run.schema_version == model::VERSION && run.tool.name == TOOL && has_all(&again, &written)
}

/// Returns `true` if a document has all that another one has.
fn has_all(document: &Value, other: &Value) -> bool {
    match (document, other) {
        (Value::Object(all), Value::Object(some)) => {
            some.iter().all(|(key, value)| all.get(key).is_some_and(|own| has_all(own, value)))
        }
        (Value::Array(all), Value::Array(some)) => {
            all.len() == some.len() && all.iter().zip(some).all(|(own, other)| has_all(own, other))
        }
        _ => document == other,
    }
}

/// Returns `true` if there is an object with exactly these keys at a place.
fn has_keys(value: &Value, place: &str, keys: &[&str]) -> bool {
    value.pointer(place).and_then(Value::as_object).is_some_and(|object| {
        object.len() == keys.len() && keys.iter().all(|key| object.contains_key(*key))
    })
}

/// Returns `true` for a statement of `--attest`: by the type of its predicate, and what only this
/// tool writes into it.
fn is_statement(value: &Value) -> bool {
    let has = |place: &str, keys: &[&str]| has_keys(value, place, keys);
    let form = match value.pointer("/predicateType").and_then(Value::as_str) {
        Some(TEST_RESULT) => {
            let configuration = value.pointer("/predicate/configuration");
            let last = configuration.and_then(Value::as_array).and_then(|all| all.last());
            let noted = ["tookEffect", "signaturesChecked", "waivers", "notes", "skipped"];
            let tests = ["result", "configuration", "passedTests", "warnedTests", "failedTests"];
            has("/predicate", &tests)
                && last.is_some_and(|last| {
                    has_keys(last, "", &["name", "digest", "annotations"])
                        && last.get("name").is_some_and(|it| it == INVENTORY)
                        && has_keys(last, "/annotations", &noted)
                })
        }
        Some(SUMMARY) => {
            let noted =
                ["sources", "tookEffect", "signaturesChecked", "inventory", "notes", "skipped"];
            has("/predicate/verifier/version", &[TOOL])
                && has("/predicate/policy/annotations", &noted)
        }
        _ => false,
    };
    form && has("", &["_type", "subject", "predicateType", "predicate"])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;
    use crate::gate::model::{Failure, Tool};

    #[test]
    fn only_whole_outputs_are_recognised() {
        let tool = Tool { name: TOOL.to_owned(), version: "1".to_owned(), commit: None };
        let run = Run::without_verdict(tool, Failure::default());
        let text = |value: &Value| value.to_string().into_bytes();
        let report = serde_json::to_value(&run).unwrap();
        assert!(is_report(&text(&report)));
        let with = |key: &str, value: Value| {
            let mut report = report.clone();
            report[key] = value;
            text(&report)
        };
        assert!(!is_report(&with("bad", json!(true))));
        assert!(!is_report(&with("tool", json!({"name": "other", "version": "1"}))));
        assert!(!is_report(&with("schema_version", json!(1))));
        let prefixed = [&text(&report)[..], b"{\"bad\": true}"].concat();
        assert!(!is_report(&prefixed));
        assert!(is_recording(b"{\"version\": 1, \"nd_builtin_cache\": {}}"));
        assert!(!is_recording(b"{\"version\": 1, \"nd_builtin_cache\": {}, \"bad\": true}"));
        let other = json!({"_type": "https://in-toto.io/Statement/v1", "subject": [],
            "predicateType": TEST_RESULT,
            "predicate": {"result": "PASSED", "configuration": [], "passedTests": [],
                "warnedTests": [], "failedTests": []}});
        assert!(!is_statement(&other));
    }
}
