//! Reports in CTRF, the Common Test Report Format, which dashboards and CI systems share.
//!
//! Owns the translation: a case is a test, its input the suite. A missing verdict is a failed test:
//! readers take `other` for nothing to look at.

use std::io::{self, Write};

use chrono::DateTime;
use serde_json::{Map, Value, json};

use super::cases::{Case, State, cases};
use super::facts;
use super::results::file_of;
use super::words::line;
use super::{Report, write_json};
use crate::report::model::Run;

/// The version of the format.
const VERSION: &str = "0.0.0";

/// The report in CTRF.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ctrf;

impl Report for Ctrf {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        write_json(out, &document(run))
    }
}

fn document(run: &Run) -> Value {
    let all = cases(run);
    let number = |states: &[State]| all.iter().filter(|case| states.contains(&case.state)).count();
    let start = DateTime::parse_from_rfc3339(&run.started).map_or(0, |at| at.timestamp_millis());
    let stop = start.saturating_add(i64::try_from(run.duration_ms).unwrap_or(i64::MAX));
    let lines = |texts: &[String]| texts.iter().map(|text| line(text)).collect::<Vec<_>>();
    json!({
        "reportFormat": "CTRF",
        "specVersion": VERSION,
        "results": {
            "tool": {"name": line(&run.tool.name), "version": line(&run.tool.version)},
            "summary": {
                "tests": all.len(),
                "passed": number(&[State::Passed]),
                "failed": number(&[State::Failed, State::Error]),
                "skipped": number(&[State::Skipped]),
                "pending": 0,
                "other": 0,
                "suites": run.inputs.len(),
                "start": start,
                "stop": stop,
            },
            "tests": all.iter().map(test).collect::<Vec<_>>(),
            "extra": {
                "summary": facts::headline(run),
                "reasons": lines(&run.reasons),
                "notes": lines(&run.notes),
            },
        },
    })
}

fn test(case: &Case<'_>) -> Value {
    let (status, raw) = match case.state {
        State::Passed => ("passed", "passed"),
        State::Skipped => ("skipped", case.kind.as_str()),
        State::Failed => ("failed", "failed"),
        State::Error => ("failed", "no verdict"),
    };
    let mut test = Map::new();
    let mut set = |name: &str, value: Value| test.insert(name.to_owned(), value);
    set("name", case.policy_name().into());
    set("status", status.into());
    set("rawStatus", raw.into());
    set("duration", case.verdict.map_or(0, |verdict| verdict.duration_ms).into());
    set("suite", json!([case.input_name()]));
    if let Some(file) = case.input.and_then(|input| file_of(&input.name)) {
        set("filePath", line(file).into());
    }
    if case.state != State::Passed {
        set("message", case.summary.as_str().into());
        set("trace", case.reasons().join("\n").into());
    }
    if !case.notes.is_empty() {
        set("stdout", json!(case.notes));
    }
    Value::Object(test)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use crate::report::formats::fixture::{HOSTILE, assert_clean, hostile, sample, written};

    #[test]
    fn each_case_is_a_test_and_no_verdict_is_none_that_passed() {
        let report: Value = serde_json::from_str(&written(&Ctrf, &sample())).unwrap();
        let tests = report["results"]["tests"].as_array().unwrap();
        let summary = &report["results"]["summary"];
        for status in ["passed", "failed", "skipped"] {
            let found = tests.iter().filter(|test| test["status"] == status).count();
            assert_eq!(summary[status], found, "{status}");
            assert!(found > 0, "{status}");
        }
        assert_eq!(summary["tests"], tests.len());
        assert!(summary["stop"].as_i64().unwrap() >= summary["start"].as_i64().unwrap());
        let unknown = tests.iter().filter(|test| test["rawStatus"] == "no verdict");
        assert!(unknown.clone().count() > 0);
        assert!(unknown.clone().all(|test| test["status"] == "failed"));
    }

    #[test]
    fn foreign_text_stays_text() {
        for payload in HOSTILE {
            assert_clean(&written(&Ctrf, &hostile(payload)), payload);
        }
    }
}
