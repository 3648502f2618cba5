//! Verdicts of earlier runs that count for this one.
//!
//! Owns the rule: an input isn't evaluated if a statement, which a key of the caller's signed, says that all of a
//! run's inputs, this one among them, passed by every policy and without reservations, on the basis that this run
//! has, and that nothing else was asked.

use std::collections::BTreeMap;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::earlier::EarlierRun;
use super::load::Gate;
use super::model::{Accepted, Source};
use super::options::RunOptions;
use super::reach::Place;
use super::split::sha256;

/// The statements that count for a run.
pub(super) struct Reused<'a> {
    basis: Option<String>,
    runs: &'a [EarlierRun],
}

impl<'a> Reused<'a> {
    pub fn new(gate: &Gate, options: &'a RunOptions) -> Self {
        Self { basis: gate.basis(options), runs: &options.earlier }
    }

    /// Returns the digest of the statement that says that an input passed.
    pub fn find(&self, name: &str, digest: Option<&str>) -> Option<&'a str> {
        let basis = self.basis.as_deref()?;
        let key = (name.to_owned(), digest?.to_owned());
        self.runs.iter().find_map(|run| {
            let passed = run.passed.as_ref().ok()?;
            (passed.basis == basis && passed.inputs.contains(&key)).then_some(&*run.source.digest)
        })
    }

    /// Returns what of each statement counts, for the inventory, if so many inputs have their verdicts from the
    /// statements with these digests.
    pub fn account(&self, counts: &BTreeMap<String, u64>) -> Vec<Accepted> {
        let account = |run: &EarlierRun| {
            let Source { path, digest } = run.source.clone();
            let inputs = counts.get(&digest).copied().unwrap_or_default();
            let reason = match &run.passed {
                _ if inputs > 0 => None,
                Err(why) => Some(why.clone()),
                Ok(_) if self.basis.is_none() => {
                    Some("inputs that are combined have no basis".to_owned())
                }
                Ok(passed) if self.basis.as_ref() != Some(&passed.basis) => Some(
                    "the policies, the options, the waivers or this program are others".to_owned(),
                ),
                Ok(_) => {
                    Some("no input has the name and the content of one that it states".to_owned())
                }
            };
            Accepted { path, digest, inputs, reason }
        };
        self.runs.iter().map(account).collect()
    }

    /// Returns the basis of this run's own verdicts, if none of them is an earlier run's.
    pub fn own_basis(&self, counts: &BTreeMap<String, u64>) -> Option<String> {
        self.basis.clone().filter(|_| counts.is_empty())
    }
}

impl Gate {
    /// Returns the digest of everything besides the inputs on which verdicts depend; `None` if they also depend on
    /// which inputs there are.
    fn basis(&self, options: &RunOptions) -> Option<String> {
        if options.documents.combine {
            return None;
        }
        // Where the files are.
        let reads_place = self.checks.iter().any(|check| check.reads.has(Place::File));
        let here = reads_place.then(std::env::current_dir).transpose().ok()?;
        let inventory = &options.inventory;
        let relaxed = inventory.options.iter().map(|option| (option.name, option.value.as_ref()));
        let basis = json!([
            options.tool,
            self.product.as_str(),
            self.sources,
            self.kind.map(|kind| kind.name),
            options.given,
            relaxed.collect::<Vec<_>>(),
            options.rules,
            options.conditions(),
            [&inventory.waivers, &inventory.recording],
            inventory.vex,
            inventory.engine,
            [&inventory.arguments, &inventory.values, &inventory.metadata],
            inventory.signed_by,
            inventory.unverified,
            here,
        ]);
        Some(sha256(&Sha256::digest(basis.to_string())))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rego_platform::evaluate::{Answers, EvaluateOptions};

    use super::*;
    use crate::GateOptions;
    use crate::model::{AnsweredBy, Tool};

    #[test]
    fn the_basis_is_that_of_one_version_of_the_tool_in_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.rego");
        let basis = |policy: &str, version: &str, commit: Option<&str>| {
            std::fs::write(&path, policy).unwrap();
            let paths = [path.to_str().unwrap().to_owned()];
            let gate = Gate::load(&paths, &GateOptions::default()).unwrap();
            let tool = Tool {
                name: "rego-platform".to_owned(),
                version: version.to_owned(),
                commit: commit.map(str::to_owned),
            };
            let evaluate = EvaluateOptions::new(Answers::Unavailable(String::new()));
            gate.basis(&RunOptions::new(evaluate, AnsweredBy::Service, tool)).unwrap()
        };
        let policy = "package p\n\ndeny contains \"x\" if input.x\n";
        let own = basis(policy, "2.0.0", None);
        assert_eq!(basis(policy, "2.0.0", None), own);
        assert_ne!(basis(policy, "1.9.9", None), own);
        assert_ne!(basis(policy, "2.0.0", Some("abc")), own);
        assert_ne!(basis(&policy.replace("\"x\"", "\"y\""), "2.0.0", None), own);
    }
}
