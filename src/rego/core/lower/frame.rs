//! Variables to slots.
//!
//! ```text
//! p contains x if { some y in input.xs; x := y }      variables by name
//! [y: 0, x: 1]                                        one slot each, per definition or query
//! ```
//! Bodies within a rule share its frame, as they share its bindings in OPA: a name that is unbound
//! when a comprehension begins is unbound again when it ends.

use std::collections::HashMap;
use std::sync::Arc;

use crate::rego::core::{Scope, Slot, Term};
use crate::rego::syntax::tree::Name;

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

    /// Whether a variable has a slot.
    pub(super) fn has(&self, name: &Name) -> bool {
        self.slots.contains_key(name)
    }

    /// How many slots there are so far.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.names.len()).unwrap_or(u32::MAX)
    }

    /// Whether each variable of a term has a value here.
    pub(super) fn is_bound(&self, term: &Term) -> bool {
        let mut all = true;
        term.each_slot(&mut |slot| all &= self.bound.get(slot as usize).is_some_and(|bound| *bound));
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

    /// The frame, when all is lowered.
    pub(super) fn scope(self) -> Scope {
        Scope { slots: self.len(), names: self.names }
    }
}
