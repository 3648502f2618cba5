//! `CONTAINER_IMAGE`: the folder of an OCI layout. Policies see its metadata only.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use rego::Value;

use crate::file::File;
use crate::material::{Material, Name, NotOfKind};
use crate::{json, reference};

/// The largest index, in bytes.
const MAX_INDEX: u64 = 4 << 20;

/// The annotations of a manifest with the image's name, the preferred one first.
const NAMES: [&str; 2] =
    ["org.opencontainers.image.ref.name", "org.opencontainers.image.base.name"];

/// The annotation of a manifest with the image's reference.
const REFERENCE: &str = "io.containerd.image.name";

/// Reads the folder of an image layout that has one image.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let Some(folder) = file.folder.filter(|folder| folder.join("oci-layout").exists()) else {
        return Err(NotOfKind::new("expected the folder of an image layout, with `oci-layout`"));
    };
    let index = json::first(&content(&folder.join("index.json"))?)?;
    let manifests = index.get_str("manifests").and_then(Value::as_array);
    let manifest = match manifests.map(|all| all.as_slice()).unwrap_or_default() {
        [manifest] => manifest,
        all => {
            let count = all.len();
            return Err(NotOfKind::new(format!("the layout has {count} images: expected one")));
        }
    };
    let text = |name: &str| manifest.get_str(name).and_then(Value::as_str).unwrap_or_default();
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digest = text("digest").strip_prefix("sha256:");
    let digest = digest.filter(|digest| digest.len() == 64 && digest.bytes().all(is_digit));
    let Some(digest) = digest else {
        return Err(NotOfKind::new(format!("invalid digest of the image: `{}`", text("digest"))));
    };
    let annotation = |key: &str| manifest.get_str("annotations")?.get_str(key)?.as_str();
    let name = NAMES.into_iter().find_map(annotation).unwrap_or("unknown");
    let tag = annotation(REFERENCE).and_then(tag_of).unwrap_or_default();
    Ok(Material {
        name: Name::Content(format!("oci-layout:{name}")),
        digest: Some(digest.to_owned()),
        ..Material::new(file, Value::new_object()).without_size()
    }
    .annotate("image.is_latest_tag", false)
    .annotate_text("image.tag", tag))
}

fn content(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MAX_INDEX).read_to_end(&mut bytes));
    read.map_err(|error| format!("can't read index.json: {error}"))?;
    Ok(bytes)
}

/// Returns the tag of a reference; `None` for one with a digest.
fn tag_of(reference: &str) -> Option<&str> {
    reference::repository(reference).filter(|_| !reference.contains('@'))?;
    let tag = reference.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'));
    Some(tag.unwrap_or("latest"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_a_tag_unless_it_has_a_digest() {
        let digest = format!("a/b:1@sha256:{}", "0".repeat(64));
        for (reference, expected) in [
            ("registry:5000/repo:2", Some("2")),
            ("registry:5000/repo", Some("latest")),
            (digest.as_str(), None),
            ("A", None),
        ] {
            assert_eq!(tag_of(reference), expected, "{reference}");
        }
    }
}
