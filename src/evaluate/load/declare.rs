//! The names that a body or a parameter declares.
//!
//! Owns what hides imports and rules; [`super::scope`] asks it for each body.

use std::collections::HashSet;
use std::sync::Arc;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, Query};

use super::parts::bound;

/// The names that a function's parameter binds.
pub(super) fn pattern(expr: &ExprRef, names: &mut HashSet<Arc<str>>) {
    bound(expr, &mut |span| {
        names.insert(span.text().into());
    });
}

/// Every name in the pattern on the left of `:=` or after `some`, of references too.
fn variables(expr: &ExprRef, names: &mut HashSet<Arc<str>>) {
    match expr.as_ref() {
        Expr::Var { span, .. } => {
            names.insert(span.text().into());
        }
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            for item in items {
                variables(item, names);
            }
        }
        Expr::Object { fields, .. } => {
            for (_, key, value) in fields {
                variables(key, names);
                variables(value, names);
            }
        }
        _ => {}
    }
}

/// The names that a body declares: with `some`, and with `:=`, also within its `every`.
pub(super) fn declared(query: &Query) -> HashSet<Arc<str>> {
    let mut names = HashSet::new();
    declare(query, &mut names);
    names
}

fn declare(query: &Query, names: &mut HashSet<Arc<str>>) {
    for stmt in &query.stmts {
        match &stmt.literal {
            Literal::SomeVars { vars, .. } => {
                names.extend(vars.iter().map(|span| Arc::from(span.text())));
            }
            Literal::SomeIn { key, value, .. } => {
                if let Some(key) = key {
                    variables(key, names);
                }
                variables(value, names);
            }
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => {
                if let Expr::AssignExpr { op: ast::AssignOp::ColEq, lhs, .. } = expr.as_ref() {
                    variables(lhs, names);
                }
            }
            Literal::Every { query, .. } => declare(query, names),
        }
    }
}
