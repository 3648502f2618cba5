//! One input in a report: its identity, its verdicts and its calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Failure, Outcome, Status, Verdict};

/// One input with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Input {
    /// The file, `<stdin>`, the address of an image, or `(no input)`; followed by `#N` if the file contains
    /// several documents.
    pub name: String,
    /// `sha256:` of its bytes as they were read, or of the files' digests if they are combined; an image's
    /// own; absent if there is no input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The subjects, if it is an attestation; the image, if it is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<Subject>,
    /// The predicate type, if it is an attestation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate_type: Option<String>,
    /// The signers, if it is an attestation whose signatures are checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signers: Vec<Signer>,
    /// The accepted artifacts attached in its registry, if it is an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<Evidence>>,
    /// The verdict of all policies on this input.
    pub outcome: Outcome,
    /// The error of reading the input, or the reason for a missing verdict although each policy has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The verdict of each policy, in the order of the run's policies; fewer if the input couldn't
    /// be read or the run was stopped.
    pub verdicts: Vec<Verdict>,
    /// The calls to the service.
    pub ledger: Ledger,
    /// The time it took, in milliseconds.
    pub duration_ms: u64,
    /// In a shard, the index of its file among the files of all shards, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
}

impl Input {
    /// Returns the errors: its own, and those of policies, by their names.
    pub(crate) fn errors(&self) -> impl Iterator<Item = (Option<&str>, &Failure)> {
        let of_verdicts = self.verdicts.iter();
        let of_verdicts =
            of_verdicts.filter_map(|own| Some((Some(&*own.policy), own.error.as_ref()?)));
        self.error.iter().map(|error| (None, error)).chain(of_verdicts)
    }

    /// Returns `true` if every policy skipped it, or its verdict doesn't count.
    pub(crate) fn is_skipped(&self) -> bool {
        self.verdicts.iter().all(|own| matches!(own.status, Status::Skipped | Status::Ignored))
    }
}

/// A subject of an attestation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Subject {
    /// The subject's `name` in the attestation; empty if it has none.
    #[serde(default)]
    pub name: String,
    /// The digests, by algorithm.
    #[serde(default)]
    pub digest: BTreeMap<String, String>,
}

/// An artifact attached to an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Evidence {
    /// `sha256:` of its bytes.
    pub digest: String,
    /// The platform to whose image it is attached; absent if it is attached to the image that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// The media type in the registry.
    pub media_type: String,
    /// The predicate type, if it is an attestation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate_type: Option<String>,
    /// The signers, if signatures are checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signers: Vec<Signer>,
}

/// A signer of an attestation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
#[non_exhaustive]
pub enum Signer {
    /// The owner of a key.
    Key(SigningKey),
    /// The owner of an account, for which an authority issued a certificate.
    Identity(CertifiedSigner),
}

/// A public key whose owner signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SigningKey {
    /// The file of the public key, as it was given.
    pub key: String,
    /// `sha256:` of the key in DER (`SubjectPublicKeyInfo`).
    pub fingerprint: String,
}

/// An account whose owner signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SigningIdentity {
    /// The provider of the account (`OpenID` Connect), such as `https://token.actions.githubusercontent.com`.
    pub issuer: String,
    /// The account: a mail address, or the URI of a workflow. In the inventory, a pattern in which `*` stands
    /// for any text.
    pub identity: String,
}

/// An account whose owner signed with a certificate that was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CertifiedSigner {
    /// The provider of the account (`OpenID` Connect).
    pub issuer: String,
    /// The account: a mail address, or the URI of a workflow.
    pub identity: String,
    /// The earliest verified time at which the signature existed (RFC 3339, UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_at: Option<String>,
    /// The source of this time: `rekor` (a transparency log) or `rfc3161` (a timestamp authority).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_at_source: Option<String>,
    /// The certificate's claims about the CI job, such as `repository`, `ref` and `trigger`.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
}

/// The calls to the service for one input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Ledger {
    /// The maximum number of passes that one policy took.
    pub passes: u32,
    /// The listed calls, by policy, in the order of their discovery. By default only failed, cut and
    /// otherwise remarkable calls.
    pub calls: Vec<Call>,
    /// The number of calls that aren't listed.
    pub left_out: u64,
    /// The number of responses by origin, for all calls with a response.
    #[serde(default)]
    pub origins: BTreeMap<String, u64>,
    /// The number of requests sent for all calls.
    #[serde(default)]
    pub attempts: u64,
}

impl Ledger {
    /// Returns the number of all calls.
    pub fn total(&self) -> u64 {
        self.calls.len() as u64 + self.left_out
    }

    /// Returns the number of calls that failed before anything was sent.
    pub fn unsent(&self) -> u64 {
        self.total().saturating_sub(self.origins.values().sum())
    }
}

/// A call to the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Call {
    /// The calling policy.
    pub policy: String,
    /// The function's full name.
    pub function: String,
    /// The arguments as JSON, shortened.
    pub arguments: String,
    /// The pass that found the call, from 1.
    pub pass: u32,
    /// `true` if the verdict depends on it.
    pub needed: bool,
    /// The origin of the response: `network`, `shared`, `cache`, `replay` or `host`.
    pub origin: String,
    /// `ok`, or the kind of its failure.
    pub outcome: String,
    /// `true` if the policy's own `limit` cut the list.
    pub cut: bool,
    /// The number of times that the list was read again because it changed during the read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rereads: Option<u32>,
    /// `true` if the response is a skipped AI analysis.
    #[serde(default)]
    pub skipped: bool,
    /// The form of downloaded content: `text` or `base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// The number of requests sent, including pages and retries.
    pub attempts: u32,
    /// The size of the answers, in bytes.
    pub bytes: u64,
    /// The time from sending to the complete response, in microseconds.
    pub latency_us: u64,
}

impl Call {
    /// Returns `true` if it failed before anything was sent.
    pub fn is_unsent(&self) -> bool {
        self.origin == "network" && self.attempts == 0 && self.outcome != "ok"
    }
}
