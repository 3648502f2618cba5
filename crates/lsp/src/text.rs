//! Positions: lines and UTF-16 units in the protocol, bytes in a text.

use lsp_types::{Position, Range};

/// A text with the beginnings of its lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    pub content: String,
    /// The offset of the first byte of each line.
    starts: Vec<usize>,
}

impl Text {
    pub fn new(content: String) -> Self {
        let breaks = content.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { content, starts }
    }

    /// Returns a line without its break; empty behind the last.
    pub fn line(&self, number: usize) -> &str {
        let start = self.starts.get(number).copied().unwrap_or(self.content.len());
        let end = self.starts.get(number + 1).copied().unwrap_or(self.content.len());
        self.content.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    /// Returns the position of a byte.
    pub fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let before = self.content.get(start..offset).unwrap_or_default();
        Position::new(number(line), number(before.encode_utf16().count()))
    }

    pub fn range(&self, start: usize, end: usize) -> Range {
        Range::new(self.position(start), self.position(end))
    }

    /// Returns the range of the whole text.
    pub fn whole(&self) -> Range {
        self.range(0, self.content.len())
    }

    /// Returns the byte at a position; one behind the end of a line is its end.
    pub fn offset(&self, position: Position) -> usize {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let Some(start) = self.starts.get(line) else { return self.content.len() };
        let mut units = usize::try_from(position.character).unwrap_or(usize::MAX);
        let mut offset = *start;
        for c in self.line(line).chars() {
            if units < c.len_utf16() {
                break;
            }
            units -= c.len_utf16();
            offset += c.len_utf8();
        }
        offset
    }

    /// Returns the line's number in another state of this text; `None` for changed lines.
    pub fn moved(&self, line: usize, to: &Self) -> Option<usize> {
        let (own, other) = (self.starts.len(), to.starts.len());
        if (0..=line).all(|at| self.line(at) == to.line(at)) {
            return Some(line);
        }
        let behind = own.checked_sub(line)?;
        let is_same = (1..=behind)
            .all(|back| back <= other && self.line(own - back) == to.line(other - back));
        is_same.then(|| other - behind)
    }

    /// Returns the range of a finding: its line and column count from 1, in characters.
    pub fn range_of(&self, at: &rego_platform::Position) -> Range {
        let line = usize::try_from(at.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let units = |count: usize| -> u32 {
            number(self.line(line).chars().take(count).map(char::len_utf16).sum())
        };
        let start = usize::try_from(at.column.saturating_sub(1)).unwrap_or(usize::MAX);
        let length = usize::try_from(at.length.max(1)).unwrap_or(usize::MAX);
        let (start, end) = (units(start), units(start.saturating_add(length)));
        let line = at.line.saturating_sub(1);
        Range::new(Position::new(line, start), Position::new(line, end.max(start)))
    }
}

fn number(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_in_utf16() {
        let text = Text::new("a😀b\nä\r\n".to_owned());
        for (offset, line, character) in
            [(0, 0, 0), (1, 0, 1), (5, 0, 3), (6, 0, 4), (7, 1, 0), (9, 1, 1), (11, 2, 0)]
        {
            assert_eq!(text.position(offset), Position::new(line, character), "{offset}");
            assert_eq!(text.offset(Position::new(line, character)), offset, "{offset}");
        }
        assert_eq!(text.offset(Position::new(0, 2)), 1, "within a character");
        assert_eq!(text.offset(Position::new(0, 99)), 6, "behind the line");
        assert_eq!(text.offset(Position::new(9, 0)), 11, "behind the text");
        assert_eq!(text.line(1), "ä");
    }
}
