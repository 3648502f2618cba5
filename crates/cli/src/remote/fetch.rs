//! Fetching what the addresses among the policies of a command name.

use std::path::PathBuf;
use std::time::Duration;

use rego_platform::http::AllowedHost;
use rego_platform::sources::{Fetched, SourceLimits};
use rego_platform::{Error, ErrorKind};
use rego_platform_client::text::escape;
use rego_platform_client::unreadable::unreadable;
use rego_platform_remote::{Address, Content, Limits, Remote, setting};

use super::{Given, RemoteArgs, locked};

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
}

/// Returns the address that an argument names, and the place of its data with the colon behind it.
pub(super) fn address(argument: &str) -> Option<(&str, Result<Address, Error>)> {
    if let Some(address) = Address::parse(argument) {
        return Some(("", address));
    }
    let end = argument.find(':')? + 1;
    let (prefix, rest) = argument.split_at_checked(end)?;
    Some((prefix, Address::parse(rest)?))
}

impl How {
    /// Fetches each source once, and puts its address into the one form that it has.
    pub fn fetch(&self, given: &mut Given) -> Result<(), Error> {
        let mut addresses = Vec::new();
        for path in given.paths.iter_mut().chain(&mut given.bundles) {
            let Some((prefix, address)) = address(path) else { continue };
            let address = address?;
            *path = format!("{prefix}{address}");
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Ok(());
        }
        let before = self.args.locked(self.timeout)?;
        let mut lock = before.clone();
        let remote = self.remote()?;
        for address in addresses {
            let pinned = before.digest(&address).filter(|_| !self.args.update_lock);
            let is_pinned = pinned.is_some() || address.digest().is_some();
            if self.pinned && !is_pinned && !self.args.update_lock {
                let message = format!("nothing pins `{}`", escape(&address.to_string()));
                return Err(Error::new(ErrorKind::Configuration, message)
                    .with_hint("name it with its digest, `@sha256:…`")
                    .by_setting(setting::LOCK));
            }
            let fetched = remote.fetch(&address, pinned)?;
            let (name, digest) = (address.to_string(), fetched.digest.as_str());
            given.fetched.push(match fetched.content {
                Content::Bundle(archive) => Fetched::bundle(name, digest, archive),
                Content::Files(files) => {
                    let files = files.into_iter().map(|file| (file.name, file.bytes));
                    Fetched::files(name, digest, files)
                }
            });
            lock.pin(address, fetched.digest);
        }
        if self.args.update_lock {
            locked::write(&self.args.path(), &before, &lock)?;
        }
        Ok(())
    }

    /// Returns what fetches, with the limits on files.
    pub fn remote(&self) -> Result<Remote, Error> {
        let SourceLimits { file_bytes, total_bytes, files } = SourceLimits::default();
        let mut builder = Remote::builder()
            .timeout(self.timeout)
            .limits(Limits { file_bytes, total_bytes, files })
            .insecure(self.insecure);
        for host in &self.allowed {
            builder = builder.allow_host(host.clone());
        }
        if let Some(path) = &self.ca_cert {
            let pem = std::fs::read(path);
            let pem = pem.map_err(|error| unreadable("the certificate file", path, error))?;
            builder = builder.ca_certificate(pem);
        }
        builder.build()
    }
}
