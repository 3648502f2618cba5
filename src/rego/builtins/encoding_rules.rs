//! Bytes and text by the rules of OPA's host language, where they differ from Rust's.
//!
//! Owns base64 as its decoders take it (line breaks are skipped, the last bits aren't looked at) and
//! bytes that aren't UTF-8.

#![cfg_attr(not(feature = "crypto"), allow(dead_code))]

use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::Error;

const PADDED: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::RequireCanonical);
const BARE: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_encode_padding(false)
    .with_decode_padding_mode(DecodePaddingMode::RequireNone);

fn decode(
    alphabet: &Alphabet,
    config: GeneralPurposeConfig,
    text: &[u8],
) -> Result<Vec<u8>, Error> {
    let engine = GeneralPurpose::new(alphabet, config);
    let broken = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let bytes = if text.iter().any(broken) {
        let joined: Vec<u8> = text.iter().copied().filter(|byte| !broken(byte)).collect();
        engine.decode(joined)
    } else {
        engine.decode(text)
    };
    bytes.map_err(|error| Error::failed(format!("illegal base64 data: {error}")))
}

/// Standard base64 with padding.
///
/// # Errors
/// The text isn't base64.
pub(super) fn base64(text: &[u8]) -> Result<Vec<u8>, Error> {
    decode(&STANDARD, PADDED, text)
}

/// Base64 in the alphabet for URLs; padding may be missing.
///
/// # Errors
/// The text isn't base64.
pub(super) fn base64url(text: &str) -> Result<Vec<u8>, Error> {
    if text.ends_with('=') {
        return decode(&URL_SAFE, PADDED, text.as_bytes());
    }
    let padding = match text.len() % 4 {
        0 => "",
        2 => "==",
        3 => "=",
        _ => return Err(Error::failed(format!("illegal base64url string: {text}"))),
    };
    decode(&URL_SAFE, PADDED, format!("{text}{padding}").as_bytes())
}

/// Base64 in whichever of the four forms the text looks like.
///
/// # Errors
/// The text isn't base64.
pub(super) fn base64_any(text: &str) -> Result<Vec<u8>, Error> {
    let alphabet = if text.contains(['+', '/']) { &STANDARD } else { &URL_SAFE };
    decode(alphabet, if text.ends_with('=') { PADDED } else { BARE }, text.as_bytes())
}

/// Standard base64 of bytes.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Base64 for URLs, without padding, of bytes.
pub(super) fn to_base64url(bytes: &[u8]) -> String {
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// Lower-case hexadecimal digits of bytes.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Bytes as text; each byte that isn't UTF-8 becomes U+FFFD.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn line_breaks_and_last_bits_are_ignored() {
        assert_eq!(base64(b"YW\r\nJj\n").unwrap(), b"abc");
        assert_eq!(base64(b"YR==").unwrap(), b"a");
        assert!(base64(b"YQ").is_err());
        assert_eq!(base64url("YQ").unwrap(), b"a");
        assert!(base64url("YWJjZ").is_err());
        assert_eq!(base64_any("-_8").unwrap(), base64_any("+/8=").unwrap());
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced_one_by_one() {
        assert_eq!(lossy(b"a\xf0\x9f\x98b"), "a\u{fffd}\u{fffd}\u{fffd}b");
    }
}
