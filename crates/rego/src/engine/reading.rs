//! Readings: evaluations that take what is missing in another way than OPA does.
//!
//! OPA evaluates the operands of a negated call before the negation: without `image`,
//! `not startswith(input.image, "x")` is neither true nor false. A reading takes it for true, as
//! `import future.keywords.not` does; or it takes comparisons of what is missing for true as well; or
//! it takes nothing in another way and looks for violations whose message has no value.
//!
//! An operand is missing if its expression has no answer for lack of what a reference into the input,
//! the data or an element of them leads to. Its variable is marked as missing, an expression that takes
//! it computes something missing in turn, and the negation or comparison at the end holds. A
//! function of the policy gets `null` first. Messages are built after all conditions, wherever they
//! stand in the body, and one that has no value changes nothing. Errors of built-in functions and
//! conflicts of values are none. The host decides which calls are made: behind one without a response,
//! nothing is judged.

use std::collections::HashSet;
use std::rc::Rc;

use super::machine::{Bound, Flow, Machine, Next, Run, Stop};
use super::reached::{MAX_RECORDS, address};
use super::reading_state::{Missing, Reading};
use super::reference::found_by;
use crate::core::{self, Call, Head, Marks, Op, OpKind, Ref, Resolved, Side, Target, Term};
use crate::syntax::tree::Span;
use crate::value::{Value, deeper};

impl<'p, 'r> Machine<'p, 'r> {
    /// Runs a body from an expression on, as [`Self::run`] does.
    pub(super) fn run_reading(
        &mut self,
        run: &Run<'p>,
        index: usize,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let Some(op) = run.body.get(index) else { return self.say(run, 0, next) };
        self.step().map_err(|stop| stop.at(op.span))?;
        if op.marks.intersects(self.postponed()) {
            return self.deeper(|machine| machine.run(run, index + 1, next));
        }
        let lacked = self.lacks.replace(false);
        let flow = self.deeper(|machine| {
            machine.read(run, op, &mut |machine| machine.run(run, index + 1, next))
        });
        if self.lacks.replace(lacked) {
            self.absent(op);
        }
        flow.map_err(|stop| stop.at(op.span))
    }

    fn postponed(&self) -> Marks {
        self.reading.as_ref().map_or(Marks::NONE, |reading| reading.postponed())
    }

    /// Builds the head of a body whose conditions hold, from an expression on.
    fn say(&mut self, run: &Run<'p>, index: usize, next: Next<'_, 'p, 'r>) -> Flow {
        let after = run.body.get(index..).unwrap_or_default();
        let postponed = self.postponed();
        let Some(distance) = after.iter().position(|op| op.marks.intersects(postponed)) else {
            return self.solved(run, next);
        };
        let Some(op) = after.get(distance) else { return Ok(()) };
        let index = index + distance;
        self.step().map_err(|stop| stop.at(op.span))?;
        let mut said = false;
        let is_whole = self.missing_in(run, op).is_none();
        if is_whole {
            let flow = self.deeper(|machine| {
                machine.each_answer(run, op, &mut |machine| {
                    said = true;
                    machine.attempt(|machine| machine.say(run, index + 1, next))
                })
            });
            flow.map_err(|stop| stop.at(op.span))?;
        }
        if said {
            return Ok(());
        }
        let is_call = is_whole && self.function_call(op).is_some();
        let lacking = if is_whole { self.missing_reference(run, op)? } else { None };
        let Some(reading) = &mut self.reading else { return Ok(()) };
        if reading.kind == Reading::Messages {
            if !is_call && op.marks.intersects(Marks::MESSAGE) {
                let expression = run.body.last().map_or(op.span, |last| last.span);
                record(&mut reading.found.unsaid, Missing { expression, operand: op.span });
            }
            return Ok(());
        }
        let is_assumed = reading.assumed.contains(&run.base);
        let is_ignored = if is_call {
            // A function that is undefined for its arguments is a condition, unless it lacks something.
            is_assumed && lacking.is_some()
        } else {
            is_assumed || op.marks.intersects(Marks::ANY_MESSAGE)
        };
        if !is_ignored {
            reading.last = lacking.or(reading.last);
            return Ok(());
        }
        self.with_missing(run, (op, op.span), &mut |machine| machine.say(run, index + 1, next))
    }

    /// Evaluates an expression, and takes what is missing in another way.
    fn read(&mut self, run: &Run<'p>, op: &'p Op, next: Next<'_, 'p, 'r>) -> Flow {
        let judged = self.reading.as_ref().map_or(Marks::NONE, |reading| reading.judges());
        let feeds = op.generated && op.marks.intersects(judged);
        if let Some(operand) = self.missing_in(run, op) {
            return self.read_without(run, op, (feeds, operand), next);
        }
        if let OpKind::Negated(equality) = &op.kind
            && op.marks.intersects(judged)
            && self.finds_nothing(run, equality)
            && let Some(reference) = self.missing_reference(run, equality)?
        {
            self.note_missing(op, reference);
            return Ok(());
        }
        let is_function = self.function_call(op).is_some();
        let last = |machine: &mut Self, last| {
            let reading = machine.reading.as_mut().filter(|_| is_function)?;
            std::mem::replace(&mut reading.last, last)
        };
        let before = last(self, None);
        let watched = Rc::default();
        let within = Run { watched: Some(Rc::clone(&watched)), ..run.clone() };
        let mut defined = false;
        let assumptions = self.reading.as_ref().map_or(0, |reading| reading.assumptions);
        self.each_answer(&within, op, &mut |machine| {
            defined = true;
            last(machine, before);
            match &machine.reading {
                Some(reading) if reading.assumptions > assumptions => machine.assumed(run, next),
                _ => next(machine),
            }
        })?;
        let lookups = watched.get();
        if judged.is_none() || !lookups.missed && (defined || lookups.iterated) {
            return Ok(());
        }
        let found = self.missing_reference(run, op)?;
        if let Some(reading) = &mut self.reading {
            // A condition that doesn't hold is no value that is missing.
            let of_value = found.filter(|_| core::result(op).is_some());
            reading.last = of_value.or(if is_function { before } else { reading.last });
        }
        match found {
            Some(reference) if feeds => self.with_missing(run, (op, reference), next),
            // A call is reached only since something was taken in another way.
            Some(_) if op.operand_of > 0 => {
                if let Some(reading) = &mut self.reading
                    && !reading.found.missing.is_empty()
                {
                    reading.found.unmade.get_or_insert(op.span);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Reads an expression that takes a missing operand.
    fn read_without(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        (feeds, operand): (bool, Span),
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        if let Some(call) = self.function_call(op) {
            let given = self.give_null(run, call);
            // Two arguments that are missing aren't equal.
            let is_judged = given.len() == 1;
            let (mut defined, mut flow) = (false, Ok(()));
            if is_judged {
                flow = self.each_answer(run, op, &mut |machine| {
                    defined = true;
                    machine.assume(run, (op, operand), next)
                });
            }
            self.take_back(&given);
            flow?;
            if is_judged && (defined || !feeds) {
                return Ok(());
            }
        }
        if feeds {
            return self.with_missing(run, (op, operand), next);
        }
        self.assume(run, (op, operand), next)
    }

    /// Continues with an expression taken in another way, for lack of an operand.
    fn assume(
        &mut self,
        run: &Run<'p>,
        (op, operand): (&'p Op, Span),
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        self.note_missing(op, operand);
        if let Some(reading) = &mut self.reading {
            reading.assumptions += 1;
        }
        self.assumed(run, next)
    }

    /// Continues in a body after an expression that holds in a different interpretation.
    fn assumed(&mut self, run: &Run<'p>, next: Next<'_, 'p, 'r>) -> Flow {
        if let Some(reading) = &mut self.reading {
            reading.assumed.push(run.base);
        }
        let flow = next(self);
        if let Some(reading) = &mut self.reading {
            reading.assumed.pop();
        }
        flow
    }

    /// Returns `true` if conflicts of values are errors: not where an evaluation that only looks at what another one
    /// did evaluates what that one could spare itself.
    #[inline]
    pub(super) fn reports_conflicts(&self) -> bool {
        self.reading.is_none() && self.survey.is_none()
    }

    /// Records an expression that is read in another way.
    fn note_missing(&mut self, op: &Op, operand: Span) {
        if let Some(reading) = &mut self.reading {
            record(&mut reading.found.missing, Missing { expression: op.span, operand });
        }
    }

    /// Continues with what an expression computes marked as missing: a variable, or those of a pattern.
    fn with_missing(
        &mut self,
        run: &Run<'p>,
        (op, operand): (&'p Op, Span),
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let slots = self.free_slots(run, op);
        if slots.is_empty() {
            return Ok(());
        }
        let mark = self.trail.len();
        for slot in &slots {
            self.bind(*slot, Bound::Missing);
            if let Some(reading) = &mut self.reading {
                reading.missing.push((*slot, operand));
            }
        }
        let flow = next(self);
        if let Some(reading) = &mut self.reading {
            reading.missing.truncate(reading.missing.len().saturating_sub(slots.len()));
        }
        self.undo(mark);
        flow
    }

    /// Returns what is missing of the operands that an expression takes.
    fn missing_in(&self, run: &Run<'p>, op: &'p Op) -> Option<Span> {
        let missing = self.reading.as_ref().map(|reading| &reading.missing)?;
        if missing.is_empty() {
            return None;
        }
        let mut found = None;
        let mut look = |term: &Term| {
            term.each_slot(&mut |slot| {
                let slot = run.base + slot;
                if matches!(self.slots.get(slot as usize), Some(Bound::Missing)) {
                    let own = missing.iter().rev().find(|(known, _)| *known == slot);
                    found = own.map(|(_, operand)| *operand);
                }
            });
        };
        op.each_operand(&mut look);
        found
    }

    /// Returns the call of a function of the policy that an expression makes.
    fn function_call(&self, mut op: &'p Op) -> Option<&'p Call> {
        while let OpKind::With(_, inner) | OpKind::Negated(inner) = &op.kind {
            op = inner;
        }
        match &op.kind {
            OpKind::Call(call)
                if matches!(call.target, Target::Function(_))
                    && self.standin(&call.name).is_none() =>
            {
                Some(call)
            }
            _ => None,
        }
    }

    /// Gives `null` to the missing arguments of a call; returns their variables.
    fn give_null(&mut self, run: &Run<'p>, call: &'p Call) -> Vec<u32> {
        let mut given = Vec::new();
        for term in &call.args {
            term.each_slot(&mut |slot| {
                if let Some(place @ Bound::Missing) = self.slots.get_mut((run.base + slot) as usize)
                {
                    *place = Bound::Value(Value::Null);
                    given.push(run.base + slot);
                }
            });
        }
        given
    }

    fn take_back(&mut self, given: &[u32]) {
        for slot in given {
            if let Some(place) = self.slots.get_mut(*slot as usize) {
                *place = Bound::Missing;
            }
        }
    }

    /// Returns `true` if the evaluation only looks at what another one did, and notes the call that it
    /// doesn't make.
    pub(super) fn makes_no_call(&mut self, op: &Op) -> bool {
        if let Some(reading) = &mut self.reading {
            reading.found.unmade.get_or_insert(op.span);
            return true;
        }
        self.unknown |= self.survey.is_some();
        self.survey.is_some()
    }

    /// Returns the missing reference into the input, the data or an element of them that makes an expression
    /// undefined.
    fn missing_reference(&mut self, run: &Run<'p>, op: &'p Op) -> Result<Option<Span>, Stop> {
        match &op.kind {
            OpKind::With(with, inner) => {
                let replacement = self.replacement(run, with, op.span)?;
                let before = self.enter_with(run, &replacement);
                let found = self.missing_reference(run, inner);
                self.leave_with(run, before);
                found
            }
            OpKind::Negated(inner) if op.marks.intersects(Marks::EQUALITY) => {
                self.missing_reference(run, inner)
            }
            // A function is undefined for lack of what it looked up.
            OpKind::Call(call) if matches!(call.target, Target::Function(_)) => {
                Ok(self.reading.as_ref().and_then(|reading| reading.last))
            }
            _ => {
                for side in op.sides() {
                    if let Side::Ref(reference) = side
                        && self.lacks(run, reference)?
                    {
                        return Ok(Some(reference.span));
                    }
                }
                Ok(None)
            }
        }
    }

    /// Returns `true` if a reference that found nothing leads into the input, the data or an element of
    /// them, and not to a member of a value that was computed.
    fn lacks(&mut self, run: &Run<'p>, reference: &'p Ref) -> Result<bool, Stop> {
        let path = &*reference.path;
        let (value, path) = match &reference.head {
            Head::Nothing => return Ok(false),
            Head::Input => (self.input.clone(), path),
            Head::Data(Resolved::Base(value, count)) if self.replaced_data == 0 => {
                (value.clone(), path.get(*count..).unwrap_or_default())
            }
            Head::Data(Resolved::Rules(id, count)) if self.replaced_data == 0 => {
                let rest = path.get(*count..).unwrap_or_default();
                match self.rules_single(run, *id, rest)? {
                    Some(Some((value, rest))) => (Some(value), rest),
                    // A collection that rules build is computed: it lacks nothing of the documents.
                    Some(None) | None => {
                        let set = self.core.set(*id);
                        return Ok(set.is_some_and(|set| !set.multi && set.ground));
                    }
                }
            }
            Head::Data(_) => return Ok(true),
            Head::Var(slot) => (self.slot_value(*slot, run.base).cloned(), path),
        };
        let Some(mut value) = value else {
            return Ok(!matches!(reference.head, Head::Var(_)));
        };
        for term in path {
            let Some(key) = self.value(term, run.base).map(std::borrow::Cow::into_owned) else {
                break;
            };
            match found_by(&value, &key).cloned() {
                Some(found) => value = found,
                None => {
                    let is_document =
                        matches!(reference.head, Head::Input | Head::Data(Resolved::Base(..)));
                    return Ok(is_document || self.is_in_documents(&value));
                }
            }
        }
        // Another value was there, or an element of a collection lacks something.
        Ok(path.iter().any(|term| self.is_free(term, run.base)) && self.is_in_documents(&value))
    }

    /// Returns `true` for a value that is in the input or the data: by its place in memory, which what is
    /// computed doesn't share. A scalar has no member, wherever it comes from.
    fn is_in_documents(&mut self, value: &Value) -> bool {
        let Some(place) = address(value) else { return !matches!(value, Value::Set(_)) };
        let core = self.core;
        let of_data = || {
            let mut places = HashSet::new();
            add_places(&core.data, &mut places);
            places
        };
        let Some(reading) = &mut self.reading else { return false };
        let input = self.input.as_ref();
        let places = reading.places.get_or_insert_with(|| {
            let mut places = HashSet::new();
            input.into_iter().for_each(|input| add_places(input, &mut places));
            places
        });
        places.contains(&place) || core.places.get_or_init(of_data).contains(&place)
    }
}

/// Adds the places of a value and of everything in it.
fn add_places(value: &Value, places: &mut HashSet<usize>) {
    places.extend(address(value));
    deeper(|| match value {
        Value::Array(items) => items.iter().for_each(|item| add_places(item, places)),
        Value::Object(members) => members.values().for_each(|item| add_places(item, places)),
        Value::Set(items) => items.iter().for_each(|item| add_places(item, places)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    });
}

fn record(known: &mut Vec<Missing>, missing: Missing) {
    if known.len() < MAX_RECORDS && !known.contains(&missing) {
        known.push(missing);
    }
}
