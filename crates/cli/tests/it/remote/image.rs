//! An image as an input: what its registry has about it, wherever that is, and what of it counts.

mod annotated;
mod hostile;
mod layout;
mod platforms;
pub(super) mod trusted;

use serde_json::{Value, json};

use super::registry::{By, Registry};
use super::run;
use crate::cli::{Output, Sandbox};
use crate::gate::digest_of;
use crate::gate::signed::{Key, envelope};

const REPOSITORY: &str = "acme/app";
const DSSE: &str = "application/vnd.dsse.envelope.v1+json";
const SIMPLE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// Every place in which something may be attached.
const PLACES: [By; 5] =
    [By::Referrers, By::Fallback, By::Tag("att"), By::Tag("sbom"), By::Tag("sig")];

/// An image in a registry, a key that its attestations need, and a gate.
struct Image {
    sandbox: Sandbox,
    registry: Registry,
    digest: String,
    key: Key,
}

impl Image {
    fn new() -> Self {
        let registry = Registry::new();
        let digest = registry.store(REPOSITORY, "v1", &[("x", "", b"layer")]);
        Self { sandbox: Sandbox::new(), registry, digest, key: Key::new() }
    }

    /// Attaches an attestation about the image, which the key signed.
    fn attest(&self, by: By, number: u64) -> String {
        self.attach(by, &self.signed(number).to_string())
    }

    fn signed(&self, number: u64) -> Value {
        envelope(&about(&self.digest, number), &[&self.key])
    }

    fn attach(&self, by: By, document: &str) -> String {
        let layer = (DSSE, document.as_bytes(), "");
        self.registry.attach((REPOSITORY, &self.digest), by, &[layer])
    }

    fn reference(&self, name: &str) -> String {
        self.registry.address(&format!("{REPOSITORY}{name}")).replace("oci://", "")
    }

    /// Runs a gate over the image, whose attestations need the key.
    fn gate(&self, policy: &str, arguments: &[&str]) -> Output {
        let key = self.key.public(&self.sandbox, "key.pub");
        self.gate_with(policy, &[&["--verify-key", &key], arguments].concat())
    }

    fn gate_with(&self, policy: &str, arguments: &[&str]) -> Output {
        let file = self.sandbox.write("policy.rego", policy);
        let image = self.reference(":v1");
        let gate = ["gate", "-d", &file, "--image", &image, "-f", "json", "--timeout", "5s"];
        run(&self.sandbox, &[&gate, arguments].concat())
    }
}

/// Returns a statement about an image.
fn about(digest: &str, number: u64) -> String {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "predicateType": "https://example.test/scan/v1",
        "subject": [
            {"name": "other", "digest": {"sha1": "a".repeat(40)}},
            {"name": "app", "digest": {"sha256": digest.replace("sha256:", "")}},
        ],
        "predicate": {"number": number},
    })
    .to_string()
}

/// Fails, and says which attestations it sees.
const SHOWS: &str = "package p\n\ndeny contains sprintf(\"%v\", [numbers])\n\n\
    numbers := {one.statement.predicate.number | some one in input.attestations}\n";

/// Returns what [`SHOWS`] said.
fn seen(output: Output) -> String {
    let report = output.code(1).json();
    let verdict = &report["inputs"][0]["verdicts"][0];
    verdict["violations"][0]["message"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_attached_anywhere_is_seen_once_whatever_a_list_says_of_it() {
    for (number, place) in (1..).zip(PLACES) {
        let image = Image::new();
        image.attest(place, number);
        assert_eq!(seen(image.gate(SHOWS, &[])), format!("{{{number}}}"), "{place:?}");
    }
    let image = Image::new();
    let same = image.signed(9).to_string();
    for (number, place) in (1..).zip(PLACES) {
        image.attest(place, number);
        if !matches!(place, By::Tag(_)) {
            image.attach(place, &same);
        }
    }
    let report = image.gate(SHOWS, &[]).code(1).json();
    let input = &report["inputs"][0];
    assert_eq!(input["verdicts"][0]["violations"][0]["message"], "{1, 2, 3, 4, 5, 9}");
    assert_eq!(input["evidence"].as_array().unwrap().len(), 6);
    let account = &report["inventory"]["inputs"][0];
    assert_eq!((&account["found"], &account["taken"]), (&json!(6), &json!(6)), "{account}");
}

#[test]
fn the_report_has_the_image_and_who_signed_what() {
    let image = Image::new();
    let envelope = image.signed(1).to_string();
    image.attach(By::Referrers, &envelope);
    let report = image.gate("package p\n\ndeny := set()\n", &["--fail-on-notes"]).json();
    let input = &report["inputs"][0];
    let address = format!("oci://{}", image.reference(":v1"));
    assert_eq!((&input["name"], &input["digest"]), (&json!(address), &json!(image.digest)));
    let subject = json!([{
        "name": image.reference(":v1"), "digest": {"sha256": image.digest.replace("sha256:", "")},
    }]);
    assert_eq!(input["subjects"], subject);
    let evidence = &input["evidence"][0];
    assert_eq!(evidence["digest"], digest_of(envelope.as_bytes()));
    assert_eq!(evidence["predicate_type"], "https://example.test/scan/v1");
    assert!(evidence["signers"][0]["key"].as_str().unwrap().ends_with("key.pub"), "{input}");
    let account = &report["inventory"]["inputs"][0];
    assert_eq!((&account["argument"], &account["digest"]), (&json!(address), &json!(image.digest)));
    // What is stated about the run is stated about the image, and names the evidence.
    let report = image.sandbox.write("gate.json", report.to_string());
    let attest =
        ["attest", &report, "--as", "vsa", "--verifier", "https://a", "--resource", "https://b"];
    let summary = run(&image.sandbox, &attest).code(0).json();
    assert_eq!(summary["subject"], subject);
    let digest = digest_of(envelope.as_bytes()).replace("sha256:", "");
    let attestations = &summary["predicate"]["inputAttestations"];
    assert_eq!(*attestations, json!([{"digest": {"sha256": digest}}]));
}

#[test]
fn a_policy_sees_the_registrys_and_the_services_account_of_an_image() {
    let image = Image::new();
    image.attest(By::Fallback, 7);
    for file in ["service.yaml", "organizations.yaml", "users.yaml"] {
        let text = std::fs::read(format!("{}/testdata/platform/{file}", crate::ROOT)).unwrap();
        image.sandbox.write(&format!("service/{file}"), text);
    }
    let nodes = format!(
        "organization: acme\nnodes:\n  - digest: {}\n    kind: CONTAINER_IMAGE\n    \
         created_at: 2026-03-01T11:00:00Z\n    metadata: {{name: app, project: known}}\n",
        image.digest
    );
    image.sandbox.write("service/graph/image.yaml", nodes);
    let policy = "package p\n\ndeny contains sprintf(\"%s %v\", [project, number]) if {\n\
        \tproject := platform.discover(input.image, \"CONTAINER_IMAGE\").metadata.project\n\
        \tsome one in input.attestations\n\tnumber := one.statement.predicate.number\n}\n";
    let service = image.sandbox.path("service");
    let report = image.gate(policy, &["--local", service.to_str().unwrap()]).code(1).json();
    let violation = &report["inputs"][0]["verdicts"][0]["violations"][0];
    assert_eq!(violation["message"], "known 7");
}

#[test]
fn an_image_is_named_as_container_tools_do() {
    let image = Image::new();
    image.attest(By::Referrers, 1);
    let file = image.sandbox.write("policy.rego", SHOWS);
    let key = image.key.public(&image.sandbox, "key.pub");
    let gate = |name: &str, more: &[&str]| {
        let gate = ["gate", "-d", &file, "--verify-key", &key, "-f", "json", "--image", name];
        run(&image.sandbox, &[&gate, more].concat())
    };
    let digest = &image.digest;
    let by_digest = image.reference(&format!("@{digest}"));
    for name in [
        image.reference(":v1"),
        by_digest.clone(),
        image.reference(&format!(":v1@{digest}")),
        format!("oci://{by_digest}"),
    ] {
        assert_eq!(seen(gate(&name, &[])), "{1}", "{name}");
    }
    for (name, says) in [
        (image.reference(":none"), "not found at"),
        (image.reference(&format!("@{}", digest_of(b"x"))), "not found at"),
        (image.reference("@sha512:00"), "invalid address of a source"),
        ("https://r.example/a.tar.gz".to_owned(), "invalid address of a source"),
        ("App".to_owned(), "invalid address of a source"),
    ] {
        gate(&name, &[]).fails(says);
    }
    gate(&by_digest, &["--no-input"]).fails("`--no-input` and `--image` can't be used together");
    // Several are an input each, beside others.
    let own = image.sandbox.write("one.json", image.signed(4).to_string());
    let other = image.registry.store(REPOSITORY, "v2", &[("x", "", b"other")]);
    let more = ["--image", &image.reference(":v2"), "-i", &own];
    let report = gate(&by_digest, &more).code(1).json();
    let digests = report["inputs"].as_array().unwrap().iter();
    let digests: Vec<_> = digests.map(|input| input["digest"].as_str().unwrap()).collect();
    assert!(digests.contains(&&**digest) && digests.contains(&&*other), "{digests:?}");
}

/// Only the gate supplies the input of an image.
#[test]
fn a_member_that_an_image_lacks_cant_be_read() {
    let image = Image::new();
    image.attest(By::Referrers, 1);
    let policy = |body: &str| format!("package p\n\ndeny contains \"x\" if {{ {body} }}\n");
    for body in ["input.attestation[_].x", "input.imge == \"x\"", "input.tag == \"latest\""] {
        image.gate(&policy(body), &[]).fails("missing member");
    }
    for body in ["input.image == \"x\"", "object.get(input, \"tag\", \"v1\") == \"latest\""] {
        image.gate(&policy(body), &[]).code(0);
    }
    // Of an input that is a file, anything may be missing.
    let own = image.sandbox.write("own.json", image.signed(4).to_string());
    image.gate(&policy("input.tag == \"latest\""), &["-i", &own]).code(0);
}

/// The name, the tag and `is_latest_tag` are as the vendor's public source has them (`oci_image.go`).
#[test]
fn an_image_is_a_material_of_its_kind() {
    const TAGS: &str = "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata:\n  name: tags\nspec:\n  \
        policies:\n    - kind: KIND\n      embedded: |\n        package main\n        import rego.v1\n        \
        violations contains json.marshal(input.chainloop_metadata)\n";
    let image = Image::new();
    image.attest(By::Referrers, 1);
    let key = image.key.public(&image.sandbox, "key.pub");
    let gate = |name: &str, kind: &str| {
        let file = image.sandbox.write("kind.yaml", TAGS.replace("KIND", kind));
        let gate = ["gate", "--product", "chainloop", "-d", &file, "--verify-key", &key];
        run(&image.sandbox, &[&gate[..], &["-f", "json", "--image", name]].concat())
    };
    let metadata = |name: &str| {
        let report = gate(name, "CONTAINER_IMAGE").code(1).json();
        let message = report["inputs"][0]["verdicts"][0]["violations"][0]["message"].clone();
        serde_json::from_str::<Value>(message.as_str().unwrap()).unwrap()
    };
    let repository = image.reference("");
    let hex = image.digest.replace("sha256:", "");
    let expected = |tag: Option<&str>, is_latest: bool| {
        let mut annotations = json!({
            "chainloop.material.type": "CONTAINER_IMAGE",
            "chainloop.material.image.is_latest_tag": is_latest,
        });
        if let Some(tag) = tag {
            annotations["chainloop.material.image.tag"] = tag.into();
        }
        json!({"name": repository, "digest": {"sha256": hex}, "annotations": annotations})
    };
    let by_digest = image.reference(&format!("@{}", image.digest));
    assert_eq!(metadata(&image.reference(":v1")), expected(Some("v1"), false));
    assert_eq!(metadata(&by_digest), expected(None, false));
    image.registry.store(REPOSITORY, "latest", &[("x", "", b"layer")]);
    assert_eq!(metadata(&image.reference(":v1")), expected(Some("v1"), true));
    assert_eq!(metadata(&image.reference("")), expected(Some("latest"), true));
    assert_eq!(metadata(&by_digest), expected(None, true));
    image.registry.store(REPOSITORY, "latest", &[("x", "", b"newer")]);
    assert_eq!(metadata(&by_digest), expected(None, false));
    gate(&by_digest, "SBOM_CYCLONEDX_JSON").fails("no policy for");
}

/// A tag may move between two requests: it is looked up once.
#[test]
fn a_tag_is_looked_up_once() {
    let image = Image::new();
    image.attest(By::Referrers, 1);
    image.attest(By::Tag("att"), 2);
    assert_eq!(seen(image.gate(SHOWS, &[])), "{1, 2}");
    let requests = image.registry.server.requests();
    let of_tag = requests.iter().filter(|request| request.path().ends_with("/manifests/v1"));
    assert_eq!(of_tag.count(), 1);
}

/// The index is what is signed, and its platforms are images of their own.
#[test]
fn an_image_for_several_platforms_is_its_index() {
    let mut image = Image::new();
    let platform = image.digest.clone();
    let entry = json!({"mediaType": "x", "digest": platform, "size": 1});
    let index = json!({"schemaVersion": 2, "manifests": [entry]});
    image.attest(By::Referrers, 1);
    image.digest = image.registry.store_manifest(REPOSITORY, "v1", index.to_string().into_bytes());
    assert_eq!(seen(image.gate(SHOWS, &[])), "set()");
    image.attest(By::Referrers, 2);
    assert_eq!(seen(image.gate(SHOWS, &[])), "{2}");
}

/// GitLab's registry takes the tag that stands in for a list for the digest itself.
#[test]
fn a_tag_that_is_the_image_is_no_list() {
    let quirk = |image: &Image| {
        let own = image.registry.manifest(REPOSITORY, &image.digest);
        image.registry.store_manifest(REPOSITORY, &image.digest.replace(':', "-"), own);
        image.registry.hook(|request| {
            let is_list = request.path().contains("/referrers/");
            is_list.then(|| crate::hostile::script::status(404, &[], ""))
        });
    };
    let image = Image::new();
    quirk(&image);
    assert_eq!(seen(image.gate(SHOWS, &[])), "set()");
    let image = Image::new();
    image.attest(By::Tag("att"), 2);
    quirk(&image);
    assert_eq!(seen(image.gate(SHOWS, &[])), "{2}");
}

#[test]
fn a_list_that_is_filtered_is_no_verdict() {
    let image = Image::new();
    image.attest(By::Referrers, 1);
    image.registry.hook(|request| {
        let list = br#"{"schemaVersion": 2, "manifests": []}"#;
        request.path().contains("/referrers/").then(|| {
            let text = std::str::from_utf8(list).unwrap();
            crate::hostile::script::status(200, &[("OCI-Filters-Applied", "artifactType")], text)
        })
    });
    image.gate(SHOWS, &[]).fails("unexpected filter in the referrers of an image by");
    image.registry.hook(|request| {
        let list = br#"{"schemaVersion": 2, "manifests": [], "annotations": {"org.opencontainers.referrers.filtersApplied": "artifactType"}}"#;
        request.path().contains("/referrers/").then(|| crate::hostile::script::ok(list.to_vec()))
    });
    image.gate(SHOWS, &[]).fails("unexpected filter in the referrers of an image by");
}
