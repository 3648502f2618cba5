//! The verdict of one policy over one input in a report.

use rego_platform::Position;
use serde::{Deserialize, Serialize};

/// The verdict of one policy over one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Verdict {
    /// The `name` of the policy.
    pub policy: String,
    /// The conclusion.
    pub status: Status,
    /// The reason why it was skipped or ignored, in the policy's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// All violations of the policy, whether they count or not: violations and findings first, warnings last.
    #[serde(default)]
    pub violations: Vec<Violation>,
    /// The names of the rules in the policy's `exception`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<String>,
    /// The reason why there is no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The time that the policy took for the input, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

impl Verdict {
    /// Creates a verdict without violations.
    pub(crate) fn of(policy: String, status: Status) -> Self {
        Self {
            policy,
            status,
            reason: None,
            violations: Vec::new(),
            exceptions: Vec::new(),
            error: None,
            duration_ms: 0,
        }
    }
}

/// The conclusion about one policy and one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No violation `fails`.
    Passed,
    /// At least one violation `fails`.
    Failed,
    /// The policy doesn't apply to this input, by its own account.
    Skipped,
    /// The policy declares its verdict as ignored (`ignore`).
    Ignored,
    /// The evaluation failed, or its result isn't a verdict.
    NoVerdict,
}

/// A violation, finding or warning of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Violation {
    /// The problem, in the policy's words.
    pub message: String,
    /// The class: a violation, a finding or a warning.
    pub class: Class,
    /// The effect on the verdict.
    pub effect: Effect,
    /// The rule that reported it.
    pub rule: String,
    /// The definition of the rule that reported it. If several may have, the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// The severity: its own field `severity`, or else the rule's or the policy's annotation, as written
    /// there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// The identifier by which it can be waived: its own field `id`, `vulnerability.id` or the
    /// like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The index in the run's `waivers` of the matching waiver or VEX statement, even if it has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<usize>,
    /// The other fields that the policy set.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

/// The class of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Class {
    /// From `deny`, `deny_*` or `violations`.
    Violation,
    /// From `findings`, structured.
    Finding,
    /// From `warn` or `warn_*`, or from a rule before its effective date.
    Warning,
}

/// The effect of a violation on the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// It makes the input fail.
    Fails,
    /// It is a warning, and warnings don't fail.
    Warns,
    /// A waiver or VEX statement suppresses it: see `waiver`.
    Waived,
    /// The policy's rule `exception` names its rule: see `exceptions` of the verdict.
    Excepted,
    /// It is less severe than the threshold for failing.
    BelowThreshold,
    /// The policy ignores its verdict (`ignore`), or a policy document this violation (`suppress`).
    Disregarded,
}

/// The reason why there is no verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Failure {
    /// A stable code, such as `timed-out`, `policy` or `wrong-shape`.
    pub kind: String,
    /// A description of the problem.
    pub message: String,
    /// A suggested action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The full name of the function whose call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The position in the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

/// A reason for missing verdicts, with the affected inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Cause {
    /// The `name` of the policy; absent if the inputs as a whole have no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The reason.
    pub error: Failure,
    /// The number of inputs.
    pub inputs: u64,
    /// The `name` of the first of them.
    pub first: String,
}

impl Violation {
    /// Returns `true` if it makes the input fail.
    pub fn fails(&self) -> bool {
        self.effect == Effect::Fails
    }
}

impl Verdict {
    /// Returns the violations that make the input fail.
    pub fn failing(&self) -> impl Iterator<Item = &Violation> {
        self.violations.iter().filter(|violation| violation.fails())
    }
}
