//! Sources that a host has fetched from a remote address, such as a registry.
//!
//! Their files are only in memory. The paths of messages and reports begin with their address, and what
//! has such a path is never read from the disk.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

/// The files or the bundle that a host has fetched, for an argument that names their address.
#[derive(Debug, Clone)]
pub struct Fetched {
    address: String,
    digest: String,
    signers: BTreeSet<String>,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Files(BTreeMap<String, Bytes>),
    Bundle(Bytes),
}

impl Fetched {
    /// Creates a source of files by their names, which are read as those of a folder are. `digest` is
    /// what reports show.
    pub fn files(
        address: impl Into<String>,
        digest: impl Into<String>,
        files: impl IntoIterator<Item = (String, Bytes)>,
    ) -> Self {
        Self::of(address.into(), digest.into(), Content::Files(files.into_iter().collect()))
    }

    /// Creates a source that is a bundle, as an archive.
    pub fn bundle(address: impl Into<String>, digest: impl Into<String>, archive: Bytes) -> Self {
        Self::of(address.into(), digest.into(), Content::Bundle(archive))
    }

    fn of(address: String, digest: String, content: Content) -> Self {
        Self { address, digest, signers: BTreeSet::new(), content }
    }

    /// Sets those who signed it, which the host has checked, as reports show them.
    #[must_use]
    pub fn signed_by(mut self, signers: impl IntoIterator<Item = String>) -> Self {
        self.signers = signers.into_iter().collect();
        self
    }

    /// The address of the source.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The digest that pins it.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The signers of the content.
    pub(super) const fn signers(&self) -> &BTreeSet<String> {
        &self.signers
    }

    /// Returns the bundle, if it is one.
    pub(super) fn archive(&self) -> Option<&Bytes> {
        match &self.content {
            Content::Files(_) => None,
            Content::Bundle(archive) => Some(archive),
        }
    }

    /// Returns its files by name; a bundle has none.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        let files = match &self.content {
            Content::Files(files) => Some(files),
            Content::Bundle(_) => None,
        };
        files.into_iter().flatten().map(|(name, bytes)| (name.as_str(), bytes))
    }

    /// Returns the name within this source that a path has, if it is the path of something in it.
    #[doc(hidden)]
    pub fn name<'p>(&self, path: &'p str) -> Option<&'p str> {
        match path.strip_prefix(self.address.as_str())? {
            "" => Some(""),
            below => below.strip_prefix('/'),
        }
    }

    /// Returns the content of a name within this source; the bundle itself has none.
    #[doc(hidden)]
    pub fn content(&self, name: &str) -> Option<&Bytes> {
        match &self.content {
            Content::Files(files) => files.get(name),
            Content::Bundle(archive) => name.is_empty().then_some(archive),
        }
    }
}
