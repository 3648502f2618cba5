//! The files that the tool writes, and recognising those of an earlier run.
//!
//! Owns their kinds and forms. A run leaves out what it writes, and so may only replace
//! a file in a folder that it reads if that file is nothing but an earlier output of the same kind:
//! a word of it in a scan or an attestation isn't enough.

use std::io::Read as _;
use std::path::Path;

use rego_platform::evaluate::Recording;
use rego_platform_gate::model::{self, Run};
use rego_platform_gate::reports;
use serde_json::Value;

/// The size of the largest file that is looked at.
const MAX_BYTES: u64 = 256 << 20;

/// The name of the tool in what it writes.
pub(super) const TOOL: &str = "rego-platform";

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;
    use rego_platform_gate::model::{Failure, Tool};

    #[test]
    fn only_whole_outputs_are_recognised() {
        let tool = Tool::new(TOOL, "1");
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
    }
}
