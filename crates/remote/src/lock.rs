//! The lock file: the digest and the required signer of each source, for review by people.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use rego_platform_client::Error;
use rego_platform_client::text::escape;
use serde::Deserialize;

use crate::address::Address;
use crate::digest::Digest;

/// The pins of sources, by address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    sources: BTreeMap<Address, Pin>,
}

/// The pin of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The digest.
    pub digest: Digest,
    /// The required signer, for sources in registries.
    pub signer: Option<Signer>,
}

/// The required signer of a source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Signer {
    /// The owner of a key.
    Key {
        /// The public key: its DER (`SubjectPublicKeyInfo`), in base64.
        key: String,
    },
    /// An account.
    Identity {
        /// The issuer of the account.
        issuer: String,
        /// The account; `*` matches any string.
        identity: String,
    },
}

/// The version of the file's format.
const VERSION: u32 = 1;

const HEAD: &str =
    "# The digests of policies from elsewhere. A change of one is a change of the policies.\n";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockToml {
    version: u32,
    #[serde(default)]
    source: Vec<PinnedSource>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PinnedSource {
    address: String,
    digest: String,
    #[serde(default)]
    signer: Option<Signer>,
}

impl Lock {
    /// Parses the text of a lock.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform_client::ErrorKind::Configuration) for a text of another form, and for an address that it has twice.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |message: String| Error::configuration(message);
        let form: LockToml = toml::from_str(text).map_err(|error| {
            invalid("invalid lock file".to_owned()).with_source(error.message().to_owned())
        })?;
        if form.version != VERSION {
            let message = format!(
                "unsupported version of the lock file: expected {VERSION}, found {}",
                form.version
            );
            return Err(invalid(message).with_hint("update this program"));
        }
        let mut sources = BTreeMap::new();
        for PinnedSource { address, digest, signer } in form.source {
            let shown = escape(&address);
            let parsed = match Address::parse(&address) {
                Some(parsed) => parsed?,
                None => {
                    return Err(invalid(format!("invalid address in the lock file: `{shown}`")));
                }
            };
            let digest = match &parsed {
                Address::Repository(_) => Digest::parse_commit(&digest),
                _ => Digest::parse(&digest),
            };
            let digest = digest.ok_or_else(|| {
                invalid(format!("invalid digest of `{shown}` in the lock file")).with_hint(
                    "write `sha256:` and 64 lowercase digits; for a commit, `sha1:` and 40",
                )
            })?;
            if signer.is_some() && !matches!(parsed, Address::Registry(_)) {
                return Err(invalid(format!("unexpected signer of `{shown}` in the lock file"))
                    .with_hint("remove the signer: only sources in registries have one"));
            }
            if sources.insert(parsed, Pin { digest, signer }).is_some() {
                return Err(invalid(format!("duplicate source in the lock file: `{shown}`"))
                    .with_hint("remove one of the two"));
            }
        }
        Ok(Self { sources })
    }

    /// Returns the pin of a source, if any.
    pub fn pin(&self, address: &Address) -> Option<&Pin> {
        self.sources.get(address)
    }

    /// Sets the pin of a source.
    pub fn set(&mut self, address: Address, pin: Pin) {
        self.sources.insert(address, pin);
    }

    /// Returns the sources, by address.
    pub fn sources(&self) -> impl Iterator<Item = (&Address, &Pin)> {
        self.sources.iter()
    }

    /// Returns the text, which is the same for equal locks: one entry for each source, sorted.
    pub fn text(&self) -> String {
        let entries = self.sources.iter().map(|(address, pin)| (address.to_string(), pin));
        let mut text = format!("{HEAD}version = {VERSION}\n");
        for (address, Pin { digest, signer }) in entries.collect::<BTreeMap<_, _>>() {
            // Neither has a character that TOML would need escaped.
            let _ = write!(text, "\n[[source]]\naddress = \"{address}\"\ndigest = \"{digest}\"\n");
            if let Some(signer) = signer {
                let _ = writeln!(text, "signer = {signer}");
            }
        }
        text
    }
}

impl fmt::Display for Signer {
    /// Writes the signer in the format of the lock file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &str| toml::Value::from(text).to_string();
        match self {
            Self::Key { key } => write!(f, "{{ key = {} }}", text(key)),
            Self::Identity { issuer, identity } => {
                write!(f, "{{ issuer = {}, identity = {} }}", text(issuer), text(identity))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_lock_has_one_text() {
        let mut lock = Lock::default();
        let identity = Signer::Identity {
            issuer: "https://i.example".to_owned(),
            identity: "a\"b\\'\n*".to_owned(),
        };
        for (text, signer) in [
            ("oci://r.example/b:1", Some(identity)),
            ("https://r.example/a.tar.gz", None),
            ("oci://R.example/a", Some(Signer::Key { key: "MFk=".to_owned() })),
        ] {
            let digest = Digest::of(text.as_bytes());
            lock.set(Address::parse(text).unwrap().unwrap(), Pin { digest, signer });
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
            ("oci://r.example/b:1", "https://r.example/b.tar.gz"),
            ("key =", "keys ="),
            ("issuer =", "key = \"MFk=\", issuer ="),
            ("{ key = \"MFk=\" }", "\"MFk=\""),
        ] {
            assert!(Lock::parse(&text.replacen(from, to, 1)).is_err(), "{from} {to}");
        }
    }
}
