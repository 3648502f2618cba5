//! `gate`: verdicts, inputs, reports and exit status, through the command.

mod account;
mod attest;
mod bundle_keys;
mod collections;
mod conftest;
mod containerd;
mod contracts;
mod destinations;
mod documents;
mod formats;
mod groups;
mod hostile;
mod inputs;
mod interrupted;
mod keyless;
mod memory;
mod notes;
mod oscal;
mod parts;
mod policies;
mod reached;
mod reports;
pub(crate) mod signed;
pub(crate) mod sigstore;
mod unjudged;
mod verdicts;
mod vex;
mod waivers;

use sha2::Digest as _;

use crate::cli::{Output, Sandbox};

/// Fails if the input has `bad`.
const DENY_BAD: &str = "package p\n\ndeny contains \"it is bad\" if input.bad\n";

/// An input of the kind `SBOM_SPDX_JSON`.
const SPDX: &str =
    r#"{"spdxVersion": "SPDX-2.3", "name": "s", "creationInfo": {"creators": ["Tool: t-1"]}}"#;

/// Runs `gate` over a policy in its own file.
fn gate(sandbox: &Sandbox, policy: &str, arguments: &[&str]) -> Output {
    gate_with(sandbox, policy, arguments, "")
}

fn gate_with(sandbox: &Sandbox, policy: &str, arguments: &[&str], stdin: &str) -> Output {
    let file = sandbox.write("policy.rego", policy);
    let none: &[&str] = if arguments.contains(&"-i") { &[] } else { &["--no-input"] };
    let run = sandbox.run(&[&["gate", "-d", &file, "--format", "json"], arguments, none].concat());
    run.stdin(stdin).output()
}

/// The example policies; the folders beside them are collections of rules.
const EXAMPLES: &str = "policies/*.rego";

/// Runs `gate` with the example policies and data set.
fn shipped(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.served(&[&["gate", "-d", EXAMPLES, "--format", "json"], arguments].concat()).output()
}

/// Returns the digest of bytes, as reports have it.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().fold("sha256:".to_owned(), |out, byte| format!("{out}{byte:02x}"))
}

/// Returns the outcomes of a report's inputs, by name.
fn outcomes(report: &serde_json::Value) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let inputs = report["inputs"].as_array().unwrap();
    inputs.iter().map(|input| (text(&input["name"]), text(&input["outcome"]))).collect()
}
