//! Modules as text and syntax.
//!
//! Owns parsing of modules that the loader has let through, the extents of what is in them, and
//! positions in them. It decides nothing.

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, LiteralStmt, Query, Span};

use crate::evaluate::sources::ModuleSource;
use crate::{Error, ErrorKind, Position};

/// Calls `work` with the syntax of a module. Only on a large stack.
pub(super) fn parsed<T>(
    module: &ModuleSource,
    v0: bool,
    work: impl FnOnce(&ast::Module, &str) -> T,
) -> Result<T, Error> {
    let text = without_mark(&module.text);
    let syntax = parse(&module.path, text, v0).map_err(|error| {
        Error::new(ErrorKind::Internal, "a loaded module doesn't parse again").with_source(error)
    })?;
    Ok(work(&syntax, text))
}

/// Whether `text`, put at the end of a module, is a rule.
pub(super) fn is_rule(text: &str, v0: bool) -> bool {
    parse("<probe>", &format!("package p\n{text}"), v0).is_ok_and(|m| m.policy.len() == 1)
}

fn parse(path: &str, text: &str, v0: bool) -> Result<ast::Module, String> {
    // Lines of any length: the loader bounds them.
    let columns = std::num::NonZeroU32::new(1 << 20).unwrap_or(std::num::NonZeroU32::MAX);
    let source = ast::Source::from_contents(path.to_owned(), text.to_owned())
        .map_err(|error| error.to_string())?;
    let mut parser = ast::Parser::new(&source).map_err(|error| error.to_string())?;
    parser.set_max_col(columns);
    if !v0 {
        parser.enable_rego_v1().map_err(|error| error.to_string())?;
    }
    parser.parse().map_err(|error| error.to_string())
}

/// A module's text without its byte order mark, to which all offsets refer.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The bytes of a span. The interpreter's spans leave out the quotes of a string at either end,
/// and the parentheses around an operand.
pub(super) fn extent(text: &str, span: &Span) -> (usize, usize) {
    let (mut start, mut end) = (span.start as usize, span.end as usize);
    let quote = |at: Option<usize>| {
        at.and_then(|at| text.as_bytes().get(at)).is_some_and(|byte| matches!(byte, b'"' | b'`'))
    };
    if quote(start.checked_sub(1)) {
        start -= 1;
    }
    if quote(Some(end)) {
        end += 1;
    }
    (start, end)
}

/// The bytes of a statement with the parentheses that it begins and ends with.
pub(super) fn statement_extent(text: &str, stmt: &LiteralStmt) -> (usize, usize) {
    let (start, _) = extent(text, &stmt.span);
    let last = stmt.with_mods.last().map_or(&stmt.span, |with| &with.span);
    let (_, end) = extent(text, if last.end > stmt.span.end { last } else { &stmt.span });
    let before = text.get(..start).unwrap_or("");
    let opened = before.trim_end_matches([' ', '\t', '(']).len();
    let start = before.get(opened..).and_then(|ran| ran.find('(')).map_or(start, |at| opened + at);
    let after = text.get(end..).unwrap_or("");
    let ran = after.len() - after.trim_start_matches([' ', '\t', ')']).len();
    let closed = after.get(..ran).and_then(|ran| ran.rfind(')')).map_or(0, |at| at + 1);
    (start, end + closed)
}

/// The position of the bytes from `start` to `end`.
pub(super) fn position(path: &str, text: &str, start: usize, end: usize) -> Position {
    let before = text.get(..start).unwrap_or("");
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(line_start..).unwrap_or("").split('\n').next().unwrap_or("");
    let line = line.trim_end_matches('\r');
    let within = before.len() - line_start;
    let until = (end - line_start.min(end)).min(line.len());
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let length = line.get(within..until).map_or(1, |meant| meant.chars().count().max(1));
    Position {
        file: path.to_owned(),
        line: count(before.matches('\n').count() + 1),
        column: count(before.get(line_start..).unwrap_or("").chars().count() + 1),
        length: count(length),
        text: line.to_owned(),
    }
}

/// The first part of a reference, and its further parts.
pub(super) fn parts(refr: &ExprRef) -> (&Span, Vec<Part<'_>>) {
    let mut parts = Vec::new();
    let mut at = refr;
    loop {
        match at.as_ref() {
            Expr::RefDot { refr, field, .. } => {
                parts.push(Part::Key(field.0.text().to_owned()));
                at = refr;
            }
            Expr::RefBrack { refr, index, .. } => {
                parts.push(match index.as_ref() {
                    Expr::String { value, .. } | Expr::RawString { value, .. } => {
                        Part::Key(value.as_string().map(ToString::to_string).unwrap_or_default())
                    }
                    _ => Part::Variable(index),
                });
                at = refr;
            }
            other => {
                parts.reverse();
                return (other.span(), parts);
            }
        }
    }
}

/// A part of a reference after its first.
pub(super) enum Part<'a> {
    Key(String),
    Variable(&'a ExprRef),
}

/// The expressions of a statement itself, without those of its `with` and of an `every`'s body.
pub(super) fn expressions(literal: &Literal) -> Vec<&ExprRef> {
    match literal {
        Literal::SomeVars { .. } => Vec::new(),
        Literal::SomeIn { key, value, collection, .. } => {
            key.iter().chain([value, collection]).collect()
        }
        Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => vec![expr],
        Literal::Every { domain, .. } => vec![domain],
    }
}

/// The direct parts of an expression that are evaluated, and the body of a comprehension.
pub(super) fn children(expr: &Expr) -> (Vec<&ExprRef>, Option<&Query>) {
    match expr {
        Expr::Array { items, .. } | Expr::Set { items, .. } => (items.iter().collect(), None),
        Expr::Object { fields, .. } => {
            (fields.iter().flat_map(|(_, key, value)| [key, value]).collect(), None)
        }
        Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
            (vec![term], Some(query))
        }
        Expr::ObjectCompr { key, value, query, .. } => (vec![key, value], Some(query)),
        Expr::Call { params, .. } => (params.iter().collect(), None),
        Expr::UnaryExpr { expr, .. } => (vec![expr], None),
        Expr::RefDot { refr, .. } => (vec![refr], None),
        Expr::RefBrack { refr, index, .. } => (vec![refr, index], None),
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => (vec![lhs, rhs], None),
        Expr::Membership { key, value, collection, .. } => {
            (key.iter().chain([value, collection]).collect(), None)
        }
        _ => (Vec::new(), None),
    }
}
