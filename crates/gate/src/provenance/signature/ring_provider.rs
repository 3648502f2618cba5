//! The cryptography provider for sigstore's crates, on ring: the algorithms that rustls uses for
//! certificates. Ring takes messages alone: for a signature of a digest, p256 is in its place.

use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use rustls_pki_types::SignatureVerificationAlgorithm;
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, Result, SigningScheme, install_default_provider,
};
use sigstore_verify::types::HashAlgorithm;
use webpki::ring::{
    ECDSA_P256_SHA256, ECDSA_P256_SHA384, ECDSA_P384_SHA256, ECDSA_P384_SHA384, ED25519,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256_LEGACY_KEY, RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
    RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
};

/// Installs the provider, unless the process has installed one.
pub(super) fn install() {
    // An error means that there is one.
    let _ = install_default_provider(&RingProvider);
}

#[derive(Debug)]
struct RingProvider;

struct Hash<D>(D);

impl<D: sha2::Digest + Send> HashContext for Hash<D> {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

impl CryptoProvider for RingProvider {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        Ok(match algorithm {
            HashAlgorithm::Sha2256 => Box::new(Hash(Sha256::new())),
            HashAlgorithm::Sha2384 => Box::new(Hash(Sha384::new())),
            HashAlgorithm::Sha2512 => Box::new(Hash(Sha512::new())),
            other => return Err(unknown(&other)),
        })
    }

    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        Sha256::digest(data).into()
    }

    fn sha384(&self, data: &[u8]) -> [u8; 48] {
        Sha384::digest(data).into()
    }

    fn sha512(&self, data: &[u8]) -> [u8; 64] {
        Sha512::digest(data).into()
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        data: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        algorithm(scheme)?.verify_signature(key, data, signature).map_err(|_| invalid())
    }

    /// Signatures without an envelope are checked by their digest. Those that identities make are of this scheme.
    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        if scheme != SigningScheme::EcdsaP256Sha256 {
            return Err(unknown(&scheme));
        }
        let key = VerifyingKey::from_sec1_bytes(key).map_err(|_| invalid())?;
        let signature = Signature::from_der(signature).map_err(|_| invalid())?;
        key.verify_prehash(digest, &signature).map_err(|_| invalid())
    }
}

fn algorithm(scheme: SigningScheme) -> Result<&'static dyn SignatureVerificationAlgorithm> {
    Ok(match scheme {
        SigningScheme::EcdsaP256Sha256 => ECDSA_P256_SHA256,
        SigningScheme::EcdsaP256Sha384 => ECDSA_P256_SHA384,
        SigningScheme::EcdsaP384Sha256 => ECDSA_P384_SHA256,
        SigningScheme::EcdsaP384Sha384 => ECDSA_P384_SHA384,
        SigningScheme::Ed25519 => ED25519,
        SigningScheme::RsaPkcs1Sha256 => RSA_PKCS1_2048_8192_SHA256,
        SigningScheme::RsaPkcs1Sha384 => RSA_PKCS1_2048_8192_SHA384,
        SigningScheme::RsaPkcs1Sha512 => RSA_PKCS1_2048_8192_SHA512,
        SigningScheme::RsaPssSha256 => RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
        SigningScheme::RsaPssSha384 => RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
        SigningScheme::RsaPssSha512 => RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
        other => return Err(unknown(&other)),
    })
}

fn invalid() -> Error {
    Error::Verification("invalid signature".to_owned())
}

fn unknown(what: &dyn std::fmt::Debug) -> Error {
    Error::UnsupportedAlgorithm(format!("unknown algorithm: {what:?}"))
}
