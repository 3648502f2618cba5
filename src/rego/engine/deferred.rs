//! Deferred values of `with`: terms that are put in place before their variables have a value.
//!
//! OPA substitutes the term after `as` with the bindings that its variables have by then, and
//! evaluates nothing in it. So a variable that gets its value later in the body (which the safety
//! check allows beside a closure) remains a variable: an expression that reads it there is unified
//! with it. Read from another rule, it is a variable of that rule's frame, and no other part of
//! that rule can name it. In the closures of a query a reference stays as it was written and is
//! looked up where it is read.
//!
//! The replaced document itself holds what the rule index would see: an empty object for each part
//! that has no value.

use std::rc::Rc;

use super::machine::{Alternatives, Flow, Machine, Next, Run, Stop};
use super::reference::OtherSide;
use super::{ErrorCode, EvalError};
use crate::rego::core::{Ref, Scope, Slot, Term};
use crate::rego::value::{Number, Value};

/// A value that isn't known yet.
#[derive(Clone, Copy)]
pub(super) enum DeferredTerm<'p> {
    /// A term with unbound variables.
    Term(&'p Term),
    /// A reference.
    Ref(&'p Ref),
}

/// The position that a deferred value takes.
#[derive(Clone, Copy)]
pub(super) enum DeferredTarget<'p> {
    /// At a path in the input.
    Input(&'p [Value]),
    /// At a path in data.
    Data(&'p [Value]),
    /// A function, for which it stands in.
    Function,
}

/// A term that took the place of a document or a function before it had a value.
pub(super) struct DeferredValue<'p> {
    content: DeferredTerm<'p>,
    target: DeferredTarget<'p>,
    /// The scope of the frame that its variables belong to.
    scope: &'p Scope,
    /// The offset of a copy of that frame within the frames of other rules, after their own slots.
    shadow: u32,
    /// The variables that were bound already.
    given: Vec<(Slot, Value)>,
}

/// All the deferred values in force.
pub(super) type DeferredValues<'p> = Rc<[Rc<DeferredValue<'p>>]>;

impl<'p> DeferredValue<'p> {
    pub(super) fn new(
        machine: &Machine<'p, '_>,
        run: &Run<'p>,
        (content, target): (DeferredTerm<'p>, DeferredTarget<'p>),
        shadow: u32,
    ) -> Self {
        let mut given = Vec::new();
        let mut see = |slot: Slot| {
            if let Some(value) = machine.slot_value(slot, run.base) {
                given.push((slot, value.clone()));
            }
        };
        match content {
            DeferredTerm::Term(term) => term.each_slot(&mut see),
            DeferredTerm::Ref(reference) => {
                reference.path.iter().for_each(|term| term.each_slot(&mut see));
            }
        }
        Self { content, target, scope: run.scope, shadow, given }
    }

    /// Returns `true` if a value placed at the target would replace it.
    pub(super) fn is_at_or_below(&self, target: DeferredTarget<'_>) -> bool {
        match (self.target, target) {
            (DeferredTarget::Input(own), DeferredTarget::Input(path))
            | (DeferredTarget::Data(own), DeferredTarget::Data(path)) => {
                own.starts_with(path) || (path.starts_with(own) && !self.is_object())
            }
            _ => false,
        }
    }

    /// Returns `true` if the target lies within it.
    pub(super) fn is_above(&self, target: DeferredTarget<'_>) -> bool {
        match (self.target, target) {
            (DeferredTarget::Input(own), DeferredTarget::Input(path))
            | (DeferredTarget::Data(own), DeferredTarget::Data(path)) => path.starts_with(own),
            _ => false,
        }
    }

    fn is_object(&self) -> bool {
        matches!(self.content, DeferredTerm::Term(Term::Object(_)))
    }

    fn path(&self, input: bool) -> Option<&'p [Value]> {
        match self.target {
            DeferredTarget::Input(path) if input => Some(path),
            DeferredTarget::Data(path) if !input => Some(path),
            _ => None,
        }
    }

    /// Binds, in a frame's copy of the variables, those that were bound already.
    pub(super) fn give(&self, mut bind: impl FnMut(u32, &Value)) {
        for (slot, value) in &self.given {
            bind(self.shadow + slot, value);
        }
    }

    /// The number of shadow slots that frames need from here on.
    pub(super) fn shadow_end(&self) -> u32 {
        self.shadow + self.scope.slots
    }
}

impl<'p, 'r> Machine<'p, 'r> {
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
            DeferredTerm::Ref(_) => Value::new_object(),
        }
    }

    /// The deferred value at a path.
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
        let keys: Vec<Value> = match (self.value(term, run.base), value) {
            (Some(key), _) => vec![key.into_owned()],
            (None, Value::Array(items)) => {
                (0_i64..).take(items.len()).map(|at| Value::Number(Number::from(at))).collect()
            }
            (None, Value::Object(members)) => members.keys().cloned().collect(),
            (None, Value::Set(items)) => items.iter().cloned().collect(),
            (None, _) => Vec::new(),
        };
        let mut alternatives = Alternatives::new(run);
        for key in keys {
            self.step()?;
            let Some(found) = value.get(&key) else { continue };
            let mut done = done.to_vec();
            done.push(key.clone());
            let mark = self.trail.len();
            let flow = if self.unify_value(term, run.base, &key) {
                self.deeper(|machine| {
                    machine.walk_input(run, (found, &done), rest, other, &mut *next)
                })
            } else {
                Ok(())
            };
            self.undo(mark);
            alternatives.record(flow)?;
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
            DeferredTerm::Ref(_) if !rest.is_empty() => Ok(()),
            DeferredTerm::Ref(reference) => {
                let there = Run { base, ..run.clone() };
                self.deeper(|machine| machine.evaluate_reference(&there, reference, other, next))
            }
            // A document that is an unbound variable has no members, even if the variable is bound
            // by now.
            DeferredTerm::Term(Term::Var(_)) if whole && !rest.is_empty() => Ok(()),
            DeferredTerm::Term(term) => match other {
                OtherSide::Ref(reference) if rest.is_empty() && self.is_free(term, base) => {
                    self.evaluate_reference(run, reference, OtherSide::Term(term, base), next)
                }
                OtherSide::Comprehension(it) if rest.is_empty() && self.is_free(term, base) => {
                    let value = self.comprehension(run, it)?;
                    self.unify_found(run, value, OtherSide::Term(term, base), next)
                }
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
