//! Whose signatures attestations need: the options, and the keys' files.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rego_platform::{Error, ErrorKind};
use rego_platform_gate::model::Inventory;
use rego_platform_gate::{Signatures, VerifyKeys};

use super::INPUTS;
use crate::option_files;

/// The kind of inputs that are attestations.
const ATTESTATION: &str = "ATTESTATION";

/// The largest file of a key.
const MAX_KEY: u64 = 64 << 10;

#[derive(Debug, Args)]
pub(super) struct SignatureArgs {
    /// The inputs are in-toto statements, in DSSE envelopes or bundles; `--verify-key` says whose
    #[arg(long, hide_short_help = true, help_heading = INPUTS)]
    attestation: bool,
    /// Public key (PEM) of attestations' signers, which may be repeated; one has to have signed
    #[arg(long, value_name = "FILE")]
    verify_key: Vec<PathBuf>,
    /// The number of keys that have to sign each attestation
    #[arg(long, value_name = "N", requires = "verify_key", hide_short_help = true, help_heading = INPUTS)]
    verify_threshold: Option<NonZeroUsize>,
    /// Take attestations from anyone, signed or not; the reports say so, and `attest` refuses the run
    #[arg(long, conflicts_with = "verify_key", hide_short_help = true, help_heading = INPUTS)]
    unverified: bool,
}

impl SignatureArgs {
    /// Returns `true` if the inputs, which are of this kind, are attestations.
    pub fn are_attestations(&self, kind: Option<&str>) -> bool {
        self.attestation || !self.verify_key.is_empty() || kind == Some(ATTESTATION)
    }

    /// Returns how the signatures of attestations are checked, if the inputs are some.
    pub fn check(
        &self,
        kind: Option<&str>,
        inventory: &mut Inventory,
        timeout: Duration,
    ) -> Result<Option<Signatures>, Error> {
        let wrong = |message: &str| Error::new(ErrorKind::Configuration, message);
        if !self.are_attestations(kind) {
            let message = "`--unverified` is about attestations, and the inputs are none";
            return if self.unverified {
                Err(wrong(message).with_hint("add `--attestation`, or leave it out"))
            } else {
                Ok(None)
            };
        }
        if self.unverified {
            inventory.unverified = true;
            return Ok(Some(Signatures::Unverified));
        }
        if self.verify_key.is_empty() {
            let message = "nothing says who may sign the attestations";
            return Err(wrong(message).with_hint(
                "`--verify-key FILE` names a public key, `--unverified` takes them from anyone",
            ));
        }
        let mut files = Vec::new();
        for path in &self.verify_key {
            let pem = option_files::read("the public key", path, MAX_KEY, timeout)?;
            files.push((path.display().to_string(), pem));
        }
        let files = files.iter().map(|(name, pem)| (name.as_str(), pem.as_slice()));
        let keys = VerifyKeys::new(files, self.verify_threshold.unwrap_or(NonZeroUsize::MIN))?;
        inventory.signed_by = Some(keys.signed_by());
        Ok(Some(Signatures::Keys(keys)))
    }
}
