//! What a report says of one input: what it is, what came of it, what was asked for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Failure, Outcome, Verdict};

/// One input and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// What each policy said, in the order of the run's policies; fewer where the input couldn't be
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Subject {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its digests, by algorithm.
    #[serde(default)]
    pub digest: BTreeMap<String, String>,
}

/// What was asked of the service for one input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ledger {
    /// The most passes that one policy took.
    pub passes: u32,
    /// The calls that are listed, policy by policy in the order in which they were noted: by
    /// default those that failed, were cut, or are remarkable in another way.
    pub calls: Vec<Call>,
    /// How many more there were.
    pub left_out: u64,
    /// Where answers came from, and how many from there; all calls.
    #[serde(default)]
    pub origins: BTreeMap<String, u64>,
    /// Requests sent, for all calls.
    #[serde(default)]
    pub attempts: u64,
    /// Fields that the question named and answers didn't have, so that they couldn't be compared.
    #[serde(default)]
    pub unchecked: u64,
}

impl Ledger {
    /// How many calls there were.
    pub fn total(&self) -> u64 {
        self.calls.len() as u64 + self.left_out
    }
}

/// A call to the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// In which form content was given: `text` or `base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// Fields that the question named and the answer didn't have.
    #[serde(default)]
    pub unchecked: u64,
    /// Requests sent, with pages and repetitions.
    pub attempts: u32,
    /// Bytes of the answers.
    pub bytes: u64,
    /// From sending to the complete answer, in microseconds.
    pub latency_us: u64,
}

/// What `discover` saw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Graph {
    /// The nodes, by digest.
    pub nodes: Vec<Node>,
    /// The references: indices of `nodes`, from what was asked about to what it
    /// named.
    pub edges: Vec<(usize, usize)>,
    /// How many more nodes there were: a run keeps a bounded number of them.
    pub left_out: u64,
}

/// Something with a digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

impl Graph {
    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.left_out == 0
    }
}
