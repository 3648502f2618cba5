//! Images in registries: the digest, the images of the platforms, and attached artifacts.
//!
//! Owns the places where these are looked for, and what a manifest among them is. Each is looked at whatever
//! the others have, and each manifest is read: what a list says of it isn't believed. Where one of them
//! can't be read, nothing is known.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures_util::future::try_join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use rego_platform_client::Error;
use rego_platform_client::json::Object;
use rego_platform_client::text::escape;
use serde::Deserialize;

use crate::artifact::Limits;
use crate::digest::Digest;
use crate::registry::{CONCURRENCY, Session, filtered};
use crate::store::Store;
use crate::transport::absent;

/// The media types of images and attached artifacts.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";

/// The suffixes of tags for an image's digest: none for the fallback tag of referrers, and cosign's.
const SUFFIXES: [&str; 4] = ["", ".att", ".sbom", ".sig"];

/// The annotation of filtered lists in earlier versions of the specification.
const FILTERED: &str = "org.opencontainers.referrers.filtersApplied";

/// The tag that names a repository's newest image.
const LATEST: &str = "latest";

/// The maximum number of pages of a list.
const MAX_PAGES: usize = 100;

/// The media types of the configuration of an image.
const CONFIGURATIONS: [&str; 2] =
    ["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];

/// The annotations of `BuildKit`'s attestation manifests in an index, and the value of the first one
/// (<https://docs.docker.com/build/metadata/attestations/attestation-storage>).
const REFERENCE_TYPE: &str = "vnd.docker.reference.type";
const REFERENCE_DIGEST: &str = "vnd.docker.reference.digest";
const ATTESTATION_MANIFEST: &str = "attestation-manifest";

/// The platform of an image that names none, as `BuildKit` writes it.
const UNKNOWN: &str = "unknown/unknown";

/// The parts of an image that are fetched.
#[derive(Debug, Clone)]
pub struct ImageQuery {
    /// Returns `true` for the media types of artifacts whose content is fetched.
    pub media_types: fn(&str) -> bool,
    /// The platforms of an index, as [`platform`] returns them; all of them if empty.
    pub platforms: Vec<String>,
    /// `true` to read the statements that `BuildKit` stores in an index, which nobody signs.
    pub unsigned: bool,
}

/// An image with its attached artifacts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Image {
    /// The digest of its manifest or, if it is for several platforms, of its index.
    pub digest: Digest,
    /// The artifacts attached to this digest, without duplicates.
    pub attached: Vec<Attached>,
    /// The images of the selected platforms, in the order of the index; the image itself if it isn't an index.
    pub platforms: Vec<PlatformImage>,
}

/// The image of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlatformImage {
    /// The platform: `linux/arm64`, `linux/arm/v7`; `unknown/unknown` if neither the index nor the image names one.
    pub platform: String,
    /// The digest of its manifest.
    pub digest: Digest,
    /// The artifacts attached to this digest, without duplicates; empty if it is the digest of the [`Image`] itself,
    /// which has them.
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
    config: Option<Object<Descriptor>>,
    manifests: Option<Vec<Object<Referred>>>,
    layers: Option<Vec<Object<Descriptor>>>,
    #[serde(default)]
    annotations: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Referred {
    digest: String,
    platform: Option<Object<Platform>>,
    #[serde(default)]
    annotations: BTreeMap<String, serde_json::Value>,
}

/// The platform of an entry of an index, or of an image's configuration.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Platform {
    os: String,
    architecture: String,
    variant: String,
}

impl Platform {
    /// Returns its name as containerd normalizes it (`normalizeArch` of `github.com/containerd/platforms`): the
    /// variants that an architecture implies are left out, but for `arm`.
    fn name(&self) -> String {
        let (os, architecture) = (self.os.to_lowercase(), self.architecture.to_lowercase());
        if os.is_empty() || architecture.is_empty() {
            return UNKNOWN.to_owned();
        }
        let variant = self.variant.to_lowercase();
        let variant = match (&*architecture, &*variant) {
            ("arm64", "8" | "v8") | ("amd64", "v1") => "",
            ("arm", "" | "7") => "v7",
            (_, variant) => variant,
        };
        [&*os, &architecture, variant].map(str::trim).join("/").trim_end_matches('/').to_owned()
    }
}

/// Returns the name of a platform as it is written: `OS/ARCHITECTURE[/VARIANT]`.
///
/// # Errors
/// If it has another form.
pub fn platform(text: &str) -> Result<String, Error> {
    let mut parts = text.split('/').map(str::to_owned);
    let [os, architecture, variant] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let name = Platform { os, architecture, variant }.name();
    if parts.next().is_some() || name == UNKNOWN {
        let message = format!("invalid platform `{}`: expected OS/ARCHITECTURE", escape(text));
        return Err(Error::configuration(message)
            .with_hint("write a platform as in `linux/arm64` or `linux/arm/v7`"));
    }
    Ok(name)
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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

    /// Returns the manifests that an index lists.
    fn listed(self, what: &str) -> Result<Vec<Digest>, Error> {
        let entries = self.manifests.ok_or_else(|| invalid_attachment(what, "isn't an index"))?;
        entries.iter().map(|Object(entry)| digest(what, &entry.digest)).collect()
    }
}

impl Session<'_> {
    /// Returns the digest of the repository's tag `latest`; `None` without such a tag.
    pub async fn latest(&self) -> Result<Option<Digest>, Error> {
        Ok(self.named(LATEST, MANIFESTS).await?.map(|(_, digest)| digest))
    }

    /// Returns the image's referrers by the registry's API, if supported.
    pub async fn referring(&self, image: &Digest) -> Result<Vec<Digest>, Error> {
        let what = "the referrers of the image";
        let (mut found, mut next) = (Vec::new(), Some(self.referrers(image)?));
        for number in 0..MAX_PAGES {
            let Some(url) = next.take() else { return Ok(found) };
            let Some((page, following)) = self.page(&url).await? else {
                // A list without an API is empty, but a list that ends early is cut.
                return if number == 0 { Ok(found) } else { Err(absent("a page of a list", &url)) };
            };
            let list = ManifestJson::read(what, &page)?;
            if list.annotations.contains_key(FILTERED) {
                return Err(filtered(&url));
            }
            found.extend(list.listed(what)?);
            next = following;
        }
        let message = format!("too many pages of referrers of `{image}`: the limit is {MAX_PAGES}");
        Err(Error::too_large(message).with_hint("remove unused artifacts"))
    }
}

/// Refuses a selected platform that an image doesn't have.
fn selected_platforms<'a>(
    what: &str,
    selected: &[String],
    existing: impl Iterator<Item = &'a str>,
) -> Result<(), Error> {
    let existing: Vec<&str> = existing.collect();
    match selected.iter().find(|name| !existing.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let (name, existing) = (escape(name), escape(&existing.join(", ")));
            let message = format!("no platform `{name}` of `{what}`: it has {existing}");
            Err(Error::not_found(message).with_hint("select one of these platforms"))
        }
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
            return self.list(form.listed(what)?);
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

    /// Adds manifests to read.
    fn list(&mut self, digests: Vec<Digest>) -> Result<(), Error> {
        for digest in digests {
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

impl Store<'_> {
    /// Returns an image with its attached artifacts, and those of its platforms.
    pub async fn image(&self, limits: Limits, query: &ImageQuery) -> Result<Image, Error> {
        let what = self.what();
        let manifest = self.named(self.manifest(), MANIFESTS).await?;
        let (manifest, digest) = manifest.ok_or_else(|| self.absent(&format!("`{what}`")))?;
        let form = ManifestJson::read(&what, &manifest)?;
        let found = self.attached(digest.clone(), None, limits);
        let (found, platforms, own) = match form.manifests {
            Some(entries) => {
                let platforms = self.platforms(entries, query, limits);
                let (found, platforms) = tokio::try_join!(found, platforms)?;
                (found, platforms, None)
            }
            None => {
                let (found, platform) =
                    tokio::try_join!(found, self.platform(form.config, limits))?;
                selected_platforms(&what, &query.platforms, [&*platform].into_iter())?;
                let own = PlatformImage { platform, digest: digest.clone(), attached: Vec::new() };
                (found, Vec::new(), Some(own))
            }
        };
        let all = platforms.iter().map(|(_, found)| found).chain([&found]);
        let layers: BTreeSet<&Layer> = all.flat_map(|found| &found.layers).collect();
        let wanted = query.media_types;
        let sizes = layers.iter().filter(|layer| wanted(&layer.media_type));
        let sizes: Vec<u64> = sizes.map(|layer| layer.size).collect();
        limits.check(&what, sizes.into_iter())?;
        let of_platforms = stream::iter(platforms).map(|(platform, found)| async move {
            let (digest, attached) = (found.image.clone(), self.blobs(found, wanted).await?);
            Ok::<_, Error>(PlatformImage { platform, digest, attached })
        });
        let of_platforms = of_platforms.buffered(CONCURRENCY).try_collect();
        let (attached, mut platforms): (_, Vec<_>) =
            tokio::try_join!(self.blobs(found, wanted), of_platforms)?;
        platforms.extend(own);
        Ok(Image { digest, attached, platforms })
    }

    /// Fetches the layers of artifacts.
    async fn blobs(
        &self,
        found: FoundManifests,
        wanted: fn(&str) -> bool,
    ) -> Result<Vec<Attached>, Error> {
        let mut blobs: BTreeMap<_, Vec<LayerSignature>> = BTreeMap::new();
        for Layer { digest, size, media_type, signature } in found.layers {
            blobs.entry((digest, size, media_type)).or_default().extend(signature);
        }
        let fetched =
            blobs.into_iter().map(|((digest, size, media_type), signatures)| async move {
                let content =
                    if wanted(&media_type) { Some(self.blob(&digest, size).await?) } else { None };
                Ok::<_, Error>(Attached { media_type, digest, signatures, content })
            });
        stream::iter(fetched).buffered(CONCURRENCY).try_collect().await
    }

    /// Finds the artifacts of the platforms of an index. `BuildKit`'s attestation manifests belong to the manifest that
    /// they name.
    async fn platforms(
        &self,
        entries: Vec<Object<Referred>>,
        ImageQuery { platforms: selected, unsigned, .. }: &ImageQuery,
        limits: Limits,
    ) -> Result<Vec<(String, FoundManifests)>, Error> {
        let what = self.what();
        let (mut images, mut attestations) = (Vec::new(), BTreeMap::<_, Vec<Digest>>::new());
        let listed: BTreeSet<String> =
            entries.iter().map(|Object(entry)| entry.digest.clone()).collect();
        for Object(entry) in entries {
            let text = |key: &str| entry.annotations.get(key).and_then(|text| text.as_str());
            let own = digest(&what, &entry.digest)?;
            let about = text(REFERENCE_DIGEST).filter(|about| listed.contains(*about));
            let platform = entry.platform.as_ref().map(|Object(own)| own.name());
            // A runtime takes whatever has a platform, or none, for an image.
            let is_unknown = platform.as_deref() == Some(UNKNOWN);
            match about.filter(|about| *about != entry.digest && is_unknown) {
                Some(about) if text(REFERENCE_TYPE) == Some(ATTESTATION_MANIFEST) => {
                    if *unsigned {
                        attestations.entry(about.to_owned()).or_default().push(own);
                    }
                }
                _ => images.push((platform.unwrap_or_else(|| UNKNOWN.to_owned()), own)),
            }
        }
        if images.is_empty() {
            return Err(invalid_attachment(&what, "is an index without an image")
                .with_hint("name the image, or its index with the images"));
        }
        if images.len() > limits.files {
            let message = format!("too many platforms of `{what}` (limit {})", limits.files);
            return Err(Error::too_large(message).with_hint("name the image of one platform"));
        }
        selected_platforms(&what, selected, images.iter().map(|(name, _)| &**name))?;
        images.retain(|(name, _)| selected.is_empty() || selected.contains(name));
        let attestations = &attestations;
        let found = stream::iter(images).map(|(platform, digest)| async move {
            let manifest = self.named(digest.as_str(), MANIFESTS).await?;
            let what = format!("the image `{digest}` of {platform}");
            let (manifest, _) = manifest.ok_or_else(|| self.absent(&what))?;
            if ManifestJson::read(digest.as_str(), &manifest)?.manifests.is_some() {
                let message = format!("unsupported index of an index: `{digest}`");
                return Err(Error::protocol(message).with_hint("name the inner index"));
            }
            let listed = attestations.get(digest.as_str()).cloned();
            Ok::<_, Error>((platform, self.attached(digest, listed, limits).await?))
        });
        found.buffered(CONCURRENCY).try_collect().await
    }

    /// Returns the platform that an image's configuration names.
    async fn platform(
        &self,
        configuration: Option<Object<Descriptor>>,
        limits: Limits,
    ) -> Result<String, Error> {
        let is_image = |own: &Object<Descriptor>| CONFIGURATIONS.contains(&&*own.0.media_type);
        let Some(Object(own)) = configuration.filter(is_image) else {
            return Ok(UNKNOWN.to_owned());
        };
        let what = self.what();
        limits.check(&what, [own.size].into_iter())?;
        let text = self.blob(&digest(&what, &own.digest)?, own.size).await?;
        let Object(platform): Object<Platform> =
            serde_json::from_slice(&text).map_err(|error| {
                invalid_attachment(&what, "has an invalid configuration")
                    .with_source(error.to_string())
            })?;
        Ok(platform.name())
    }

    /// Finds the layers of all artifacts attached to an image, and of the `listed` ones.
    async fn attached(
        &self,
        image: Digest,
        listed: Option<Vec<Digest>>,
        limits: Limits,
    ) -> Result<FoundManifests, Error> {
        let tag = image.as_str().replace(':', "-");
        let waiting = listed.unwrap_or_default();
        let mut found = FoundManifests {
            image,
            known: waiting.iter().cloned().collect(),
            waiting,
            layers: BTreeSet::new(),
            limits,
        };
        let tags = SUFFIXES.map(|suffix| format!("{tag}{suffix}"));
        let tagged = tags.each_ref().map(|name| self.named(name, MANIFESTS));
        let (referring, tagged) =
            tokio::try_join!(self.referrers(&found.image), try_join_all(tagged))?;
        found.list(referring)?;
        for (name, manifest) in tags.iter().zip(tagged) {
            // Some registries take such a tag for the digest itself: that is the image, and no list.
            let Some((manifest, _)) = manifest.filter(|(_, digest)| *digest != found.image) else {
                continue;
            };
            if *name == tag {
                found.list(ManifestJson::read(name, &manifest)?.listed(name)?)?;
            } else {
                found.read(name, &manifest)?;
            }
        }
        while !found.waiting.is_empty() {
            let fetched = std::mem::take(&mut found.waiting).into_iter().map(|digest| async move {
                let manifest = self.named(digest.as_str(), MANIFESTS).await?;
                let what = format!("the listed artifact `{digest}`");
                let (manifest, _) = manifest.ok_or_else(|| self.absent(&what))?;
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
