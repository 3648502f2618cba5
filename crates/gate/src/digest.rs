//! Digests in the form in which reports have them: `sha256:…`.

use rego_platform_client::text::hex;
use sha2::{Digest as _, Sha256};

/// Returns the digest of bytes.
pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    finished(Sha256::new_with_prefix(bytes))
}

/// Returns `true` for a number of lowercase hexadecimal digits.
pub(crate) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the digest of what was hashed.
pub(crate) fn finished(hash: Sha256) -> String {
    format!("sha256:{}", hex(&hash.finalize()))
}
