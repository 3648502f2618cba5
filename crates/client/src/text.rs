//! Escaping of foreign text, and suggestions for misspelled names.
//!
//! Owns escaping of control characters and of the line prefixes that CI systems take for commands,
//! and the search for the nearest known name.

use std::fmt::Write as _;
use std::path::Path;

pub use rego::internal::text::{FARTHEST, escape, nearest, shorten, size};
use rego::internal::text::{escape_where, is_invisible};

/// Like [`escape`], but keeps line breaks and tabs.
pub fn escape_lines(text: &str) -> String {
    escape_where(text, |c| (c.is_control() && c != '\n' && c != '\t') || is_invisible(c))
}

/// Like [`escape_lines`], and also breaks the prefixes that CI systems read commands from: `::` at
/// the start of a line, `##[`, `##vso[` and `##teamcity[` anywhere.
pub fn escape_for_log(text: &str) -> String {
    without_commands(&escape_lines(text))
}

/// Like [`escape_for_log`], but keeps invisible characters that don't reorder text, such as the joiners
/// within an emoji.
pub fn escape_raw(text: &str) -> String {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    without_commands(&escape_where(text, |c| is_control(c) || reorders(c)))
}

/// Returns `true` for the characters that embed, override and isolate text of another direction.
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

/// Returns `true` if CI systems interpret a text as a command anywhere in a line.
pub fn begins_command(text: &str) -> bool {
    // `##[`, `##vso[`, `##teamcity[`.
    text.strip_prefix("##").is_some_and(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('[')
    })
}

/// Returns a path as [`escape`] does a text.
pub fn escape_path(path: impl AsRef<Path>) -> String {
    escape(&path.as_ref().display().to_string())
}

/// Returns the hint `did you mean …?` with the nearest of the known names, or else another one.
pub fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> String {
    nearest(word, known).map_or_else(|| otherwise.into(), |near| format!("did you mean `{near}`?"))
}

/// Returns bytes as hexadecimal digits, in lowercase.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string doesn't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A writer that stores only the beginning of a text.
struct Beginning {
    text: String,
    enough: usize,
}

impl std::fmt::Write for Beginning {
    fn write_str(&mut self, more: &str) -> std::fmt::Result {
        self.text.push_str(more);
        if self.text.len() > self.enough { Err(std::fmt::Error) } else { Ok(()) }
    }
}

/// Returns the beginning of a value's text as [`shorten`] does, without formatting the rest.
pub fn beginning(value: &dyn std::fmt::Display, limit: usize) -> String {
    // A character has at most four bytes.
    let mut out = Beginning { text: String::new(), enough: 4 * limit };
    let _ = write!(out, "{value}");
    shorten(&out.text, limit)
}

/// Returns a number with its noun, such as `1 input` or `2 inputs`.
pub fn counted<N: std::fmt::Display + PartialEq + From<u8>>(number: N, one: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// Returns the known names that begin with `word_` or end in `_word`: `project_name` for `project`.
pub fn with_part<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = &'a str> {
    known.into_iter().filter(move |name| {
        let begins = name.strip_prefix(word).is_some_and(|rest| rest.starts_with('_'));
        !word.is_empty() && (begins || ends_in(name, word))
    })
}

/// Returns `true` if a name ends in `_word`, as `overall_status` does for `status`.
pub fn ends_in(name: &str, word: &str) -> bool {
    name.strip_suffix(word).is_some_and(|rest| rest.ends_with('_'))
}

/// Returns the reference to a path below `data`, such as `data.a["b c"]`.
pub fn data_reference(path: &[impl AsRef<str>]) -> String {
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

/// Converts `created_at` to `createdAt` and the other way round.
pub fn other_casing(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut upper = false;
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            out.push(c.to_ascii_uppercase());
        } else if c.is_ascii_uppercase() {
            out.push('_');
            out.push(c.to_ascii_lowercase());
        } else {
            out.push(c);
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
