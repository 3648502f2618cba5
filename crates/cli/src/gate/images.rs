//! Images as inputs: the options, and fetching manifests and attestations from registries.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rego_platform::Error;
use rego_platform_client::text::escape_path;
use rego_platform_client::unreadable::unreadable;
use rego_platform_gate::{Image, PlatformImage, Signatures};
use rego_platform_remote::{ImageQuery, ImageReference, platform};

use super::INPUTS;
use crate::option_files::bounded;
use crate::remote::{Fetcher, artifacts};
use crate::watchdog;

/// The maximum size of a file of references, in bytes.
const MAX_REFERENCES: u64 = 1 << 20;

// The fields have the names of the options.
#[allow(clippy::struct_field_names)]
#[derive(Debug, Args)]
pub(super) struct ImageArgs {
    /// An image as an input: `REGISTRY/REPOSITORY[:TAG][@sha256:…]`; repeatable
    ///
    /// `oci-layout:PATH[:TAG]` is an image in an OCI layout, a folder or an archive.
    /// Policies see the attestations about it that `--verify-key` or `--verify-identity` trust.
    #[arg(long, value_name = "REF", hide_short_help = true, help_heading = INPUTS)]
    image: Vec<String>,
    /// File of images as inputs, one on each line
    ///
    /// Empty lines and lines that begin with `#` are skipped.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = INPUTS)]
    images: Vec<PathBuf>,
    /// Platform of an image, such as `linux/arm64`; repeatable, default all
    #[arg(long, value_name = "OS/ARCH", hide_short_help = true, help_heading = INPUTS)]
    platform: Vec<String>,
}

impl ImageArgs {
    /// Returns `true` if there is an image.
    ///
    /// # Errors
    /// If only platforms are given.
    pub fn any(&self) -> Result<bool, Error> {
        let any = !self.image.is_empty() || !self.images.is_empty();
        if !any && !self.platform.is_empty() {
            return Err(Error::configuration("`--platform` has no effect: no image")
                .with_hint("name an image with `--image`"));
        }
        Ok(any)
    }

    /// Returns the files that are read because of these options.
    pub fn read(&self) -> impl Iterator<Item = &PathBuf> {
        self.images.iter()
    }

    /// Returns the references, those of the files after the others.
    fn references(&self) -> Result<Vec<ImageReference>, Error> {
        let mut all: Vec<ImageReference> =
            self.image.iter().map(|text| ImageReference::parse(text)).collect::<Result<_, _>>()?;
        for path in &self.images {
            let bytes =
                bounded(path, MAX_REFERENCES).map_err(|error| unreadable("", path, error))?;
            let shown = escape_path(path);
            let text = String::from_utf8(bytes).map_err(|_| {
                Error::configuration(format!("can't read `{shown}`: expected UTF-8"))
            })?;
            let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
            let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
            let before = all.len();
            for (number, line) in lines {
                let reference = ImageReference::parse(line).map_err(|error| {
                    let hint = error.hint().unwrap_or_default().to_owned();
                    Error::configuration(format!("`{shown}`:{number}: {error}")).with_hint(hint)
                })?;
                all.push(reference);
            }
            if all.len() == before {
                return Err(Error::configuration(format!("no image in `{shown}`"))
                    .with_hint("write an image on each line: `REGISTRY/REPOSITORY@sha256:…`"));
            }
        }
        Ok(all)
    }

    /// Fetches the manifests and attestations of the images, and their tags if a policy reads these.
    pub fn fetch(
        &self,
        fetcher: &Fetcher,
        signatures: &Signatures,
        timeout: Duration,
        has_tags: bool,
    ) -> Result<Vec<Image>, Error> {
        let platforms = self.platform.iter().map(|text| platform(text));
        let platforms = platforms.collect::<Result<Vec<_>, _>>()?;
        let references = self.references()?;
        let unsigned = matches!(signatures, Signatures::Unverified);
        let query = ImageQuery { media_types: Image::reads, platforms, unsigned };
        let fetched = fetcher.images(&references, &query)?;
        let latest = if has_tags { fetcher.latest(&references)? } else { Vec::new() };
        // Checking what someone else attached may take long.
        let _watchdog = watchdog::start(timeout)?;
        let mut latest = latest.into_iter();
        let images = references.iter().zip(fetched).map(|(reference, image)| {
            // The tag may have moved since the image was looked up by it.
            let is_asked = reference.tag() == Some("latest");
            let is_latest =
                latest.next().map(|latest| is_asked || latest.as_ref() == Some(&image.digest));
            let (address, digest) = (reference.to_string(), image.digest.to_string());
            let of_platforms = image.platforms.into_iter().map(|own| PlatformImage {
                platform: own.platform,
                digest: own.digest.to_string(),
                artifacts: artifacts(own.attached),
            });
            let attached = (artifacts(image.attached), of_platforms.collect());
            let image = Image::open(&address, &reference.name(), &digest, attached, signatures);
            match is_latest {
                Some(is) => image.with_tags(reference.repository(), reference.tag(), is),
                None => image,
            }
        });
        Ok(images.collect())
    }
}
