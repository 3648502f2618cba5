//! What came of a run of the gate: the model that every report is written from.
//!
//! Owns the shape of the JSON report and its version. It decides nothing: verdicts are made in
//! `verdict`, totals and the exit status in `run`. Nothing here is escaped: what policies, inputs
//! and the service said is as they said it, and whoever prints it escapes it.
//!
//! The form is stable: within a version, fields are added and never renamed, removed or given
//! another meaning. Readers ignore fields that they don't know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Position;

/// The version of the form.
pub const VERSION: u32 = 1;

/// A run of the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`VERSION`].
    pub schema_version: u32,
    /// What wrote it.
    pub tool: Tool,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Who answered the policies' calls.
    pub answers: AnsweredBy,
    /// Whether an AI model's opinion took part in any verdict.
    pub ai: bool,
    /// What was concluded.
    pub outcome: Outcome,
    /// The exit status that goes with it: 0 passed, 1 failed, 2 no verdict.
    pub exit: u8,
    /// Why it didn't pass, a line each, most important first; empty when it passed.
    pub reasons: Vec<String>,
    /// What lets an input fail besides violations.
    pub rules: Rules,
    /// The policies that gave verdicts, by package.
    pub policies: Vec<Policy>,
    /// Every file of policies and data that was loaded.
    pub sources: Vec<Source>,
    /// The inputs, in the order in which they were given.
    pub inputs: Vec<Input>,
    /// The waivers, in the order of their file.
    pub waivers: Vec<Waiver>,
    /// Sums.
    pub totals: Totals,
    /// What is worth saying about the run as a whole and doesn't change the outcome.
    pub notes: Vec<String>,
}

/// What wrote a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `rego-platform`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit that it was built from, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Who answered the policies' calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// The service.
    Service,
    /// An emulator with canned data (`--local`): the outcome proves nothing.
    Emulator,
    /// A recording (`--replay`): the outcome proves nothing new.
    Replay,
}

/// What was concluded about a run, an input or a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing is wrong.
    Passed,
    /// Something is wrong.
    Failed,
    /// Nobody knows: something went wrong on the way to a verdict.
    NoVerdict,
}

/// What lets an input fail besides violations, as the options say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Warnings fail.
    pub fail_on_warn: bool,
    /// Only what is at least this severe fails; what has no known severity does too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<Severity>,
    /// An input that every policy skipped passes.
    pub allow_skipped: bool,
}

/// How severe something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
    /// Critical.
    Critical,
}

/// A package that gives verdicts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The package, dotted: `release.licences`.
    pub name: String,
    /// From its `METADATA` annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// From its `METADATA` annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// From its `METADATA` annotation (`custom.severity`), as it is written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// https links from its `METADATA` annotation (`related_resources`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// The name of the policy document that it came in, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The kind of material that it is for; nothing for every kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its files.
    pub files: Vec<String>,
    /// `sha256:` over its files' names and texts.
    pub digest: String,
    /// The rules that make the verdict.
    pub rules: Vec<Rule>,
}

/// A rule that takes part in a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Its name: `deny`.
    pub name: String,
    /// From its `METADATA` annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// From its `METADATA` annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// From its `METADATA` annotation, as it is written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Where it is first defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

/// A file of policies or data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path, as it was given.
    pub path: String,
    /// `sha256:` of its bytes.
    pub digest: String,
}

/// One input and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its file, `<stdin>`, or `(no input)`; with `#N` where the file holds several documents.
    pub name: String,
    /// `sha256:` of its bytes as they were read; of the files' digests with `--combine`; nothing
    /// where there is no input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What it is about, if it is an attestation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<Subject>,
    /// What it states, if it is an attestation: the predicate's type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate_type: Option<String>,
    /// What was concluded.
    pub outcome: Outcome,
    /// Why it couldn't be read, or why it has no verdict although each policy has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What each policy said, in the order of [`Run::policies`]; fewer where the input couldn't be
    /// read or the run was stopped.
    pub verdicts: Vec<Verdict>,
    /// What was asked of the service.
    pub ledger: Ledger,
    /// What `discover` saw.
    #[serde(default, skip_serializing_if = "Graph::is_empty")]
    pub graph: Graph,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Something that an attestation is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its digests, by algorithm.
    #[serde(default)]
    pub digest: BTreeMap<String, String>,
}

/// What one policy said about one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The package, as in [`Policy::name`].
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
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing that counts was found.
    Passed,
    /// At least one violation [fails](Effect::Fails).
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
pub struct Violation {
    /// What is wrong, in the policy's words.
    pub message: String,
    /// What it is.
    pub class: Class,
    /// What it does to the verdict.
    pub effect: Effect,
    /// The rule that said it.
    pub rule: String,
    /// Where that rule is first defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// How severe it is: its own field `severity`, or else the rule's or the policy's annotation,
    /// as it is written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// What it can be waived by: its own field `id`, `vulnerability.id` or the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The waiver that matches it, an expired one too: the index in [`Run::waivers`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<usize>,
    /// The other fields that the policy gave it.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

/// What sort of thing a policy found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The input fails.
    Fails,
    /// A warning, and warnings don't fail.
    Warns,
    /// A waiver covers it: see [`Violation::waiver`].
    Waived,
    /// Less severe than what fails.
    BelowThreshold,
    /// The policy was skipped, or is to be ignored.
    Disregarded,
}

/// Why there is no verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// What was asked of the service for one input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The most passes that one policy took.
    pub passes: u32,
    /// The calls, policy by policy in the order in which they were noted.
    pub calls: Vec<Call>,
    /// How many more there were: a run keeps a bounded number of them. Sums count all.
    pub left_out: u64,
}

/// A call to the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The policy that asked.
    pub policy: String,
    /// The function's full name.
    pub function: String,
    /// The arguments as JSON, shortened.
    pub arguments: String,
    /// The pass that noted it, from 1.
    pub pass: u32,
    /// Whether the verdict depends on it.
    pub needed: bool,
    /// Where the answer came from: `network`, `shared`, `cache` or `replay`.
    pub origin: String,
    /// How it ended: `ok`, or the kind of its failure.
    pub outcome: String,
    /// Whether the policy's own `limit` cut the list.
    pub cut: bool,
    /// Requests sent, with pages and repetitions.
    pub attempts: u32,
    /// Bytes of the answers.
    pub bytes: u64,
    /// From sending to the complete answer, in microseconds.
    pub latency_us: u64,
}

/// What `discover` saw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// The nodes, by digest.
    pub nodes: Vec<Node>,
    /// The references: indices of [`nodes`](Self::nodes), from what was asked about to what it
    /// named.
    pub edges: Vec<(usize, usize)>,
    /// How many more nodes there were: a run keeps a bounded number of them.
    pub left_out: u64,
}

/// Something with a digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its digest.
    pub digest: String,
    /// What it is: `CONTAINER_IMAGE`.
    pub kind: String,
    /// Its name, where the service says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the service says that it violates policies, or a failing violation names its
    /// digest.
    pub bad: bool,
}

/// A waiver and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// The policy that it is for; nothing for every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The finding that it is for; nothing for every one of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// The digest or glob of what it is for.
    pub subject: String,
    /// Why.
    pub reason: String,
    /// Who answers for it.
    pub owner: String,
    /// The last day on which it counts, `2026-12-31`.
    pub expires: String,
    /// Whether that day has passed: what it matches fails all the same.
    pub expired: bool,
    /// How many violations it matches.
    pub matched: u64,
}

/// Sums over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Inputs.
    pub inputs: u64,
    /// Inputs that passed.
    pub passed: u64,
    /// Inputs that failed.
    pub failed: u64,
    /// Inputs without a verdict.
    pub no_verdict: u64,
    /// Inputs that a stopped run didn't get to; they are not in [`Run::inputs`].
    pub not_evaluated: u64,
    /// Verdicts of policies that were skipped or ignored.
    pub skipped: u64,
    /// What fails: violations, findings, and warnings where they fail.
    pub violations: u64,
    /// Warnings that don't fail.
    pub warnings: u64,
    /// What is waived.
    pub waived: u64,
    /// What is below the severity that fails.
    pub below_threshold: u64,
    /// Calls to the service.
    pub calls: u64,
    /// Requests sent.
    pub attempts: u64,
    /// Bytes of the answers.
    pub bytes: u64,
}

impl Severity {
    /// The names, least severe first.
    pub const NAMES: &[(&str, Self)] = &[
        ("info", Self::Info),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("critical", Self::Critical),
    ];

    /// The severity of this name, in any case; what else there is in the world is unknown.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let text = match text.as_str() {
            "informational" | "note" => "info",
            "moderate" => "medium",
            other => other,
        };
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, severity)| *severity)
    }
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

impl Graph {
    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.left_out == 0
    }
}

impl Run {
    /// The policy of a verdict.
    pub fn policy(&self, name: &str) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.name == name)
    }
}
