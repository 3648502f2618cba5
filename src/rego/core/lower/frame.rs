//! Variables to slots.
//!
//! ```text
//! p contains x if { some y in input.xs; x := y }      variables by name
//! [y: 0, x: 1]                                        one slot each, per definition or query
//! ```
//! Bodies within a rule share its frame, as they share its bindings in OPA: a name that is unbound
//! when a comprehension begins is unbound again when it ends.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::rego::core::{Scope, Slot, Term};
use crate::rego::syntax::tree::Name;
use crate::rego::value::Value;

/// The slots of a definition while it is lowered, and which of them have a value at this point of
/// its body.
#[derive(Default)]
pub(super) struct Frame {
    slots: HashMap<Name, Slot>,
    names: Vec<Arc<str>>,
    bound: Vec<bool>,
}

impl Frame {
    /// The slot of a variable.
    pub(super) fn slot(&mut self, name: &Name) -> Slot {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        let slot = Slot::try_from(self.names.len()).unwrap_or(Slot::MAX);
        self.slots.insert(Arc::clone(name), slot);
        self.names.push(Arc::clone(name));
        self.bound.push(false);
        slot
    }

    /// True if a variable has a slot.
    pub(super) fn has(&self, name: &Name) -> bool {
        self.slots.contains_key(name)
    }

    /// The number of slots there are so far.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.names.len()).unwrap_or(u32::MAX)
    }

    /// True if each variable of a term has a value here.
    pub(super) fn is_bound(&self, term: &Term) -> bool {
        let mut all = true;
        term.each_slot(&mut |slot| {
            all &= self.bound.get(slot as usize).is_some_and(|bound| *bound);
        });
        all
    }

    /// Each variable of a term has a value from here on.
    pub(super) fn bind(&mut self, term: &Term) {
        term.each_slot(&mut |slot| {
            if let Some(bound) = self.bound.get_mut(slot as usize) {
                *bound = true;
            }
        });
    }

    /// What has a value here, to be put back by [`Self::leave`].
    pub(super) fn enter(&self) -> Vec<bool> {
        self.bound.clone()
    }

    /// At the end of a body within.
    pub(super) fn leave(&mut self, mut before: Vec<bool>) {
        before.resize(self.names.len(), false);
        self.bound = before;
    }

    /// Elements of a set, or members of an object, in OPA's order of terms: it is the order in
    /// which they are looked through while their variables' values aren't put in their places.
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

    /// The frame, when all is lowered.
    pub(super) fn scope(self) -> Scope {
        Scope { slots: self.len(), names: self.names }
    }
}

/// The place of a kind of term in OPA's order: scalars, variables, collections.
fn rank(term: &Term) -> u8 {
    match term {
        Term::Const(Value::Array(_)) | Term::Array(_) => 2,
        Term::Const(Value::Object(_)) | Term::Object(_) => 3,
        Term::Const(Value::Set(_)) | Term::Set(_) => 4,
        Term::Const(_) => 0,
        Term::Var(_) => 1,
    }
}
