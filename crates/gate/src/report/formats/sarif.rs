//! Reports in SARIF 2.1.0.
//!
//! Owns the translation. A violation is a result at its input, with the rule as a related location.
//! A missing verdict is a result too: readers close results that disappear, and most of them look
//! at nothing but results. Waived and disregarded results are suppressed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rego_platform::Position;
use rego_platform_client::text::counted;
use serde_json::{Value, json};
use serde_sarif::sarif::{
    Artifact, ArtifactLocation, Invocation, Message, MultiformatMessageString, Notification,
    PropertyBag, ReportingDescriptor, Result as SarifResult, ResultColumnKind, ResultKind,
    ResultLevel, Run as Log, SCHEMA_URL, Sarif as Document, Suppression, Tool, ToolComponent,
    Version,
};

use super::Report;
use super::cases::Case;
use super::facts;
use super::results::{
    NO_VERDICT, file_of, fingerprint, fingerprint_of_none, rule_id, somewhere, unexplained,
};
use super::view::weight;
use super::words::line;
use crate::report::model::{
    Effect, Input, Outcome, Policy, Rule, Run, Severity, Verdict, Violation,
};
use crate::report::sarif::{MAX_RESULTS, file, location, uri};

/// The report in SARIF 2.1.0.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Sarif {
    /// Paths below this folder become relative to it.
    pub folder: PathBuf,
}

impl Report for Sarif {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &document(run, &self.folder))?;
        writeln!(out)
    }
}

/// Returns `true` if a document is nothing but a report that the `tool` wrote.
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

fn document(run: &Run, folder: &Path) -> Document {
    let rules = rules(run);
    let places: HashMap<&str, usize> =
        rules.iter().enumerate().map(|(index, rule)| (rule.id.as_str(), index)).collect();
    let mut unknown = unknown(run, folder);
    let left_out = left_out(run, unknown.len());
    unknown.truncate(MAX_RESULTS);
    let mut found: Vec<_> = violations(run).enumerate().collect();
    if left_out > 0 {
        found.sort_by_key(|(_, (_, _, found))| Reverse(weight(found)));
        found.truncate(MAX_RESULTS - unknown.len());
        found.sort_by_key(|(number, _)| *number);
    }
    let found = found.into_iter();
    let mut results: Vec<_> =
        found.map(|(_, (input, verdict, v))| result(run, input, verdict, v, folder)).collect();
    results.append(&mut unknown);
    for result in &mut results {
        let index = result.rule_id.as_deref().and_then(|id| places.get(id)).copied();
        result.rule_index = index.and_then(|index| i64::try_from(index).ok());
    }
    let mut driver = ToolComponent::builder()
        .name(line(&run.tool.name))
        .semantic_version(line(&run.tool.version))
        .build();
    driver.rules = Some(rules);
    let log = Log::builder()
        .tool(Tool::builder().driver(driver).build())
        .column_kind(json!(ResultColumnKind::UnicodeCodePoints))
        .invocations(vec![invocation(run, left_out)])
        .artifacts(artifacts(run, folder))
        .results(results)
        .properties(properties(run))
        .build();
    Document::builder().schema(SCHEMA_URL).version(json!(Version::V2_1_0)).runs(vec![log]).build()
}

fn violations(run: &Run) -> impl Iterator<Item = (&Input, &Verdict, &Violation)> {
    let verdicts =
        run.inputs.iter().flat_map(|input| input.verdicts.iter().map(move |v| (input, v)));
    verdicts.flat_map(|(input, v)| v.violations.iter().map(move |found| (input, v, found)))
}

fn left_out(run: &Run, unknown: usize) -> usize {
    (violations(run).count() + unknown).saturating_sub(MAX_RESULTS)
}

/// Returns what a report in SARIF says of the results that it leaves out, if there are any.
#[doc(hidden)]
pub fn sarif_without(run: &Run) -> Option<String> {
    if left_out(run, run.inputs.len()) == 0 && violations(run).count() <= MAX_RESULTS {
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

/// Returns the rules that policies declare, those that only results name, and our own.
fn rules(run: &Run) -> Vec<ReportingDescriptor> {
    let mut all: Vec<ReportingDescriptor> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for policy in &run.policies {
        for rule in &policy.rules {
            if known.insert(rule_id(&policy.name, &rule.name)) {
                all.push(descriptor(policy, rule));
            }
        }
    }
    let verdicts = run.inputs.iter().flat_map(|input| &input.verdicts);
    for (verdict, found) in verdicts.flat_map(|v| v.violations.iter().map(move |f| (v, f))) {
        let id = rule_id(&verdict.policy, &found.rule);
        if known.insert(id.clone()) {
            all.push(named(id, "a rule of a policy"));
        }
    }
    all.push(named(NO_VERDICT.to_owned(), "something went wrong on the way to a verdict"));
    all
}

fn text(text: &str) -> MultiformatMessageString {
    // The format requires a text that isn't empty.
    let text = line(text);
    let text = if text.trim().is_empty() { "(no text)".to_owned() } else { text };
    MultiformatMessageString::builder().text(text).build()
}

fn named(id: String, summary: &str) -> ReportingDescriptor {
    ReportingDescriptor::builder().id(id).short_description(text(summary)).build()
}

fn descriptor(policy: &Policy, rule: &Rule) -> ReportingDescriptor {
    let title = rule.title.as_ref().or(policy.title.as_ref()).unwrap_or(&policy.name);
    let mut out = named(rule_id(&policy.name, &rule.name), title);
    if let Some(long) = rule.description.as_ref().or(policy.description.as_ref()) {
        out.full_description = Some(text(long));
        out.help = Some(text(long));
    }
    out.help_uri = policy.links.iter().find_map(|link| https(link));
    let mut more = BTreeMap::from([("policyDigest".to_owned(), json!(line(&policy.digest)))]);
    if let Some(severity) = rule.severity.as_ref().or(policy.severity.as_ref()) {
        more.insert("severity".to_owned(), json!(line(severity)));
        more.extend(score(severity));
    }
    out.properties = Some(bag(more, vec!["security".to_owned()]));
    out
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
fn score(severity: &str) -> Option<(String, Value)> {
    let score = match Severity::parse(severity)? {
        Severity::Info => "0.0",
        Severity::Low => "3.0",
        Severity::Medium => "5.0",
        Severity::High => "8.0",
        Severity::Critical => "9.5",
    };
    Some(("security-severity".to_owned(), json!(score)))
}

fn bag(more: BTreeMap<String, Value>, tags: Vec<String>) -> PropertyBag {
    let mut bag = PropertyBag::builder().additional_properties(more).build();
    bag.tags = (!tags.is_empty()).then_some(tags);
    bag
}

fn result(
    run: &Run,
    input: &Input,
    verdict: &Verdict,
    found: &Violation,
    folder: &Path,
) -> SarifResult {
    let message = format!("{} ({})", facts::violation(run, found), line(&input.name));
    let id = rule_id(&verdict.policy, &found.rule);
    let mut out = at(run, &id, &message, (Some(input), found.position.as_ref()), folder);
    out.level = Some(match found.effect {
        Effect::Fails | Effect::Waived => ResultLevel::Error,
        Effect::Warns => ResultLevel::Warning,
        Effect::BelowThreshold => ResultLevel::Note,
        Effect::Excepted | Effect::Disregarded => ResultLevel::None,
    });
    if matches!(found.effect, Effect::Excepted | Effect::Disregarded) {
        out.kind = Some(ResultKind::NotApplicable);
    }
    if matches!(found.effect, Effect::Waived | Effect::Excepted | Effect::Disregarded) {
        let mut suppression = Suppression::builder().kind(json!("external")).build();
        suppression.status = Some(json!("accepted"));
        let reason = verdict.reason.as_deref().map(line);
        suppression.justification = match found.effect {
            Effect::Disregarded => reason.or_else(|| facts::effect(run, found)),
            _ => facts::effect(run, found),
        };
        out.suppressions = Some(vec![suppression]);
    }
    out.partial_fingerprints = Some(fingerprints(fingerprint(&id, found, input, folder)));
    let mut more = BTreeMap::from([("effect".to_owned(), json!(found.effect))]);
    if let Some(severity) = &found.severity {
        more.insert("severity".to_owned(), json!(line(severity)));
    }
    if let Some(fields) = facts::fields(found) {
        more.insert("fields".to_owned(), json!(fields));
    }
    out.properties = Some(bag(more, Vec::new()));
    out
}

fn fingerprints(digest: String) -> BTreeMap<String, String> {
    BTreeMap::from([("regoPlatform/v1".to_owned(), digest)])
}

fn unknown(run: &Run, folder: &Path) -> Vec<SarifResult> {
    let result = |(case, message): (Case<'_>, String)| {
        let position = case.error.and_then(|error| error.position.as_ref());
        let mut out = at(run, NO_VERDICT, &message, (case.input, position), folder);
        out.level = Some(ResultLevel::Error);
        out.occurrence_count =
            i64::try_from(case.alike).ok().filter(|occurrences| *occurrences > 1);
        let print = fingerprint_of_none(&case, folder);
        out.partial_fingerprints = Some(fingerprints(print));
        out
    };
    unexplained(run).into_iter().map(result).collect()
}

/// Returns a result at its input, or else at a position, or else somewhere in the run.
fn at(
    run: &Run,
    rule: &str,
    message: &str,
    (input, position): (Option<&Input>, Option<&Position>),
    folder: &Path,
) -> SarifResult {
    let mut out = SarifResult::builder()
        .message(Message::builder().text(message).build())
        .rule_id(rule)
        .build();
    let rule = position.map(|position| {
        let mut place = location(position, folder);
        place.message = Some(Message::builder().text("the rule").build());
        place
    });
    let input = input.and_then(|input| file_of(&input.name)).map(|path| file(path, folder));
    let (place, related) = match (input, rule) {
        (Some(input), rule) => (input, rule),
        (None, Some(rule)) => (rule, None),
        (None, None) => (file(somewhere(run), folder), None),
    };
    out.locations = Some(vec![place]);
    out.related_locations = related.map(|related| vec![related]);
    out
}

fn invocation(run: &Run, left_out: usize) -> Invocation {
    let mut out =
        Invocation::builder().execution_successful(run.outcome != Outcome::NoVerdict).build();
    out.exit_code = Some(i64::from(run.exit.code()));
    out.exit_code_description = Some(facts::outcome(run.outcome).to_owned());
    let note = |text: &String| {
        let message = Message::builder().text(line(text)).build();
        Notification::builder().message(message).level(json!("note")).build()
    };
    let without = without(left_out);
    let notes: Vec<Notification> = run.notes.iter().chain(&without).map(note).collect();
    out.tool_execution_notifications = (!notes.is_empty()).then_some(notes);
    if let Ok(started) = chrono::DateTime::parse_from_rfc3339(&run.started) {
        let utc = |time: chrono::DateTime<chrono::FixedOffset>| {
            time.to_utc().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
        };
        let took = i64::try_from(run.duration_ms).ok().map(chrono::Duration::milliseconds);
        out.start_time_utc = Some(utc(started));
        out.end_time_utc = took.and_then(|took| started.checked_add_signed(took)).map(utc);
    }
    out
}

/// Returns the inputs and the sources with their digests.
fn artifacts(run: &Run, folder: &Path) -> Vec<Artifact> {
    let inputs = run.inputs.iter().filter_map(|input| {
        // The digest of one of several documents in a file isn't that of the file.
        let file = file_of(&input.name).filter(|file| *file == input.name)?;
        Some((file, input.digest.as_deref()?, "analysisTarget"))
    });
    let sources = run.sources.iter().map(|s| (s.path.as_str(), s.digest.as_str(), "extension"));
    let artifact = |(path, digest, role): (&str, &str, &str)| {
        let mut out = Artifact::builder()
            .location(ArtifactLocation::builder().uri(uri(path, folder)).build())
            .roles(vec![json!(role)])
            .build();
        let hex = digest.strip_prefix("sha256:");
        out.hashes = hex.map(|hex| BTreeMap::from([("sha-256".to_owned(), line(hex))]));
        out
    };
    inputs.chain(sources).map(artifact).collect()
}

/// Returns the parts of a run for which the format has no place of its own.
fn properties(run: &Run) -> PropertyBag {
    let provenance: serde_json::Map<String, Value> = facts::provenance(run)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    let inputs: Vec<Value> = run
        .inputs
        .iter()
        .map(|input| {
            let skipped: Vec<Value> = input
                .verdicts
                .iter()
                .filter(|v| v.reason.is_some())
                .map(|v| {
                    let reason = v.reason.as_deref().map(line);
                    json!({"policy": line(&v.policy), "status": v.status, "reason": reason})
                })
                .collect();
            json!({
                "name": line(&input.name), "outcome": input.outcome,
                "digest": input.digest.as_deref().map(line), "skipped": skipped,
            })
        })
        .collect();
    let clean = |texts: &[String]| texts.iter().map(|text| line(text)).collect::<Vec<_>>();
    bag(
        BTreeMap::from([
            ("provenance".to_owned(), Value::Object(provenance)),
            ("policies".to_owned(), run.policies.iter().map(facts::policy).collect()),
            ("inputs".to_owned(), Value::Array(inputs)),
            ("waivers".to_owned(), run.waivers.iter().map(facts::waiver).collect()),
            ("reasons".to_owned(), json!(clean(&run.reasons))),
            ("notes".to_owned(), json!(clean(&run.notes))),
        ]),
        Vec::new(),
    )
}

#[cfg(test)]
#[path = "sarif_tests.rs"]
mod tests;
