//! Shards of a run, whose reports can be merged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The shard of a run, with the facts for merging its report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Part {
    /// The number, from 1.
    pub number: u64,
    /// The number of shards.
    pub of: u64,
    /// The number of files of all shards.
    pub files: u64,
    /// `sha256:` of the names of all these files, in the given order.
    pub names: String,
    /// The number of the run's `notes`, from the first, that don't depend on its inputs.
    pub common_notes: u64,
    /// The counts over the run's inputs.
    pub tally: Tally,
}

/// Counts over a run's inputs that their verdicts don't include.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Tally {
    /// The rows of responses with an unknown status, by field and status.
    pub unknown_statuses: BTreeMap<String, BTreeMap<String, u64>>,
    /// The number of calls that became undefined because of a "not found" response.
    pub undefined: u64,
    /// The number of errors of built-ins that became undefined.
    pub swallowed: u64,
    /// The number of skipped AI analyses that verdicts depend on.
    pub skipped: u64,
    /// The number of lists that were cut at a policy's own limit, in calls that verdicts depend on.
    pub cut: u64,
    /// The number of artifacts given as base64, in calls that verdicts depend on.
    pub base64: u64,
    /// The number of policies' own network requests that verdicts depend on.
    pub requests: u64,
    /// For each policy, by its index, the inputs that passed without a read of their values.
    pub unread: BTreeMap<usize, Unread>,
    /// The inputs that passed with a remark about the policy, by remark.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub remarks: BTreeMap<String, Unread>,
}

/// Inputs that passed a policy without a read of their values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Unread {
    /// The policy.
    pub policy: String,
    /// The number of inputs.
    pub inputs: u64,
    /// The index of the first input, from 0.
    #[serde(skip)]
    pub place: usize,
    /// The name of the first input.
    pub first: String,
}
