//! Signed bundles: whose key signed is checked, and that it signed exactly what is there.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::digest_of;
use super::signed::Key;
use crate::cli::{Output, Sandbox};
use crate::compare::bundles::archive;

const POLICY: &str = "package p\n\ndeny contains data.names.bad if input.bad\n";
const DATA: &str = "{ \"bad\": \"it is <bad>\", \"n\": [1.0, 1e3], \"a\": {} }";
/// What is hashed of the data.
const NORMAL: &str = r#"{"a":{},"bad":"it is <bad>","n":[1.0,1e3]}"#;

/// Returns an ECDSA signature as tokens have it: both numbers, 32 bytes each.
fn raw(der: &[u8]) -> Vec<u8> {
    let mut rest = &der[2..];
    let mut out = Vec::new();
    for _ in 0..2 {
        let (number, after) = rest[2..].split_at(usize::from(rest[1]));
        let digits = number.strip_prefix(&[0]).unwrap_or(number);
        out.extend(std::iter::repeat_n(0, 32 - digits.len()));
        out.extend_from_slice(digits);
        rest = after;
    }
    out
}

/// Returns a token with this header and payload.
fn token(key: &Key, header: &Value, payload: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(header), encode(payload));
    let signature = raw(&STANDARD.decode(key.sign_bytes(signed.as_bytes())).unwrap());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn es256() -> Value {
    json!({"alg": "ES256", "kid": "default", "typ": "JWT"})
}

fn file(name: &str, hashed: &str) -> Value {
    let hash = digest_of(hashed.as_bytes()).replace("sha256:", "");
    json!({"name": name, "hash": hash, "algorithm": "SHA-256"})
}

/// The payload about the policy and its data.
fn payload() -> Value {
    json!({"files": [file("p.rego", POLICY), file("names/data.json", NORMAL)]})
}

/// Runs a gate over a bundle of these files, which a key has to have signed.
fn gate(sandbox: &Sandbox, files: &[(&str, &str)], more: &[&str]) -> Output {
    let path = sandbox.path("b.tar.gz");
    let files: Vec<_> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    archive(&path, &files).unwrap();
    let gate = ["gate", "-b", path.to_str().unwrap(), "-i", "-", "-f", "json"];
    sandbox.run(&[&gate, more].concat()).stdin("{\"bad\": 1}").output()
}

fn signatures(tokens: &[String]) -> String {
    json!({"signatures": tokens, "plugin": "_default"}).to_string()
}

#[test]
fn a_bundle_of_opa_is_verified_and_the_report_names_the_key() {
    let sandbox = Sandbox::new();
    let bundle = sandbox.write("b.tar.gz", include_bytes!("signed/bundle.tar.gz"));
    let own = sandbox.write("own.pub", include_str!("signed/bundle.pub"));
    let other = sandbox.write("other.pub", include_str!("signed/rsa.pub"));
    let gate = |more: &[&str]| {
        let gate = ["gate", "-d", &bundle, "-i", "-", "-f", "json"];
        sandbox.run(&[&gate, more].concat()).stdin("{\"bad\": 1}").output()
    };
    let report = gate(&["--bundle-key", &other, "--bundle-key", &own]).code(1).json();
    assert_eq!(report["inventory"]["policies"][0]["signers"], json!([own]));
    assert_eq!(report["inventory"]["options"], json!([]));
    gate(&["--bundle-key", &other]).fails("not by a key that is trusted");
    gate(&[]).fails("no key is given that verifies it").says("`--bundle-key FILE`");
    gate(&["--bundle-key", &own, "--skip-verify"]).fails("cannot be used with");
}

#[test]
fn exactly_what_was_signed_is_taken() {
    let (sandbox, key) = (Sandbox::new(), Key::new());
    let public = key.public(&sandbox, "key.pub");
    let signed = |payload: &Value| signatures(&[token(&key, &es256(), payload)]);
    let run = |files: &[(&str, &str)]| gate(&sandbox, files, &["--bundle-key", &public]);
    let own = signed(&payload());
    let (policy, data) = (("p.rego", POLICY), ("names/data.json", DATA));
    let (signature, other) = ((".signatures.json", &*own), ("a/.signatures.json", &*own));
    run(&[policy, data, signature]).code(1);
    run(&[other, policy, data]).code(1);
    run(&[signature, ("names/data.json", NORMAL), policy]).code(1);
    for (files, says) in [
        (&[policy, data][..], "isn't signed"),
        (&[policy, data, signature, other], "has two signatures"),
        (&[policy, signature], "lacks `names/data.json`"),
        (&[("p.rego", "package p\n\ndeny := set()\n"), data, signature], "isn't what was signed"),
        (&[("q.rego", POLICY), data, signature], "holds `q.rego`, which wasn't signed"),
        (&[policy, data, signature, ("README.md", "x")], "holds `README.md`, which wasn't signed"),
        (&[policy, data, signature, (".manifest", "{}")], "holds `.manifest`, which wasn't"),
        (&[policy, ("names/data.json", "{}"), signature], "isn't what was signed"),
        (
            &[policy, ("names/data.json", &DATA.replace("1.0", "1")), signature],
            "isn't what was signed",
        ),
        (
            &[policy, ("names/data.json", &DATA.replacen('{', "{\"bad\": 1,", 1)), signature],
            "appears twice",
        ),
        (&[policy, data, ("a/b.txt/.signatures.json", "{}")], "that isn't valid"),
    ] {
        run(files).fails(says);
    }
    // What is left out is signed all the same.
    let ignored = ["--bundle-key", &*public, "--ignore", "data.json"];
    gate(&sandbox, &[policy, ("names/data.json", "{}"), signature], &ignored)
        .fails("isn't what was signed");
}

#[test]
fn a_signature_that_is_no_signature_of_the_key_is_refused() {
    let (sandbox, key, other) = (Sandbox::new(), Key::new(), Key::new());
    let public = key.public(&sandbox, "key.pub");
    let secret = std::fs::read_to_string(&public).unwrap();
    let own = token(&key, &es256(), &payload());
    let (head, signature) = own.rsplit_once('.').unwrap();
    let with = |name: &str, value: Value| {
        let mut changed = payload();
        changed[name] = value;
        token(&key, &es256(), &changed)
    };
    let as_file = |name: &str, value: Value| {
        let mut changed = payload();
        changed["files"][0][name] = value;
        token(&key, &es256(), &changed)
    };
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let swapped = format!("{}.{}.{signature}", encoded(&es256()), encoded(&json!({"files": []})));
    let untrusted = "not by a key that is trusted";
    for (tokens, says) in [
        (vec![], "has 0 signatures"),
        (vec![own.clone(), own.clone()], "has 2 signatures"),
        (vec![token(&other, &es256(), &payload())], untrusted),
        (vec![swapped], untrusted),
        (vec![format!("{head}.")], untrusted),
        (vec![format!("{head}.{}", URL_SAFE_NO_PAD.encode([0; 64]))], untrusted),
        (vec![head.to_owned()], "isn't a token"),
        (vec![format!("{own}.x")], "isn't a token"),
        (vec![format!("!{own}")], "isn't a token"),
        (vec![token(&key, &json!({"alg": "ES384"}), &payload())], untrusted),
        (vec![token(&key, &json!({"alg": "RS256"}), &payload())], untrusted),
        (vec![token(&key, &json!({"alg": "none"}), &payload())], "is signed with `none`"),
        // The public key as if it were a secret.
        (vec![hmac(&secret, &payload())], "is signed with `HS256`"),
        (vec![token(&key, &json!({}), &payload())], "that isn't valid"),
        (vec![with("scope", "write".into())], "is signed for a scope"),
        (vec![with("files", json!({}))], "that isn't valid"),
        (vec![as_file("algorithm", "MD5".into())], "as `MD5`"),
        (vec![as_file("name", "names/data.json".into())], "twice in its signature"),
        (vec![as_file("hash", "".into())], "isn't what was signed"),
    ] {
        let signatures = signatures(&tokens);
        let files =
            [("p.rego", POLICY), ("names/data.json", DATA), (".signatures.json", &*signatures)];
        gate(&sandbox, &files, &["--bundle-key", &public]).fails(says);
    }
}

/// Returns a token that is signed with a secret.
fn hmac(secret: &str, payload: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({"alg": "HS256"});
    let policy = format!(
        "io.jwt.encode_sign({header}, {payload}, {{\"kty\": \"oct\", \"k\": {}}})",
        json!(URL_SAFE_NO_PAD.encode(secret))
    );
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["eval", "-f", "raw", &policy]).output().code(0);
    let token = output.stdout.trim().to_owned();
    assert!(token.starts_with(&encode(&header)), "{token}");
    token
}

#[test]
fn a_key_of_bundles_is_for_every_bundle_and_for_one_at_least() {
    let (sandbox, key) = (Sandbox::new(), Key::new());
    let public = key.public(&sandbox, "key.pub");
    let file = sandbox.write("more/q.rego", "package q\n\ndeny := set()\n");
    let signatures = signatures(&[token(&key, &es256(), &payload())]);
    let files = [("p.rego", POLICY), ("names/data.json", DATA), (".signatures.json", &*signatures)];
    gate(&sandbox, &files, &["-d", &file, "--bundle-key", &public]).code(1);
    let folder = sandbox.path("more");
    let folder = ["-b", folder.to_str().unwrap(), "--bundle-key", &public];
    gate(&sandbox, &files, &folder).fails("isn't signed");
    let alone = ["gate", "-d", &file, "--no-input", "--bundle-key", &public];
    sandbox.run(&alone).output().fails("key without a bundle");
    // Nor is a report written over a key.
    let own = std::fs::read(&public).unwrap();
    let over = format!("json={public}");
    for option in ["--bundle-key", "--verify-key", "--trust-root"] {
        gate(&sandbox, &files, &[option, &public, "-o", &over, "--verify-identity", "a=b"])
            .fails("would be read and written");
        assert_eq!(std::fs::read(&public).unwrap(), own);
    }
    for text in [String::new(), key.private_pem(), "-----BEGIN PUBLIC KEY-----\nx".to_owned()] {
        let wrong = sandbox.write("wrong.pub", text);
        gate(&sandbox, &files, &["--bundle-key", &wrong]).fails("isn't a public key in PEM");
    }
}
