//! Images in registries: the digest, and attached artifacts.
//!
//! Owns the places where that is looked for, and what a manifest among them is. Each is looked at whatever
//! the others have, and each manifest is read: what a list says of it isn't believed. Where one of them
//! can't be read, nothing is known.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use rego_platform_client::Error;
use rego_platform_client::json::Object;
use rego_platform_client::text::escape;
use serde::Deserialize;

use crate::artifact::Limits;
use crate::digest::Digest;
use crate::registry::{CONCURRENCY, Session, filtered};
use crate::transport::absent;

/// The media types of images and attached artifacts.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";

/// The suffixes of cosign's tags for an image's digest.
const COSIGN: [&str; 3] = ["att", "sbom", "sig"];

/// The annotation of filtered lists in earlier versions of the specification.
const FILTERED: &str = "org.opencontainers.referrers.filtersApplied";

/// The tag that names a repository's newest image.
const LATEST: &str = "latest";

/// The maximum number of pages of a list.
const MAX_PAGES: usize = 100;

/// An image with its attached artifacts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Image {
    /// The digest of its manifest or, if it is for several platforms, of its index.
    pub digest: Digest,
    /// The attached artifacts, without duplicates.
    pub attached: Vec<Attached>,
}

/// A blob attached to an image.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attached {
    /// The media type in the manifest.
    pub media_type: String,
    /// The digest.
    pub digest: Digest,
    /// The signatures in the annotations of its layer.
    pub signatures: Vec<LayerSignature>,
    /// The content; `None` if its media type wasn't asked for.
    pub content: Option<Bytes>,
}

/// A signature that cosign stores in the annotations of a blob's layer. What isn't there is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub struct LayerSignature {
    /// The signature, in base64; an envelope has its own.
    #[serde(rename = "dev.cosignproject.cosign/signature")]
    pub signature: String,
    /// The signer's certificate, in PEM.
    #[serde(rename = "dev.sigstore.cosign/certificate")]
    pub certificate: String,
    /// The certificates of the authorities that issued it, in PEM.
    #[serde(rename = "dev.sigstore.cosign/chain")]
    pub chain: String,
    /// The promise of the transparency log, in JSON.
    #[serde(rename = "dev.sigstore.cosign/bundle")]
    pub bundle: String,
}

/// A manifest or an index. A list's own account of it isn't read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestJson {
    schema_version: u32,
    subject: Option<Object<Referred>>,
    manifests: Option<Vec<Object<Referred>>>,
    layers: Option<Vec<Object<Descriptor>>>,
    #[serde(default)]
    annotations: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Referred {
    digest: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
    annotations: Option<Object<LayerSignature>>,
}

/// A blob, with one of its signatures.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Layer {
    digest: Digest,
    size: u64,
    media_type: String,
    signature: Option<LayerSignature>,
}

/// The manifests found for an image, before its blobs are fetched.
struct FoundManifests {
    image: Digest,
    /// The manifests to read.
    waiting: Vec<Digest>,
    /// The manifests to read, and those that were read.
    known: BTreeSet<Digest>,
    layers: BTreeSet<Layer>,
    limits: Limits,
}

fn invalid_attachment(what: &str, message: &str) -> Error {
    Error::protocol(format!("`{}` {message}", escape(what)))
        .with_hint("attach the artifact again, or remove it")
}

fn digest(what: &str, text: &str) -> Result<Digest, Error> {
    Digest::parse(text).ok_or_else(|| {
        invalid_attachment(what, &format!("has the unsupported digest `{}`", escape(text)))
    })
}

impl ManifestJson {
    /// Reads a manifest or an index.
    fn read(what: &str, bytes: &[u8]) -> Result<Self, Error> {
        let Object(form): Object<Self> = serde_json::from_slice(bytes).map_err(|error| {
            invalid_attachment(what, "is neither a manifest nor an index")
                .with_source(error.to_string())
        })?;
        if form.schema_version != 2 || form.manifests.is_some() == form.layers.is_some() {
            return Err(invalid_attachment(what, "is neither a manifest nor an index"));
        }
        Ok(form)
    }
}

impl FoundManifests {
    /// Adds the content of a manifest or an index.
    fn read(&mut self, what: &str, bytes: &[u8]) -> Result<(), Error> {
        let form = ManifestJson::read(what, bytes)?;
        if let Some(Object(subject)) = &form.subject
            && subject.digest != self.image.as_str()
        {
            let other = escape(&subject.digest);
            return Err(invalid_attachment(
                what,
                &format!("is attached to `{other}` instead of the image"),
            ));
        }
        let Some(layers) = form.layers else {
            return self.list(what, form);
        };
        for Object(layer) in layers {
            self.layers.insert(Layer {
                digest: digest(what, &layer.digest)?,
                size: layer.size,
                media_type: layer.media_type,
                signature: layer
                    .annotations
                    .map(|Object(own)| own)
                    .filter(|own| *own != LayerSignature::default()),
            });
        }
        self.refuse_more(self.layers.len())
    }

    /// Adds the manifests of an index.
    fn list(&mut self, what: &str, index: ManifestJson) -> Result<(), Error> {
        let entries = index.manifests.ok_or_else(|| invalid_attachment(what, "isn't an index"))?;
        for Object(entry) in entries {
            let digest = digest(what, &entry.digest)?;
            if self.known.insert(digest.clone()) {
                self.waiting.push(digest);
            }
        }
        self.refuse_more(self.known.len())
    }

    fn refuse_more(&self, count: usize) -> Result<(), Error> {
        let limit = self.limits.files;
        if count <= limit {
            return Ok(());
        }
        let message = format!("too many artifacts attached to `{}` (limit {limit})", self.image);
        Err(Error::too_large(message).with_hint("remove unused artifacts"))
    }
}

impl Session<'_> {
    /// Returns an image with its attached artifacts. The blobs of the media types that are `wanted` are
    /// fetched.
    pub async fn image(&self, limits: Limits, wanted: fn(&str) -> bool) -> Result<Image, Error> {
        let what = self.reference().to_string();
        let manifest = self.named(self.reference().manifest(), MANIFESTS).await?;
        let (manifest, image) =
            manifest.ok_or_else(|| absent(&format!("`{what}`"), self.base()))?;
        ManifestJson::read(&what, &manifest)?;
        let found = self.attached(image, limits).await?;
        let mut blobs: BTreeMap<_, Vec<LayerSignature>> = BTreeMap::new();
        for Layer { digest, size, media_type, signature } in found.layers {
            blobs.entry((digest, size, media_type)).or_default().extend(signature);
        }
        let sizes = blobs.keys().filter(|(_, _, media_type)| wanted(media_type));
        let sizes: Vec<u64> = sizes.map(|(_, size, _)| *size).collect();
        limits.check(&what, sizes.into_iter())?;
        let fetched =
            blobs.into_iter().map(|((digest, size, media_type), signatures)| async move {
                let content =
                    if wanted(&media_type) { Some(self.blob(&digest, size).await?) } else { None };
                Ok::<_, Error>(Attached { media_type, digest, signatures, content })
            });
        let attached = stream::iter(fetched).buffered(CONCURRENCY).try_collect().await?;
        Ok(Image { digest: found.image, attached })
    }

    /// Returns the digest of the repository's tag `latest`; `None` without such a tag.
    pub async fn latest(&self) -> Result<Option<Digest>, Error> {
        Ok(self.named(LATEST, MANIFESTS).await?.map(|(_, digest)| digest))
    }

    /// Finds the image's referrers through the registry's API, if supported.
    async fn referring(&self, found: &mut FoundManifests) -> Result<(), Error> {
        let what = "the referrers of the image";
        let mut next = Some(self.referrers(&found.image)?);
        for number in 0..MAX_PAGES {
            let Some(url) = next.take() else { return Ok(()) };
            let Some((page, following)) = self.page(&url).await? else {
                // What isn't there behind another page is missing.
                return if number == 0 { Ok(()) } else { Err(absent("a page of a list", &url)) };
            };
            let list = ManifestJson::read(what, &page)?;
            if list.annotations.contains_key(FILTERED) {
                return Err(filtered(&url));
            }
            found.list(what, list)?;
            next = following;
        }
        let message =
            format!("too many pages of referrers of `{}`: the limit is {MAX_PAGES}", found.image);
        Err(Error::too_large(message).with_hint("remove unused artifacts"))
    }

    /// Finds the layers of all artifacts attached to an image.
    async fn attached(&self, image: Digest, limits: Limits) -> Result<FoundManifests, Error> {
        let tag = image.as_str().replace(':', "-");
        let mut found = FoundManifests {
            image,
            waiting: Vec::new(),
            known: BTreeSet::new(),
            layers: BTreeSet::new(),
            limits,
        };
        self.referring(&mut found).await?;
        // Some registries take such a tag for the digest itself: that is the image, and no list.
        let is_other = |digest: &Digest, found: &FoundManifests| *digest != found.image;
        if let Some((list, digest)) = self.named(&tag, MANIFESTS).await?
            && is_other(&digest, &found)
        {
            found.list(&tag, ManifestJson::read(&tag, &list)?)?;
        }
        for kind in COSIGN {
            let name = format!("{tag}.{kind}");
            if let Some((manifest, digest)) = self.named(&name, MANIFESTS).await?
                && is_other(&digest, &found)
            {
                found.read(&name, &manifest)?;
            }
        }
        while !found.waiting.is_empty() {
            let fetched = std::mem::take(&mut found.waiting).into_iter().map(|digest| async move {
                let manifest = self.named(digest.as_str(), MANIFESTS).await?;
                let what = format!("the listed artifact `{digest}`");
                let (manifest, _) = manifest.ok_or_else(|| absent(&what, self.base()))?;
                Ok::<_, Error>((digest, manifest))
            });
            let mut fetched = stream::iter(fetched).buffered(CONCURRENCY);
            while let Some((digest, manifest)) = fetched.try_next().await? {
                found.read(digest.as_str(), &manifest)?;
            }
        }
        Ok(found)
    }
}
