//! What a report says of one policy's verdict over one input.

use serde::{Deserialize, Serialize};

use crate::Position;

/// What one policy said about one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The package: the `name` of a policy.
    pub policy: String,
    /// What was concluded.
    pub status: Status,
    /// Why it was skipped, or ignored, in the policy's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Everything that the policy found, what doesn't count included: violations and findings
    /// first, warnings last.
    #[serde(default)]
    pub violations: Vec<Violation>,
    /// Why there is no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// What was concluded about one policy and one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing that counts was found.
    Passed,
    /// At least one violation `fails`.
    Failed,
    /// The policy says that it isn't about this input.
    Skipped,
    /// The policy says that its verdict is to be ignored.
    Ignored,
    /// The evaluation failed, or its result has no meaning.
    NoVerdict,
}

/// Something that a policy found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Violation {
    /// What is wrong, in the policy's words.
    pub message: String,
    /// What it is.
    pub class: Class,
    /// What it does to the verdict.
    pub effect: Effect,
    /// The rule that said it.
    pub rule: String,
    /// The rule's definition that said it: the only one that can have, as far as that is known,
    /// or else the first of those that can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// How severe it is: its own field `severity`, or else the rule's or the policy's annotation,
    /// as it is written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// What it can be waived by: its own field `id`, `vulnerability.id` or the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The waiver that matches it, an expired one too: the index in the run's `waivers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<usize>,
    /// The other fields that the policy gave it.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

/// What sort of thing a policy found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// From `deny`, `deny_*` or `violations`.
    Violation,
    /// From `findings`, structured.
    Finding,
    /// From `warn` or `warn_*`.
    Warning,
}

/// What something that a policy found does to the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The input fails.
    Fails,
    /// A warning, and warnings don't fail.
    Warns,
    /// A waiver covers it: see `waiver`.
    Waived,
    /// Less severe than what fails.
    BelowThreshold,
    /// The policy was skipped, or is to be ignored.
    Disregarded,
}

/// Why there is no verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failure {
    /// A stable name in one word: `timed-out`, `policy`, `wrong-shape`.
    pub kind: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The full name of the function whose call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Where in the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

impl Violation {
    /// Whether it makes the input fail.
    pub fn fails(&self) -> bool {
        self.effect == Effect::Fails
    }
}

impl Verdict {
    /// What makes the input fail.
    pub fn failing(&self) -> impl Iterator<Item = &Violation> {
        self.violations.iter().filter(|violation| violation.fails())
    }
}
