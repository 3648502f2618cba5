//! Reports in TAP, version 14.
//!
//! Owns the translation: a case is a test point, with its details as a YAML block whose scalars are
//! JSON strings. Skipped and ignored cases are skipped; a case without a verdict is `not ok`.

use std::io::{self, Write};

use super::Report;
use super::cases::{Case, State, cases};
use super::facts;
use super::words::line;
use crate::report::model::Run;

/// The report in TAP, version 14.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tap;

impl Report for Tap {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let all = cases(run);
        writeln!(out, "TAP version 14")?;
        writeln!(out, "1..{}", all.len())?;
        for (index, case) in all.iter().enumerate() {
            point(out, index + 1, case)?;
        }
        comment(out, &facts::headline(run))?;
        for text in run.reasons.iter().map(|r| format!("reason: {r}")) {
            comment(out, &line(&text))?;
        }
        for text in run.notes.iter().map(|n| format!("note: {n}")) {
            comment(out, &line(&text))?;
        }
        Ok(())
    }
}

fn comment(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "# {text}")
}

/// Writes a test point.
fn point(out: &mut dyn Write, number: usize, case: &Case<'_>) -> io::Result<()> {
    let state = if case.state >= State::Failed { "not ok" } else { "ok" };
    let input = case.input_name();
    let policy = case.policy_name();
    write!(out, "{state} {number} - {}", described(&format!("{input}: {policy}")))?;
    if case.state == State::Skipped {
        write!(out, " # SKIP {}", described(&case.summary))?;
    }
    writeln!(out)?;
    let mut block = Vec::new();
    if case.state >= State::Failed {
        block.push(format!("message: {}", quoted(&case.summary)));
        let severity = if case.state == State::Error { "error" } else { "fail" };
        block.push(format!("severity: {severity}"));
        block.push(format!("kind: {}", quoted(&case.kind)));
    }
    list(&mut block, "found", &case.reasons());
    list(&mut block, "notes", &case.notes);
    if block.is_empty() {
        return Ok(());
    }
    writeln!(out, "  ---")?;
    for text in block {
        writeln!(out, "  {text}")?;
    }
    writeln!(out, "  ...")
}

fn list(block: &mut Vec<String>, name: &str, items: &[String]) {
    if !items.is_empty() {
        block.push(format!("{name}:"));
        block.extend(items.iter().map(|item| format!("  - {}", quoted(item))));
    }
}

/// Escapes a description, in which `#` would begin a directive.
fn described(text: &str) -> String {
    text.replace('\\', "\\\\").replace('#', "\\#").trim().to_owned()
}

/// Returns a text as a JSON string, which is also a YAML scalar.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::report::formats::fixture::{HOSTILE, assert_clean, hostile, sample, written};
    use crate::report::model::Outcome;

    #[derive(Debug, PartialEq)]
    struct Point {
        ok: bool,
        skip: Option<String>,
        description: String,
        block: serde_json::Value,
    }

    /// Reads a report according to the specification; anything unknown is an error.
    fn read(text: &str) -> Vec<Point> {
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("TAP version 14"));
        let planned: usize = lines.next().unwrap().strip_prefix("1..").unwrap().parse().unwrap();
        let mut points: Vec<Point> = Vec::new();
        while let Some(text) = lines.next() {
            if text == "  ---" {
                let block: Vec<&str> =
                    lines.by_ref().take_while(|l| *l != "  ...").map(|l| &l[2..]).collect();
                points.last_mut().unwrap().block =
                    rego_platform::rego::internal::yaml::from_str(&block.join("\n")).unwrap();
                continue;
            }
            if text.starts_with("# ") {
                continue;
            }
            let (ok, rest) = match text.strip_prefix("not ") {
                Some(rest) => (false, rest),
                None => (true, text),
            };
            let rest = rest.strip_prefix("ok ").unwrap_or_else(|| panic!("unknown: {text}"));
            let (number, rest) = rest.split_once(" - ").unwrap();
            assert_eq!(number.parse::<usize>().unwrap(), points.len() + 1);
            let (mut description, mut directive, mut escaped) = (String::new(), None, false);
            for (at, c) in rest.char_indices() {
                if !escaped && c == '#' {
                    directive = Some(rest[at + 1..].trim());
                    break;
                }
                escaped = !escaped && c == '\\';
                if !escaped {
                    description.push(c);
                }
            }
            let skip = directive.map(|d| d.strip_prefix("SKIP").expect("a directive").to_owned());
            points.push(Point { ok, skip, description, block: serde_json::Value::Null });
        }
        assert_eq!(points.len(), planned);
        points
    }

    #[test]
    fn points_show_the_results_of_cases() {
        let text = written(&Tap, &sample());
        let points = read(&text);
        let states: Vec<(bool, bool)> = points.iter().map(|p| (p.ok, p.skip.is_some())).collect();
        assert_eq!(
            states,
            [
                (false, false),
                (true, true),
                (true, false),
                (true, false),
                (false, false),
                (false, false)
            ]
        );
        assert_eq!(points[0].description, "build/sbom.json: release.licences");
        assert_eq!(points[3].description, "build/other.json#2: release.image");
        let block = &points[0].block;
        assert_eq!(block["message"], "license `GPL-3.0` is not allowed (and 1 more)");
        assert_eq!(block["found"].as_array().unwrap().len(), 2);
        assert_eq!(block["notes"].as_array().unwrap().len(), 3);
        assert_eq!(points[4].block["severity"], "error");
        assert!(text.contains("\n# no verdict: 3 inputs, "), "{text}");
        assert!(text.contains("# SKIP skipped: no image here\n"), "{text}");
    }

    #[test]
    fn a_run_that_did_not_pass_has_a_point_that_is_not_ok() {
        let mut run = sample();
        run.inputs.clear();
        assert_eq!(read(&written(&Tap, &run)).iter().filter(|p| !p.ok).count(), 1);
        run.outcome = Outcome::Passed;
        assert_eq!(read(&written(&Tap, &run)).iter().filter(|p| p.ok).count(), 1);
    }

    #[test]
    fn hostile_text_never_becomes_tap_syntax() {
        let states = |payload: &str| {
            let text = written(&Tap, &hostile(payload));
            assert_clean(&text, payload);
            read(&text).into_iter().map(|p| (p.ok, p.skip.is_some())).collect::<Vec<_>>()
        };
        let plain = states("plain");
        for payload in HOSTILE {
            assert_eq!(states(payload), plain, "{payload:?}");
        }
    }
}
