//! Removes differences of layout: drops grouping parentheses, and puts sets and objects in OPA's
//! order.

use super::compare;
use super::tree::{Body, Module, Term, TermKind};
use super::visit::{VisitMut, walk_term_mut};

struct Normalize;

impl VisitMut for Normalize {
    fn term(&mut self, term: &mut Term) {
        while let TermKind::Group(inner) = &mut term.kind {
            let inner =
                std::mem::replace(&mut **inner, Term { kind: TermKind::Null, span: term.span });
            *term = inner;
        }
        walk_term_mut(self, term);
        compare::sort(term);
    }
}

/// Normalizes a module.
pub fn module(module: &mut Module) {
    Normalize.module(module);
}

/// Normalizes a body.
pub fn body(body: &mut Body) {
    Normalize.body(body);
}
