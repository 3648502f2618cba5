//! The variables that expressions mention.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::{Body, Op, OpKind, Side, Slot, Term, WithValue};
use crate::value::deeper;

/// The variables that the expressions of a body mention, and where.
pub(super) struct Mentions {
    pub by_index: Vec<BTreeSet<Slot>>,
    /// The indexes of the expressions that mention a variable, in order.
    users: BTreeMap<Slot, Vec<usize>>,
}

impl Mentions {
    pub fn of(body: &Body) -> Self {
        let by_index: Vec<_> = body.iter().map(mentioned).collect();
        let mut users: BTreeMap<Slot, Vec<usize>> = BTreeMap::new();
        for (index, slots) in by_index.iter().enumerate() {
            slots.iter().for_each(|slot| users.entry(*slot).or_default().push(index));
        }
        Self { by_index, users }
    }

    /// The indexes of the expressions that mention a variable, in order.
    pub fn users(&self, slot: Slot) -> &[usize] {
        self.users.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// The variables that other expressions than one mention.
    pub fn besides(&self, index: usize) -> impl Iterator<Item = &Slot> {
        let others = self.users.iter().filter(move |(_, at)| at.iter().any(|at| *at != index));
        others.map(|(slot, _)| slot)
    }

    /// The variables that an expression is the first to mention.
    pub fn new_at(&self, index: usize) -> impl Iterator<Item = Slot> {
        let slots = self.by_index.get(index).into_iter().flatten().copied();
        slots.filter(move |slot| self.users(*slot).first() == Some(&index))
    }
}

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
        OpKind::Unify(_) | OpKind::Test(_) => op.sides().for_each(|side| in_side(side, found)),
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
                    WithValue::Ref(reference) => {
                        reference.each_operand(&mut |term| named(term, found));
                    }
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

fn in_side(side: &Side, found: &mut BTreeSet<Slot>) {
    side.each_operand(&mut |term| named(term, found));
    if let Side::Comprehension(comprehension) = side {
        comprehension.kind.each_term(&mut |term| named(term, found));
        in_body(&comprehension.body, found);
    }
}
