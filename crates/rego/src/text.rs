//! Text in messages: escaping of foreign text, suggestions for misspelled names, sizes.

use std::collections::BTreeSet;

/// Escapes control characters (including line breaks and tabs), characters that change the
/// direction of text, and invisible ones, so that text from a service or a policy stays on its line
/// and can't look like something else.
pub fn escape(text: &str) -> String {
    escape_where(text, |c| c.is_control() || is_invisible(c))
}

/// Returns `true` for characters without a glyph or not allowed in XML: of no width, or with an
/// effect on the text around them. Two names that differ only in them look alike, and text around
/// them can be displayed in another order.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        // Soft hyphen, joiners, fillers, marks and the separators of lines and paragraphs.
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fdd0}'..='\u{fdef}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        // Direction.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
    ) || u32::from(c) & 0xfffe == 0xfffe
}

/// Escapes the characters for which `bad` returns `true`.
pub fn escape_where(text: &str, bad: impl Fn(char) -> bool) -> String {
    // Most text is printable ASCII, which is never escaped.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(&bad) {
        let last = part.chars().next_back().filter(|c| bad(*c));
        out.push_str(&part[..part.len() - last.map_or(0, char::len_utf8)]);
        out.extend(last.into_iter().flat_map(char::escape_default));
    }
    out
}

/// Returns at most `limit` characters of `text`, escaped, with `…` if something was left out.
pub fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => escape(&text[..end]) + "…",
        None => escape(text),
    }
}

/// The largest number of wrong letters in a mistyped name; a name further away is another one.
pub const FARTHEST: usize = 2;

/// Returns the known name that is nearer to `word` than all others, if it is near enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance takes memory in the product of the lengths; no name is this long.
    if word.len() > 200 {
        return None;
    }
    let word = word.to_lowercase();
    let near: BTreeSet<_> = known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&word, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= (1 + name.chars().count() / 3).min(FARTHEST))
        .collect();
    let mut near = near.into_iter();
    let (distance, first) = near.next()?;
    near.all(|(other, _)| other > distance).then_some(first)
}

/// Returns a number of bytes in the largest binary unit that states it exactly.
pub fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let exact =
        units.iter().find(|(shift, _)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift));
    match exact {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_largest_exact_unit() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1000, "1000 bytes"),
            (1024, "1 KiB"),
            (1025, "1025 bytes"),
            (256 << 20, "256 MiB"),
            (4 << 30, "4 GiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn the_nearest_name_is_found_if_it_is_near_enough() {
        let known = ["discover", "evidence", "download_artifact"];
        assert_eq!(nearest("discoverr", known), Some("discover"));
        assert_eq!(nearest("Discover", known), Some("discover"));
        assert_eq!(nearest("zzz", known), None);
        assert_eq!(nearest("is_oka", ["is_ok", "is_okay"]), None);
        assert_eq!(nearest("is_okk", ["is_ok", "is_ok"]), Some("is_ok"));
    }
}
