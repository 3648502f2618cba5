//! The places of a policy's parts in OPA's report of coverage, where they aren't the spans.
//!
//! Owns these differences. OPA's place of a term within parentheses begins after them, and is as long
//! as the text with them; that of a number is its first token; the body of an `else` without braces
//! has the place of the whole branch; and a call in a template string has none.

use std::collections::HashMap;

use crate::rego::Source;
use crate::rego::syntax::place;
use crate::rego::syntax::tree::{
    Expr, ExprKind, Module, Rule, Span, TemplatePart, Term, TermKind, Version,
};
use crate::rego::syntax::visit::{Visit, walk_expr, walk_exprs, walk_term, walk_terms};
use crate::rego::syntax::{BaseVersion, ParseOptions, parse_module};

/// The range of a rule's head or of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Range {
    /// The place of its first character.
    pub start: Place,
    /// The place after its last character.
    pub end: Place,
}

/// A line and column in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Place {
    /// The line, from 1.
    pub row: u32,
    /// The column, from 1.
    pub col: u32,
}

/// The places of a file's parts.
pub(super) struct Places<'a> {
    source: &'a Source,
    /// The places that aren't the spans; `None` for a part without a place.
    other: HashMap<Span, Option<Range>>,
}

impl<'a> Places<'a> {
    /// Finds the places in a module's text.
    pub(super) fn new(source: &'a Source, module: &Module) -> Self {
        let mut places = Self { source, other: HashMap::new() };
        let versions: &[BaseVersion] = match module.version {
            Version::V0 => &[BaseVersion::V0],
            Version::V0CompatV1 => &[BaseVersion::V0CompatV1],
            Version::V1 | Version::V2 => &[BaseVersion::V1, BaseVersion::V2],
        };
        let read = versions.iter().find_map(|version| {
            let options = ParseOptions { keep_layout: true, ..ParseOptions::version(*version) };
            parse_module(module.span.file, source.all(), &options).ok()
        });
        // The tree with its parentheses has the same rules as the module.
        if let Some(read) = read {
            let (statements, calls) = (Vec::new(), Vec::new());
            let mut terms = Terms { places: &mut places, statements, calls };
            terms.module(&read);
            let Terms { statements, calls, .. } = terms;
            // A statement that begins with parentheses has a place of its own.
            for span in statements {
                places.other.remove(&span);
            }
            places.other.extend(calls.into_iter().map(|span| (span, None)));
            for (written, rule) in read.rules.iter().zip(&module.rules) {
                places.branches(written, rule);
            }
        }
        places
    }

    /// The place of a part, if it has one.
    pub(super) fn range(&self, span: Span) -> Option<Range> {
        self.other.get(&span).copied().unwrap_or_else(|| Some(self.plain(span)))
    }

    /// The place of a statement.
    pub(super) fn statement(&self, span: Span) -> Range {
        self.range(span).unwrap_or_else(|| self.plain(span))
    }

    /// The place that is the span.
    pub(super) fn plain(&self, span: Span) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end) }
    }

    fn position(&self, offset: u32) -> Place {
        let (row, col) = self.source.line_column(offset);
        Place { row, col }
    }

    /// The place that begins at `first` and is as long as a text.
    fn moved(&self, first: u32, text: Span) -> Range {
        let start = self.position(first);
        let (begin, end) = (self.position(text.start), self.position(text.end));
        let rows = end.row - begin.row;
        let col = if rows == 0 { start.col + (end.col - begin.col) } else { end.col };
        Range { start, end: Place { row: start.row + rows, col } }
    }

    /// Moves the bodies of `else` branches without braces.
    fn branches(&mut self, written: &Rule, rule: &Rule) {
        let mut next = written.else_rule.as_deref().zip(rule.else_rule.as_deref());
        while let Some((written, rule)) = next {
            if written.body.first().is_some_and(|only| only.span == written.span)
                && !rule.generated_body
            {
                let range = Some(self.plain(written.span));
                let mut add = |span| {
                    self.other.insert(span, range);
                };
                walk_exprs(&rule.body, &mut |expr| {
                    add(expr.span);
                    true
                });
                walk_terms(&rule.body, &mut |term| {
                    add(term.span);
                    true
                });
            }
            next = written.else_rule.as_deref().zip(rule.else_rule.as_deref());
        }
    }
}

/// Finds the terms whose places aren't their spans.
struct Terms<'p, 'a> {
    places: &'p mut Places<'a>,
    statements: Vec<Span>,
    /// The calls in template strings.
    calls: Vec<Span>,
}

impl Visit for Terms<'_, '_> {
    fn expr(&mut self, expr: &Expr) {
        if !expr.generated {
            self.statements.push(expr.span);
        }
        walk_expr(self, expr);
    }

    fn term(&mut self, term: &Term) {
        let inner = term.ungrouped();
        let (first, text) = place(term);
        let range = match &inner.kind {
            TermKind::Number(_) if std::ptr::eq(inner, term) => {
                let token = match self.places.source.all().as_bytes().get(first as usize) {
                    Some(b'-' | b'.') => Span { end: first + 1, ..text },
                    _ => text,
                };
                self.places.plain(token)
            }
            _ => self.places.moved(first, text),
        };
        if range != self.places.plain(inner.span) {
            self.places.other.insert(term.span, Some(range));
            self.places.other.insert(inner.span, Some(range));
        }
        if let TermKind::Template(template) = &inner.kind {
            for part in &template.parts {
                if let TemplatePart::Expr(Expr { kind: ExprKind::Call(_), span, .. }) = part {
                    self.calls.push(*span);
                }
            }
        }
        walk_term(self, inner);
    }
}
