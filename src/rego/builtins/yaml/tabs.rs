//! Where tabs may stand: go-yaml, like libyaml, takes none where a token of a block may begin.

use saphyr_parser::Span;

/// What the reader made sense of in a text that has tabs.
pub(super) struct Tabs {
    chars: Vec<char>,
    parts: Vec<Part>,
    open: Vec<Open>,
}

/// A scalar or a flow collection, in characters.
struct Part {
    start: usize,
    end: usize,
    /// Of a plain scalar: the column that its further lines may begin at.
    plain: Option<usize>,
}

enum Open {
    /// A collection in brackets, or within one: where it starts.
    Flow(usize),
    /// The column of a collection of a block.
    Block(usize),
}

impl Tabs {
    /// Nothing for a text without tabs.
    pub(super) fn new(text: &str) -> Option<Self> {
        text.contains('\t').then(|| Self {
            chars: text.chars().collect(),
            parts: Vec::new(),
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
        self.parts.push(Part { start: span.start.index(), end: span.end.index(), plain });
    }

    pub(super) fn start(&mut self, span: Span) {
        let start = span.start.index();
        // The start of a block has no text of its own.
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
            self.parts.push(Part { start, end: span.end.index(), plain: None });
        }
    }

    /// The line, from 1, of the first tab that stands where none may.
    pub(super) fn misplaced(&self) -> Option<usize> {
        let blank_at = |at: usize| self.chars.get(at).is_none_or(char::is_ascii_whitespace);
        let next = |c: char, line, column| {
            if c == '\n' { (line + 1, 0) } else { (line, column + 1) }
        };
        let mut parts = self.parts.iter().peekable();
        let (mut at, mut line, mut column) = (0, 1, 0);
        // Whether a key may begin here, and the indentation of the plain scalar that may go on here.
        let (mut begins, mut plain) = (true, None);
        while let Some(&c) = self.chars.get(at) {
            while parts.next_if(|part| part.start < at || part.end == part.start).is_some() {}
            if let Some(part) = parts.next_if(|part| part.start == at) {
                let mut inside = self.chars.get(at..part.end).unwrap_or_default();
                if part.plain.is_some() {
                    let blank = inside.iter().rev().take_while(|c| c.is_ascii_whitespace()).count();
                    inside = inside.get(..inside.len() - blank).unwrap_or_default();
                }
                for &c in inside {
                    (line, column) = next(c, line, column);
                }
                at += inside.len();
                (begins, plain) = (column == 0, part.plain);
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
