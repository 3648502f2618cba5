//! What came of a run of the gate: the model that every report is written from.
//!
//! Owns the shape of the JSON report and its version. It decides nothing: verdicts are made in
//! `verdict`, totals and the exit status in `run`. Nothing here is escaped: what policies, inputs
//! and the service said is as they said it, and whoever prints it escapes it.
//!
//! The form is stable, and `schema.json` beside this file describes it: within a version, fields are added and never renamed, removed or given
//! another meaning. Readers ignore fields that they don't know.

mod input;
mod inventory;
mod policy;
mod verdict;

use serde::{Deserialize, Serialize};

pub use input::{Call, Graph, Input, Ledger, Node, Subject};
pub use inventory::{
    Argument, CallSite, Inventory, LeftOut, OptionEffect, OptionUse, PackageUse, Service, TokenUse,
};
pub use policy::{Policy, Rule, Severity, Source};
pub use verdict::{Class, Effect, Failure, Status, Verdict, Violation};

/// The version of the form.
pub const VERSION: u32 = 2;

/// A run of the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// The version of this form: 2.
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
    /// Why nothing was evaluated, where something went wrong before or instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What the run was given, and what became of it.
    #[serde(default)]
    pub inventory: Inventory,
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// The service.
    Service,
    /// An emulator with canned data (`--local`): the outcome proves nothing.
    Emulator,
    /// A recording (`--replay`): the outcome proves nothing new.
    Replay,
    /// Nobody: the run ended before anything was asked.
    Nobody,
}

/// What was concluded about a run, an input or a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rules {
    /// Warnings fail.
    pub fail_on_warn: bool,
    /// Only what is at least this severe fails; what has no known severity does too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<Severity>,
    /// An input that every policy skipped passes.
    pub allow_skipped: bool,
}

/// A waiver and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Waiver {
    /// The policy that it is for; nothing for every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The finding that it is for; nothing for every one of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// The digest or glob of what it is for.
    pub subject: String,
    /// What that is held against.
    #[serde(default)]
    pub by: WaivedBy,
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

/// What a waiver goes by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaivedBy {
    /// The digest of the input's bytes, computed here.
    #[default]
    Digest,
    /// The name under which the input was given.
    Input,
    /// The names of what the attestation is about, in its own words.
    Name,
    /// The digest that the violation names, in the policy's words.
    Violation,
}

/// Sums over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Totals {
    /// Inputs.
    pub inputs: u64,
    /// Inputs that passed.
    pub passed: u64,
    /// Inputs that failed.
    pub failed: u64,
    /// Inputs without a verdict.
    pub no_verdict: u64,
    /// Inputs that a stopped run didn't get to; they are not in `inputs`. Of a file or
    /// stream that wasn't read to its end the number isn't known: it counts as one.
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

impl Run {
    /// A run that came to nothing.
    pub fn without_verdict(tool: Tool, failure: Failure) -> Self {
        Self {
            schema_version: VERSION,
            tool,
            started: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            duration_ms: 0,
            answers: AnsweredBy::Nobody,
            ai: false,
            outcome: Outcome::NoVerdict,
            exit: 2,
            reasons: vec![failure.message.clone()],
            failure: Some(failure),
            inventory: Inventory::default(),
            rules: Rules::default(),
            policies: Vec::new(),
            sources: Vec::new(),
            inputs: Vec::new(),
            waivers: Vec::new(),
            totals: Totals::default(),
            notes: Vec::new(),
        }
    }

    /// The policy of a verdict.
    pub fn policy(&self, name: &str) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.name == name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use schemars::generate::SchemaSettings;

    /// The schema in the repository is the model's; with `UPDATE_SCHEMA=1` it is written.
    #[test]
    fn the_schema_is_up_to_date() {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let schema = generator.into_root_schema_for::<super::Run>();
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gate/model/schema.json");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let there = read(&std::fs::read_to_string(path).unwrap()) == read(&text);
        assert!(there, "the model has changed: UPDATE_SCHEMA=1 writes schema.json anew");
    }
}
