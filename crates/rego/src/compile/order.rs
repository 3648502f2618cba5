//! The order of terms, by which OPA sorts members of objects and elements of sets.
//!
//! Positions don't matter: two terms are equal if they are written alike.

use std::cmp::Ordering;

use crate::syntax::tree::{Body, Expr, ExprKind, Template, TemplatePart, Term, TermKind, With};

use super::stack::deep;

/// Compares two terms.
pub fn terms(a: &Term, b: &Term) -> Ordering {
    match (&a.kind, &b.kind) {
        (TermKind::Bool(a), TermKind::Bool(b)) => a.cmp(b),
        (TermKind::Number(a), TermKind::Number(b)) => a.cmp(b),
        (TermKind::String(a), TermKind::String(b)) | (TermKind::Var(a), TermKind::Var(b)) => {
            a.cmp(b)
        }
        (TermKind::Template(a), TermKind::Template(b)) => deep(|| templates(a, b)),
        (TermKind::Ref(a), TermKind::Ref(b))
        | (TermKind::Array(a), TermKind::Array(b))
        | (TermKind::Set(a), TermKind::Set(b))
        | (TermKind::Call(a), TermKind::Call(b)) => deep(|| slices(a, b)),
        (TermKind::Object(a), TermKind::Object(b)) => {
            deep(|| lexical(a, b, |(ak, av), (bk, bv)| terms(ak, bk).then_with(|| terms(av, bv))))
        }
        (TermKind::ArrayComprehension(a), TermKind::ArrayComprehension(b))
        | (TermKind::SetComprehension(a), TermKind::SetComprehension(b)) => {
            deep(|| terms(&a.term, &b.term).then_with(|| bodies(&a.body, &b.body)))
        }
        (TermKind::ObjectComprehension(a), TermKind::ObjectComprehension(b)) => deep(|| {
            terms(&a.key, &b.key)
                .then_with(|| terms(&a.value, &b.value))
                .then_with(|| bodies(&a.body, &b.body))
        }),
        (TermKind::Group(a), TermKind::Group(b)) => deep(|| terms(a, b)),
        (a, b) => a.rank().cmp(&b.rank()),
    }
}

/// Returns `true` if two terms are written alike.
pub fn equal(a: &Term, b: &Term) -> bool {
    terms(a, b).is_eq()
}

fn lexical<T>(a: &[T], b: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Ordering {
    let mut pairs = a.iter().zip(b).map(|(a, b)| compare(a, b));
    pairs.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Compares references, arrays, sets, calls and arguments.
pub fn slices(a: &[Term], b: &[Term]) -> Ordering {
    lexical(a, b, terms)
}

fn templates(a: &Template, b: &Template) -> Ordering {
    a.raw.cmp(&b.raw).then_with(|| a.parts.len().cmp(&b.parts.len())).then_with(|| {
        lexical(&a.parts, &b.parts, |a, b| match (a, b) {
            (TemplatePart::Text(a), TemplatePart::Text(b)) => terms(a, b),
            (TemplatePart::Expr(a), TemplatePart::Expr(b)) => exprs(a, b),
            (TemplatePart::Text(_), TemplatePart::Expr(_)) => Ordering::Less,
            (TemplatePart::Expr(_), TemplatePart::Text(_)) => Ordering::Greater,
        })
    })
}

/// Compares two bodies.
pub fn bodies(a: &Body, b: &Body) -> Ordering {
    lexical(a, b, exprs)
}

fn expr_rank(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Some(_) => 0,
        ExprKind::Term(_) => 1,
        ExprKind::Call(_) => 2,
        ExprKind::Every(_) => 3,
        ExprKind::Not(_) => 4,
        ExprKind::And(_) => 5,
        ExprKind::Or(_) => 6,
    }
}

/// Compares two expressions, regardless of their positions.
pub fn exprs(a: &Expr, b: &Expr) -> Ordering {
    let kinds = || match (&a.kind, &b.kind) {
        (ExprKind::Term(a), ExprKind::Term(b)) => terms(a, b),
        (ExprKind::Call(a), ExprKind::Call(b)) => slices(a, b),
        (ExprKind::Some(a), ExprKind::Some(b)) => slices(&a.symbols, &b.symbols),
        (ExprKind::Every(a), ExprKind::Every(b)) => {
            let keys = match (&a.key, &b.key) {
                (Some(a), Some(b)) => terms(a, b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            };
            keys.then_with(|| terms(&a.value, &b.value))
                .then_with(|| terms(&a.domain, &b.domain))
                .then_with(|| deep(|| bodies(&a.body, &b.body)))
        }
        (ExprKind::Not(a), ExprKind::Not(b)) => deep(|| bodies(&a.body, &b.body)),
        (ExprKind::And(a), ExprKind::And(b)) | (ExprKind::Or(a), ExprKind::Or(b)) => {
            deep(|| bodies(&a.left, &b.left).then_with(|| bodies(&a.right, &b.right)))
        }
        (a, b) => expr_rank(a).cmp(&expr_rank(b)),
    };
    expr_rank(&a.kind)
        .cmp(&expr_rank(&b.kind))
        .then(a.negated.cmp(&b.negated))
        .then_with(kinds)
        .then_with(|| lexical(&a.with, &b.with, withs))
}

fn withs(a: &With, b: &With) -> Ordering {
    terms(&a.target, &b.target).then_with(|| terms(&a.value, &b.value))
}

/// Returns `true` if two lists of `with` are the same ones: written alike, at the same position.
pub fn same_withs(a: &[With], b: &[With]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.span == b.span && withs(a, b).is_eq())
}

/// Sorts the elements of a set or the members of an object.
pub fn sort(term: &mut Term) {
    match &mut term.kind {
        TermKind::Set(elements) => sort_set(elements),
        TermKind::Object(members) => sort_object(members),
        _ => {}
    }
}

/// Sorts the elements of a set, and keeps the first of equal ones.
fn sort_set(elements: &mut Vec<Term>) {
    if !elements.is_sorted_by(|a, b| terms(a, b).is_lt()) {
        elements.sort_by(terms);
        elements.dedup_by(|b, a| equal(a, b));
    }
}

/// Sorts the members of an object, and keeps the last value of equal keys.
fn sort_object(members: &mut Vec<(Term, Term)>) {
    if !members.is_sorted_by(|a, b| terms(&a.0, &b.0).is_lt()) {
        members.sort_by(|a, b| terms(&a.0, &b.0));
        members.dedup_by(|b, a| {
            let same = equal(&a.0, &b.0);
            if same {
                std::mem::swap(&mut a.1, &mut b.1);
            }
            same
        });
    }
}
