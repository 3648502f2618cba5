//! Text from elsewhere, made into one line that no reader of a report takes for anything else.
//!
//! Owns what every form has in common: no control character, nothing that is invisible or changes
//! the direction of text, no prefix that a CI system takes for a command, no text without end.
//! Each form adds the escaping of its own syntax.

use std::fmt::Write as _;

use crate::text::escape;

/// The number of characters of one text a report shows.
pub(super) const LIMIT: usize = 4_000;

/// One clean line.
pub(super) fn line(text: &str) -> String {
    let total = text.chars().count();
    let head: String = text.chars().take(LIMIT).collect();
    let mut out = String::with_capacity(head.len());
    for c in escape(&head).chars() {
        // `##[` and `##vso[` begin commands, wherever in a line they stand.
        if c == '#' && out.ends_with('#') {
            out.push('\\');
        }
        out.push(c);
    }
    if total > LIMIT {
        let _ = write!(out, "… ({} more characters)", total - LIMIT);
    }
    out
}

/// `1 input`, `2 inputs`.
pub(super) fn count(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// Milliseconds as people read them.
pub(super) fn milliseconds(number: u64) -> String {
    if number < 1_000 {
        return format!("{number} ms");
    }
    format!("{}.{} s", number / 1_000, number % 1_000 / 100)
}

/// Microseconds as people read them.
pub(super) fn microseconds(number: u64) -> String {
    if number < 1_000 { format!("{number} µs") } else { milliseconds(number / 1_000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_clean() {
        assert_eq!(line("a\r\nb\0\u{1b}[31m"), "a\\r\\nb\\u{0}\\u{1b}[31m");
        assert_eq!(line("x ##[error] ###vso[y]"), "x #\\#[error] #\\#\\#vso[y]");
        assert_eq!(
            line("\u{202e}\u{feff}\u{ffff}\u{2028}"),
            "\\u{202e}\\u{feff}\\u{ffff}\\u{2028}"
        );
        assert_eq!(line("plain — é 漢"), "plain — é 漢");
        let long = line(&"x".repeat(LIMIT + 7));
        assert!(long.ends_with("x… (7 more characters)"), "{}", &long[LIMIT - 5..]);
        assert_eq!(line(&"x".repeat(LIMIT)).len(), LIMIT);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!((count(1, "input"), count(0, "input")), ("1 input".into(), "0 inputs".into()));
        assert_eq!(milliseconds(1_234), "1.2 s");
        assert_eq!(microseconds(1_500), "1 ms");
        assert_eq!(microseconds(15), "15 µs");
    }
}
