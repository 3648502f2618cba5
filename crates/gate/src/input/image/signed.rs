//! Signatures of images in registries, in both formats of `cosign sign`.
//!
//! Owns what such a signature is. An attestation states something else about a digest, and isn't one.

use rego_platform::Error;
use rego_platform::rego::Value;
use rego_platform_client::text::escape;

use super::{Artifact, Sort};
use crate::provenance::{Signatures, first_success};
use crate::report::model::Signer;

/// The predicate type of a signature in a bundle.
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

impl Artifact {
    /// Returns `true` if artifacts of a media type may be signatures.
    pub fn may_sign(media_type: &str) -> bool {
        Sort::of(media_type).is_some_and(Sort::is_signature)
    }

    /// Returns the signers of the manifest with this digest, `sha256:…`: those of the first of its
    /// `artifacts` that is a valid signature by the required signers. `is_place` tells whether a name, which
    /// a signature may state, is that of the repository in which it is.
    ///
    /// # Errors
    /// If none is, with the reason why the first one doesn't count.
    pub fn signers_of(
        digest: &str,
        artifacts: &[Self],
        signatures: &Signatures,
        is_place: impl Fn(&str) -> bool,
    ) -> Result<Vec<Signer>, Error> {
        let tried = artifacts.iter().filter_map(|artifact| {
            let sort = Sort::of(&artifact.media_type).filter(|sort| sort.is_signature())?;
            let content = artifact.content.as_deref()?;
            Some(artifact.signs(sort, content, digest, signatures, &is_place))
        });
        first_success(tried)
            .unwrap_or_else(|| Err(Error::invalid_argument("no signature of the image")))
    }

    /// Returns the signers of this signature.
    fn signs(
        &self,
        sort: Sort,
        content: &[u8],
        digest: &str,
        signatures: &Signatures,
        is_place: impl Fn(&str) -> bool,
    ) -> Result<Vec<Signer>, Error> {
        let counted = self.counted(sort, content, digest, signatures)?;
        if matches!(sort, Sort::Attestation) && counted.predicate_type.as_deref() != Some(SIGNED) {
            return Err(Error::invalid_argument("attestation instead of a signature of the image"));
        }
        let payload = counted.value.get(&"payload".into());
        let critical = payload.and_then(|payload| payload.get_str("critical"));
        let identity = critical.and_then(|critical| critical.get_str("identity"));
        if let Some(identity) = identity.filter(|own| own.get_str("docker-reference").is_some()) {
            let place =
                identity.get_str("docker-reference").and_then(Value::as_str).ok_or_else(|| {
                    Error::invalid_argument("missing `docker-reference` in the signature")
                })?;
            if !place.is_empty() && !is_place(place) {
                let place = escape(place);
                return Err(Error::invalid_argument(format!(
                    "reference mismatch: the signature is for `{place}`"
                )));
            }
        }
        let signers = counted.signers.filter(|signers| !signers.is_empty());
        signers.ok_or_else(|| Error::invalid_argument("signers not checked"))
    }
}
