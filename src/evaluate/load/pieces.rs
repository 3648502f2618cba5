//! Pieces of a statement's text that go, or are said again elsewhere.
//!
//! Owns how a piece that has line breaks is edited without touching them: an edit never puts in or
//! takes out one. It knows where the parser's spans end elsewhere than their text does.

use regorus::unstable as ast;

use ast::{Expr, Span};

use super::text::Edit;

/// The bytes of a span. A span that starts or ends with a string leaves out its quotes.
pub(super) fn range(span: &Span) -> (usize, usize) {
    let text = span.source.get_contents().as_bytes();
    let quote = |at: Option<usize>| {
        at.and_then(|at| text.get(at)).is_some_and(|byte| matches!(byte, b'"' | b'`'))
    };
    let (start, end) = (span.start as usize, span.end as usize);
    let start = if quote(start.checked_sub(1)) { start - 1 } else { start };
    (start, if quote(Some(end)) { end + 1 } else { end })
}

/// The bytes of an expression, without parentheses around it.
pub(super) fn extent(expr: &Expr) -> (usize, usize) {
    let (start, end) = range(expr.span());
    let text = expr.span().source.get_contents();
    match expr {
        // The span of an object starts at its last key.
        Expr::Object { fields, .. } => match fields.first() {
            Some((_, key, _)) => (brace(text, extent(key).0).unwrap_or(start), end),
            None => (start, end),
        },
        // The span of `set()` takes in what follows it.
        Expr::Set { items, .. } if items.is_empty() => {
            let close = text.get(start..).and_then(|rest| rest.find(')'));
            (start, close.map_or(end, |at| start + at + 1))
        }
        _ => (start, end),
    }
}

/// Where the brace stands that opens what begins at `first`: before it are white space, comments
/// (in which there may be braces) and parentheses alone.
fn brace(text: &str, first: usize) -> Option<usize> {
    let before = text.get(..first)?;
    let mut found = None;
    for (at, _) in before.rmatch_indices('{') {
        let between = before.get(at + 1..)?;
        if single_line(between).chars().all(|c| c.is_whitespace() || c == '(') {
            found = Some(at);
        } else if !before.get(..at)?.rsplit('\n').next()?.contains('#') {
            break;
        }
    }
    found
}

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
            edits.push(Edit::new(start, end, text));
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
