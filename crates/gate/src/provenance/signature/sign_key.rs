//! Signatures with a private key of the caller.
//!
//! Owns reading the key, which nothing shows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rego_platform::Error;
use rego_platform_client::text::escape;
use ring_crypto::rand::SystemRandom;
use ring_crypto::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use super::{PAYLOAD_TYPE, signed_bytes};
#[cfg(feature = "encrypted-keys")]
use crate::setting;

/// A private key that signs statements.
pub struct SignKey {
    pair: Pair,
    random: SystemRandom,
}

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl std::fmt::Debug for SignKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignKey").finish_non_exhaustive()
    }
}

impl SignKey {
    /// Reads the private key in a PEM text: ECDSA over P-256, or Ed25519, in PKCS #8. `file` is its name in
    /// messages. With the feature `encrypted-keys`, it may be encrypted in the form of cosign's key files, with
    /// this password.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) for a text without such a key, and without its password. That error is by
    /// [`PASSWORD`](crate::setting::PASSWORD).
    pub fn read(file: &str, pem: &[u8], password: Option<&[u8]>) -> Result<Self, Error> {
        let shown = escape(file);
        let invalid_key = |what: &str, hint: &str| {
            Error::configuration(format!("`{shown}` {what}")).with_hint(hint)
        };
        #[cfg(feature = "encrypted-keys")]
        let opened = opened(&invalid_key, pem, password)?;
        // What is encrypted isn't read.
        #[cfg(not(feature = "encrypted-keys"))]
        let opened: Option<Vec<u8>> = password.and(None);
        let der = match &opened {
            Some(der) => PrivatePkcs8KeyDer::from(der.as_slice()),
            None => PrivatePkcs8KeyDer::from_pem_slice(pem).map_err(|_| {
                invalid_key(
                    "has no private key in PEM (PKCS #8)",
                    "convert the key with `openssl pkcs8 -topk8 -nocrypt -in FILE`, or create an encrypted one with `cosign generate-key-pair`",
                )
            })?,
        };
        let (der, random) = (der.secret_pkcs8_der(), SystemRandom::new());
        let p256 = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &random);
        // OpenSSL writes no public key beside it.
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(der);
        let pair = p256.map(Pair::P256).or_else(|_| ed25519().map(Pair::Ed25519));
        let pair = pair.map_err(|_| {
            invalid_key("has an unsupported private key", "use ECDSA over P-256 or Ed25519")
        })?;
        Ok(Self { pair, random })
    }

    /// Returns the envelope (DSSE) of an in-toto statement, signed.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`](rego_platform::ErrorKind::Internal) if the system has no randomness.
    pub fn envelope(&self, statement: &[u8]) -> Result<Value, Error> {
        let signed = signed_bytes(PAYLOAD_TYPE, statement);
        let signature = match &self.pair {
            Pair::P256(pair) => pair
                .sign(&self.random, &signed)
                .map_err(|_| Error::internal("no randomness of the system for a signature"))?,
            Pair::Ed25519(pair) => pair.sign(&signed),
        };
        Ok(json!({
            "payloadType": PAYLOAD_TYPE,
            "payload": STANDARD.encode(statement),
            "signatures": [{"sig": STANDARD.encode(signature)}],
        }))
    }
}

/// Words an error of the file, and its next step.
#[cfg(feature = "encrypted-keys")]
type Wrong<'a> = &'a dyn Fn(&str, &str) -> Error;

/// Decrypts the key (PKCS #8 in DER) in a text.
#[cfg(feature = "encrypted-keys")]
fn opened(
    invalid_key: Wrong<'_>,
    pem: &[u8],
    password: Option<&[u8]>,
) -> Result<Option<Vec<u8>>, Error> {
    use super::encrypted::{self, DecryptError};

    let Some(content) = std::str::from_utf8(pem).ok().and_then(encrypted::content) else {
        return Ok(None);
    };
    let Some(password) = password else {
        let hint = "give the password, which may be empty";
        return Err(
            invalid_key("is encrypted: missing password", hint).by_setting(setting::PASSWORD)
        );
    };
    encrypted::open(content, password).map(Some).map_err(|closed| match closed {
        DecryptError::Form => invalid_key(
            "has an unsupported encryption: expected that of cosign",
            "convert the key with `cosign import-key-pair`",
        ),
        DecryptError::Password => {
            invalid_key("can't be decrypted: wrong password", "check the password")
                .by_setting(setting::PASSWORD)
        }
    })
}
