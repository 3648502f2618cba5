//! The search for a token in text from the service.
//!
//! Owns the three forms in which a token is searched for: as it is, percent-encoded, and in base64 at
//! any position of a longer text. Escapes of JSON are undone first, since what is shown or stored has
//! none. A part of a token isn't one.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem::Finder;
use secrecy::{ExposeSecret as _, SecretString};

/// The minimum length of a token for the search in base64. The fixed part of a shorter token's base64 would
/// match other text.
const MIN_BASE64: usize = 8;

/// The layers of JSON in a response: an operation's output is JSON in a string of JSON.
const LAYERS: usize = 2;

/// The encodings of a token to search for.
pub(super) struct TokenSearch {
    token: SecretString,
    base64: Vec<SecretString>,
}

impl TokenSearch {
    /// Creates the search for `token`.
    pub fn new(token: &str) -> Self {
        let mut base64: Vec<String> = Vec::new();
        // What stands before the token decides how its bits are divided among the characters.
        for before in ["", "x", "xx"] {
            for alphabet in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                let text = alphabet.encode(format!("{before}{token}"));
                // The first and the last character may have bits of what is around the token.
                let first = if before.is_empty() { 0 } else { before.len() + 1 };
                let inner = text.get(first..text.len() - 1).unwrap_or_default();
                if token.len() >= MIN_BASE64 && !base64.iter().any(|known| known == inner) {
                    base64.push(inner.to_owned());
                }
            }
        }
        let base64 = base64.into_iter().map(SecretString::from).collect();
        Self { token: SecretString::from(token.to_owned()), base64 }
    }

    /// Returns `true` if a text contains the token.
    pub fn finds(&self, text: &[u8]) -> bool {
        let mut text = Cow::Borrowed(text);
        for _ in 0..LAYERS {
            if self.finds_in(&text) {
                return true;
            }
            match unescaped(&text) {
                Some(next) => text = Cow::Owned(next),
                None => return false,
            }
        }
        self.finds_in(&text)
    }

    fn finds_in(&self, text: &[u8]) -> bool {
        let is_in = |text: &[u8], form: &SecretString| {
            Finder::new(form.expose_secret()).find(text).is_some()
        };
        is_in(text, &self.token)
            || self.base64.iter().any(|form| is_in(text, form))
            // Decoding looks at every byte, and most answers have nothing to decode.
            || memchr::memchr(b'%', text).is_some_and(|_| {
                let decoded: Cow<'_, [u8]> = percent_encoding::percent_decode(text).into();
                is_in(&decoded, &self.token)
            })
    }
}

/// Decodes the escapes of JSON strings. `None` if there are none.
fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(b'\\', text)?;
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        let code = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let (byte, length) = match escape {
            // A token is ASCII.
            [_, b'u', b'0', b'0', high, low, ..] => (code(&[*high, *low]), 6),
            [_, byte, ..] => (Some(*byte), 2),
            _ => (None, 1),
        };
        out.extend(byte);
        rest = escape.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJ4In0.CANARY-signature_7f3a9+/=";

    #[test]
    fn a_token_is_found_in_its_three_forms() {
        let search = TokenSearch::new(TOKEN);
        let percent = |hex: fn(u8) -> String| TOKEN.bytes().map(hex).collect::<String>();
        let mut forms = vec![
            TOKEN.to_owned(),
            percent(|byte| format!("%{byte:02X}")),
            percent(|byte| format!("%{byte:02x}")),
            TOKEN.replace('+', "%2B").replace('/', "%2f").replace('=', "%3D"),
        ];
        for before in ["", "x", "x:", "user:"] {
            for after in ["", "\n", " more"] {
                forms.push(STANDARD_NO_PAD.encode(format!("{before}{TOKEN}{after}")));
                forms.push(URL_SAFE_NO_PAD.encode(format!("{before}{TOKEN}{after}")));
            }
        }
        let escaped = |text: &str| text.replace('Y', "\\u0059").replace('/', "\\/");
        forms.push(escaped(TOKEN));
        forms.push(escaped(TOKEN).replace('\\', "\\\\"));
        for form in forms {
            let text = format!("{{\"seen\":\"100% {form}\"}}");
            assert!(search.finds(text.as_bytes()), "{form}");
        }
    }

    #[test]
    fn a_part_of_a_token_is_not_one() {
        let search = TokenSearch::new(TOKEN);
        for part in
            ["", "%", "%zz", "\\", "\\u00", "\\u00zz", &TOKEN[1..], &TOKEN[..TOKEN.len() - 1]]
        {
            assert!(!search.finds(part.as_bytes()), "{part}");
        }
        let short = TokenSearch::new("t0ken");
        assert!(short.finds(b"a t0ken") && !short.finds(b"dDBrZW4"));
    }
}
