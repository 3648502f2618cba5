//! Sentences shared by all reports.
//!
//! Owns their wording. Each is one clean line (see `words`), so that a format only has to
//! escape its own syntax.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rego_platform::{Diagnostic, Position};
use rego_platform_client::text::{counted, escape};

use super::words::{line, microseconds, milliseconds};
use crate::report::model::{
    AnsweredBy, Argument, Call, Class, Effect, Failure, Input, Outcome, Policy, Run, Severity,
    Signer, Violation, WaivedBy, Waiver,
};

/// Returns an outcome in words: `passed`, `failed` or `no verdict`.
#[doc(hidden)]
pub const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::NoVerdict => "no verdict",
    }
}

/// Returns the outcome of the run and its totals: the summary that every report has.
#[doc(hidden)]
pub fn headline(run: &Run) -> String {
    let t = &run.totals;
    let word = outcome(run.outcome);
    let word = match &run.part {
        None => word.to_owned(),
        Some(part) => format!("shard {} of {} {word}", part.number, part.of),
    };
    if t.inputs == 0 {
        return match &run.part {
            Some(part) if part.files > 0 => format!("{word}: no input in this shard"),
            _ => format!("{word}: no input evaluated"),
        };
    }
    let mut out = format!("{word}: {}", counted(t.inputs, "input"));
    let parts = [
        (t.passed, "passed", Outcome::Passed),
        (t.failed, "failed", Outcome::Failed),
        (t.no_verdict, "without a verdict", Outcome::NoVerdict),
    ];
    // If all inputs have the outcome of the run, the first word says so.
    let is_mixed = |number: u64, of: Outcome| of != run.outcome || number != t.inputs;
    for (number, words, of) in parts {
        out.extend((number > 0 && is_mixed(number, of)).then(|| format!(", {number} {words}")));
    }
    out.extend((t.not_evaluated > 0).then(|| format!(", {} not evaluated", t.not_evaluated)));
    let parts = [
        (t.violations, "violation"),
        (t.warnings, "warning"),
        (t.skipped, "skipped policy verdict"),
    ];
    let mut sign = ';';
    for (number, words) in parts.into_iter().filter(|(number, _)| *number > 0) {
        let _ = write!(out, "{sign} {}", counted(number, words));
        sign = ',';
    }
    let threshold = below(run);
    let parts =
        [(t.waived, "waived"), (t.excepted, "excepted"), (t.below_threshold, threshold.as_str())];
    for (number, words) in parts {
        if number > 0 {
            let _ = write!(out, "{sign} {number} {words}");
            sign = ',';
        }
    }
    let left_out = run.inventory.left_out();
    out.extend((left_out > 0).then(|| format!("{sign} {} left out", counted(left_out, "file"))));
    if t.calls > 0 {
        match run.answers {
            AnsweredBy::Emulator => out.push_str(" (answered by an emulator)"),
            AnsweredBy::Replay => out.push_str(" (answered from a recording)"),
            AnsweredBy::Service | AnsweredBy::None => {}
        }
    }
    out
}

/// Returns the reasons why a run didn't pass that [`headline`] lacks: the failure of the run, and its
/// [`circumstances`].
pub(super) fn reasons(run: &Run) -> Vec<String> {
    run.failure.iter().map(|failure| line(&failure.message)).chain(circumstances(run)).collect()
}

/// Returns the reasons of a run that aren't in its totals.
pub(crate) fn circumstances(run: &Run) -> Vec<String> {
    run.circumstances().iter().map(|reason| line(reason)).collect()
}

/// Returns the provenance of a verdict, as names and values.
#[doc(hidden)]
pub fn provenance(run: &Run) -> Vec<(&'static str, String)> {
    let mut tool = format!("{} {}", line(&run.tool.name), line(&run.tool.version));
    tool.extend(run.tool.commit.as_ref().map(|commit| format!(" ({})", line(commit))));
    let t = &run.totals;
    let mut all = vec![
        ("outcome", outcome(run.outcome).to_owned()),
        ("exit status", run.exit.code().to_string()),
        ("tool", tool),
        ("started", line(&run.started)),
        ("duration", milliseconds(run.duration_ms)),
        ("answers", answers(run.answers).to_owned()),
        ("ai", ai(run.ai).to_owned()),
        ("fails on", rules(run)),
        (
            "calls",
            format!(
                "{}, {}, {}",
                counted(t.calls, "call"),
                counted(t.attempts, "request"),
                counted(t.bytes, "byte")
            ),
        ),
    ];
    all.extend(inventory(run));
    all
}

/// Returns a summary of the inventory, as names and values.
pub(crate) fn inventory(run: &Run) -> Vec<(&'static str, String)> {
    let inventory = &run.inventory;
    let sum = |arguments: &[Argument]| {
        let taken: u64 = arguments.iter().map(|argument| argument.taken).sum();
        let found: u64 = arguments.iter().map(|argument| argument.found).sum();
        format!("{taken} of {found}")
    };
    let mut all = vec![(
        "files read",
        format!("policies {}, inputs {}", sum(&inventory.policies), sum(&inventory.inputs)),
    )];
    if let Some(part) = &run.part {
        let files = counted(part.files, "file");
        all.push(("shard", format!("{} of {}, which have {files}", part.number, part.of)));
    }
    if !inventory.conditions.is_empty() {
        let each = inventory.conditions.iter().map(|(name, value)| format!("{name} {value}"));
        all.push(("conditions", line(&each.collect::<Vec<_>>().join(", "))));
    }
    all.extend(inventory.engine.as_ref().map(|engine| ("engine", engine.clone())));
    let values = inventory.values.iter();
    all.extend(values.map(|(path, value)| ("set", format!("{}={}", line(path), line(value)))));
    if inventory.unverified {
        all.push(("signatures", "not checked: anyone may have written the attestations".into()));
    }
    if let Some(signed_by) = &inventory.signed_by {
        let keys = signed_by.keys.iter().map(|key| line(&key.key));
        let identities = signed_by.identities.iter();
        let identities = identities.map(|own| identity(&own.identity, &own.issuer));
        let all_of = keys.chain(identities).collect::<Vec<_>>();
        let threshold = signed_by.threshold;
        all.push(("signatures", format!("at least {threshold} of {}", all_of.join(", "))));
    }
    all
}

/// Returns a finding about a policy, with its code, position and hint.
pub(crate) fn finding(finding: &Diagnostic) -> String {
    let at = finding.position.as_ref().map(|at| format!("{}: ", place(at))).unwrap_or_default();
    let hint = finding.hint.as_ref().map(|hint| format!("; {}", line(hint))).unwrap_or_default();
    format!("{at}{} ({}){hint}", line(&finding.message), finding.code)
}

const fn answers(answers: AnsweredBy) -> &'static str {
    match answers {
        AnsweredBy::Service => "from the service",
        AnsweredBy::Emulator => "from an emulator with canned data: not evidence of compliance",
        AnsweredBy::Replay => "from a recording (replay): not evidence of the present state",
        AnsweredBy::None => "none: no call",
    }
}

const fn ai(ai: bool) -> &'static str {
    if ai { "AI model used" } else { "no AI model used" }
}

fn rules(run: &Run) -> String {
    let mut out = match run.rules.fail_on {
        None => "violations".to_owned(),
        Some(severity) => format!("violations of severity {} or above", severity_name(severity)),
    };
    out.extend(run.rules.fail_on_warn.then_some(", warnings"));
    out.extend(run.rules.allow_skipped.then_some("; inputs that every policy skips pass"));
    out
}

/// Returns a severity's name.
pub(super) fn severity_name(severity: Severity) -> &'static str {
    Severity::NAMES.iter().find(|(_, known)| *known == severity).map_or("", |(name, _)| name)
}

/// Returns the effect of a violation that is less severe than the threshold.
pub(crate) fn below(run: &Run) -> String {
    match run.rules.fail_on {
        Some(severity) => format!("{BELOW} `{}`", severity_name(severity)),
        None => BELOW.to_owned(),
    }
}

/// Returns a position as `file:line:column`.
#[doc(hidden)]
pub fn place(position: &Position) -> String {
    format!("{}:{}:{}", line(&position.file), position.line, position.column)
}

/// Returns the remedy of a rule's violations.
#[doc(hidden)]
pub fn remediation(run: &Run, policy: &str, rule: &str) -> Option<String> {
    let policy = run.policies.iter().find(|own| own.name == policy)?;
    let rule = policy.rules.iter().find(|own| own.name == rule);
    let of_rule = rule.and_then(|rule| rule.remediation.as_ref());
    of_rule.or(policy.remediation.as_ref()).map(|text| line(text))
}

/// Returns the effect of a violation in words; `None` if it just fails.
#[doc(hidden)]
pub fn effect(run: &Run, violation: &Violation) -> Option<String> {
    let waiver = violation.waiver.and_then(|index| run.waivers.get(index));
    match violation.effect {
        Effect::Fails | Effect::Waived if let Some(said) = waiver.and_then(statement) => {
            let waived = violation.effect == Effect::Waived;
            Some(if waived { format!("suppressed: {said}") } else { said })
        }
        Effect::Fails => waiver.map(|waiver| {
            let (owner, expires) = (line(&waiver.owner), line(&waiver.expires));
            format!("the waiver of {owner} expired on {expires}: {}", line(&waiver.reason))
        }),
        Effect::Waived if let Some(w) = waiver => {
            let (owner, expires) = (line(&w.owner), line(&w.expires));
            let by = waived_by(w.by);
            Some(format!("waived until {expires} by {owner}, matched by {by}: {}", line(&w.reason)))
        }
        Effect::BelowThreshold => Some(below(run)),
        other => effect_word(other).map(str::to_owned),
    }
}

/// Returns the reason why a violation doesn't fail, from its effect.
pub(super) const fn effect_word(effect: Effect) -> Option<&'static str> {
    match effect {
        Effect::Fails => None,
        Effect::Warns => Some("warning"),
        Effect::Waived => Some("waived"),
        Effect::BelowThreshold => Some(BELOW),
        Effect::Excepted => Some("excepted by the policy"),
        Effect::Disregarded => Some("ignored by the policy"),
    }
}

/// The effect of a violation that is less severe than the threshold.
const BELOW: &str = "below the threshold";

/// Returns a violation as `message [severity, id, rule] (effect)`.
pub(super) fn violation(run: &Run, found: &Violation) -> String {
    let mut out = line(&found.message);
    let mut details = Vec::new();
    details.extend(found.severity.as_ref().map(|severity| format!("severity {}", line(severity))));
    details.extend(found.id.as_ref().map(|id| line(id)));
    let at = found.position.as_ref().map(|p| format!(" at {}", place(p))).unwrap_or_default();
    details.push(format!("{} `{}`{at}", class(found.class), line(&found.rule)));
    let _ = write!(out, " [{}]", details.join(", "));
    out.extend(effect(run, found).map(|effect| format!(" ({effect})")));
    out
}

/// Returns a violation as [`violation`] does, with its other fields, which distinguish violations with the
/// same message.
pub(super) fn violation_in_full(run: &Run, found: &Violation) -> String {
    let text = violation(run, found);
    fields(found).map_or(text.clone(), |fields| format!("{text} {fields}"))
}

/// Returns the word for the rule of a violation of this class.
pub(super) const fn class(class: Class) -> &'static str {
    match class {
        Class::Violation => "rule",
        Class::Finding => "finding of rule",
        Class::Warning => "warning of rule",
    }
}

/// Returns the fields of a violation that [`violation`] doesn't show, as JSON.
#[doc(hidden)]
pub fn fields(found: &Violation) -> Option<String> {
    let is_id =
        |value: &serde_json::Value| value.as_str().is_some_and(|v| Some(v) == found.id.as_deref());
    let other: BTreeMap<_, _> = found.fields.iter().filter(|(_, value)| !is_id(value)).collect();
    if other.is_empty() {
        return None;
    }
    serde_json::to_string(&other).ok().map(|text| line(&text))
}

/// Returns the reason for a missing verdict, followed by its hint.
pub(super) fn failure(failure: &Failure) -> Vec<String> {
    let mut first = format!("{} [{}]", line(&failure.message), line(&failure.kind));
    first.extend(failure.function.as_ref().map(|function| format!(" in `{}`", line(function))));
    first.extend(failure.position.as_ref().map(|position| format!(" at {}", place(position))));
    let hint = failure.hint.as_ref().map(|hint| format!("help: {}", line(hint)));
    std::iter::once(first).chain(hint).collect()
}

/// Returns the origin of a response with the number of requests.
pub(crate) fn sent(call: &Call) -> String {
    if call.is_unsent() {
        return "not sent".to_owned();
    }
    format!("from {}, {}", line(&call.origin), counted(u64::from(call.attempts), "request"))
}

/// Returns a call as one line.
pub(super) fn call(call: &Call) -> String {
    let mut out = format!(
        "{} {} -> {} {}, {}, {}, in pass {} for {}",
        line(&call.function),
        line(&call.arguments),
        line(&call.outcome),
        sent(call),
        counted(call.bytes, "byte"),
        microseconds(call.latency_us),
        call.pass,
        line(&call.policy),
    );
    out.extend((!call.needed).then_some(", speculative"));
    out.extend(call.cut.then_some(", list cut at the policy's own limit"));
    if let Some(again) = call.rereads {
        let _ = write!(out, ", list changed while it was read, read {} times", again + 1);
    }
    out.extend(call.skipped.then_some(", the AI analysis was skipped"));
    if call.form.as_deref() == Some("base64") {
        out.push_str(", given as base64, since it isn't UTF-8");
    }
    out
}

/// Returns the calls of an input, a line each.
#[doc(hidden)]
pub fn ledger(input: &Input) -> Vec<String> {
    let mut lines: Vec<String> = input.ledger.calls.iter().map(call).collect();
    if input.ledger.left_out > 0 {
        lines.push(format!("{} not listed", counted(input.ledger.left_out, "call")));
    }
    lines
}

/// Returns a policy with its digest.
#[doc(hidden)]
pub fn policy(policy: &Policy) -> String {
    let mut out = format!("{} {}", line(&policy.name), line(&policy.digest));
    out.extend(policy.title.as_ref().map(|title| format!(": {}", line(title))));
    if let Some(document) = &policy.document {
        let _ = write!(out, " (from policy document `{}`)", line(document));
    }
    if !policy.attestation_phases.is_empty() {
        let phases = policy.attestation_phases.join(", ");
        let _ = write!(out, "; attestation phases {}", line(&phases));
    }
    out.extend(policy.auto_match.as_ref().map(|by| format!("; auto match by {}", line(by))));
    if let Some(finding) = &policy.finding_type {
        let _ = write!(out, "; findings of the type {}", line(finding));
    }
    out
}

/// Returns an identity, or a pattern of identities.
fn identity(identity: &str, issuer: &str) -> String {
    format!("{} ({})", line(identity), line(issuer))
}

fn signed_by(signer: &Signer) -> String {
    match signer {
        Signer::Key(key) => format!("{} ({})", line(&key.key), line(&key.fingerprint)),
        Signer::Identity(own) => {
            let mut shown = identity(&own.identity, &own.issuer);
            if let (Some(time), Some(source)) = (&own.signed_at, &own.signed_at_source) {
                let _ = write!(shown, " at {} ({})", line(time), line(source));
            }
            shown
        }
    }
}

/// Returns the digest, predicate type, signers, evidence and subjects of an input, as names and values.
#[doc(hidden)]
pub fn about(input: &Input) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    out.extend(input.digest.as_ref().map(|digest| ("digest", line(digest))));
    out.extend(input.predicate_type.as_ref().map(|predicate| ("predicate type", line(predicate))));
    out.extend(input.signers.iter().map(|signer| ("signed by", signed_by(signer))));
    for evidence in input.evidence.iter().flatten() {
        let what = evidence.predicate_type.as_ref().unwrap_or(&evidence.media_type);
        let mut text = format!("{} ({})", line(what), line(&evidence.digest));
        for signer in &evidence.signers {
            let _ = write!(text, ", signed by {}", signed_by(signer));
        }
        out.push(("evidence", text));
    }
    for subject in &input.subjects {
        let digests: Vec<String> =
            subject.digest.iter().map(|(name, hex)| line(&format!("{name}:{hex}"))).collect();
        out.push(("subject", format!("{} {}", line(&subject.name), digests.join(" "))));
    }
    out
}

/// Returns the property by which a waiver identifies its subject, in words.
pub(crate) const fn waived_by(by: WaivedBy) -> &'static str {
    match by {
        WaivedBy::Digest => "the input's digest",
        WaivedBy::Input => "the input's name",
        WaivedBy::Name => "the names in the attestation",
        WaivedBy::Violation => "the digest that the violation names",
        WaivedBy::Product => "the product",
    }
}

/// Returns the content of a VEX statement; `None` for a waiver.
fn statement(waiver: &Waiver) -> Option<String> {
    let vex = waiver.vex.as_ref()?;
    let (author, reason) = (line(&waiver.owner), line(&waiver.reason));
    Some(format!("VEX of {author}: {}, {reason}", vex.status.as_str()))
}

/// Returns the note about an unused waiver or VEX statement.
pub(crate) fn unused(waiver: &Waiver) -> String {
    let subject = &waiver.subject;
    let Some(vex) = &waiver.vex else {
        let policy = waiver.policy.as_ref().map(|name| format!("policy `{name}`"));
        let finding = waiver.finding.as_ref().map(|id| format!("finding `{id}`"));
        let of: Vec<_> = policy.into_iter().chain(finding).collect();
        return format!("unused waiver: {} in `{subject}`", of.join(", "));
    };
    let of = escape(waiver.finding.as_deref().unwrap_or_default());
    let (subject, file) = (escape(subject), escape(&vex.file));
    format!("unused VEX statement {} of `{file}`: `{of}` in `{subject}`", vex.number)
}

/// Returns a waiver as one line.
#[doc(hidden)]
pub fn waiver(waiver: &Waiver) -> String {
    if let (Some(vex), Some(said)) = (&waiver.vex, statement(waiver)) {
        let state = match waiver.matched {
            0 => "matched nothing".to_owned(),
            n if vex.status.sets_aside() => format!("suppressed {}", counted(n, "violation")),
            n => format!("matched {} that still fail", counted(n, "violation")),
        };
        let finding = line(waiver.finding.as_deref().unwrap_or_default());
        let subject = line(&waiver.subject);
        let (file, number) = (line(&vex.file), vex.number);
        return format!("{finding} in {subject}: {said} ({file}, statement {number}): {state}");
    }
    let policy = waiver.policy.as_deref().unwrap_or("every policy");
    let finding = waiver.finding.as_deref().unwrap_or("every finding");
    let state = match (waiver.expired, waiver.matched) {
        (true, 0) => "expired, matched nothing".to_owned(),
        (true, n) => format!("expired, matched {} that still fail", counted(n, "violation")),
        (false, 0) => "matched nothing".to_owned(),
        (false, n) => format!("matched {} by {}", counted(n, "violation"), waived_by(waiver.by)),
    };
    format!(
        "{}, {}, {}: {} (owner {}, until {}): {state}",
        line(policy),
        line(finding),
        line(&waiver.subject),
        line(&waiver.reason),
        line(&waiver.owner),
        line(&waiver.expires),
    )
}
