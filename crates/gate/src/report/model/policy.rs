//! The policies in a report.

use rego_platform::Position;
use serde::{Deserialize, Serialize};

/// The severity of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Informational.
    Info,
    /// Above `Info`, below `Medium`.
    Low,
    /// Above `Low`, below `High`.
    Medium,
    /// Above `Medium`, below `Critical`.
    High,
    /// The most severe.
    Critical,
}

/// A package that gives verdicts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Policy {
    /// The dotted package, such as `release.licences`.
    pub name: String,
    /// The title from its `METADATA` annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description from its `METADATA` annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The severity from its `METADATA` annotation (`custom.severity`), as written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// The remedy of its violations, from its `METADATA` annotation (`custom.remediation`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
    /// The date (`YYYY-MM-DD`) before which its violations are warnings, from its `METADATA` annotation
    /// (`custom.effective_on`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_on: Option<String>,
    /// The controls that it checks, from its `METADATA` annotation (`custom.controls`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<String>,
    /// The https links from its `METADATA` annotation (`related_resources`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// The name of the policy document that it is from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The `apiVersion` of that document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The kind of material that it is for; absent if it is for every kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The phases of an attestation in which the vendor's engine evaluates it; a gate always does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attestation_phases: Vec<String>,
    /// The policy for automatic attachment of its document, which a gate doesn't evaluate: `path`, `ref` or
    /// `embedded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_match: Option<String>,
    /// The type of its findings, such as `VULNERABILITY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_type: Option<String>,
    /// The paths of the files that define its package.
    pub files: Vec<String>,
    /// The `sha256:` digest of its file; of several files, that of their digests, sorted, one a line.
    /// Names don't count.
    pub digest: String,
    /// The verdict rules.
    pub rules: Vec<Rule>,
}

/// A rule that contributes to a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Rule {
    /// The name, such as `deny`.
    pub name: String,
    /// The title from its `METADATA` annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description from its `METADATA` annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The severity from its `METADATA` annotation, as written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// The remedy of its violations, from its `METADATA` annotation (`custom.remediation`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
    /// The date (`YYYY-MM-DD`) before which its violations are warnings, from its `METADATA` annotation
    /// (`custom.effective_on`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_on: Option<String>,
    /// The controls that it checks, from its `METADATA` annotation (`custom.controls`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<String>,
    /// The position of its first definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

/// A file of policies or data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Source {
    /// The path, as given.
    pub path: String,
    /// `sha256:` of its bytes.
    pub digest: String,
}

impl Source {
    /// Creates the description of a file.
    pub fn new(path: impl Into<String>, digest: impl Into<String>) -> Self {
        Self { path: path.into(), digest: digest.into() }
    }
}

impl Severity {
    /// The severities with their names, least severe first.
    pub const NAMES: &[(&str, Self)] = &[
        ("info", Self::Info),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("critical", Self::Critical),
    ];

    /// Parses a severity's name, in any case; `None` for any other word.
    pub fn parse(text: &str) -> Option<Self> {
        let mut names = Self::NAMES.iter();
        names.find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, severity)| *severity)
    }
}
