//! The order of terms, by which OPA sorts members of objects and elements of sets.
//!
//! Positions don't matter: two terms are equal if they are written alike.

use std::cmp::Ordering;

use crate::syntax::compare::{StatementOrder, lexical};
use crate::syntax::tree::{Expr, Term, TermKind, With};

use super::stack::deep;

/// Compares two terms.
pub fn terms(a: &Term, b: &Term) -> Ordering {
    match (&a.kind, &b.kind) {
        (TermKind::Bool(a), TermKind::Bool(b)) => a.cmp(b),
        (TermKind::Number(a), TermKind::Number(b)) => a.cmp(b),
        (TermKind::String(a), TermKind::String(b)) | (TermKind::Var(a), TermKind::Var(b)) => {
            a.cmp(b)
        }
        (TermKind::Template(a), TermKind::Template(b)) => deep(|| COMPILED.templates(a, b)),
        (TermKind::Ref(a), TermKind::Ref(b))
        | (TermKind::Array(a), TermKind::Array(b))
        | (TermKind::Set(a), TermKind::Set(b))
        | (TermKind::Call(a), TermKind::Call(b)) => deep(|| slices(a, b)),
        (TermKind::Object(a), TermKind::Object(b)) => {
            deep(|| lexical(a, b, |(ak, av), (bk, bv)| terms(ak, bk).then_with(|| terms(av, bv))))
        }
        (TermKind::Comprehension(a_of, a), TermKind::Comprehension(b_of, b)) if a_of == b_of => {
            deep(|| COMPILED.comprehensions(a, b))
        }
        (TermKind::Group(a), TermKind::Group(b)) => deep(|| terms(a, b)),
        (a, b) => a.rank().cmp(&b.rank()),
    }
}

/// Returns `true` if two terms are written alike.
pub fn equal(a: &Term, b: &Term) -> bool {
    terms(a, b).is_eq()
}

/// Compares references, arrays, sets, calls and arguments.
pub fn slices(a: &[Term], b: &[Term]) -> Ordering {
    lexical(a, b, terms)
}

/// The order of statements in compiled trees.
const COMPILED: StatementOrder = StatementOrder { terms, calls: slices };

/// Compares two expressions, regardless of their positions.
pub fn exprs(a: &Expr, b: &Expr) -> Ordering {
    COMPILED.exprs(a, b)
}

/// Returns `true` if two lists of `with` are the same ones: written alike, at the same position.
pub fn same_withs(a: &[With], b: &[With]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| a.span == b.span && COMPILED.withs(a, b).is_eq())
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
