//! Requirements in responses of the service.

use rego_platform::rego::Value;
use serde::{Deserialize, Serialize};

/// The status of a requirement: a row of a response of `project_compliance`. A text that the service left out
/// is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Requirement {
    /// The requirement's name.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The framework that it is in.
    pub framework_id: String,
    /// The version of the project that it is about.
    pub project_version_id: String,
    /// `pass`, `fail` or another status.
    pub status: String,
    /// The requirement's identifier.
    pub requirement_id: String,
    /// The identifier of the requirement's version.
    pub requirement_version_id: String,
    /// The time of the evaluation.
    pub created_at: String,
}

impl Requirement {
    /// Returns the rows of a response.
    pub(crate) fn all_of(answer: &Value) -> impl Iterator<Item = Self> {
        let rows = answer.get_str("evaluations").and_then(Value::as_array);
        rows.into_iter().flatten().map(|row| {
            let text =
                |name| row.get_str(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            Self {
                name: text("name"),
                display_name: text("display_name"),
                framework_id: text("framework_id"),
                project_version_id: text("project_version_id"),
                status: text("status"),
                requirement_id: text("requirement_id"),
                requirement_version_id: text("requirement_version_id"),
                created_at: text("created_at"),
            }
        })
    }
}
