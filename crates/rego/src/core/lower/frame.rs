//! Assigns slots to variables.
//!
//! ```text
//! p contains x if { some y in input.xs; x := y }      variables by name
//! [y: 0, x: 1]                                        one slot each, per definition or query
//! ```
//! All bodies in a rule share one frame, as they share their bindings in OPA: a variable that is
//! unbound when a comprehension begins is unbound again when it ends.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::compile::VarMap;
use crate::core::{InputPart, Scope, Slot, Term};
use crate::syntax::tree::Name;
use crate::value::Value;

/// The slots of a definition while it is being lowered, and which of them are bound at this point
/// in its body.
#[derive(Default)]
pub(super) struct Frame {
    slots: VarMap<Slot>,
    names: Vec<Arc<str>>,
    bound: Vec<bool>,
    /// The variables that stand for a part of the input.
    parts: Vec<(Slot, InputPart)>,
}

impl Frame {
    /// Returns the slot of a variable, which is added if need be.
    pub(super) fn slot(&mut self, name: &Name) -> Slot {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        let slot = Slot::try_from(self.names.len()).unwrap_or(Slot::MAX);
        self.slots.insert(name, slot);
        self.names.push(Arc::clone(name));
        self.bound.push(false);
        slot
    }

    /// Returns the part of the input that a variable is bound to.
    pub(super) fn part(&self, slot: Slot) -> InputPart {
        let found = self.parts.iter().find(|(known, _)| *known == slot);
        found.map_or(InputPart::None, |(_, part)| *part)
    }

    /// Records the part of the input that a variable is bound to.
    pub(super) fn set_part(&mut self, slot: Slot, part: InputPart) {
        if part != InputPart::None && self.part(slot) == InputPart::None {
            self.parts.push((slot, part));
        }
    }

    /// Returns `true` if a variable has a slot.
    pub(super) fn has(&self, name: &Name) -> bool {
        self.slots.contains(name)
    }

    /// Returns the number of slots so far.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.names.len()).unwrap_or(u32::MAX)
    }

    /// Returns `true` if all variables in a term are bound here.
    pub(super) fn is_bound(&self, term: &Term) -> bool {
        let mut all = true;
        term.each_slot(&mut |slot| {
            all &= self.bound.get(slot as usize).is_some_and(|bound| *bound);
        });
        all
    }

    /// Marks all variables in a term as bound from here on.
    pub(super) fn bind(&mut self, term: &Term) {
        term.each_slot(&mut |slot| {
            if let Some(bound) = self.bound.get_mut(slot as usize) {
                *bound = true;
            }
        });
    }

    /// Returns which variables are bound, for [`Self::leave`] to restore.
    pub(super) fn enter(&self) -> Vec<bool> {
        self.bound.clone()
    }

    /// Restores the bindings from before a nested body.
    pub(super) fn leave(&mut self, mut before: Vec<bool>) {
        before.resize(self.names.len(), false);
        self.bound = before;
    }

    /// Sorts the elements of a set or the members of an object into OPA's order of terms, in which
    /// they are iterated as long as their variables haven't been substituted.
    pub(super) fn sorted<T>(&self, mut items: Vec<T>, term: impl Fn(&T) -> &Term) -> Box<[T]> {
        items.sort_by(|a, b| self.order(term(a), term(b)));
        items.into()
    }

    fn order(&self, a: &Term, b: &Term) -> Ordering {
        let slice = |a: &[Term], b: &[Term]| {
            let pairs = a.iter().zip(b).map(|(a, b)| self.order(a, b));
            pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        };
        match (a, b) {
            (Term::Const(a), Term::Const(b)) => a.cmp(b),
            (Term::Var(a), Term::Var(b)) => {
                self.names.get(*a as usize).cmp(&self.names.get(*b as usize))
            }
            (Term::Array(a), Term::Array(b)) | (Term::Set(a), Term::Set(b)) => slice(a, b),
            (Term::Object(a), Term::Object(b)) => {
                let pairs = a.iter().zip(b.iter());
                let pairs =
                    pairs.map(|(a, b)| self.order(&a.0, &b.0).then_with(|| self.order(&a.1, &b.1)));
                pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
            }
            (a, b) => rank(a).cmp(&rank(b)),
        }
    }

    /// Returns the variables, once everything is lowered.
    pub(super) fn scope(self) -> Scope {
        Scope { slots: self.len(), names: self.names }
    }
}

/// The rank of a kind of term in OPA's order: scalars, variables, collections.
fn rank(term: &Term) -> u8 {
    match term {
        Term::Const(Value::Array(_)) | Term::Array(_) => 2,
        Term::Const(Value::Object(_)) | Term::Object(_) => 3,
        Term::Const(Value::Set(_)) | Term::Set(_) => 4,
        Term::Const(_) => 0,
        Term::Var(_) => 1,
    }
}
