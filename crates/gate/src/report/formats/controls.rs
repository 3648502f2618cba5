//! The status of controls in a run, from its policies and from evaluations of the service.
//!
//! Owns when a control is met: something says so, nothing says otherwise, and nothing was accepted in its
//! place. A missing verdict says otherwise, a skipped one says nothing.

use std::collections::BTreeMap;

use super::facts;
use crate::report::model::{
    AnsweredBy, Effect, Input, Outcome, Policy, Relaxation, Requirement, Rule, Run, Status,
    Verdict, Violation,
};
use rego_platform_client::text::counted;

/// The maximum number of violations in an observation.
const LISTED: usize = 20;

/// The status of a requirement that is met.
const PASS: &str = "pass";

/// The status of a requirement that isn't met.
const FAIL: &str = "fail";

/// The status of a control in an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ControlStatus {
    Met,
    Violated,
    /// Unknown, or passed with an accepted violation.
    Open,
    Nothing,
}

/// The origin of an observation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    /// A policy, or one of its rules, and the index of an input.
    Verdict(&'a Policy, Option<&'a Rule>, usize),
    Service(&'a Requirement),
}

#[derive(Debug)]
pub(super) struct Observation<'a> {
    pub origin: Origin<'a>,
    pub says: ControlStatus,
    /// The finding, in words.
    pub what: String,
    /// The violations, a line each.
    pub violations: Vec<String>,
}

/// A control, with the indexes of its observations.
#[derive(Debug)]
pub(super) struct Control {
    /// A name for people, if it has one.
    pub title: Option<String>,
    pub observations: Vec<usize>,
}

/// The controls of a run with their observations.
#[derive(Debug, Default)]
pub(super) struct Controls<'a> {
    pub observations: Vec<Observation<'a>>,
    pub by_name: BTreeMap<&'a str, Control>,
    /// The reasons why no control counts as met.
    pub doubts: Vec<String>,
}

impl Controls<'_> {
    /// Returns the combined status of a control's observations.
    pub fn says(&self, control: &Control) -> ControlStatus {
        let all = control.observations.iter().filter_map(|at| self.observations.get(*at));
        let has = |says| all.clone().any(|own| own.says == says);
        if has(ControlStatus::Violated) {
            ControlStatus::Violated
        } else if has(ControlStatus::Open) || !self.doubts.is_empty() {
            ControlStatus::Open
        } else if has(ControlStatus::Met) {
            ControlStatus::Met
        } else {
            ControlStatus::Nothing
        }
    }
}

/// Returns the controls of a run.
pub(super) fn controls(run: &Run) -> Controls<'_> {
    let mut all = Controls { doubts: doubts(run), ..Controls::default() };
    for policy in &run.policies {
        let of_rules = policy.rules.iter().map(|rule| (Some(rule), &rule.controls));
        for (rule, names) in std::iter::once((None, &policy.controls)).chain(of_rules) {
            // A control that no input is for is named all the same.
            for name in names {
                all.control(name);
            }
            let inputs = run.inputs.iter().enumerate().filter(|_| !names.is_empty());
            for (place, input) in inputs {
                let Some((says, what, violations)) = said(run, policy, rule, input) else {
                    continue;
                };
                let origin = Origin::Verdict(policy, rule, place);
                let of = names.iter().map(String::as_str);
                all.observe(Observation { origin, says, what, violations }, of);
            }
        }
    }
    // The other rows of a requirement may say otherwise.
    let is_cut = run.requirements_cut;
    for row in &run.requirements {
        let says = match row.status.as_str() {
            PASS if !is_cut => ControlStatus::Met,
            FAIL => ControlStatus::Violated,
            _ => ControlStatus::Open,
        };
        let mut what = format!("the service's status is {}", quoted(&row.status));
        what.extend(is_cut.then_some(", in a list that was cut at a policy's own limit"));
        let of = Observation { origin: Origin::Service(row), says, what, violations: Vec::new() };
        let name = name(row);
        all.observe(of, [name]);
        if !row.display_name.is_empty() {
            all.control(name).title.get_or_insert_with(|| row.display_name.clone());
        }
    }
    all
}

impl<'a> Controls<'a> {
    fn control(&mut self, name: &'a str) -> &mut Control {
        self.by_name.entry(name).or_insert(Control { title: None, observations: Vec::new() })
    }

    fn observe(&mut self, one: Observation<'a>, of: impl IntoIterator<Item = &'a str>) {
        let place = self.observations.len();
        self.observations.push(one);
        for name in of {
            self.control(name).observations.push(place);
        }
    }
}

/// Returns the best available name of a requirement.
pub(super) fn name(row: &Requirement) -> &str {
    if row.name.is_empty() { &row.requirement_id } else { &row.name }
}

/// Returns the reasons why no control counts as met.
fn doubts(run: &Run) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some(failure) = &run.failure {
        doubts.push(format!("the run has no verdict: {}", failure.message));
    } else if run.outcome == Outcome::NoVerdict {
        doubts.push("the run has no verdict".to_owned());
    }
    if let Some(part) = &run.part {
        doubts.push(format!("the run is shard {} of {}", part.number, part.of));
    }
    if run.totals.not_evaluated > 0 {
        doubts.push(format!("{} not evaluated", counted(run.totals.not_evaluated, "input")));
    }
    let left_out = run.inventory.options.iter().filter(|option| option.name == Relaxation::Skip);
    let left_out: Vec<String> =
        left_out.filter_map(|option| option.value.as_deref()).map(quoted).collect();
    if !left_out.is_empty() {
        doubts.push(format!("policies left out by name: {}", left_out.join(", ")));
    }
    let answered = (run.totals.calls > 0).then_some(run.answers);
    match answered {
        Some(AnsweredBy::Emulator) => doubts.push("responses from an emulator".to_owned()),
        Some(AnsweredBy::Replay) => doubts.push("responses from a recording".to_owned()),
        _ => {}
    }
    if run.requirements_unlisted > 0 {
        doubts.push(format!(
            "{} of the service not listed",
            counted(run.requirements_unlisted, "row")
        ));
    }
    doubts
}

/// Returns the status that a policy, or one of its rules, gives an input, in words, with the violations.
/// `None` if the policy isn't for this input.
fn said(
    run: &Run,
    policy: &Policy,
    rule: Option<&Rule>,
    input: &Input,
) -> Option<(ControlStatus, String, Vec<String>)> {
    let Some(verdict) = input.verdicts.iter().find(|own| own.policy == policy.name) else {
        let error = input.error.as_ref()?;
        return Some((ControlStatus::Open, format!("no verdict: {}", error.message), Vec::new()));
    };
    // What both report is listed as a finding only.
    let is_either = |name: &str| matches!(name, "violations" | "findings");
    let of_rule = |found: &&Violation| {
        rule.is_none_or(|own| {
            own.name == found.rule || is_either(&own.name) && is_either(&found.rule)
        })
    };
    let found: Vec<&Violation> = verdict.violations.iter().filter(of_rule).collect();
    let number = |is: fn(Effect) -> bool| found.iter().filter(|own| is(own.effect)).count() as u64;
    let failing = number(|effect| effect == Effect::Fails);
    let accepted = number(|effect| matches!(effect, Effect::Waived | Effect::BelowThreshold));
    let more = found.len().saturating_sub(LISTED) as u64;
    let listed = found.iter().take(LISTED).map(|own| facts::violation(run, own));
    let more = (more > 0).then(|| format!("{} more", counted(more, "violation")));
    let violations = listed.chain(more).collect();
    let (says, what) = match verdict.status {
        Status::NoVerdict => (ControlStatus::Open, format!("no verdict: {}", reason(verdict))),
        _ if failing > 0 => {
            (ControlStatus::Violated, format!("failed: {}", counted(failing, "violation")))
        }
        Status::Skipped => (ControlStatus::Nothing, format!("skipped: {}", reason(verdict))),
        Status::Ignored => (ControlStatus::Nothing, format!("ignored: {}", reason(verdict))),
        Status::Passed | Status::Failed if accepted > 0 => (
            ControlStatus::Open,
            format!("passed, with {} accepted", counted(accepted, "violation")),
        ),
        Status::Passed => (ControlStatus::Met, "passed".to_owned()),
        Status::Failed => (ControlStatus::Met, "passed by this rule".to_owned()),
    };
    Some((says, what, violations))
}

fn reason(verdict: &Verdict) -> &str {
    let error = verdict.error.as_ref().map(|error| error.message.as_str());
    error.or(verdict.reason.as_deref()).unwrap_or("no reason given")
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "missing".to_owned() } else { format!("`{text}`") }
}
