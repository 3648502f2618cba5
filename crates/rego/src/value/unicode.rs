//! Character properties in Unicode 15, OPA's version: which characters are printable, and their
//! other case; and the replacement of bytes that aren't UTF-8.

/// Ranges of characters that were added after Unicode 15.
#[rustfmt::skip]
const AFTER_UNICODE_15: &[(u32, u32)] = &[
    (0x88f, 0x88f), (0x897, 0x897), (0xc5c, 0xc5c), (0xcdc, 0xcdc), (0x1acf, 0x1add), (0x1ae0, 0x1aeb),
    (0x1b4e, 0x1b4f), (0x1b7f, 0x1b7f), (0x1c89, 0x1c8a), (0x20c1, 0x20c1), (0x2427, 0x2429), (0x2b96, 0x2b96),
    (0x2ffc, 0x2fff), (0x31e4, 0x31e5), (0x31ef, 0x31ef), (0xa7cb, 0xa7cf), (0xa7d2, 0xa7d2), (0xa7d4, 0xa7d4),
    (0xa7da, 0xa7dc), (0xa7f1, 0xa7f1), (0xfbc3, 0xfbd2), (0xfd90, 0xfd91), (0xfdc8, 0xfdce), (0x105c0, 0x105f3),
    (0x10940, 0x10959), (0x10d40, 0x10d65), (0x10d69, 0x10d85), (0x10d8e, 0x10d8f), (0x10ec2, 0x10ec7), (0x10ed0, 0x10ed8),
    (0x10efa, 0x10efc), (0x11380, 0x11389), (0x1138b, 0x1138b), (0x1138e, 0x1138e), (0x11390, 0x113b5), (0x113b7, 0x113c0),
    (0x113c2, 0x113c2), (0x113c5, 0x113c5), (0x113c7, 0x113ca), (0x113cc, 0x113d5), (0x113d7, 0x113d8), (0x113e1, 0x113e2),
    (0x116d0, 0x116e3), (0x11b60, 0x11b67), (0x11bc0, 0x11be1), (0x11bf0, 0x11bf9), (0x11db0, 0x11ddb), (0x11de0, 0x11de9),
    (0x11f5a, 0x11f5a), (0x13460, 0x143fa), (0x16100, 0x16139), (0x16d40, 0x16d79), (0x16ea0, 0x16eb8), (0x16ebb, 0x16ed3),
    (0x16ff2, 0x16ff6), (0x187f8, 0x187ff), (0x18cff, 0x18cff), (0x18d09, 0x18d1e), (0x18d80, 0x18df2), (0x1cc00, 0x1ccfc),
    (0x1cd00, 0x1ceb3), (0x1ceba, 0x1ced0), (0x1cee0, 0x1cef0), (0x1e5d0, 0x1e5fa), (0x1e5ff, 0x1e5ff), (0x1e6c0, 0x1e6de),
    (0x1e6e0, 0x1e6f5), (0x1e6fe, 0x1e6ff), (0x1f6d8, 0x1f6d8), (0x1f777, 0x1f77a), (0x1f8b2, 0x1f8bb), (0x1f8c0, 0x1f8c1),
    (0x1f8d0, 0x1f8d8), (0x1fa54, 0x1fa57), (0x1fa89, 0x1fa8a), (0x1fa8e, 0x1fa8f), (0x1fabe, 0x1fabe), (0x1fac6, 0x1fac6),
    (0x1fac8, 0x1fac8), (0x1facd, 0x1facd), (0x1fadc, 0x1fadc), (0x1fadf, 0x1fadf), (0x1fae9, 0x1faea), (0x1faef, 0x1faef),
    (0x1fbcb, 0x1fbef), (0x1fbfa, 0x1fbfa), (0x2b73a, 0x2b73f), (0x2cea2, 0x2cead), (0x2ebf0, 0x2ee5d), (0x323b0, 0x33479),
];

fn is_after_unicode_15(c: char) -> bool {
    let code = u32::from(c);
    code > 0x880
        && AFTER_UNICODE_15
            .binary_search_by(|(first, last)| {
                if *last < code {
                    std::cmp::Ordering::Less
                } else if *first > code {
                    std::cmp::Ordering::Greater
                } else {
                    std::cmp::Ordering::Equal
                }
            })
            .is_ok()
}

/// Returns `true` for letters, marks, numbers, punctuation, symbols and the ASCII space.
pub(crate) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    if c.is_whitespace() || is_after_unicode_15(c) {
        return false;
    }
    // `str::escape_debug` leaves printable characters alone, but a mark only if it follows another
    // character.
    let mut text = [0; 5];
    let Some((first, rest)) = text.split_first_mut() else { return false };
    *first = b'a';
    let length = c.encode_utf8(rest).len() + 1;
    let text = text.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.is_some_and(|text| text.escape_debug().count() == 2)
}

/// Returns the lower case of a character, if that is a single character.
pub(crate) fn lower(c: char) -> char {
    match c {
        c if c.is_ascii() => c.to_ascii_lowercase(),
        'İ' => 'i',
        c => single(c, c.to_lowercase()),
    }
}

/// Returns the upper case of a character, if that is a single character.
pub(crate) fn upper(c: char) -> char {
    match c {
        c if c.is_ascii() => c.to_ascii_uppercase(),
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
            char::from_u32(u32::from(c) + 8).unwrap_or(c)
        }
        '\u{1fb3}' => '\u{1fbc}',
        '\u{1fc3}' => '\u{1fcc}',
        '\u{1ff3}' => '\u{1ffc}',
        c => single(c, c.to_uppercase()),
    }
}

/// Returns the only character in `mapped`, or `c` if there are several, or if either is newer than
/// Unicode 15.
fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) if !is_after_unicode_15(c) && !is_after_unicode_15(one) => one,
        _ => c,
    }
}

/// Decodes UTF-8 as Go does: each byte that isn't part of valid UTF-8 becomes its own U+FFFD.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::lossy;

    #[test]
    fn invalid_utf8_is_replaced_byte_by_byte() {
        assert_eq!(lossy(b"a\xf0\x9f\x98b"), "a\u{fffd}\u{fffd}\u{fffd}b");
    }
}
