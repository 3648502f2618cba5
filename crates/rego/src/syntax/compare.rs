//! OPA's order of terms, in which sets and objects are iterated. Elements that compare equal are
//! the same.

use std::cmp::Ordering;

use super::tree::{Body, Expr, ExprKind, Template, TemplatePart, Term, TermKind, With, is_root};
use crate::value::deeper;

/// Compares two terms. Positions and parentheses don't matter.
pub fn terms(a: &Term, b: &Term) -> Ordering {
    let (a, b) = (a.ungrouped(), b.ungrouped());
    let order = rank(&a.kind).cmp(&rank(&b.kind));
    if order.is_ne() || matches!(a.kind, TermKind::Null) {
        return order;
    }
    deeper(|| of_a_kind(a, b))
}

fn of_a_kind(a: &Term, b: &Term) -> Ordering {
    match (&a.kind, &b.kind) {
        (TermKind::Bool(a), TermKind::Bool(b)) => a.cmp(b),
        (TermKind::Number(a), TermKind::Number(b)) => a.cmp(b),
        (TermKind::String(a), TermKind::String(b)) | (TermKind::Var(a), TermKind::Var(b)) => {
            a.cmp(b)
        }
        (TermKind::Template(a), TermKind::Template(b)) => templates(a, b),
        (TermKind::Ref(_) | TermKind::Var(_), TermKind::Ref(_) | TermKind::Var(_)) => {
            references(parts(a), parts(b))
        }
        (TermKind::Array(a), TermKind::Array(b)) => slices(a, b),
        (TermKind::Object(a), TermKind::Object(b)) => objects(a, b),
        (TermKind::Set(a), TermKind::Set(b)) => {
            let (a, b) = (sorted(a), sorted(b));
            let order = a.iter().zip(&b).map(|(a, b)| terms(a, b)).find(|order| order.is_ne());
            order.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (TermKind::ArrayComprehension(a), TermKind::ArrayComprehension(b))
        | (TermKind::SetComprehension(a), TermKind::SetComprehension(b)) => {
            terms(&a.term, &b.term).then_with(|| bodies(&a.body, &b.body))
        }
        (TermKind::ObjectComprehension(a), TermKind::ObjectComprehension(b)) => {
            terms(&a.key, &b.key)
                .then_with(|| terms(&a.value, &b.value))
                .then_with(|| bodies(&a.body, &b.body))
        }
        (TermKind::Call(a), TermKind::Call(b)) => calls(a, b),
        _ => Ordering::Equal,
    }
}

fn rank(kind: &TermKind) -> u8 {
    match kind {
        TermKind::Var(name) if is_root(name) => TermKind::Ref(Vec::new()).rank(),
        TermKind::Group(inner) => rank(&inner.kind),
        kind => kind.rank(),
    }
}

/// The parts of a reference; a name is a reference of one part.
fn parts(term: &Term) -> &[Term] {
    match &term.kind {
        TermKind::Ref(parts) => parts,
        _ => std::slice::from_ref(term),
    }
}

fn references(a: &[Term], b: &[Term]) -> Ordering {
    match (a.split_first(), b.split_first()) {
        (Some((a_first, a_rest)), Some((b_first, b_rest))) => {
            // The first part is compared as a name even if it's `data` or `input`.
            let order = match (&a_first.kind, &b_first.kind) {
                (TermKind::Var(a), TermKind::Var(b)) => a.cmp(b),
                _ => terms(a_first, b_first),
            };
            order.then_with(|| slices(a_rest, b_rest))
        }
        _ => a.len().cmp(&b.len()),
    }
}

fn slices(a: &[Term], b: &[Term]) -> Ordering {
    let order = a.iter().zip(b).map(|(a, b)| terms(a, b)).find(|order| order.is_ne());
    order.unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn calls(a: &[Term], b: &[Term]) -> Ordering {
    match (a.split_first(), b.split_first()) {
        (Some((a_operator, a_rest)), Some((b_operator, b_rest))) => {
            references(parts(a_operator), parts(b_operator)).then_with(|| slices(a_rest, b_rest))
        }
        _ => a.len().cmp(&b.len()),
    }
}

fn sorted(elements: &[Term]) -> Vec<&Term> {
    let mut sorted: Vec<_> = elements.iter().collect();
    sorted.sort_by(|a, b| terms(a, b));
    sorted
}

fn objects(a: &[(Term, Term)], b: &[(Term, Term)]) -> Ordering {
    let sort = |pairs: &mut Vec<&(Term, Term)>| pairs.sort_by(|a, b| terms(&a.0, &b.0));
    let (mut a, mut b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
    sort(&mut a);
    sort(&mut b);
    for (a, b) in a.iter().zip(&b) {
        let order = terms(&a.0, &b.0).then_with(|| terms(&a.1, &b.1));
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

fn templates(a: &Template, b: &Template) -> Ordering {
    let parts = |a: &TemplatePart, b: &TemplatePart| match (a, b) {
        (TemplatePart::Text(a), TemplatePart::Text(b)) => terms(a, b),
        (TemplatePart::Expr(a), TemplatePart::Expr(b)) => exprs(a, b),
        (TemplatePart::Text(_), TemplatePart::Expr(_)) => Ordering::Less,
        (TemplatePart::Expr(_), TemplatePart::Text(_)) => Ordering::Greater,
    };
    a.raw.cmp(&b.raw).then_with(|| a.parts.len().cmp(&b.parts.len())).then_with(|| {
        let orders = a.parts.iter().zip(&b.parts).map(|(a, b)| parts(a, b));
        orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    })
}

/// Compares two bodies.
pub fn bodies(a: &Body, b: &Body) -> Ordering {
    let order = a.iter().zip(b).map(|(a, b)| exprs(a, b)).find(|order| order.is_ne());
    order.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Compares two statements, regardless of their positions.
pub fn exprs(a: &Expr, b: &Expr) -> Ordering {
    let rank = |expr: &Expr| match expr.kind {
        ExprKind::Some(_) => 0,
        ExprKind::Term(_) => 1,
        ExprKind::Call(_) => 2,
        ExprKind::Every(_) => 3,
        ExprKind::Not(_) => 4,
        ExprKind::And(_) => 5,
        ExprKind::Or(_) => 6,
    };
    let order = rank(a).cmp(&rank(b)).then_with(|| a.negated.cmp(&b.negated));
    order
        .then_with(|| match (&a.kind, &b.kind) {
            (ExprKind::Term(a), ExprKind::Term(b)) => terms(a, b),
            (ExprKind::Call(a), ExprKind::Call(b)) => calls(a, b),
            (ExprKind::Some(a), ExprKind::Some(b)) => {
                let orders = a.symbols.iter().zip(&b.symbols).map(|(a, b)| terms(a, b));
                let order = orders.into_iter().find(|order| order.is_ne());
                order.unwrap_or_else(|| a.symbols.len().cmp(&b.symbols.len()))
            }
            (ExprKind::Every(a), ExprKind::Every(b)) => {
                let keys = match (&a.key, &b.key) {
                    (Some(a), Some(b)) => terms(a, b),
                    (a, b) => a.is_some().cmp(&b.is_some()),
                };
                keys.then_with(|| terms(&a.value, &b.value))
                    .then_with(|| terms(&a.domain, &b.domain))
                    .then_with(|| bodies(&a.body, &b.body))
            }
            (ExprKind::Not(a), ExprKind::Not(b)) => deeper(|| bodies(&a.body, &b.body)),
            (ExprKind::And(a), ExprKind::And(b)) | (ExprKind::Or(a), ExprKind::Or(b)) => {
                deeper(|| bodies(&a.left, &b.left).then_with(|| bodies(&a.right, &b.right)))
            }
            _ => Ordering::Equal,
        })
        .then_with(|| {
            let order = a.with.iter().zip(&b.with).map(|(a, b)| withs(a, b));
            let order = order.into_iter().find(|order| order.is_ne());
            order.unwrap_or_else(|| a.with.len().cmp(&b.with.len()))
        })
}

fn withs(a: &With, b: &With) -> Ordering {
    terms(&a.target, &b.target).then_with(|| terms(&a.value, &b.value))
}

/// Sorts the elements of a set or the members of an object.
pub fn sort(term: &mut Term) {
    match &mut term.kind {
        TermKind::Set(elements) => elements.sort_by(terms),
        TermKind::Object(pairs) => pairs.sort_by(|a, b| terms(&a.0, &b.0)),
        _ => {}
    }
}

/// Removes duplicates from the elements of a set and keeps the first of equal ones, without
/// sorting.
pub fn unique(elements: Vec<Term>) -> Vec<Term> {
    let mut order: Vec<usize> = (0..elements.len()).collect();
    let compare = |a: usize, b: usize| match (elements.get(a), elements.get(b)) {
        (Some(a), Some(b)) => terms(a, b),
        _ => Ordering::Equal,
    };
    // The sort is stable, so that the first of equal elements stays first.
    order.sort_by(|a, b| compare(*a, *b));
    let mut kept = vec![true; elements.len()];
    let mut first = None;
    for index in order {
        match first {
            Some(first) if compare(first, index).is_eq() => {
                if let Some(kept) = kept.get_mut(index) {
                    *kept = false;
                }
            }
            _ => first = Some(index),
        }
    }
    elements.into_iter().zip(kept).filter_map(|(element, kept)| kept.then_some(element)).collect()
}
