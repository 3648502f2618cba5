//! Signatures of attestations by identities: certificates and logs of a Sigstore instance of the test.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::signed::{Key, envelope, statement};
use super::sigstore::{BEGIN, Log, Signing, Sigstore, V01, V02, V03};
use super::{gate, gate_with};
use crate::cli::{Output, Sandbox};

const POLICY: &str = "package p\n\ndeny contains \"bad\" if input.predicate.bad\n";

const RELEASE: &str = "https://ci.example=https://ci.example/acme/app/release.yml@refs/tags/*";

/// What says that somebody else signed.
const OTHER: &str = "untrusted identity";

/// What says that it isn't known who signed.
const UNVERIFIED: &str = "can't verify the signature";

fn run(sandbox: &Sandbox, sigstore: &Sigstore, document: &Value, identity: &str) -> Output {
    let root = sandbox.write("root.json", sigstore.trust_root().to_string());
    let arguments = ["-i", "-", "--verify-identity", identity, "--trust-root", &root];
    gate_with(sandbox, POLICY, &arguments, &document.to_string())
}

/// Returns a signer without claims about a CI job, at the time that the log states.
fn signer(signing: &Signing) -> Value {
    json!({
        "issuer": signing.issuer, "identity": signing.identity,
        "signed_at": "2025-01-01T00:05:00Z", "signed_at_source": "rekor",
        "claims": {"issuer": signing.issuer},
    })
}

#[test]
fn policies_see_the_time_and_the_claims_of_a_signer() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    let root = sandbox.write("root.json", sigstore.trust_root().to_string());
    let show = |signing: &Signing, rule: &str| {
        let policy =
            format!("package p\n\nsigner := data.attestation.signers[0]\n\ndeny contains {rule}\n");
        let document = sigstore.sign(&statement(false), signing).to_string();
        let arguments = ["-i", "-", "--verify-identity", RELEASE, "--trust-root", &root];
        gate_with(&sandbox, &policy, &arguments, &document)
    };
    let message = |output: Output| -> Value {
        let report = output.code(1).json();
        let verdict = &report["inputs"][0]["verdicts"][0];
        serde_json::from_str(verdict["violations"][0]["message"].as_str().unwrap()).unwrap()
    };
    let claims = Signing {
        claims: &[
            (9, "https://ci.example/acme/shared/build.yml@refs/heads/main"),
            (11, "self-hosted"),
            (12, "https://ci.example/acme/app"),
            (13, "0123abc"),
            (14, "refs/tags/v1"),
            (18, "https://ci.example/acme/app/release.yml@refs/tags/v1"),
            (20, "push"),
            (21, "https://ci.example/acme/app/runs/7"),
        ],
        ..Signing::default()
    };
    let expected = json!({
        "issuer": "https://ci.example",
        "signer_workflow": "https://ci.example/acme/shared/build.yml@refs/heads/main",
        "workflow": "https://ci.example/acme/app/release.yml@refs/tags/v1",
        "runner_environment": "self-hosted",
        "repository": "https://ci.example/acme/app",
        "commit": "0123abc",
        "ref": "refs/tags/v1",
        "trigger": "push",
        "run": "https://ci.example/acme/app/runs/7",
    });
    assert_eq!(message(show(&claims, "json.marshal(signer.claims)")), expected);
    // Certificates before the neutral names.
    let older = Signing {
        claims: &[(2, "release"), (3, "0123abc"), (6, "refs/tags/v1")],
        ..Signing::default()
    };
    let expected = json!({
        "issuer": "https://ci.example", "trigger": "release", "commit": "0123abc", "ref": "refs/tags/v1",
    });
    assert_eq!(message(show(&older, "json.marshal(signer.claims)")), expected);
    // The time of a log that states one, or of the timestamp authority.
    let time = "json.marshal([signer.signed_at, signer.signed_at_source])";
    let logged = message(show(&Signing::default(), time));
    assert_eq!(logged, json!(["2025-01-01T00:05:00Z", "rekor"]));
    let stamped =
        Signing { log: Log::Second, stamp: Some("20250101000200Z"), ..Signing::default() };
    assert_eq!(message(show(&stamped, time)), json!(["2025-01-01T00:02:00Z", "rfc3161"]));
    // What a certificate doesn't claim can't be compared with.
    show(&Signing::default(), "\"x\" if signer.claims.trigger != \"push\"")
        .fails("missing member: neither the gate nor the service set");
}

#[test]
fn each_version_of_a_bundle_verifies_and_the_report_names_the_signer() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    for version in [V01, V02, V03] {
        let signing = Signing { version, ..Signing::default() };
        let good = sigstore.sign(&statement(false), &signing);
        let report = run(&sandbox, &sigstore, &good, RELEASE).code(0).json();
        assert_eq!(report["inputs"][0]["signers"], json!([signer(&signing)]), "{version}");
        let signed_by = &report["inventory"]["signed_by"];
        let (issuer, identity) = RELEASE.split_once('=').unwrap();
        assert_eq!(signed_by["identities"], json!([{"issuer": issuer, "identity": identity}]));
        let root = sigstore.trust_root().to_string();
        assert_eq!(signed_by["trust_root"]["digest"], super::digest_of(root.as_bytes()));
        let bad = sigstore.sign(&statement(true), &signing);
        run(&sandbox, &sigstore, &bad, RELEASE).code(1);
    }
}

#[test]
fn an_identity_is_matched_as_a_whole_and_its_issuer_exactly() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    let workflow = sigstore.sign(&statement(false), &Signing::default());
    let mail = Signing { identity: "jane@example.com", ..Signing::default() };
    let mail = sigstore.sign(&statement(false), &mail);
    for (document, identity) in [
        (&workflow, "https://ci.example=https://ci.example/acme/app/release.yml@refs/tags/v1"),
        (&workflow, "https://ci.example=*"),
        (&mail, "https://ci.example=jane@example.com"),
        (&mail, "https://ci.example=*@example.com"),
    ] {
        run(&sandbox, &sigstore, document, identity).code(0);
    }
    for (document, identity) in [
        (&workflow, "https://ci.example=https://ci.example/acme/app/release.yml"),
        (&workflow, "https://ci.example=https://ci.example/acme/other/*"),
        (&workflow, "https://ci.example=release"),
        (&workflow, "https://ci.example/=https://ci.example/acme/*"),
        (&workflow, "https://ci.*=*"),
        (&workflow, "*=*"),
        (&mail, "https://ci.example=*@example.org"),
        (&mail, "https://ci.example=JANE@example.com"),
        (&mail, "https://ci.example=j?ne@example.com"),
    ] {
        let output = run(&sandbox, &sigstore, document, identity).fails(OTHER);
        assert!(output.stdout.contains("issuer `https://ci.example`"), "{}", output.stdout);
    }
}

/// Returns a bundle in which the value at a pointer is another.
fn with(bundle: &Value, pointer: &str, value: impl Into<Value>) -> Value {
    let mut changed = bundle.clone();
    *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value.into();
    changed
}

/// Returns a bundle without a field.
fn without(bundle: &Value, pointer: &str, field: &str) -> Value {
    let mut changed = bundle.clone();
    let object = changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
    object.remove(field).unwrap_or_else(|| panic!("{pointer}/{field}"));
    changed
}

const ENTRY: &str = "/verificationMaterial/tlogEntries/0";

#[test]
fn what_cannot_be_verified_has_no_verdict_and_the_reason_is_said() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    let (clean, bad) = (statement(false), statement(true));
    let sign = |signing: Signing| sigstore.sign(&clean, &signing);
    let own = sign(Signing::default());
    let other = sigstore.sign(&bad, &Signing::default());
    let at = |pointer: &str| other.pointer(pointer).unwrap().clone();
    let material = "/verificationMaterial";
    let signature = "/dsseEnvelope/signatures/0/sig";
    let right = own.pointer(signature).unwrap().as_str().unwrap().to_owned();
    let entry = "invalid entry of the transparency log";
    let key = "invalid signature: not created with the certificate's key";
    let chain =
        "untrusted certificate: no authority of the trust root issued it for the time of signing";
    let time = "no proof of the time of signing";
    let broken = "no Sigstore bundle";
    let unusable = "unusable bundle";
    let mut unexpected = Vec::new();
    for (what, document, reason) in [
        ("payload", with(&own, "/dsseEnvelope/payload", at("/dsseEnvelope/payload")), key),
        ("signature", with(&own, signature, at(signature)), key),
        ("truncated signature", with(&own, signature, &right[..right.len() - 8]), key),
        (
            "certificate",
            with(
                &own,
                "/verificationMaterial/certificate",
                at("/verificationMaterial/certificate"),
            ),
            key,
        ),
        ("envelope", with(&own, "/dsseEnvelope", at("/dsseEnvelope")), key),
        ("entry", with(&own, ENTRY, at(ENTRY)), entry),
        ("material", with(&own, material, at(material)), key),
        (
            "body",
            with(
                &own,
                &format!("{ENTRY}/canonicalizedBody"),
                at(&format!("{ENTRY}/canonicalizedBody")),
            ),
            entry,
        ),
        (
            "promise",
            with(
                &own,
                &format!("{ENTRY}/inclusionPromise"),
                at(&format!("{ENTRY}/inclusionPromise")),
            ),
            entry,
        ),
        ("time", with(&own, &format!("{ENTRY}/integratedTime"), (BEGIN + 301).to_string()), entry),
        ("no proof", without(&own, ENTRY, "inclusionProof"), unusable),
        (
            "proof",
            with(&own, &format!("{ENTRY}/inclusionProof"), at(&format!("{ENTRY}/inclusionProof"))),
            entry,
        ),
        (
            "no checkpoint",
            without(&own, &format!("{ENTRY}/inclusionProof"), "checkpoint"),
            unusable,
        ),
        ("no entry of a transparency log", without(&own, ENTRY, "inclusionPromise"), time),
        ("no time", without(&own, ENTRY, "integratedTime"), time),
        ("no entry", with(&own, "/verificationMaterial/tlogEntries", json!([])), unusable),
        ("no entries", without(&own, material, "tlogEntries"), unusable),
        ("late", sign(Signing { at: BEGIN + 601, ..Signing::default() }), chain),
        ("early", sign(Signing { at: BEGIN - 1, ..Signing::default() }), chain),
        ("usage", sign(Signing { is_for_code: false, ..Signing::default() }), chain),
        (
            "no SCT",
            sign(Signing { has_sct: false, ..Signing::default() }),
            "no proof of the certificate in a certificate transparency log",
        ),
        ("type", sign(Signing { payload_type: "text/plain", ..Signing::default() }), key),
        ("instance", Sigstore::new().sign(&clean, &Signing::default()), entry),
        ("no material", without(&own, "", "verificationMaterial"), broken),
        (
            "media type",
            with(&own, "/mediaType", "application/vnd.dev.sigstore.bundle.v9+json"),
            broken,
        ),
        (
            "two signatures",
            with(&own, "/dsseEnvelope/signatures", json!([{"sig": right}, {"sig": right}])),
            "expected 1, found 2",
        ),
        ("base64", with(&own, "/verificationMaterial/certificate/rawBytes", "%"), broken),
        (
            "certificate's bytes",
            with(&own, "/verificationMaterial/certificate/rawBytes", "AAAA"),
            chain,
        ),
        ("kind", with(&own, &format!("{ENTRY}/kindVersion/kind"), "other"), broken),
        ("no media type", without(&own, "", "mediaType"), broken),
        ("log", with(&own, &format!("{ENTRY}/logId/keyId"), STANDARD.encode([0; 32])), entry),
        ("index", with(&own, &format!("{ENTRY}/inclusionProof/logIndex"), "1"), unusable),
        ("size", with(&own, &format!("{ENTRY}/inclusionProof/treeSize"), "2"), entry),
        (
            "snake case",
            {
                let mut changed = without(&own, "", "verificationMaterial");
                changed["verification_material"] = own["verificationMaterial"].clone();
                changed
            },
            broken,
        ),
        (
            "many",
            with(&own, &format!("{material}/tlogEntries"), vec![at(ENTRY); 9]),
            "too many log entries in the bundle: 9",
        ),
        ("large", with(&own, material, json!({"certificate": "A".repeat(1 << 20)})), "too large"),
    ] {
        let output = run(&sandbox, &sigstore, &document, RELEASE);
        let said = output.json()["causes"].to_string();
        let is_as_expected = output.code == Some(2)
            && said.contains(&format!("{UNVERIFIED}: "))
            && said.contains(reason);
        unexpected.extend((!is_as_expected).then(|| format!("{what}: {said}")));
    }
    assert_eq!(unexpected, Vec::<String>::new());
}

#[test]
fn what_no_identity_signed_is_told_from_what_is_not_signed() {
    let (sandbox, sigstore, key) = (Sandbox::new(), Sigstore::new(), Key::new());
    let clean = statement(false);
    let signed = envelope(&clean, &[&key]);
    let bundle = json!({
        "mediaType": V03,
        "verificationMaterial": {"publicKey": {"hint": "x"}, "tlogEntries": []},
        "dsseEnvelope": signed,
    });
    let own = sigstore.sign(&clean, &Signing::default());
    for (document, says) in [
        (serde_json::from_str(&clean).unwrap(), "unsigned statement: expected a DSSE envelope"),
        (with(&own, "/dsseEnvelope/signatures", json!([])), "no signature in the envelope"),
        (own["dsseEnvelope"].clone(), "not signed by an identity: no Sigstore bundle"),
        (signed, "not signed by an identity: no Sigstore bundle"),
        (bundle, "not signed by an identity: no certificate in the bundle"),
    ] {
        run(&sandbox, &sigstore, &document, RELEASE).fails(says);
    }
}

#[test]
fn a_key_or_an_identity_signs() {
    let (sandbox, sigstore, key) = (Sandbox::new(), Sigstore::new(), Key::new());
    let root = sandbox.write("root.json", sigstore.trust_root().to_string());
    let public = key.public(&sandbox, "key.pub");
    // A key has no identity, so it is looked up with a default.
    let policy = "package p\n\ndeny contains identity if {\n\tsome signer in data.attestation.signers\n\tidentity := object.get(signer, \"identity\", false)\n\tidentity\n}\n";
    let run = |document: &Value, more: &[&str]| {
        let either = ["--verify-key", &public, "--verify-identity", RELEASE, "--trust-root", &root];
        let arguments = [&["-i", "-"][..], &either, more].concat();
        gate_with(&sandbox, policy, &arguments, &document.to_string())
    };
    let clean = statement(false);
    run(&envelope(&clean, &[&key]), &[]).code(0);
    let bundle = sigstore.sign(&clean, &Signing::default());
    let output = run(&bundle, &[]).code(1);
    assert!(output.stdout.contains(Signing::default().identity), "{}", output.stdout);
    let neither =
        run(&envelope(&clean, &[&Key::new()]), &[]).fails("no signature of a trusted key");
    assert!(
        neither.stdout.contains("not signed by an identity: no Sigstore bundle"),
        "{}",
        neither.stdout
    );
    let threshold = ["--verify-threshold", "1"];
    run(&bundle, &threshold).fails("cannot be used with");
}

#[test]
fn what_is_no_identity_or_trust_root_is_refused_by_name() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    let input = sandbox.write("in.json", "{}");
    for identity in ["jane@example.com", "=x", "https://ci.example=", ""] {
        let arguments = ["-i", &input, "--verify-identity", identity];
        gate(&sandbox, POLICY, &arguments).fails("invalid identity");
    }
    let own = sigstore.trust_root();
    let authority = "/certificateAuthorities/0/certChain/certificates/0/rawBytes";
    for (text, says) in [
        (String::new(), "is empty"),
        ("{".to_owned(), "can't be read"),
        ("{}".to_owned(), "can't be read"),
        (with(&own, "/certificateAuthorities", json!([])).to_string(), "no certificate authority"),
        (with(&own, authority, "AAAA").to_string(), "can't be used"),
        (own.to_string().repeat(17), "more than 16"),
    ] {
        let root = sandbox.write("root.json", text);
        let arguments = ["-i", &input, "--verify-identity", RELEASE, "--trust-root", &root];
        let output = gate(&sandbox, POLICY, &arguments).fails(says);
        assert!(output.stderr.contains("root.json"), "{}", output.stderr);
    }
    gate(&sandbox, POLICY, &["-i", &input, "--trust-root", "x"]).fails("--verify-identity");
    let both = ["-i", &input, "--verify-identity", RELEASE, "--unverified"];
    gate(&sandbox, POLICY, &both).fails("cannot be used with");
}

#[test]
fn one_of_several_trust_roots_is_enough() {
    let (sandbox, ours, theirs) = (Sandbox::new(), Sigstore::new(), Sigstore::new());
    let lines = format!("{}\n{}\n", theirs.trust_root(), ours.trust_root());
    let root = sandbox.write("roots.jsonl", lines);
    let run = |document: &Value| {
        let arguments = ["-i", "-", "--verify-identity", RELEASE, "--trust-root", &root];
        gate_with(&sandbox, POLICY, &arguments, &document.to_string())
    };
    for instance in [&ours, &theirs] {
        run(&instance.sign(&statement(false), &Signing::default())).code(0);
    }
    run(&Sigstore::new().sign(&statement(false), &Signing::default())).fails(UNVERIFIED);
    // The root of sigstore.dev is built in, and another instance isn't trusted.
    let document = ours.sign(&statement(false), &Signing::default()).to_string();
    gate_with(&sandbox, POLICY, &["-i", "-", "--verify-identity", RELEASE], &document)
        .fails(UNVERIFIED);
}

#[test]
fn a_statement_about_a_run_names_who_signed_its_inputs() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    let signing = Signing::default();
    let run = run(&sandbox, &sigstore, &sigstore.sign(&statement(false), &signing), RELEASE);
    let report = sandbox.write("report.json", run.code(0).stdout);
    let vsa = ["--as", "vsa", "--verifier", "https://ci.example", "--resource", "pkg:oci/app"];
    for (form, pointer) in [
        (&[][..], "/predicate/configuration/1/annotations"),
        (&vsa[..], "/predicate/policy/annotations"),
    ] {
        let statement = sandbox.run(&[&["attest", &report], form].concat()).output().code(0).json();
        let annotations = statement.pointer(pointer).unwrap();
        assert_eq!(annotations["signers"], json!({"<stdin>": [signer(&signing)]}));
        assert_eq!(annotations["signedBy"]["threshold"], 1);
    }
}

/// Returns what `gh attestation verify --format json` prints of bundles: its own opinion isn't asked.
fn verified_by_gh(bundles: &[Value]) -> Value {
    let statement: Value = serde_json::from_str(&statement(false)).unwrap();
    let verified = |bundle: &Value| {
        json!({
            "attestation": {"bundle": bundle, "bundle_url": "https://github.example", "initiator": "user"},
            "verificationResult": {"statement": statement, "verifiedIdentity": {}},
        })
    };
    bundles.iter().map(verified).collect()
}

#[test]
fn what_gh_verified_is_verified_anew_and_each_attestation_is_an_input() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    let run = |document: &Value| run(&sandbox, &sigstore, document, RELEASE);
    let good = sigstore.sign(&statement(false), &Signing::default());
    let bad = sigstore.sign(&statement(true), &Signing::default());
    let forged = Sigstore::new().sign(&statement(false), &Signing::default());
    let outcomes = |output: &Output| super::outcomes(&output.json());
    let named = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter().map(|(name, outcome)| ((*name).to_owned(), (*outcome).to_owned())).collect()
    };
    let one = run(&verified_by_gh(std::slice::from_ref(&good))).code(0);
    assert_eq!(outcomes(&one), named(&[("<stdin>", "passed")]));
    let two = run(&verified_by_gh(&[good.clone(), bad])).code(1);
    assert_eq!(outcomes(&two), named(&[("<stdin>#1", "passed"), ("<stdin>#2", "failed")]));
    let forged = run(&verified_by_gh(&[good.clone(), forged])).fails("can't verify the signature");
    assert_eq!(outcomes(&forged), named(&[("<stdin>#1", "passed"), ("<stdin>#2", "no_verdict")]));
    // Bundles alone, in an array or one a line.
    run(&json!([good, good])).code(0);
    let both =
        with(&verified_by_gh(std::slice::from_ref(&good)), "/0/attestation/bundle", json!(null));
    for (document, says) in [
        (json!([]), "no attestation: the array is empty"),
        (json!([[good]]), "not an attestation"),
        (json!([good, 1]), "not an attestation"),
        (json!([{"attestation": {}}]), "missing member `bundle`"),
        (json!([{"attestation": {"bundle": good}, "payload": ""}]), "ambiguous attestation"),
        (both, "not an attestation"),
    ] {
        run(&document).fails(says);
    }
}

const IN_TIME: Option<&str> = Some("20250101000500Z");
const TOO_LATE: Option<&str> = Some("20250101001001Z");

#[test]
fn a_timestamp_authority_states_the_time_too() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    let run = |document: &Value| run(&sandbox, &sigstore, document, RELEASE);
    let sign = |log: Log, stamp: Option<&'static str>| {
        sigstore.sign(&statement(false), &Signing { log, stamp, ..Signing::default() })
    };
    let second = sign(Log::Second, IN_TIME);
    run(&second).code(0);
    run(&sign(Log::First, IN_TIME)).code(0);
    let stamps = "/verificationMaterial/timestampVerificationData/rfc3161Timestamps";
    let stamp = format!("{stamps}/0/signedTimestamp");
    let of_another = sign(Log::Second, IN_TIME).pointer(&stamp).unwrap().clone();
    let theirs = Sigstore::new();
    let theirs = theirs.sign(&statement(false), &Signing { stamp: IN_TIME, ..Signing::default() });
    let time = "no proof of the time of signing";
    let late =
        "untrusted certificate: no authority of the trust root issued it for the time of signing";
    for (document, reason) in [
        (sign(Log::Second, None), time),
        (with(&second, stamps, json!([])), time),
        (with(&second, &stamp, of_another), time),
        (with(&second, &stamp, theirs.pointer(&stamp).unwrap().clone()), time),
        (with(&second, &stamp, "AAAA"), time),
        // One wrong time is one too many.
        (sign(Log::First, TOO_LATE), late),
        (sign(Log::Second, TOO_LATE), late),
        (sign(Log::None, IN_TIME), "unusable bundle"),
        (without(&second, ENTRY, "inclusionProof"), "unusable bundle"),
    ] {
        let output = run(&document).fails(reason);
        assert!(output.stdout.contains(UNVERIFIED), "{}", output.stdout);
    }
}

#[test]
fn what_a_trust_root_has_no_log_for_is_not_asked_for() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    let root = without(&without(&sigstore.trust_root(), "", "tlogs"), "", "ctlogs");
    let root = sandbox.write("root.json", root.to_string());
    let run = |signing: &Signing| {
        let document = sigstore.sign(&statement(false), signing).to_string();
        let arguments = ["-i", "-", "--verify-identity", RELEASE, "--trust-root", &root];
        gate_with(&sandbox, POLICY, &arguments, &document)
    };
    let bare = |stamp: Option<&'static str>| Signing {
        log: Log::None,
        has_sct: false,
        stamp,
        ..Signing::default()
    };
    run(&bare(IN_TIME)).code(0);
    for signing in [bare(None), bare(TOO_LATE), Signing::default()] {
        run(&signing).fails(UNVERIFIED);
    }
}

/// Returns the places of a document's texts that are base64, and longer than a few bytes.
fn encoded(value: &Value, pointer: &str) -> Vec<(String, Vec<u8>)> {
    match value {
        Value::Object(fields) => {
            let below =
                |(name, value): (&String, &Value)| encoded(value, &format!("{pointer}/{name}"));
            fields.iter().flat_map(below).collect()
        }
        Value::Array(items) => {
            let below = |(at, value): (usize, &Value)| encoded(value, &format!("{pointer}/{at}"));
            items.iter().enumerate().flat_map(below).collect()
        }
        Value::String(text) if text.len() > 20 => {
            STANDARD.decode(text).map(|bytes| (pointer.to_owned(), bytes)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn no_bit_of_what_is_signed_can_be_changed() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    // Without a timestamp authority's token, parts of which aren't signed.
    let own = sigstore.sign(&statement(false), &Signing::default());
    let mut changed = Vec::new();
    for (pointer, bytes) in encoded(&own, "") {
        for at in (0..bytes.len()).step_by(7) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            changed.push(with(&own, &pointer, STANDARD.encode(bytes)).to_string());
        }
    }
    assert!(changed.len() > 300, "{}", changed.len());
    let root = sandbox.write("root.json", sigstore.trust_root().to_string());
    let arguments = ["-i", "-", "--verify-identity", RELEASE, "--trust-root", &root];
    let output = gate_with(&sandbox, POLICY, &arguments, &changed.join("\n"))
        .fails("can't verify the signature");
    let passed = super::outcomes(&output.json()).into_iter().filter(|(_, what)| what == "passed");
    let index = |name: &str| name.rsplit_once('#').unwrap().1.parse::<usize>().unwrap() - 1;
    let passed: Vec<_> = passed.map(|(name, _)| changed[index(&name)].clone()).collect();
    assert_eq!(passed, Vec::<String>::new());
}

#[test]
fn a_statement_is_bounded_before_it_is_read() {
    let (sandbox, sigstore) = (Sandbox::new(), Sigstore::new());
    let many = format!("\"predicate\":{{\"many\":[0{}],", ",0".repeat(10_000_000));
    let large = statement(false).replacen("\"predicate\":{", &many, 1);
    let document = sigstore.sign(&large, &Signing::default());
    let says = "too many values in the statement: the limit is 10000000";
    run(&sandbox, &sigstore, &document, RELEASE).fails(says);
    let unverified = ["-i", "-", "--attestation", "--unverified"];
    gate_with(&sandbox, POLICY, &unverified, &document.to_string()).fails(says);
}
