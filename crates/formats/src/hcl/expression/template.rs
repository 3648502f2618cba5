//! Templates: quoted strings and here-documents, with expressions in `${…}` and directives in `%{…}`.

use unicode_normalization::UnicodeNormalization as _;

use super::super::scanner::{Scanner, Span};
use super::{Expression, expression, loop_names};
use crate::problem::Problem;

/// A template.
pub(in super::super) struct Template(pub(in super::super) Vec<Piece>);

/// A part of a template.
pub(in super::super) enum Piece {
    /// Text; in a here-document, within a line.
    Text(String),
    Value(Expression),
    If(Span),
    Else,
    EndIf,
    /// The names and the collection.
    For(String, Span),
    EndFor,
}

impl Template {
    /// Returns the expression of a template that consists of one interpolation.
    pub fn only(&self) -> Option<&Expression> {
        if let [Piece::Value(own)] = self.0.as_slice() { Some(own) } else { None }
    }

    /// Returns `true` if it is nothing but text.
    pub fn is_literal(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }
}

/// Reads the rest of a quoted label.
pub(in super::super) fn label(scanner: &mut Scanner<'_>) -> Result<String, Problem> {
    let mut label = String::new();
    while !scanner.rest().starts_with('"') {
        match character(scanner)? {
            Some(own) => label.push_str(&own),
            None => return Err(scanner.invalid("unexpected expression in a label")),
        }
    }
    scanner.at += 1;
    Ok(label)
}

/// Reads the rest of a quoted string.
pub(in super::super) fn quoted(scanner: &mut Scanner<'_>) -> Result<Template, Problem> {
    let mut pieces = Pieces::default();
    let mut text = String::new();
    loop {
        if scanner.rest().starts_with('"') {
            scanner.at += 1;
            pieces.text(text);
            return pieces.finish(scanner);
        }
        match character(scanner)? {
            Some(own) => text.push_str(&own),
            None => {
                pieces.text(std::mem::take(&mut text));
                pieces.sequence(scanner)?;
            }
        }
    }
}

/// Reads a character of a quoted string; `None` before a sequence.
fn character(scanner: &mut Scanner<'_>) -> Result<Option<String>, Problem> {
    let rest = scanner.rest();
    let (own, length) = match rest.chars().next() {
        _ if rest.starts_with("$${") => ("${".to_owned(), 3),
        _ if rest.starts_with("%%{") => ("%{".to_owned(), 3),
        _ if rest.starts_with("${") || rest.starts_with("%{") => return Ok(None),
        Some('\\') => {
            let mut chars = rest.chars().skip(1);
            let digits = |digits: usize| {
                let text = rest
                    .get(2..2 + digits)
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
                let own = char::from_u32(u32::from_str_radix(text, 16).ok()?)?;
                Some((own, 2 + digits))
            };
            let found = match chars.next() {
                Some('n') => Some(('\n', 2)),
                Some('r') => Some(('\r', 2)),
                Some('t') => Some(('\t', 2)),
                Some(own @ ('"' | '\\')) => Some((own, 2)),
                Some('u') => digits(4),
                Some('U') => digits(8),
                _ => None,
            };
            let (own, length) = found.ok_or_else(|| scanner.invalid("invalid escape sequence"))?;
            (own.to_string(), length)
        }
        None | Some('\n' | '\r') => return Err(scanner.expected("the closing quote of a string")),
        Some(own) => (own.to_string(), own.len_utf8()),
    };
    scanner.at += length;
    Ok(Some(own))
}

/// Reads the lines of a here-document, to the one with its marker.
pub(in super::super) fn document(
    scanner: &mut Scanner<'_>,
    (marker, is_flush): (&str, bool),
) -> Result<Template, Problem> {
    let mut pieces = Pieces::default();
    let mut begins_line = true;
    loop {
        let rest = scanner.rest();
        let Some(end) = rest.find('\n') else {
            return Err(scanner.invalid(&format!("unterminated here-document `{marker}`")));
        };
        let line = rest.get(..=end).unwrap_or_default();
        if begins_line && line.trim() == marker {
            scanner.at += line.trim_end_matches(['\r', '\n']).len();
            if is_flush {
                pieces.dedent();
            }
            return pieces.finish(scanner);
        }
        let mut length = 0;
        while let Some(at) = line.get(length..).and_then(|own| own.find(['$', '%'])) {
            let from = line.get(length + at..).unwrap_or_default();
            if from.starts_with("${") || from.starts_with("%{") {
                length += at;
                break;
            }
            length += at + if from.starts_with("$${") || from.starts_with("%%{") { 3 } else { 1 };
        }
        let is_sequence = line.get(length..).is_some_and(|own| own.starts_with(['$', '%']));
        let text = if is_sequence { line.get(..length).unwrap_or_default() } else { line };
        pieces.text(text.replace("$${", "${").replace("%%{", "%{"));
        scanner.at += text.len();
        begins_line = !is_sequence;
        if is_sequence {
            pieces.sequence(scanner)?;
        }
    }
}

#[derive(Default)]
struct Pieces {
    all: Vec<Piece>,
    /// `true` if `~` is before the next piece.
    trims: bool,
}

impl Pieces {
    fn text(&mut self, text: String) {
        if !text.is_empty() {
            let trims = std::mem::take(&mut self.trims);
            self.all.push(Piece::Text(if trims { text.trim_start().to_owned() } else { text }));
        }
    }

    /// Reads `${…}` or `%{…}`.
    fn sequence(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Problem> {
        let is_value = scanner.rest().starts_with('$');
        scanner.at += 2;
        self.trims = false;
        if scanner.rest().starts_with('~') {
            scanner.at += 1;
            if let Some(Piece::Text(text)) = self.all.last_mut() {
                text.truncate(text.trim_end().len());
            }
        }
        let piece = scanner.within(false, |scanner| {
            let piece =
                if is_value { Piece::Value(expression(scanner)?) } else { directive(scanner)? };
            self.trims = scanner.eat("~}", &[])?;
            if !self.trims {
                scanner.expect("}", &[])?;
            }
            Ok(piece)
        })?;
        self.all.push(piece);
        Ok(())
    }

    /// Removes from the lines as many blanks as the one has that begins with the fewest; a blank line stays.
    fn dedent(&mut self) {
        let mut begins_line = true;
        let mut fewest = usize::MAX;
        let mut indented = Vec::new();
        for piece in &mut self.all {
            let begins = std::mem::take(&mut begins_line);
            match piece {
                Piece::Text(text) => {
                    begins_line = text.ends_with('\n');
                    if begins && !(begins_line && text.trim().is_empty()) {
                        let blanks = text.chars().take_while(|c| c.is_whitespace()).count();
                        fewest = fewest.min(blanks);
                        indented.push(text);
                    }
                }
                _ if begins => fewest = 0,
                _ => {}
            }
        }
        for text in indented {
            *text = text.chars().skip(fewest).collect();
        }
    }

    /// Checks that directives are balanced, and joins texts, which are in Unicode's composed form.
    fn finish(self, scanner: &Scanner<'_>) -> Result<Template, Problem> {
        let mut open = Vec::new();
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.all.len());
        for piece in self.all {
            let is_balanced = match &piece {
                Piece::If(_) => {
                    open.push("if");
                    true
                }
                Piece::For(..) => {
                    open.push("for");
                    true
                }
                Piece::Else => {
                    open.pop() == Some("if") && {
                        open.push("else");
                        true
                    }
                }
                Piece::EndIf => matches!(open.pop(), Some("if" | "else")),
                Piece::EndFor => open.pop() == Some("for"),
                Piece::Text(_) | Piece::Value(_) => true,
            };
            if !is_balanced {
                return Err(scanner.invalid("mismatched directives of a template"));
            }
            match (pieces.last_mut(), piece) {
                (Some(Piece::Text(text)), Piece::Text(more)) => text.push_str(&more),
                (_, piece) => pieces.push(piece),
            }
        }
        if !open.is_empty() {
            return Err(scanner.invalid("unterminated directive of a template"));
        }
        for piece in &mut pieces {
            if let Piece::Text(text) = piece
                && !text.is_ascii()
            {
                *text = text.nfc().collect();
            }
        }
        Ok(Template(pieces))
    }
}

fn directive(scanner: &mut Scanner<'_>) -> Result<Piece, Problem> {
    Ok(match scanner.name()? {
        Some("if") => Piece::If(expression(scanner)?.span),
        Some("else") => Piece::Else,
        Some("endif") => Piece::EndIf,
        Some("for") => {
            let (first, second) = loop_names(scanner)?;
            let names = second.map_or(first.to_owned(), |second| format!("{first}, {second}"));
            Piece::For(names, expression(scanner)?.span)
        }
        Some("endfor") => Piece::EndFor,
        _ => return Err(scanner.expected("`if`, `for`, `else`, `endif` or `endfor`")),
    })
}
