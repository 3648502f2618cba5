//! OPA's order of terms, in which sets and objects are iterated. Elements that compare equal are
//! the same.

use std::cmp::Ordering;

use super::tree::{
    Body, Comprehension, Expr, ExprKind, Template, TemplatePart, Term, TermKind, With, is_root,
};
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
        (TermKind::Template(a), TermKind::Template(b)) => WRITTEN.templates(a, b),
        (TermKind::Ref(_) | TermKind::Var(_), TermKind::Ref(_) | TermKind::Var(_)) => {
            references(a.ref_parts(), b.ref_parts())
        }
        (TermKind::Array(a), TermKind::Array(b)) => slices(a, b),
        (TermKind::Object(a), TermKind::Object(b)) => objects(a, b),
        (TermKind::Set(a), TermKind::Set(b)) => {
            lexical(&sorted(a, |element| element), &sorted(b, |element| element), |a, b| {
                terms(a, b)
            })
        }
        (TermKind::Comprehension(_, a), TermKind::Comprehension(_, b)) => {
            WRITTEN.comprehensions(a, b)
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
    lexical(a, b, terms)
}

/// Compares two slices by their first different members, then by their lengths.
pub fn lexical<T>(a: &[T], b: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Ordering {
    let mut pairs = a.iter().zip(b).map(|(a, b)| compare(a, b));
    pairs.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn calls(a: &[Term], b: &[Term]) -> Ordering {
    match (a.split_first(), b.split_first()) {
        (Some((a_operator, a_rest)), Some((b_operator, b_rest))) => {
            references(a_operator.ref_parts(), b_operator.ref_parts())
                .then_with(|| slices(a_rest, b_rest))
        }
        _ => a.len().cmp(&b.len()),
    }
}

fn objects(a: &[(Term, Term)], b: &[(Term, Term)]) -> Ordering {
    lexical(&sorted(a, |pair| &pair.0), &sorted(b, |pair| &pair.0), |a, b| {
        terms(&a.0, &b.0).then_with(|| terms(&a.1, &b.1))
    })
}

/// Elements of a set or members of an object, sorted by their keys.
fn sorted<T>(members: &[T], key: impl Fn(&T) -> &Term) -> Vec<&T> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by(|a, b| terms(key(a), key(b)));
    sorted
}

/// Compares two bodies.
pub fn bodies(a: &Body, b: &Body) -> Ordering {
    WRITTEN.bodies(a, b)
}

/// An order of statements, given those of terms and of calls. Positions don't matter.
pub struct StatementOrder {
    pub terms: fn(&Term, &Term) -> Ordering,
    pub calls: fn(&[Term], &[Term]) -> Ordering,
}

/// The order of statements as they are written.
const WRITTEN: StatementOrder = StatementOrder { terms, calls };

impl StatementOrder {
    /// Compares two templates.
    pub fn templates(&self, a: &Template, b: &Template) -> Ordering {
        a.raw.cmp(&b.raw).then_with(|| a.parts.len().cmp(&b.parts.len())).then_with(|| {
            lexical(&a.parts, &b.parts, |a, b| match (a, b) {
                (TemplatePart::Text(a), TemplatePart::Text(b)) => (self.terms)(a, b),
                (TemplatePart::Expr(a), TemplatePart::Expr(b)) => self.exprs(a, b),
                (TemplatePart::Text(_), TemplatePart::Expr(_)) => Ordering::Less,
                (TemplatePart::Expr(_), TemplatePart::Text(_)) => Ordering::Greater,
            })
        })
    }

    /// Compares two comprehensions of the same kind.
    pub fn comprehensions(&self, a: &Comprehension, b: &Comprehension) -> Ordering {
        self.pairs((&a.key, &a.value), (&b.key, &b.value))
            .then_with(|| self.bodies(&a.body, &b.body))
    }

    /// Compares two values with their keys, if they have keys.
    fn pairs(&self, a: (&Option<Term>, &Term), b: (&Option<Term>, &Term)) -> Ordering {
        let keys = match (a.0, b.0) {
            (Some(a), Some(b)) => (self.terms)(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        keys.then_with(|| (self.terms)(a.1, b.1))
    }

    /// Compares two bodies.
    pub fn bodies(&self, a: &Body, b: &Body) -> Ordering {
        lexical(a, b, |a, b| self.exprs(a, b))
    }

    /// Compares two statements.
    pub fn exprs(&self, a: &Expr, b: &Expr) -> Ordering {
        let rank = |expr: &Expr| match expr.kind {
            ExprKind::Some(_) => 0,
            ExprKind::Term(_) => 1,
            ExprKind::Call(_) => 2,
            ExprKind::Every(_) => 3,
            ExprKind::Not(_) => 4,
            ExprKind::And(_) => 5,
            ExprKind::Or(_) => 6,
        };
        let kinds = || match (&a.kind, &b.kind) {
            (ExprKind::Term(a), ExprKind::Term(b)) => (self.terms)(a, b),
            (ExprKind::Call(a), ExprKind::Call(b)) => (self.calls)(a, b),
            (ExprKind::Some(a), ExprKind::Some(b)) => lexical(&a.symbols, &b.symbols, self.terms),
            (ExprKind::Every(a), ExprKind::Every(b)) => self
                .pairs((&a.key, &a.value), (&b.key, &b.value))
                .then_with(|| (self.terms)(&a.domain, &b.domain))
                .then_with(|| deeper(|| self.bodies(&a.body, &b.body))),
            (ExprKind::Not(a), ExprKind::Not(b)) => deeper(|| self.bodies(&a.body, &b.body)),
            (ExprKind::And(a), ExprKind::And(b)) | (ExprKind::Or(a), ExprKind::Or(b)) => {
                deeper(|| {
                    self.bodies(&a.left, &b.left).then_with(|| self.bodies(&a.right, &b.right))
                })
            }
            _ => Ordering::Equal,
        };
        rank(a)
            .cmp(&rank(b))
            .then_with(|| a.negated.cmp(&b.negated))
            .then_with(kinds)
            .then_with(|| lexical(&a.with, &b.with, |a, b| self.withs(a, b)))
    }

    /// Compares the targets and values of `with`.
    pub fn withs(&self, a: &With, b: &With) -> Ordering {
        (self.terms)(&a.target, &b.target).then_with(|| (self.terms)(&a.value, &b.value))
    }
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
