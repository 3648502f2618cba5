//! Unification: terms are made equal by binding their variables.

use std::borrow::Cow;

use super::machine::{Bound, Machine};
use crate::rego::core::{Slot, Term};
use crate::rego::value::{Value, deeper, object_of, set_of};

/// A term as it is seen through its variables.
enum Seen<'s, 'p> {
    Free(u32),
    Value(&'s Value),
    Term(&'p Term, u32),
}

impl<'p> Machine<'p, '_> {
    /// What a variable is bound to.
    #[inline]
    fn see_slot(&self, slot: u32) -> Seen<'_, 'p> {
        let mut slot = slot;
        loop {
            match self.slots.get(slot as usize) {
                Some(Bound::Value(value)) => return Seen::Value(value),
                Some(Bound::Alias(other)) => slot = *other,
                Some(Bound::Term(term, base)) => return Seen::Term(term, *base),
                Some(Bound::Free) | None => return Seen::Free(slot),
            }
        }
    }

    #[inline]
    fn see<'s>(&'s self, term: &'p Term, base: u32) -> Seen<'s, 'p> {
        match term {
            Term::Const(value) => Seen::Value(value),
            Term::Var(slot) => self.see_slot(base + slot),
            term => Seen::Term(term, base),
        }
    }

    /// True if a term is a variable without value.
    pub(super) fn is_free(&self, term: &'p Term, base: u32) -> bool {
        matches!(self.see(term, base), Seen::Free(_))
    }

    /// The value of a variable, if it has one.
    #[inline]
    pub(super) fn slot_value(&self, slot: Slot, base: u32) -> Option<&Value> {
        match self.see_slot(base + slot) {
            Seen::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The term that a variable is bound to, where that has variables of its own.
    pub(super) fn slot_term(&self, slot: Slot, base: u32) -> Option<(&'p Term, u32)> {
        match self.see_slot(base + slot) {
            Seen::Term(term, base) => Some((term, base)),
            _ => None,
        }
    }

    /// The term that a term is, through its variables.
    pub(super) fn through(&self, term: &'p Term, base: u32) -> (&'p Term, u32) {
        match self.see(term, base) {
            Seen::Term(term, base) => (term, base),
            _ => (term, base),
        }
    }

    /// A term's value, if all its variables have one.
    #[inline]
    pub(super) fn value<'s>(&'s self, term: &'p Term, base: u32) -> Option<Cow<'s, Value>> {
        match self.see(term, base) {
            Seen::Value(value) => Some(Cow::Borrowed(value)),
            Seen::Free(_) => None,
            Seen::Term(term, base) => self.build(term, base).map(Cow::Owned),
        }
    }

    /// The same for whoever looks from outside.
    pub(super) fn seen(&self, term: &Term, base: u32) -> Option<Value> {
        match term {
            Term::Const(value) => Some(value.clone()),
            Term::Var(slot) => match self.see_slot(base + slot) {
                Seen::Value(value) => Some(value.clone()),
                Seen::Free(_) => None,
                Seen::Term(term, base) => self.build(term, base),
            },
            term => self.build(term, base),
        }
    }

    fn build(&self, term: &Term, base: u32) -> Option<Value> {
        deeper(|| {
            Some(match term {
                Term::Const(_) | Term::Var(_) => self.seen(term, base)?,
                Term::Array(items) => Value::from(self.build_all(items, base)?),
                Term::Set(items) => Value::from(set_of(self.build_all(items, base)?)),
                Term::Object(members) => {
                    let members = members
                        .iter()
                        .map(|(key, value)| Some((self.seen(key, base)?, self.seen(value, base)?)));
                    Value::from(object_of(members.collect::<Option<Vec<_>>>()?))
                }
            })
        })
    }

    /// A term's value as the rule index sees it: with an empty object for each variable without one.
    pub(super) fn outline(&self, term: &Term, base: u32) -> Value {
        if let Some(value) = self.seen(term, base) {
            return value;
        }
        let (term, base) = match term {
            Term::Var(slot) => match self.see_slot(base + slot) {
                Seen::Term(term, base) => (term, base),
                _ => return Value::new_object(),
            },
            term => (term, base),
        };
        match term {
            Term::Array(items) => {
                let items = items.iter().map(|item| deeper(|| self.outline(item, base)));
                Value::from(items.collect::<Vec<_>>())
            }
            Term::Object(members) => {
                let members = members.iter().filter_map(|(key, value)| {
                    Some((self.seen(key, base)?, deeper(|| self.outline(value, base))))
                });
                Value::from(object_of(members.collect::<Vec<_>>()))
            }
            _ => Value::new_object(),
        }
    }

    fn build_all(&self, items: &[Term], base: u32) -> Option<Vec<Value>> {
        items.iter().map(|item| self.seen(item, base)).collect()
    }

    /// The term as it is looked through, where that isn't in the order of its elements' values.
    /// As in OPA, what a term's variables stand for isn't put in their places before it is kept.
    pub(super) fn irregular(&self, term: &'p Term, base: u32) -> Option<(&'p Term, u32)> {
        match self.see(term, base) {
            Seen::Term(term, base) if self.is_irregular(term, base) => Some((term, base)),
            _ => None,
        }
    }

    fn is_irregular(&self, term: &Term, base: u32) -> bool {
        let in_order = |items: &mut dyn Iterator<Item = &Term>| {
            let mut before: Option<Value> = None;
            for item in items {
                let Some(value) = self.seen(item, base) else { return true };
                if before.as_ref().is_some_and(|before| *before >= value) {
                    return false;
                }
                before = Some(value);
            }
            true
        };
        deeper(|| match term {
            Term::Const(_) => false,
            Term::Var(slot) => matches!(self.see_slot(base + slot), Seen::Term(..)),
            Term::Array(items) => items.iter().any(|item| self.is_irregular(item, base)),
            Term::Set(items) => {
                !in_order(&mut items.iter())
                    || items.iter().any(|item| self.is_irregular(item, base))
            }
            Term::Object(members) => {
                !in_order(&mut members.iter().map(|(key, _)| key))
                    || members.iter().any(|(_, value)| self.is_irregular(value, base))
            }
        })
    }

    #[inline]
    pub(super) fn bind(&mut self, slot: u32, bound: Bound<'p>) {
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = bound;
            self.trail.push(slot);
        }
    }

    /// Makes a term equal to a value.
    #[inline]
    pub(super) fn unify_value(&mut self, term: &'p Term, base: u32, value: &Value) -> bool {
        match self.see(term, base) {
            Seen::Value(seen) => seen == value,
            Seen::Free(slot) => {
                self.bind(slot, Bound::Value(value.clone()));
                true
            }
            Seen::Term(term, base) => deeper(|| self.match_term(term, base, value)),
        }
    }

    /// Makes a term equal to a value that isn't needed any more.
    #[inline]
    pub(super) fn unify_owned(&mut self, term: &'p Term, base: u32, value: Value) -> bool {
        match self.see(term, base) {
            Seen::Free(slot) => {
                self.bind(slot, Bound::Value(value));
                true
            }
            _ => self.unify_value(term, base, &value),
        }
    }

    fn match_term(&mut self, term: &'p Term, base: u32, value: &Value) -> bool {
        match (term, value) {
            (Term::Array(items), Value::Array(values)) => {
                items.len() == values.len()
                    && items
                        .iter()
                        .zip(values.iter())
                        .all(|(item, value)| self.unify_value(item, base, value))
            }
            (Term::Object(members), Value::Object(values)) => {
                members.len() == values.len()
                    && members.iter().all(|(key, item)| {
                        // Keys are compared, not bound.
                        let Some(key) = self.value(key, base) else { return false };
                        let Some(value) = values.get(&*key) else { return false };
                        self.unify_value(item, base, value)
                    })
            }
            (Term::Set(_), Value::Set(_)) => {
                self.build(term, base).is_some_and(|built| built == *value)
            }
            _ => false,
        }
    }

    /// Makes two terms equal, perhaps of different frames.
    pub(super) fn unify(&mut self, a: &'p Term, a_base: u32, b: &'p Term, b_base: u32) -> bool {
        match (self.see(a, a_base), self.see(b, b_base)) {
            (Seen::Value(a), Seen::Value(b)) => a == b,
            (Seen::Free(a), Seen::Free(b)) => {
                if a != b {
                    self.bind(a, Bound::Alias(b));
                }
                true
            }
            (Seen::Free(slot), Seen::Value(value)) | (Seen::Value(value), Seen::Free(slot)) => {
                let bound = Bound::Value(value.clone());
                self.bind(slot, bound);
                true
            }
            (Seen::Free(slot), Seen::Term(term, base))
            | (Seen::Term(term, base), Seen::Free(slot)) => {
                let bound = match self.build(term, base) {
                    Some(value) if !self.is_irregular(term, base) => Bound::Value(value),
                    _ => Bound::Term(term, base),
                };
                self.bind(slot, bound);
                true
            }
            (Seen::Value(value), Seen::Term(term, base))
            | (Seen::Term(term, base), Seen::Value(value)) => {
                let value = value.clone();
                deeper(|| self.match_term(term, base, &value))
            }
            (Seen::Term(a, a_base), Seen::Term(b, b_base)) => {
                deeper(|| self.unify_terms(a, a_base, b, b_base))
            }
        }
    }

    fn unify_terms(&mut self, a: &'p Term, a_base: u32, b: &'p Term, b_base: u32) -> bool {
        match (a, b) {
            (Term::Array(a), Term::Array(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b.iter()).all(|(a, b)| self.unify(a, a_base, b, b_base))
            }
            (Term::Object(a), Term::Object(b)) => {
                if a.len() != b.len() {
                    return false;
                }
                a.iter().all(|(key, value)| {
                    let Some(key) = self.value(key, a_base).map(Cow::into_owned) else {
                        return false;
                    };
                    let other = b.iter().find(|(other, _)| {
                        self.value(other, b_base).is_some_and(|other| *other == key)
                    });
                    other.is_some_and(|(_, other)| self.unify(value, a_base, other, b_base))
                })
            }
            (Term::Set(_), Term::Set(_)) => {
                let a = self.build(a, a_base);
                a.is_some() && a == self.build(b, b_base)
            }
            _ => false,
        }
    }
}
