//! The variables that expressions mention.

use std::collections::BTreeSet;

use crate::core::{Body, ComprehensionKind, Head, Op, OpKind, Ref, Side, Slot, Term, WithValue};
use crate::value::deeper;

/// Returns the variables that an expression, or a body within it, mentions.
pub(super) fn mentioned(op: &Op) -> BTreeSet<Slot> {
    let mut found = BTreeSet::new();
    in_op(op, &mut found);
    found
}

/// Adds the variables in a term.
pub(super) fn named(term: &Term, found: &mut BTreeSet<Slot>) {
    term.each_slot(&mut |slot| {
        found.insert(slot);
    });
}

fn in_op(op: &Op, found: &mut BTreeSet<Slot>) {
    deeper(|| match &op.kind {
        OpKind::Unify(sides) => {
            in_side(&sides.0, found);
            in_side(&sides.1, found);
        }
        OpKind::Test(side) => in_side(side, found),
        OpKind::Call(call) => {
            call.args.iter().chain(&call.output).for_each(|term| named(term, found));
        }
        OpKind::Every(every) => {
            let terms = every.key.iter().chain([&every.value, &every.domain]);
            terms.for_each(|term| named(term, found));
            in_body(&every.body, found);
        }
        OpKind::Not(body) => in_body(body, found),
        OpKind::Negated(op) => in_op(op, found),
        OpKind::And(left, right) | OpKind::Or(left, right) => {
            in_body(left, found);
            in_body(right, found);
        }
        OpKind::With(with, op) => {
            for with in with {
                match &with.value {
                    WithValue::Term(term) => named(term, found),
                    WithValue::Ref(reference) => in_ref(reference, found),
                    WithValue::Comprehension(value) => in_body(&value.body, found),
                    WithValue::Function(..) => {}
                }
            }
            in_op(op, found);
        }
    });
}

fn in_body(body: &Body, found: &mut BTreeSet<Slot>) {
    body.iter().for_each(|op| in_op(op, found));
}

fn in_ref(reference: &Ref, found: &mut BTreeSet<Slot>) {
    if let Head::Var(slot) = reference.head {
        found.insert(slot);
    }
    reference.path.iter().for_each(|term| named(term, found));
}

fn in_side(side: &Side, found: &mut BTreeSet<Slot>) {
    match side {
        Side::Term(term) => named(term, found),
        Side::Ref(reference) => in_ref(reference, found),
        Side::Comprehension(comprehension) => {
            match &comprehension.kind {
                ComprehensionKind::Array(term) | ComprehensionKind::Set(term) => named(term, found),
                ComprehensionKind::Object(key, value, _) => {
                    named(key, found);
                    named(value, found);
                }
            }
            in_body(&comprehension.body, found);
        }
    }
}
