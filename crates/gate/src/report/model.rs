//! The result of a gate's run: the model from which every report is written.
//!
//! Owns the schema of the JSON report and its version. It decides nothing: verdicts are made in
//! the room `verdict`. No text is escaped here: the words of policies, inputs and the service
//! are kept as they are, and each report escapes them.
//!
//! The format is stable, and described by `schema.json` beside this file: within a version, fields
//! may be added but are never renamed, removed or given another meaning. Readers ignore fields that
//! they don't know.

mod exit;
mod input;
mod inventory;
mod part;
mod policy;
mod requirement;
mod verdict;

use std::collections::BTreeSet;

use rego_platform::ErrorKind;
use rego_platform_client::text::counted;
use serde::{Deserialize, Serialize};

pub use exit::Exit;
pub use input::{
    Call, CertifiedSigner, Evidence, Input, Ledger, Signer, SigningIdentity, SigningKey, Subject,
};
pub use inventory::{
    Argument, CallSite, Inventory, LeftOut, OptionEffect, OptionUse, PackageUse, Relaxation,
    Service, SignedBy, TokenUse,
};
pub use part::{Part, Tally, Unread};
pub use policy::{Policy, Rule, Severity, Source};
pub use requirement::Requirement;
pub use verdict::{Cause, Class, Effect, Failure, Status, Verdict, Violation};

/// The version of the format.
pub const VERSION: u32 = 2;

/// A run of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Run {
    /// The version of this format: 2.
    pub schema_version: u32,
    /// The tool that wrote the report.
    pub tool: Tool,
    /// The time at which it began, RFC 3339 in UTC.
    pub started: String,
    /// The time it took, in milliseconds.
    pub duration_ms: u64,
    /// The source of the responses to the policies' calls.
    pub answers: AnsweredBy,
    /// `true` if an AI model's response contributed to any verdict.
    pub ai: bool,
    /// The verdict over all inputs.
    pub outcome: Outcome,
    /// The exit status: 0 passed, 1 failed, 2 no verdict.
    #[cfg_attr(test, schemars(with = "u8"))]
    pub exit: Exit,
    /// The reasons why it didn't pass, a line each, most important first; empty if it passed.
    pub reasons: Vec<String>,
    /// The error that kept the run from evaluating anything, or ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The reasons why inputs have no verdict, each stated once.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// The arguments, files and options of the run, used or not.
    #[serde(default)]
    pub inventory: Inventory,
    /// The rules by which an input fails, besides violations.
    pub rules: Rules,
    /// The policies that gave verdicts, by package.
    pub policies: Vec<Policy>,
    /// Every file of policies and data that was loaded.
    pub sources: Vec<Source>,
    /// The inputs, in the given order.
    pub inputs: Vec<Input>,
    /// The waivers, in the order of their file.
    pub waivers: Vec<Waiver>,
    /// The requirements in responses of `project_compliance` that verdicts depend on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub requirements: BTreeSet<Requirement>,
    /// `true` if a response of `project_compliance` was cut at a policy's own limit: not all rows are known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requirements_cut: bool,
    /// The number of rows beyond the limit of `requirements`. A row counts for each response.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requirements_unlisted: u64,
    /// Counts over all inputs.
    pub totals: Totals,
    /// Remarks on the run as a whole that don't affect the outcome.
    pub notes: Vec<String>,
    /// `true` if the run evaluated only a shard of its files. The outcome is that of this shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// The maximum number of requirements in a report.
const MAX_REQUIREMENTS: usize = 20_000;

#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The tool that wrote a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Tool {
    /// `rego-platform`.
    pub name: String,
    /// The version of the program, such as `0.1.0`.
    pub version: String,
    /// The commit that it was built from, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl Tool {
    /// Creates the description of a tool without a commit.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), commit: None }
    }
}

/// The source of the responses to the policies' calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnsweredBy {
    /// The configured service: the outcome is evidence of its present state.
    Service,
    /// An emulator with canned data, so that the outcome isn't evidence of compliance.
    Emulator,
    /// A recording, so that the outcome isn't evidence of the present state.
    Replay,
    /// None: the run ended before any call.
    None,
}

/// The outcome of a run or of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// No violation fails.
    Passed,
    /// At least one violation fails.
    Failed,
    /// Unknown: an error kept the gate from reaching a verdict.
    NoVerdict,
}

/// The rules by which an input fails, besides violations, as set by options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Rules {
    /// `true` if warnings fail.
    pub fail_on_warn: bool,
    /// The least severity that fails. A violation without a known severity always fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<Severity>,
    /// `true` if an input that every policy skipped passes.
    pub allow_skipped: bool,
    /// `true` if a run with notes has no verdict.
    #[serde(default)]
    pub fail_on_notes: bool,
    /// `true` if the exit status is 0 although there are violations.
    #[serde(default)]
    pub no_fail: bool,
}

/// A waiver and its matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Waiver {
    /// The policy that it is for; absent if it is for every policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The finding that it is for; absent if it is for every finding of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// The digest or glob that identifies its subject; of a VEX statement, its products, or the first of
    /// them.
    pub subject: String,
    /// The property that `subject` is compared with.
    #[serde(default)]
    pub by: WaivedBy,
    /// The reason for accepting the violation, as written in the file.
    pub reason: String,
    /// The person or team that is responsible for it; the author of a VEX document.
    pub owner: String,
    /// The last day on which it is valid, such as `2026-12-31`; empty for a VEX statement, which has none.
    pub expires: String,
    /// `true` if that day has passed: the violations that it matches fail nevertheless.
    pub expired: bool,
    /// The number of violations that it matches.
    pub matched: u64,
    /// `true` if it is a statement of a VEX document. Whether the violations that it matches fail
    /// nevertheless is said by its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vex: Option<VexStatement>,
}

/// A statement of a VEX document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VexStatement {
    /// The document's file.
    pub file: String,
    /// The statement's number in it, from 1.
    pub number: u64,
    /// The status of the vulnerability in the product.
    pub status: VexStatus,
}

/// The status of a vulnerability in a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VexStatus {
    /// No action is needed.
    NotAffected,
    /// Action is needed.
    Affected,
    /// These versions have a fix.
    Fixed,
    /// The status isn't known yet.
    UnderInvestigation,
}

impl VexStatus {
    /// Returns the name in a document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAffected => "not_affected",
            Self::Affected => "affected",
            Self::Fixed => "fixed",
            Self::UnderInvestigation => "under_investigation",
        }
    }
}

/// The property by which a waiver identifies its subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaivedBy {
    /// The digest of the input's bytes, computed by the gate.
    #[default]
    Digest,
    /// The name under which the input was given.
    Input,
    /// The names of the attestation's subjects, as the attestation states them.
    Name,
    /// The digest that the violation names, as the policy states it.
    Violation,
    /// The product that the violation is about: its package URL, or a digest.
    Product,
}

/// Totals over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Totals {
    /// The number of inputs.
    pub inputs: u64,
    /// The number of inputs that passed.
    pub passed: u64,
    /// The number of inputs that failed.
    pub failed: u64,
    /// The number of inputs without a verdict.
    pub no_verdict: u64,
    /// The number of inputs that a stopped run didn't evaluate. `inputs` doesn't include them. A file or
    /// stream that wasn't read to its end counts as one, since its number of inputs isn't known.
    pub not_evaluated: u64,
    /// The number of policies' verdicts that were skipped or ignored.
    pub skipped: u64,
    /// The number of violations and findings that fail, and of warnings if those fail.
    pub violations: u64,
    /// The number of warnings that don't fail.
    pub warnings: u64,
    /// The number of waived violations.
    pub waived: u64,
    /// The number of violations below the severity that fails.
    pub below_threshold: u64,
    /// The number of violations and warnings excepted by policies (`exception`).
    #[serde(default)]
    pub excepted: u64,
    /// The number of calls to the service.
    pub calls: u64,
    /// The number of requests sent.
    pub attempts: u64,
    /// The size of the responses, in bytes.
    pub bytes: u64,
}

impl Run {
    /// Creates an empty run.
    pub(crate) fn new(tool: Tool) -> Self {
        Self {
            schema_version: VERSION,
            tool,
            started: String::new(),
            duration_ms: 0,
            answers: AnsweredBy::None,
            ai: false,
            outcome: Outcome::NoVerdict,
            exit: Exit::NoVerdict,
            causes: Vec::new(),
            reasons: Vec::new(),
            failure: None,
            inventory: Inventory::default(),
            rules: Rules::default(),
            policies: Vec::new(),
            sources: Vec::new(),
            inputs: Vec::new(),
            waivers: Vec::new(),
            requirements: BTreeSet::new(),
            requirements_cut: false,
            requirements_unlisted: 0,
            totals: Totals::default(),
            notes: Vec::new(),
            part: None,
        }
    }

    /// Returns a run that failed before any evaluation.
    pub fn without_verdict(tool: Tool, failure: Failure) -> Self {
        Self {
            started: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            reasons: vec![failure.message.clone()],
            failure: Some(failure),
            ..Self::new(tool)
        }
    }

    /// Returns why it didn't pass, in the words of policies and errors: what makes inputs fail, or else why
    /// there is no verdict. Empty if it passed.
    #[doc(hidden)]
    pub fn explanations(&self) -> Vec<&str> {
        let own: Vec<&str> = match self.outcome {
            Outcome::Passed => return Vec::new(),
            Outcome::Failed => {
                let failing = self.violations().filter(|(_, _, found)| found.fails());
                failing.map(|(_, _, found)| found.message.as_str()).collect()
            }
            Outcome::NoVerdict => {
                let causes = self.causes.iter().map(|cause| &cause.error);
                causes.chain(&self.failure).map(|failure| failure.message.as_str()).collect()
            }
        };
        // An input may fail or have no verdict for a reason that is no violation, such as the rules of the run.
        if own.is_empty() { self.reasons.iter().map(String::as_str).collect() } else { own }
    }

    /// Returns every violation, with its verdict and input.
    pub(crate) fn violations(&self) -> impl Iterator<Item = (&Input, &Verdict, &Violation)> {
        self.inputs.iter().flat_map(|input| {
            let verdicts = input.verdicts.iter();
            verdicts
                .flat_map(move |own| own.violations.iter().map(move |found| (input, own, found)))
        })
    }

    /// Adds requirements up to the limit.
    pub(crate) fn add_requirements(&mut self, more: impl IntoIterator<Item = Requirement>) {
        for row in more {
            if self.requirements.len() < MAX_REQUIREMENTS || self.requirements.contains(&row) {
                self.requirements.insert(row);
            } else {
                self.requirements_unlisted = self.requirements_unlisted.saturating_add(1);
            }
        }
    }

    /// Returns the reasons that aren't in the totals: why inputs weren't evaluated, and waivers that
    /// expired.
    pub(crate) fn circumstances(&self) -> Vec<String> {
        let totals = &self.totals;
        let mut reasons = Vec::new();
        if totals.not_evaluated > 0 {
            let inputs = counted(totals.not_evaluated, "input");
            let cancelled = |failure: &Failure| failure.kind == ErrorKind::Cancelled.code();
            let why = if self.failure.as_ref().is_some_and(cancelled) {
                "interrupted"
            } else if totals.no_verdict + totals.failed > 0 {
                "stopped at the first failure"
            } else {
                "stopped"
            };
            reasons.push(format!("{why}: {inputs} not evaluated"));
        }
        for waiver in self.waivers.iter().filter(|own| own.expired && own.matched > 0) {
            let what = waiver.finding.as_ref().or(waiver.policy.as_ref());
            let what = what.map_or("", String::as_str);
            reasons.push(format!("the waiver for `{what}` expired on {}", waiver.expires));
        }
        reasons
    }

    /// Returns the policy of a verdict.
    pub fn policy(&self, name: &str) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.name == name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use schemars::generate::SchemaSettings;

    /// Compares `schema.json` with the model; with `UPDATE_SCHEMA=1` it is written instead.
    #[test]
    fn the_schema_is_up_to_date() {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let schema = generator.into_root_schema_for::<super::Run>();
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/model/schema.json");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let there = read(&std::fs::read_to_string(path).unwrap()) == read(&text);
        assert!(there, "the model has changed: UPDATE_SCHEMA=1 writes schema.json anew");
    }
}
