//! Normalizes the parser's tree into the form that the compile stages expect.
//!
//! Removes parentheses; turns the names of called functions, `input` and `data` into references,
//! even where they are single names; sorts members of objects and elements of sets.

use crate::syntax::tree::{Body, Expr, ExprKind, Module, Rule, Term, TermKind};

use super::stack::deep;
use super::walk::{self, NodeMut};

/// Normalizes a module.
pub fn module(module: &mut Module) {
    for first in &mut module.rules {
        rule(first);
    }
}

fn rule(first: &mut Rule) {
    let mut next = Some(first);
    while let Some(rule) = next {
        for term in rule.head.reference.iter_mut().skip(1) {
            visit(term);
        }
        for term in rule.head.args.iter_mut().chain(&mut rule.head.key).chain(&mut rule.head.value)
        {
            visit(term);
        }
        body(&mut rule.body);
        next = rule.else_rule.as_deref_mut();
    }
}

/// Normalizes a body.
pub fn body(body: &mut Body) {
    walk::body_mut(body, walk::Order::Sorted, &mut node);
}

/// Normalizes a term.
pub fn visit(term: &mut Term) {
    walk::term_mut(term, walk::Order::Sorted, &mut node);
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
        for symbol in
            decl.symbols.iter_mut().filter(|symbol| !matches!(symbol.kind, TermKind::Var(_)))
        {
            visit(symbol);
        }
        for with in &mut expr.with {
            visit(&mut with.target);
            visit(&mut with.value);
        }
        return true;
    }
    if let ExprKind::Call(terms) = &mut expr.kind {
        if let Some(first) = terms.first_mut() {
            operator(first);
        }
        for term in terms.iter_mut().skip(1) {
            visit(term);
        }
        for with in &mut expr.with {
            visit(&mut with.target);
            visit(&mut with.value);
        }
        return true;
    }
    false
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
        TermKind::Call(terms) => deep(|| {
            if let Some(first) = terms.first_mut() {
                operator(first);
            }
            for argument in terms.iter_mut().skip(1) {
                visit(argument);
            }
            true
        }),
        _ => false,
    }
}
