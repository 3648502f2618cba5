//! `attest`: the statement about a run (in-toto), made from its JSON report, signed or unsigned.
//!
//! Owns the forms: `test-result` v0.1 over the inputs, with the policies' files as its configuration, and
//! SLSA's `verification_summary` v1 and in-toto's `svr` v0.2 over the inputs' subjects. None of them states
//! that something passed unless all of it did. What a clean pass is belongs to the gate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rego_platform::Error;
use rego_platform_client::text::{escape, shorten};
use rego_platform_gate::model::{Input, OptionUse, Outcome, Run, Signer, Source, Status};
use rego_platform_gate::{Pass, SignKey, Unproven};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::options::Options;
use super::{Exit, option_files, output, report_files};

/// The largest file of a key, in bytes.
const MAX_KEY: u64 = 64 << 10;

/// The type of SLSA's verification summary.
const SUMMARY: &str = "https://slsa.dev/verification_summary/v1";

/// The type of in-toto's simple verification result.
const RESULT: &str = "https://in-toto.io/attestation/svr/v0.2";

/// The type of statements about test results.
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// The prefix of a property of a simple verification result; the policy that passed follows.
const PASSED: &str = "REGO_PLATFORM_PASSED_";

/// The variable with the password of a key, as cosign's.
const PASSWORD: &str = "COSIGN_PASSWORD";

/// Print an in-toto statement about a run of the gate, signed or to be signed
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 if the statement was printed, which may state a failure; 2 if there is none.\n\n\
    Examples:\n  \
    rego-platform gate -d policies -i image.json -o json=gate.json\n  \
    rego-platform attest gate.json > gate.intoto.json\n  \
    rego-platform attest gate.json --sign-key release.key > gate.dsse.json"
)]
pub(super) struct AttestArgs {
    /// The report that `gate --output json=FILE` wrote
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// Predicate: `vsa` (SLSA) or `svr` (in-toto's simple verification result)
    #[arg(long = "as", value_name = "PREDICATE", value_enum, default_value_t = Predicate::TestResult)]
    form: Predicate,
    /// URI that identifies the verifier, for `--as vsa` and `--as svr`
    #[arg(long, value_name = "URI")]
    verifier: Option<String>,
    /// URI of the artifact that was verified, for `--as vsa`
    #[arg(long, value_name = "URI")]
    resource: Option<String>,
    /// Sign the statement with this private key, and print it in a DSSE envelope
    ///
    /// The key is PKCS #8 in PEM, ECDSA P-256 or Ed25519, or encrypted as cosign's with the password in
    /// `COSIGN_PASSWORD`.
    #[arg(long, value_name = "FILE")]
    sign_key: Option<PathBuf>,
    /// Not supported: certificates aren't requested from an authority
    #[arg(long, value_name = "TOKEN", hide = true)]
    sign_identity_token: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Predicate {
    TestResult,
    Vsa,
    Svr,
}

pub(super) fn run(args: &AttestArgs, options: &Options) -> Result<Exit, Error> {
    args.check()?;
    let key = args.sign_key.as_deref().map(|path| sign_key(path, options)).transpose()?;
    let run = report_files::read(&args.report, options.timeout)?;
    refuse(&run)?;
    let mut printed = args.statement(&run)?;
    if let Some(key) = key {
        printed = key.envelope(output::json(&printed)?.as_bytes())?;
    }
    output::to_stdout((output::json(&printed)? + "\n").as_bytes())?;
    Ok(Exit::Passed)
}

fn sign_key(path: &Path, options: &Options) -> Result<SignKey, Error> {
    let pem = option_files::read("the private key", path, MAX_KEY, options.timeout)?;
    let password = std::env::var_os(PASSWORD);
    let password = password.as_ref().map(|own| own.as_encoded_bytes());
    SignKey::read(&path.display().to_string(), &pem, password)
}

/// Refuses a run about which a statement would prove nothing.
fn refuse(run: &Run) -> Result<(), Error> {
    let Some(unproven) = run.unproven() else { return Ok(()) };
    let real = "run the gate without `--local` and `--replay`";
    let (what, hint) = match unproven {
        Unproven::NoVerdict => {
            let why = run.reasons.first().map_or("", String::as_str);
            let why = format!("the run has no verdict: {}", shorten(why, 500));
            return Err(nothing(&why).with_hint("run the gate again"));
        }
        Unproven::Emulator => ("the responses are from an emulator", real),
        Unproven::Recording => ("the responses are from a recording", real),
        Unproven::Shard => (
            "the report covers one shard only",
            "merge the reports of all shards: `rego-platform gate merge`",
        ),
        Unproven::CannotFail => ("the run used `--no-fail`", "run the gate without `--no-fail`"),
        Unproven::UnverifiedSignatures => (
            "the signatures of the attestations weren't verified",
            "run the gate with `--verify-key` or `--verify-identity`",
        ),
    };
    Err(nothing(what).with_hint(hint))
}

fn nothing(what: &str) -> Error {
    Error::configuration(format!("can't attest to the run: {what}"))
}

impl AttestArgs {
    /// Refuses options that the form of the statement has no use for or lacks.
    fn check(&self) -> Result<(), Error> {
        if self.sign_identity_token.is_some() {
            return Err(Error::configuration(
                "signing with an identity token isn't supported: `--sign-identity-token`",
            )
            .with_hint("sign with `--sign-key`, or with `cosign attest-blob --statement FILE --identity-token …`"));
        }
        let verifier = (self.form != Predicate::TestResult, "--verifier", &self.verifier);
        let resource = (self.form == Predicate::Vsa, "--resource", &self.resource);
        for (needed, option, given) in [verifier, resource] {
            match (needed, given) {
                (false, None) => {}
                (false, Some(_)) => {
                    return Err(Error::configuration(format!(
                        "`{option}` applies to verification summaries only"
                    ))
                    .with_hint("add `--as vsa`"));
                }
                (true, None) => {
                    return Err(Error::configuration(format!("missing option: `{option}`"))
                        .with_hint(format!("add `{option} URI`")));
                }
                (true, Some(uri)) => {
                    Url::parse(uri).map_err(|error| {
                        Error::configuration(format!(
                            "`{option} {}` isn't a valid URI",
                            escape(uri)
                        ))
                        .with_source(error.to_string())
                        .with_hint("a URI starts with a scheme, such as `https:` or `pkg:`")
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Returns the statement about a run that came to a verdict.
    fn statement(&self, run: &Run) -> Result<Value, Error> {
        let (kind, subjects, predicate) = match self.form {
            Predicate::TestResult => (TEST_RESULT, inputs(run.inputs.iter()), test_result(run)),
            Predicate::Vsa => (SUMMARY, artifacts(run)?, self.summary(run)),
            Predicate::Svr => (RESULT, artifacts(run)?, self.result(run)?),
        };
        if subjects.is_empty() {
            return Err(nothing("the run had no input").with_hint("add `-i FILE` to the gate"));
        }
        Ok(json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": subjects,
            "predicateType": kind,
            "predicate": predicate,
        }))
    }

    /// Returns in-toto's simple verification result. It has no place for what limits a pass, so that a run
    /// with such reservations has none.
    fn result(&self, run: &Run) -> Result<Value, Error> {
        let refuse = |what: &str| {
            let hint = "use `--as vsa`, or leave out `--as`";
            Err(Error::configuration(format!(
                "not expressible in a simple verification result: {what}"
            ))
            .with_hint(hint))
        };
        match run.pass() {
            Some(Pass::Clean) => {}
            Some(Pass::WithReservations) => return refuse("the run passed with reservations"),
            None => return refuse("the run failed"),
        }
        let has_passed = |input: &Input, policy: &str| {
            let mut own = input.verdicts.iter().filter(|verdict| verdict.policy == policy);
            own.any(|verdict| verdict.status == Status::Passed)
        };
        let policies = run.policies.iter().map(|policy| policy.name.as_str());
        let passed = policies.filter(|name| run.inputs.iter().all(|input| has_passed(input, name)));
        let properties: Vec<String> = passed.map(|name| format!("{PASSED}{name}")).collect();
        if properties.is_empty() {
            return refuse("no policy passed all inputs");
        }
        Ok(json!({
            "verifier": {"id": self.verifier, "policies": [policy(run)]},
            "timeCreated": run.started,
            "properties": properties,
        }))
    }

    /// Returns SLSA's verification summary. No SLSA level was evaluated, and none is claimed.
    fn summary(&self, run: &Run) -> Value {
        let passed = run.outcome == Outcome::Passed;
        let mut version = run.tool.version.clone();
        if let Some(commit) = &run.tool.commit {
            version = format!("{version} ({commit})");
        }
        json!({
            "verifier": {
                "id": self.verifier,
                "version": BTreeMap::from([(&run.tool.name, version)]),
            },
            "timeVerified": run.started,
            "resourceUri": self.resource,
            "policy": policy(run),
            "inputAttestations": attestations(run),
            "verificationResult": if passed { "PASSED" } else { "FAILED" },
            "verifiedLevels": [if passed { "SLSA_BUILD_LEVEL_UNEVALUATED" } else { "FAILED" }],
            "slsaVersion": "1.0",
        })
    }
}

/// Describes the policies of the run. Their digest is that of a line `sha256:… path` for each file
/// of policies, data, waivers and VEX, `name value`, or `name` if it has none, for each relaxation, and
/// `arg name=value` for each argument, and `set path=value` for each value of the input; annotations
/// state which of them took effect.
fn policy(run: &Run) -> Value {
    let mut hash = Sha256::new();
    let read = run.sources.iter().chain(&run.inventory.waivers).chain(&run.inventory.vex);
    for source in read {
        hash.update(format!("{} {}\n", source.digest, escape(&source.path)));
    }
    for option in &run.inventory.options {
        let value = option.value.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
        hash.update(format!("{}{value}\n", option.name));
    }
    for (name, value) in &run.inventory.arguments {
        hash.update(format!("arg {}={}\n", escape(name), escape(value)));
    }
    for (path, value) in &run.inventory.values {
        hash.update(format!("set {}={}\n", escape(path), escape(value)));
    }
    json!({
        "digest": {"sha256": rego_platform_client::text::hex(&hash.finalize())},
        "annotations": {
            "sources": sources(run),
            "tookEffect": took_effect(run),
            "signedBy": run.inventory.signed_by,
            "signers": signers(run),
            "inventory": inventory(run),
            "notes": run.notes,
            "skipped": skipped(run),
            "set": run.inventory.values,
        },
    })
}

/// The policies that skipped an input, each with the number of inputs: they say nothing about them.
fn skipped(run: &Run) -> BTreeMap<&str, u64> {
    let mut skipped = BTreeMap::new();
    for verdict in run.inputs.iter().flat_map(|input| &input.verdicts) {
        if matches!(verdict.status, Status::Skipped | Status::Ignored) {
            *skipped.entry(verdict.policy.as_str()).or_default() += 1;
        }
    }
    skipped
}

/// Returns the signers of the attestations, by the inputs' names, or by their digests if they are about an image.
fn signers(run: &Run) -> BTreeMap<&str, &[Signer]> {
    let evidence = run.inputs.iter().flat_map(|input| input.evidence.iter().flatten());
    let about = evidence.map(|one| (one.digest.as_str(), one.signers.as_slice()));
    let own = run.inputs.iter().map(|own| (own.name.as_str(), own.signers.as_slice()));
    own.chain(about).filter(|(_, signers)| !signers.is_empty()).collect()
}

/// The options that made a difference, and how often.
fn took_effect(run: &Run) -> Vec<Value> {
    let option = |option: &OptionUse| json!({"option": option.name, "value": option.value, "times": option.times});
    run.inventory.took_effect().map(option).collect()
}

/// The inventory's digest: that of the one in the JSON report, compact.
fn inventory(run: &Run) -> Value {
    let text = serde_json::to_string(&run.inventory).unwrap_or_default();
    json!({"sha256": rego_platform_client::text::hex(&Sha256::digest(text))})
}

fn hex(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}

fn sources(run: &Run) -> Vec<Value> {
    let source = |s: &Source| json!({"name": s.path, "digest": {"sha256": hex(&s.digest)}});
    run.sources.iter().map(source).collect()
}

/// The documents; one that couldn't be read has no digest, and isn't a subject.
fn inputs<'a>(inputs: impl Iterator<Item = &'a Input>) -> Vec<Value> {
    inputs
        .filter_map(|input| {
            let digest = hex(input.digest.as_ref()?);
            Some(json!({"name": input.name, "digest": {"sha256": digest}}))
        })
        .collect()
}

/// The attestations among the inputs, and those about images.
fn attestations(run: &Run) -> Vec<Value> {
    let attested = |input: &&Input| input.evidence.is_none() && !input.subjects.is_empty();
    let mut all = inputs(run.inputs.iter().filter(attested));
    let evidence = run.inputs.iter().flat_map(|input| input.evidence.iter().flatten());
    all.extend(evidence.map(|one| json!({"digest": {"sha256": hex(&one.digest)}})));
    all
}

/// Returns `true` unless a value can't be a digest of this name. Names that aren't known may stand
/// for any text.
fn is_digest(name: &str, value: &str) -> bool {
    let digits = match name {
        "md5" => 32,
        "sha1" => 40,
        "sha224" | "sha512_224" | "sha3_224" => 56,
        "sha256" | "sha512_256" | "sha3_256" => 64,
        "sha384" | "sha3_384" => 96,
        "sha512" | "sha3_512" => 128,
        _ => return !value.trim().is_empty(),
    };
    value.len() == digits && value.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The subjects of attestations; for other inputs, the documents themselves.
fn artifacts(run: &Run) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for input in &run.inputs {
        for subject in &input.subjects {
            if subject.digest.is_empty() {
                let (name, input) = (escape(&subject.name), escape(&input.name));
                return Err(Error::configuration(format!(
                    "the subject `{name}` of `{input}` has no digest"
                ))
                .with_hint("add a digest to the subject"));
            }
            if let Some((name, value)) = subject.digest.iter().find(|(n, v)| !is_digest(n, v)) {
                let (name, value) = (escape(name), shorten(value, 80));
                let (of, input) = (escape(&subject.name), escape(&input.name));
                return Err(Error::configuration(format!(
                    "invalid digest of the subject `{of}` of `{input}`: `{name}`: `{value}`"
                ))
                .with_hint("write all of its digits, in lowercase hexadecimal"));
            }
            let subject = json!({"name": subject.name, "digest": subject.digest});
            if !found.contains(&subject) {
                found.push(subject);
            }
        }
        if input.subjects.is_empty() {
            // The input of other runs is what the policies looked at; an attestation isn't.
            if run.inventory.signed_by.is_some() {
                let input = escape(&input.name);
                return Err(Error::configuration(format!(
                    "the attestation `{input}` has no subject"
                ))
                .with_hint("leave out `--as`: a verification summary needs a subject"));
            }
            found.extend(inputs(std::iter::once(input)));
        }
    }
    Ok(found)
}

fn test_result(run: &Run) -> Value {
    let named = |inputs: Vec<&Input>| -> Vec<String> {
        inputs.into_iter().map(|input| input.name.clone()).collect()
    };
    let passed = run.inputs.iter().filter(|input| input.outcome == Outcome::Passed);
    let (mut warned, mut passed): (Vec<&Input>, Vec<&Input>) =
        passed.partition(|input| input.has_reservations());
    let failed = run.inputs.iter().filter(|input| input.outcome != Outcome::Passed).collect();
    // The predicate knows pass, warn and fail: a missing verdict isn't a pass.
    let result = match run.pass() {
        Some(Pass::Clean) => "PASSED",
        Some(Pass::WithReservations) => "WARNED",
        None => "FAILED",
    };
    if result == "WARNED" && warned.is_empty() {
        // It isn't known which inputs are concerned.
        warned = std::mem::take(&mut passed);
    }
    let mut configuration = sources(run);
    configuration.push(json!({
        "name": "inventory.json",
        "digest": inventory(run),
        "annotations": {
            "tookEffect": took_effect(run),
            "signedBy": run.inventory.signed_by,
            "signers": signers(run),
            "waivers": run.inventory.waivers,
            "vex": run.inventory.vex,
            "asked": run.inventory.asked,
            "notes": run.notes,
            "skipped": skipped(run),
            "set": run.inventory.values,
        },
    }));
    json!({
        "result": result,
        "configuration": configuration,
        "passedTests": named(passed),
        "warnedTests": named(warned),
        "failedTests": named(failed),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;
    use crate::fixture;

    #[test]
    fn a_statement_has_what_limits_a_pass() {
        let attest = AttestArgs {
            report: PathBuf::new(),
            form: Predicate::Vsa,
            verifier: None,
            resource: None,
            sign_key: None,
            sign_identity_token: None,
        };
        let mut run = fixture::sample();
        run.notes = vec!["a list was cut".to_owned()];
        run.outcome = Outcome::Passed;
        let skips = |verdict: &rego_platform_gate::model::Verdict| {
            matches!(verdict.status, Status::Skipped | Status::Ignored)
        };
        let skipped =
            run.inputs.iter().flat_map(|input| &input.verdicts).filter(|verdict| skips(verdict));
        let skipped = skipped.count() as u64;
        assert!(skipped > 0);
        let summary = attest.summary(&run);
        let annotations = &summary["policy"]["annotations"];
        assert_eq!(annotations["notes"], json!(["a list was cut"]));
        let counted =
            annotations["skipped"].as_object().into_iter().flat_map(|object| object.values());
        assert_eq!(counted.filter_map(Value::as_u64).sum::<u64>(), skipped);
        assert_eq!(test_result(&run)["result"], "WARNED");
    }
}
