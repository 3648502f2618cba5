//! The difference between the verdicts of two runs over the same inputs.
//!
//! Owns what a change is. Its wording belongs to `formats::difference`, and to the command.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::model::{Failure, Input, Outcome, Run, Source, Status, Tool, Verdict, Violation};

/// The version of the format.
const VERSION: u32 = 1;

/// The difference between the verdicts of two runs over the same inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Difference {
    /// The version of this format: 1.
    pub schema_version: u32,
    /// The tool that compared them.
    pub tool: Tool,
    /// The first run.
    pub before: Side,
    /// The second run.
    pub after: Side,
    /// The number of inputs with a verdict in both runs.
    pub compared: u64,
    /// The inputs with a verdict that changes, in the order of the first run.
    pub changed: Vec<ChangedInput>,
    /// The inputs without a verdict in one of the runs, whose changes are unknown.
    pub unknown: Vec<UnknownInput>,
}

/// One of the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Side {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason why the run as a whole has no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The files of policies and data.
    pub sources: Vec<Source>,
}

/// An input with a verdict that changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChangedInput {
    /// The name.
    pub name: String,
    /// The digest, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The outcome before.
    pub before: Outcome,
    /// The outcome after.
    pub after: Outcome,
    /// The policies that change it, those of the first run first.
    pub policies: Vec<ChangedPolicy>,
}

/// A policy whose verdict on an input changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChangedPolicy {
    /// The name.
    pub policy: String,
    /// The conclusion before; absent if there was no such policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Status>,
    /// The conclusion after; absent if there is no such policy any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Status>,
    /// The new violations, and those with a different effect.
    pub found: Vec<Violation>,
    /// The removed violations, and those with a different effect.
    pub gone: Vec<Violation>,
}

/// An input without a verdict in one of the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnknownInput {
    /// The name.
    pub name: String,
    /// The outcome before; absent if it wasn't an input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Outcome>,
    /// The outcome after; absent if it wasn't an input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Outcome>,
    /// The first reason for the missing verdict, of the second run if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

impl Difference {
    /// Compares two runs over the same inputs: the same documents in the same order, with unique names.
    /// Times, calls, notes, and the positions of rules aren't compared.
    pub fn of(before: &Run, after: &Run, tool: Tool) -> Self {
        let side = |run: &Run| Side {
            outcome: run.outcome,
            failure: run.failure.clone(),
            sources: run.sources.clone(),
        };
        let mut difference = Self {
            schema_version: VERSION,
            tool,
            before: side(before),
            after: side(after),
            compared: 0,
            changed: Vec::new(),
            unknown: Vec::new(),
        };
        let count = before.inputs.len().max(after.inputs.len());
        for place in 0..count {
            let (one, other) = (before.inputs.get(place), after.inputs.get(place));
            match (one, other) {
                (Some(one), Some(other))
                    if is_known(one) && is_known(other) && is_one(one, other) =>
                {
                    difference.compared += 1;
                    difference.changed.extend(changed(one, other));
                }
                _ => difference.unknown.extend(unknown(one, other)),
            }
        }
        difference
    }

    /// Returns `true` if the changes of every input are known.
    pub fn is_complete(&self) -> bool {
        let failures = [&self.before.failure, &self.after.failure];
        self.unknown.is_empty() && self.compared > 0 && failures.iter().all(|one| one.is_none())
    }

    /// Returns the number of inputs that changed to an outcome.
    pub fn now(&self, outcome: Outcome) -> u64 {
        let changed = self.changed.iter();
        changed.filter(|input| input.before != outcome && input.after == outcome).count() as u64
    }
}

fn is_known(input: &Input) -> bool {
    input.outcome != Outcome::NoVerdict
}

/// Returns `true` if both runs had the same document, such as an image of the same digest.
fn is_one(before: &Input, after: &Input) -> bool {
    (&before.name, &before.digest) == (&after.name, &after.digest)
}

fn unknown(before: Option<&Input>, after: Option<&Input>) -> Option<UnknownInput> {
    let error = |input: &Input| input.errors().next().map(|(_, error)| error.clone());
    let other = || Failure {
        kind: "other-document".to_owned(),
        message: "different documents before and after".to_owned(),
        ..Failure::default()
    };
    let is_other = before.zip(after).is_some_and(|(one, other)| !is_one(one, other));
    Some(UnknownInput {
        name: after.or(before)?.name.clone(),
        before: before.map(|input| input.outcome),
        after: after.map(|input| input.outcome),
        error: after
            .and_then(error)
            .or_else(|| before.and_then(error))
            .or_else(|| is_other.then(other)),
    })
}

/// Returns the change of an input, if any.
fn changed(before: &Input, after: &Input) -> Option<ChangedInput> {
    let known = before.verdicts.iter().map(|verdict| verdict.policy.as_str());
    let new = after.verdicts.iter().map(|verdict| verdict.policy.as_str());
    let new = new.filter(|policy| verdict_of(before, policy).is_none());
    let changes =
        |policy| policy_changed(policy, verdict_of(before, policy), verdict_of(after, policy));
    let policies: Vec<_> = known.chain(new).filter_map(changes).collect();
    let is_changed = before.outcome != after.outcome || !policies.is_empty();
    is_changed.then(|| ChangedInput {
        name: after.name.clone(),
        digest: after.digest.clone(),
        before: before.outcome,
        after: after.outcome,
        policies,
    })
}

fn verdict_of<'a>(input: &'a Input, policy: &str) -> Option<&'a Verdict> {
    input.verdicts.iter().find(|verdict| verdict.policy == policy)
}

/// Returns the change of a policy's verdict. A policy that isn't there passes, and finds nothing.
fn policy_changed(
    policy: &str,
    before: Option<&Verdict>,
    after: Option<&Verdict>,
) -> Option<ChangedPolicy> {
    let all = |verdict: Option<&'_ Verdict>| -> Vec<_> {
        verdict.into_iter().flat_map(|verdict| &verdict.violations).cloned().collect()
    };
    let (gone, found) = without_common(all(before), all(after));
    let (was, is) = (before.map(|verdict| verdict.status), after.map(|verdict| verdict.status));
    let passed = Some(Status::Passed);
    let is_changed = was.or(passed) != is.or(passed) || !gone.is_empty() || !found.is_empty();
    let policy = policy.to_owned();
    is_changed.then_some(ChangedPolicy { policy, before: was, after: is, found, gone })
}

/// Removes the violations in both lists, ignoring the rule's position and the waiver.
fn without_common(
    mut one: Vec<Violation>,
    mut other: Vec<Violation>,
) -> (Vec<Violation>, Vec<Violation>) {
    let key = |violation: &Violation| {
        let seen = Violation { position: None, waiver: None, ..violation.clone() };
        serde_json::to_string(&seen).unwrap_or_default()
    };
    let mut known: HashMap<String, usize> = HashMap::new();
    for violation in &one {
        *known.entry(key(violation)).or_default() += 1;
    }
    let mut common: HashMap<String, usize> = HashMap::new();
    other.retain(|violation| {
        let key = key(violation);
        let Some(left) = known.get_mut(&key).filter(|left| **left > 0) else { return true };
        *left -= 1;
        *common.entry(key).or_default() += 1;
        false
    });
    one.retain(|violation| match common.get_mut(&key(violation)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
    (one, other)
}
