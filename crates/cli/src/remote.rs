//! Remote policies (`oci://`, `https://`, `git+https://`): the options, the lock, and fetching.
//!
//! Owns when a source has to be pinned, and the only change of the lock: by `--update-lock`.

use std::path::PathBuf;

use clap::Args;
use rego_platform::Error;
use rego_platform::sources::{Fetched, Ignore, ReadOptions};
use rego_platform_remote::Remote;

use super::options::{NetworkArgs, Options};
use super::paths::expanded;

mod fetch;
mod locked;
pub(super) mod pull;
pub(super) mod push;
mod signers;
pub(super) mod vendor;
mod write;

/// Options for remote policies.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct RemoteArgs {
    /// Lock file of remote policies [default: `policies.lock` in this folder]
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Policies")]
    lock: Option<PathBuf>,
    /// Write the current digests of remote policies to the lock file
    #[arg(long, hide_short_help = true, help_heading = "Policies")]
    update_lock: bool,
    #[command(flatten)]
    signers: signers::SignerArgs,
}

/// Fetches the policies that a command is given.
#[derive(Debug, Clone)]
pub(super) struct Fetcher {
    ignore: Vec<String>,
    how: fetch::How,
}

/// The paths of policies, with what was fetched for those that are addresses.
#[derive(Debug)]
pub(super) struct Given {
    pub paths: Vec<String>,
    /// Paths of policies from which no data is read.
    pub policies: Vec<String>,
    pub bundles: Vec<String>,
    pub fetched: Vec<Fetched>,
    pub ignore: Ignore,
}

impl Given {
    /// Returns how the paths are read. Signatures of bundles aren't verified.
    pub fn options(&self) -> ReadOptions<'_> {
        let mut options = ReadOptions::default();
        options.bundles = &self.bundles;
        options.policies = &self.policies;
        options.fetched = &self.fetched;
        options.ignore = Some(&self.ignore);
        options.skip_verify = true;
        options
    }
}

impl RemoteArgs {
    /// Returns the files that are read because of these options.
    pub fn read(&self) -> impl Iterator<Item = PathBuf> {
        self.signers.read().cloned().chain([self.path()])
    }

    /// Returns `true` if sources needn't be what they were.
    pub const fn updates(&self) -> bool {
        self.update_lock
    }

    /// Returns what fetches policies. Where each must be `pinned`, one without a digest is an error.
    pub fn fetcher(&self, network: &NetworkArgs, options: &Options, pinned: bool) -> Fetcher {
        Fetcher {
            ignore: Vec::new(),
            how: fetch::How {
                args: self.clone(),
                pinned,
                allowed: network.allow_host.clone(),
                ca_cert: options.ca_cert.clone(),
                insecure: options.insecure,
                timeout: options.timeout,
                polled: None,
            },
        }
    }
}

/// Returns the client for servers besides the service.
pub(super) fn client(options: &Options) -> Result<Remote, Error> {
    let network = NetworkArgs { allow_host: Vec::new() };
    RemoteArgs::default().fetcher(&network, options, false).how.remote()
}

impl Fetcher {
    /// Leaves out files that match these patterns.
    pub fn without(mut self, ignore: &[String]) -> Self {
        self.ignore = ignore.to_vec();
        self
    }

    /// Keeps the fetched sources for [`poll`](Self::poll), which fetches changed sources without a pin again.
    ///
    /// # Errors
    /// When nothing is fetched that could change.
    pub fn polling(mut self, arguments: &[PathBuf]) -> Result<Self, Error> {
        let wrong = |message: &str, hint: &str| {
            Err(Error::new(rego_platform::ErrorKind::Configuration, message).with_hint(hint))
        };
        if self.how.args.update_lock {
            let message = "conflicting options: `--update-lock` and `--poll`";
            return wrong(message, "use only one of them");
        }
        if self.how.moving(arguments)?.is_empty() {
            let message = "`--poll` has no effect: no remote policies without a digest";
            return wrong(message, "leave out `--poll`, or name a source without its digest");
        }
        self.how.polled = Some(fetch::Polled::new(self.how.remote()?));
        Ok(self)
    }

    /// Polls the sources without a pin for changes.
    pub fn poll(&self, arguments: &[PathBuf]) -> Result<bool, Error> {
        self.how.poll(arguments)
    }

    /// Fetches the manifests and attestations of images from their registries.
    pub fn images(
        &self,
        references: &[rego_platform_remote::ImageReference],
        query: &rego_platform_remote::ImageQuery,
    ) -> Result<Vec<rego_platform_remote::Image>, Error> {
        let remote = self.how.remote_of_images()?;
        let image = |reference| {
            super::watchdog::again(self.how.timeout)?;
            remote.image(reference, query)
        };
        references.iter().map(image).collect()
    }

    /// Returns the digests that the tag `latest` has in the repositories of images.
    pub fn latest(
        &self,
        references: &[rego_platform_remote::ImageReference],
    ) -> Result<Vec<Option<rego_platform_remote::Digest>>, Error> {
        let remote = self.how.remote_of_images()?;
        let latest = |reference: &rego_platform_remote::ImageReference| {
            super::watchdog::again(self.how.timeout)?;
            match reference {
                rego_platform_remote::ImageReference::Registry(own) => remote.latest(own),
                _ => Ok(None),
            }
        };
        references.iter().map(latest).collect()
    }

    /// Expands globs, and fetches what addresses name.
    pub fn given(&self, paths: &[PathBuf], bundles: &[PathBuf]) -> Result<Given, Error> {
        self.given_policies(&[], paths, bundles)
    }

    /// Does the same where some paths name policies, of which no data is read.
    pub fn given_policies(
        &self,
        policies: &[PathBuf],
        paths: &[PathBuf],
        bundles: &[PathBuf],
    ) -> Result<Given, Error> {
        let ignore = Ignore::new(&self.ignore)?;
        let mut given = Given {
            paths: expanded(paths)?,
            policies: expanded(policies)?,
            bundles: expanded(bundles)?,
            fetched: Vec::new(),
            ignore,
        };
        self.how.fetch(&mut given)?;
        Ok(given)
    }
}

/// Returns the artifacts attached to an image as a gate takes them.
pub(super) fn artifacts(
    attached: Vec<rego_platform_remote::Attached>,
) -> Vec<rego_platform_gate::Artifact> {
    use rego_platform_gate::{Artifact, LayerSignature};
    let signature = |own: rego_platform_remote::LayerSignature| LayerSignature {
        signature: own.signature,
        certificate: own.certificate,
        chain: own.chain,
        bundle: own.bundle,
    };
    let artifact = |attached: rego_platform_remote::Attached| Artifact {
        media_type: attached.media_type,
        digest: attached.digest.to_string(),
        signatures: attached.signatures.into_iter().map(signature).collect(),
        content: attached.content.map(Into::into),
    };
    attached.into_iter().map(artifact).collect()
}
