//! Fetching what the addresses among the policies of a command name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rego_platform::Error;
use rego_platform::http::AllowedHost;
use rego_platform::sources::{Fetched, SourceLimits};
use rego_platform_client::text::escape;
use rego_platform_client::unreadable::unreadable;
use rego_platform_remote::{Address, Content, Limits, Pin, Remote, setting};

use super::{Given, RemoteArgs, locked};
use crate::option_files::bounded;
use crate::paths::address;

/// The largest file of certificates, in bytes.
const MAX_CERTIFICATES: u64 = 16 << 20;

/// The limits on what is attached to an image.
const OF_AN_IMAGE: Limits = Limits { file_bytes: 64 << 20, total_bytes: 256 << 20, files: 1_000 };

/// The options that decide how policies are fetched.
#[derive(Debug, Clone)]
pub(super) struct How {
    pub args: RemoteArgs,
    /// Set if each source must be pinned.
    pub pinned: bool,
    pub allowed: Vec<AllowedHost>,
    pub ca_cert: Option<PathBuf>,
    pub insecure: bool,
    pub timeout: Duration,
    /// The sources of an earlier fetch, if they are polled for changes.
    pub polled: Option<Polled>,
}

/// The state of polled sources at the last poll, and their client. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Polled {
    remote: Remote,
    fetched: Arc<Mutex<BTreeMap<Address, rego_platform_remote::Fetched>>>,
}

impl Polled {
    pub fn new(remote: Remote) -> Self {
        Self { remote, fetched: Arc::default() }
    }

    fn known(&self, address: &Address) -> Option<rego_platform_remote::Fetched> {
        self.fetched.lock().get(address).cloned()
    }

    fn keep(&self, address: &Address, fetched: rego_platform_remote::Fetched) {
        self.fetched.lock().insert(address.clone(), fetched);
    }
}

/// A source that was fetched.
pub(super) struct Source {
    pub address: Address,
    pub fetched: rego_platform_remote::Fetched,
    /// The signers of the source, if signatures are required.
    pub signers: Vec<String>,
}

impl How {
    /// Fetches the sources of a command, and normalizes each address.
    pub fn fetch(&self, given: &mut Given) -> Result<(), Error> {
        let mut addresses = Vec::new();
        let Given { paths, policies, bundles, .. } = given;
        for path in paths.iter_mut().chain(policies).chain(bundles) {
            let Some((prefix, address)) = address(path) else { continue };
            let address = address?;
            *path = format!("{prefix}{address}");
            addresses.push(address);
        }
        for Source { address, fetched, signers } in self.sources(addresses)? {
            let (name, digest) = (address.to_string(), fetched.digest.as_str());
            let source = match fetched.content {
                Content::Bundle(archive) => Fetched::bundle(name, digest, archive),
                Content::Files(files) => {
                    let files = files.into_iter().map(|file| (file.name, file.bytes));
                    Fetched::files(name, digest, files)
                }
            };
            given.fetched.push(source.signed_by(signers));
        }
        Ok(())
    }

    /// Asks the sources among the arguments that nothing pins whether they have changed. What has is what
    /// [`fetch`](Self::fetch) gives from then on.
    pub fn poll(&self, arguments: &[PathBuf]) -> Result<bool, Error> {
        let Some(polled) = &self.polled else { return Ok(false) };
        let mut has_changed = false;
        for address in self.moving(arguments)? {
            let Some(known) = polled.known(&address) else { continue };
            if let Some(fetched) = polled.remote.fetch_changed(&address, &known)? {
                has_changed |= fetched.digest != known.digest;
                polled.keep(&address, fetched);
            }
        }
        Ok(has_changed)
    }

    /// Returns the sources among the arguments that nothing pins.
    pub fn moving(&self, arguments: &[PathBuf]) -> Result<Vec<Address>, Error> {
        let lock = self.args.locked(self.timeout)?;
        let mut moving = Vec::new();
        for argument in crate::paths::expanded(arguments)? {
            let Some((_, address)) = address(&argument) else { continue };
            let address = address?;
            if address.digest().is_none() && lock.pin(&address).is_none() {
                moving.push(address);
            }
        }
        Ok(moving)
    }

    /// Fetches sources, each once, and compares them with the lock.
    pub fn sources(&self, addresses: Vec<Address>) -> Result<Vec<Source>, Error> {
        let mut all: Vec<Source> = Vec::with_capacity(addresses.len());
        if addresses.is_empty() {
            return Ok(all);
        }
        let before = self.args.locked(self.timeout)?;
        let mut lock = before.clone();
        let remote = match &self.polled {
            Some(polled) => polled.remote.clone(),
            None => self.remote()?,
        };
        let given = self.args.signers.given(self.timeout)?;
        for address in addresses {
            if all.iter().any(|known| known.address == address) {
                continue;
            }
            let pin = before.pin(&address);
            let pinned = pin.map(|pin| &pin.digest).filter(|_| !self.args.update_lock);
            let is_pinned = pinned.is_some() || address.digest().is_some();
            if self.pinned && !is_pinned && !self.args.update_lock && self.polled.is_none() {
                let message = format!("source not pinned: `{}`", escape(&address.to_string()));
                let pin = match address {
                    Address::Repository(_) => "add its commit: `?ref=` and 40 hexadecimal digits",
                    _ => "add its digest: `@sha256:…`",
                };
                return Err(Error::configuration(message).with_hint(pin).by_setting(setting::LOCK));
            }
            let locked = pin.and_then(|pin| pin.signer.as_ref());
            let required = self.signers_of(&address, &given, locked)?;
            let known = self.polled.as_ref().and_then(|polled| polled.known(&address));
            let fetched = match known {
                Some(known) => known,
                None => {
                    crate::watchdog::again(self.timeout)?;
                    let fetched = remote.fetch(&address, pinned)?;
                    if let Some(polled) = &self.polled {
                        polled.keep(&address, fetched.clone());
                    }
                    fetched
                }
            };
            // Each step has the whole time.
            crate::watchdog::again(self.timeout)?;
            let signed = required.map(|required| self.signed(&required, &fetched.digest));
            let signed = signed.transpose()?;
            let (signer, signers) = signed.map(|own| (own.signer, own.shown)).unzip();
            lock.set(address.clone(), Pin { digest: fetched.digest.clone(), signer });
            all.push(Source { address, fetched, signers: signers.unwrap_or_default() });
        }
        if self.args.update_lock {
            locked::write(&self.args.path(), &before, &lock)?;
        }
        Ok(all)
    }

    /// Returns what fetches policies, with the limits on files.
    pub fn remote(&self) -> Result<Remote, Error> {
        let SourceLimits { file_bytes, total_bytes, files, .. } = SourceLimits::default();
        self.limited(Limits { file_bytes, total_bytes, files })
    }

    /// Returns what fetches what is known of images.
    pub fn remote_of_images(&self) -> Result<Remote, Error> {
        self.limited(OF_AN_IMAGE)
    }

    fn limited(&self, limits: Limits) -> Result<Remote, Error> {
        let mut builder =
            Remote::builder().timeout(self.timeout).limits(limits).insecure(self.insecure);
        for host in &self.allowed {
            builder = builder.allow_host(host.clone());
        }
        if let Some(path) = &self.ca_cert {
            let pem = bounded(path, MAX_CERTIFICATES);
            let pem = pem.map_err(|error| unreadable("the certificate file", path, error))?;
            builder = builder.ca_certificate(pem);
        }
        builder.build()
    }
}
