//! Images for several platforms: an index, the images that it lists, and what BuildKit stores in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{By, DSSE, Image, REPOSITORY, about};
use crate::cli::{Output, Sandbox};
use crate::gate::digest_of;
use crate::gate::signed::{Key, envelope};
use crate::remote::registry::Registry;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIGURATION: &str = "application/vnd.oci.image.config.v1+json";

/// Reports the platforms, each with the numbers of its attestations, and those of the index.
const SHOWS: &str = "package p\n\ndeny contains json.marshal([numbers(input), platforms])\n\n\
    platforms := [[own.platform, numbers(own)] | some own in input.platforms]\n\n\
    numbers(own) := sort([one.statement.predicate.number | some one in own.attestations])\n";

/// An index in a registry, with the digests of what it lists.
struct Index {
    image: Image,
    listed: Vec<String>,
}

impl Index {
    /// Stores an index of images for these platforms, and of further entries.
    fn new(platforms: &[Value], more: impl Fn(&Registry, &[String]) -> Vec<Value>) -> Self {
        let registry = Registry::new();
        let image = |(number, platform): (usize, &Value)| {
            let layer: (&str, &str, &[u8]) = ("x", "", &number.to_le_bytes());
            let digest = registry.store(REPOSITORY, &format!("of-{number}"), &[layer]);
            let mut entry = json!({"mediaType": MANIFEST, "digest": digest, "size": 1});
            if !platform.is_null() {
                entry["platform"] = platform.clone();
            }
            (digest, entry)
        };
        let (listed, mut entries): (Vec<String>, Vec<Value>) =
            platforms.iter().enumerate().map(image).unzip();
        entries.extend(more(&registry, &listed));
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
        let digest = registry.store_manifest(REPOSITORY, "v1", index.to_string().into_bytes());
        let image = Image { sandbox: Sandbox::new(), registry, digest, key: Key::new() };
        Self { image, listed }
    }

    /// Attaches a signed statement about `digest` to `place`.
    fn attest(&self, place: &str, digest: &str, number: u64) {
        let document = envelope(&about(digest, number), &[&self.image.key]).to_string();
        let layer = (DSSE, document.as_bytes(), "");
        self.image.registry.attach((REPOSITORY, place), By::Referrers, &[layer]);
    }
}

/// Returns what [`SHOWS`] reported.
fn seen(output: Output) -> Value {
    let report = output.code(1).json();
    let verdict = &report["inputs"][0]["verdicts"][0];
    serde_json::from_str(verdict["violations"][0]["message"].as_str().unwrap()).unwrap()
}

fn amd64() -> Value {
    json!({"os": "linux", "architecture": "amd64"})
}

fn arm64() -> Value {
    json!({"os": "linux", "architecture": "arm64", "variant": "v8"})
}

#[test]
fn each_platform_has_what_is_attached_to_its_own_image() {
    let arm = json!({"os": "linux", "architecture": "arm"});
    let index = Index::new(&[amd64(), arm64(), arm, Value::Null], |_, _| Vec::new());
    let digest = index.image.digest.clone();
    index.attest(&digest, &digest, 1);
    index.attest(&index.listed[0], &index.listed[0], 2);
    index.attest(&index.listed[0], &index.listed[0], 3);
    // A statement about the index isn't one about a platform, wherever it hangs.
    index.attest(&index.listed[1], &digest, 4);
    index.attest(&index.listed[2], &index.listed[2], 5);
    let platforms = json!([
        ["linux/amd64", [2, 3]],
        ["linux/arm64", []],
        ["linux/arm/v7", [5]],
        ["unknown/unknown", []],
    ]);
    assert_eq!(seen(index.image.gate(SHOWS, &[])), json!([[1], platforms]));
    let report = index.image.gate(SHOWS, &[]).json();
    let evidence = report["inputs"][0]["evidence"].as_array().unwrap();
    let of: Vec<&Value> = evidence.iter().map(|own| &own["platform"]).collect();
    assert_eq!(
        of,
        [&Value::Null, &json!("linux/amd64"), &json!("linux/amd64"), &json!("linux/arm/v7")]
    );
    let note = report["notes"].to_string();
    assert!(note.contains("subject mismatch"), "{note}");

    // The selected platforms, in any spelling; the index stays.
    let one = index.image.gate(SHOWS, &["--platform", "linux/arm64/v8", "--platform", "Linux/arm"]);
    let selected = json!([["linux/arm64", []], ["linux/arm/v7", [5]]]);
    assert_eq!(seen(one), json!([[1], selected]));
    let all = "it has linux/amd64, linux/arm64, linux/arm/v7, unknown/unknown";
    let missing = index.image.gate(SHOWS, &["--platform", "linux/s390x"]);
    missing.fails(&format!(
        "no platform `linux/s390x` of `oci://{}`: {all}",
        index.image.reference(":v1")
    ));
    index.image.gate(SHOWS, &["--platform", "linux"]).fails("invalid platform `linux`");
}

#[test]
fn a_single_image_is_its_own_platform() {
    let image = Image::new();
    image.attest(By::Referrers, 1);
    // Its evidence is fetched once.
    let fetched = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&fetched);
    image.registry.hook(move |request| {
        counter.fetch_add(usize::from(request.path().contains("/blobs/")), Ordering::Relaxed);
        None
    });
    let unknown = json!([[1], [["unknown/unknown", [1]]]]);
    assert_eq!(seen(image.gate(SHOWS, &[])), unknown);
    assert_eq!(fetched.load(Ordering::Relaxed), 1);
    // The platform is in the configuration of an image.
    let configuration = json!({"os": "linux", "architecture": "arm", "variant": "v6"}).to_string();
    let layer = image.registry.layer(CONFIGURATION, configuration.as_bytes(), &json!({}));
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": layer, "layers": [],
    });
    let content = manifest.to_string().into_bytes();
    let digest = image.registry.store_manifest(REPOSITORY, "v1", content);
    let image = Image { digest, ..image };
    image.attest(By::Fallback, 2);
    assert_eq!(seen(image.gate(SHOWS, &[])), json!([[2], [["linux/arm/v6", [2]]]]));
    image.gate(SHOWS, &["--platform", "linux/amd64"]).fails("no platform `linux/amd64`");
}

#[test]
fn what_buildkit_stores_belongs_to_the_image_that_it_names_and_is_unsigned() {
    let statement = |registry: &Registry, digest: &str, number: u64| {
        let content = about(digest, number);
        let layer = registry.layer("application/vnd.in-toto+json", content.as_bytes(), &json!({}));
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": {"mediaType": CONFIGURATION, "digest": digest_of(b"{}"), "size": 2},
            "layers": [layer],
        });
        let content = manifest.to_string().into_bytes();
        json!({
            "mediaType": MANIFEST, "size": 1,
            "digest": registry.store_manifest(REPOSITORY, &format!("b{number}"), content),
            "platform": {"os": "unknown", "architecture": "unknown"},
            "annotations": {
                "vnd.docker.reference.type": "attestation-manifest",
                "vnd.docker.reference.digest": digest,
            },
        })
    };
    let index = Index::new(&[amd64(), arm64()], |registry, listed| {
        vec![statement(registry, &listed[1], 7), statement(registry, &listed[0], 8)]
    });
    let unverified = index.image.gate_with(SHOWS, &["--unverified"]);
    let platforms = json!([["linux/amd64", [8]], ["linux/arm64", [7]]]);
    assert_eq!(seen(unverified), json!([[], platforms]));
    let none = json!([["linux/amd64", []], ["linux/arm64", []]]);
    assert_eq!(seen(index.image.gate(SHOWS, &["--fail-on-notes"])), json!([[], none]));
}

#[test]
fn what_an_index_lists_has_to_be_there_and_to_be_an_image() {
    let absent = digest_of(b"absent");
    let entry = json!({"mediaType": MANIFEST, "digest": absent, "size": 1, "platform": arm64()});
    let index = Index::new(&[amd64()], |_, _| vec![entry.clone()]);
    index.image.gate(SHOWS, &[]).fails(&format!("the image `{absent}` of linux/arm64"));
    let present = index.image.gate(SHOWS, &["--platform", "linux/amd64"]);
    assert_eq!(seen(present), json!([[], [["linux/amd64", []]]]));

    let index = Index::new(&[amd64()], |registry, _| {
        let inner = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": []});
        let inner = registry.store_manifest(REPOSITORY, "in", inner.to_string().into_bytes());
        vec![json!({"mediaType": INDEX, "digest": inner, "size": 1, "platform": arm64()})]
    });
    index.image.gate(SHOWS, &[]).fails("unsupported index of an index");
    // Fields by position.
    for entry in [
        json!([absent, arm64(), {}]),
        json!({"digest": absent, "platform": ["linux", "arm64", ""]}),
    ] {
        let index = Index::new(&[amd64()], |_, _| vec![entry.clone()]);
        index.image.gate(SHOWS, &[]).fails("is neither a manifest nor an index");
    }
}

#[test]
fn an_annotation_hides_no_image() {
    let hidden = |platform: Value, about: &str| {
        Index::new(&[amd64()], |registry, listed| {
            let image = registry.store(REPOSITORY, "hidden", &[("x", "", b"hidden")]);
            let about = match about {
                "listed" => listed[0].clone(),
                "itself" => image.clone(),
                other => digest_of(other.as_bytes()),
            };
            let mut entry = json!({
                "mediaType": MANIFEST, "size": 1, "digest": image,
                "annotations": {
                    "vnd.docker.reference.type": "attestation-manifest",
                    "vnd.docker.reference.digest": about,
                },
            });
            if !platform.is_null() {
                entry["platform"] = platform.clone();
            }
            vec![entry]
        })
    };
    let unknown = json!({"os": "unknown", "architecture": "unknown"});
    for (platform, about, name) in [
        (arm64(), "listed", "linux/arm64"),
        (Value::Null, "listed", "unknown/unknown"),
        (unknown.clone(), "itself", "unknown/unknown"),
        (unknown, "elsewhere", "unknown/unknown"),
    ] {
        let index = hidden(platform, about);
        let shown = seen(index.image.gate(SHOWS, &[]));
        assert_eq!(shown, json!([[], [["linux/amd64", []], [name, []]]]), "{about}");
    }
    let empty = Index::new(&[], |_, _| Vec::new());
    empty.image.gate(SHOWS, &[]).fails("is an index without an image");
}

#[test]
fn members_that_the_gate_creates_are_closed_at_each_level() {
    let index = Index::new(&[amd64()], |_, _| Vec::new());
    let digest = index.image.digest.clone();
    index.attest(&digest, &digest, 1);
    index.attest(&index.listed[0], &index.listed[0], 2);
    for (reference, is_closed) in [
        ("input.platforms[_].platfrom == \"x\"", true),
        ("input.platforms[_].untrusted", true),
        ("input.attestations[_].signer == \"x\"", true),
        ("input.platforms[_].attestations[_].signers[_].signed_at < \"2026\"", true),
        ("input.platforms[_].attestations[_].statement.predicate.missing == 1", false),
        ("input.attestations[_].signers[_].key == \"x\"", false),
        ("input.attestations[_].signers[_].issuer == \"x\"", true),
    ] {
        let policy = format!("package p\n\ndeny contains \"x\" if {reference}\n");
        let output = index.image.gate(&policy, &[]);
        if is_closed {
            drop(output.fails("missing member: neither the gate"));
        } else {
            drop(output.code(0));
        }
    }
}

#[test]
fn a_file_names_many_images() {
    let index = Index::new(&[amd64(), arm64()], |_, _| Vec::new());
    let image = &index.image;
    let policy = image.sandbox.write("policy.rego", SHOWS);
    let run = |text: String| {
        let file = image.sandbox.write("images.txt", text);
        let gate = ["gate", "-d", &policy, "--images", &file, "--unverified", "-f", "json"];
        crate::remote::run(&image.sandbox, &gate)
    };
    let (first, second) =
        (image.reference(":v1"), image.reference(&format!("@{}", index.listed[0])));
    let report = run(format!("# release 1\n\n{first}\n  {second}\n")).code(1).json();
    let names: Vec<&str> = report["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, [format!("oci://{first}"), format!("oci://{second}")]);
    run("# nothing\n".to_owned()).fails("no image in");
    run(format!("{first}\nhttps://x y\n")).fails("images.txt`:2: ");
    let alone = ["gate", "-d", &policy, "-i", &policy, "--platform", "linux/amd64"];
    crate::remote::run(&image.sandbox, &alone).fails("`--platform` has no effect: no image");
}
