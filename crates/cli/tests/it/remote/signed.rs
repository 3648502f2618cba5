//! Who signed policies in a registry: what the options and the lock ask for, and what isn't that.

use std::time::Duration;

use serde_json::json;

use super::image::trusted::{KIND, payload};
use super::registry::{By, POLICY, Registry};
use super::{DENY, run, stored};
use crate::cli::{Output, Sandbox};
use crate::gate::digest_of;
use crate::gate::signed::{Key, envelope};
use crate::gate::sigstore::{Signing, Sigstore};
use crate::hostile::script;
use crate::hostile::server::Step;

const REPOSITORY: &str = "acme/policies";
const SIMPLE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

/// Policies in a registry, and gates over them.
struct Policies {
    sandbox: Sandbox,
    registry: Registry,
    address: String,
    key: Key,
    /// The file of the public key.
    public: String,
}

impl Policies {
    fn new() -> Self {
        let (sandbox, registry, key) = (Sandbox::new(), Registry::new(), Key::new());
        let address = registry.address("acme/policies:v1");
        let public = key.public(&sandbox, "policies.pub");
        Self { sandbox, registry, address, key, public }
    }

    /// Moves the tag to policies that pass. Returns their digest.
    fn moved(&self) -> String {
        let policy: &[u8] = b"package p\n\ndeny := set()\n";
        self.registry.store(REPOSITORY, "v1", &[(POLICY, "p.rego", policy)])
    }

    /// Stores a signature of a digest, as cosign did before its version 3.
    fn sign(&self, key: &Key, digest: &str) {
        let place = format!("{}/{REPOSITORY}", self.registry.server.address);
        self.sign_text(digest, &named(digest, &place), key);
    }

    fn sign_text(&self, digest: &str, text: &str, key: &Key) {
        let layer = (SIMPLE, text.as_bytes(), &*key.sign_bytes(text.as_bytes()));
        self.registry.attach((REPOSITORY, digest), By::Tag("sig"), &[layer]);
    }

    fn gate(&self, more: &[&str]) -> Output {
        let gate = ["gate", "-d", &self.address, "-i", "-", "--timeout", "5s"];
        run(&self.sandbox, &[&gate, more].concat())
    }

    /// Runs a gate that updates the lock, signed by the key.
    fn update(&self) -> Output {
        self.gate(&["--update-lock", "--policy-key", &self.public])
    }

    fn lock(&self) -> Option<String> {
        std::fs::read_to_string(self.sandbox.path("policies.lock")).ok()
    }
}

/// Returns the payload of a signature of what is at a place.
fn named(digest: &str, place: &str) -> String {
    payload(digest, KIND).replace("\"app\"", &format!("\"{place}\""))
}

/// Returns a signature's statement, as cosign's version 3 makes it.
fn statement(digest: &str, kind: &str) -> String {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "predicateType": kind,
        "subject": [{"digest": {"sha256": digest.replace("sha256:", "")}}],
        "predicate": {},
    })
    .to_string()
}

#[test]
fn the_lock_names_the_signer_without_whom_nothing_changes() {
    let own = Policies::new();
    let digest = stored(&own.registry);
    own.update().fails("missing signature of a required signer").says("no signature of the image");
    assert_eq!(own.lock(), None);
    own.sign(&own.key, &digest);
    let output = own.gate(&["--update-lock", "--policy-key", &own.public, "-f", "json"]).code(1);
    assert_eq!(output.json()["inventory"]["policies"][0]["signers"], json!([own.public]));
    assert!(output.stderr.contains("has the signer `{ key ="), "{output:#?}");
    let locked = own.lock().unwrap();
    assert!(
        locked.contains(&format!("digest = \"{digest}\"\nsigner = {{ key = \"MFk")),
        "{locked}"
    );
    // From now on the lock is enough, of every command.
    let report = own.gate(&["-f", "json"]).code(1).json();
    let signers = &report["inventory"]["policies"][0]["signers"];
    assert_eq!(*signers, json!(["policies.lock"]));
    let moved = own.moved();
    own.gate(&[]).fails("digest mismatch for");
    own.gate(&["--update-lock"]).fails("no signature of the image");
    let other = Key::ed25519();
    own.sign(&other, &moved);
    own.gate(&["--update-lock"]).fails("no signature of a trusted key");
    assert_eq!(own.lock().as_ref(), Some(&locked));
    own.sign(&own.key, &moved);
    own.gate(&["--update-lock"]).code(0);
    assert_eq!(own.lock().unwrap(), locked.replace(&digest, &moved));
    // Whoever writes another digest into the lock hasn't signed it.
    stored(&own.registry);
    let edited = format!("sha256-{}.sig", digest.replace("sha256:", ""));
    own.registry.store_manifest(REPOSITORY, &edited, b"{}".to_vec());
    own.sandbox.write("policies.lock", &locked);
    for command in [&["gate", "-i", "-", "-d"][..], &["check"], &["pull"], &["eval", "1", "-d"]] {
        run(&own.sandbox, &[command, &[&own.address]].concat()).fails("neither a manifest nor");
    }
    // Who else is named has to have signed, too, and only an update takes the lock's place.
    own.sign(&own.key, &digest);
    let public = other.public(&own.sandbox, "other.pub");
    own.gate(&["--policy-key", &public]).fails("no signature of a trusted key");
    own.sign(&other, &digest);
    own.gate(&["--policy-key", &public]).fails("no signature of a trusted key");
    let output = own.gate(&["--policy-key", &public, "--update-lock"]).code(1);
    assert!(output.stderr.contains("has the signer"), "{output:#?}");
    own.gate(&[]).code(1);
}

#[test]
fn what_is_not_the_keys_signature_of_this_manifest_is_none() {
    let own = Policies::new();
    let digest = stored(&own.registry);
    let here = format!("{}/{REPOSITORY}", own.registry.server.address);
    let stale = digest_of(b"other policies");
    let tag = |text: &str, signer: &Key| own.sign_text(&digest, text, signer);
    for (text, says) in [
        (named(&stale, &here), "digest mismatch of the signature"),
        (named(&digest, &here).replace(KIND, "x"), "unexpected type of the signature"),
        // It was signed as something else, and copied.
        (
            named(&digest, "registry.example/acme/policies"),
            "the signature is for `registry.example/acme",
        ),
        (
            named(&digest, &here.replace("policies", "lib")),
            "reference mismatch: the signature is for",
        ),
        (
            named(&digest, &here).replace(&format!("\"{here}\""), "7"),
            "missing `docker-reference` in the signature",
        ),
    ] {
        tag(&text, &own.key);
        own.update().fails(says);
    }
    tag(&named(&digest, &here), &Key::new());
    own.update().fails("no signature of a trusted key");
    assert_eq!(own.lock(), None);
    for place in [here.clone(), format!("{here}:v1"), String::new()] {
        tag(&named(&digest, &place), &own.key);
        own.update().code(1);
    }
    // An attestation of the same key says something else about it.
    let other = Policies { registry: Registry::new(), ..own };
    let other = Policies { address: other.registry.address("acme/policies:v1"), ..other };
    stored(&other.registry);
    let attach = |statement: &str, by: By| {
        let document =
            json!({"mediaType": BUNDLE, "dsseEnvelope": envelope(statement, &[&other.key])});
        let layer = (BUNDLE, &*document.to_string().into_bytes(), "");
        other.registry.attach((REPOSITORY, &digest), by, &[layer]);
    };
    attach(&statement(&digest, "https://example.test/scan/v1"), By::Referrers);
    other.update().fails("attestation instead of a signature of the image");
    attach(&statement(&stale, SIGNED), By::Fallback);
    other.update().fails("missing signature of a required signer");
    attach(&statement(&digest, SIGNED), By::Fallback);
    other.update().code(1);
    // A failure of the registry isn't the absence of a signature, and no signature either.
    let altered = statement(&digest, SIGNED).replace("{}", "{\"x\": 1}").into_bytes();
    for (place, steps, says) in [
        ("/referrers/", script::status(403, &[], "{}"), "permission denied"),
        (".sig", script::status(500, &[], "{}"), "failed with status"),
        ("/manifests/sha256-", vec![Step::Pause(Duration::from_mins(1))], "timed out after 5s"),
        ("/blobs/", script::ok(altered), "digest mismatch from"),
    ] {
        other.registry.hook(move |request| {
            let is_policy = request.path().ends_with(&digest_of(DENY))
                || request.path().ends_with(&digest_of(super::NAMES));
            (request.path().contains(place) && !is_policy).then(|| steps.clone())
        });
        other.gate(&[]).fails(says);
    }
}

#[test]
fn an_identity_signs_policies_in_both_forms() {
    let own = Policies::new();
    let sigstore = Sigstore::new();
    let root = own.sandbox.write("root.json", sigstore.trust_root().to_string());
    let digest = stored(&own.registry);
    let gate = |identity: &str, more: &[&str]| {
        let options = ["--policy-identity", identity, "--policy-trust-root", &root];
        own.gate(&[&options, more].concat())
    };
    let workflow = "https://ci.example=https://ci.example/acme/*";
    let bundle = sigstore.sign(&statement(&digest, SIGNED), &Signing::default()).to_string();
    own.registry.attach((REPOSITORY, &digest), By::Referrers, &[(BUNDLE, bundle.as_bytes(), "")]);
    gate("https://ci.example=eve@*", &["--update-lock"]).fails("untrusted identity");
    gate(workflow, &["--update-lock"]).code(1);
    let lock = own.lock().unwrap();
    let signer =
        "signer = { issuer = \"https://ci.example\", identity = \"https://ci.example/acme/*\" }";
    assert!(lock.contains(signer), "{lock}");
    own.gate(&["--policy-trust-root", &root]).code(1);
    own.gate(&[]).fails("can't verify the signature");
    let moved = own.moved();
    let text = named(&moved, &format!("{}/{REPOSITORY}", own.registry.server.address));
    let annotations = sigstore.annotated(&text, &Signing::default());
    let layer = own.registry.layer(SIMPLE, text.as_bytes(), &annotations);
    let update = ["--policy-trust-root", &*root, "--update-lock"];
    own.gate(&update).fails("no signature of the image");
    own.registry.attach_layers((REPOSITORY, &moved), By::Tag("sig"), vec![layer]);
    own.gate(&update).code(0);
    assert_eq!(own.lock().unwrap(), lock.replace(&digest, &moved));
}

#[test]
fn only_what_is_in_a_registry_has_a_signer() {
    let own = Policies::new();
    for address in ["https://r.example/a.tar.gz", "git+https://r.example/a?ref=main"] {
        let entry = format!("address = \"{address}\"\ndigest = \"{}\"", digest_of(DENY));
        let signer = "signer = { key = \"MFk=\" }";
        own.sandbox.write("policies.lock", format!("version = 1\n[[source]]\n{entry}\n{signer}\n"));
        let output = own.gate(&[]);
        output.fails("can't be used");
    }
    let digest = stored(&own.registry);
    let lock = |signer: &str| {
        let text = format!(
            "version = 1\n[[source]]\naddress = \"{}\"\ndigest = \"{digest}\"\n{signer}\n",
            own.address
        );
        own.sandbox.write("policies.lock", text);
    };
    for (signer, says) in [
        ("signer = \"x\"", "invalid lock file"),
        ("signer = {}", "invalid lock file"),
        ("signer = { key = \"x\", issuer = \"y\", identity = \"z\" }", "invalid lock file"),
        ("signer = { key = \"MFk=\" }", "public key"),
        ("signer = { issuer = \"x\", identity = \"\" }", "invalid identity"),
    ] {
        lock(signer);
        own.gate(&[]).fails(says);
    }
    // The reports of a run take the place of no key.
    lock("");
    let output = format!("json={}", own.public);
    own.gate(&["--policy-key", &own.public, "-o", &output]).fails("would be read and written");
    for address in ["git+https://r.invalid/a?ref=main", "https://r.invalid/a.tar.gz"] {
        let gate = ["gate", "-d", address, "-i", "-", "--policy-key", &own.public, "--update-lock"];
        run(&own.sandbox, &gate).fails("isn't in a registry");
    }
}
