//! Images as inputs: the option, and fetching their manifests and attestations from registries.

use std::time::Duration;

use clap::Args;
use rego_platform::Error;
use rego_platform_gate::{Image, Signatures};

use super::INPUTS;
use crate::remote::{Fetcher, artifacts};
use crate::watchdog;

#[derive(Debug, Args)]
pub(super) struct ImageArgs {
    /// An image as an input: `REGISTRY/REPOSITORY[:TAG][@sha256:…]`; repeatable
    ///
    /// Policies see the attestations about it that `--verify-key` or `--verify-identity` trust.
    #[arg(long, value_name = "REF", hide_short_help = true, help_heading = INPUTS)]
    image: Vec<String>,
}

impl ImageArgs {
    pub fn any(&self) -> bool {
        !self.image.is_empty()
    }

    /// Fetches the manifests and attestations of the images, and their tags if a policy reads these.
    pub fn fetch(
        &self,
        fetcher: &Fetcher,
        signatures: &Signatures,
        timeout: Duration,
        has_tags: bool,
    ) -> Result<Vec<Image>, Error> {
        use rego_platform_remote::Reference;

        let references = self.image.iter().map(|text| Reference::of_image(text));
        let references = references.collect::<Result<Vec<_>, _>>()?;
        let fetched = fetcher.images(&references, Image::reads)?;
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
            let name = address.split_once("://").map_or(address.as_str(), |(_, name)| name);
            let image = Image::open(&address, name, &digest, artifacts(image), signatures);
            match is_latest {
                Some(is) => image.with_tags(reference.full_name(), reference.tag(), is),
                None => image,
            }
        });
        Ok(images.collect())
    }
}
