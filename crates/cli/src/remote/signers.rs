//! Required signers of policies in registries: the options, the lock, and verification against both.
//!
//! Owns which of the two decides. Signatures are read and checked as those of images are.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use rego_platform::Error;
use rego_platform_client::text::escape;
use rego_platform_gate::model;
use rego_platform_gate::{Artifact, Identities, Signatures, VerifyKeys};
use rego_platform_remote::{Address, Digest, Reference, Signer, setting};

use super::artifacts;
use super::fetch::How;
use crate::keys::{key_files, trust_root};
use crate::watchdog;

// The fields have the names of the options.
#[allow(clippy::struct_field_names)]
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SignerArgs {
    /// Public key (PEM) for remote policies; repeatable, one of the keys must have signed
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Policies")]
    policy_key: Vec<PathBuf>,
    /// Issuer and identity that may sign remote policies; repeatable
    #[arg(long, value_name = "ISSUER=IDENTITY", hide_short_help = true, help_heading = "Policies")]
    policy_identity: Vec<String>,
    /// Sigstore's trusted root (JSON) for remote policies and the lock file
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Policies")]
    policy_trust_root: Option<PathBuf>,
}

/// A permitted signer, and the verification of its signatures.
pub(super) struct Candidate {
    signer: Signer,
    signatures: Signatures,
}

/// The signer of a source.
pub(super) struct Signed {
    /// The signer in the form of the lock.
    pub signer: Signer,
    /// The signers in the form of reports.
    pub shown: Vec<String>,
}

impl SignerArgs {
    /// Returns the files that are read because of these options.
    pub fn read(&self) -> impl Iterator<Item = &PathBuf> {
        self.policy_key.iter().chain(&self.policy_trust_root)
    }

    /// Returns those whom the options name.
    pub fn given(&self, timeout: Duration) -> Result<Vec<Candidate>, Error> {
        let mut all = Vec::new();
        for (name, pem) in key_files(&self.policy_key, timeout)? {
            all.push(of_key(&name, &pem)?);
        }
        for identity in &self.policy_identity {
            all.push(self.of_identity(identity, timeout)?);
        }
        Ok(all)
    }

    /// Returns the one whom the lock names.
    fn of_lock(&self, lock: &Path, signer: &Signer, timeout: Duration) -> Result<Candidate, Error> {
        match signer {
            Signer::Key { key } => {
                let pem = format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n");
                of_key(&lock.display().to_string(), pem.as_bytes())
            }
            Signer::Identity { issuer, identity } => {
                self.of_identity(&format!("{issuer}={identity}"), timeout)
            }
        }
    }

    fn of_identity(&self, text: &str, timeout: Duration) -> Result<Candidate, Error> {
        let root = trust_root(self.policy_trust_root.as_deref(), timeout)?;
        let identities = Identities::new([text], root)?;
        let (issuer, identity) = text.split_once('=').unwrap_or_default();
        let signer = Signer::Identity { issuer: issuer.to_owned(), identity: identity.to_owned() };
        Ok(Candidate { signer, signatures: Signatures::Identities(identities) })
    }
}

fn of_key(name: &str, pem: &[u8]) -> Result<Candidate, Error> {
    let keys = VerifyKeys::new([(name, pem)], NonZeroUsize::MIN)?;
    let key = keys.der().next().map(|der| STANDARD.encode(der)).unwrap_or_default();
    Ok(Candidate { signer: Signer::Key { key }, signatures: Signatures::Keys(keys) })
}

/// The required signers of a source: one of each list.
pub(super) struct Required<'a> {
    reference: &'a Reference,
    locked: Option<Candidate>,
    given: &'a [Candidate],
}

impl How {
    /// Returns who has to sign a source: one of those whom the options name, and the one whom the lock names,
    /// whom the former replace if the lock is updated. `None` if nobody has to.
    pub(super) fn signers_of<'a>(
        &self,
        address: &'a Address,
        given: &'a [Candidate],
        locked: Option<&Signer>,
    ) -> Result<Option<Required<'a>>, Error> {
        let replaces = self.args.update_lock && !given.is_empty();
        let (args, path) = (&self.args.signers, self.args.path());
        let locked = locked.filter(|_| !replaces);
        let locked = locked.map(|signer| args.of_lock(&path, signer, self.timeout)).transpose()?;
        match address {
            _ if given.is_empty() && locked.is_none() => Ok(None),
            Address::Registry(reference) => Ok(Some(Required { reference, locked, given })),
            _ => {
                let message = format!(
                    "source can't have a signature: `{}` isn't in a registry",
                    escape(&address.to_string())
                );
                Err(Error::configuration(message)
                    .with_hint("store it in a registry with `push`, or use a signed bundle with `--bundle-key`"))
            }
        }
    }

    /// Returns who signed what a source has at a digest.
    pub(super) fn signed(&self, required: &Required<'_>, digest: &Digest) -> Result<Signed, Error> {
        let Required { reference, locked, given } = required;
        let remote = self.remote_of_images()?;
        let image = remote.image(&reference.pinned(digest.clone()), Artifact::may_sign)?;
        let artifacts = artifacts(image);
        // Checking what someone else attached may take long.
        watchdog::again(self.timeout)?;
        let _watchdog = watchdog::start(self.timeout)?;
        let is_place = |name: &str| reference.is_named(name);
        let by_one_of = |candidates: &[Candidate]| {
            let mut failure = None;
            for Candidate { signer, signatures } in candidates {
                match Artifact::signers_of(digest.as_str(), &artifacts, signatures, is_place) {
                    Ok(signers) => {
                        let shown = signers.iter().map(shown).collect();
                        return Ok(Some(Signed { signer: signer.clone(), shown }));
                    }
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            failure.map_or(Ok(None), |failure| {
                let message = format!(
                    "missing signature of a required signer: `{}`, `{digest}`",
                    escape(&reference.to_string())
                );
                let error = Error::tampered(message).by_setting(setting::SIGNER);
                Err(error.with_source(failure))
            })
        };
        let (locked, given) = (by_one_of(locked.as_slice())?, by_one_of(given)?);
        given.or(locked).ok_or_else(|| Error::internal("no required signer"))
    }
}

fn shown(signer: &model::Signer) -> String {
    match signer {
        model::Signer::Identity(own) => format!("{}={}", own.issuer, own.identity),
        model::Signer::Key(own) => own.key.clone(),
        _ => String::new(),
    }
}
