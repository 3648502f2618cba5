//! What a report says of the policies.

use serde::{Deserialize, Serialize};

use crate::Position;

/// How severe something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Source {
    /// Its path, as it was given.
    pub path: String,
    /// `sha256:` of its bytes.
    pub digest: String,
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
