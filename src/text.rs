//! Escaping of text from elsewhere, and near misses of names.
//!
//! Owns escaping of control characters and of the line prefixes that CI systems take for commands,
//! and the search for the nearest known name.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Escapes control characters (including line breaks and tabs), characters that change the
/// direction of text, and invisible ones, so that text from a service or a policy stays on its line
/// and can't look like something else.
pub fn escape(text: &str) -> String {
    escape_where(text, |c| c.is_control() || is_invisible(c))
}

/// Like [`escape`], but keeps line breaks and tabs.
pub fn escape_lines(text: &str) -> String {
    escape_where(text, |c| (c.is_control() && c != '\n' && c != '\t') || is_invisible(c))
}

/// Like [`escape_lines`], and also breaks the prefixes that CI systems read commands from: `::` at
/// the start of a line, `##[`, `##vso[` and `##teamcity[` anywhere.
pub fn escape_for_log(text: &str) -> String {
    without_commands(&escape_lines(text))
}

/// Like [`escape_for_log`], but keeps invisible characters that leave the text around them in its
/// order, such as the joiners within an emoji.
#[cfg(feature = "cli")]
pub(crate) fn escape_raw(text: &str) -> String {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    without_commands(&escape_where(text, |c| is_control(c) || reorders(c)))
}

/// Returns `true` for the characters that embed, override and isolate text of another direction.
#[cfg(feature = "cli")]
fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Breaks the prefixes that CI systems read commands from.
fn without_commands(escaped: &str) -> String {
    let mut out = String::with_capacity(escaped.len());
    for (index, line) in escaped.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let start = line.len() - line.trim_start().len();
        let prefixed = line[start..].starts_with("::");
        for (at, c) in line.char_indices() {
            if prefixed && at == start {
                out.push('\\');
            }
            out.push(c);
            if begins_command(&line[at..]) {
                out.push('\\');
            }
        }
    }
    out
}

/// Returns `true` if CI systems take a text for a command, wherever in a line it is.
pub fn begins_command(text: &str) -> bool {
    // `##[`, `##vso[`, `##teamcity[`.
    text.strip_prefix("##").is_some_and(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('[')
    })
}

/// Returns `true` for characters without a glyph or not allowed in XML: of no width, or with an
/// effect on the text around them. Two names that differ only in them look alike, and text around
/// them can be displayed in another order.
fn is_invisible(c: char) -> bool {
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

fn escape_where(text: &str, bad: impl Fn(char) -> bool) -> String {
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

/// Returns bytes as hexadecimal digits, in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string doesn't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns `true` if two texts have the same letters and digits, in either case: they differ at most in
/// what separates words, in space around them, and in invisible characters.
pub(crate) fn same_letters(a: &str, b: &str) -> bool {
    fn of_any(text: &str) -> impl Iterator<Item = char> + '_ {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
    }
    fn of_ascii(text: &str) -> impl Iterator<Item = u8> + '_ {
        text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())
    }
    // Names and values of the service are compared by the hundred thousand.
    if a.is_ascii() && b.is_ascii() { of_ascii(a).eq(of_ascii(b)) } else { of_any(a).eq(of_any(b)) }
}

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

/// Returns a glob in which `[^a]` means the same as `[!a]`: everything but `a`, as in shells.
#[cfg(feature = "cli")]
pub(crate) fn glob(pattern: &str) -> String {
    pattern.replace("[^", "[!")
}

/// Returns a number of bytes in the largest binary unit that states it exactly.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let exact =
        units.iter().find(|(shift, _)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift));
    match exact {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

/// Returns the known names that begin with `word_` or end in `_word`: `project_name` for `project`.
pub(crate) fn with_part<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = &'a str> {
    known.into_iter().filter(move |name| {
        let begins = name.strip_prefix(word).is_some_and(|rest| rest.starts_with('_'));
        !word.is_empty() && (begins || ends_in(name, word))
    })
}

/// Returns `true` if a name ends in `_word`, as `overall_status` does for `status`.
pub(crate) fn ends_in(name: &str, word: &str) -> bool {
    name.strip_suffix(word).is_some_and(|rest| rest.ends_with('_'))
}

/// Returns the reference to a path below `data`, such as `data.a["b c"]`.
pub(crate) fn data_reference(path: &[impl AsRef<str>]) -> String {
    let mut out = String::from("data");
    for key in path {
        let key = key.as_ref();
        let plain = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if plain {
            out.push('.');
            out.push_str(key);
        } else {
            let quoted = serde_json::to_string(key).unwrap_or_default();
            out.push('[');
            out.push_str(&quoted);
            out.push(']');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_commands_are_escaped() {
        assert_eq!(escape("a\nb\u{1b}[0m\u{202e}"), "a\\nb\\u{1b}[0m\\u{202e}");
        assert_eq!(escape_for_log("ok\n ::error::x\n##[group]"), "ok\n \\::error::x\n#\\#[group]");
        let azure = escape_for_log("x ###vso[task.complete result=Succeeded;] ##VSO[x] ## heading");
        assert_eq!(azure, "x ##\\#vso[task.complete result=Succeeded;] #\\#VSO[x] ## heading");
        let teamcity = escape_for_log("##teamcity[testFailed name='x'] ## [x]");
        assert_eq!(teamcity, "#\\#teamcity[testFailed name='x'] ## [x]");
        assert_eq!(escape("a\u{feff}\u{2028}\u{ffff}"), "a\\u{feff}\\u{2028}\\u{ffff}");
        assert_eq!(shorten("abcdef", 3), "abc…");
    }

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
    fn invisible_characters_are_escaped() {
        for unseen in [
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{206f}',
            '\u{feff}',
            '\u{e0041}',
            '\u{e0100}',
        ] {
            let shown = format!("a\\u{{{:x}}}b", u32::from(unseen));
            assert_eq!(escape(&format!("a{unseen}b")), shown);
            assert_eq!(escape_for_log(&format!("a{unseen}b")), shown);
        }
        for seen in ["é", "日本", "😀", "⚠\u{fe0f}", "a\u{301}", "\u{a0}"] {
            assert_eq!(escape(seen), seen);
        }
    }

    #[cfg(feature = "cli")]
    #[test]
    fn raw_text_keeps_the_characters_that_change_nothing_around_them() {
        for kept in
            ["\u{200d}", "\u{200b}", "\u{ad}", "\u{2028}", "\u{feff}", "\u{e0001}", "\n", "\t", "é"]
        {
            assert_eq!(escape_raw(&format!("a{kept}b")), format!("a{kept}b"));
        }
        for (text, escaped) in [
            ("\r", "\\r"),
            ("\u{0}", "\\u{0}"),
            ("\u{1b}[1m", "\\u{1b}[1m"),
            ("\u{7f}", "\\u{7f}"),
            ("\u{80}\u{9f}", "\\u{80}\\u{9f}"),
            ("\u{202a}\u{202e}", "\\u{202a}\\u{202e}"),
            ("\u{2066}\u{2069}", "\\u{2066}\\u{2069}"),
            ("x\n ::error::", "x\n \\::error::"),
            ("##[x]", "#\\#[x]"),
        ] {
            assert_eq!(escape_raw(text), escaped, "{text:?}");
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

    #[test]
    fn names_are_found_by_their_first_or_last_part() {
        let known = ["project_name", "project_version_name", "kind", "limit"];
        let with = |word| with_part(word, known).collect::<Vec<_>>();
        assert_eq!(with("project"), ["project_name", "project_version_name"]);
        assert_eq!(with("version_name"), ["project_version_name"]);
        assert_eq!(with("proj"), [""; 0]);
        assert_eq!(with("kind"), [""; 0]);
        assert_eq!(with(""), [""; 0]);
    }
}
