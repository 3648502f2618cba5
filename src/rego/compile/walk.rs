//! Walks over trees: every node under a node, to read or to change.
//!
//! Both walks have OPA's order: terms before bodies, an expression before its `with`. A visitor that
//! answers `true` isn't shown what lies under the node.

use crate::rego::syntax::tree::{
    Body, Every, Expr, ExprKind, Head, Logical, Module, Not, Rule, TemplatePart, Term, TermKind,
    With,
};

/// A node, to read.
#[derive(Clone, Copy)]
pub enum Node<'a> {
    /// A body, of a rule or of a closure.
    Body,
    /// An expression.
    Expr(&'a Expr),
    /// A term.
    Term(&'a Term),
    /// A `with`.
    With(&'a With),
    /// An `every`; its expression came before.
    Every(&'a Every),
    /// A `not` of the newer meaning; its expression came before.
    Not(&'a Not),
    /// An `and` or `or`; its expression came before.
    Logical(&'a Logical),
}

/// Deep terms shouldn't end the stack.
pub fn deep<T>(f: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(96 * 1024, 2 * 1024 * 1024, f)
}

/// Shows a rule's head, body and `else`. The head's reference isn't shown.
pub fn rule<'a>(rule: &'a Rule, f: &mut impl FnMut(Node<'a>) -> bool) {
    let mut next = Some(rule);
    while let Some(rule) = next {
        head(&rule.head, f);
        body(&rule.body, f);
        next = rule.else_rule.as_deref();
    }
}

/// Shows a head without its reference.
pub fn head<'a>(head: &'a Head, f: &mut impl FnMut(Node<'a>) -> bool) {
    for it in head.args.iter().chain(&head.key).chain(&head.value) {
        term(it, f);
    }
}

/// Shows a body.
pub fn body<'a>(body: &'a Body, f: &mut impl FnMut(Node<'a>) -> bool) {
    if !f(Node::Body) {
        for it in body {
            expr(it, f);
        }
    }
}

/// Shows an expression.
pub fn expr<'a>(expr: &'a Expr, f: &mut impl FnMut(Node<'a>) -> bool) {
    if f(Node::Expr(expr)) {
        return;
    }
    match &expr.kind {
        ExprKind::Term(it) => term(it, f),
        ExprKind::Call(terms) => all(terms, f),
        ExprKind::Some(decl) => all(&decl.symbols, f),
        ExprKind::Every(every) => {
            if !f(Node::Every(every)) {
                for it in every.key.iter().chain([&every.value, &every.domain]) {
                    term(it, f);
                }
                deep(|| body(&every.body, f));
            }
        }
        ExprKind::Not(not) => {
            if !f(Node::Not(not)) {
                deep(|| body(&not.body, f));
            }
        }
        ExprKind::And(logical) | ExprKind::Or(logical) => {
            if !f(Node::Logical(logical)) {
                deep(|| {
                    body(&logical.left, f);
                    body(&logical.right, f);
                });
            }
        }
    }
    for it in &expr.with {
        with(it, f);
    }
}

/// Shows a `with`.
pub fn with<'a>(with: &'a With, f: &mut impl FnMut(Node<'a>) -> bool) {
    if !f(Node::With(with)) {
        term(&with.target, f);
        term(&with.value, f);
    }
}

fn all<'a>(terms: &'a [Term], f: &mut impl FnMut(Node<'a>) -> bool) {
    for it in terms {
        term(it, f);
    }
}

/// Shows a term.
pub fn term<'a>(it: &'a Term, f: &mut impl FnMut(Node<'a>) -> bool) {
    if f(Node::Term(it)) {
        return;
    }
    match &it.kind {
        TermKind::Null
        | TermKind::Bool(_)
        | TermKind::Number(_)
        | TermKind::String(_)
        | TermKind::Var(_) => {}
        TermKind::Ref(terms)
        | TermKind::Array(terms)
        | TermKind::Set(terms)
        | TermKind::Call(terms) => {
            deep(|| all(terms, f));
        }
        TermKind::Object(pairs) => deep(|| {
            for (key, value) in pairs {
                term(key, f);
                term(value, f);
            }
        }),
        TermKind::ArrayComprehension(it) | TermKind::SetComprehension(it) => deep(|| {
            term(&it.term, f);
            body(&it.body, f);
        }),
        TermKind::ObjectComprehension(it) => deep(|| {
            term(&it.key, f);
            term(&it.value, f);
            body(&it.body, f);
        }),
        TermKind::Template(template) => deep(|| {
            for part in &template.parts {
                match part {
                    TemplatePart::Text(it) => term(it, f),
                    TemplatePart::Expr(it) => expr(it, f),
                }
            }
        }),
        TermKind::Group(it) => deep(|| term(it, f)),
    }
}

/// True if `found` holds for a node under the rule.
pub fn any_in_rule(of: &Rule, mut found: impl FnMut(Node<'_>) -> bool) -> bool {
    let mut hit = false;
    rule(of, &mut |node| {
        hit = hit || found(node);
        hit
    });
    hit
}

/// True if `found` holds for a node under the term.
pub fn any_in_term(of: &Term, mut found: impl FnMut(&Term) -> bool) -> bool {
    let mut hit = false;
    term(of, &mut |node| {
        if let Node::Term(it) = node {
            hit = hit || found(it);
        }
        hit
    });
    hit
}

/// A node, to change.
pub enum NodeMut<'a> {
    /// A body, of a rule or of a closure.
    Body(&'a mut Body),
    /// An expression.
    Expr(&'a mut Expr),
    /// A term.
    Term(&'a mut Term),
}

/// True if members of objects and elements of sets are put in order again after a change. OPA does
/// so in some stages, and in others goes on with the order that it had.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// They are sorted.
    Sorted,
    /// They stay where they are.
    Kept,
}

/// Shows a head without its reference, to change.
pub fn head_mut(head: &mut Head, order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    for it in head.args.iter_mut().chain(&mut head.key).chain(&mut head.value) {
        term_mut(it, order, f);
    }
}

/// Shows a body, to change.
pub fn body_mut(body: &mut Body, order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    if !f(NodeMut::Body(body)) {
        for it in body {
            expr_mut(it, order, f);
        }
    }
}

/// Shows an expression, to change.
pub fn expr_mut(expr: &mut Expr, order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    if f(NodeMut::Expr(expr)) {
        return;
    }
    match &mut expr.kind {
        ExprKind::Term(it) => term_mut(it, order, f),
        ExprKind::Call(terms) => all_mut(terms, order, f),
        ExprKind::Some(decl) => all_mut(&mut decl.symbols, order, f),
        ExprKind::Every(every) => deep(|| {
            let Every { key, value, domain, body, .. } = &mut **every;
            for it in key.iter_mut().chain([value, domain]) {
                term_mut(it, order, f);
            }
            body_mut(body, order, f);
        }),
        ExprKind::Not(not) => deep(|| body_mut(&mut not.body, order, f)),
        ExprKind::And(logical) | ExprKind::Or(logical) => deep(|| {
            body_mut(&mut logical.left, order, f);
            body_mut(&mut logical.right, order, f);
        }),
    }
    for with in &mut expr.with {
        term_mut(&mut with.target, order, f);
        term_mut(&mut with.value, order, f);
    }
}

fn all_mut(terms: &mut [Term], order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    for it in terms {
        term_mut(it, order, f);
    }
}

/// Shows a term, to change.
pub fn term_mut(it: &mut Term, order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    if f(NodeMut::Term(it)) {
        return;
    }
    match &mut it.kind {
        TermKind::Null
        | TermKind::Bool(_)
        | TermKind::Number(_)
        | TermKind::String(_)
        | TermKind::Var(_) => {}
        TermKind::Ref(terms) | TermKind::Array(terms) | TermKind::Call(terms) => {
            deep(|| all_mut(terms, order, f));
        }
        TermKind::Set(terms) => deep(|| {
            all_mut(terms, order, f);
            if order == Order::Sorted {
                super::order::sort_set(terms);
            }
        }),
        TermKind::Object(pairs) => deep(|| {
            for (key, value) in pairs.iter_mut() {
                term_mut(key, order, f);
                term_mut(value, order, f);
            }
            if order == Order::Sorted {
                super::order::sort_object(pairs);
            }
        }),
        TermKind::ArrayComprehension(it) | TermKind::SetComprehension(it) => deep(|| {
            term_mut(&mut it.term, order, f);
            body_mut(&mut it.body, order, f);
        }),
        TermKind::ObjectComprehension(it) => deep(|| {
            term_mut(&mut it.key, order, f);
            term_mut(&mut it.value, order, f);
            body_mut(&mut it.body, order, f);
        }),
        TermKind::Template(template) => deep(|| {
            for part in &mut template.parts {
                match part {
                    TemplatePart::Text(it) => term_mut(it, order, f),
                    TemplatePart::Expr(it) => expr_mut(it, order, f),
                }
            }
        }),
        TermKind::Group(it) => deep(|| term_mut(it, order, f)),
    }
}

/// Calls `f` with each rule and, unless it answers `true`, each `else` of it.
pub fn rules_mut(modules: &mut [Module], mut f: impl FnMut(&mut Rule) -> bool) {
    for module in modules {
        for rule in &mut module.rules {
            let mut next = Some(rule);
            while let Some(rule) = next {
                if f(rule) {
                    break;
                }
                next = rule.else_rule.as_deref_mut();
            }
        }
    }
}
