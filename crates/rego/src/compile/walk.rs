//! Visits all nodes below a node, to read or to change them.
//!
//! Both kinds of visits follow OPA's order: terms before bodies, an expression before its `with`.
//! If a visitor returns `true`, the nodes below the current one are skipped.

use crate::syntax::tree::{
    Body, Every, Expr, ExprKind, Head, Logical, Module, Not, Rule, TemplatePart, Term, TermKind,
    With,
};

use super::stack::deep;

/// A node that is read.
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
    /// An `every`; its expression was visited before.
    Every(&'a Every),
    /// A `not` with a body; its expression was visited before.
    Not(&'a Not),
    /// An `and` or `or`; its expression was visited before.
    Logical(&'a Logical),
}

/// Visits a rule's head, body and `else` branches, without the head's reference.
pub fn rule<'a>(rule: &'a Rule, f: &mut impl FnMut(Node<'a>) -> bool) {
    let mut next = Some(rule);
    while let Some(rule) = next {
        head(&rule.head, f);
        body(&rule.body, f);
        next = rule.else_rule.as_deref();
    }
}

/// Visits a head, without its reference.
pub fn head<'a>(head: &'a Head, f: &mut impl FnMut(Node<'a>) -> bool) {
    for it in head.args.iter().chain(&head.key).chain(&head.value) {
        term(it, f);
    }
}

/// Visits a body.
pub fn body<'a>(body: &'a Body, f: &mut impl FnMut(Node<'a>) -> bool) {
    if !f(Node::Body) {
        for it in body {
            expr(it, f);
        }
    }
}

/// Visits an expression.
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

/// Visits a `with`.
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

/// Visits a term.
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

/// Returns `true` if `found` returns `true` for a node of the rule.
pub fn any_in_rule(of: &Rule, mut found: impl FnMut(Node<'_>) -> bool) -> bool {
    let mut hit = false;
    rule(of, &mut |node| {
        hit = hit || found(node);
        hit
    });
    hit
}

/// Returns `true` if `found` returns `true` for the term or a term in it.
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

/// A node that can be changed.
pub enum NodeMut<'a> {
    /// A body, of a rule or of a closure.
    Body(&'a mut Body),
    /// An expression.
    Expr(&'a mut Expr),
    /// A term.
    Term(&'a mut Term),
}

/// The treatment of members of objects and elements of sets after a change. OPA sorts them again in
/// some stages, and in others keeps the order that they had.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// They are sorted again.
    Sorted,
    /// They keep their order.
    Kept,
}

/// Visits a head mutably, without its reference.
pub fn head_mut(head: &mut Head, order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    for it in head.args.iter_mut().chain(&mut head.key).chain(&mut head.value) {
        term_mut(it, order, f);
    }
}

/// Visits a body mutably.
pub fn body_mut(body: &mut Body, order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    if !f(NodeMut::Body(body)) {
        for it in body {
            expr_mut(it, order, f);
        }
    }
}

/// Visits an expression mutably.
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

/// Visits a term mutably.
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

/// Calls `f` with each rule and then with its `else` branches, until `f` returns `true`.
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
