//! Private keys encrypted with a password, in the format of cosign.
//!
//! Owns opening them: the key of the cipher from the password (scrypt), then the content, no byte of which
//! is used before it is authenticated (`secretbox` of `NaCl`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit as _;
use salsa20::XSalsa20;
use salsa20::cipher::{KeyIvInit as _, StreamCipher as _};
use serde::Deserialize;
use subtle::ConstantTimeEq as _;

/// The labels of such keys in PEM.
const LABELS: [&str; 2] = ["ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY"];

/// The accepted cost of deriving a key from a password, as a power of two. Cosign uses 16.
const WORK: std::ops::RangeInclusive<u32> = 14..=18;

/// The reason why a key can't be decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecryptError {
    /// The format isn't cosign's.
    Form,
    /// The password is wrong, or the file was altered.
    Password,
}

#[derive(Deserialize)]
struct EncryptedKeyJson {
    kdf: Kdf,
    cipher: Cipher,
    ciphertext: String,
}

#[derive(Deserialize)]
struct Kdf {
    name: String,
    params: Params,
    salt: String,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "N")]
    n: u32,
    r: u32,
    p: u32,
}

#[derive(Deserialize)]
struct Cipher {
    name: String,
    nonce: String,
}

/// Returns the content of an encrypted key in a PEM text, if it has one.
pub(super) fn content(pem: &str) -> Option<&str> {
    LABELS.iter().find_map(|label| {
        let (_, rest) = pem.split_once(&format!("-----BEGIN {label}-----"))?;
        Some(rest.split_once(&format!("-----END {label}-----"))?.0)
    })
}

/// Returns the key (PKCS #8 in DER) in the content.
pub(super) fn open(content: &str, password: &[u8]) -> Result<Vec<u8>, DecryptError> {
    let text: String = content.split_ascii_whitespace().collect();
    let json = bytes(&text)?;
    let EncryptedKeyJson { kdf, cipher, ciphertext } =
        serde_json::from_slice(&json).map_err(|_| DecryptError::Form)?;
    let Params { n, r, p } = kdf.params;
    let is_known = kdf.name == "scrypt" && cipher.name == "nacl/secretbox" && n.is_power_of_two();
    // The work and the memory of other parameters would be whatever the file says.
    if !is_known || !WORK.contains(&n.ilog2()) || (r, p) != (8, 1) {
        return Err(DecryptError::Form);
    }
    let (salt, sealed) = (bytes(&kdf.salt)?, bytes(&ciphertext)?);
    let nonce: [u8; 24] = bytes(&cipher.nonce)?.try_into().map_err(|_| DecryptError::Form)?;
    let work = u8::try_from(n.ilog2()).map_err(|_| DecryptError::Form)?;
    let params = scrypt::Params::new(work, r, p).map_err(|_| DecryptError::Form)?;
    let mut key = [0; 32];
    scrypt::scrypt(password, &salt, &params, &mut key).map_err(|_| DecryptError::Form)?;
    let (tag, text) = sealed.split_at_checked(16).ok_or(DecryptError::Form)?;
    let mut stream = XSalsa20::new(&key.into(), &nonce.into());
    // The first bytes of the stream are the key of the tag.
    let mut one_time = [0; 32];
    stream.apply_keystream(&mut one_time);
    let expected = Poly1305::new(&one_time.into()).compute_unpadded(text);
    if !bool::from(expected.as_slice().ct_eq(tag)) {
        return Err(DecryptError::Password);
    }
    let mut text = text.to_vec();
    stream.apply_keystream(&mut text);
    Ok(text)
}

fn bytes(base64: &str) -> Result<Vec<u8>, DecryptError> {
    STANDARD.decode(base64).map_err(|_| DecryptError::Form)
}
