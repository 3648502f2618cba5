//! `artifacts.yaml` and `artifacts/sha256/`: content, each file named by its own hash.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use bytes::Bytes;
use serde::Deserialize;

use super::super::scalars::{Digest, Name};
use super::files::{Folder, Problem, Source, code};

/// The folder of content in the data set.
const CONTENT: &str = "artifacts/sha256";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArtifactEntry {
    digest: Digest,
    name: Name,
    content_type: Name,
}

/// A file of the content store.
#[derive(Clone)]
pub(crate) struct Artifact {
    pub name: String,
    pub content_type: String,
    pub bytes: Bytes,
}

/// The listed content, with the list's source for later checks.
#[derive(Default)]
pub(super) struct Artifacts {
    pub by_digest: HashMap<Digest, Artifact>,
    source: Option<Source>,
}

impl Artifacts {
    /// Reports a problem at an artifact's line.
    pub fn report(&self, digest: &Digest, message: String) {
        if let Some(source) = &self.source {
            source.report(digest.as_str(), 0, code::REFERENCE, message);
        }
    }
}

pub(super) fn load(folder: &Folder) -> Artifacts {
    let mut artifacts = Artifacts::default();
    let mut unclaimed: BTreeSet<String> = match folder.list(Path::new(CONTENT)) {
        Ok(names) => names.into_iter().collect(),
        Err(problem) => {
            folder.push(problem);
            BTreeSet::new()
        }
    };
    if let Some((source, entries)) = folder.file::<Vec<ArtifactEntry>>("artifacts.yaml") {
        for entry in entries {
            unclaimed.remove(entry.digest.sha256_hex().unwrap_or_default());
            match read(folder, &source, &entry) {
                Ok(artifact) => {
                    if artifacts.by_digest.insert(entry.digest.clone(), artifact).is_some() {
                        let message = format!("duplicate artifact `{}`", entry.digest);
                        let digest = entry.digest.as_str();
                        source.report(digest, 1, code::DUPLICATE, message);
                    }
                }
                Err(problem) => folder.push(problem),
            }
        }
        artifacts.source = Some(source);
    }
    for name in unclaimed {
        let path = Path::new(CONTENT).join(&name);
        let message = "artifact not listed in `artifacts.yaml`".to_owned();
        folder.report(&path, code::REFERENCE, message);
    }
    artifacts
}

/// Reads an artifact's content and checks it against its digest.
fn read(folder: &Folder, source: &Source, entry: &ArtifactEntry) -> Result<Artifact, Problem> {
    let ArtifactEntry { digest, name, content_type } = entry;
    let at = |code, message: String| source.at(digest.as_str(), 0, code, message);
    if axum::http::HeaderValue::from_str(content_type.as_str()).is_err() {
        return Err(at(code::CONTENT, "invalid content type for a header".into()));
    }
    let Some(hex) = digest.sha256_hex() else {
        return Err(at(code::CONTENT, format!("unsupported digest `{digest}`: expected SHA-256")));
    };
    let Some(bytes) = folder.bytes(&Path::new(CONTENT).join(hex))? else {
        return Err(at(code::REFERENCE, format!("missing file `{CONTENT}/{hex}`")));
    };
    let actual = Digest::sha256(&bytes);
    if actual != *digest {
        let message =
            format!("digest mismatch for the content of `{}`: found `{actual}`", name.as_str());
        return Err(at(code::CONTENT, message)
            .with_hint("rename the file, and replace its digest in all files of the data set"));
    }
    Ok(Artifact {
        name: name.as_str().to_owned(),
        content_type: content_type.as_str().to_owned(),
        bytes: bytes.into(),
    })
}
