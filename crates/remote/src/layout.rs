//! OCI image layouts on disk: a folder, or an archive of one, as Docker (from version 25), skopeo, oras and cosign
//! write them (<https://github.com/opencontainers/image-spec/blob/main/image-layout.md>).
//!
//! Owns which entry of the layout's index is the image, and which refer to it. Nothing is taken from outside of the
//! layout, and every content is compared with its digest.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parking_lot::Mutex;
use rego_platform_client::Error;
use rego_platform_client::files::bounded;
use rego_platform_client::json::Object;
use rego_platform_client::text::{escape, escape_path};
use rego_platform_client::unreadable::unreadable;
use serde::Deserialize;

use crate::digest::Digest;
use crate::registry::MAX_MANIFEST;

/// The maximum number of entries of a layout's index, and of files in an archive.
const MAX_ENTRIES: usize = 10_000;

/// The version of layouts.
const VERSION: &str = "1.0.0";

/// The annotation with the tag of an entry.
const REFERENCE_NAME: &str = "org.opencontainers.image.ref.name";

/// The prefix of tags for a digest: the fallback tag of referrers, and cosign's.
const DIGEST_TAG: &str = "sha256-";

/// The name of an image in a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutReference {
    path: PathBuf,
    tag: Option<String>,
}

impl LayoutReference {
    /// Takes a path, or a path and a tag after a colon where no such path exists.
    pub(crate) fn new(text: &str) -> Self {
        match text.rsplit_once(':').filter(|_| !Path::new(text).exists()) {
            Some((path, tag)) => Self { path: path.into(), tag: Some(tag.to_owned()) },
            None => Self { path: text.into(), tag: None },
        }
    }

    /// The folder or the archive.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tag of the image.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }
}

impl fmt::Display for LayoutReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))
    }
}

/// The files of a layout.
enum Files {
    Folder(PathBuf),
    /// An archive, with the position and the size of each file.
    Archive(Mutex<File>, HashMap<PathBuf, (u64, u64)>),
}

/// An opened layout.
pub(crate) struct Layout {
    reference: LayoutReference,
    files: Files,
    image: Digest,
    tags: BTreeMap<String, Digest>,
    /// The manifests that refer to a digest.
    referrers: BTreeMap<String, Vec<Digest>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    image_layout_version: String,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Object<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    digest: String,
    #[serde(default)]
    annotations: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Manifest {
    subject: Option<Object<Subject>>,
}

#[derive(Deserialize)]
struct Subject {
    digest: String,
}

impl Files {
    fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error| unreadable("", path, error);
        if std::fs::metadata(path).map_err(failed)?.is_dir() {
            return Ok(Self::Folder(path.to_owned()));
        }
        let mut archive = tar::Archive::new(File::open(path).map_err(failed)?);
        let mut files = HashMap::new();
        for entry in archive.entries_with_seek().map_err(failed)? {
            let broken = |error: std::io::Error| {
                invalid(path, "is neither a folder nor an archive (tar)")
                    .with_source(error.to_string())
                    .with_hint("decompress it, if it is compressed")
            };
            let entry = entry.map_err(broken)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let name: PathBuf = entry
                .path()
                .map_err(broken)?
                .components()
                .filter(|part| part.as_os_str() != ".")
                .collect();
            let place = (entry.raw_file_position(), entry.size());
            if files.insert(name.clone(), place).is_some() {
                return Err(invalid(path, &format!("has `{}` twice", escape_path(&name))));
            }
            if files.len() > MAX_ENTRIES {
                return Err(invalid(path, &format!("has more than {MAX_ENTRIES} files")));
            }
        }
        Ok(Self::Archive(Mutex::new(archive.into_inner()), files))
    }

    /// Returns the content of a file, which has at most `limit` bytes; `None` if it doesn't exist.
    fn read(&self, name: &str, limit: u64) -> Result<Option<Bytes>, Error> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                if !path.exists() {
                    return Ok(None);
                }
                let bytes = bounded(&path, limit).map_err(|error| unreadable("", &path, error))?;
                Ok(Some(bytes.into()))
            }
            Self::Archive(file, files) => {
                let Some((position, size)) = files.get(Path::new(name)) else { return Ok(None) };
                if *size > limit {
                    let message = format!("file too large: `{name}`: the limit is {limit} bytes");
                    return Err(Error::too_large(message));
                }
                let mut content = Vec::new();
                let mut file = file.lock();
                let read = file
                    .seek(SeekFrom::Start(*position))
                    .and_then(|_| (&mut *file).take(*size).read_to_end(&mut content));
                read.map_err(|error| {
                    Error::invalid_argument("can't read the archive").with_source(error)
                })?;
                Ok(Some(content.into()))
            }
        }
    }
}

fn invalid(path: &Path, what: &str) -> Error {
    Error::invalid_argument(format!("`{}` {what}", escape_path(path)))
}

impl Layout {
    pub fn open(reference: LayoutReference) -> Result<Self, Error> {
        let path = reference.path().to_owned();
        let files = Files::open(&path)?;
        let other = |what: &str| {
            invalid(&path, &format!("isn't an OCI layout: {what}"))
                .with_hint("write one with `docker save` (version 25 or newer), skopeo or oras")
        };
        let version = files.read("oci-layout", MAX_MANIFEST)?;
        let version = version.ok_or_else(|| other("it has no `oci-layout`"))?;
        let version = serde_json::from_slice::<Object<Version>>(&version);
        if !version.is_ok_and(|Object(own)| own.image_layout_version == VERSION) {
            return Err(other(&format!("its `imageLayoutVersion` isn't {VERSION}")));
        }
        let index = files.read("index.json", MAX_MANIFEST)?;
        let index = index.ok_or_else(|| other("it has no `index.json`"))?;
        let index: Object<Index> = serde_json::from_slice(&index).map_err(|error| {
            invalid(&path, "has an invalid `index.json`").with_source(error.to_string())
        })?;
        let Object(Index { manifests }) = index;
        if manifests.len() > MAX_ENTRIES {
            return Err(invalid(&path, &format!("has more than {MAX_ENTRIES} manifests")));
        }
        let (mut tags, mut referrers) = (BTreeMap::new(), BTreeMap::<_, Vec<_>>::new());
        let mut images = Vec::new();
        for Object(entry) in manifests {
            let digest = Digest::parse(&entry.digest).ok_or_else(|| {
                invalid(&path, &format!("has the unsupported digest `{}`", escape(&entry.digest)))
            })?;
            let tag = entry.annotations.get(REFERENCE_NAME).and_then(|tag| tag.as_str());
            if let Some(tag) = tag
                && tags.insert(tag.to_owned(), digest.clone()).is_some_and(|own| own != digest)
            {
                let message = format!("has several images with the tag `{}`", escape(tag));
                return Err(invalid(&path, &message));
            }
            let manifest = blob(&files, &digest, MAX_MANIFEST)?.ok_or_else(|| {
                invalid(&path, &format!("lacks the manifest `{digest}`, which it lists"))
            })?;
            let manifest: Object<Manifest> =
                serde_json::from_slice(&manifest).map_err(|error| {
                    invalid(&path, &format!("has an invalid manifest `{digest}`"))
                        .with_source(error.to_string())
                })?;
            match manifest.0.subject {
                Some(Object(subject)) => referrers.entry(subject.digest).or_default().push(digest),
                None if tag.is_some_and(|tag| tag.starts_with(DIGEST_TAG)) => {}
                None if images.iter().any(|(own, _)| *own == digest) => {}
                None => images.push((digest, tag.map(str::to_owned))),
            }
        }
        let named = |tag: &str| {
            let found = tags.get(tag).cloned();
            found.ok_or_else(|| invalid(&path, &format!("has no image `{}`", escape(tag))))
        };
        let image = match (reference.tag(), &images[..]) {
            (Some(tag), _) => named(tag),
            (None, [(image, _)]) => Ok(image.clone()),
            (None, []) => Err(invalid(&path, "has no image")),
            (None, _) => Err(invalid(&path, &format!("has {} images", images.len()))),
        };
        let image = image.map_err(|error| {
            let known: Vec<&str> = images.iter().filter_map(|(_, tag)| tag.as_deref()).collect();
            match &known[..] {
                [] => error,
                known => error.with_hint(format!(
                    "name one with `oci-layout:PATH:TAG`: {}",
                    escape(&known.join(", "))
                )),
            }
        })?;
        Ok(Self { reference, files, image, tags, referrers })
    }

    /// Returns the digest of the image.
    pub fn image(&self) -> &str {
        self.image.as_str()
    }

    /// Returns the manifest with this tag or digest, and its digest; `None` if it doesn't exist.
    pub fn named(&self, name: &str) -> Result<Option<(Bytes, Digest)>, Error> {
        let digest = Digest::parse(name).or_else(|| self.tags.get(name).cloned());
        let Some(digest) = digest else { return Ok(None) };
        Ok(blob(&self.files, &digest, MAX_MANIFEST)?.map(|content| (content, digest)))
    }

    /// Returns the digests of the manifests that refer to a manifest.
    pub fn referrers(&self, digest: &Digest) -> Vec<Digest> {
        self.referrers.get(digest.as_str()).cloned().unwrap_or_default()
    }

    /// Returns a blob of this size.
    pub fn blob(&self, digest: &Digest, size: u64) -> Result<Bytes, Error> {
        let found = blob(&self.files, digest, size)?;
        let found = found.ok_or_else(|| self.absent(&format!("the blob `{digest}`")))?;
        digest.check_size(&found, size).map_err(|e| e.with_hint("write the layout again"))?;
        Ok(found)
    }

    /// Returns the error for a missing manifest or blob.
    pub fn absent(&self, what: &str) -> Error {
        Error::not_found(format!("not found in `{}`: {what}", escape_path(self.reference.path())))
            .with_hint("write the layout again with all platforms, or select those that it has")
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reference.fmt(f)
    }
}

/// Returns the content with a digest, which is verified; `None` if it doesn't exist.
fn blob(files: &Files, digest: &Digest, limit: u64) -> Result<Option<Bytes>, Error> {
    let name = format!("blobs/sha256/{}", digest.hex());
    let Some(content) = files.read(&name, limit)? else { return Ok(None) };
    let found = Digest::of(&content);
    if found != *digest {
        let message = format!("digest mismatch of the blob `{digest}`: found `{found}`");
        return Err(Error::tampered(message).with_hint("write the layout again"));
    }
    Ok(Some(content))
}
