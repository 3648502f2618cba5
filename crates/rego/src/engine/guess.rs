//! Guesses: the further calls of an evaluation that lacks the response to one of its calls.
//!
//! A call without a response has an *unknown* result. From then on, the result of the evaluation isn't used. It
//! only finds calls that can be sent together with the first one:
//!
//! - An expression that takes something unknown is skipped, and whatever it would compute is unknown.
//! - The expressions behind it whose operands have values are evaluated, and their calls are made.
//! - A condition that doesn't hold ends a body, as always.
//! - A body with a skipped expression has no solution, and what depends on its solutions is unknown.

use std::collections::BTreeSet;

use super::machine::{Bound, Flow, Machine, Next, Run};
use crate::core::{Op, OpKind, Side, Slot, Term};

impl<'p, 'r> Machine<'p, 'r> {
    /// Notes that the result of a call is unknown.
    pub(super) fn begin_guessing(&mut self) {
        self.guessing = self.tracer.is_none() && self.survey.is_none() && self.reading.is_none();
        self.unknown = self.guessing;
    }

    /// Runs a body from an expression on, as [`Self::run`] does.
    pub(super) fn run_guessing(
        &mut self,
        run: &Run<'p>,
        index: usize,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let Some(op) = run.body.get(index) else {
            if self.skipping.contains(&run.query) {
                self.unknown = true;
                return Ok(());
            }
            return self.solved(run, next);
        };
        self.step().map_err(|stop| stop.at(op.span))?;
        if self.takes_unknown(run, op) {
            return self.skip(run, index, op, next);
        }
        let before = self.set_unknown(false);
        let mut later = false;
        let flow = self.deeper(|machine| {
            machine.each_answer(run, op, &mut |machine| {
                let own = machine.set_unknown(false);
                let flow = machine.run(run, index + 1, next);
                later |= machine.set_unknown(own);
                flow
            })
        });
        flow.map_err(|stop| stop.at(op.span))?;
        if self.set_unknown(before || later) {
            self.skip(run, index, op, next)?;
        }
        Ok(())
    }

    /// Continues behind an expression whose answers aren't known.
    pub(super) fn skip(
        &mut self,
        run: &Run<'p>,
        index: usize,
        op: &'p Op,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let mark = self.trail.len();
        for slot in self.free_slots(run, op) {
            self.bind(slot, Bound::Missing);
        }
        self.skipping.push(run.query);
        let flow = self.deeper(|machine| machine.run(run, index + 1, next));
        self.skipping.pop();
        self.undo(mark);
        self.unknown = true;
        flow
    }

    /// Returns the places of the variables without a value to which an expression would give one.
    pub(super) fn free_slots(&self, run: &Run<'p>, op: &Op) -> BTreeSet<u32> {
        let mut slots = BTreeSet::new();
        computed(op, &mut |slot| {
            slots.insert(run.base + slot);
        });
        slots.retain(|slot| matches!(self.slots.get(*slot as usize), Some(Bound::Free)));
        slots
    }

    /// Returns `true` if an operand of an expression is unknown. Those in bodies within it are for these to see.
    fn takes_unknown(&self, run: &Run<'p>, op: &'p Op) -> bool {
        if self.skipping.is_empty() {
            return false;
        }
        let mut takes = false;
        let mut look = |term: &Term| {
            term.each_slot(&mut |slot| {
                let slot = (run.base + slot) as usize;
                takes |= matches!(self.slots.get(slot), Some(Bound::Missing));
            });
        };
        op.each_operand(&mut look);
        for side in op.sides() {
            if let Side::Comprehension(comprehension) = side {
                comprehension.kind.each_term(&mut look);
            }
        }
        if let OpKind::Every(every) = &op.kind {
            look(&every.domain);
        }
        takes
    }
}

/// Calls back with the variables to which an expression may give values.
fn computed(op: &Op, found: &mut dyn FnMut(Slot)) {
    match &op.kind {
        OpKind::With(_, inner) => computed(inner, found),
        OpKind::Call(call) => call.output.iter().for_each(|term| term.each_slot(found)),
        _ => {
            for side in op.sides() {
                match side {
                    Side::Term(term) => term.each_slot(found),
                    Side::Ref(reference) => {
                        reference.path.iter().for_each(|term| term.each_slot(found));
                    }
                    Side::Comprehension(_) => {}
                }
            }
        }
    }
}
