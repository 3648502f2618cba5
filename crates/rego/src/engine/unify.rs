//! Unification: two terms are made equal by binding their variables.

use std::borrow::Cow;

use super::machine::{Bound, Machine};
use crate::core::{Slot, Term};
use crate::value::{Value, deeper, object_of, set_of};

/// A term after its variables have been followed.
enum Binding<'s, 'p> {
    Free(u32),
    Value(&'s Value),
    Term(&'p Term, u32),
}

impl<'p> Machine<'p, '_> {
    /// Follows a slot to what it is bound to.
    #[inline]
    fn follow_slot(&self, slot: u32) -> Binding<'_, 'p> {
        let slot = self.last_slot(slot);
        match self.slots.get(slot as usize) {
            Some(Bound::Value(value)) => Binding::Value(value),
            Some(Bound::Term(term, base) | Bound::Endless(term, base)) => {
                Binding::Term(term, *base)
            }
            Some(Bound::Free | Bound::Missing | Bound::Alias(_)) | None => Binding::Free(slot),
        }
    }

    /// The slot at the end of a chain of aliases.
    #[inline]
    fn last_slot(&self, mut slot: u32) -> u32 {
        while let Some(Bound::Alias(other)) = self.slots.get(slot as usize) {
            slot = *other;
        }
        slot
    }

    /// Returns `true` if a slot is bound to a term that contains the slot itself.
    fn is_endless(&self, slot: u32) -> bool {
        matches!(self.slots.get(self.last_slot(slot) as usize), Some(Bound::Endless(..)))
    }

    /// Returns `true` if an unbound slot occurs in a term. `seen` are the slots that were followed.
    fn occurs(&self, wanted: u32, term: &Term, base: u32, seen: &mut Vec<u32>) -> bool {
        deeper(|| match term {
            Term::Const(_) => false,
            Term::Var(slot) => {
                let slot = self.last_slot(base + slot);
                match self.slots.get(slot as usize) {
                    Some(Bound::Term(term, base)) if !seen.contains(&slot) => {
                        seen.push(slot);
                        self.occurs(wanted, term, *base, seen)
                    }
                    _ => slot == wanted,
                }
            }
            Term::Array(items) | Term::Set(items) => {
                items.iter().any(|item| self.occurs(wanted, item, base, seen))
            }
            Term::Object(members) => members.iter().any(|(key, value)| {
                self.occurs(wanted, key, base, seen) || self.occurs(wanted, value, base, seen)
            }),
        })
    }

    #[inline]
    fn follow<'s>(&'s self, term: &'p Term, base: u32) -> Binding<'s, 'p> {
        match term {
            Term::Const(value) => Binding::Value(value),
            Term::Var(slot) => self.follow_slot(base + slot),
            term => Binding::Term(term, base),
        }
    }

    /// Returns `true` if a term is an unbound variable.
    pub(super) fn is_free(&self, term: &'p Term, base: u32) -> bool {
        matches!(self.follow(term, base), Binding::Free(_))
    }

    /// The value of a variable, if it has one.
    #[inline]
    pub(super) fn slot_value(&self, slot: Slot, base: u32) -> Option<&Value> {
        match self.follow_slot(base + slot) {
            Binding::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The term that a variable is bound to, if that has variables of its own.
    pub(super) fn slot_term(&self, slot: Slot, base: u32) -> Option<(&'p Term, u32)> {
        match self.follow_slot(base + slot) {
            Binding::Term(term, base) => Some((term, base)),
            _ => None,
        }
    }

    /// The term itself, or the one that it is bound to if it is a variable.
    pub(super) fn follow_term(&self, term: &'p Term, base: u32) -> (&'p Term, u32) {
        match self.follow(term, base) {
            Binding::Term(term, base) => (term, base),
            _ => (term, base),
        }
    }

    /// A term's value, if all its variables have one.
    #[inline]
    pub(super) fn value<'s>(&'s self, term: &'p Term, base: u32) -> Option<Cow<'s, Value>> {
        match self.follow(term, base) {
            Binding::Value(value) => Some(Cow::Borrowed(value)),
            Binding::Free(_) => None,
            Binding::Term(term, base) => self.build(term, base).map(Cow::Owned),
        }
    }

    /// The same, owned, for terms that don't outlive the machine.
    pub(super) fn owned_value(&self, term: &Term, base: u32) -> Option<Value> {
        match term {
            Term::Const(value) => Some(value.clone()),
            Term::Var(slot) => match self.follow_slot(base + slot) {
                Binding::Value(value) => Some(value.clone()),
                Binding::Free(_) => None,
                Binding::Term(..) if self.is_endless(base + slot) => None,
                Binding::Term(term, base) => self.build(term, base),
            },
            term => self.build(term, base),
        }
    }

    fn build(&self, term: &Term, base: u32) -> Option<Value> {
        deeper(|| {
            Some(match term {
                Term::Const(_) | Term::Var(_) => self.owned_value(term, base)?,
                Term::Array(items) => Value::from(self.build_all(items, base)?),
                Term::Set(items) => Value::from(set_of(self.build_all(items, base)?)),
                Term::Object(members) => {
                    let members = members.iter().map(|(key, value)| {
                        Some((self.owned_value(key, base)?, self.owned_value(value, base)?))
                    });
                    Value::from(object_of(members.collect::<Option<Vec<_>>>()?))
                }
            })
        })
    }

    /// A term's value as the rule index sees it: with an empty object for each unbound variable.
    pub(super) fn outline(&self, term: &Term, base: u32) -> Value {
        if let Some(value) = self.owned_value(term, base) {
            return value;
        }
        let (term, base) = match term {
            Term::Var(slot) if self.is_endless(base + slot) => return Value::new_object(),
            Term::Var(slot) => match self.follow_slot(base + slot) {
                Binding::Term(term, base) => (term, base),
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
                    Some((self.owned_value(key, base)?, deeper(|| self.outline(value, base))))
                });
                Value::from(object_of(members.collect::<Vec<_>>()))
            }
            _ => Value::new_object(),
        }
    }

    fn build_all(&self, items: &[Term], base: u32) -> Option<Vec<Value>> {
        items.iter().map(|item| self.owned_value(item, base)).collect()
    }

    /// The term itself, where iterating over it differs from iterating over its value because its
    /// elements aren't in the order of their values. As in OPA, a term isn't sorted again once its
    /// variables have values.
    pub(super) fn irregular(&self, term: &'p Term, base: u32) -> Option<(&'p Term, u32)> {
        match self.follow(term, base) {
            Binding::Term(term, base) if self.is_irregular(term, base) => Some((term, base)),
            _ => None,
        }
    }

    fn is_irregular(&self, term: &Term, base: u32) -> bool {
        let in_order = |items: &mut dyn Iterator<Item = &Term>| {
            let mut before: Option<Value> = None;
            for item in items {
                let Some(value) = self.owned_value(item, base) else { return true };
                if before.as_ref().is_some_and(|before| *before >= value) {
                    return false;
                }
                before = Some(value);
            }
            true
        };
        deeper(|| match term {
            Term::Const(_) => false,
            Term::Var(slot) => matches!(self.follow_slot(base + slot), Binding::Term(..)),
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
        match self.follow(term, base) {
            Binding::Value(known) => known == value,
            Binding::Free(slot) => {
                self.bind(slot, Bound::Value(value.clone()));
                true
            }
            Binding::Term(term, base) => deeper(|| self.match_term(term, base, value)),
        }
    }

    /// Makes a term equal to a value that isn't needed afterwards.
    #[inline]
    pub(super) fn unify_owned(&mut self, term: &'p Term, base: u32, value: Value) -> bool {
        match self.follow(term, base) {
            Binding::Free(slot) => {
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
                        // Keys are compared, never bound.
                        let Some(key) = self.value(key, base) else { return false };
                        let Some(value) = values.get(&key) else { return false };
                        self.unify_value(item, base, value)
                    })
            }
            (Term::Set(_), Value::Set(_)) => {
                self.build(term, base).is_some_and(|built| built == *value)
            }
            _ => false,
        }
    }

    /// Makes two terms, which may be of different frames, equal.
    pub(super) fn unify(&mut self, a: &'p Term, a_base: u32, b: &'p Term, b_base: u32) -> bool {
        match (self.follow(a, a_base), self.follow(b, b_base)) {
            (Binding::Value(a), Binding::Value(b)) => a == b,
            (Binding::Free(a), Binding::Free(b)) => {
                if a != b {
                    self.bind(a, Bound::Alias(b));
                }
                true
            }
            (Binding::Free(slot), Binding::Value(value))
            | (Binding::Value(value), Binding::Free(slot)) => {
                let bound = Bound::Value(value.clone());
                self.bind(slot, bound);
                true
            }
            (Binding::Free(slot), Binding::Term(term, base))
            | (Binding::Term(term, base), Binding::Free(slot)) => {
                let bound = match self.build(term, base) {
                    Some(value) if !self.is_irregular(term, base) => Bound::Value(value),
                    None if self.occurs(slot, term, base, &mut Vec::new()) => {
                        Bound::Endless(term, base)
                    }
                    _ => Bound::Term(term, base),
                };
                self.bind(slot, bound);
                true
            }
            (Binding::Value(value), Binding::Term(term, base))
            | (Binding::Term(term, base), Binding::Value(value)) => {
                let value = value.clone();
                deeper(|| self.match_term(term, base, &value))
            }
            (Binding::Term(a, a_base), Binding::Term(b, b_base)) => {
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
