//! `attest`: statements about a run, made from its JSON report.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::signed::{Key, envelope};
use super::{DENY_BAD, gate};
use crate::cli::{Output, Sandbox};

const VERIFIER: &str = "https://ci.example/gate";
const RESOURCE: &str = "pkg:oci/app@sha256%3Aaa";
const VSA: [&str; 6] = ["--as", "vsa", "--verifier", VERIFIER, "--resource", RESOURCE];

/// Attests to the run whose JSON report is on standard output.
fn attest(sandbox: &Sandbox, report: &Output, arguments: &[&str]) -> Output {
    let file = sandbox.write("report.json", &report.stdout);
    sandbox.run(&[&["attest", &file], arguments].concat()).output()
}

fn statement(subjects: &str) -> String {
    format!(
        "{{\"_type\": \"https://in-toto.io/Statement/v1\", \"predicateType\": \"t\", \
         \"subject\": [{subjects}], \"predicate\": {{}}}}"
    )
}

#[test]
fn a_verdict_can_be_attested_to() {
    let sandbox = Sandbox::new();
    let good = sandbox.write("in.json", "{\"bad\": false}");
    let run = gate(&sandbox, DENY_BAD, &["-i", &good]).code(0);
    let statement = attest(&sandbox, &run, &[]).code(0).silent().json();
    assert_eq!(statement["predicate"]["result"], "PASSED");
    assert_eq!(statement["subject"][0]["name"], good);
    let configuration = statement["predicate"]["configuration"].as_array().unwrap();
    assert_eq!(configuration[0]["digest"]["sha256"].as_str().unwrap().len(), 64);
    let inventory = configuration.last().unwrap();
    assert_eq!(inventory["name"], "inventory.json");
    let compact = serde_json::from_str::<rego_platform_gate::model::Run>(&run.stdout).unwrap();
    let compact = serde_json::to_string(&compact.inventory).unwrap();
    let digest: String = Sha256::digest(compact).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(inventory["digest"]["sha256"], digest);
    let bad = sandbox.write("bad.json", "{\"bad\": true}");
    let run = gate(&sandbox, DENY_BAD, &["-i", &bad]).code(1);
    assert_eq!(attest(&sandbox, &run, &[]).code(0).json()["predicate"]["result"], "FAILED");
    // What was evaluated isn't what is in the file.
    let run = gate(&sandbox, DENY_BAD, &["-i", &bad, "--set", "bad=false"]).code(0);
    let predicate = &attest(&sandbox, &run, &[]).code(0).json()["predicate"];
    assert_eq!(predicate["result"], "WARNED");
    let inventory = predicate["configuration"].as_array().unwrap().last().unwrap();
    assert_eq!(inventory["annotations"]["set"], json!({"bad": "false"}));
    let summary = attest(&sandbox, &run, &VSA).code(0).json();
    assert_eq!(summary["predicate"]["policy"]["annotations"]["set"], json!({"bad": "false"}));
}

#[test]
fn what_proves_nothing_is_refused() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("in.json", "{}");
    let refused = |run: &Output, says: &str| {
        let output = attest(&sandbox, run, &[]).fails(says);
        assert_eq!(output.stdout, "", "{output:?}");
    };
    refused(&gate(&sandbox, DENY_BAD, &[]).code(0), "the run had no input");
    let bad = sandbox.write("bad.json", "{\"bad\": true}");
    refused(&gate(&sandbox, DENY_BAD, &["-i", &bad, "--no-fail"]).code(0), "used `--no-fail`");
    let none = "package p\n\nresult := {\"skipped\": true}\n";
    refused(
        &gate(&sandbox, none, &["-i", &input]).fails("input skipped by every policy"),
        "1 input has no verdict",
    );
    refused(
        &gate(&sandbox, "package p\n", &["-i", &input]).fails("no policies to evaluate"),
        "has no verdict",
    );
    let local = ["-i", &input, "--local", "testdata/platform"];
    refused(&gate(&sandbox, DENY_BAD, &local).code(0), "the responses are from an emulator");
    let recording = sandbox.write("rec.json", "{\"version\": 1, \"nd_builtin_cache\": {}}");
    let replay = ["-i", &input, "--replay", &recording];
    refused(&gate(&sandbox, DENY_BAD, &replay).code(0), "the responses are from a recording");
    let attestation = sandbox.write("a.json", statement(""));
    let unsigned =
        gate(&sandbox, DENY_BAD, &["-i", &attestation, "--attestation", "--unverified"]).code(0);
    refused(&unsigned, "signatures of the attestations weren't verified");
    let key = Key::new();
    let signed =
        |statement: &str| sandbox.write("a.json", envelope(statement, &[&key]).to_string());
    let public = key.public(&sandbox, "key.pub");
    let digest = "a".repeat(64);
    let subject = format!("{{\"name\": \"app\", \"digest\": {{\"sha256\": \"{digest}\"}}}}");
    let file = signed(&statement(&subject));
    let checked = gate(&sandbox, DENY_BAD, &["-i", &file, "--verify-key", &public]).code(0);
    let accepted = attest(&sandbox, &checked, &[]).code(0).json();
    let configuration = accepted["predicate"]["configuration"].as_array().unwrap();
    let signed_by = &configuration.last().unwrap()["annotations"]["signedBy"];
    assert_eq!(signed_by["keys"][0]["key"], public);
    for text in ["", "{}", "[1]", "{\"schema_version\": 2}"] {
        let file = sandbox.write("r.json", text);
        sandbox.run(&["attest", &file]).output().fails("isn't a JSON report of the gate");
    }
    let mut other = unsigned.json();
    other["schema_version"] = 1.into();
    let file = sandbox.write("r.json", other.to_string());
    sandbox.run(&["attest", &file]).output().fails("found 1");
    sandbox.run(&["attest", "/nonexistent"]).output().fails("doesn't exist");
}

#[test]
fn an_emulator_behind_an_address_attests_to_nothing() {
    let sandbox = Sandbox::new();
    let emulator = crate::support::emulator();
    let (address, token) = (emulator.controlplane_url(), emulator.default_token());
    let policy = format!(
        "package p\n\ndeny contains \"x\" if platform.discover(\"{}\", \"\").kind == \"SARIF\"\n",
        crate::support::CLEAN_IMAGE
    );
    let input = sandbox.write("in.json", "{}");
    let service = ["-i", &input, "--controlplane-url", &address, "--token", &token];
    let run = gate(&sandbox, &policy, &service).code(0);
    assert_eq!(run.json()["answers"], "emulator");
    attest(&sandbox, &run, &[]).fails("the responses are from an emulator");
}

#[test]
fn a_verdict_can_be_a_verification_summary() {
    let sandbox = Sandbox::new();
    let digest = "a".repeat(64);
    let subject = format!("{{\"name\": \"app\", \"digest\": {{\"sha256\": \"{digest}\"}}}}");
    let key = Key::new();
    let public = key.public(&sandbox, "key.pub");
    let document = envelope(&statement(&subject), &[&key]);
    let file = sandbox.write("in.json", document.to_string());
    let run = gate(&sandbox, DENY_BAD, &["-i", &file, "--verify-key", &public]).code(0);
    let summary = attest(&sandbox, &run, &VSA).code(0).json();
    let report = run.json();
    assert_eq!(summary["predicateType"], "https://slsa.dev/verification_summary/v1");
    assert_eq!(summary["subject"], json!([{"name": "app", "digest": {"sha256": digest}}]));
    let predicate = &summary["predicate"];
    assert_eq!(predicate["verifier"]["id"], VERIFIER);
    assert_eq!(predicate["resourceUri"], RESOURCE);
    assert_eq!(predicate["timeVerified"], report["started"]);
    assert_eq!(predicate["verificationResult"], "PASSED");
    assert_eq!(predicate["verifiedLevels"][0], "SLSA_BUILD_LEVEL_UNEVALUATED");
    assert_eq!(predicate["policy"]["annotations"]["signedBy"]["keys"][0]["key"], public);
    let attested = &predicate["inputAttestations"][0];
    assert_eq!(attested["name"], file);
    let own = attested["digest"]["sha256"].as_str().unwrap();
    assert_eq!(format!("sha256:{own}"), report["inputs"][0]["digest"]);
    // The policy's digest can be computed again from its files.
    let source = &report["sources"][0];
    let (digest, path) = (source["digest"].as_str().unwrap(), source["path"].as_str().unwrap());
    let line = Sha256::digest(format!("{digest} {path}\n"));
    let again: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(predicate["policy"]["digest"]["sha256"], again);
    // Without a signature the document itself is the subject.
    let run = gate(&sandbox, "package p\n\ndeny contains \"x\"\n", &["-i", &file]).code(1);
    let summary = attest(&sandbox, &run, &VSA).code(0).json();
    assert_eq!(summary["subject"][0]["name"], file);
    assert_eq!(summary["predicate"]["inputAttestations"], json!([]));
    assert_eq!(summary["predicate"]["verificationResult"], "FAILED");
    assert_eq!(summary["predicate"]["verifiedLevels"][0], "FAILED");
}

#[test]
fn a_verification_summary_lacks_nothing() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("in.json", "{}");
    let run = gate(&sandbox, DENY_BAD, &["-i", &file]).code(0);
    for (arguments, says) in [
        (&["--as", "vsa", "--resource", RESOURCE][..], "missing option: `--verifier`"),
        (&["--as", "vsa", "--verifier", VERIFIER], "missing option: `--resource`"),
        (&["--as", "vsa", "--verifier", VERIFIER, "--resource", "app"], "isn't a valid URI"),
        (&["--verifier", VERIFIER], "applies to verification summaries only"),
    ] {
        attest(&sandbox, &run, arguments).fails(says);
    }
    let key = Key::new();
    let public = key.public(&sandbox, "key.pub");
    let of = |subject: &str| {
        let document = envelope(&statement(subject), &[&key]);
        let file = sandbox.write("in.json", document.to_string());
        let run = gate(&sandbox, DENY_BAD, &["-i", &file, "--verify-key", &public]).code(0);
        attest(&sandbox, &run, &VSA)
    };
    let digest = |name: &str, value: &str| format!("{{\"digest\": {{\"{name}\": \"{value}\"}}}}");
    let whole = "0a".repeat(32);
    of(&digest("sha256", &whole)).code(0);
    of(&digest("dirHash", "h1:x=")).code(0);
    of("{\"name\": \"app\"}").fails("has no digest");
    of("").fails("has no subject");
    for (name, value) in [("sha256", "zz"), ("sha256", &whole.to_uppercase()), ("sha512", &whole)] {
        of(&digest(name, value)).fails("invalid digest of the subject");
    }
}

#[test]
fn what_limits_a_pass_makes_it_one_with_warnings() {
    let sandbox = Sandbox::new();
    let policy = "package p\n\nwarn contains \"w\" if input.w\n\ndeny contains {\"message\": \"m\", \
                  \"severity\": \"low\"} if input.low\n";
    let plain = sandbox.write("plain.json", "{\"low\": false}");
    let warns = sandbox.write("w.json", "{\"w\": 1}");
    let low = sandbox.write("low.json", "{\"low\": 1}");
    let result = |arguments: &[&str]| -> Value {
        let run = gate(&sandbox, policy, arguments).code(0);
        attest(&sandbox, &run, &[]).code(0).json()["predicate"].take()
    };
    let found = result(&["-i", &plain]);
    assert_eq!((&found["result"], &found["warnedTests"]), (&"PASSED".into(), &json!([])));
    let found = result(&["-i", &plain, "-i", &warns, "-i", &low, "--fail-on", "high"]);
    assert_eq!(found["result"], "WARNED");
    assert_eq!(found["passedTests"], json!([plain]));
    assert_eq!(found["warnedTests"], json!([warns, low]));
    // What was left out by an option.
    let other = sandbox.write("q.rego", "package q\n\ndeny contains \"bad\"\n");
    for (more, is) in [(&["-n", "p"][..], "WARNED"), (&["--ignore", "none.json"], "PASSED")] {
        let given = if more[0] == "-n" { &["-d", &*other][..] } else { &[] };
        assert_eq!(result(&[&["-i", &plain], given, more].concat())["result"], is, "{more:?}");
    }
}

/// A policy about what a statement says of a run.
const PASSED: &str =
    "package p\n\ndeny contains \"it didn't pass\" if input.predicate.result != \"PASSED\"\n";

#[test]
fn a_signed_statement_is_the_input_of_another_gate() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("in.json", "{\"bad\": false}");
    let run = gate(&sandbox, DENY_BAD, &["-i", &input]).code(0);
    let statement = attest(&sandbox, &run, &[]).code(0).json();
    for key in [Key::new(), Key::ed25519()] {
        let (private, public) = (key.private(&sandbox, "key"), key.public(&sandbox, "key.pub"));
        for form in [&[][..], &VSA] {
            let signed = attest(&sandbox, &run, &[form, &["--sign-key", &private]].concat());
            let envelope = signed.code(0).silent().json();
            assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");
        }
        let signed = attest(&sandbox, &run, &["--sign-key", &private]).code(0);
        let envelope = signed.json();
        let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&payload).unwrap(), statement);
        let file = sandbox.write("gate.dsse.json", &signed.stdout);
        let checked = gate(&sandbox, PASSED, &["-i", &file, "--verify-key", &public]).code(0);
        assert_eq!(checked.json()["inputs"][0]["subjects"][0]["name"], input);
        let other = Key::new().public(&sandbox, "other.pub");
        gate(&sandbox, PASSED, &["-i", &file, "--verify-key", &other])
            .fails("no signature of a trusted key");
    }
    let failed = sandbox.write("in.json", "{\"bad\": true}");
    let run = gate(&sandbox, DENY_BAD, &["-i", &failed]).code(1);
    let key = Key::new();
    let (private, public) = (key.private(&sandbox, "key"), key.public(&sandbox, "key.pub"));
    let signed = attest(&sandbox, &run, &["--sign-key", &private]).code(0);
    let file = sandbox.write("gate.dsse.json", &signed.stdout);
    gate(&sandbox, PASSED, &["-i", &file, "--verify-key", &public]).code(1);
}

#[test]
fn what_is_no_private_key_signs_nothing_and_is_not_shown() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("in.json", "{}");
    let run = gate(&sandbox, DENY_BAD, &["-i", &input]).code(0);
    let key = Key::new();
    let pem = std::fs::read_to_string(key.private(&sandbox, "key")).unwrap();
    let encrypted = pem.replace("PRIVATE KEY", "ENCRYPTED SIGSTORE PRIVATE KEY");
    let secret = pem.lines().nth(1).unwrap().to_owned();
    let none = "has no private key in PEM";
    let closed = "is encrypted: missing password";
    for (text, says) in [
        (String::new(), none),
        (encrypted, closed),
        (pem.replace("PRIVATE KEY", "EC PRIVATE KEY"), none),
        (pem.replace(&secret, &secret[4..]), "has an unsupported private key"),
        (Key::p384().private_pem(), "has an unsupported private key"),
    ] {
        let file = sandbox.write("key", &text);
        let output = attest(&sandbox, &run, &["--sign-key", &file]).fails(says);
        assert_eq!(output.stdout, "");
        let shown = text.lines().filter(|line| !line.contains('-') && line.len() > 20);
        for line in shown {
            assert!(!output.stderr.contains(line), "{}", output.stderr);
        }
    }
    attest(&sandbox, &run, &["--sign-key", "/nonexistent"]).fails("doesn't exist");
}

/// A key of `cosign generate-key-pair`, with the password `hunter2`, and its public half.
const COSIGN_KEY: &str = "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----
eyJrZGYiOnsibmFtZSI6InNjcnlwdCIsInBhcmFtcyI6eyJOIjo2NTUzNiwiciI6
OCwicCI6MX0sInNhbHQiOiJkWmRtd0FzVkVXSXpzYTFxWmlBZGFaMnJyV1QzRDl5
UVVnM1lEVEVtK0d3PSJ9LCJjaXBoZXIiOnsibmFtZSI6Im5hY2wvc2VjcmV0Ym94
Iiwibm9uY2UiOiJQdWhkUFc3WG9xZzUwZE9CMGc5dzNNbk1FTEZuTTJmdSJ9LCJj
aXBoZXJ0ZXh0IjoiQ0owUk5KVXhiREhqTTRZbFBseUR0dXdoM2RxU0pWbXV6OVk0
QXkzd1h1VldaZUppdHJtcXdSNGw3eDM2TG0yUjdBRDR4eHF4VkJLR0RWU1dEN3Qw
dk5wWUR4NGZEdDRodHBHTzJkNjg5VWptc2pNZjZlelVzdnJQWlpEYnNSNGFYRzlh
QUpFVmIyOXBzb0hyc25STFZ0ZHlCNndEaUVQSU5MRkhseTJVSjVkTyt0SmRsU2xD
d0ZMZ1hzMVgrZmdDbFhUcUQxZ1pBNFlQWGc9PSJ9
-----END ENCRYPTED SIGSTORE PRIVATE KEY-----
";
const COSIGN_PUB: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE7l0suHk/RbUbi26C5I1YzRJhpjz+
QBD3o7vpE36oCk46o0zXKjXJAitnB4vBEcE1xvk8+g68+wc3+tuE7fmTGQ==
-----END PUBLIC KEY-----
";

#[test]
fn a_key_of_cosigns_signs_with_its_password_alone() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("in.json", "{\"bad\": false}");
    let run = gate(&sandbox, DENY_BAD, &["-i", &input]).code(0);
    let report = sandbox.write("report.json", &run.stdout);
    let public = sandbox.write("cosign.pub", COSIGN_PUB);
    let sign = |text: &str, password: &str| {
        let key = sandbox.write("cosign.key", text);
        let run = sandbox.run(&["attest", &report, "--sign-key", &key]);
        run.env("COSIGN_PASSWORD", password).output()
    };
    let signed = sign(COSIGN_KEY, "hunter2").code(0).silent();
    let file = sandbox.write("gate.dsse.json", &signed.stdout);
    gate(&sandbox, PASSED, &["-i", &file, "--verify-key", &public]).code(0);
    // The label of older files.
    sign(&COSIGN_KEY.replace("SIGSTORE", "COSIGN"), "hunter2").code(0);
    let output = sign(COSIGN_KEY, "hunter3").fails("can't be decrypted");
    assert!(output.stdout.is_empty() && !output.stderr.contains("hunter"), "{output:?}");
    let content: String = COSIGN_KEY.lines().filter(|line| !line.starts_with('-')).collect();
    let content = String::from_utf8(STANDARD.decode(content).unwrap()).unwrap();
    let altered = |from: &str, to: &str| {
        assert!(content.contains(from), "{from}");
        let text = STANDARD.encode(content.replacen(from, to, 1));
        let label = "ENCRYPTED SIGSTORE PRIVATE KEY-----";
        format!("-----BEGIN {label}\n{text}\n-----END {label}\n")
    };
    let form = "has an unsupported encryption: expected that of cosign";
    for (from, to, says) in [
        ("65536", "1073741824", form),
        ("65536", "65537", form),
        ("65536", "2", form),
        ("65536", "0", form),
        ("\"r\":8", "\"r\":4000000000", form),
        ("\"p\":1", "\"p\":1000000", form),
        ("scrypt", "argon2", form),
        ("secretbox", "box", form),
        ("\"nonce\":\"", "\"nonce\":\"AAAA", form),
        ("\"ciphertext\":\"", "\"ciphertext\":\"AAAA", "can't be decrypted"),
        ("}", "", form),
    ] {
        sign(&altered(from, to), "hunter2").fails(says);
    }
    sign(&COSIGN_KEY.replace("eyJ", "!!!"), "hunter2").fails(form);
    let key = sandbox.write("cosign.key", COSIGN_KEY);
    let unset = sandbox.run(&["attest", &report, "--sign-key", &key]).output();
    let unset = unset.fails("is encrypted: missing password");
    assert!(unset.stderr.contains("`COSIGN_PASSWORD` sets it"), "{}", unset.stderr);
}

#[test]
fn a_simple_verification_result_is_about_a_pass_alone() {
    let sandbox = Sandbox::new();
    let svr = ["--as", "svr", "--verifier", VERIFIER];
    let good = sandbox.write("in.json", "{\"bad\": false}");
    let policy = format!("{DENY_BAD}\nwarn contains \"w\" if input.warn\n");
    let other =
        sandbox.write("q.rego", "package q\n\nresult := {\"skipped\": true, \"violations\": []}\n");
    let run = gate(&sandbox, &policy, &["-i", &good, "-d", &other]).code(0);
    let statement = attest(&sandbox, &run, &svr).code(0).json();
    assert_eq!(statement["predicateType"], "https://in-toto.io/attestation/svr/v0.2");
    assert_eq!(statement["subject"][0]["name"], good);
    let predicate = &statement["predicate"];
    assert_eq!(predicate["verifier"]["id"], VERIFIER);
    assert_eq!(
        predicate["verifier"]["policies"][0]["digest"]["sha256"].as_str().unwrap().len(),
        64
    );
    assert!(predicate["timeCreated"].as_str().unwrap().ends_with('Z'));
    // The one that skipped the input says nothing of it.
    assert_eq!(predicate["properties"], json!(["REGO_PLATFORM_PASSED_p"]));

    let refused = |text: &str, more: &[&str], says: &str| {
        let input = sandbox.write("other.json", text);
        let run = gate(&sandbox, &policy, &[&["-i", &input], more].concat());
        attest(&sandbox, &run, &svr).fails(says);
    };
    refused("{\"bad\": true}", &[], ": the run failed");
    refused("{\"bad\": false, \"warn\": true}", &[], "the run passed with reservations");
    refused("{\"bad\": true}", &["--set", "bad=false"], "the run passed with reservations");
    attest(&sandbox, &run, &svr[..2]).fails("missing option: `--verifier`");
    attest(&sandbox, &run, &[&svr[..], &["--resource", RESOURCE]].concat())
        .fails("`--resource` applies to verification summaries only");
    let token = ["--sign-identity-token", "eyJsecret"];
    let output =
        attest(&sandbox, &run, &token).fails("signing with an identity token isn't supported");
    assert!(output.stdout.is_empty() && !output.stderr.contains("eyJ"), "{output:?}");
}
