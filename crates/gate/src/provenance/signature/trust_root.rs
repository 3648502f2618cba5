//! Whose certificates and logs vouch for identities: Sigstore's trusted roots.
//!
//! Owns reading them, and what each of them makes a signature need.

use std::sync::Arc;

use rego_platform::Error;
use rego_platform_client::text::escape;
use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::{VerificationPolicy, Verifier};

use super::ring_provider;
use crate::digest;
use crate::report::model::Source;

/// The name of the built-in root.
const PUBLIC_GOOD: &str = "(sigstore.dev)";

/// The maximum number of roots in a file.
const MAX_ROOTS: usize = 16;

/// Certificate authorities, logs and timestamp authorities for identities
/// ([`Identities`](crate::Identities)).
#[derive(Clone)]
pub struct TrustRoot {
    source: Source,
    roots: Arc<Vec<Root>>,
}

/// A root, with its verification policy.
pub(super) struct Root {
    pub verifier: Verifier,
    pub policy: VerificationPolicy,
}

impl std::fmt::Debug for TrustRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrustRoot").field("source", &self.source).finish_non_exhaustive()
    }
}

impl TrustRoot {
    /// Returns the root of Sigstore's public instance, as it was when this crate's version of `sigstore-verify`
    /// was published.
    ///
    /// # Errors
    /// None that a caller can do anything about.
    pub fn public_good() -> Result<Self, Error> {
        Self::read(PUBLIC_GOOD, SIGSTORE_PRODUCTION_TRUSTED_ROOT.as_bytes())
    }

    /// Reads a `trusted_root.json`, or several in sequence, as `gh attestation trusted-root` prints them. A
    /// signature must be valid for at least one of them. `file` is the name in messages and reports.
    ///
    /// By a root that names transparency logs, a signature needs an entry of one of them; by one that names logs
    /// of certificates, the certificate needs a timestamp of one (SCT). A time of signing that a log or a
    /// timestamp authority signed is always needed.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) for a text that isn't a trusted root, for one without a certificate
    /// authority, and for more than 16.
    pub fn read(file: &str, json: &[u8]) -> Result<Self, Error> {
        ring_provider::install();
        let shown = escape(file);
        let invalid_root = |what: &str| {
            Error::configuration(format!("the trust root `{shown}` {what}")).with_hint(
                "create one with `cosign trusted-root create` or `gh attestation trusted-root`",
            )
        };
        let mut roots = Vec::new();
        for root in serde_json::Deserializer::from_slice(json).into_iter::<TrustedRoot>() {
            let root = root.map_err(|error| invalid_root("can't be read").with_source(error))?;
            if root.certificate_authorities.is_empty() {
                return Err(invalid_root("has no certificate authority"));
            }
            if roots.len() == MAX_ROOTS {
                return Err(invalid_root(&format!("has more than {MAX_ROOTS} roots")));
            }
            let mut policy = VerificationPolicy::any_identity();
            if root.tlogs.is_empty() {
                policy = policy.skip_tlog_unsafe();
            }
            if root.ctlogs.is_empty() {
                policy = policy.skip_sct();
            }
            let verifier = Verifier::new(&root)
                .map_err(|error| invalid_root("can't be used").with_source(error))?;
            roots.push(Root { verifier, policy });
        }
        if roots.is_empty() {
            return Err(invalid_root("is empty"));
        }
        let digest = digest::sha256(json);
        let source = Source { path: file.to_owned(), digest };
        Ok(Self { source, roots: Arc::new(roots) })
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn roots(&self) -> &[Root] {
        &self.roots
    }
}
