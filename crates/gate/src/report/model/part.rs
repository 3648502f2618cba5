//! A part of a run, whose report is made one with those of the other parts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which part of a run it is, and what the reports of the whole need to know of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Part {
    /// Its number, from 1.
    pub number: u64,
    /// The number of parts.
    pub of: u64,
    /// The number of files of all parts.
    pub files: u64,
    /// `sha256:` of the names of all these files, in the given order.
    pub names: String,
    /// The number of the run's `notes`, from the first, that don't depend on its inputs.
    pub common_notes: u64,
    /// What the run counted over its inputs.
    pub tally: Tally,
}

/// What a run counts over its inputs, besides what their verdicts say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Tally {
    /// The rows of answers without a known status, by field and status.
    pub unknown_statuses: BTreeMap<String, BTreeMap<String, u64>>,
    /// The number of calls that became undefined because the service answered "not found".
    pub undefined: u64,
    /// The number of errors of built-ins that became undefined.
    pub swallowed: u64,
    /// The number of AI analyses that verdicts depend on and that didn't take place.
    pub skipped: u64,
    /// The number of lists that were cut at a policy's own limit, in calls that verdicts depend on.
    pub cut: u64,
    /// The number of artifacts given as base64, in calls that verdicts depend on.
    pub base64: u64,
    /// The number of policies' own network requests that verdicts depend on.
    pub requests: u64,
    /// For each policy, by its place among the run's, the inputs that passed it and of which it read
    /// nothing.
    pub unread: BTreeMap<usize, Unread>,
    /// The inputs that passed a policy of which something is to be noted, by that.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub remarks: BTreeMap<String, Unread>,
}

/// The inputs that passed a policy that read nothing of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Unread {
    /// The policy.
    pub policy: String,
    /// The number of inputs.
    pub inputs: u64,
    /// The place of the first among the run's inputs, from 0.
    #[serde(skip)]
    pub place: usize,
    /// The name of the first.
    pub first: String,
}
