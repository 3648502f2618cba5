//! What counts of that which is attached to an image.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{By, DSSE, Image, REPOSITORY, SHOWS, SIMPLE, about, seen};
use crate::gate::digest_of;
use crate::gate::signed::{Key, envelope};
use crate::gate::sigstore::{Signing, Sigstore, V03};

/// Passes whatever it is given.
const PASSES: &str = "package p\n\ndeny := set()\n";

const SBOM: &str = "application/vnd.cyclonedx+json";

/// Returns the payload of a signature of an image.
pub(in crate::remote) fn payload(digest: &str, kind: &str) -> String {
    let image = json!({"docker-manifest-digest": digest});
    let critical = json!({"identity": {"docker-reference": "app"}, "image": image, "type": kind});
    json!({"critical": critical, "optional": null}).to_string()
}

pub(in crate::remote) const KIND: &str = "cosign container image signature";

/// Returns documents that don't count about an image, each with the reason.
fn refused(image: &Image) -> Vec<(String, &'static str)> {
    let (other, untrusted) = (Key::new(), "no signature of a trusted key");
    let signed = |statement: &str| envelope(statement, &[&image.key]).to_string();
    let with = |name: &str, value: Value| {
        let mut changed = image.signed(1);
        changed[name] = value;
        changed.to_string()
    };
    let another = "subject mismatch: no subject of the statement has the image's digest";
    let upper = image.digest.to_uppercase();
    let without_subject = json!({
        "_type": "https://in-toto.io/Statement/v1", "subject": [], "predicate": {"number": 3},
    });
    vec![
        (envelope(&about(&image.digest, 1), &[&other]).to_string(), untrusted),
        (with("payload", STANDARD.encode(about(&image.digest, 2)).into()), untrusted),
        (with("payloadType", "text/plain".into()), "unexpected `payloadType` of the envelope"),
        (with("signatures", json!([])), "no signature"),
        (about(&image.digest, 1), "unsigned statement: expected a DSSE envelope"),
        // Replayed: it was signed about another image.
        (signed(&about(&digest_of(b"another image"), 1)), another),
        (signed(&about(&upper, 1)), another),
        (signed(&without_subject.to_string()), another),
        (format!("{0}{0}", image.signed(1)), "expected one JSON document"),
        (
            format!("[{}]", image.signed(1)),
            "not an attestation: expected a DSSE envelope or an in-toto statement",
        ),
        (image.signed(1).to_string().replacen('{', "{\"payload\": \"\",", 1), "appears twice"),
        (image.signed(1).to_string().replace('}', ""), "1:"),
        (String::new(), "expected one JSON document"),
    ]
}

#[test]
fn what_isnt_signed_for_this_image_by_a_trusted_key_is_seen_by_no_policy() {
    for index in 0..refused(&Image::new()).len() {
        let image = Image::new();
        let (document, says) = refused(&image).swap_remove(index);
        image.attach(By::Referrers, &document);
        // Alone, it isn't the same as nothing.
        let output = image.gate(PASSES, &[]).fails(says);
        assert_eq!(output.json()["outcome"], "no_verdict", "{document}");
        // Beside one that counts, it is counted and named.
        image.attest(By::Tag("att"), 5);
        let report = image.gate(SHOWS, &[]).code(1).json();
        assert_eq!(report["inputs"][0]["verdicts"][0]["violations"][0]["message"], "{5}");
        let left = &report["inventory"]["inputs"][0]["left_out"][0];
        assert_eq!(left["path"], digest_of(document.as_bytes()));
        assert!(left["reason"].as_str().unwrap().contains(says), "{left}");
        let note = report["notes"][0].as_str().unwrap();
        assert!(note.starts_with("attached artifact of") && note.contains(says), "{note}");
        image.gate(PASSES, &["--fail-on-notes"]).fails(says);
        let strict = "package p\n\ndeny contains one if some one in input.untrusted\n";
        let report = image.gate(strict, &[]).code(1).json();
        let violation = &report["inputs"][0]["verdicts"][0]["violations"][0];
        assert_eq!(violation["message"], digest_of(document.as_bytes()));
    }
}

#[test]
fn an_image_about_which_nothing_is_there_is_one_that_policies_judge() {
    let image = Image::new();
    let policy = "package p\n\ndeny contains \"no attestation\" if count(input.attestations) == 0\n\n\
        deny contains \"something\" if count(input.untrusted) + count(input.signatures) > 0\n";
    let report = image.gate(policy, &[]).code(1).json();
    let violations = report["inputs"][0]["verdicts"][0]["violations"].as_array().unwrap();
    assert!(violations.len() == 1 && violations[0]["message"] == "no attestation", "{report}");
    assert_eq!(report["inputs"][0]["evidence"], json!([]));
    image.gate_with(PASSES, &[]).fails("no signer of the attestations is configured");
}

#[test]
fn identities_sign_for_an_image_as_keys_do() {
    let (image, sigstore) = (Image::new(), Sigstore::new());
    let root = image.sandbox.write("root.json", sigstore.trust_root().to_string());
    let bundle = sigstore.sign(&about(&image.digest, 3), &Signing::default()).to_string();
    let layer = (V03, bundle.as_bytes(), "");
    image.registry.attach((REPOSITORY, &image.digest), By::Referrers, &[layer]);
    let gate = |identity: &str, more: &[&str]| {
        let identity = ["--verify-identity", identity, "--trust-root", &root];
        image.gate_with(SHOWS, &[&identity, more].concat())
    };
    let own = "https://ci.example=https://ci.example/acme/*";
    assert_eq!(seen(gate(own, &[])), "{3}");
    gate("https://ci.example=*/other", &[]).fails("untrusted identity");
    image.attest(By::Tag("att"), 4);
    assert_eq!(seen(gate(own, &[])), "{3}");
    let key = image.key.public(&image.sandbox, "key.pub");
    assert_eq!(seen(gate(own, &["--verify-key", &key])), "{3, 4}");
}

#[test]
fn each_attestation_needs_as_many_keys_as_have_to_sign() {
    let image = Image::new();
    let second = Key::ed25519();
    let other = second.public(&image.sandbox, "second.pub");
    let both = envelope(&about(&image.digest, 2), &[&image.key, &second]).to_string();
    image.attest(By::Referrers, 1);
    image.attach(By::Referrers, &both);
    let threshold = ["--verify-key", &*other, "--verify-threshold", "2"];
    assert_eq!(seen(image.gate(SHOWS, &threshold)), "{2}");
    assert_eq!(seen(image.gate(SHOWS, &threshold[..2])), "{1, 2}");
    // Signatures of one image by two people are two signatures of one text.
    let text = payload(&image.digest, KIND);
    let signed = |key: &Key| key.sign_bytes(text.as_bytes());
    let (one, two) = (signed(&image.key), signed(&second));
    let layers = [(SIMPLE, text.as_bytes(), &*one), (SIMPLE, text.as_bytes(), &*two)];
    image.registry.attach((REPOSITORY, &image.digest), By::Tag("sig"), &layers);
    let policy = "package p\n\ndeny contains sprintf(\"%v\", [count(signature.signers)]) if {\n\
        \tsome signature in input.signatures\n}\n";
    assert_eq!(seen(image.gate(policy, &threshold)), "2");
    assert_eq!(seen(image.gate(policy, &[])), "1");
}

#[test]
fn a_signature_of_cosign_is_of_this_image_and_a_trusted_key() {
    let other = Key::new();
    let policy = "package p\n\ndeny contains signature.payload.critical.type if {\n\
        \tsome signature in input.signatures\n}\n";
    let attach = |image: &Image, text: &str, signature: &str| {
        let layer = (SIMPLE, text.as_bytes(), signature);
        image.registry.attach((REPOSITORY, &image.digest), By::Tag("sig"), &[layer]);
    };
    let image = Image::new();
    let own = payload(&image.digest, KIND);
    attach(&image, &own, &image.key.sign_bytes(own.as_bytes()));
    assert_eq!(seen(image.gate(policy, &[])), KIND);
    let another = payload(&digest_of(b"another image"), KIND);
    for (text, signer, says) in [
        (&own, Some(&other), "no signature of a trusted key"),
        (&own, None, "no signature"),
        (&another, Some(&image.key), "digest mismatch of the signature"),
        (&payload(&image.digest, "atomic"), Some(&image.key), "unexpected type of the signature"),
        (&"{}".to_owned(), Some(&image.key), "unexpected type of the signature"),
    ] {
        let signature = signer.map(|key| key.sign_bytes(text.as_bytes())).unwrap_or_default();
        attach(&image, text, &signature);
        image.gate(PASSES, &[]).fails(says);
    }
    attach(&image, &own, "%");
    image.gate(PASSES, &[]).fails("base64");
    // An envelope's signature isn't one of its bytes, and the other way round.
    let signed = image.signed(1);
    attach(&image, &about(&image.digest, 1), signed["signatures"][0]["sig"].as_str().unwrap());
    image.gate(PASSES, &[]).fails("no signature of a trusted key");
    let identity = ["--verify-identity", "https://ci.example=*"];
    image.gate_with(PASSES, &identity).fails("not signed by an identity: no certificate");
}

#[test]
fn what_has_no_envelope_is_taken_from_anyone_or_not_at_all() {
    let image = Image::new();
    let bom = br#"{"bomFormat": "CycloneDX"}"#;
    let subject = (REPOSITORY, &*image.digest);
    image.registry.attach(subject, By::Tag("sbom"), &[(SBOM, bom, "")]);
    image.gate(PASSES, &[]).fails("unsigned SBOM: expected a DSSE envelope");
    let policy = "package p\n\ndeny contains sbom.document.bomFormat if some sbom in input.sboms\n\n\
        deny contains \"signed\" if input.attestations[_].signers\n";
    let output = image.gate_with(policy, &["--unverified"]);
    assert_eq!(output.json()["inventory"]["unverified"], true);
    assert_eq!(seen(output), "CycloneDX");
    // Those who sign can be anyone, but about another image nothing is said.
    image.attach(By::Referrers, &about(&image.digest, 1));
    image.attach(By::Referrers, &about(&digest_of(b"another image"), 2));
    assert_eq!(seen(image.gate_with(SHOWS, &["--unverified"])), "{1}");
    let report = image.gate_with(PASSES, &["--unverified"]).code(0).json();
    let report = image.sandbox.write("gate.json", report.to_string());
    super::run(&image.sandbox, &["attest", &report]).fails("the signatures of the attestations");
}

#[test]
fn what_isnt_read_is_listed_and_not_fetched() {
    let image = Image::new();
    let subject = (REPOSITORY, &*image.digest);
    image.attest(By::Referrers, 1);
    let layers: [(&str, &[u8], &str); 3] =
        [("application/jose+json", b"x", ""), ("text/spdx", b"SPDX", ""), (DSSE, b"{}", "")];
    image.registry.attach(subject, By::Referrers, &layers);
    let report = image.gate(PASSES, &[]).code(0).json();
    let account = &report["inventory"]["inputs"][0];
    assert_eq!((&account["found"], &account["taken"]), (&json!(4), &json!(1)));
    let left: Vec<_> = account["left_out"].as_array().unwrap().iter().collect();
    for (content, says) in [
        (&b"x"[..], "unsupported artifact type `application/jose+json`"),
        (b"SPDX", "unsupported artifact type `text/spdx`"),
        (b"{}", "not an attestation: expected a DSSE envelope or an in-toto statement"),
    ] {
        let is_it = |left: &&&Value| left["path"] == digest_of(content);
        let reason = left.iter().find(is_it).unwrap()["reason"].as_str().unwrap();
        assert!(reason.contains(says), "{reason}");
    }
    let fetched = |content: &[u8]| {
        let path = format!("/blobs/{}", digest_of(content));
        image.registry.server.requests().iter().any(|request| request.path().ends_with(&path))
    };
    assert!(!fetched(b"x") && !fetched(b"SPDX") && fetched(b"{}") && !fetched(b"layer"));
}
