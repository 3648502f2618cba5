//! Reports as OSCAL's assessment results, which tools for compliance read.
//!
//! Owns the translation: a control is a finding, and what a policy or the service says of it an observation.
//! `controls` decides which of them are met. Equal runs have equal reports but for times: identifiers are
//! made of what they are about.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};
use sha1::{Digest as _, Sha1};
use uuid::{Builder, Uuid, uuid};

use super::controls::{Control, ControlStatus, Controls, Observation, Origin, controls, name};
use super::facts;
use super::markdown::code;
use super::results::file_of;
use super::words::line;
use super::{Report, write_json};
use crate::report::model::{Input, OptionUse, Requirement, Run};
use crate::report::sarif::{uri, with};

/// The version of the format.
const VERSION: &str = "1.2.1";

/// The namespace of identifiers and properties.
const NAMESPACE: Uuid = uuid!("7bd24db1-f3d6-4704-ac96-07df3bb96d70");

/// The report as OSCAL's assessment results.
#[derive(Debug, Clone, Default)]
pub struct Oscal {
    /// Paths below this folder become relative to it.
    pub folder: PathBuf,
}

impl Report for Oscal {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        write_json(out, &document(run, &self.folder))
    }
}

fn document(run: &Run, folder: &Path) -> Value {
    let controls = controls(run);
    let (start, end) = times(run);
    let inputs: Vec<Value> =
        run.inputs.iter().enumerate().map(|(at, own)| input(at, own, folder)).collect();
    let observations: Vec<Value> =
        controls.observations.iter().map(|own| observation(own, run, &inputs, &start)).collect();
    let findings: Vec<Value> = controls
        .by_name
        .iter()
        .map(|(name, control)| finding(name, control, &controls, &observations))
        .collect();
    let plan = plan(run, folder);
    let remarks = remarks(run);
    let about = json!([
        remarks,
        run.outcome,
        plan.get("uuid"),
        identifiers(&inputs),
        identifiers(&observations),
        identifiers(&findings),
    ]);
    let result = json!({
        "uuid": identifier("result", &about),
        "title": "Run of the gate",
        "description": facts::headline(run),
        "start": start,
        "end": end,
        "props": [property("outcome", facts::outcome(run.outcome))],
        "reviewed-controls": {"control-selections": [selection(&controls)]},
        "remarks": remarks,
    });
    let result = with(result, [("observations", some(observations)), ("findings", some(findings))]);
    let href = format!("#{}", plan.get("uuid").and_then(Value::as_str).unwrap_or_default());
    let resources: Vec<Value> = std::iter::once(plan).chain(inputs).collect();
    json!({
        "assessment-results": {
            "uuid": identifier("document", &about),
            "metadata": {
                "title": "Results of a gate",
                "last-modified": end,
                "version": "1",
                "oscal-version": VERSION,
                "remarks": code(&format!("{} {}", run.tool.name, run.tool.version)),
            },
            "import-ap": {"href": href, "remarks": "The policies are the plan."},
            "results": [result],
            "back-matter": {"resources": resources},
        },
    })
}

/// Returns the beginning and the end of the run. A report that isn't ours may have any text for them.
fn times(run: &Run) -> (String, String) {
    let start = run.started.parse::<DateTime<Utc>>().unwrap_or_default();
    let took = i64::try_from(run.duration_ms).ok().and_then(TimeDelta::try_milliseconds);
    let end = took.and_then(|took| start.checked_add_signed(took)).unwrap_or(start);
    let text = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
    (text(start), text(end))
}

/// Returns the plan: the policies and data of the run.
fn plan(run: &Run, folder: &Path) -> Value {
    let links: Vec<Value> =
        run.sources.iter().map(|own| link(&own.path, Some(&own.digest), folder)).collect();
    let plan = json!({
        "uuid": identifier("plan", &json!(run.sources)),
        "title": "Policies",
        "description": "The policies and data that the gate evaluated.",
    });
    with(plan, [("rlinks", some(links))])
}

fn input(at: usize, own: &Input, folder: &Path) -> Value {
    let resource = json!({
        "uuid": identifier("input", &json!([at, own.name, own.digest])),
        "title": code(&own.name),
        "description": "An input of the gate.",
    });
    let digest = own.digest.as_deref().map(line).filter(|digest| !digest.trim().is_empty());
    let digest = digest.map(|digest| property("digest", digest.trim()));
    // The digest of one of several documents in a file isn't that of the file.
    let links = file_of(&own.name).map(|file| {
        let digest = own.digest.as_deref().filter(|_| file == own.name);
        link(file, digest, folder)
    });
    with(resource, [("props", some(digest)), ("rlinks", some(links))])
}

fn link(path: &str, digest: Option<&str>, folder: &Path) -> Value {
    let hex = digest.and_then(|digest| digest.strip_prefix("sha256:"));
    let hex = hex.filter(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
    let hash = hex.map(|hex| json!({"algorithm": "SHA-256", "value": hex}));
    with(json!({"href": uri(path, folder)}), [("hashes", some(hash))])
}

fn observation(own: &Observation<'_>, run: &Run, inputs: &[Value], time: &str) -> Value {
    let (of, method) = match own.origin {
        Origin::Verdict(policy, rule, at) => {
            let rule = rule.map(|rule| format!(", rule {}", code(&rule.name)));
            let name = run.inputs.get(at).map_or("", |input| input.name.as_str());
            let policy = code(&policy.name);
            (format!("{policy}{} on {}", rule.unwrap_or_default(), code(name)), "TEST")
        }
        Origin::Service(row) => (format!("the service on {}", code(name(row))), "EXAMINE"),
    };
    let description = format!("{of}: {}", code(&own.what));
    let about = json!([description, own.violations, says(own.says)]);
    let out = json!({"description": description, "methods": [method], "collected": time});
    let mut properties = vec![property("says", says(own.says))];
    let resource = match own.origin {
        Origin::Verdict(_, _, at) => inputs.get(at).and_then(|input| input.get("uuid")),
        Origin::Service(row) => {
            properties.extend(properties_of(row));
            None
        }
    };
    let about = json!([about, properties, resource]);
    let subject = resource.map(|uuid| json!({"subject-uuid": uuid, "type": "resource"}));
    let remarks = (!own.violations.is_empty()).then(|| items(&own.violations).into());
    with(
        out,
        [
            ("uuid", Some(identifier("observation", &about))),
            ("subjects", some(subject)),
            ("props", some(properties)),
            ("remarks", remarks),
        ],
    )
}

fn properties_of(row: &Requirement) -> impl Iterator<Item = Value> {
    let all = [
        ("framework-id", &row.framework_id),
        ("project-version-id", &row.project_version_id),
        ("requirement-id", &row.requirement_id),
        ("requirement-version-id", &row.requirement_version_id),
        ("status", &row.status),
        ("evaluated", &row.created_at),
    ];
    all.into_iter().filter_map(|(name, text)| {
        let text = line(text);
        let text = text.trim();
        (!text.is_empty()).then(|| property(name, text))
    })
}

/// Returns the state of a control. Only what is met is satisfied; where nothing is known, the remarks say
/// why.
fn finding(name: &str, control: &Control, all: &Controls<'_>, observations: &[Value]) -> Value {
    let says = all.says(control);
    let (state, reason) = match says {
        ControlStatus::Met => ("satisfied", "pass"),
        ControlStatus::Violated => ("not-satisfied", "fail"),
        ControlStatus::Open | ControlStatus::Nothing => ("not-satisfied", "other"),
    };
    let own = || control.observations.iter().filter_map(|at| all.observations.get(*at));
    let number = |says| own().filter(|one| one.says == says).count();
    let mut remarks = vec![format!(
        "{} met, {} violated, {} open, {} skipped",
        number(ControlStatus::Met),
        number(ControlStatus::Violated),
        number(ControlStatus::Open),
        number(ControlStatus::Nothing),
    )];
    remarks.extend(all.doubts.iter().cloned());
    let id = control_id(name);
    let title = control.title.as_deref().unwrap_or(name);
    let related: Vec<Value> = control
        .observations
        .iter()
        .filter_map(|at| observations.get(*at)?.get("uuid"))
        .map(|uuid| json!({"observation-uuid": uuid}))
        .collect();
    let out = json!({
        "uuid": identifier("finding", &json!([name, title, state, reason, remarks, related])),
        "title": code(title),
        "description": format!("The control {}", code(name)),
        "target": {
            "type": "objective-id",
            "target-id": id,
            "status": {"state": state, "reason": reason, "remarks": items(&remarks)},
        },
    });
    with(out, [("related-observations", some(related))])
}

fn selection(controls: &Controls<'_>) -> Value {
    let ids = controls.by_name.keys().map(|name| json!({"control-id": control_id(name)}));
    let ids: Vec<Value> = ids.collect();
    if ids.is_empty() {
        // A selection has to name one, or all.
        return json!({
            "description": "No policy and no response of the service names a control.",
            "include-controls": [{"control-id": "none"}],
        });
    }
    json!({"include-controls": ids})
}

/// Returns the identifier of a control: the name, or an identifier derived from it if the format doesn't
/// allow the name.
fn control_id(name: &str) -> String {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_next = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut letters = name.chars();
    if letters.next().is_some_and(is_first) && letters.all(is_next) && name.len() <= 256 {
        return name.to_owned();
    }
    format!("_{}", uuid_of("control", &json!(name)))
}

/// Returns remarks: the reasons of a run that didn't pass, and the limits of a pass.
fn remarks(run: &Run) -> String {
    let used = |option: &OptionUse| {
        let value = option.value.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
        format!("in effect: {}{value}", option.name)
    };
    let waivers = run.waivers.iter().filter(|waiver| waiver.matched > 0).map(facts::waiver);
    let all = std::iter::once(facts::headline(run)).chain(run.reasons.iter().cloned());
    let all = all.chain(run.notes.iter().cloned());
    let all = all.chain(run.inventory.took_effect().map(used)).chain(waivers);
    items(&all.collect::<Vec<_>>())
}

/// Returns a list in Markdown.
fn items(texts: &[String]) -> String {
    texts.iter().map(|text| format!("- {}", code(text))).collect::<Vec<_>>().join("\n")
}

fn property(name: &str, value: &str) -> Value {
    json!({"name": name, "ns": NAMESPACE.urn().to_string(), "value": value})
}

const fn says(says: ControlStatus) -> &'static str {
    match says {
        ControlStatus::Met => "met",
        ControlStatus::Violated => "violated",
        ControlStatus::Open => "open",
        ControlStatus::Nothing => "nothing",
    }
}

/// Returns a list, or `None` if it is empty: the format has no empty lists.
fn some(all: impl IntoIterator<Item = Value>) -> Option<Value> {
    let all: Vec<Value> = all.into_iter().collect();
    (!all.is_empty()).then_some(all.into())
}

fn identifiers(all: &[Value]) -> Vec<&Value> {
    all.iter().filter_map(|one| one.get("uuid")).collect()
}

fn identifier(kind: &str, about: &Value) -> Value {
    uuid_of(kind, about).to_string().into()
}

/// Returns the identifier of an object (UUID version 5).
fn uuid_of(kind: &str, about: &Value) -> Uuid {
    let mut hash = Sha1::new();
    hash.update(NAMESPACE.as_bytes());
    hash.update(json!([kind, about]).to_string());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    Builder::from_sha1_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use crate::report::formats::fixture::{HOSTILE, assert_clean, hostile, sample, written};
    use crate::report::model::{AnsweredBy, Effect, Failure, Outcome, Part, Status};

    /// Returns a run of the service's in which the policy of `SR-4` passed one input.
    fn passed() -> Run {
        let mut run = sample();
        run.answers = AnsweredBy::Service;
        run.totals.not_evaluated = 0;
        run.inputs.retain(|input| input.name == "build/other.json#2");
        run.conclude(Outcome::Passed);
        run
    }

    fn results(run: &Run) -> Value {
        let report: Value = serde_json::from_str(&written(&Oscal::default(), run)).unwrap();
        report["assessment-results"]["results"][0].clone()
    }

    /// Returns the state of a control, and the reason.
    fn state(run: &Run, id: &str) -> String {
        let results = results(run);
        let findings = results["findings"].as_array().unwrap();
        let found = findings.iter().find(|one| one["target"]["target-id"] == id).unwrap();
        let status = &found["target"]["status"];
        format!("{} {}", status["state"].as_str().unwrap(), status["reason"].as_str().unwrap())
    }

    #[test]
    fn a_control_is_satisfied_by_a_pass_alone() {
        assert_eq!(state(&passed(), "SR-4"), "satisfied pass");
        assert_eq!(state(&passed(), "CM-7"), "satisfied pass");
        // Another input has no verdict.
        let mut without = passed();
        without.conclude(Outcome::NoVerdict);
        assert_eq!(state(&without, "SR-4"), "not-satisfied other");
        assert_eq!(state(&passed(), "sbom"), "satisfied pass");
        let changed = |change: &dyn Fn(&mut Run)| {
            let mut run = passed();
            change(&mut run);
            state(&run, "SR-4")
        };
        let of_verdict = |status: Status, effect: Option<Effect>| {
            let mut violation = sample().inputs[0].verdicts[0].violations[0].clone();
            violation.effect = effect.unwrap_or(Effect::Warns);
            changed(&move |run| {
                let verdict = &mut run.inputs[0].verdicts[0];
                verdict.status = status;
                verdict.violations = vec![violation.clone()];
            })
        };
        let open = "not-satisfied other";
        for (status, effect, expected) in [
            (Status::Failed, Some(Effect::Fails), "not-satisfied fail"),
            (Status::Skipped, Some(Effect::Fails), "not-satisfied fail"),
            (Status::Passed, Some(Effect::Waived), open),
            (Status::Passed, Some(Effect::BelowThreshold), open),
            (Status::Passed, Some(Effect::Warns), "satisfied pass"),
            (Status::Skipped, None, open),
            (Status::Ignored, None, open),
            (Status::NoVerdict, None, open),
        ] {
            assert_eq!(of_verdict(status, effect), expected, "{status:?} {effect:?}");
        }
        let changes: [&dyn Fn(&mut Run); 8] = [
            &|run| run.failure = Some(Failure::default()),
            &|run| run.totals.not_evaluated = 1,
            &|run| run.answers = AnsweredBy::Emulator,
            &|run| run.answers = AnsweredBy::Replay,
            &|run| run.requirements_unlisted = 1,
            &|run| run.inputs.clear(),
            &|run| {
                run.part = Some(Part { number: 1, of: 2, ..Part::default() });
            },
            &|run| {
                run.inputs[0].verdicts.clear();
                run.inputs[0].error = Some(Failure::default());
            },
        ];
        for (number, change) in changes.iter().enumerate() {
            assert_eq!(changed(change), open, "{number}");
        }
        // What passes one input, and skips or fails another.
        let both = |status: Status| {
            changed(&move |run| {
                let mut other = run.inputs[0].clone();
                other.verdicts[0].status = status;
                run.inputs.push(other);
            })
        };
        assert_eq!(both(Status::Skipped), "satisfied pass");
        assert_eq!(both(Status::NoVerdict), open);
    }

    #[test]
    fn only_pass_among_the_services_statuses_is_satisfied() {
        for (status, expected) in
            [("fail", "fail"), ("pending", "other"), ("PASS", "other"), ("", "other")]
        {
            let mut run = passed();
            let mut row = run.requirements.first().unwrap().clone();
            row.status = status.to_owned();
            row.framework_id = "other".to_owned();
            run.requirements.insert(row);
            assert_eq!(state(&run, "sbom"), format!("not-satisfied {expected}"), "{status}");
        }
    }

    #[test]
    fn a_cut_list_satisfies_nothing() {
        let mut run = passed();
        run.requirements_cut = true;
        assert_eq!(state(&run, "sbom"), "not-satisfied other");
        assert_eq!(state(&run, "SR-4"), "satisfied pass");
    }

    #[test]
    fn equal_runs_have_equal_identifiers_and_no_identifier_stands_for_two() {
        let bare = |run: &Run| {
            let text = written(&Oscal::default(), run);
            text.replace(&times(run).0, "start").replace(&times(run).1, "end")
        };
        let run = sample();
        let later = Run { started: "2027-01-01T00:00:00Z".to_owned(), duration_ms: 1, ..sample() };
        assert_eq!(bare(&run), bare(&later));
        let mut other = sample();
        other.inputs[1].verdicts[0].status = Status::Skipped;
        let document = |run: &Run| {
            let report: Value = serde_json::from_str(&written(&Oscal::default(), run)).unwrap();
            report["assessment-results"]["uuid"].clone()
        };
        assert_ne!(document(&run), document(&other));
        let text = written(&Oscal::default(), &run);
        let mut own: Vec<&str> = text.lines().filter(|line| line.contains("\"uuid\"")).collect();
        let all = own.len();
        own.sort_unstable();
        own.dedup();
        assert!(all > 10 && own.len() == all, "{text}");
    }

    #[test]
    fn a_name_that_is_no_identifier_gets_one() {
        assert_eq!(control_id("ac-2.1_b"), "ac-2.1_b");
        let ids: Vec<String> = ["", "2", "a b", "a/b", "ä", "-a"].map(control_id).into();
        for (at, id) in ids.iter().enumerate() {
            assert!(id.starts_with('_') && !ids[..at].contains(id), "{id}");
        }
    }

    #[test]
    fn foreign_text_stays_text() {
        for payload in HOSTILE {
            assert_clean(&written(&Oscal::default(), &hostile(payload)), payload);
        }
    }
}
