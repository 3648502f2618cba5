//! What expressions and queries are made of.
//!
//! Owns the walk to the expressions within one, and the names that patterns bind. What it is for
//! is said where it is used.

use std::collections::HashSet;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, Query, Span};

use super::scope::{Link, chain};

/// The expressions directly within one, those of a reference too, queries aside.
pub(super) fn within(expr: &ExprRef) -> Vec<&ExprRef> {
    if !matches!(expr.as_ref(), Expr::RefDot { .. } | Expr::RefBrack { .. }) {
        return children(expr);
    }
    let chain = chain(expr);
    let indexes = chain.steps.into_iter().filter_map(|link| match link {
        Link::Index(index, _) => Some(index),
        Link::Field(..) => None,
    });
    std::iter::once(chain.base).chain(indexes).collect()
}

/// The expressions directly within one, queries and references aside.
pub(super) fn children(expr: &Expr) -> Vec<&ExprRef> {
    match expr {
        Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().collect(),
        Expr::Object { fields, .. } => fields.iter().flat_map(|(_, k, v)| [k, v]).collect(),
        Expr::Call { params, .. } => params.iter().collect(),
        Expr::UnaryExpr { expr, .. } => vec![expr],
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => vec![lhs, rhs],
        Expr::Membership { key, value, collection, .. } => {
            key.iter().chain([value, collection]).collect()
        }
        _ => Vec::new(),
    }
}

/// The names that a query declares.
pub(super) fn declared(query: &Query) -> HashSet<&str> {
    let mut names = HashSet::new();
    for stmt in &query.stmts {
        match &stmt.literal {
            Literal::SomeVars { vars, .. } => names.extend(vars.iter().map(Span::text)),
            Literal::SomeIn { key, value, .. } => {
                for expr in key.iter().chain([value]) {
                    pattern(expr, &mut names);
                }
            }
            Literal::Expr { expr, .. } => {
                if let Expr::AssignExpr { op: ast::AssignOp::ColEq, lhs, .. } = expr.as_ref() {
                    pattern(lhs, &mut names);
                }
            }
            Literal::NotExpr { .. } | Literal::Every { .. } => {}
        }
    }
    names
}

/// The variables of a pattern.
pub(super) fn pattern<'a>(expr: &'a Expr, names: &mut HashSet<&'a str>) {
    bound(expr, &mut |span| {
        names.insert(span.text());
    });
}

/// Every name that a pattern binds.
pub(super) fn bound<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Span)) {
    match expr {
        Expr::Var { span, .. } => visit(span),
        Expr::Array { items, .. } => {
            for item in items {
                bound(item, visit);
            }
        }
        Expr::Object { fields, .. } => {
            for (_, _, value) in fields {
                bound(value, visit);
            }
        }
        _ => {}
    }
}
