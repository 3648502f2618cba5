//! Signatures of attestations: verification and signing.
//!
//! Owns DSSE's encoding of what is signed, and reading its base64.

#[cfg(feature = "keyless")]
mod cosign;
#[cfg(feature = "encrypted-keys")]
mod encrypted;
#[cfg(feature = "keyless")]
mod identities;
#[cfg(feature = "signatures")]
mod keys;
#[cfg(feature = "keyless")]
mod ring_provider;
#[cfg(feature = "signatures")]
mod rsa;
#[cfg(feature = "signatures")]
mod sign_key;
#[cfg(feature = "keyless")]
mod trust_root;

#[cfg(feature = "signatures")]
use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rego_platform::Error;
#[cfg(feature = "signatures")]
use rego_platform::rego::Value;

#[cfg(feature = "keyless")]
pub use identities::Identities;
#[cfg(feature = "signatures")]
pub use keys::VerifyKeys;
#[cfg(feature = "signatures")]
pub use sign_key::SignKey;
#[cfg(feature = "keyless")]
pub use trust_root::TrustRoot;

#[cfg(feature = "signatures")]
use crate::report::model::SignedBy;
use crate::report::model::Signer;
#[cfg(feature = "signatures")]
use crate::setting;

/// The required type of a payload. Readers treat other types differently.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The maximum number of signatures of an artifact. Each is tried with each key.
#[cfg(feature = "signatures")]
pub(crate) const MAX_SIGNATURES: usize = 64;

/// A signature that cosign stores in the annotations of an artifact's layer. What isn't there is empty.
#[derive(Debug, Clone, Default)]
pub struct LayerSignature {
    /// The signature, in base64 (`dev.cosignproject.cosign/signature`). Envelopes hold their signatures
    /// themselves.
    pub signature: String,
    /// The signer's certificate, in PEM (`dev.sigstore.cosign/certificate`).
    pub certificate: String,
    /// The certificates of the authorities that issued it, in PEM (`dev.sigstore.cosign/chain`).
    pub chain: String,
    /// The promise of the transparency log, in JSON (`dev.sigstore.cosign/bundle`).
    pub bundle: String,
}

/// The verification of the signatures of attestations.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Signatures {
    /// No verification. Anyone may have written an attestation, which reports state.
    Unverified,
    /// Each attestation must have signatures of as many of these keys as the threshold.
    #[cfg(feature = "signatures")]
    Keys(VerifyKeys),
    /// Each attestation must have a signature of one of these identities.
    #[cfg(feature = "keyless")]
    Identities(Identities),
    /// Each attestation must have signatures of as many of these keys as the threshold, or of one of these
    /// identities.
    #[cfg(feature = "keyless")]
    Either(VerifyKeys, Identities),
}

/// Signed bytes with their signatures.
#[cfg(feature = "signatures")]
pub(crate) struct Signed<'a> {
    pub payload: &'a [u8],
    pub signatures: &'a [Vec<u8>],
    pub form: SignatureForm<'a>,
}

/// The location of the signatures.
#[cfg(feature = "signatures")]
#[cfg_attr(not(feature = "keyless"), allow(dead_code))]
pub(crate) enum SignatureForm<'a> {
    /// In an envelope, possibly within a bundle.
    Envelope { payload_type: &'a str, bundle: Option<&'a Value> },
    /// In annotations of the layer, with further annotations.
    Bytes(&'a [&'a LayerSignature]),
}

#[cfg(feature = "signatures")]
fn refused(message: impl Into<String>) -> Error {
    Error::invalid_argument(message).by_setting(setting::SIGNATURES)
}

impl Signatures {
    /// Returns the required signers for reports; `None` without verification.
    #[cfg(feature = "signatures")]
    pub fn signed_by(&self) -> Option<SignedBy> {
        let of_keys = |keys: &VerifyKeys| SignedBy {
            keys: keys.shown(),
            threshold: keys.threshold(),
            ..SignedBy::default()
        };
        #[cfg(feature = "keyless")]
        let with = |identities: &Identities, signed_by: SignedBy| SignedBy {
            identities: identities.shown(),
            trust_root: Some(identities.trust_root()),
            ..signed_by
        };
        match self {
            Self::Unverified => None,
            Self::Keys(keys) => Some(of_keys(keys)),
            #[cfg(feature = "keyless")]
            Self::Identities(identities) => {
                Some(with(identities, SignedBy { threshold: 1, ..SignedBy::default() }))
            }
            #[cfg(feature = "keyless")]
            Self::Either(keys, identities) => Some(with(identities, of_keys(keys))),
        }
    }

    /// Returns the signers of bytes without an envelope; `None` without verification.
    ///
    /// # Errors
    /// If they aren't signed by those who have to.
    #[cfg_attr(not(feature = "signatures"), allow(unused_variables, clippy::unnecessary_wraps))]
    pub(crate) fn signers_of_bytes(
        &self,
        bytes: &[u8],
        kept: &[LayerSignature],
    ) -> Result<Option<Vec<Signer>>, Error> {
        match self {
            Self::Unverified => Ok(None),
            #[cfg(feature = "signatures")]
            _ => {
                let kept: Vec<_> = kept.iter().filter(|own| !own.signature.is_empty()).collect();
                let signatures: Result<Vec<_>, _> =
                    kept.iter().map(|own| decode(&own.signature)).collect();
                let signatures =
                    signatures.map_err(|_| refused("invalid base64 in a signature"))?;
                let form = SignatureForm::Bytes(&kept);
                self.signers(&Signed { payload: bytes, signatures: &signatures, form }).map(Some)
            }
        }
    }

    /// Returns the envelope in a bundle built from the layer's annotations, if they have one.
    #[cfg(feature = "keyless")]
    pub(crate) fn bundle_around(
        &self,
        envelope: &Value,
        kept: &LayerSignature,
    ) -> Option<Result<Value, Error>> {
        let takes_identities = matches!(self, Self::Identities(_) | Self::Either(..));
        (takes_identities && !kept.certificate.is_empty()).then(|| cosign::around(kept, envelope))
    }

    /// Returns the signers of an artifact.
    ///
    /// # Errors
    /// If it isn't signed by those who have to.
    #[cfg(feature = "signatures")]
    pub(crate) fn signers(&self, own: &Signed<'_>) -> Result<Vec<Signer>, Error> {
        let (signed, none) = match own.form {
            SignatureForm::Envelope { payload_type, .. } => {
                let signed = signed_bytes(payload_type, own.payload);
                (Cow::Owned(signed), "no signature in the envelope")
            }
            SignatureForm::Bytes(_) => (Cow::Borrowed(own.payload), "no signature"),
        };
        if own.signatures.is_empty() {
            return Err(refused(none));
        }
        let by_key = |keys: &VerifyKeys| by_key(keys, &signed, own.signatures);
        #[cfg(feature = "keyless")]
        let by_identity = |identities: &Identities| identities.signer(own).map(Signer::Identity);
        match self {
            Self::Unverified => Ok(Vec::new()),
            Self::Keys(keys) => by_key(keys),
            #[cfg(feature = "keyless")]
            Self::Identities(identities) => Ok(vec![by_identity(identities)?]),
            #[cfg(feature = "keyless")]
            Self::Either(keys, identities) => match (by_key(keys), by_identity(identities)) {
                (Ok(mut keys), Ok(identity)) => {
                    keys.push(identity);
                    Ok(keys)
                }
                (Ok(keys), Err(_)) => Ok(keys),
                (Err(_), Ok(identity)) => Ok(vec![identity]),
                (Err(of_keys), Err(of_identities)) => {
                    Err(refused(format!("{of_keys}; {of_identities}")).with_source(of_identities))
                }
            },
        }
    }
}

#[cfg(feature = "signatures")]
fn by_key(keys: &VerifyKeys, signed: &[u8], signatures: &[Vec<u8>]) -> Result<Vec<Signer>, Error> {
    keys.signers(signed, signatures).map(|all| all.into_iter().map(Signer::Key).collect())
}

#[cfg(feature = "signatures")]
/// Returns the signed bytes of an envelope (PAE): type and payload, each with its length.
fn signed_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let (kind, length) = (payload_type.len(), payload.len());
    let mut signed = format!("DSSEv1 {kind} {payload_type} {length} ").into_bytes();
    signed.extend_from_slice(payload);
    signed
}

/// Returns the first success, or else the first failure, or `None` without attempts.
pub(crate) fn first_success<T, E>(
    tried: impl IntoIterator<Item = Result<T, E>>,
) -> Option<Result<T, E>> {
    let mut failure = None;
    for one in tried {
        match one {
            Ok(found) => return Some(Ok(found)),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map(Err)
}

/// Returns the error about a signature that can't be verified.
#[cfg(feature = "keyless")]
fn unverified(reason: &str) -> Error {
    refused(format!("can't verify the signature: {reason}")).by_setting(setting::TRUST_ROOT)
}

/// Decodes base64: DSSE allows both alphabets, and padding is often missing.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let url_safe = text.contains(['-', '_']);
    let letters = if url_safe { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    GeneralPurpose::new(letters, config).decode(text.trim())
}

#[cfg(all(test, feature = "signatures"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_encoded_as_dsse_says() {
        let signed = signed_bytes("http://example.com/HelloWorld", b"hello world");
        assert_eq!(signed, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }
}
