//! Images in OCI layouts: folders and archives, without a registry.

use serde_json::{Value, json};

use super::{DSSE, about};
use crate::cli::{Output, Sandbox};
use crate::gate::digest_of;
use crate::gate::signed::{Key, envelope};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIGURATION: &str = "application/vnd.oci.image.config.v1+json";
const REFERENCE_NAME: &str = "org.opencontainers.image.ref.name";

const SHOWS: &str = "package p\n\ndeny contains json.marshal([input.reference, numbers(input), platforms])\n\n\
    platforms := [[own.platform, numbers(own)] | some own in input.platforms]\n\n\
    numbers(own) := sort([one.statement.predicate.number | some one in own.attestations])\n";

/// A layout that is written as it grows.
struct Layout {
    sandbox: Sandbox,
    key: Key,
    entries: Vec<Value>,
}

impl Layout {
    fn new() -> Self {
        let layout = Self { sandbox: Sandbox::new(), key: Key::new(), entries: Vec::new() };
        layout.sandbox.write("layout/oci-layout", r#"{"imageLayoutVersion": "1.0.0"}"#);
        layout.write();
        layout
    }

    fn write(&self) {
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": self.entries});
        self.sandbox.write("layout/index.json", index.to_string());
    }

    fn blob(&self, content: &str, media_type: &str) -> Value {
        let digest = digest_of(content.as_bytes());
        self.sandbox.write(&format!("layout/blobs/{}", digest.replace(':', "/")), content);
        json!({"mediaType": media_type, "digest": digest, "size": content.len()})
    }

    /// Adds the image of a platform, or something else that isn't listed. Returns its descriptor.
    fn image(&self, architecture: &str) -> Value {
        let configuration = json!({"os": "linux", "architecture": architecture}).to_string();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": self.blob(&configuration, CONFIGURATION), "layers": [],
        });
        let mut entry = self.blob(&manifest.to_string(), MANIFEST);
        entry["platform"] = json!({"os": "linux", "architecture": architecture});
        entry
    }

    fn list(&mut self, mut entry: Value, tag: Option<&str>) -> Value {
        if let Some(tag) = tag {
            entry["annotations"] = json!({REFERENCE_NAME: tag});
        }
        self.entries.push(entry.clone());
        self.write();
        entry
    }

    /// Attaches a signed statement about an image: as a referrer, or under cosign's tag.
    fn attest(&mut self, image: &Value, number: u64, is_referrer: bool) {
        let digest = image["digest"].as_str().unwrap().to_owned();
        let document = envelope(&about(&digest, number), &[&self.key]).to_string();
        let mut manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": self.blob("{}", "application/vnd.oci.empty.v1+json"),
            "layers": [self.blob(&document, DSSE)],
        });
        if is_referrer {
            manifest["subject"] = json!({"mediaType": MANIFEST, "digest": digest, "size": 1});
        }
        let entry = self.blob(&manifest.to_string(), MANIFEST);
        let tag = format!("{}.att", digest.replace(':', "-"));
        self.list(entry, (!is_referrer).then_some(&*tag));
    }

    fn path(&self) -> String {
        self.sandbox.path("layout").to_str().unwrap().to_owned()
    }

    fn gate(&self, image: &str, arguments: &[&str]) -> Output {
        let key = self.key.public(&self.sandbox, "key.pub");
        let policy = self.sandbox.write("policy.rego", SHOWS);
        let gate = ["gate", "-d", &policy, "--image", image, "--verify-key", &key, "-f", "json"];
        self.sandbox.run(&[&gate[..], arguments].concat()).output()
    }

    /// Writes the layout as an archive.
    fn archive(&self) -> String {
        let path = self.sandbox.path("layout.tar");
        let mut archive = tar::Builder::new(std::fs::File::create(&path).unwrap());
        archive.append_dir_all(".", self.path()).unwrap();
        archive.finish().unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn seen(output: Output) -> Value {
    let report = output.code(1).json();
    let verdict = &report["inputs"][0]["verdicts"][0];
    serde_json::from_str(verdict["violations"][0]["message"].as_str().unwrap()).unwrap()
}

#[test]
fn an_image_on_disk_is_judged_as_in_a_registry() {
    let mut layout = Layout::new();
    let image = layout.image("amd64");
    let image = layout.list(image, None);
    layout.attest(&image, 1, true);
    layout.attest(&image, 2, false);
    let archive = layout.archive();
    for path in [layout.path(), archive] {
        let reference = format!("oci-layout:{path}");
        let output = layout.gate(&reference, &[]);
        let report = output.json();
        assert_eq!(report["inputs"][0]["digest"], image["digest"], "{report:#}");
        let all = json!([1, 2]);
        assert_eq!(seen(output), json!([reference, all, [["linux/amd64", all]]]));
        layout.gate(&reference, &["--platform", "linux/s390x"]).fails("no platform");
    }
    layout.gate("oci-layout:", &[]).fails("no path in `oci-layout:`");
    layout.gate("oci-layout:none", &[]).fails("`none` doesn't exist");
}

#[test]
fn a_tag_selects_one_of_several_images() {
    let mut layout = Layout::new();
    let (amd64, arm64) = (layout.image("amd64"), layout.image("arm64"));
    let index = json!({
        "schemaVersion": 2, "mediaType": INDEX, "manifests": [amd64, arm64],
    });
    let index = layout.blob(&index.to_string(), INDEX);
    let index = layout.list(index, Some("v1"));
    let other = layout.image("s390x");
    layout.list(other, Some("v2"));
    layout.attest(&arm64, 3, true);
    layout.attest(&index, 4, true);
    let path = layout.path();
    let reference = format!("oci-layout:{path}:v1");
    let platforms = json!([["linux/amd64", []], ["linux/arm64", [3]]]);
    assert_eq!(seen(layout.gate(&reference, &[])), json!([reference, [4], platforms]));
    let error = layout.gate(&format!("oci-layout:{path}"), &[]).fails("has 2 images");
    assert!(error.stderr.contains("name one with `oci-layout:PATH:TAG`: v1, v2"), "{error:?}");
    layout.gate(&format!("oci-layout:{path}:v3"), &[]).fails("has no image `v3`");
    layout.list(amd64, Some("v1"));
    layout.gate(&reference, &[]).fails("has several images with the tag `v1`");
}

#[test]
fn a_layout_that_lacks_something_or_was_changed_is_no_verdict() {
    let mut layout = Layout::new();
    let image = layout.image("amd64");
    let image = layout.list(image, None);
    layout.attest(&image, 1, true);
    let reference = format!("oci-layout:{}", layout.path());
    let blob = |entry: &Value| {
        format!("layout/blobs/{}", entry["digest"].as_str().unwrap().replace(':', "/"))
    };
    let attached = layout.entries[1].clone();
    let (name, path) = (blob(&attached), layout.sandbox.path(&blob(&attached)));
    let whole = std::fs::read_to_string(&path).unwrap();
    layout.sandbox.write(&name, whole.replace("schemaVersion", "schemaversion"));
    layout.gate(&reference, &[]).fails("digest mismatch of the blob");
    std::fs::remove_file(&path).unwrap();
    layout.gate(&reference, &[]).fails("lacks the manifest");
    let manifest: Value = serde_json::from_str(&whole).unwrap();
    layout.sandbox.write(&name, whole);
    std::fs::remove_file(layout.sandbox.path(&blob(&manifest["layers"][0]))).unwrap();
    layout.gate(&reference, &[]).fails("not found in");
    layout.sandbox.write("layout/index.json", r#"{"manifests": [["sha256:x"]]}"#);
    layout.gate(&reference, &[]).fails("has an invalid `index.json`");
    let file = layout.sandbox.write("not.tar", "x");
    layout.gate(&format!("oci-layout:{file}"), &[]).fails("not.tar");
    let empty = layout.sandbox.path("empty");
    std::fs::create_dir(&empty).unwrap();
    layout.gate(&format!("oci-layout:{}", empty.display()), &[]).fails("it has no `oci-layout`");
    for version in ["{}", "[\"1.0.0\"]", "{\"imageLayoutVersion\": \"2.0.0\"}"] {
        layout.sandbox.write("layout/oci-layout", version);
        layout.gate(&reference, &[]).fails("its `imageLayoutVersion` isn't 1.0.0");
    }
}
