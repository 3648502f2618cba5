//! Verifying and making signatures.
//!
//! Owns the choice of algorithms, and OPA's limits on keys; the arithmetic is the libraries'. RSA
//! signatures are verified by `rsa`, which accepts what OPA does (moduli from 1,024 bits, salts of any
//! length), and made by `ring`, whose time doesn't depend on the private key.

use hmac::{Hmac, KeyInit, Mac};
use num_bigint::BigUint;
use rsa::{BoxedUint, Pkcs1v15Sign, Pss};
use sha2::digest::FixedOutputReset;
use sha2::digest::const_oid::AssociatedOid;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::super::{Code, Error};
use super::keys::{Curve, PrivateKey, PublicKey, RsaPrivate, padded};
use super::p224;

/// A hash function for signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    pub(in super::super) fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha384 => Sha384::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }
}

/// Computes the authentication code of a text.
pub(in super::super) fn mac(hash: Hash, key: &[u8], text: &[u8]) -> Vec<u8> {
    match hash {
        Hash::Sha256 => code::<Hmac<Sha256>>(key, text),
        Hash::Sha384 => code::<Hmac<Sha384>>(key, text),
        Hash::Sha512 => code::<Hmac<Sha512>>(key, text),
    }
}

/// Computes the authentication code of a text; keys of any length are accepted.
pub(super) fn code<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Vec<u8> {
    let Ok(mut mac) = M::new_from_slice(key) else { return Vec::new() };
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// The encoding of a digest in an RSA signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Padding {
    /// PKCS #1 v1.5.
    Pkcs1,
    /// PSS with a salt as long as the hash.
    Pss,
    /// PSS with a salt of any length.
    PssAnySalt,
}

/// The limit on the size of a modulus, and so on the cost of a verification.
const MAX_RSA_BITS: usize = 16_384;
/// Signatures by shorter keys, or with larger exponents, are never valid.
const MIN_RSA_BITS: usize = 1024;
const MAX_RSA_EXPONENT: u64 = (1 << 31) - 1;

/// Verifies an RSA signature.
///
/// # Errors
/// Returns an error if the key is larger than we support.
pub(in super::super) fn rsa(
    (n, e): (&BigUint, u64),
    padding: Padding,
    hash: Hash,
    text: &[u8],
    signature: &[u8],
) -> Result<bool, Error> {
    let bits = usize::try_from(n.bits()).unwrap_or(usize::MAX);
    if bits > MAX_RSA_BITS {
        let message = format!("an RSA key of {bits} bits is above the limit of {MAX_RSA_BITS}");
        return Err(Error::halt(Code::Limit, message));
    }
    if bits < MIN_RSA_BITS || e > MAX_RSA_EXPONENT {
        return Ok(false);
    }
    let number = BoxedUint::from_be_slice_vartime(&n.to_bytes_be());
    let sizes = MIN_RSA_BITS..=MAX_RSA_BITS;
    let Ok(key) = rsa::PublicKey::new_with_size_limits(number, BoxedUint::from(e), sizes) else {
        return Ok(false);
    };
    Ok(match hash {
        Hash::Sha256 => rsa_with::<Sha256>(key, padding, text, signature),
        Hash::Sha384 => rsa_with::<Sha384>(key, padding, text, signature),
        Hash::Sha512 => rsa_with::<Sha512>(key, padding, text, signature),
    })
}

fn rsa_with<D>(key: rsa::PublicKey, padding: Padding, text: &[u8], signature: &[u8]) -> bool
where
    D: AssociatedOid + Digest + FixedOutputReset,
{
    let digest = D::digest(text);
    let verified = match padding {
        Padding::Pkcs1 => key.verify(Pkcs1v15Sign::new::<D>(), &digest, signature),
        Padding::Pss => key.verify(Pss::<D>::new(), &digest, signature),
        Padding::PssAnySalt => {
            key.verify(Pss::<D> { salt_len: None, ..Pss::new() }, &digest, signature)
        }
    };
    verified.is_ok()
}

/// Verifies an ECDSA signature of a digest. `r` and `s` may have any length.
pub(in super::super) fn ecdsa(
    (curve, point): (Curve, &[u8]),
    digest: &[u8],
    r: &[u8],
    s: &[u8],
) -> bool {
    let size = curve.size();
    let (Some(r), Some(s)) = (padded(r, size), padded(s, size)) else { return false };
    let digest = prehash(digest, size);
    macro_rules! check {
        ($curve:ident) => {{
            use $curve::ecdsa::signature::hazmat::PrehashVerifier as _;
            $curve::ecdsa::VerifyingKey::from_sec1_bytes(point).is_ok_and(|key| {
                $curve::ecdsa::Signature::from_slice(&[r, s].concat())
                    .is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
            })
        }};
    }
    match curve {
        Curve::P224 => p224::verify(point, &digest, &r, &s),
        Curve::P256 => check!(p256),
        Curve::P384 => check!(p384),
        Curve::P521 => check!(p521),
    }
}

/// Pads a digest to the size of the curve. The libraries refuse digests that are much shorter;
/// leading zeros don't change the result.
fn prehash(digest: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size.saturating_sub(digest.len())];
    bytes.extend_from_slice(digest);
    bytes
}

/// Verifies an Ed25519 signature.
pub(in super::super) fn ed25519(public: &[u8], text: &[u8], signature: &[u8]) -> bool {
    ring_crypto::signature::UnparsedPublicKey::new(&ring_crypto::signature::ED25519, public)
        .verify(text, signature)
        .is_ok()
}

/// The signature algorithms of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Algorithm {
    Hmac(Hash),
    Rsa(Padding, Hash),
    Ecdsa(Hash),
    EdDsa,
}

impl Algorithm {
    /// Returns the algorithm with this name in a token's header. The name `Ed25519` is accepted
    /// when tokens are verified, but not when they are made.
    pub(in super::super) fn from_name(name: &str) -> Option<Self> {
        let hash = match name.get(2..) {
            Some("256") => Hash::Sha256,
            Some("384") => Hash::Sha384,
            Some("512") => Hash::Sha512,
            _ if name == "EdDSA" => return Some(Self::EdDsa),
            _ => return None,
        };
        Some(match name.get(..2) {
            Some("HS") => Self::Hmac(hash),
            Some("RS") => Self::Rsa(Padding::Pkcs1, hash),
            Some("PS") => Self::Rsa(Padding::Pss, hash),
            Some("ES") => Self::Ecdsa(hash),
            _ => return None,
        })
    }

    /// Verifies the signature of a token; a signature by another kind of key is invalid.
    ///
    /// # Errors
    /// Returns an error if the key isn't supported.
    pub(in super::super) fn verify(
        self,
        key: &PublicKey,
        text: &[u8],
        signature: &[u8],
    ) -> Result<bool, Error> {
        match (self, key) {
            (Self::Rsa(padding, hash), PublicKey::Rsa { n, e }) => {
                rsa((n, *e), padding, hash, text, signature)
            }
            (Self::Ecdsa(hash), PublicKey::Ec { curve, point }) => {
                if signature.len() != curve.size() * 2 {
                    return Ok(false);
                }
                let (r, s) = signature.split_at(curve.size());
                Ok(ecdsa((*curve, point), &hash.digest(text), r, s))
            }
            (Self::EdDsa, PublicKey::Ed25519(public)) => Ok(ed25519(public, text, signature)),
            _ => Ok(false),
        }
    }

    /// Signs a text.
    ///
    /// # Errors
    /// Returns an error if the key is of another kind, inconsistent, or not supported by the
    /// libraries.
    pub(in super::super) fn sign(self, key: &PrivateKey, text: &[u8]) -> Result<Vec<u8>, Error> {
        match (self, key) {
            (Self::Rsa(padding, hash), PrivateKey::Rsa(key)) => sign_rsa(key, padding, hash, text),
            (Self::Ecdsa(hash), PrivateKey::Ec { curve, d, .. }) => {
                let digest = prehash(&hash.digest(text), curve.size());
                macro_rules! sign {
                    ($curve:ident) => {{
                        use $curve::ecdsa::signature::hazmat::PrehashSigner as _;
                        let signature: $curve::ecdsa::Signature =
                            $curve::ecdsa::SigningKey::from_slice(d)
                                .and_then(|key| key.sign_prehash(&digest))
                                .map_err(|error| Error::failed(error.to_string()))?;
                        Ok(signature.to_bytes().to_vec())
                    }};
                }
                match curve {
                    // No maintained library supports it, and our own code isn't constant-time.
                    Curve::P224 => {
                        let message = "signing on the curve P-224 is not supported";
                        Err(Error::halt(Code::Builtin, message))
                    }
                    Curve::P256 => sign!(p256),
                    Curve::P384 => sign!(p384),
                    Curve::P521 => sign!(p521),
                }
            }
            (Self::EdDsa, PrivateKey::Ed25519 { seed, .. }) => {
                let pair = ring_crypto::signature::Ed25519KeyPair::from_seed_unchecked(seed)
                    .map_err(|error| Error::failed(error.to_string()))?;
                Ok(pair.sign(text).as_ref().to_vec())
            }
            _ => Err(Error::failed("the key is not of the algorithm's kind")),
        }
    }
}

fn sign_rsa(key: &RsaPrivate, padding: Padding, hash: Hash, text: &[u8]) -> Result<Vec<u8>, Error> {
    use ring_crypto::signature as algorithms;
    key.validate()?;
    let number = |value: &BigUint| value.to_bytes_be();
    let [p, q, ..] = key.primes.as_slice() else {
        return Err(Error::failed("an RSA private key needs its primes"));
    };
    let crt = key.crt()?;
    let (n, e, d, p, q) =
        (number(&key.n), number(&BigUint::from(key.e)), number(&key.d), number(p), number(q));
    let (dp, dq, qinv) = (number(&crt.dp), number(&crt.dq), number(&crt.qinv));
    let components = ring_crypto::rsa::KeyPairComponents {
        public_key: ring_crypto::rsa::PublicKeyComponents { n: &n, e: &e },
        d: &d,
        p: &p,
        q: &q,
        dP: &dp,
        dQ: &dq,
        qInv: &qinv,
    };
    // OPA signs with keys from 1,024 bits; `ring` only with 2,048 to 4,096.
    let pair = ring_crypto::rsa::KeyPair::from_components(&components).map_err(|error| {
        Error::halt(Code::Builtin, format!("signing with this RSA key is not supported: {error}"))
    })?;
    let encoding: &dyn algorithms::RsaEncoding = match (padding, hash) {
        (Padding::Pkcs1, Hash::Sha256) => &algorithms::RSA_PKCS1_SHA256,
        (Padding::Pkcs1, Hash::Sha384) => &algorithms::RSA_PKCS1_SHA384,
        (Padding::Pkcs1, Hash::Sha512) => &algorithms::RSA_PKCS1_SHA512,
        (_, Hash::Sha256) => &algorithms::RSA_PSS_SHA256,
        (_, Hash::Sha384) => &algorithms::RSA_PSS_SHA384,
        (_, Hash::Sha512) => &algorithms::RSA_PSS_SHA512,
    };
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(encoding, &ring_crypto::rand::SystemRandom::new(), text, &mut signature)
        .map_err(|error| Error::failed(error.to_string()))?;
    Ok(signature)
}
