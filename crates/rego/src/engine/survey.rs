//! The survey: a second evaluation, for what the first one doesn't show.
//!
//! A call is *reached* where everything before it in its body holds, in OPA's order of the body,
//! whatever other definitions, solutions and elements give. An evaluation spares itself some of that:
//! the rule index excludes definitions, one answer is enough for a constant rule, `every` ends at the
//! first element that doesn't hold. So what it reached is recorded by an evaluation that spares itself
//! nothing in bodies from which a call site is reached. It makes no calls: one that the first
//! evaluation didn't make is *unknown*, nothing behind it is reached, and neither is anything that
//! depends on whether it would hold.

use std::rc::Rc;

use super::machine::{Flow, Machine, Next, Run};
use super::reached::{Lookups, Misshapen, Unmade};
use crate::core::{Head, InputPart, Op, OpKind, Ref, SetId, Side, Term, With, WithTarget};
use crate::value::Value;

/// The largest number of records of one kind.
const MAX_RECORDS: usize = 1000;

impl Run<'_> {
    /// Notes that a collection is iterated over.
    pub(super) fn iterates(&self) {
        if let Some(watched) = &self.watched {
            watched.set(Lookups { iterated: true, ..watched.get() });
        }
    }

    /// Notes that an operand of a reference isn't found.
    pub(super) fn misses(&self) {
        if let Some(watched) = &self.watched {
            watched.set(Lookups { missed: true, ..watched.get() });
        }
    }
}

impl<'p, 'r> Machine<'p, 'r> {
    /// Runs a body from an expression on, as [`Self::run`] does.
    pub(super) fn run_surveyed(
        &mut self,
        run: &Run<'p>,
        index: usize,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let Some(op) = run.body.get(index) else { return self.solved(run, next) };
        self.step().map_err(|stop| stop.at(op.span))?;
        let is_operand = op.operand_of > 0;
        let watched = is_operand.then(Rc::default);
        let within = Run { watched: watched.clone(), ..run.clone() };
        let before = self.set_unknown(false);
        if is_operand && let Some(survey) = &mut self.survey {
            survey.missing = None;
        }
        let (mut defined, mut later) = (false, false);
        let flow = self.deeper(|machine| {
            machine.each_answer(&within, op, &mut |machine| {
                if machine.is_unknown() {
                    return Ok(());
                }
                defined = true;
                let flow = machine.run(run, index + 1, next);
                later |= machine.set_unknown(false);
                flow
            })
        });
        let unknown = self.set_unknown(false);
        if !defined && !unknown {
            self.undefined(op);
        }
        if let Some(watched) = watched
            && !unknown
        {
            let lookups = watched.get();
            if lookups.missed || !defined && !lookups.iterated {
                self.unmade(run, index, op);
            }
        }
        self.set_unknown(before || later || unknown);
        flow.map_err(|stop| stop.at(op.span))
    }

    /// Sets whether what is being evaluated depends on an unknown answer; returns what was set.
    pub(super) fn set_unknown(&mut self, unknown: bool) -> bool {
        self.survey.as_mut().is_some_and(|survey| std::mem::replace(&mut survey.unknown, unknown))
    }

    /// Returns `true` if what is being evaluated depends on an answer that isn't known.
    #[inline]
    pub(super) fn is_unknown(&self) -> bool {
        self.survey.as_ref().is_some_and(|survey| survey.unknown)
    }

    /// Returns `true` if an evaluation mustn't spare itself anything in bodies from which a call
    /// site is reached, or not.
    #[inline]
    pub(super) fn spares_nothing(&self, reaches: bool) -> bool {
        self.survey.as_ref().is_some_and(|survey| reaches || survey.fields)
    }

    /// Notes that something was spared from which a call site is reached.
    #[inline]
    pub(super) fn spared(&self, reaches: bool) {
        if reaches {
            self.suspect.set(true);
        }
    }

    /// Notes the reference for lack of which an expression is undefined.
    fn undefined(&mut self, op: &'p Op) {
        let own = self.own_input;
        let Some(survey) = &mut self.survey else { return };
        let mut op = op;
        while let OpKind::With(_, inner) = &op.kind {
            op = inner;
        }
        for side in sides(op) {
            if let Side::Ref(reference) = side
                && matches!(reference.head, Head::Input)
                && own
            {
                survey.missing = Some(reference.span);
            }
        }
    }

    /// Notes that a rule is undefined.
    pub(super) fn undefined_rule(&mut self, id: SetId) {
        if let Some(survey) = &mut self.survey {
            survey.missing_of.insert(id, survey.missing);
        }
    }

    /// Notes that a rule was undefined before.
    pub(super) fn known_undefined(&mut self, id: SetId) {
        if let Some(survey) = &mut self.survey
            && let Some(missing) = survey.missing_of.get(&id)
        {
            survey.missing = *missing;
        }
    }

    /// Records the call whose operand is undefined.
    fn unmade(&mut self, run: &Run<'p>, index: usize, op: &'p Op) {
        let Some(call) = run.body.get(index + op.operand_of as usize) else { return };
        if self.is_replaced_call(call) {
            return;
        }
        let Some(survey) = &mut self.survey else { return };
        let unmade = &mut survey.found.unmade;
        if unmade.len() < MAX_RECORDS && !unmade.iter().any(|known| known.call == call.span) {
            unmade.push(Unmade { call: call.span, operand: op.span, field: survey.missing });
        }
    }

    /// Returns `true` for a call of a function that `with` replaces.
    fn is_replaced_call(&self, mut op: &'p Op) -> bool {
        let mut modifiers: Vec<&With> = Vec::new();
        loop {
            match &op.kind {
                OpKind::With(with, inner) => {
                    modifiers.extend(with.iter());
                    op = inner;
                }
                OpKind::Negated(inner) => op = inner,
                OpKind::Call(call) => {
                    let replaces = |with: &&With| matches!(&with.target, WithTarget::Function(name) if *name == call.name);
                    return modifiers.iter().any(replaces) || self.standin(&call.name).is_some();
                }
                _ => return false,
            }
        }
    }

    /// Looks at the references of an expression before it is evaluated.
    #[cold]
    pub(super) fn judge(&mut self, run: &Run<'p>, op: &'p Op) {
        if !self.own_input {
            return;
        }
        for side in sides(op) {
            if let Side::Ref(reference) = side
                && reference.reads_field()
            {
                self.judge_reference(run, reference);
            }
        }
    }

    fn judge_reference(&mut self, run: &Run<'p>, reference: &'p Ref) {
        let is_name = |term: Option<&Term>| matches!(term, Some(Term::Const(Value::String(_))));
        let first_is_name = is_name(reference.path.first());
        let whole = match reference.head {
            Head::Var(slot) => self.slot_value(slot, run.base).cloned(),
            _ => self.input.clone(),
        };
        let Some(whole) = whole else { return };
        let mut misshapen = Vec::new();
        let (mut reads, mut finds) = (false, false);
        let mut look = |within: &Value, of_element: bool, name: Option<&'p Term>| {
            let Some(Term::Const(name)) = name else { return };
            reads = true;
            match within {
                Value::Object(members) => finds |= members.get(name).is_some(),
                other => misshapen.push((of_element, other.type_name())),
            }
        };
        match (reference.part, &whole) {
            (InputPart::Whole, _) if first_is_name => look(&whole, false, reference.path.first()),
            (InputPart::Element, _)
                if first_is_name && matches!(self.input, Some(Value::Array(_))) =>
            {
                look(&whole, true, reference.path.first());
            }
            (InputPart::Whole, Value::Array(items)) if is_name(reference.path.get(1)) => {
                let at = reference.path.first().and_then(|term| self.value(term, run.base));
                for (index, item) in items.iter().enumerate() {
                    if at.as_ref().is_none_or(|at| **at == Value::from(index as u64)) {
                        look(item, true, reference.path.get(1));
                    }
                }
            }
            (InputPart::Whole, Value::Object(members)) => {
                reads = true;
                let key = reference.path.first().and_then(|term| self.value(term, run.base));
                let mut found = members
                    .iter()
                    .filter(|(own, _)| key.as_ref().is_none_or(|key| **key == **own))
                    .map(|(_, value)| value);
                finds = match reference.path.get(1) {
                    Some(Term::Const(name @ Value::String(_))) => {
                        found.any(|value| value.get(name).is_some())
                    }
                    _ => found.next().is_some(),
                };
            }
            // There are no elements.
            (InputPart::Whole, scalar) if !matches!(scalar, Value::Array(_) | Value::Set(_)) => {
                misshapen.push((false, scalar.type_name()));
            }
            _ => {}
        }
        let Some(survey) = &mut self.survey else { return };
        survey.found.read_fields |= reads;
        survey.found.found_field |= finds;
        let known = &mut survey.found.misshapen;
        if let Some((of_element, found)) = misshapen.into_iter().next()
            && known.len() < MAX_RECORDS
            && !known.iter().any(|known| known.reference == reference.span)
        {
            known.push(Misshapen { reference: reference.span, of_element, found });
        }
    }
}

/// The sides of an equation or a test; of any other operation none.
fn sides(op: &Op) -> impl Iterator<Item = &Side> {
    let (first, second) = match &op.kind {
        OpKind::Unify(sides) => (Some(&sides.0), Some(&sides.1)),
        OpKind::Test(side) => (Some(side), None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}
