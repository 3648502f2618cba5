//! Outcomes of policies, inputs and runs, from raw verdicts.
//!
//! Owns the effects of violations, the outcomes, and the totals.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::ops::Deref;

use chrono::NaiveDate;
use rego_platform::evaluate::{Evaluated, QueryOutput};
use rego_platform::rego::Value;
use rego_platform::rego::internal::yaml::{Legacy, legacy};
use rego_platform::{Error, Position, Product, Setting};
use rego_platform_client::text::{counted, escape};

use super::inconclusive;
use super::rule_values::{self, Item, excepts};
use super::waivers::{Candidate, InputWaivers, Waivers};
use crate::policy::VerdictPackage;
use crate::report::model::{
    Cause, Class, Effect, Failure, Input, Outcome, Policy, Rule, Rules, Run, Severity, Status,
    Subject, Totals, Verdict, Violation,
};
use crate::setting;

/// Words the hint of an error in a host's terms: the option for the setting or limit that the error names.
pub type Hint = fn(&Error) -> Option<String>;

/// The context of a verdict besides the policy's result.
pub(crate) struct VerdictContext<'a> {
    pub package: &'a VerdictPackage,
    pub policy: &'a Policy,
    pub rules: &'a Rules,
    pub waivers: &'a Waivers,
    pub input: &'a str,
    pub input_digest: Option<&'a str>,
    pub subjects: &'a [Subject],
    pub product: &'a Product,
    /// The date of the run; the current one if it isn't given.
    pub today: Option<NaiveDate>,
    pub hint: Hint,
}

/// Returns the verdict of an evaluation, and the remarks about a policy that passed.
pub(crate) fn judge(evaluated: &Evaluated, context: &VerdictContext<'_>) -> (Verdict, Vec<String>) {
    let name = &context.package.name;
    let none = |error: &Error, at| (no_verdict(name, error, at, context.hint), Vec::new());
    let result = evaluated.result.as_ref().map_err(Clone::clone);
    let verdict = match result.and_then(|output| verdict(output, context)) {
        Ok(verdict) if matches!(verdict.status, Status::Passed | Status::Skipped) => verdict,
        Ok(verdict) => return (verdict, Vec::new()),
        Err(error) => return none(&error, evaluated.failed_at.clone()),
    };
    let fails = |output: &QueryOutput| {
        self::verdict(output, context).is_ok_and(|verdict| verdict.status == Status::Failed)
    };
    match evaluated.inconclusive(&fails) {
        Some((error, at)) => none(&error, at),
        None if verdict.status == Status::Skipped => (verdict, Vec::new()),
        None => (verdict, inconclusive::remarks(name, evaluated, &fails, context.product)),
    }
}

/// Concludes the verdict of one policy from the values of its rules.
///
/// # Errors
/// If they aren't a verdict, or one that no report could show.
fn verdict(output: &QueryOutput, context: &VerdictContext<'_>) -> Result<Verdict, Error> {
    let raw = rule_values::read(context.package, &context.policy.rules, output)?;
    // Violations count even if the policy says it is skipped; only `ignore` disregards them.
    let (skipped, ignored) = (raw.skipped, raw.ignored);
    let own = PolicyExceptions { ignored, exceptions: &raw.exceptions };
    // Most verdicts have no violations.
    let waivers = LazyCell::new(|| {
        context.waivers.of_input(context.input, context.input_digest, context.subjects)
    });
    let violations: Vec<Violation> =
        raw.items.into_iter().map(|item| violation(item, &own, &waivers, context)).collect();
    let status = if ignored {
        Status::Ignored
    } else if violations.iter().any(Violation::fails) {
        Status::Failed
    } else if skipped {
        Status::Skipped
    } else {
        Status::Passed
    };
    Ok(Verdict {
        reason: raw.reason.filter(|_| skipped || ignored),
        violations,
        exceptions: raw.exceptions,
        ..Verdict::of(context.policy.name.clone(), status)
    })
}

/// The exceptions and suppressions of a policy.
struct PolicyExceptions<'a> {
    ignored: bool,
    exceptions: &'a [String],
}

fn violation<'a>(
    item: Item,
    own: &PolicyExceptions<'_>,
    waivers: &impl Deref<Target = InputWaivers<'a>>,
    context: &VerdictContext<'_>,
) -> Violation {
    // As the vendor's engine takes it: of its documents, and nothing but `true`.
    let suppressed = context.policy.document.is_some() && item.is_suppressed();
    let verdict_rule = context.package.rules.get(item.rule);
    let rule =
        verdict_rule.and_then(|own| context.policy.rules.iter().find(|r| r.name == own.name));
    let severity = item
        .severity
        .or_else(|| rule.and_then(|rule| rule.severity.clone()))
        .or_else(|| context.policy.severity.clone());
    let known = severity.as_deref().and_then(Severity::parse);
    let slight = !item.unrated
        && matches!((context.rules.fail_on, known), (Some(least), Some(own)) if own < least);
    let pending = pending(rule, context).filter(|_| item.class != Class::Warning);
    let class = if pending.is_some() { Class::Warning } else { item.class };
    let is_excepted = verdict_rule
        .is_some_and(|rule| own.exceptions.iter().any(|name| excepts(name, &rule.name)));
    let mut effect = match class {
        _ if own.ignored || suppressed => Effect::Disregarded,
        _ if is_excepted => Effect::Excepted,
        Class::Warning if !context.rules.fail_on_warn => Effect::Warns,
        _ if slight => Effect::BelowThreshold,
        _ => Effect::Fails,
    };
    let matching = waivers.matching(&Candidate {
        policy: &context.policy.name,
        message: &item.message,
        id: item.id.as_deref(),
        // A digest that isn't text matches nothing.
        digest: item.fields.get("digest").map(|own| own.as_str().unwrap_or_default()),
        purl: item.fields.get("package_purl").and_then(serde_json::Value::as_str),
        input_digest: context.input_digest,
        subjects: context.subjects,
    });
    if let Some((_, true)) = matching
        && effect == Effect::Fails
    {
        effect = Effect::Waived;
    }
    let position = verdict_rule.map(|rule| rule.origin_of(&item.message).clone());
    let message = match pending {
        Some(date) => format!("{} (becomes a failure on {date})", item.message),
        None => item.message,
    };
    Violation {
        message,
        class,
        effect,
        rule: verdict_rule.map(|rule| rule.name.clone()).unwrap_or_default(),
        position,
        severity,
        id: item.id,
        waiver: matching.map(|(index, _)| index),
        fields: item.fields,
    }
}

/// Returns the date from which violations of a rule fail, if it is in the future.
fn pending<'p>(rule: Option<&'p Rule>, context: &VerdictContext<'p>) -> Option<&'p str> {
    let own = rule.and_then(|rule| rule.effective_on.as_ref());
    let date = own.or(context.policy.effective_on.as_ref())?;
    let today = context.today.unwrap_or_else(|| chrono::Utc::now().date_naive());
    date.parse().is_ok_and(|date: NaiveDate| today < date).then_some(date)
}

/// Returns the verdict for a policy that failed to give one.
pub(crate) fn no_verdict(policy: &str, error: &Error, at: Option<Position>, hint: Hint) -> Verdict {
    Verdict {
        error: Some(failure(error, at, hint)),
        ..Verdict::of(policy.to_owned(), Status::NoVerdict)
    }
}

/// Returns the error for a value with a scalar that YAML 1.1 and 1.2 read differently, which a gate evaluates with one
/// reading.
#[doc(hidden)]
#[must_use]
pub fn ambiguous_scalar(input: &Value) -> Option<Error> {
    legacy(input).map(|legacy| two_readings(&legacy))
}

/// Returns the error of a verdict that depends on the version of YAML.
pub(crate) fn two_readings(legacy: &Legacy) -> Error {
    let part = |part: &Value| match part {
        Value::String(name) if is_name(name) => format!(".{name}"),
        other => format!("[{}]", other.to_json()),
    };
    let path: String = legacy.path.iter().map(part).collect();
    let message = format!(
        "ambiguous YAML scalar: `input{}` is `{}`, a boolean in YAML 1.1 and a string in 1.2",
        escape(&path),
        &*legacy.text,
    );
    Error::invalid_argument(message)
        .with_hint("write `true` or `false`, or quote the scalar")
        .by_setting(setting::YAML)
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(is_part) && text.starts_with(|c: char| !c.is_ascii_digit())
}

/// Returns a message on one line. A conflict lists its values on separate lines.
fn on_one_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim);
    let first = lines.next().unwrap_or_default().to_owned();
    match lines.collect::<Vec<_>>().join(", ") {
        rest if rest.is_empty() => first,
        rest => format!("{first} {rest}"),
    }
}

/// Converts an error for reports.
pub(crate) fn failure(error: &Error, at: Option<Position>, hint: Hint) -> Failure {
    match error.diagnostics() {
        [first, rest @ ..] => Failure {
            kind: first.code.to_owned(),
            message: match rest.len() {
                0 => on_one_line(&first.message),
                more => format!("{} (and {more} more)", on_one_line(&first.message)),
            },
            hint: hint(error),
            function: None,
            position: first.position.clone().or(at),
        },
        [] => Failure {
            kind: error.kind().code().to_owned(),
            message: error.report(),
            hint: hint(error),
            function: error.function().map(str::to_owned),
            position: at,
        },
    }
}

impl Failure {
    /// Creates a failure of a kind that isn't an error's kind.
    pub fn of(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), ..Self::default() }
    }

    /// Converts an error for reports; the host words the next step.
    pub fn new(error: &Error, hint: Hint) -> Self {
        failure(error, None, hint)
    }
}

/// Concludes the outcome of an input from its verdicts.
pub(crate) fn input(input: &mut Input, rules: &Rules, hint: Hint) {
    let (outcome, unchecked) = outcome(input, rules);
    input.outcome = outcome;
    if let Some(Unchecked { kind, message, setting }) = unchecked {
        let error = Error::policy_failed(message).by_setting(setting);
        input.error = Some(Failure { kind: kind.to_owned(), ..Failure::new(&error, hint) });
    }
}

/// Returns `true` if an input of a report has the outcome that [`input`] computes.
pub(crate) fn is_concluded(input: &Input, rules: &Rules) -> bool {
    let mut others = input.verdicts.iter().filter(|own| own.status != Status::Failed);
    input.outcome == outcome(input, rules).0
        && others.all(|verdict| verdict.failing().next().is_none())
}

/// The reason why an input has no verdict although each of its policies has one.
struct Unchecked {
    kind: &'static str,
    message: &'static str,
    setting: Setting,
}

/// Returns the outcome that follows from an input's verdicts.
fn outcome(input: &Input, rules: &Rules) -> (Outcome, Option<Unchecked>) {
    let has = |status| input.verdicts.iter().any(|verdict| verdict.status == status);
    if input.error.is_some() || has(Status::NoVerdict) {
        return (Outcome::NoVerdict, None);
    }
    if has(Status::Failed) {
        return (Outcome::Failed, None);
    }
    // An input that no policy judged must not pass.
    let unchecked = if input.verdicts.is_empty() {
        Unchecked {
            kind: "no-policy",
            message: "no policy for this input",
            setting: setting::MATERIALS,
        }
    } else if input.is_skipped() && !rules.allow_skipped {
        Unchecked {
            kind: "all-skipped",
            message: "input skipped by every policy",
            setting: setting::SKIPPED_INPUTS,
        }
    } else {
        return (Outcome::Passed, None);
    };
    (Outcome::NoVerdict, Some(unchecked))
}

/// Sums up a run whose inputs are complete; `totals.not_evaluated` is set already if the run was
/// stopped.
pub(crate) fn totals(run: &mut Run) {
    run.totals = Totals {
        not_evaluated: run.totals.not_evaluated,
        calls: run.totals.calls,
        attempts: run.totals.attempts,
        bytes: run.totals.bytes,
        ..count(&run.inputs)
    };
    let verdicts = run.inputs.iter().flat_map(|input| &input.verdicts);
    let found = verdicts.flat_map(|own| &own.violations);
    // A waiver for a violation that the policy ignores has no effect, so it stays unused.
    for found in found.filter(|found| found.effect != Effect::Disregarded) {
        if let Some(waiver) = found.waiver.and_then(|index| run.waivers.get_mut(index)) {
            waiver.matched += 1;
        }
    }
    run.causes = causes(&run.inputs);
}

/// Counts the verdicts and violations of inputs.
pub(crate) fn count(inputs: &[Input]) -> Totals {
    let mut totals = Totals { inputs: inputs.len() as u64, ..Totals::default() };
    for input in inputs {
        match input.outcome {
            Outcome::Passed => totals.passed += 1,
            Outcome::Failed => totals.failed += 1,
            Outcome::NoVerdict => totals.no_verdict += 1,
        }
        for verdict in &input.verdicts {
            totals.skipped +=
                u64::from(matches!(verdict.status, Status::Skipped | Status::Ignored));
            for violation in &verdict.violations {
                let sum = match violation.effect {
                    Effect::Fails => &mut totals.violations,
                    Effect::Warns => &mut totals.warnings,
                    Effect::Waived => &mut totals.waived,
                    Effect::BelowThreshold => &mut totals.below_threshold,
                    Effect::Excepted => &mut totals.excepted,
                    Effect::Disregarded => continue,
                };
                *sum += 1;
            }
        }
    }
    totals
}

/// Concludes the outcome, the exit status and the reasons of a run with totals and notes.
pub(crate) fn run(run: &mut Run, hint: Hint) {
    if run.failure.is_none() {
        run.failure = notes(run, hint);
    }
    run.reasons = reasons(run);
    let broken = run.failure.is_some() || is_empty(run);
    let outcome = if run.totals.no_verdict > 0 || broken {
        Outcome::NoVerdict
    } else if run.totals.failed > 0 {
        Outcome::Failed
    } else if run.totals.not_evaluated > 0 {
        // A run that has passed so far isn't stopped; if it is nevertheless, the rest is unknown.
        Outcome::NoVerdict
    } else {
        Outcome::Passed
    };
    run.conclude(outcome);
}

/// Returns `true` if no input was evaluated, except for a shard without files.
fn is_empty(run: &Run) -> bool {
    run.inputs.is_empty() && run.part.as_ref().is_none_or(|part| part.files == 0)
}

/// The kind of the failure of a run that has notes.
pub(crate) const NOTES: &str = "notes";

/// Returns the failure of a run that has notes, if none is allowed.
fn notes(run: &Run, hint: Hint) -> Option<Failure> {
    if !run.rules.fail_on_notes || run.notes.is_empty() {
        return None;
    }
    let notes = counted(run.notes.len() as u64, "note");
    let error =
        Error::policy_failed(format!("{notes} found, none allowed")).by_setting(setting::NOTES);
    Some(Failure { kind: NOTES.to_owned(), ..Failure::new(&error, hint) })
}

/// Returns the reasons why inputs have no verdict, in the order of the first input of each.
fn causes(inputs: &[Input]) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    let mut known = HashMap::new();
    for input in inputs {
        for (policy, error) in input.errors() {
            let index = *known.entry((policy, error)).or_insert(causes.len());
            match causes.get_mut(index) {
                Some(cause) => cause.inputs += 1,
                None => causes.push(Cause {
                    policy: policy.map(str::to_owned),
                    error: error.clone(),
                    inputs: 1,
                    first: input.name.clone(),
                }),
            }
        }
    }
    causes
}

fn reasons(run: &Run) -> Vec<String> {
    let totals = &run.totals;
    let mut reasons: Vec<String> = run.failure.iter().map(|f| f.message.clone()).collect();
    if is_empty(run) {
        reasons.push("no input evaluated".to_owned());
    }
    if totals.no_verdict > 0 {
        let has = if totals.no_verdict == 1 { "has" } else { "have" };
        reasons.push(format!("{} {has} no verdict", counted(totals.no_verdict, "input")));
    }
    if totals.failed > 0 {
        let inputs = counted(totals.failed, "input");
        reasons.push(format!("{inputs} failed, {}", counted(totals.violations, "violation")));
    }
    reasons.extend(run.circumstances());
    reasons
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use crate::report::formats::fixture;
    use crate::report::model::Exit;

    #[test]
    fn a_run_with_inputs_left_unevaluated_never_passes() {
        let mut sample = fixture::sample();
        sample.inputs.retain(|input| input.outcome == Outcome::Passed);
        sample.totals.not_evaluated = 0;
        let concluded = |sample: &mut Run| {
            totals(sample);
            run(sample, |_| None);
            (sample.outcome, sample.exit)
        };
        assert_eq!(concluded(&mut sample), (Outcome::Passed, Exit::Passed));
        sample.totals.not_evaluated = 1;
        assert_eq!(concluded(&mut sample), (Outcome::NoVerdict, Exit::NoVerdict));
        assert_eq!(sample.reasons[0], "stopped: 1 input not evaluated");
        sample.inputs.clear();
        sample.totals.not_evaluated = 0;
        assert_eq!(concluded(&mut sample).1, Exit::NoVerdict);
    }
}
