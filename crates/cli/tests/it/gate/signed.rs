//! Signatures of attestations: who signed is checked before any policy sees a byte.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PublicKeyData as _,
    SignatureAlgorithm, SigningKey as _,
};
use serde_json::{Value, json};

use super::{gate, gate_with};
use crate::cli::{Output, Sandbox};

/// Payload type of in-toto statements.
const IN_TOTO: &str = "application/vnd.in-toto+json";

const POLICY: &str = "package p\n\ndeny contains \"bad\" if input.predicate.bad\n";

/// A key that signs.
pub(crate) struct Key(KeyPair);

impl Key {
    pub(crate) fn new() -> Self {
        Self::of(&PKCS_ECDSA_P256_SHA256)
    }

    pub(crate) fn ed25519() -> Self {
        Self::of(&PKCS_ED25519)
    }

    pub(super) fn p384() -> Self {
        Self::of(&PKCS_ECDSA_P384_SHA384)
    }

    fn of(algorithm: &'static SignatureAlgorithm) -> Self {
        Self(KeyPair::generate_for(algorithm).unwrap())
    }

    pub(super) fn private_pem(&self) -> String {
        self.0.serialize_pem()
    }

    /// Writes the private key into a file.
    pub(super) fn private(&self, sandbox: &Sandbox, name: &str) -> String {
        sandbox.write(name, self.private_pem())
    }

    /// Writes the public key into a file.
    pub(crate) fn public(&self, sandbox: &Sandbox, name: &str) -> String {
        sandbox.write(name, self.0.public_key_pem())
    }

    fn sign(&self, kind: &str, payload: &str) -> String {
        let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
        self.sign_bytes(signed.as_bytes())
    }

    pub(crate) fn sign_bytes(&self, bytes: &[u8]) -> String {
        STANDARD.encode(self.0.sign(bytes).unwrap())
    }
}

pub(super) fn statement(bad: bool) -> String {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "predicateType": "https://example.test/scan/v1",
        "subject": [{"name": "app", "digest": {"sha256": "a".repeat(64)}}],
        "predicate": {"bad": bad},
    })
    .to_string()
}

/// Returns an envelope with these signatures.
fn signed_with(statement: &str, signatures: &[String]) -> Value {
    let signatures: Vec<Value> = signatures.iter().map(|sig| json!({"sig": sig})).collect();
    json!({"payloadType": IN_TOTO, "payload": STANDARD.encode(statement), "signatures": signatures})
}

/// Returns an envelope that these keys signed.
pub(crate) fn envelope(statement: &str, keys: &[&Key]) -> Value {
    let signatures: Vec<String> = keys.iter().map(|key| key.sign(IN_TOTO, statement)).collect();
    signed_with(statement, &signatures)
}

fn run(sandbox: &Sandbox, document: &Value, keys: &[&str]) -> Output {
    let mut arguments = vec!["-i", "-"];
    for key in keys {
        arguments.extend(["--verify-key", key]);
    }
    gate_with(sandbox, POLICY, &arguments, &document.to_string())
}

#[test]
fn each_kind_of_key_verifies_and_the_report_names_the_signer() {
    let sandbox = Sandbox::new();
    for algorithm in [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519] {
        let key = Key::of(algorithm);
        let public = key.public(&sandbox, "key.pub");
        let report =
            run(&sandbox, &envelope(&statement(false), &[&key]), &[&public]).code(0).json();
        let der = key.0.subject_public_key_info();
        let signer = json!({"key": public, "fingerprint": super::digest_of(&der)});
        assert_eq!(report["inputs"][0]["signers"], json!([signer]), "{algorithm:?}");
        assert_eq!(report["inventory"]["signed_by"], json!({"keys": [signer], "threshold": 1}));
        assert_eq!(report["inventory"]["unverified"], false);
        run(&sandbox, &envelope(&statement(true), &[&key]), &[&public]).code(1);
    }
}

/// A key and a signature that OpenSSL made.
#[test]
fn rsa_verifies() {
    let sandbox = Sandbox::new();
    let public = sandbox.write("rsa.pub", include_str!("signed/rsa.pub"));
    let document: Value = serde_json::from_str(include_str!("signed/rsa.json")).unwrap();
    run(&sandbox, &document, &[&public]).code(0);
    let mut other = document.clone();
    other["payload"] = STANDARD.encode(statement(true)).into();
    run(&sandbox, &other, &[&public]).fails("no signature of a trusted key");
}

#[test]
fn an_envelope_has_one_payload_whatever_is_around_it() {
    let sandbox = Sandbox::new();
    let key = Key::new();
    let public = key.public(&sandbox, "key.pub");
    let own = envelope(&statement(false), &[&key]);
    let bundle = json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"publicKey": {"hint": "x"}},
        "dsseEnvelope": own,
    });
    run(&sandbox, &bundle, &[&public]).code(0);
    let mut url_safe = own.clone();
    url_safe["payload"] = URL_SAFE_NO_PAD.encode(statement(false)).into();
    run(&sandbox, &url_safe, &[&public]).code(0);
    // A name of a key is a hint that is never believed.
    let mut hinted = own;
    hinted["signatures"][0]["keyid"] = "another".into();
    run(&sandbox, &hinted, &[&public]).code(0);
}

#[test]
fn what_is_not_signed_by_a_trusted_key_has_no_verdict() {
    let sandbox = Sandbox::new();
    let (key, other) = (Key::new(), Key::new());
    let public = key.public(&sandbox, "key.pub");
    let (clean, bad) = (statement(false), statement(true));
    let own = envelope(&clean, &[&key]);
    let signature = |text: &str| signed_with(&clean, &[text.to_owned()]);
    let right = key.sign(IN_TOTO, &clean);
    let with = |name: &str, value: Value| {
        let mut changed = own.clone();
        changed[name] = value;
        changed
    };
    let trusted = "no signature of a trusted key";
    let many = vec![other.sign(IN_TOTO, &clean); 65];
    for (document, says) in [
        (envelope(&clean, &[&other]), trusted),
        (signed_with(&clean, &[key.sign(IN_TOTO, &bad)]), trusted),
        (signed_with(&clean, &[key.sign("text/plain", &clean)]), trusted),
        (signature(&right[..right.len() - 8]), trusted),
        (signature(""), trusted),
        (signature("%"), "don't conform to DSSE"),
        (with("signatures", json!([])), "no signature"),
        (with("signatures", json!({"sig": right})), "don't conform to DSSE"),
        (with("signatures", json!([right])), "don't conform to DSSE"),
        (with("payload", STANDARD.encode(&bad).into()), trusted),
        (
            with("payloadType", "application/json".into()),
            "unexpected `payloadType` of the envelope",
        ),
        (json!({"dsseEnvelope": with("payload", STANDARD.encode(&bad).into())}), trusted),
        (json!({"payloadType": IN_TOTO, "payload": own["payload"]}), "no signature"),
        (serde_json::from_str(&clean).unwrap(), "unsigned statement: expected a DSSE envelope"),
        (signed_with(&clean, &many), "too many signatures: 65"),
    ] {
        let output = run(&sandbox, &document, &[&public]).fails(says);
        assert_eq!(output.json()["outcome"], "no_verdict", "{document}");
    }
}

#[test]
fn as_many_keys_sign_as_have_to() {
    let sandbox = Sandbox::new();
    let (a, b, c) = (Key::new(), Key::of(&PKCS_ED25519), Key::new());
    let files = [a.public(&sandbox, "a.pub"), b.public(&sandbox, "b.pub")];
    let run = |document: &Value, threshold: &str| {
        let keys = ["--verify-key", &*files[0], "--verify-key", &*files[1]];
        let arguments = [&["-i", "-", "--verify-threshold", threshold][..], &keys].concat();
        gate_with(&sandbox, POLICY, &arguments, &document.to_string())
    };
    let clean = statement(false);
    run(&envelope(&clean, &[&a, &b]), "2").code(0);
    run(&envelope(&clean, &[&c, &b]), "1").code(0);
    let few = "not enough signatures of trusted keys: found 1, expected 2";
    // One key that signs twice is one key.
    run(&envelope(&clean, &[&a, &a]), "2").fails(few);
    run(&envelope(&clean, &[&a, &c]), "2").fails(few);
    run(&envelope(&clean, &[&a, &b]), "3").fails("not enough keys: expected at least 3, found 2");
}

#[test]
fn whose_signatures_are_needed_is_said_and_recorded() {
    let sandbox = Sandbox::new();
    // The kind is the vendor's.
    let own =
        statement(false).replace("https://example.test/scan/v1", "chainloop.dev/attestation/v0.2");
    let input = sandbox.write("in.json", own);
    for arguments in [&["--attestation"][..], &["--kind", "ATTESTATION"]] {
        let arguments = [&["-i", &*input][..], arguments].concat();
        gate(&sandbox, POLICY, &arguments).fails("no signer of the attestations is configured");
        let taken = gate(&sandbox, POLICY, &[&arguments[..], &["--unverified"]].concat()).code(0);
        assert_eq!(taken.json()["inventory"]["unverified"], true);
    }
    gate(&sandbox, POLICY, &["-i", &input, "--unverified"]).fails("no input is an attestation");
}

#[test]
fn a_file_that_is_no_public_key_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let (key, input) = (Key::new(), sandbox.write("in.json", "{}"));
    let pem = key.0.public_key_pem();
    let other_curve = include_str!("signed/secp256k1.pub");
    for (text, says) in [
        (String::new(), "no public key in PEM"),
        (key.0.serialize_pem(), "no public key in PEM"),
        (pem.replace('M', "!"), "can't read the public key"),
        (format!("{pem}{pem}"), "more than one public key"),
        (other_curve.to_owned(), "unsupported algorithm of the public key in"),
        (include_str!("signed/rsa-1024.pub").to_owned(), "key.pub`: 1024 bits"),
        (include_str!("signed/rsa-2047.pub").to_owned(), "key.pub`: 2047 bits"),
        (include_str!("signed/rsa-9216.pub").to_owned(), "key.pub`: 9216 bits"),
    ] {
        let file = sandbox.write("key.pub", text);
        let output = gate(&sandbox, POLICY, &["-i", &input, "--verify-key", &file]).fails(says);
        assert!(output.stderr.contains("key.pub"), "{}", output.stderr);
    }
    let (one, same) = (sandbox.write("one.pub", &pem), sandbox.write("same.pub", &pem));
    let twice = ["-i", &input, "--verify-key", &one, "--verify-key", &same];
    gate(&sandbox, POLICY, &twice).fails("duplicate key");
    gate(&sandbox, POLICY, &["-i", &input, "--verify-key", "/nonexistent"]).fails("doesn't exist");
}

#[test]
fn a_policy_knows_who_signed_its_input() {
    let sandbox = Sandbox::new();
    let (build, scan) = (Key::new(), Key::of(&PKCS_ED25519));
    let files = [build.public(&sandbox, "build.pub"), scan.public(&sandbox, "scan.pub")];
    let policy = "package p\n\ndeny contains \"the scanner didn't sign\" if not is_scanned\n\n\
        is_scanned if {\n\tsome signer in data.attestation.signers\n\tendswith(signer.key, \"scan.pub\")\n\tstartswith(signer.fingerprint, \"sha256:\")\n}\n";
    let keys = ["--verify-key", &*files[0], "--verify-key", &*files[1]];
    let run = |document: &Value, options: &[&str]| {
        let arguments = [&["-i", "-"][..], options].concat();
        gate_with(&sandbox, policy, &arguments, &document.to_string())
    };
    let clean = statement(false);
    run(&envelope(&clean, &[&scan]), &keys).code(0);
    run(&envelope(&clean, &[&build, &scan]), &keys).code(0);
    run(&envelope(&clean, &[&build]), &keys).code(1);
    // What says nothing about its signers can't pass.
    let unknown = "no value of `data.attestation.signers` for this input";
    run(&envelope(&clean, &[&scan]), &["--attestation", "--unverified"]).fails(unknown);
    run(&json!({}), &[]).fails(unknown);
    gate(&sandbox, policy, &[]).fails(unknown);
}
