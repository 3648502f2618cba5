//! Verification of signatures with the caller's keys.
//!
//! Owns the keys. What an envelope looks like belongs to `attestation`. Nothing that an envelope says about its
//! keys is believed: each signature is tried with each key.

use std::num::NonZeroUsize;

use rego_platform::Error;
use rego_platform_client::text::{escape, hex};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use webpki::RawPublicKeyEntity;
use webpki::ring::{ECDSA_P256_SHA256, ECDSA_P384_SHA384, ED25519, RSA_PKCS1_2048_8192_SHA256};

use super::{MAX_SIGNATURES, refused, rsa};
use crate::digest;
use crate::report::model::SigningKey;

/// The signature algorithms, each for one kind of key.
static ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 4] =
    [ECDSA_P256_SHA256, ECDSA_P384_SHA384, ED25519, RSA_PKCS1_2048_8192_SHA256];

/// The accepted lengths of an RSA key, in bits.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// Keys that must sign an attestation.
///
/// # Examples
/// ```
/// use std::num::NonZeroUsize;
///
/// use rego_platform_gate::VerifyKeys;
///
/// let pem = "-----BEGIN PUBLIC KEY-----
/// MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
/// -----END PUBLIC KEY-----
/// ";
/// let keys = VerifyKeys::new([("release.pub", pem.as_bytes())], NonZeroUsize::MIN)?;
/// # Ok::<_, rego_platform::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct VerifyKeys {
    keys: Vec<(SigningKey, SubjectPublicKeyInfoDer<'static>)>,
    threshold: NonZeroUsize,
}

impl VerifyKeys {
    /// Reads public keys, each from the PEM text of a file: ECDSA over P-256 or P-384, Ed25519, or RSA of 2,048
    /// to 8,192 bits, as `cosign generate-key-pair` and `openssl` write them. Of these, `threshold` have to
    /// sign.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) for a text without exactly one public key of these kinds, for a key that is
    /// there twice, and if there are fewer keys than have to sign.
    pub fn new<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        threshold: NonZeroUsize,
    ) -> Result<Self, Error> {
        let mut keys: Vec<(SigningKey, SubjectPublicKeyInfoDer<'static>)> = Vec::new();
        for (file, pem) in files {
            let (shown, key) = (escape(file), one_key(file, pem)?);
            let fingerprint = digest::sha256(&*key);
            if let Some((same, _)) = keys.iter().find(|(own, _)| own.fingerprint == fingerprint) {
                let other = escape(&same.key);
                return Err(configuration(format!("duplicate key: `{other}` and `{shown}`"))
                    .with_hint("leave one of the files out"));
            }
            keys.push((SigningKey { key: file.to_owned(), fingerprint }, key));
        }
        if keys.len() < threshold.get() {
            let count = keys.len();
            return Err(configuration(format!(
                "not enough keys: expected at least {threshold}, found {count}"
            )));
        }
        Ok(Self { keys, threshold })
    }

    /// Returns the keys: each is a `SubjectPublicKeyInfo` in DER.
    pub fn der(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|(_, key)| key.as_ref())
    }

    /// Returns the keys for reports.
    pub(super) fn shown(&self) -> Vec<SigningKey> {
        self.keys.iter().map(|(key, _)| key.clone()).collect()
    }

    /// Returns the number of required signatures.
    pub(super) fn threshold(&self) -> u64 {
        self.threshold.get() as u64
    }

    /// Returns the keys that signed these bytes.
    ///
    /// # Errors
    /// If fewer of the keys did than have to.
    pub(super) fn signers(
        &self,
        signed: &[u8],
        signatures: &[Vec<u8>],
    ) -> Result<Vec<SigningKey>, Error> {
        let count = signatures.len();
        if count > MAX_SIGNATURES {
            return Err(refused(format!(
                "too many signatures: {count}, the limit is {MAX_SIGNATURES}"
            )));
        }
        let is_signer = |key: &SubjectPublicKeyInfoDer<'_>| {
            signatures.iter().any(|signature| is_signed(key, signed, signature))
        };
        let signers: Vec<SigningKey> = self
            .keys
            .iter()
            .filter(|(_, key)| is_signer(key))
            .map(|(signer, _)| signer.clone())
            .collect();
        match signers.len() {
            found if found >= self.threshold.get() => Ok(signers),
            0 => Err(refused(format!(
                "no signature of a trusted key (signatures: {count}, keys: {})",
                self.keys.len()
            ))),
            found => Err(refused(format!(
                "not enough signatures of trusted keys: found {found}, expected {}",
                self.threshold
            ))),
        }
    }
}

fn configuration(message: impl Into<String>) -> Error {
    Error::configuration(message)
}

/// Reads the only public key of a PEM text.
fn one_key(file: &str, pem: &[u8]) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    let shown = escape(file);
    let mut all = SubjectPublicKeyInfoDer::pem_slice_iter(pem);
    let hint = "give a file that begins with `-----BEGIN PUBLIC KEY-----`, such as `cosign.pub`";
    let key = match all.next() {
        Some(Ok(key)) => key,
        Some(Err(error)) => {
            let message = format!("can't read the public key in `{shown}`");
            return Err(configuration(message).with_hint(format!("{error:?}")));
        }
        None => {
            let message = format!("no public key in PEM: `{shown}`");
            return Err(configuration(message).with_hint(hint));
        }
    };
    if all.next().is_some() {
        return Err(configuration(format!("more than one public key in `{shown}`"))
            .with_hint("write each key into a separate file"));
    }
    if fits(&key, RSA_PKCS1_2048_8192_SHA256) {
        let bits = rsa::modulus_bits(&key);
        if !bits.is_some_and(|bits| RSA_BITS.contains(&bits)) {
            let length = bits.map_or("an unknown length".to_owned(), |bits| format!("{bits} bits"));
            return Err(configuration(format!(
                "unsupported length of the RSA key in `{shown}`: {length}"
            ))
            .with_hint("use an RSA key of 2,048 to 8,192 bits"));
        }
    }
    if fits(&key, ED25519) && is_small_order(&key) {
        return Err(configuration(format!("insecure Ed25519 key in `{shown}`: small order"))
            .with_hint("generate a new key: anyone can sign for this one"));
    }
    if !ALGORITHMS.iter().any(|algorithm| fits(&key, *algorithm)) {
        return Err(configuration(format!("unsupported algorithm of the public key in `{shown}`"))
            .with_hint("use ECDSA over P-256 or P-384, Ed25519, or RSA of 2,048 to 8,192 bits"));
    }
    Ok(key)
}

/// The points of small order on the curve of Ed25519, also as encodings that aren't reduced: y in hexadecimal, from
/// the least byte, without the sign of x.
const SMALL_ORDER: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

/// Returns `true` for an Ed25519 key of small order: anyone can create signatures for it.
fn is_small_order(key: &SubjectPublicKeyInfoDer<'_>) -> bool {
    let Some(mut point) = key.last_chunk::<32>().copied() else { return false };
    point[31] &= 0x7f;
    SMALL_ORDER.contains(&&*hex(&point))
}

/// Returns `true` if a key fits an algorithm: then an empty signature is invalid instead of an error.
fn fits(key: &SubjectPublicKeyInfoDer<'_>, algorithm: &dyn SignatureVerificationAlgorithm) -> bool {
    let tried =
        RawPublicKeyEntity::try_from(key).and_then(|key| key.verify_signature(algorithm, &[], &[]));
    matches!(tried, Err(webpki::Error::InvalidSignatureForPublicKey))
}

fn is_signed(key: &SubjectPublicKeyInfoDer<'_>, signed: &[u8], signature: &[u8]) -> bool {
    RawPublicKeyEntity::try_from(key).is_ok_and(|key| {
        ALGORITHMS
            .iter()
            .any(|algorithm| key.verify_signature(*algorithm, signed, signature).is_ok())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// Signatures for such a key verify for every message, without a secret.
    #[test]
    fn keys_of_small_order_are_refused() {
        let pem = |point: &[u8]| {
            let der = [&[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0][..], point];
            let text = STANDARD.encode(der.concat());
            format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
        };
        let read = |point: &[u8]| {
            let text = pem(point);
            VerifyKeys::new([("k.pub", text.as_bytes())], NonZeroUsize::MIN)
        };
        for small in SMALL_ORDER {
            let byte = |at: usize| u8::from_str_radix(&small[2 * at..2 * at + 2], 16).unwrap();
            let mut point: Vec<u8> = (0..32).map(byte).collect();
            for sign in [0, 0x80] {
                point[31] = point[31] & 0x7f | sign;
                let error = read(&point).unwrap_err().to_string();
                assert!(error.contains("insecure Ed25519 key in"), "{small}: {error}");
            }
        }
        // The base point.
        let mut base = [0x66; 32];
        base[0] = 0x58;
        assert!(read(&base).is_ok());
    }
}
