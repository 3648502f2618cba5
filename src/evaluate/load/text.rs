//! A module's text as its author wrote it, as the interpreter sees it, and the way back.
//!
//! Owns byte-offset edits and every translation between offsets, lines and columns. Edits never
//! hold or remove a line break, so a line keeps its number and only columns shift.

use std::sync::OnceLock;

use crate::Position;

/// Replaces the bytes from `start` to `end` of the author's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
    /// Where the author's text has what `text` is a copy of, byte for byte.
    source: Option<usize>,
}

impl Edit {
    pub(super) fn new(start: usize, end: usize, text: impl Into<String>) -> Self {
        Self { start, end, text: text.into(), source: None }
    }

    /// Puts a copy of what stands at `source` in at `at`: positions in the copy are the original's.
    pub(super) fn copy(at: usize, text: impl Into<String>, source: usize) -> Self {
        Self { start: at, end: at, text: text.into(), source: Some(source) }
    }
}

/// One file's two texts.
#[derive(Debug)]
pub(super) struct FileText {
    path: String,
    author: String,
    /// Where each line of the author's text starts.
    lines: OnceLock<Vec<usize>>,
}

/// What the interpreter sees of a file.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// The edits, in the order in which they were applied.
    layers: Vec<Vec<Edit>>,
}

impl FileText {
    pub(super) fn new(path: &str, text: &str) -> Self {
        // A byte order mark is no part of the text; the parser takes it for a character.
        let author = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { path: path.to_owned(), author: author.to_owned(), lines: OnceLock::new() }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn author(&self) -> &str {
        &self.author
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| line_starts(&self.author))
    }

    /// The position of the bytes from `start` to `end`.
    pub(super) fn position(&self, start: usize, end: usize) -> Position {
        let start = floor(&self.author, start);
        let index = self.lines().partition_point(|at| *at <= start).saturating_sub(1);
        let line_start = self.lines().get(index).copied().unwrap_or(0);
        let rest = self.author.get(line_start..).unwrap_or("");
        let line = rest.split('\n').next().unwrap_or("").trim_end_matches('\r');
        let within = (start - line_start).min(line.len());
        let until = floor(line, end.saturating_sub(line_start).min(line.len())).max(within);
        let count = |text: Option<&str>| {
            u32::try_from(text.unwrap_or("").chars().count()).unwrap_or(u32::MAX)
        };
        Position {
            file: self.path.clone(),
            line: u32::try_from(index + 1).unwrap_or(u32::MAX),
            column: count(line.get(..within)).saturating_add(1),
            length: count(line.get(within..until)).max(1),
            text: line.to_owned(),
        }
    }

    /// The position of a line and a column as the parser counts them in the author's text.
    pub(super) fn position_at(&self, line: u32, column: u32) -> Position {
        let start = offset_of(&self.author, line, column);
        self.position(start, start + token_length(&self.author, start))
    }

    /// Applies edits, which must not overlap.
    pub(super) fn rewrite(&self, edits: Vec<Edit>) -> Rewritten {
        let (text, edits) = apply(&self.author, edits);
        Rewritten { text, layers: vec![edits] }
    }
}

impl Rewritten {
    /// Applies edits to the text that is there already.
    pub(super) fn again(&mut self, edits: Vec<Edit>) {
        if !edits.is_empty() {
            let (text, edits) = apply(&self.text, edits);
            self.text = text;
            self.layers.push(edits);
        }
    }

    /// The author's offset of an offset in the rewritten text; what an edit put in is where the
    /// edit starts.
    pub(super) fn author_offset(&self, offset: usize) -> usize {
        self.layers.iter().rev().fold(offset, |offset, edits| before(edits, offset))
    }

    /// The author's offset of a line and a column as the parser counts them.
    pub(super) fn author_offset_at(&self, line: u32, column: u32) -> usize {
        self.author_offset(offset_of(&self.text, line, column))
    }
}

/// The text after the edits, and those that were applied, in order.
fn apply(text: &str, mut edits: Vec<Edit>) -> (String, Vec<Edit>) {
    edits.sort_by_key(|edit| (edit.start, edit.end));
    let mut out = String::with_capacity(text.len() + edits.len() * 16);
    let mut at = 0;
    edits.retain(|edit| {
        let Some(kept) = text.get(at..edit.start) else { return false };
        out.push_str(kept);
        out.push_str(&edit.text);
        at = edit.end;
        true
    });
    out.push_str(text.get(at..).unwrap_or(""));
    (out, edits)
}

/// The offset before the edits of an offset after them.
fn before(edits: &[Edit], offset: usize) -> usize {
    // Bytes put in and bytes taken out before `offset`.
    let (mut put, mut taken) = (0, 0);
    for edit in edits {
        let start = edit.start + put - taken;
        if offset < start {
            break;
        }
        if offset < start + edit.text.len() {
            return edit.source.map_or(edit.start, |source| source + (offset - start));
        }
        put += edit.text.len();
        taken += edit.end - edit.start;
    }
    offset + taken - put
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// How many bytes the word or sign at `at` has.
pub(super) fn token_length(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or("");
    let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) }
}

/// The offset of a line and a column as the parser counts them: a tab is four columns, a quoted
/// string as many as it has bytes, any other character one.
pub(super) fn offset_of(text: &str, line: u32, column: u32) -> usize {
    let target = line.max(1);
    let (mut at_line, mut at_column) = (1_u32, 1_u32);
    // The quote of the string that we are in, and whether the last character was a backslash.
    let (mut quote, mut escaped, mut comment) = (None, false, false);
    for (offset, c) in text.char_indices() {
        if at_line == target && at_column >= column.max(1) {
            return offset;
        }
        if c == '\n' {
            if at_line == target {
                return offset;
            }
            at_line += 1;
            at_column = 1;
            comment = false;
            quote = quote.filter(|q| *q == '`');
            escaped = false;
            continue;
        }
        at_column += match (quote, c) {
            (Some('"'), c) => u32::try_from(c.len_utf8()).unwrap_or(1),
            (_, '\t') => 4,
            _ => 1,
        };
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(q) if c == q => quote = None,
            None if comment => {}
            None if c == '#' => comment = true,
            None if c == '"' || c == '`' => quote = Some(c),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::string_slice)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn positions_count_characters() {
        let file = FileText::new("a.rego", "\u{feff}package p\r\n\tx := \"é\" + y\r\n");
        let at = file.author().find('y').unwrap();
        let position = file.position(at, at + 1);
        assert_eq!((position.line, position.column, position.length), (2, 13, 1));
        assert_eq!(position.text, "\tx := \"é\" + y");
        // The parser counts 4 for the tab and 2 for `é`.
        assert_eq!(file.position_at(2, 17), position);
    }

    #[test]
    fn offsets_lead_back_to_the_author() {
        let file = FileText::new("a.rego", "ab.c + d");
        let edits = vec![Edit::new(7, 8, "data.long.d"), Edit::new(0, 2, "data.x")];
        let rewritten = file.rewrite(edits);
        assert_eq!(rewritten.text, "data.x.c + data.long.d");
        for (new, old) in [(0, 0), (5, 0), (6, 2), (7, 3), (9, 5), (11, 7), (15, 7), (22, 8)] {
            assert_eq!(rewritten.author_offset(new), old, "{new}");
        }
    }

    proptest! {
        #[test]
        fn edits_keep_lines_and_round_trip(
            text in "[a-z \n\té\"]{0,80}",
            spans in prop::collection::vec((0_usize..80, 0_usize..5, "[a-z]{0,8}"), 0..6),
        ) {
            let file = FileText::new("a", &text);
            let mut edits: Vec<Edit> = Vec::new();
            let mut at = 0;
            for (gap, length, word) in spans {
                let start = floor(&text, at + gap % 20);
                let end = floor(&text, start + length).max(start);
                if text[start..end].contains('\n') || start < at { continue; }
                edits.push(Edit::new(start, end, word));
                at = end + 1;
                if at >= text.len() { break; }
            }
            let kept: Vec<usize> = (0..text.len())
                .filter(|i| text.is_char_boundary(*i))
                .filter(|i| !edits.iter().any(|e| e.start <= *i && *i < e.end))
                .collect();
            let mut rewritten = file.rewrite(edits.clone());
            prop_assert_eq!(rewritten.text.matches('\n').count(), text.matches('\n').count());
            for old in kept {
                let shift: isize = edits.iter().filter(|e| e.end <= old)
                    .map(|e| isize::try_from(e.text.len()).unwrap() - isize::try_from(e.end - e.start).unwrap())
                    .sum();
                let new = old.checked_add_signed(shift).unwrap();
                prop_assert_eq!(rewritten.author_offset(new), old);
            }
            // A second layer on top leads back through both.
            let shift = 3;
            let first = rewritten.author_offset(0);
            rewritten.again(vec![Edit::new(0, 0, "abc")]);
            prop_assert_eq!(rewritten.author_offset(shift), first);
        }
    }
}
