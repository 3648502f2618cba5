//! The outcome as an in-toto statement, ready to be signed.
//!
//! Owns its form: the predicate `test-result` v0.1 over the inputs as subjects, with the digests of
//! the policies as its configuration.

use serde_json::{Value, json};

use crate::cli::output;
use crate::gate::model::{Outcome, Run};
use crate::{Error, ErrorKind};

/// The statement.
pub(super) fn statement(run: &Run) -> Result<String, Error> {
    let hex = |digest: &str| digest.strip_prefix("sha256:").unwrap_or(digest).to_owned();
    let subjects: Vec<Value> = run
        .inputs
        .iter()
        .filter_map(|input| {
            let digest = hex(input.digest.as_ref()?);
            Some(json!({"name": input.name, "digest": {"sha256": digest}}))
        })
        .collect();
    if subjects.is_empty() {
        return Err(Error::new(
            ErrorKind::Configuration,
            "`--attest` has nothing to attest to: there is no input",
        )
        .with_hint("add `-i FILE`"));
    }
    let configuration: Vec<Value> = run
        .sources
        .iter()
        .map(|source| json!({"name": source.path, "digest": {"sha256": hex(&source.digest)}}))
        .collect();
    let named = |outcome: Outcome| -> Vec<&str> {
        let inputs = run.inputs.iter().filter(|input| input.outcome == outcome);
        inputs.map(|input| input.name.as_str()).collect()
    };
    // The predicate knows pass, warn and fail: no verdict is no pass.
    let result = match run.outcome {
        Outcome::Passed if run.totals.warnings > 0 => "WARNED",
        Outcome::Passed => "PASSED",
        Outcome::Failed | Outcome::NoVerdict => "FAILED",
    };
    let without: Vec<&str> = named(Outcome::NoVerdict);
    let failed: Vec<&str> = named(Outcome::Failed).into_iter().chain(without).collect();
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {
            "result": result,
            "configuration": configuration,
            "passedTests": named(Outcome::Passed),
            "warnedTests": [],
            "failedTests": failed,
        },
    });
    Ok(output::json(&statement)? + "\n")
}
