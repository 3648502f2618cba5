//! Reading and unifying deferred values of `with` (see `replaced`).

use std::rc::Rc;

use super::machine::{Alternatives, Flow, Machine, Next, Run, Stop};
use super::replaced::{DeferredTarget, DeferredTerm, DeferredValue};
use super::results::{OtherSide, keys};
use super::{ErrorCode, EvalError};
use crate::core::{Slot, Term};
use crate::value::Value;

impl<'p, 'r> Machine<'p, 'r> {
    /// Defers a term of a run's frame.
    pub(super) fn defer(
        &self,
        run: &Run<'p>,
        (content, target): (DeferredTerm<'p>, DeferredTarget<'p>),
        shadow: u32,
    ) -> DeferredValue<'p> {
        let mut given = Vec::new();
        let mut see = |slot: Slot| {
            if let Some(value) = self.slot_value(slot, run.base) {
                given.push((slot, value.clone()));
            }
        };
        match content {
            DeferredTerm::Term(term) => term.each_slot(&mut see),
            DeferredTerm::Ref(reference) => {
                reference.path.iter().for_each(|term| term.each_slot(&mut see));
            }
            // OPA doesn't substitute the variables of a comprehension.
            DeferredTerm::Comprehension(_) => {}
        }
        DeferredValue { content, target, scope: run.scope, shadow, given }
    }

    /// Returns `true` if there is a deferred value at or below a path of the input or of data.
    pub(super) fn has_deferred(&self, input: bool, path: &[Value]) -> bool {
        self.deferred
            .iter()
            .any(|deferred| deferred.path(input).is_some_and(|own| own.starts_with(path)))
    }

    /// The value that a document holds in the place of a deferred one.
    pub(super) fn outline_of(&self, run: &Run<'p>, deferred: &DeferredValue<'p>) -> Value {
        match deferred.content {
            DeferredTerm::Term(term) => self.outline(term, run.base),
            DeferredTerm::Ref(_) | DeferredTerm::Comprehension(_) => Value::new_object(),
        }
    }

    pub(super) fn deferred_at(&self, input: bool, path: &[Value]) -> Option<Rc<DeferredValue<'p>>> {
        self.deferred.iter().find(|deferred| deferred.path(input) == Some(path)).cloned()
    }

    /// Evaluates the rest of a reference into the input, in which there are deferred values.
    pub(super) fn walk_input(
        &mut self,
        run: &Run<'p>,
        (value, done): (&Value, &[Value]),
        path: &'p [Term],
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        if let Some(deferred) = self.deferred_at(true, done) {
            return self.unify_deferred(run, &deferred, path, other, next);
        }
        if !self.has_deferred(true, done) {
            return self.walk(run, value.clone(), path, other, next);
        }
        let Some((term, rest)) = path.split_first() else { return Err(deferred_read(run)) };
        let key = self.value(term, run.base);
        let keys = key.map_or_else(|| keys(value), |key| vec![key.into_owned()]);
        let mut alternatives = Alternatives::new(run);
        for key in keys {
            self.step()?;
            let Some(found) = value.get(&key) else { continue };
            let mut done = done.to_vec();
            done.push(key.clone());
            alternatives.record(self.if_equal((term, run.base), &key, |machine| {
                machine.deeper(|machine| {
                    machine.walk_input(run, (found, &done), rest, other, &mut *next)
                })
            }))?;
        }
        alternatives.finish()
    }

    /// Looks up the remaining operands in a deferred value, and unifies the result with the other
    /// side.
    pub(super) fn unify_deferred(
        &mut self,
        run: &Run<'p>,
        deferred: &DeferredValue<'p>,
        rest: &'p [Term],
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let base = if std::ptr::eq(run.scope, deferred.scope) {
            run.base
        } else {
            run.base + run.scope.slots + deferred.shadow
        };
        let whole = matches!(deferred.target, DeferredTarget::Input([]) | DeferredTarget::Data([]));
        match deferred.content {
            DeferredTerm::Ref(_) | DeferredTerm::Comprehension(_) if !rest.is_empty() => Ok(()),
            DeferredTerm::Comprehension(comprehension) => {
                let there = Run { base, ..run.clone() };
                let value = self.deeper(|machine| machine.comprehension(&there, comprehension))?;
                self.walk(run, value, &[], other, next)
            }
            DeferredTerm::Ref(reference) => {
                let there = Run { base, ..run.clone() };
                self.deeper(|machine| machine.evaluate_reference(&there, reference, other, next))
            }
            // A document that is an unbound variable has no members, even if the variable is bound
            // by now.
            DeferredTerm::Term(Term::Var(_)) if whole && !rest.is_empty() => Ok(()),
            DeferredTerm::Term(term) => match other {
                OtherSide::Any(_) => Err(deferred_read(run)),
                other => self.walk_term(run, (term, base), rest, other, next),
            },
        }
    }
}

/// The error for a document that is read as a whole while a value within it is deferred.
#[cold]
pub(super) fn deferred_read(run: &Run<'_>) -> Stop {
    let span = run.body.first().map(|op| op.span);
    let message = "a document is read in which `with` placed a variable without value; give the \
        variable its value in a statement before the one with the modifier, outside of closures";
    EvalError::new(ErrorCode::Unsupported, span, message).into()
}
