//! Identities' signatures in cosign's form before its version 3: certificate and log entry are annotations.

use serde_json::{Value, json};

use super::trusted::{KIND, payload};
use super::{By, DSSE, Image, REPOSITORY, SHOWS, SIMPLE, about, seen};
use crate::cli::Output;
use crate::gate::digest_of;
use crate::gate::sigstore::{Signing, Sigstore};

const RELEASE: &str = "https://ci.example=https://ci.example/acme/*";

const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const BUNDLE: &str = "dev.sigstore.cosign/bundle";
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// Fails, and says who made signatures.
const SIGNERS: &str = "package p\n\ndeny contains signer.identity if {\n\
    \tsome signature in input.signatures\n\tsome signer in signature.signers\n}\n";

fn attach(image: &Image, ending: &'static str, content: &str, annotations: &Value) {
    let kind = if ending == "sig" { SIMPLE } else { DSSE };
    let layer = image.registry.layer(kind, content.as_bytes(), annotations);
    image.registry.attach_layers((REPOSITORY, &image.digest), By::Tag(ending), vec![layer]);
}

fn gate(image: &Image, sigstore: &Sigstore, policy: &str, identity: &str) -> Output {
    let root = image.sandbox.write("root.json", sigstore.trust_root().to_string());
    image.gate_with(policy, &["--verify-identity", identity, "--trust-root", &root])
}

#[test]
fn certificates_beside_signatures_and_envelopes_verify() {
    let (image, sigstore) = (Image::new(), Sigstore::new());
    let text = payload(&image.digest, KIND);
    attach(&image, "sig", &text, &sigstore.annotated(&text, &Signing::default()));
    let signer = Signing::default().identity;
    assert_eq!(seen(gate(&image, &sigstore, SIGNERS, RELEASE)), signer);
    let (envelope, annotations) =
        sigstore.annotated_envelope(&about(&image.digest, 7), &Signing::default());
    attach(&image, "att", &envelope.to_string(), &annotations);
    assert_eq!(seen(gate(&image, &sigstore, SHOWS, RELEASE)), "{7}");
    // With a key, the key decides, whatever is beside its signature.
    let mut by_key = annotations.clone();
    by_key[SIGNATURE] = image.key.sign_bytes(text.as_bytes()).into();
    attach(&image, "sig", &text, &by_key);
    attach(&image, "att", &image.signed(8).to_string(), &json!({CERTIFICATE: "x", BUNDLE: "x"}));
    assert_eq!(seen(image.gate(SHOWS, &[])), "{8}");
    assert_eq!(
        seen(image.gate(&SIGNERS.replace("identity", "key"), &[])),
        image.sandbox.path("key.pub").to_string_lossy()
    );
}

#[test]
fn what_does_not_hold_of_them_does_not_count_and_the_reason_is_said() {
    let (image, sigstore) = (Image::new(), Sigstore::new());
    let text = payload(&image.digest, KIND);
    let another = payload(&digest_of(b"another image"), KIND);
    let sign = |text: &str, signing: Signing| sigstore.annotated(text, &signing);
    let own = sign(&text, Signing::default());
    let other = sign(&text, Signing::default());
    let of_another = sign(&another, Signing::default());
    let with = |name: &str, value: Value| {
        let mut changed = own.clone();
        changed[name] = value;
        changed
    };
    let promise = |from: &str, to: &str| {
        let bundle = own[BUNDLE].as_str().unwrap();
        assert!(bundle.contains(from), "{bundle}");
        with(BUNDLE, bundle.replacen(from, to, 1).into())
    };
    let late = Signing { at: Signing::default().at + 600, ..Signing::default() };
    let unverified = "can't verify the signature";
    let key = "invalid signature: not created with the certificate's key";
    let entry = "invalid entry of the transparency log";
    let unread = "can't read the entry of the transparency log";
    for (what, text, annotations, says) in [
        (
            "digest mismatch of the signature",
            &another,
            of_another.clone(),
            "digest mismatch of the signature",
        ),
        ("replayed", &text, of_another.clone(), key),
        ("changed", &another, own.clone(), key),
        ("signature", &text, with(SIGNATURE, other[SIGNATURE].clone()), key),
        ("certificate", &text, with(CERTIFICATE, other[CERTIFICATE].clone()), key),
        ("entry", &text, with(BUNDLE, other[BUNDLE].clone()), entry),
        ("promise", &text, promise("\"integratedTime\":", "\"integratedTime\":1"), entry),
        ("no promise", &text, with(BUNDLE, "".into()), "no entry of a transparency log"),
        ("no certificate", &text, with(CERTIFICATE, "".into()), "no certificate"),
        (
            "no PEM",
            &text,
            with(CERTIFICATE, "x".into()),
            "unexpected number of certificates: expected one in PEM",
        ),
        ("no JSON", &text, with(BUNDLE, "{".into()), unread),
        ("log", &text, promise("\"logID\":\"", "\"logID\":\"zz"), unread),
        (
            "late",
            &text,
            sign(&text, late),
            "untrusted certificate: no authority of the trust root issued it for the time of signing",
        ),
        (
            "no SCT",
            &text,
            sign(&text, Signing { has_sct: false, ..Signing::default() }),
            unverified,
        ),
        ("instance", &text, Sigstore::new().annotated(&text, &Signing::default()), entry),
        (
            "identity",
            &text,
            sign(&text, Signing { identity: "eve@example.com", ..Signing::default() }),
            "untrusted identity",
        ),
    ] {
        attach(&image, "sig", text, &annotations);
        let output = gate(&image, &sigstore, SIGNERS, RELEASE);
        assert!(output.code == Some(2) && output.stdout.contains(says), "{what}: {output:#?}");
    }
    // An entry of another form than those that can be checked: cosign's first for attestations.
    let (envelope, annotations) =
        sigstore.annotated_envelope(&about(&image.digest, 7), &Signing::default());
    let image = Image { digest: image.digest.clone(), ..Image::new() };
    image.registry.store(REPOSITORY, "v1", &[("x", "", b"layer")]);
    let mut old = annotations.clone();
    let mut bundle: Value = serde_json::from_str(old[BUNDLE].as_str().unwrap()).unwrap();
    let body = json!({"apiVersion": "0.0.1", "kind": "intoto", "spec": {}}).to_string();
    let body = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, body);
    bundle["Payload"]["body"] = body.into();
    old[BUNDLE] = bundle.to_string().into();
    attach(&image, "att", &envelope.to_string(), &old);
    gate(&image, &sigstore, SHOWS, RELEASE).fails("unsupported entry of the transparency log");
    let mut changed = envelope.clone();
    changed["payload"] = image.signed(9)["payload"].clone();
    attach(&image, "att", &changed.to_string(), &annotations);
    gate(&image, &sigstore, SHOWS, RELEASE).fails(key);
}
