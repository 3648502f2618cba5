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
    Term(&'a Term),
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
    for part in head.args.iter().chain(&head.key).chain(&head.value) {
        term(part, f);
    }
}

/// Visits a body.
pub fn body<'a>(body: &'a Body, f: &mut impl FnMut(Node<'a>) -> bool) {
    if !f(Node::Body) {
        for statement in body {
            expr(statement, f);
        }
    }
}

/// Visits an expression.
pub fn expr<'a>(expr: &'a Expr, f: &mut impl FnMut(Node<'a>) -> bool) {
    if f(Node::Expr(expr)) {
        return;
    }
    match &expr.kind {
        ExprKind::Term(inner) => term(inner, f),
        ExprKind::Call(terms) => all(terms, f),
        ExprKind::Some(decl) => all(&decl.symbols, f),
        ExprKind::Every(every) => {
            if !f(Node::Every(every)) {
                for part in every.key.iter().chain([&every.value, &every.domain]) {
                    term(part, f);
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
    for modifier in &expr.with {
        with(modifier, f);
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
    for part in terms {
        term(part, f);
    }
}

/// Visits a term.
pub fn term<'a>(whole: &'a Term, f: &mut impl FnMut(Node<'a>) -> bool) {
    if f(Node::Term(whole)) {
        return;
    }
    match &whole.kind {
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
        TermKind::ArrayComprehension(comprehension) | TermKind::SetComprehension(comprehension) => {
            deep(|| {
                term(&comprehension.term, f);
                body(&comprehension.body, f);
            })
        }
        TermKind::ObjectComprehension(comprehension) => deep(|| {
            term(&comprehension.key, f);
            term(&comprehension.value, f);
            body(&comprehension.body, f);
        }),
        TermKind::Template(template) => deep(|| {
            for part in &template.parts {
                match part {
                    TemplatePart::Text(text) => term(text, f),
                    TemplatePart::Expr(inner) => expr(inner, f),
                }
            }
        }),
        TermKind::Group(inner) => deep(|| term(inner, f)),
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
        if let Node::Term(term) = node {
            hit = hit || found(term);
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
    for part in head.args.iter_mut().chain(&mut head.key).chain(&mut head.value) {
        term_mut(part, order, f);
    }
}

/// Visits a body mutably.
pub fn body_mut(body: &mut Body, order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    if !f(NodeMut::Body(body)) {
        for statement in body {
            expr_mut(statement, order, f);
        }
    }
}

/// Visits an expression mutably.
pub fn expr_mut(expr: &mut Expr, order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    if f(NodeMut::Expr(expr)) {
        return;
    }
    match &mut expr.kind {
        ExprKind::Term(inner) => term_mut(inner, order, f),
        ExprKind::Call(terms) => all_mut(terms, order, f),
        ExprKind::Some(decl) => all_mut(&mut decl.symbols, order, f),
        ExprKind::Every(every) => deep(|| {
            let Every { key, value, domain, body, .. } = &mut **every;
            for part in key.iter_mut().chain([value, domain]) {
                term_mut(part, order, f);
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
    for part in terms {
        term_mut(part, order, f);
    }
}

/// Visits a term mutably.
pub fn term_mut(whole: &mut Term, order: Order, f: &mut impl FnMut(NodeMut<'_>) -> bool) {
    if f(NodeMut::Term(whole)) {
        return;
    }
    match &mut whole.kind {
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
        TermKind::ArrayComprehension(comprehension) | TermKind::SetComprehension(comprehension) => {
            deep(|| {
                term_mut(&mut comprehension.term, order, f);
                body_mut(&mut comprehension.body, order, f);
            })
        }
        TermKind::ObjectComprehension(comprehension) => deep(|| {
            term_mut(&mut comprehension.key, order, f);
            term_mut(&mut comprehension.value, order, f);
            body_mut(&mut comprehension.body, order, f);
        }),
        TermKind::Template(template) => deep(|| {
            for part in &mut template.parts {
                match part {
                    TemplatePart::Text(text) => term_mut(text, order, f),
                    TemplatePart::Expr(expr) => expr_mut(expr, order, f),
                }
            }
        }),
        TermKind::Group(inner) => deep(|| term_mut(inner, order, f)),
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
