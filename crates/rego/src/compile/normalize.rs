//! Normalizes the parser's tree into the form that the compile stages expect.
//!
//! Removes parentheses; turns the names of called functions, `input` and `data` into references,
//! even where they are single names; sorts members of objects and elements of sets.

use crate::syntax::tree::{Body, Expr, ExprKind, Module, Term, TermKind};

use super::stack::deep;
use crate::syntax::walk::{self, NodeMut};

/// Normalizes a module.
pub fn module(module: &mut Module) {
    walk::rules_mut(std::slice::from_mut(module), |rule| {
        rule.head.reference.iter_mut().skip(1).for_each(visit);
        walk::change(&mut rule.head, Some(super::order::sort), node);
        body(&mut rule.body);
    });
}

/// Normalizes a body.
pub fn body(body: &mut Body) {
    walk::change(body, Some(super::order::sort), node);
}

/// Normalizes a term.
pub fn visit(term: &mut Term) {
    walk::change(term, Some(super::order::sort), node);
}

fn node(visited: NodeMut<'_>) -> bool {
    match visited {
        NodeMut::Body(_) => false,
        NodeMut::Expr(found) => expr(found),
        NodeMut::Term(found) => term(found),
    }
}

fn expr(expr: &mut Expr) -> bool {
    if let ExprKind::Term(term) = &mut expr.kind {
        ungroup(term);
        if let TermKind::Call(terms) = &mut term.kind {
            expr.kind = ExprKind::Call(std::mem::take(terms));
        }
    }
    if let ExprKind::Some(decl) = &mut expr.kind {
        // A name that is declared is a variable, even `input` or `data`.
        let declared = |symbol: &&mut Term| !matches!(symbol.kind, TermKind::Var(_));
        decl.symbols.iter_mut().filter(declared).for_each(visit);
    } else if let ExprKind::Call(terms) = &mut expr.kind {
        call(terms);
    } else {
        return false;
    }
    for with in &mut expr.with {
        walk::change(with, Some(super::order::sort), node);
    }
    true
}

/// Normalizes a call: the name of the function and the arguments.
fn call(terms: &mut [Term]) {
    if let Some((first, arguments)) = terms.split_first_mut() {
        operator(first);
        arguments.iter_mut().for_each(visit);
    }
}

fn ungroup(term: &mut Term) {
    while let TermKind::Group(inner) = &mut term.kind {
        let inner = std::mem::replace(&mut inner.kind, TermKind::Null);
        term.kind = inner;
    }
}

/// Normalizes the name of a called function.
fn operator(term: &mut Term) {
    match &mut term.kind {
        TermKind::Var(_) => {
            let span = term.span;
            let kind = std::mem::replace(&mut term.kind, TermKind::Null);
            term.kind = TermKind::Ref(vec![Term { kind, span }]);
        }
        _ => visit(term),
    }
}

fn term(term: &mut Term) -> bool {
    ungroup(term);
    match &mut term.kind {
        TermKind::Var(name) if matches!(&**name, "input" | "data") => {
            operator(term);
            true
        }
        TermKind::Ref(terms) => deep(|| {
            if let Some(head) = terms.first_mut() {
                ungroup(head);
                if let TermKind::Ref(inner) = &mut head.kind {
                    // A reference whose head is a reference becomes one reference.
                    let inner = std::mem::take(inner);
                    terms.splice(0..1, inner);
                }
            }
            for (index, part) in terms.iter_mut().enumerate() {
                if index > 0 || !matches!(part.kind, TermKind::Var(_)) {
                    visit(part);
                }
            }
            true
        }),
        TermKind::Call(terms) => {
            deep(|| call(terms));
            true
        }
        _ => false,
    }
}
