//! Signed envelopes (DSSE): whatever was done to one, it is refused, or its statement is the one that was
//! signed.
//!
//! Shared by the fuzz target `envelope` and the smoke run of the gate's tests.

use std::num::NonZeroUsize;
use std::path::Path;

use rego_platform::evaluate::{Answers, EvaluateOptions};
use rego_platform_gate::model::{AnsweredBy, Outcome, Tool};
use rego_platform_gate::{Gate, GateOptions, InputSource, RunOptions, Signatures, VerifyKeys};

/// A gate that fails for any statement but the signed one.
pub struct Envelopes {
    gate: Gate,
    options: RunOptions,
}

impl Envelopes {
    /// Loads the policy and the key in the folder `fuzz`.
    pub fn new(folder: &Path) -> Self {
        let policy = folder.join("envelope/policy.rego").display().to_string();
        let gate = Gate::load(&[policy], &GateOptions::default()).expect("a gate");
        let pem = std::fs::read(folder.join("envelope/key.pub")).expect("a key");
        let keys = VerifyKeys::new([("key.pub", &*pem)], NonZeroUsize::MIN).expect("a key");
        let evaluate = EvaluateOptions::new(Answers::Unavailable(String::new()));
        let tool = Tool::new("fuzz", "0");
        let mut options = RunOptions::new(evaluate, AnsweredBy::None, tool);
        options.documents.attestation = Some(Signatures::Keys(keys));
        Self { gate, options }
    }

    /// Returns `true` if an envelope passes, which only the signed statement does.
    pub fn run(&self, bytes: &[u8]) -> bool {
        let input = InputSource::Document("envelope.json".to_owned(), bytes.to_vec().into());
        let (run, _) = self.gate.run(vec![input], &self.options, &mut ()).expect("a run");
        let passed = run.outcome == Outcome::Passed;
        assert!(passed || run.outcome == Outcome::NoVerdict, "{:?}", run.outcome);
        passed
    }
}
