//! Captures the values of a query's expressions.
//!
//! As in OPA, an expression that has a value is given a variable for it before the query is
//! compiled:
//! ```text
//! data.a.b              data.a.b = $term0
//! count(input.x)        count(input.x, $term0)
//! ```
//! If a query has several expressions or may have several solutions, an expression must not be
//! `false`; a single one may be.

use crate::builtins;
use crate::compile::{Functions, QueryContext};
use crate::core::{Core, function_name};
use crate::syntax::tree::{Body, Expr, ExprKind, Name, Span, Term, TermKind};

/// The prefix of the names of these variables.
const PREFIX: &str = "$term";

/// Adds the variables.
pub(super) fn capture(body: &mut Body, core: &Core, functions: &Functions, context: &QueryContext) {
    let checked = body.len() > 1 || body.iter().any(iterates);
    let mut checks = Vec::new();
    for (index, expr) in body.iter_mut().enumerate() {
        if expr.negated {
            continue;
        }
        let name = Name::from(format!("{PREFIX}{index}"));
        let variable =
            |expr: &Expr| Term { kind: TermKind::Var(Name::clone(&name)), span: expr.span };
        match &mut expr.kind {
            ExprKind::Term(_) => {
                let captured = variable(expr);
                let equality = Term { kind: TermKind::Var("eq".into()), span: expr.span };
                let kind = std::mem::replace(&mut expr.kind, ExprKind::Call(Vec::new()));
                if let ExprKind::Term(term) = kind {
                    expr.kind = ExprKind::Call(vec![equality, *term, captured]);
                }
            }
            ExprKind::Call(terms) => {
                let called = terms.first().and_then(function_name).unwrap_or_default();
                let own = core.functions.get(&*called);
                let arity = match own.or_else(|| core.functions.get(&*full_name(&called, context)))
                {
                    Some(set) => core.set(*set).map(|set| set.arity),
                    None => functions
                        .get(&called)
                        .filter(|function| !function.void)
                        .map(|function| function.arity),
                };
                if matches!(&*called, "eq" | "assign") || arity != terms.len().checked_sub(1) {
                    continue;
                }
                let captured = Term { kind: TermKind::Var(Name::clone(&name)), span: expr.span };
                terms.push(captured);
            }
            _ => continue,
        }
        if checked {
            let mut check = Expr::new(ExprKind::Term(Box::new(variable(expr))), expr.span);
            check.generated = true;
            checks.push(check);
        }
    }
    body.extend(checks);
}

/// The full name of a function that a query calls by a name of its package or of an import.
fn full_name(called: &str, context: &QueryContext) -> String {
    let (first, rest) = called.split_once('.').map_or((called, None), |(a, b)| (a, Some(b)));
    let full = |parts: &[Term]| {
        let path = Term { kind: TermKind::Ref(parts.to_vec()), span: Span::default() };
        function_name(&path)
    };
    let import = context.imports.iter().find_map(|import| {
        let TermKind::Ref(parts) = &import.path.kind else { return None };
        let last = match &parts.last()?.kind {
            TermKind::String(name) | TermKind::Var(name) => name,
            _ => return None,
        };
        let name = import.alias.as_ref().map_or(last, |(name, _)| name);
        (**name == *first).then(|| full(parts)).flatten()
    });
    match (import, rest) {
        (Some(path), Some(rest)) => format!("{path}.{rest}"),
        (Some(path), None) => path,
        (None, _) => {
            let package = context.package.as_ref().and_then(|package| full(&package.path));
            package.map_or_else(String::new, |package| format!("{package}.{called}"))
        }
    }
}

/// The variable that captures an expression's value.
pub(super) fn captured(expr: &Expr) -> Option<&Name> {
    let ExprKind::Call(terms) = &expr.kind else { return None };
    // A compile stage may have swapped the sides.
    terms.iter().skip(1).rev().find_map(|term| match &term.kind {
        TermKind::Var(name) if name.starts_with(PREFIX) => Some(name),
        _ => None,
    })
}

/// Returns `true` if an expression may have several solutions, according to OPA's heuristic.
fn iterates(expr: &Expr) -> bool {
    let with =
        expr.with.iter().any(|with| term_iterates(&with.target) || term_iterates(&with.value));
    with || match &expr.kind {
        ExprKind::Term(term) => term_iterates(term),
        ExprKind::Call(terms) => terms.iter().any(term_iterates),
        ExprKind::Some(declared) => declared.symbols.iter().any(term_iterates),
        ExprKind::Every(every) => term_iterates(&every.domain) || every.body.iter().any(iterates),
        ExprKind::Not(not) => not.body.iter().any(iterates),
        ExprKind::And(logical) | ExprKind::Or(logical) => {
            crate::value::deeper(|| logical.left.iter().chain(&logical.right).any(iterates))
        }
    }
}

fn term_iterates(term: &Term) -> bool {
    crate::value::deeper(|| match &term.kind {
        TermKind::Ref(parts) => {
            let relation = function_name(term)
                .and_then(|name| builtins::lookup(&name))
                .is_some_and(|builtin| builtin.relation);
            relation
                || parts.iter().skip(1).any(|part| matches!(part.kind, TermKind::Var(_)))
                || parts.iter().skip(1).any(term_iterates)
        }
        TermKind::Var(name) => builtins::lookup(name).is_some_and(|builtin| builtin.relation),
        TermKind::Array(items) | TermKind::Set(items) | TermKind::Call(items) => {
            items.iter().any(term_iterates)
        }
        TermKind::Object(members) => {
            members.iter().any(|(key, value)| term_iterates(key) || term_iterates(value))
        }
        TermKind::Group(inner) => term_iterates(inner),
        _ => false,
    })
}
