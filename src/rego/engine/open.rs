//! What `with` leaves open: values that have no value yet.
//!
//! OPA puts the term after `as` in its place with what its variables have by then, and evaluates
//! nothing in it. So a variable that gets its value later in the body, which the safety check lets
//! through beside a closure, stays a variable: what reads it there is made equal to it. In another
//! rule it is a variable of that rule, and no other part of it can name it. In the closures of a
//! query a reference stays as it was written, and is looked up where it is read.
//!
//! In the document itself stands what the rule index makes of it: an empty object for what has no
//! value.

use std::rc::Rc;

use super::machine::{Alternatives, Flow, Machine, Next, Run, Stop};
use super::reference::Other;
use super::{ErrorCode, EvalError};
use crate::rego::core::{Ref, Scope, Slot, Term};
use crate::rego::value::{Number, Value};

/// What stands where a value would be.
#[derive(Clone, Copy)]
pub(super) enum What<'p> {
    /// A term with variables that have no value.
    Term(&'p Term),
    /// A reference.
    Ref(&'p Ref),
}

/// Where it stands.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    /// At a path in the input.
    Input(&'p [Value]),
    /// At a path in data.
    Data(&'p [Value]),
    /// Instead of a function.
    Function,
}

/// A term that was put in the place of a document or of a function before it had a value.
pub(super) struct Open<'p> {
    what: What<'p>,
    place: Place<'p>,
    /// The frame that its variables are of.
    scope: &'p Scope,
    /// Where a copy of that frame begins within those of other rules, after their own slots.
    shadow: u32,
    /// The variables that had a value.
    given: Vec<(Slot, Value)>,
}

/// All that are in force.
pub(super) type Opens<'p> = Rc<[Rc<Open<'p>>]>;

impl<'p> Open<'p> {
    pub(super) fn new(
        machine: &Machine<'p, '_>,
        run: &Run<'p>,
        (what, place): (What<'p>, Place<'p>),
        shadow: u32,
    ) -> Self {
        let mut given = Vec::new();
        let mut see = |slot: Slot| {
            if let Some(value) = machine.slot_value(slot, run.base) {
                given.push((slot, value.clone()));
            }
        };
        match what {
            What::Term(term) => term.each_slot(&mut see),
            What::Ref(reference) => {
                reference.path.iter().for_each(|term| term.each_slot(&mut see));
            }
        }
        Self { what, place, scope: run.scope, shadow, given }
    }

    /// True if it is in what would be replaced.
    pub(super) fn is_at_or_below(&self, place: Place<'_>) -> bool {
        match (self.place, place) {
            (Place::Input(own), Place::Input(path)) | (Place::Data(own), Place::Data(path)) => {
                own.starts_with(path) || (path.starts_with(own) && !self.is_object())
            }
            _ => false,
        }
    }

    /// True if something in it would be replaced.
    pub(super) fn is_above(&self, place: Place<'_>) -> bool {
        match (self.place, place) {
            (Place::Input(own), Place::Input(path)) | (Place::Data(own), Place::Data(path)) => {
                path.starts_with(own)
            }
            _ => false,
        }
    }

    fn is_object(&self) -> bool {
        matches!(self.what, What::Term(Term::Object(_)))
    }

    fn path(&self, input: bool) -> Option<&'p [Value]> {
        match self.place {
            Place::Input(path) if input => Some(path),
            Place::Data(path) if !input => Some(path),
            _ => None,
        }
    }

    /// Binds what had a value in a frame's copy of the variables.
    pub(super) fn give(&self, mut bind: impl FnMut(u32, &Value)) {
        for (slot, value) in &self.given {
            bind(self.shadow + slot, value);
        }
    }

    /// The number of slots frames need from here on.
    pub(super) fn shadow_end(&self) -> u32 {
        self.shadow + self.scope.slots
    }
}

impl<'p, 'r> Machine<'p, 'r> {
    /// The input or data as an open term's place is reached, if one is at or below a path.
    pub(super) fn is_open(&self, input: bool, path: &[Value]) -> bool {
        self.opens.iter().any(|open| open.path(input).is_some_and(|own| own.starts_with(path)))
    }

    /// What stands in a document in the place of an open term.
    pub(super) fn outline_of(&self, run: &Run<'p>, open: &Open<'p>) -> Value {
        match open.what {
            What::Term(term) => self.outline(term, run.base),
            What::Ref(_) => Value::new_object(),
        }
    }

    /// The open term at a path.
    pub(super) fn open_at(&self, input: bool, path: &[Value]) -> Option<Rc<Open<'p>>> {
        self.opens.iter().find(|open| open.path(input) == Some(path)).cloned()
    }

    /// The rest of a reference into the input, where something in it is open.
    pub(super) fn walk_input(
        &mut self,
        run: &Run<'p>,
        (value, done): (&Value, &[Value]),
        path: &'p [Term],
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        if let Some(open) = self.open_at(true, done) {
            return self.meet_open(run, &open, path, other, next);
        }
        if !self.is_open(true, done) {
            return self.walk(run, value.clone(), path, other, next);
        }
        let Some((term, rest)) = path.split_first() else { return Err(unread(run)) };
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
            alternatives.tried(flow)?;
        }
        alternatives.done()
    }

    /// What an open term is made equal to, with the operands after it.
    pub(super) fn meet_open(
        &mut self,
        run: &Run<'p>,
        open: &Open<'p>,
        rest: &'p [Term],
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let base = if std::ptr::eq(run.scope, open.scope) {
            run.base
        } else {
            run.base + run.scope.slots + open.shadow
        };
        let whole = matches!(open.place, Place::Input([]) | Place::Data([]));
        match open.what {
            What::Ref(_) if !rest.is_empty() => Ok(()),
            What::Ref(reference) => {
                let there = Run { base, ..run.clone() };
                self.deeper(|machine| machine.refer(&there, reference, other, next))
            }
            // A document that is a variable has nothing in it, whatever that is by now.
            What::Term(Term::Var(_)) if whole && !rest.is_empty() => Ok(()),
            What::Term(term) => match other {
                Other::Ref(reference) if rest.is_empty() && self.is_free(term, base) => {
                    self.refer(run, reference, Other::Term(term, base), next)
                }
                Other::Comprehension(it) if rest.is_empty() && self.is_free(term, base) => {
                    let value = self.comprehension(run, it)?;
                    self.meet(run, value, Other::Term(term, base), next)
                }
                Other::Any(_) => Err(unread(run)),
                other => self.walk_term(run, (term, base), rest, other, next),
            },
        }
    }
}

/// An open term within a larger document that is asked for as a whole.
#[cold]
pub(super) fn unread(run: &Run<'_>) -> Stop {
    let span = run.body.first().map(|op| op.span);
    let message = "a document is read in which `with` placed a variable without value; give the \
        variable its value in a statement before the one with the modifier, outside of closures";
    EvalError::new(ErrorCode::Unsupported, span, message).into()
}
