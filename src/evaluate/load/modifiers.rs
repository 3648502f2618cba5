//! Several `with` on one statement.
//!
//! A statement with an undefined replacement is undefined. The interpreter remembers that for the
//! last `with` of a document alone, so `not p with input as data.missing with data.x as 1` would
//! hold. Owns the edits that put the earlier values beside the last one:
//!
//! ```text
//! with input as a with data.x as b  →  with input as a with data.x as [b, a][0]
//! ```

use std::sync::Arc;

use regorus::unstable as ast;

use ast::{Expr, Literal, LiteralStmt, Query, Rule, RuleHead, WithModifier};

use super::pieces::{opening, range, single_line};
use super::scope;
use super::terms::closures;
use super::text::Edit;
use super::vars::expressions;

/// Whether a path below `data` is a function's.
pub(super) type IsFunction<'a> = &'a dyn Fn(&[Arc<str>]) -> bool;

/// The edits that give replacements a value before the statement that they are for: inside it, the
/// interpreter takes a rule for undefined that the replacement needed first.
///
/// ```text
/// allow if p with input as {"i": d}  →  allow if __with9 := {"i": d}; p with input as __with9
/// ```
///
/// What stands in a replacement comes first: ask again until there is nothing left to do.
pub(super) fn values(module: &ast::Module, is_function: IsFunction<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for rule in &module.policy {
        let Rule::Spec { head, bodies, .. } = rule.as_ref() else { continue };
        let value = match head {
            RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. } => {
                assign.as_ref().map(|a| &a.value)
            }
            RuleHead::Set { key, .. } => key.as_ref(),
        };
        let others = bodies.iter().filter_map(|b| Some(&b.assign.as_ref()?.value));
        for term in value.into_iter().chain(others) {
            values_within(term, is_function, &mut edits);
        }
        for body in bodies {
            values_in(&body.query, is_function, &mut edits);
        }
    }
    edits
}

fn values_in(query: &Query, is_function: IsFunction<'_>, edits: &mut Vec<Edit>) {
    for statement in &query.stmts {
        let before = edits.len();
        for expr in expressions(statement) {
            values_within(expr, is_function, edits);
        }
        if let Literal::Every { query, .. } = &statement.literal {
            values_in(query, is_function, edits);
        }
        if edits.len() == before {
            first(statement, is_function, edits);
        }
    }
}

fn values_within(expr: &ast::ExprRef, is_function: IsFunction<'_>, edits: &mut Vec<Edit>) {
    let mut found = Vec::new();
    closures(expr, &mut found);
    for (_, query) in found {
        values_in(query, is_function, edits);
    }
}

/// The edits that bind a statement's replacements in front of it.
fn first(statement: &LiteralStmt, is_function: IsFunction<'_>, edits: &mut Vec<Edit>) {
    let mut bound = String::new();
    for modifier in statement.with_mods.iter().filter(|m| needs_binding(m, is_function)) {
        let Some(text) = value(modifier) else { continue };
        let end = scope::end(&modifier.span);
        let start = end - text.len();
        let name = format!("__with{start}");
        bound.extend([name.as_str(), " := ", &single_line(text), "; "]);
        opening(modifier.span.source.get_contents(), (start, end), &name, edits);
    }
    let Some(last) = statement.with_mods.last().filter(|_| !bound.is_empty()) else { return };
    let start = range(&statement.span).0;
    if is_bare(last.span.source.get_contents(), start) {
        edits.push(Edit::new(start, start, format!("{{ {bound}")));
        let end = scope::end(&last.span);
        edits.push(Edit::new(end, end, " }"));
    } else {
        edits.push(Edit::new(start, start, bound));
    }
}

/// Whether the statement at `start` is a body of its own, without braces: `a if p with …`.
fn is_bare(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default().trim_end();
    before
        .strip_suffix("if")
        .is_some_and(|rest| !rest.ends_with(|c: char| c == '.' || c == '_' || c.is_alphanumeric()))
}

fn needs_binding(modifier: &WithModifier, is_function: IsFunction<'_>) -> bool {
    let replaces_function = match scope::path(&modifier.refr) {
        Some((root, path)) => match root.as_ref() {
            "input" => false,
            "data" => is_function(&path),
            _ => true,
        },
        None => false,
    };
    match modifier.r#as.as_ref() {
        // A name in a function's place may be a function; what is bound already needs no more.
        Expr::Var { span, .. } => !replaces_function && !span.text().starts_with("__with"),
        Expr::RefDot { .. } | Expr::RefBrack { .. } => match scope::path(&modifier.r#as) {
            Some((root, path)) if root.as_ref() == "data" => !is_function(&path),
            _ => !replaces_function,
        },
        other => !is_constant(other),
    }
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. } => true,
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            items.iter().all(|item| is_constant(item))
        }
        Expr::Object { fields, .. } => {
            fields.iter().all(|(_, key, value)| is_constant(key) && is_constant(value))
        }
        _ => false,
    }
}

/// The edits of a module whose references are rewritten already.
pub(super) fn edits(module: &ast::Module) -> Vec<Edit> {
    let mut edits = Vec::new();
    for rule in &module.policy {
        let Rule::Spec { head, bodies, .. } = rule.as_ref() else { continue };
        let value = match head {
            RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. } => {
                assign.as_ref().map(|a| &a.value)
            }
            RuleHead::Set { key, .. } => key.as_ref(),
        };
        for term in
            value.into_iter().chain(bodies.iter().filter_map(|b| Some(&b.assign.as_ref()?.value)))
        {
            within(term, &mut edits);
        }
        for body in bodies {
            query_edits(&body.query, &mut edits);
        }
    }
    edits
}

/// The edits of a query whose references are rewritten already.
pub(super) fn query_edits(query: &Query, edits: &mut Vec<Edit>) {
    for statement in &query.stmts {
        let before = edits.len();
        for expr in expressions(statement) {
            within(expr, edits);
        }
        if let Literal::Every { query, .. } = &statement.literal {
            query_edits(query, edits);
        }
        // What stands in a copied value is the copy's matter too: leave such statements to it.
        if edits.len() == before {
            edits.extend(last(statement).into_iter().flatten());
        }
    }
}

fn within(expr: &ast::ExprRef, edits: &mut Vec<Edit>) {
    let mut found = Vec::new();
    closures(expr, &mut found);
    for (_, query) in found {
        query_edits(query, edits);
    }
}

/// The edits at the last `with` of a document.
fn last(statement: &LiteralStmt) -> Option<[Edit; 2]> {
    let modifiers = &statement.with_mods;
    let at = modifiers.iter().rposition(is_document)?;
    let (earlier, rest) = modifiers.split_at_checked(at)?;
    let values: Vec<String> =
        earlier.iter().filter(|m| may_be_undefined(m)).filter_map(value).map(single_line).collect();
    if values.is_empty() {
        return None;
    }
    let own = rest.first()?;
    let end = scope::end(&own.span);
    let start = end - value(own)?.len();
    Some([
        Edit::new(start, start, "["),
        Edit::new(end, end, format!(", {}][0]", values.join(", "))),
    ])
}

fn is_document(modifier: &WithModifier) -> bool {
    scope::path(&modifier.refr).is_some_and(|(first, _)| matches!(first.as_ref(), "data" | "input"))
}

/// A name after `as` in a function's place may be a function, which has no value.
fn may_be_undefined(modifier: &WithModifier) -> bool {
    is_document(modifier)
        && !matches!(
            modifier.r#as.as_ref(),
            Expr::String { .. }
                | Expr::RawString { .. }
                | Expr::Number { .. }
                | Expr::Bool { .. }
                | Expr::Null { .. }
                | Expr::ArrayCompr { .. }
                | Expr::SetCompr { .. }
                | Expr::ObjectCompr { .. }
        )
}

/// The text after `as`.
fn value(modifier: &WithModifier) -> Option<&str> {
    let text = modifier.span.source.contents();
    let rest = text.get(scope::end(modifier.refr.span())..scope::end(&modifier.span))?;
    Some(rest.trim_start().strip_prefix("as")?.trim_start())
}
