//! Several `with` on one statement.
//!
//! A statement with an undefined replacement is undefined. The interpreter remembers that for the
//! last `with` of a document alone, so `not p with input as data.missing with data.x as 1` would
//! hold. Owns the edits that put the earlier values beside the last one:
//!
//! ```text
//! with input as a with data.x as b  →  with input as a with data.x as [b, a][0]
//! ```

use regorus::unstable as ast;

use ast::{Expr, Literal, LiteralStmt, Query, Rule, RuleHead, WithModifier};

use super::pieces::single_line;
use super::scope;
use super::terms::closures;
use super::text::Edit;
use super::vars::expressions;

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
