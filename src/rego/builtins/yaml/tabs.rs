//! Misplaced tabs: like libyaml, go-yaml accepts none where a block token may begin.

use saphyr_parser::Span;

/// The structure of a text that contains tabs, as far as it has been parsed.
pub(super) struct Tabs {
    chars: Vec<char>,
    extents: Vec<Extent>,
    open: Vec<Open>,
}

/// A scalar or a flow collection, in character offsets.
struct Extent {
    start: usize,
    end: usize,
    /// For a plain scalar, the minimum column of its continuation lines.
    plain: Option<usize>,
}

enum Open {
    /// A flow collection, or any collection inside one, and its start.
    Flow(usize),
    /// A block collection, and its column.
    Block(usize),
}

impl Tabs {
    /// Returns `None` for a text without tabs.
    pub(super) fn new(text: &str) -> Option<Self> {
        text.contains('\t').then(|| Self {
            chars: text.chars().collect(),
            extents: Vec::new(),
            open: Vec::new(),
        })
    }

    pub(super) fn scalar(&mut self, span: Span, plain: bool) {
        let indent = match self.open.last() {
            Some(Open::Flow(_)) => return,
            Some(Open::Block(column)) => column + 1,
            None => 0,
        };
        let plain = plain.then_some(indent);
        self.extents.push(Extent { start: span.start.index(), end: span.end.index(), plain });
    }

    pub(super) fn start(&mut self, span: Span) {
        let start = span.start.index();
        // The start of a block collection has no text of its own.
        let bracket = !span.is_empty() && matches!(self.chars.get(start), Some('[' | '{'));
        let within = matches!(self.open.last(), Some(Open::Flow(_)));
        self.open.push(if bracket || within {
            Open::Flow(start)
        } else {
            Open::Block(span.start.col())
        });
    }

    pub(super) fn end(&mut self, span: Span) {
        if let Some(Open::Flow(start)) = self.open.pop()
            && !matches!(self.open.last(), Some(Open::Flow(_)))
        {
            self.extents.push(Extent { start, end: span.end.index(), plain: None });
        }
    }

    /// Returns the line, from 1, of the first misplaced tab.
    pub(super) fn misplaced(&self) -> Option<usize> {
        let blank_at = |at: usize| self.chars.get(at).is_none_or(char::is_ascii_whitespace);
        let next = |c: char, line, column| {
            if c == '\n' { (line + 1, 0) } else { (line, column + 1) }
        };
        let mut extents = self.extents.iter().peekable();
        let (mut at, mut line, mut column) = (0, 1, 0);
        // `begins`: a key may begin here. `plain`: the indentation of a plain scalar that may
        // continue here.
        let (mut begins, mut plain) = (true, None);
        while let Some(&c) = self.chars.get(at) {
            while extents
                .next_if(|extent| extent.start < at || extent.end == extent.start)
                .is_some()
            {}
            if let Some(extent) = extents.next_if(|extent| extent.start == at) {
                let mut inside = self.chars.get(at..extent.end).unwrap_or_default();
                if extent.plain.is_some() {
                    let blank = inside.iter().rev().take_while(|c| c.is_ascii_whitespace()).count();
                    inside = inside.get(..inside.len() - blank).unwrap_or_default();
                }
                for &c in inside {
                    (line, column) = next(c, line, column);
                }
                at += inside.len();
                (begins, plain) = (column == 0, extent.plain);
                if !inside.is_empty() {
                    continue;
                }
            }
            match c {
                '\n' => begins = true,
                '\t' if begins && plain.is_none_or(|indent| column < indent) => return Some(line),
                ' ' | '\t' | '\r' => {}
                '#' if at.checked_sub(1).is_none_or(blank_at) => {
                    let rest = self.chars.get(at..).unwrap_or_default();
                    at += rest.iter().take_while(|c| **c != '\n').count();
                    plain = None;
                    continue;
                }
                _ => {
                    begins = begins && matches!(c, '-' | '?' | ':') && blank_at(at + 1);
                    plain = None;
                }
            }
            at += 1;
            (line, column) = next(c, line, column);
        }
        None
    }
}
