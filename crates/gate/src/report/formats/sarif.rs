//! Reports in SARIF 2.1.0.
//!
//! Owns the translation. A violation is a result at its input, with the rule as a related location.
//! A missing verdict is a result too: readers close results that disappear, and most of them look
//! at nothing but results. Waived and disregarded results are suppressed.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rego_platform::Position;
use rego_platform_client::text::counted;
use serde_json::{Map, Value, json};

use super::cases::Case;
use super::facts;
use super::results::{
    NO_VERDICT, file_of, fingerprint, fingerprint_of_none, rule_id, somewhere, unexplained,
};
use super::view::weight;
use super::words::line;
use super::{Report, write_json};
use crate::report::model::{
    Effect, Input, Outcome, Policy, Rule, Run, Severity, Verdict, Violation,
};
use crate::report::sarif::{self, MAX_RESULTS, file, location, uri, with};

/// The report in SARIF 2.1.0.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Sarif {
    /// Paths below this folder become relative to it.
    pub folder: PathBuf,
}

impl Report for Sarif {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        write_json(out, &document(run, &self.folder))
    }
}

/// Returns `true` if a document is a report of `tool` and nothing else.
pub fn is_sarif_of(document: &Value, tool: &str) -> bool {
    let driver =
        |name: &str| document.pointer("/runs/0/tool/driver").and_then(|driver| driver.get(name));
    let declares = |id: &str| {
        let mut rules = driver("rules").and_then(Value::as_array).into_iter().flatten();
        rules.any(|rule| rule.get("id").is_some_and(|found| found == id))
    };
    let is_known = |key: &String| matches!(key.as_str(), "$schema" | "version" | "runs");
    driver("name").is_some_and(|name| name == tool)
        && declares(NO_VERDICT)
        && document.pointer("/runs/0").is_some()
        && document.pointer("/runs/1").is_none()
        && document.as_object().is_some_and(|document| document.keys().all(is_known))
}

fn document(run: &Run, folder: &Path) -> Value {
    let rules = rules(run);
    let ids = rules.iter().enumerate();
    let places: HashMap<&str, usize> =
        ids.filter_map(|(index, rule)| Some((rule.get("id")?.as_str()?, index))).collect();
    let mut unknown = unknown(run, folder);
    let left_out = left_out(run, unknown.len());
    unknown.truncate(MAX_RESULTS);
    let mut found: Vec<_> = run.violations().enumerate().collect();
    if left_out > 0 {
        found.sort_by_key(|(_, (_, _, found))| Reverse(weight(found)));
        found.truncate(MAX_RESULTS - unknown.len());
        found.sort_by_key(|(number, _)| *number);
    }
    let found = found.into_iter();
    let found = found.map(|(_, (input, verdict, v))| result(run, input, verdict, v, folder));
    let with_index = |result: Value| {
        let index = result.get("ruleId").and_then(|id| places.get(id.as_str()?));
        let index = index.map(|index| json!(index));
        with(result, [("ruleIndex", index)])
    };
    let results: Value = found.chain(unknown).map(with_index).collect();
    sarif::document(json!({
        "tool": {"driver": {
            "name": line(&run.tool.name),
            "semanticVersion": line(&run.tool.version),
            "rules": rules,
        }},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation(run, left_out)],
        "artifacts": artifacts(run, folder),
        "results": results,
        "properties": properties(run),
    }))
}

fn left_out(run: &Run, unknown: usize) -> usize {
    (run.violations().count() + unknown).saturating_sub(MAX_RESULTS)
}

/// Returns the note about omitted results in a SARIF report, if any.
#[doc(hidden)]
pub fn sarif_without(run: &Run) -> Option<String> {
    if left_out(run, run.inputs.len()) == 0 && run.violations().count() <= MAX_RESULTS {
        return None;
    }
    without(left_out(run, unexplained(run).len()))
}

fn without(left_out: usize) -> Option<String> {
    let text = || {
        let results = counted(left_out as u64, "result");
        format!("the SARIF report has the {MAX_RESULTS} most severe results; {results} left out")
    };
    (left_out > 0).then(text)
}

/// Returns the rules of policies and results, and the gate's own rules.
fn rules(run: &Run) -> Vec<Value> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for policy in &run.policies {
        for rule in &policy.rules {
            if known.insert(rule_id(&policy.name, &rule.name)) {
                all.push(descriptor(policy, rule));
            }
        }
    }
    for (_, verdict, found) in run.violations() {
        let id = rule_id(&verdict.policy, &found.rule);
        if known.insert(id.clone()) {
            all.push(named(id, "a rule of a policy"));
        }
    }
    all.push(named(NO_VERDICT.to_owned(), "an error prevented a verdict"));
    all
}

fn text(text: &str) -> Value {
    // The format requires a text that isn't empty.
    let text = line(text);
    json!({"text": if text.trim().is_empty() { "(no text)" } else { &text }})
}

fn named(id: String, summary: &str) -> Value {
    json!({"id": id, "shortDescription": text(summary)})
}

fn descriptor(policy: &Policy, rule: &Rule) -> Value {
    let title = rule.title.as_ref().or(policy.title.as_ref()).unwrap_or(&policy.name);
    let long = rule.description.as_ref().or(policy.description.as_ref()).map(|own| text(own));
    let remedy = rule.remediation.as_ref().or(policy.remediation.as_ref()).map(|own| text(own));
    let severity = rule.severity.as_ref().or(policy.severity.as_ref());
    let properties = with(
        json!({"policyDigest": line(&policy.digest), "tags": ["security"]}),
        [
            ("severity", severity.map(|own| json!(line(own)))),
            ("security-severity", severity.and_then(|own| score(own)).map(Value::from)),
        ],
    );
    with(
        named(rule_id(&policy.name, &rule.name), title),
        [
            ("fullDescription", long.clone()),
            ("help", remedy.or(long)),
            ("helpUri", policy.links.iter().find_map(|link| https(link)).map(Value::from)),
            ("properties", Some(properties)),
        ],
    )
}

/// Returns a link that is safe to follow: https, with a host, without credentials.
pub(super) fn https(link: &str) -> Option<String> {
    let url = url::Url::parse(link).ok()?;
    let plain = url.scheme() == "https"
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none();
    plain.then(|| url.to_string())
}

/// Returns a severity on GitHub's scale.
fn score(severity: &str) -> Option<&'static str> {
    Some(match Severity::parse(severity)? {
        Severity::Info => "0.0",
        Severity::Low => "3.0",
        Severity::Medium => "5.0",
        Severity::High => "8.0",
        Severity::Critical => "9.5",
    })
}

fn result(run: &Run, input: &Input, verdict: &Verdict, found: &Violation, folder: &Path) -> Value {
    let message = format!("{} ({})", facts::violation(run, found), line(&input.name));
    let id = rule_id(&verdict.policy, &found.rule);
    let level = match found.effect {
        Effect::Fails | Effect::Waived => "error",
        Effect::Warns => "warning",
        Effect::BelowThreshold => "note",
        Effect::Excepted | Effect::Disregarded => "none",
    };
    let is_inapplicable = matches!(found.effect, Effect::Excepted | Effect::Disregarded);
    let is_suppressed = is_inapplicable || found.effect == Effect::Waived;
    let reason = verdict.reason.as_deref().map(line);
    let reason = reason.filter(|_| found.effect == Effect::Disregarded);
    let suppressions = is_suppressed.then(|| {
        let suppression = json!({"kind": "external", "status": "accepted"});
        let reason = reason.or_else(|| facts::effect(run, found)).map(Value::from);
        json!([with(suppression, [("justification", reason)])])
    });
    let properties = with(
        json!({"effect": found.effect}),
        [
            ("severity", found.severity.as_ref().map(|own| json!(line(own)))),
            ("fields", facts::fields(found).map(Value::from)),
        ],
    );
    with(
        at(run, &id, &message, (Some(input), found.position.as_ref()), folder),
        [
            ("level", Some(json!(level))),
            ("kind", is_inapplicable.then(|| json!("notApplicable"))),
            ("suppressions", suppressions),
            ("partialFingerprints", Some(fingerprints(fingerprint(&id, found, input, folder)))),
            ("properties", Some(properties)),
        ],
    )
}

fn fingerprints(digest: String) -> Value {
    json!({"regoPlatform/v1": digest})
}

fn unknown(run: &Run, folder: &Path) -> Vec<Value> {
    let result = |(case, message): (Case<'_>, String)| {
        let position = case.error.and_then(|error| error.position.as_ref());
        with(
            at(run, NO_VERDICT, &message, (case.input, position), folder),
            [
                ("level", Some(json!("error"))),
                ("occurrenceCount", Some(json!(case.alike)).filter(|_| case.alike > 1)),
                ("partialFingerprints", Some(fingerprints(fingerprint_of_none(&case, folder)))),
            ],
        )
    };
    unexplained(run).into_iter().map(result).collect()
}

/// Returns a result at its input, or else at a position, or else at any path of the run.
fn at(
    run: &Run,
    rule: &str,
    message: &str,
    (input, position): (Option<&Input>, Option<&Position>),
    folder: &Path,
) -> Value {
    let rule_place = position.map(|position| {
        with(location(position, folder), [("message", Some(json!({"text": "the rule"})))])
    });
    let input = input.and_then(|input| file_of(&input.name)).map(|path| file(path, folder));
    let (place, related) = match (input, rule_place) {
        (Some(input), rule) => (input, rule),
        (None, Some(rule)) => (rule, None),
        (None, None) => (file(somewhere(run), folder), None),
    };
    with(
        json!({"ruleId": rule, "message": {"text": message}, "locations": [place]}),
        [("relatedLocations", related.map(|related| json!([related])))],
    )
}

fn invocation(run: &Run, left_out: usize) -> Value {
    let note = |text: &String| json!({"message": {"text": line(text)}, "level": "note"});
    let without = without(left_out);
    let notes: Vec<Value> = run.notes.iter().chain(&without).map(note).collect();
    let utc = |time: chrono::DateTime<chrono::FixedOffset>| {
        json!(time.to_utc().to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
    };
    let started = chrono::DateTime::parse_from_rfc3339(&run.started).ok();
    let took = i64::try_from(run.duration_ms).ok().map(chrono::Duration::milliseconds);
    let ended = started.zip(took).and_then(|(started, took)| started.checked_add_signed(took));
    with(
        json!({
            "executionSuccessful": run.outcome != Outcome::NoVerdict,
            "exitCode": run.exit.code(),
            "exitCodeDescription": facts::outcome(run.outcome),
        }),
        [
            ("toolExecutionNotifications", (!notes.is_empty()).then(|| json!(notes))),
            ("startTimeUtc", started.map(utc)),
            ("endTimeUtc", ended.map(utc)),
        ],
    )
}

/// Returns the inputs and the sources with their digests.
fn artifacts(run: &Run, folder: &Path) -> Value {
    let inputs = run.inputs.iter().filter_map(|input| {
        // The digest of one of several documents in a file isn't that of the file.
        let file = file_of(&input.name).filter(|file| *file == input.name)?;
        Some((file, input.digest.as_deref()?, "analysisTarget"))
    });
    let sources = run.sources.iter().map(|s| (s.path.as_str(), s.digest.as_str(), "extension"));
    let artifact = |(path, digest, role): (&str, &str, &str)| {
        let hex = digest.strip_prefix("sha256:");
        with(
            json!({"location": {"uri": uri(path, folder)}, "roles": [role]}),
            [("hashes", hex.map(|hex| json!({"sha-256": line(hex)})))],
        )
    };
    inputs.chain(sources).map(artifact).collect()
}

/// Returns the properties of a run that the format has no fields for.
fn properties(run: &Run) -> Value {
    let provenance: Map<String, Value> = facts::provenance(run)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    let input = |input: &Input| {
        let skipped = input.verdicts.iter().filter_map(|verdict| {
            let reason = line(verdict.reason.as_deref()?);
            Some(json!({"policy": line(&verdict.policy), "status": verdict.status, "reason": reason}))
        });
        json!({
            "name": line(&input.name), "outcome": input.outcome,
            "digest": input.digest.as_deref().map(line), "skipped": skipped.collect::<Value>(),
        })
    };
    let lines = |texts: &[String]| texts.iter().map(|text| line(text)).collect::<Value>();
    json!({
        "provenance": provenance,
        "policies": run.policies.iter().map(facts::policy).collect::<Value>(),
        "inputs": run.inputs.iter().map(input).collect::<Value>(),
        "waivers": run.waivers.iter().map(facts::waiver).collect::<Value>(),
        "reasons": lines(&run.reasons),
        "notes": lines(&run.notes),
    })
}

#[cfg(test)]
#[path = "sarif_tests.rs"]
mod tests;
