//! Required signers of attestations and bundles: the options, and the files of keys and trust roots.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rego_platform::Error;
use rego_platform_gate::model::Inventory;
use rego_platform_gate::{Identities, Signatures, VerifyKeys};

use super::INPUTS;
use crate::keys::{key_files, trust_root};

/// The kind of inputs that are attestations.
const ATTESTATION: &str = "ATTESTATION";

#[derive(Debug, Args)]
pub(super) struct SignatureArgs {
    /// Verify the inputs as in-toto statements in envelopes or bundles
    #[arg(long, hide_short_help = true, help_heading = INPUTS)]
    attestation: bool,
    /// Public key (PEM) for attestations; repeatable, one of the keys must have signed
    #[arg(long, value_name = "FILE")]
    verify_key: Vec<PathBuf>,
    /// Number of keys that must have signed each attestation
    #[arg(
        long,
        value_name = "N",
        requires = "verify_key",
        conflicts_with = "verify_identity",
        hide_short_help = true,
        help_heading = INPUTS
    )]
    verify_threshold: Option<NonZeroUsize>,
    /// Sigstore issuer and identity that may sign attestations; repeatable
    ///
    /// Such as `https://accounts.google.com=jane@example.com`; `*` in the identity is any text.
    #[arg(long, value_name = "ISSUER=IDENTITY")]
    verify_identity: Vec<String>,
    /// Sigstore's trusted root (JSON), instead of that of sigstore.dev
    #[arg(
        long,
        value_name = "FILE",
        requires = "verify_identity",
        hide_short_help = true,
        help_heading = INPUTS
    )]
    trust_root: Option<PathBuf>,
    /// Accept unverified attestations; reports say so, and `attest` refuses the run
    #[arg(
        long,
        conflicts_with_all = ["verify_key", "verify_identity"],
        hide_short_help = true,
        help_heading = INPUTS
    )]
    unverified: bool,
}

impl SignatureArgs {
    /// Returns the files that are read because of these options.
    pub fn read(&self) -> impl Iterator<Item = &PathBuf> {
        self.verify_key.iter().chain(&self.trust_root)
    }

    fn names_signers(&self) -> bool {
        !self.verify_key.is_empty() || !self.verify_identity.is_empty()
    }

    /// Returns `true` if all inputs are attestations. Where inputs `have_kinds`, those of the kind are that.
    pub fn are_attestations(&self, have_kinds: bool) -> bool {
        self.attestation || self.names_signers() && !have_kinds
    }

    /// Returns `true` if some inputs, which are of this kind if it is given, are attestations, or may be
    /// some that need no signature.
    pub fn are_some(&self, kind: Option<&str>, may_be_some: bool) -> bool {
        self.attestation
            || self.names_signers()
            || kind == Some(ATTESTATION)
            || self.unverified && may_be_some
    }

    /// Returns how the signatures of attestations are checked, if there `are_some` among the inputs.
    pub fn check(
        &self,
        are_some: bool,
        inventory: &mut Inventory,
        timeout: Duration,
    ) -> Result<Option<Signatures>, Error> {
        let wrong = |message: &str| Error::configuration(message);
        if !are_some {
            let message = "`--unverified` has no effect: no input is an attestation";
            return if self.unverified {
                Err(wrong(message).with_hint("add `--attestation`, or leave out `--unverified`"))
            } else {
                Ok(None)
            };
        }
        if self.unverified {
            inventory.unverified = true;
            return Ok(Some(Signatures::Unverified));
        }
        let signatures = match (self.keys(timeout)?, self.identities(timeout)?) {
            (Some(keys), None) => Signatures::Keys(keys),
            (None, Some(identities)) => Signatures::Identities(identities),
            (Some(keys), Some(identities)) => Signatures::Either(keys, identities),
            (None, None) => {
                let message = "no signer of the attestations is configured";
                return Err(wrong(message).with_hint(
                    "add `--verify-key FILE` or `--verify-identity ISSUER=IDENTITY`; `--unverified` accepts any signer",
                ));
            }
        };
        inventory.signed_by = signatures.signed_by();
        Ok(Some(signatures))
    }

    fn keys(&self, timeout: Duration) -> Result<Option<VerifyKeys>, Error> {
        if self.verify_key.is_empty() {
            return Ok(None);
        }
        let files = key_files(&self.verify_key, timeout)?;
        let files = files.iter().map(|(name, pem)| (name.as_str(), pem.as_slice()));
        VerifyKeys::new(files, self.verify_threshold.unwrap_or(NonZeroUsize::MIN)).map(Some)
    }

    fn identities(&self, timeout: Duration) -> Result<Option<Identities>, Error> {
        if self.verify_identity.is_empty() {
            return Ok(None);
        }
        let trust_root = trust_root(self.trust_root.as_deref(), timeout)?;
        Identities::new(self.verify_identity.iter().map(String::as_str), trust_root).map(Some)
    }
}
