//! The search for a token in text from the service.
//!
//! Owns what counts as a repetition: the whole token, and any run of [`RUN`] letters and digits of its secret
//! parts, also in base64 or hex, in either case, behind escapes, and with anything in between that
//! isn't a letter or a digit: proxies wrap lines, and pages break words. The header of a JWT doesn't
//! count, since all tokens of an issuer share it.
//!
//! The time is linear in the text, whatever it is, and the memory is small.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The length of a run that counts.
const RUN: usize = 16;

/// The length of the blocks that are looked up: every run has a whole one, wherever it begins.
const BLOCK: usize = RUN / 2;

/// The number of bits that blocks are hashed to.
const BITS: u32 = 20;

/// The number of characters that are looked at together.
const CHUNK: usize = 32 << 10;

/// The number of layers of escapes that are undone: an operation's output is JSON inside JSON.
const MAX_LAYERS: usize = 4;

/// The parts of a token that a search looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    /// All but the header of a JWT.
    All,
    /// What nothing but this token has: the signature of a JWT, or all of another token. The claims of
    /// two tokens of an issuer can begin alike.
    Own,
}

/// What to look for. It has hashes alone, no part of the token.
pub(super) struct TokenSearch {
    /// A bit for each block that a part of the token has, by its hash.
    blocks: Vec<u64>,
    /// The hashes of all runs, and whether nothing but this token has it.
    runs: HashMap<u64, bool>,
    hasher: RandomState,
}

impl TokenSearch {
    /// Returns what to look for in the search for `token`.
    pub fn new(token: &str, is_jwt: bool) -> Self {
        let words = (1 << BITS) / 64;
        let (runs, hasher) = (HashMap::new(), RandomState::new());
        let mut search = Self { blocks: vec![0; words], runs, hasher };
        let own = match token.split('.').nth(2).filter(|_| is_jwt) {
            Some(signature) if plain(signature.as_bytes()).len() >= RUN => {
                let claims = token.split_once('.').map_or(token, |(_, rest)| rest);
                search.add_forms(claims, false);
                signature
            }
            Some(_) => token.split_once('.').map_or(token, |(_, rest)| rest),
            None => token,
        };
        search.add_forms(own, true);
        search
    }

    fn add_forms(&mut self, part: &str, own: bool) {
        let part = part.as_bytes();
        if plain(part).len() < RUN {
            return;
        }
        self.add(part, own);
        let hex = |byte: &u8| {
            [byte >> 4, byte & 15].map(|digit| b"0123456789abcdef".get(usize::from(digit)).copied())
        };
        self.add(&part.iter().flat_map(hex).flatten().collect::<Vec<u8>>(), own);
        // What stands before the token decides how its bits are divided among the characters.
        for (before, text) in [&b""[..], b"x", b"xx"].into_iter().enumerate() {
            let text = STANDARD_NO_PAD.encode([text, part].concat());
            let (first, last) = (if before == 0 { 0 } else { before + 1 }, text.len() - 1);
            self.add(text.as_bytes().get(first..last).unwrap_or_default(), own);
        }
    }

    fn add(&mut self, text: &[u8], own: bool) {
        let text = plain(text);
        for run in text.windows(RUN) {
            *self.runs.entry(self.hasher.hash_one(run)).or_default() |= own;
        }
        for block in text.windows(BLOCK) {
            let (word, bit) = place(block);
            if let Some(word) = self.blocks.get_mut(word) {
                *word |= 1 << bit;
            }
        }
    }

    /// Returns `true` if a text repeats the token, which is given again since it isn't kept here.
    pub fn finds(&self, token: &str, parts: Parts, text: &[u8]) -> bool {
        let whole = memchr::memmem::Finder::new(token);
        let mut text = Cow::Borrowed(text);
        for _ in 0..=MAX_LAYERS {
            if whole.find(&text).is_some() || self.finds_run(parts, &text) {
                return true;
            }
            match unescape(&text) {
                Some(next) => text = Cow::Owned(next),
                None => return false,
            }
        }
        false
    }

    fn finds_run(&self, parts: Parts, text: &[u8]) -> bool {
        if self.runs.is_empty() {
            return false;
        }
        let mut kept = Vec::with_capacity(CHUNK + RUN);
        for chunk in text.chunks(CHUNK) {
            append_plain(chunk, &mut kept);
            if self.finds_in(parts, &kept) {
                return true;
            }
            // A run may go on in the next chunk.
            kept.drain(..kept.len().saturating_sub(RUN - 1));
        }
        false
    }

    /// Looks for a run in plain characters.
    fn finds_in(&self, parts: Parts, text: &[u8]) -> bool {
        text.chunks_exact(BLOCK).enumerate().any(|(number, block)| {
            let (word, bit) = place(block);
            let is_known = self.blocks.get(word).is_some_and(|word| word >> bit & 1 == 1);
            is_known && {
                let at = number * BLOCK;
                let from = at.saturating_sub(BLOCK);
                let around = text.get(from..text.len().min(at + RUN)).unwrap_or_default();
                around.windows(RUN).any(|run| {
                    let own = self.runs.get(&self.hasher.hash_one(run));
                    own.is_some_and(|own| parts == Parts::All || *own)
                })
            }
        })
    }
}

/// Returns the word and the bit of a block.
fn place(block: &[u8]) -> (usize, u32) {
    let number = block.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS);
    #[allow(clippy::cast_possible_truncation, reason = "it has 20 bits")]
    let hash = hash as u32;
    ((hash / 64) as usize, hash % 64)
}

/// The plain form of each byte, or zero for those that are left out.
#[allow(clippy::indexing_slicing, reason = "it is evaluated by the compiler")]
const PLAIN: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        table[byte as usize] = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => byte.to_ascii_lowercase(),
            _ => 0,
        };
        byte += 1;
    }
    table
};

fn append_plain(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + text.len(), 0);
    let mut end = start;
    for byte in text {
        let plain = PLAIN.get(usize::from(*byte)).copied().unwrap_or_default();
        if let Some(slot) = out.get_mut(end) {
            *slot = plain;
        }
        end += usize::from(plain != 0);
    }
    out.truncate(end);
}

fn plain(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    append_plain(text, &mut out);
    out
}

/// Undoes one layer of escapes: those of JSON, of URLs and of HTML. `None` if there are none.
fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut rest = text;
    let mut out = Vec::new();
    let mut any = false;
    while let Some(at) = memchr::memchr3(b'\\', b'%', b'&', rest) {
        let (before, escape) = rest.split_at(at);
        let (byte, length) = match escaped(escape) {
            Some(escaped) => {
                any = true;
                escaped
            }
            None => (escape.first().copied().unwrap_or(b' '), 1),
        };
        out.extend_from_slice(before);
        out.push(byte);
        rest = escape.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    any.then_some(out)
}

/// Returns the byte that an escape at the start of a text stands for, and the escape's length. A
/// character that isn't ASCII becomes a blank: no token has it.
fn escaped(text: &[u8]) -> Option<(u8, usize)> {
    let number = |digits: &[u8], radix: u32| {
        let digits = std::str::from_utf8(digits).ok().filter(|it| !it.starts_with('+'))?;
        let code = u32::from_str_radix(digits, radix).ok()?;
        Some(u8::try_from(code).ok().filter(u8::is_ascii).unwrap_or(b' '))
    };
    match text {
        [b'\\', b'u', rest @ ..] => Some((number(rest.get(..4)?, 16)?, 6)),
        [b'\\', b'x', rest @ ..] => Some((number(rest.get(..2)?, 16)?, 4)),
        [b'\\', b'n' | b'r' | b't' | b'b' | b'f', ..] => Some((b' ', 2)),
        [b'\\', c @ (b'"' | b'/' | b'\\'), ..] => Some((*c, 2)),
        [b'%', rest @ ..] => Some((number(rest.get(..2)?, 16)?, 3)),
        [b'&', rest @ ..] => {
            let end = rest.iter().take(MAX_ENTITY).position(|b| *b == b';')?;
            let byte = match rest.get(..end)? {
                [b'#', b'x' | b'X', digits @ ..] => number(digits, 16)?,
                [b'#', digits @ ..] => number(digits, 10)?,
                b"amp" => b'&',
                b"period" => b'.',
                b"plus" => b'+',
                b"sol" => b'/',
                b"lowbar" => b'_',
                b"hyphen" | b"dash" => b'-',
                b"percnt" => b'%',
                b"bsol" => b'\\',
                name if !name.is_empty() && name.iter().all(u8::is_ascii_alphabetic) => b' ',
                _ => return None,
            };
            Some((byte, end + 2))
        }
        _ => None,
    }
}

/// The longest name or number of an entity.
const MAX_ENTITY: usize = 24;

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    const SIGNATURE: &str = "CANARYsignature7f3a9_-Q";

    fn jwt() -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let claims = r#"{"aud":["user-auth.platform"],"user_id":"6d1c1de7","exp":1800000000}"#;
        format!("{}.{}.{SIGNATURE}", part(r#"{"alg":"HS256","typ":"JWT"}"#), part(claims))
    }

    /// Everything that repeats a token without being equal to it.
    fn forms(token: &str) -> Vec<String> {
        let hex: fn(u8) -> String = |byte| format!("%{byte:02X}");
        let broken = |by: &str| {
            let pieces: Vec<&str> = (0..token.len())
                .step_by(5)
                .filter_map(|at| token.get(at..token.len().min(at + 5)))
                .collect();
            pieces.join(by)
        };
        let each = |by: fn(u8) -> String| token.bytes().map(by).collect::<String>();
        let mut forms = vec![
            token.to_owned(),
            format!("Bearer {token}"),
            each(hex),
            each(hex).replace('%', "%25"),
            token.replace('.', "%2e").replace('-', "%2D"),
            token.replace('.', "&#46;").replace('-', "&#x2d;").replace('_', "&lowbar;"),
            each(|byte| format!("&amp;#{byte};")),
            each(|byte| format!("\\u{byte:04x}")),
            each(|byte| format!("\\\\u{byte:04x}")),
            each(|byte| format!("{byte:02x}")),
            token.to_uppercase(),
            token.get(..token.len() - 3).unwrap_or_default().to_owned(),
            token.get(token.len() - RUN - 2..).unwrap_or_default().to_owned(),
        ];
        for by in [
            "\n", " ", "\u{200b}", "\\n", "\\r\\n  ", "\\u200b", "&shy;", "\u{ad}", "\0", "\" + \"",
        ] {
            forms.push(broken(by));
        }
        for before in ["", "x", "x:", "user:"] {
            forms.push(STANDARD.encode(format!("{before}{token}")));
            forms.push(URL_SAFE_NO_PAD.encode(format!("{before}{token}\n")));
        }
        forms
    }

    #[test]
    fn a_token_is_found_in_every_form() {
        for (token, is_jwt) in [(jwt(), true), ("canary-5f8e0d2c71b94a36".to_owned(), false)] {
            let search = TokenSearch::new(&token, is_jwt);
            for form in forms(&token) {
                for padding in [0, CHUNK - 9] {
                    let text = format!("{{\"x\":\"{}{form}\"}}", ".a".repeat(padding / 2));
                    for parts in [Parts::All, Parts::Own] {
                        assert!(
                            search.finds(&token, parts, text.as_bytes()),
                            "{parts:?} {padding}: {form}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_tokens_share_is_not_the_token() {
        let token = jwt();
        let search = TokenSearch::new(&token, true);
        let (shared, _) = token.rsplit_once('.').unwrap_or_default();
        let (header, claims) = shared.split_once('.').unwrap_or_default();
        let finds = |parts, text: &str| search.finds(&token, parts, text.as_bytes());
        assert!(!finds(Parts::All, header) && !finds(Parts::Own, shared));
        assert!(finds(Parts::All, claims) && finds(Parts::All, SIGNATURE));
        for text in ["", "\\", "%", "&", "%zz", "&#;", "\\u00", "&nosuchthing", "%+1", "&#+65;"] {
            assert!(!finds(Parts::All, text), "{text}");
        }
        let other = SIGNATURE.get(..RUN - 1).unwrap_or_default();
        assert!(!finds(Parts::All, &format!("{other}!x{other}")));
    }

    #[test]
    fn a_short_token_is_found_whole() {
        let search = TokenSearch::new("s3cret.token", false);
        let finds = |text: &str| search.finds("s3cret.token", Parts::All, text.as_bytes());
        assert!(finds("a s3cret.token") && finds("s3cret%2etoken") && finds("s3cret\\u002etoken"));
        assert!(!finds("s3cret token") && !finds("s3cret.toke"));
    }
}
