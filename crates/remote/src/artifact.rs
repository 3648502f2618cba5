//! Artifacts in registries: files as pushed by conftest, or one bundle as pulled by OPA.
//!
//! Owns the media types, the names of files and the limits. A layer of another type is an error: it might
//! be a part of the policies.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use rego_platform_client::Error;
use rego_platform_client::json::Object;
use rego_platform_client::text::{escape, size};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const POLICY: &str = "application/vnd.cncf.openpolicyagent.policy.layer.v1+rego";
const DATA: &str = "application/vnd.cncf.openpolicyagent.data.layer.v1+json";
const CONFIGURATION: &str = "application/vnd.cncf.openpolicyagent.config.v1+json";
const BUNDLE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const BUNDLE_CONFIGURATION: &str = "application/vnd.oci.image.config.v1+json";
const TITLE: &str = "org.opencontainers.image.title";

/// The content of the configuration, which has no meaning.
pub(crate) const EMPTY: &[u8] = b"{}";

/// The limits on the content of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The size of the largest file, in bytes.
    pub file_bytes: u64,
    /// The size of all files together, in bytes.
    pub total_bytes: u64,
    /// The number of files.
    pub files: usize,
}

/// The content of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Files, sorted by name.
    Files(Vec<File>),
    /// A bundle, as an archive (`.tar.gz`).
    Bundle(Bytes),
}

/// A file of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct File {
    /// The path within the source: names joined by `/`, without `.` and `..`.
    pub name: String,
    /// The content.
    pub bytes: Bytes,
}

impl File {
    /// Creates a file of a source.
    pub fn new(name: impl Into<String>, bytes: Bytes) -> Self {
        Self { name: name.into(), bytes }
    }
}

/// A layer to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    pub digest: Digest,
    pub size: u64,
    /// The name of its file; `None` for a bundle.
    pub name: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: u32,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config: Option<Descriptor>,
    layers: Vec<Object<Descriptor>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

fn invalid_artifact(what: &str, message: &str) -> Error {
    Error::protocol(format!("`{}` {message}", escape(what)))
}

/// Returns the layers of a manifest; `what` is its address.
pub(crate) fn layers(what: &str, manifest: &[u8], limits: &Limits) -> Result<Vec<Layer>, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Index {
        manifests: Option<serde::de::IgnoredAny>,
    }
    if serde_json::from_slice::<Index>(manifest).is_ok_and(|index| index.manifests.is_some()) {
        return Err(invalid_artifact(what, "is an index of several manifests")
            .with_hint("write the digest of the manifest with the policies"));
    }
    let Object(manifest): Object<Manifest> = serde_json::from_slice(manifest).map_err(|error| {
        invalid_artifact(what, "has an invalid manifest").with_source(error.to_string())
    })?;
    let is_other = manifest.media_type.is_some_and(|kind| kind != MANIFEST);
    if is_other || manifest.schema_version != 2 {
        return Err(invalid_artifact(what, "isn't an OCI manifest").with_hint("push it again"));
    }
    let all: Result<Vec<_>, _> =
        manifest.layers.into_iter().map(|Object(layer)| of_descriptor(what, layer)).collect();
    let all = all?;
    if all.is_empty() {
        return Err(invalid_artifact(what, "has no policies").with_hint("check the address"));
    }
    if all.len() > 1 && all.iter().any(|layer| layer.name.is_none()) {
        return Err(invalid_artifact(what, "has a bundle and further layers")
            .with_hint("push either files or one bundle"));
    }
    let mut names = BTreeSet::new();
    for name in all.iter().filter_map(|layer| layer.name.as_deref()) {
        if !names.insert(name) {
            let message = format!("has a duplicate file `{}`", escape(name));
            return Err(invalid_artifact(what, &message).with_hint("push the artifact again"));
        }
    }
    limits.check(what, all.iter().map(|layer| layer.size))?;
    Ok(all)
}

fn of_descriptor(what: &str, layer: Descriptor) -> Result<Layer, Error> {
    let digest = Digest::parse(&layer.digest).ok_or_else(|| {
        let message = format!("has the unsupported digest `{}`", escape(&layer.digest));
        invalid_artifact(what, &message).with_hint("push with `sha256:` digests")
    })?;
    let endings: &[&str] = match layer.media_type.as_str() {
        BUNDLE => return Ok(Layer { digest, size: layer.size, name: None }),
        POLICY => &["rego"],
        DATA => &["json", "yaml", "yml"],
        other => {
            let message = format!("has a layer of the unsupported type `{}`", escape(other));
            return Err(invalid_artifact(what, &message)
                .with_hint("push with `conftest push` or as a bundle of OPA"));
        }
    };
    let name = layer.annotations.get(TITLE).ok_or_else(|| {
        invalid_artifact(what, "has a layer without a name")
            .with_hint(format!("set the layer's `{TITLE}`"))
    })?;
    // `oras push` and `conftest push` name files as they are given.
    let name = name.strip_prefix("./").unwrap_or(name);
    let shown = escape(name);
    if !is_inside(name) {
        let message = format!("has a path outside of its folder: `{shown}`");
        return Err(invalid_artifact(what, &message)
            .with_hint("push again from the folder, with relative paths"));
    }
    if !endings.contains(&ending(name)) {
        let message =
            format!("has `{shown}` with the unexpected type `{}`", escape(&layer.media_type));
        return Err(invalid_artifact(what, &message)
            .with_hint(format!("use a name that ends in `.{}`", endings.join("`, `."))));
    }
    Ok(Layer { digest, size: layer.size, name: Some(name.to_owned()) })
}

fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// Returns `true` for names joined by `/` that are a relative path within a folder on every system.
pub(crate) fn is_inside(name: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    let is_special = |c: char| c.is_control() || matches!(c, '\\' | ':');
    name.split('/').all(is_name) && !name.contains(is_special)
}

impl Limits {
    /// Checks the sizes of files.
    pub(crate) fn check(
        &self,
        what: &str,
        sizes: impl ExactSizeIterator<Item = u64>,
    ) -> Result<(), Error> {
        let refused = |message: String| {
            Err(Error::too_large(format!("`{}` {message}", escape(what)))
                .with_hint("check the address, or divide the artifact"))
        };
        if sizes.len() > self.files {
            return refused(format!("has more than {} files", self.files));
        }
        let mut total: u64 = 0;
        for bytes in sizes {
            total = total.saturating_add(bytes);
            if bytes > self.file_bytes {
                return refused(format!("has a file of more than {}", size(self.file_bytes)));
            }
        }
        if total > self.total_bytes {
            return refused(format!("is larger than {}", size(self.total_bytes)));
        }
        Ok(())
    }
}

/// An artifact to push: blobs and a manifest. Equal content has equal manifests.
pub(crate) struct Artifact {
    pub blobs: Vec<Bytes>,
    pub manifest: Bytes,
}

impl Artifact {
    /// Creates the artifact of policies and data, or of a bundle.
    pub fn of(content: &Content) -> Result<Self, Error> {
        let internal = |error: serde_json::Error| {
            Error::internal("can't write the manifest").with_source(error)
        };
        let (configuration, layers) = match content {
            Content::Bundle(bytes) => {
                (BUNDLE_CONFIGURATION, vec![(descriptor(BUNDLE, bytes), bytes.clone())])
            }
            Content::Files(files) => {
                let mut files: Vec<_> = files.iter().collect();
                files.sort_by(|one, other| one.name.cmp(&other.name));
                let layer = |file: &File| {
                    let kind = if ending(&file.name) == "rego" { POLICY } else { DATA };
                    let mut layer = descriptor(kind, &file.bytes);
                    layer.annotations.insert(TITLE.to_owned(), file.name.clone());
                    (layer, file.bytes.clone())
                };
                (CONFIGURATION, files.into_iter().map(layer).collect())
            }
        };
        let (layers, mut blobs): (Vec<_>, Vec<_>) = layers.into_iter().unzip();
        blobs.push(Bytes::from_static(EMPTY));
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(MANIFEST.to_owned()),
            config: Some(descriptor(configuration, EMPTY)),
            layers: layers.into_iter().map(Object).collect(),
        };
        let manifest = serde_json::to_vec(&manifest).map_err(internal)?.into();
        Ok(Self { blobs, manifest })
    }
}

fn descriptor(kind: &str, bytes: &[u8]) -> Descriptor {
    Descriptor {
        media_type: kind.to_owned(),
        digest: Digest::of(bytes).to_string(),
        size: bytes.len() as u64,
        annotations: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const LIMITS: Limits = Limits { file_bytes: 100, total_bytes: 150, files: 3 };

    fn file(name: &str, text: &str) -> File {
        File { name: name.to_owned(), bytes: text.to_owned().into() }
    }

    #[test]
    fn what_is_pushed_is_read_again_in_any_order() {
        let files = vec![file("lib/a.rego", "package a\n"), file("d.json", "{}")];
        let pushed = Artifact::of(&Content::Files(files.clone())).unwrap();
        let turned = Artifact::of(&Content::Files(files.into_iter().rev().collect())).unwrap();
        assert_eq!(pushed.manifest, turned.manifest);
        let read = layers("x", &pushed.manifest, &LIMITS).unwrap();
        let names: Vec<_> = read.iter().map(|layer| layer.name.as_deref().unwrap()).collect();
        assert_eq!(names, ["d.json", "lib/a.rego"]);
        let bundle = Artifact::of(&Content::Bundle(Bytes::from_static(b"x"))).unwrap();
        let read = layers("x", &bundle.manifest, &LIMITS).unwrap();
        assert!(read.len() == 1 && read.iter().all(|layer| layer.name.is_none()));
    }

    #[test]
    fn what_could_be_read_otherwise_is_refused() {
        let files = vec![file("a.rego", "package a\n"), file("d.json", "{}")];
        let pushed = Artifact::of(&Content::Files(files)).unwrap();
        let text = std::str::from_utf8(&pushed.manifest).unwrap();
        layers("x", text.as_bytes(), &LIMITS).unwrap();
        let policy = Digest::of(b"package a\n").to_string();
        for (from, to, says) in [
            ("a.rego", "../a.rego", "`../a.rego`"),
            ("a.rego", "/a.rego", "`/a.rego`"),
            ("a.rego", "b/./a.rego", "`b/./a.rego`"),
            ("a.rego", "c:a.rego", "`c:a.rego`"),
            ("a.rego", "b\\\\a.rego", "has a path outside of its folder"),
            ("a.rego", "a\\u0000.rego", "has a path outside of its folder"),
            ("a.rego", "a.REGO", "ends in `.rego`"),
            ("a.rego", "a.json", "ends in `.rego`"),
            ("d.json", "d.rego", "ends in `.json`"),
            ("policy.layer.v1+rego", "policy.layer.v2+rego", "unsupported type"),
            (POLICY, BUNDLE, "has a bundle and further layers"),
            (TITLE, "title", "without a name"),
            (&policy, &policy.replace("256", "512"), "push with `sha256:` digests"),
            ("\"schemaVersion\":2", "\"schemaVersion\":1", "isn't an OCI manifest"),
            (MANIFEST, "application/vnd.oci.image.index.v1+json", "isn't an OCI manifest"),
            ("\"layers\":", "\"manifests\":[],\"layers\":", "is an index"),
            ("\"layers\":", "\"layers\":[],\"layers\":", "invalid manifest"),
            ("\"size\":10", "\"size\":101", "a file of more than 100 bytes"),
            ("\"size\":10", "\"size\":-1", "invalid manifest"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = layers("x", text.replacen(from, to, 1).as_bytes(), &LIMITS).unwrap_err();
            let shown = format!("{} {:?}", error.report(), error.hint());
            assert!(shown.contains(says), "{from} {to}: {shown}");
        }
        let twice = vec![file("a.rego", "1"), file("a.rego", "2")];
        let twice = Artifact::of(&Content::Files(twice)).unwrap();
        assert!(
            layers("x", &twice.manifest, &LIMITS)
                .unwrap_err()
                .to_string()
                .contains("duplicate file `a.rego`")
        );
        let none = Artifact::of(&Content::Files(Vec::new())).unwrap();
        let error = layers("x", &none.manifest, &LIMITS).unwrap_err();
        assert!(error.to_string().contains("no policies"), "{error}");
        let large = (0..2).map(|number| file(&format!("{number}.rego"), &"#".repeat(90)));
        let large = Artifact::of(&Content::Files(large.collect())).unwrap();
        let error = layers("x", &large.manifest, &LIMITS).unwrap_err();
        assert!(error.to_string().contains("larger than 150 bytes"), "{error}");
        let many = (0..4).map(|number| file(&format!("{number}.rego"), "1")).collect();
        let many = Artifact::of(&Content::Files(many)).unwrap();
        let error = layers("x", &many.manifest, &LIMITS).unwrap_err();
        assert!(error.to_string().contains("more than 3 files"), "{error}");
    }
}
