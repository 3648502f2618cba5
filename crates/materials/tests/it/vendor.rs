//! The vendor's cases: what each kind accepts, and the input and annotations that policies get.
//!
//! `testdata/vendor.jsonl.gz` has verdicts of the vendor's client, release 1.106.1, over materials written for
//! this purpose. `RP_KIND=SARIF` compares one kind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use rego_platform_materials::{Content, File, Kind, Material, Name, NotOfKind};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/vendor.jsonl.gz");
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bytes(content: &Value) -> Vec<u8> {
    match content["base64"].as_str() {
        Some(text) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
        None => content.as_str().unwrap().as_bytes().to_vec(),
    }
}

/// Reads the material of a case as its kind.
fn read(kind: &Kind, case: &Value) -> Result<Material, NotOfKind> {
    let name = case["options"]["material"].as_str().unwrap();
    if case["options"]["layout"].as_bool() == Some(true) {
        let folder = tempfile::tempdir().unwrap();
        for (file, content) in case["files"].as_object().unwrap() {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes(content)).unwrap();
        }
        let path = folder.path().join(name);
        return kind.read(&File::folder(name, &path));
    }
    kind.read(&File::new(name, &bytes(&case["files"][name])))
}

/// Returns the metadata that the vendor gives of a material.
fn metadata(kind: &Kind, case: &Value, material: &Material) -> Value {
    let file = case["options"]["material"].as_str().unwrap();
    let mut annotations: Map<String, Value> = Map::new();
    annotations.insert("chainloop.material.name".to_owned(), json!("material"));
    annotations.insert("chainloop.material.type".to_owned(), json!(kind.name));
    if let Some(size) = material.size {
        annotations.insert("chainloop.material.size".to_owned(), json!(size.to_string()));
    }
    for (key, value) in &material.annotations {
        let value = serde_json::from_str(&value.to_json()).unwrap();
        annotations.insert(format!("chainloop.material.{key}"), value);
    }
    let bytes =
        if case["files"][file].is_null() { Vec::new() } else { bytes(&case["files"][file]) };
    let hash = Sha256::digest(material.canonical.unwrap_or(&bytes));
    let own = || hash.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let digest: String = material.digest.clone().unwrap_or_else(own);
    let mut all = Map::new();
    all.insert("annotations".to_owned(), Value::Object(annotations));
    all.insert("digest".to_owned(), json!({ "sha256": digest }));
    match &material.name {
        Name::File => drop(all.insert("name".to_owned(), json!(file))),
        Name::Content(name) => drop(all.insert("name".to_owned(), json!(name))),
        Name::Absent => {}
    }
    if let Some(text) = &material.text {
        all.insert("content".to_owned(), json!(text));
    }
    Value::Object(all)
}

/// Returns how a case differs, if it does.
fn difference(kind: &Kind, case: &Value) -> Option<String> {
    let vendor = &case["vendor"];
    let group = case["id"].as_str().unwrap().split('/').next().unwrap();
    let violation = || vendor["violations"][0].as_str().unwrap().to_owned();
    match (vendor["verdict"].as_str().unwrap(), read(kind, case)) {
        ("refused", Err(_)) => None,
        ("error", Ok(Material { content: Content::NotJson(_), .. })) => None,
        ("refused", Ok(_)) => Some(format!("LAXER: accepted, though {}", vendor["why"])),
        ("error", Ok(_)) => Some("LAXER: JSON".to_owned()),
        ("error", Err(_)) => None,
        (_, Err(error)) => Some(format!("refused: {error}")),
        ("fail", Ok(material)) if group == "input" => {
            // Numbers are compared by value, as the language does.
            let value = |text: &str| rego::Value::from_json(text).unwrap();
            let expected = value(&violation());
            match material.content {
                Content::Input(mut input) => {
                    // The gate replaces these.
                    let members = input.as_object_mut().unwrap();
                    members.retain(|name, _| {
                        name != &"args".into() && name != &"chainloop_metadata".into()
                    });
                    let shown =
                        || format!("{}\n    instead of {}", input.to_json(), expected.to_json());
                    (input != expected).then(shown)
                }
                Content::NotJson(error) => Some(error),
            }
        }
        ("fail", Ok(material)) if group == "metadata" => {
            let mut expected: Value = serde_json::from_str(&violation()).unwrap();
            let annotations = expected["annotations"].as_object_mut().unwrap();
            annotations.retain(|key, _| !key.starts_with("chainloop.material.cas"));
            if kind.name != "STRING" {
                expected.as_object_mut().unwrap().remove("content");
            }
            let own = metadata(kind, case, &material);
            (own != expected).then(|| format!("{own}\n    instead of {expected}"))
        }
        _ => None,
    }
}

#[test]
fn kinds_read_materials_as_the_vendor_does() {
    let wanted = std::env::var("RP_KIND").ok();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut differences = String::new();
    for case in &cases() {
        let Some(kind) = Kind::named(case["kind"].as_str().unwrap()) else { continue };
        let id = case["id"].as_str().unwrap();
        let is_wanted = wanted.as_ref().is_none_or(|wanted| kind.name == wanted);
        if !is_wanted
            || !kind.is_supported()
            || case["options"]["material"].is_null()
            || id.starts_with("document/")
        {
            continue;
        }
        let count = counts.entry(kind.name).or_default();
        count.0 += 1;
        if let Some(difference) = difference(kind, case) {
            count.1 += 1;
            differences.push_str(&format!("{id}: {difference}\n"));
        }
    }
    for (kind, (all, different)) in &counts {
        println!("{kind}: {} of {all}", all - different);
    }
    assert!(!counts.is_empty(), "no kind has cases");
    assert!(differences.is_empty(), "{differences}");
}
