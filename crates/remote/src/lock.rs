//! The lock: the digest of each source, in a file that people review.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rego_platform_client::text::escape;
use rego_platform_client::{Error, ErrorKind};
use serde::Deserialize;

use crate::address::Address;
use crate::digest::Digest;

/// The digests of sources, by their addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    sources: BTreeMap<Address, Digest>,
}

/// The version of the file's form.
const VERSION: u32 = 1;

const HEAD: &str =
    "# The digests of policies from elsewhere. A change of one is a change of the policies.\n";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    #[serde(default)]
    source: Vec<Pin>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    address: String,
    digest: String,
}

impl Lock {
    /// Parses the text of a lock.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for a text of another form, and for an address that it has twice.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |message: String| Error::new(ErrorKind::Configuration, message);
        let form: Form = toml::from_str(text).map_err(|error| {
            wrong("the lock isn't valid".to_owned()).with_source(error.message().to_owned())
        })?;
        if form.version != VERSION {
            let message = format!("the lock has the version {}, not {VERSION}", form.version);
            return Err(wrong(message).with_hint("a newer version of this program wrote it"));
        }
        let mut sources = BTreeMap::new();
        for Pin { address, digest } in form.source {
            let shown = escape(&address);
            let parsed = match Address::parse(&address) {
                Some(parsed) => parsed?,
                None => return Err(wrong(format!("the lock's `{shown}` isn't an address"))),
            };
            let digest = match &parsed {
                Address::Repository(_) => Digest::parse_commit(&digest),
                _ => Digest::parse(&digest),
            };
            let digest = digest.ok_or_else(|| {
                wrong(format!("the lock's digest of `{shown}` isn't one")).with_hint(
                    "it is `sha256:` and 64 digits in lower case, of a commit `sha1:` and 40",
                )
            })?;
            if sources.insert(parsed, digest).is_some() {
                return Err(wrong(format!("the lock has `{shown}` twice"))
                    .with_hint("leave one of the two in it"));
            }
        }
        Ok(Self { sources })
    }

    /// Returns the digest of a source, if the lock has one.
    pub fn digest(&self, address: &Address) -> Option<&Digest> {
        self.sources.get(address)
    }

    /// Sets the digest of a source.
    pub fn pin(&mut self, address: Address, digest: Digest) {
        self.sources.insert(address, digest);
    }

    /// Returns the sources with their digests, by address.
    pub fn sources(&self) -> impl Iterator<Item = (&Address, &Digest)> {
        self.sources.iter()
    }

    /// Returns its text, which is the same for equal locks: one entry for each source, sorted.
    pub fn text(&self) -> String {
        let entries = self.sources.iter().map(|(address, digest)| (address.to_string(), digest));
        let mut text = format!("{HEAD}version = {VERSION}\n");
        for (address, digest) in entries.collect::<BTreeMap<_, _>>() {
            // Neither has a character that TOML would need escaped.
            let _ = write!(text, "\n[[source]]\naddress = \"{address}\"\ndigest = \"{digest}\"\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_lock_has_one_text() {
        let mut lock = Lock::default();
        for text in ["oci://r.example/b:1", "https://r.example/a.tar.gz", "oci://R.example/a"] {
            lock.pin(Address::parse(text).unwrap().unwrap(), Digest::of(text.as_bytes()));
        }
        let text = lock.text();
        assert_eq!(Lock::parse(&text).unwrap(), lock);
        let addresses: Vec<_> = text.lines().filter(|line| line.starts_with("address")).collect();
        assert_eq!(
            addresses,
            [
                "address = \"https://r.example/a.tar.gz\"",
                "address = \"oci://r.example/a:latest\"",
                "address = \"oci://r.example/b:1\"",
            ]
        );
        for (from, to) in [
            ("version = 1", "version = 2"),
            ("version = 1", ""),
            ("b:1", "a:latest"),
            ("digest = \"sha256:", "digest = \"sha256:A"),
            ("address", "adress"),
            ("version = 1", "version = 1\nsigner = 1"),
            ("oci://r.example/b:1", "policies"),
        ] {
            assert!(Lock::parse(&text.replacen(from, to, 1)).is_err(), "{from} {to}");
        }
    }
}
