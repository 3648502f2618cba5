//! Pieces of a statement's text that go, or are said again elsewhere.
//!
//! Owns how a piece that has line breaks is edited without touching them: an edit never puts in or
//! takes out one.

use super::text::Edit;

/// Replaces a piece, the text in its first line.
pub(super) fn opening(text: &str, piece: (usize, usize), put: &str, edits: &mut Vec<Edit>) {
    replace(text, piece, put, true, edits);
}

/// Replaces a piece between two operands in parentheses by a comma.
pub(super) fn separating(text: &str, piece: (usize, usize), edits: &mut Vec<Edit>) {
    replace(text, piece, "), (", true, edits);
}

/// Replaces a piece, the text in its last line, where what follows the piece stands.
pub(super) fn closing(text: &str, piece: (usize, usize), put: &str, edits: &mut Vec<Edit>) {
    replace(text, piece, put, false, edits);
}

fn replace(
    text: &str,
    (start, end): (usize, usize),
    put: &str,
    first: bool,
    edits: &mut Vec<Edit>,
) {
    let piece = text.get(start..end).unwrap_or("");
    let mut lines = Vec::new();
    let mut at = start;
    for line in piece.split('\n') {
        let ends = at + line.len();
        // A carriage return belongs to the line break, unless the piece ends with it.
        let kept = usize::from(ends < end && line.ends_with('\r'));
        lines.push((at, ends - kept));
        at = ends + 1;
    }
    let chosen = if first { 0 } else { lines.len() - 1 };
    for (index, (start, end)) in lines.into_iter().enumerate() {
        let text = if index == chosen { put.to_owned() } else { String::new() };
        if start < end || !text.is_empty() {
            edits.push(Edit { start, end, text });
        }
    }
}

/// The same Rego in one line: without comments, line breaks as spaces, raw strings over several
/// lines as plain ones.
pub(super) fn single_line(text: &str) -> String {
    if !text.contains(['\n', '\r', '#']) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => quoted(rest),
            '`' => rest.get(1..).and_then(|r| r.find('`')).map_or(rest.len(), |at| at + 2),
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(taken);
        match c {
            '#' => {}
            '`' if word.contains(['\n', '\r']) => {
                let inner = word.trim_matches('`');
                out.push_str(&serde_json::Value::from(inner).to_string());
            }
            '\n' | '\r' => out.push(' '),
            _ => out.push_str(word),
        }
        rest = after;
    }
    out
}

/// The length of the string that `text` starts with.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

    use super::single_line;

    #[test]
    fn one_line_keeps_the_meaning() {
        assert_eq!(single_line("f(a, # x\n  \"#\\\"#\")"), "f(a,    \"#\\\"#\")");
        assert_eq!(single_line("`a\nb` # c"), "\"a\\nb\" ");
        assert_eq!(single_line("`#`\r\n"), "`#`  ");
    }
}
