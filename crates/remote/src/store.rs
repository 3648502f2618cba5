//! The places that hold images: a repository of a registry, or an OCI layout on disk.

use std::fmt;

use bytes::Bytes;
use rego_platform_client::Error;
use rego_platform_client::text::escape;

use crate::address::Reference;
use crate::digest::Digest;
use crate::layout::{Layout, LayoutReference};
use crate::registry::Session;
use crate::transport::absent;

/// The prefix of a layout's reference.
const LAYOUT: &str = "oci-layout:";

/// The name of an image: in a registry, or in an OCI layout on disk.
///
/// ```
/// use rego_platform_remote::ImageReference;
///
/// let reference = ImageReference::parse("reg.example/acme/app:v1")?;
/// assert_eq!(reference.to_string(), "oci://reg.example/acme/app:v1");
/// assert_eq!((&*reference.name(), reference.tag()), ("reg.example/acme/app:v1", Some("v1")));
/// # Ok::<_, rego_platform_client::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageReference {
    /// `REGISTRY/REPOSITORY[:TAG][@DIGEST]`
    Registry(Reference),
    /// `oci-layout:PATH[:TAG]`: a folder, or an archive as `docker save` writes it.
    Layout(LayoutReference),
}

impl ImageReference {
    /// Parses a reference, which may have the form of an address (`oci://…`).
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform_client::ErrorKind::Configuration) for one that isn't valid.
    pub fn parse(text: &str) -> Result<Self, Error> {
        match text.strip_prefix(LAYOUT) {
            Some("") => Err(Error::configuration(format!("no path in `{}`", escape(text)))
                .with_hint(
                    "write `oci-layout:PATH`, followed by `:TAG` if it holds several images",
                )),
            Some(rest) => Ok(Self::Layout(LayoutReference::new(rest))),
            None => Reference::of_image(text).map(Self::Registry),
        }
    }

    /// Returns the name in the form of container tools.
    pub fn name(&self) -> String {
        let address = self.to_string();
        address.split_once("://").map_or(address.as_str(), |(_, name)| name).to_owned()
    }

    /// Returns the name of the repository, or the path of the layout.
    pub fn repository(&self) -> String {
        match self {
            Self::Registry(reference) => reference.full_name(),
            Self::Layout(layout) => layout.path().display().to_string(),
        }
    }

    /// Returns the tag; `None` for a reference without one, or with a digest.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Registry(reference) => reference.tag(),
            Self::Layout(layout) => layout.tag(),
        }
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(reference) => reference.fmt(f),
            Self::Layout(layout) => write!(f, "{LAYOUT}{layout}"),
        }
    }
}

/// An opened place.
pub(crate) enum Store<'a> {
    Registry(Session<'a>),
    Layout(Layout),
}

impl Store<'_> {
    /// Returns the name of the image in messages.
    pub fn what(&self) -> String {
        match self {
            Self::Registry(session) => session.reference().to_string(),
            Self::Layout(layout) => layout.to_string(),
        }
    }

    /// Returns the tag or the digest of the image.
    pub fn manifest(&self) -> &str {
        match self {
            Self::Registry(session) => session.reference().manifest(),
            Self::Layout(layout) => layout.image(),
        }
    }

    /// Returns the manifest with this tag or digest, and its digest; `None` if it doesn't exist.
    pub async fn named(
        &self,
        name: &str,
        accept: &'static str,
    ) -> Result<Option<(Bytes, Digest)>, Error> {
        match self {
            Self::Registry(session) => session.named(name, accept).await,
            Self::Layout(layout) => layout.named(name),
        }
    }

    /// Returns the digests of the manifests that refer to a manifest.
    pub async fn referrers(&self, digest: &Digest) -> Result<Vec<Digest>, Error> {
        match self {
            Self::Registry(session) => session.referring(digest).await,
            Self::Layout(layout) => Ok(layout.referrers(digest)),
        }
    }

    /// Returns a blob.
    pub async fn blob(&self, digest: &Digest, size: u64) -> Result<Bytes, Error> {
        match self {
            Self::Registry(session) => session.blob(digest, size).await,
            Self::Layout(layout) => layout.blob(digest, size),
        }
    }

    /// Returns the error for a missing manifest or blob.
    pub fn absent(&self, what: &str) -> Error {
        match self {
            Self::Registry(session) => absent(what, session.base()),
            Self::Layout(layout) => layout.absent(what),
        }
    }
}
