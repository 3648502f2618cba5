//! Statements about earlier runs: which inputs passed there, and on what basis.
//!
//! Owns what a statement has to say to count at all; `reuse` owns whether it counts for a run.

use std::collections::{BTreeMap, BTreeSet};

use rego_platform::Error;
use rego_platform_client::text::escape;
use serde::Deserialize;

use super::attestation;
use super::model::Source;
use super::parse::value;
use super::parser::Parser;
use super::signature::Signatures;

/// The type of the statements that are read.
pub const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// What a statement calls the inventory, which has the basis.
pub const INVENTORY: &str = "inventory.json";

/// How a statement says that all inputs passed without reservations.
pub const PASSED: &str = "PASSED";

/// A statement about an earlier run whose verdicts may count, as `attest` makes it.
#[derive(Debug, Clone)]
pub struct EarlierRun {
    pub(super) source: Source,
    /// The inputs that passed, by name and digest; or why none counts.
    pub(super) passed: Result<Passed, String>,
}

#[derive(Debug, Clone)]
pub(super) struct Passed {
    pub(super) basis: String,
    pub(super) inputs: BTreeSet<(String, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Predicate {
    result: String,
    configuration: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Annotations {
    basis: Option<String>,
    asked: BTreeSet<String>,
    skipped: BTreeMap<String, u64>,
    took_effect: Vec<serde_json::Value>,
    notes: Vec<String>,
}

impl EarlierRun {
    /// Reads a statement in the envelope in which `signatures` verify it; `source` is its file. One that says
    /// nothing that counts is read, too: reports say why.
    pub fn read(source: Source, statement: &[u8], signatures: &Signatures) -> Self {
        let passed = Self::passed(&source.path, statement, signatures);
        Self { source, passed: passed.map_err(|error| error.to_string()) }
    }

    fn passed(name: &str, statement: &[u8], signatures: &Signatures) -> Result<Passed, Error> {
        let refused = |why: &str| Error::new(rego_platform::ErrorKind::InvalidArgument, why);
        let text = std::str::from_utf8(statement).map_err(|_| refused("it isn't UTF-8"))?;
        let opened = attestation::open(&value(text, name, Parser::Json, 1)?, signatures)?;
        if opened.signers.is_none_or(|signers| signers.is_empty()) {
            return Err(refused("nobody checked who signed it"));
        }
        if opened.predicate_type.as_deref() != Some(TEST_RESULT) {
            return Err(refused("it isn't a test result, as `attest` states"));
        }
        let predicate = super::parse::field(&opened.value, "predicate");
        let predicate: Option<Predicate> = predicate.and_then(|own| own.deserialize().ok());
        let predicate = predicate.ok_or_else(|| refused("its predicate isn't one of `attest`"))?;
        if predicate.result != PASSED {
            return Err(refused("the run that it states didn't pass without reservations"));
        }
        let mut inventories =
            predicate.configuration.into_iter().filter(|entry| entry.name == INVENTORY);
        let (Some(own), None) = (inventories.next(), inventories.next()) else {
            return Err(refused("its predicate isn't one of `attest`"));
        };
        let Annotations { basis, asked, skipped, took_effect, notes } = own.annotations;
        if !skipped.is_empty() || !took_effect.is_empty() || !notes.is_empty() {
            return Err(refused("the run that it states didn't pass without reservations"));
        }
        if let Some(function) = asked.first() {
            return Err(refused(&format!(
                "its verdicts depend on `{}`, which has to be asked again",
                escape(function)
            )));
        }
        let none = || refused("it has no basis: its verdicts aren't all of one run");
        let basis = basis.ok_or_else(none)?;
        let inputs = opened.subjects.into_iter().filter_map(|subject| {
            let digest = subject.digest.get("sha256")?;
            Some((subject.name, format!("sha256:{digest}")))
        });
        Ok(Passed { basis, inputs: inputs.collect() })
    }
}
