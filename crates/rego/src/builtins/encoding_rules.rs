//! Base64, hexadecimal and UTF-8 by the rules of Go, where they differ from Rust's.
//!
//! Owns base64 as Go's decoders accept it (line breaks are skipped, the unused last bits are
//! ignored) and the decoding of bytes that aren't UTF-8.

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

/// Decodes standard base64 with padding.
///
/// # Errors
/// Returns an error if the text isn't base64.
pub(super) fn base64(text: &[u8]) -> Result<Vec<u8>, Error> {
    decode(&STANDARD, PADDED, text)
}

/// Decodes URL-safe base64; the padding may be missing.
///
/// # Errors
/// Returns an error if the text isn't base64.
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

/// Decodes base64, in whichever of the four variants the text looks like.
///
/// # Errors
/// Returns an error if the text isn't base64.
pub(super) fn base64_any(text: &str) -> Result<Vec<u8>, Error> {
    let alphabet = if text.contains(['+', '/']) { &STANDARD } else { &URL_SAFE };
    decode(alphabet, if text.ends_with('=') { PADDED } else { BARE }, text.as_bytes())
}

/// Encodes standard base64.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Encodes URL-safe base64 without padding.
pub(super) fn to_base64url(bytes: &[u8]) -> String {
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// Encodes lowercase hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn base64_ignores_line_breaks_and_unused_bits() {
        assert_eq!(base64(b"YW\r\nJj\n").unwrap(), b"abc");
        assert_eq!(base64(b"YR==").unwrap(), b"a");
        assert!(base64(b"YQ").is_err());
        assert_eq!(base64url("YQ").unwrap(), b"a");
        assert!(base64url("YWJjZ").is_err());
        assert_eq!(base64_any("-_8").unwrap(), base64_any("+/8=").unwrap());
    }
}
