//! Sanitizing of foreign text in reports to a single line.
//!
//! Owns the cleaning that all formats share: no control characters, nothing invisible or that
//! changes the direction of text, no prefix that a CI system takes for a command, and a bound on
//! the length. Each format adds the escaping of its own syntax.

use rego_platform_client::text::escape;

/// The maximum number of characters of a string in a report.
pub(super) const LIMIT: usize = 4_000;

/// Cleans a text to one line.
pub(super) fn line(text: &str) -> String {
    let total = text.chars().count();
    let head: String = text.chars().take(LIMIT).collect();
    let mut out = String::with_capacity(head.len());
    for c in escape(&head).chars() {
        // `##[` and `##vso[` begin commands anywhere in a line.
        if c == '#' && out.ends_with('#') {
            out.push('\\');
        }
        out.push(c);
    }
    out.extend((total > LIMIT).then(|| format!("… ({} more characters)", total - LIMIT)));
    out
}

/// Cleans a text to one line, and escapes it for elements and quoted attributes of HTML.
pub(super) fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// Formats milliseconds for people.
pub(super) fn milliseconds(number: u64) -> String {
    if number < 1_000 {
        return format!("{number} ms");
    }
    format!("{}.{} s", number / 1_000, number % 1_000 / 100)
}

/// Formats microseconds for people.
pub(super) fn microseconds(number: u64) -> String {
    if number < 1_000 { format!("{number} µs") } else { milliseconds(number / 1_000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cleaned_to_one_line() {
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
    fn numbers_are_formatted_for_people() {
        assert_eq!(milliseconds(1_234), "1.2 s");
        assert_eq!(microseconds(1_500), "1 ms");
        assert_eq!(microseconds(15), "15 µs");
    }
}
