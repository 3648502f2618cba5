//! Comprehensions and `every`: bodies that are evaluated where they stand.

use std::rc::Rc;

use super::cache::{CachedComprehension, ComprehensionGroups};
use super::machine::{Bound, Machine, Run, Stop, within_rule};
use super::reference::each_member;
use super::{ErrorCode, EvalError, TraceNode, TraceOp};
use crate::core::{Comprehension, ComprehensionIndex, ComprehensionKind, Every, Op, Slot, Term};
use crate::syntax::tree::Span;
use crate::value::{Object, Shared, Value, set_of};

/// The approximate size, in bytes, of an element of a collection.
const ELEMENT: u64 = 32;

impl<'p> Machine<'p, '_> {
    /// Evaluates a comprehension.
    pub(super) fn comprehension(
        &mut self,
        run: &Run<'p>,
        comprehension: &'p Comprehension,
    ) -> Result<Value, Stop> {
        if let Some(index) = &comprehension.index
            && !(self.survey.is_some() && index.reaches)
            && let Some(value) = self.cached_comprehension(run, comprehension, index)?
        {
            return Ok(value);
        }
        let within = self.nested_run(run, &comprehension.body, false);
        let base = run.base;
        let span = comprehension.span;
        self.trace(TraceOp::Enter, TraceNode::Body, &within, span);
        match &comprehension.kind {
            ComprehensionKind::Array(term) => {
                let mut items = Vec::new();
                self.collect(&within, span, &mut |machine| {
                    items.push(machine.head(term, base, span)?);
                    Ok(())
                })?;
                Ok(Value::from(items))
            }
            ComprehensionKind::Set(term) => {
                let mut items = Vec::new();
                self.collect(&within, span, &mut |machine| {
                    items.push(machine.head(term, base, span)?);
                    Ok(())
                })?;
                Ok(Value::from(set_of(items)))
            }
            ComprehensionKind::Object(key, value, key_span) => {
                let mut members = Object::new();
                self.collect(&within, span, &mut |machine| {
                    let key = machine.head(key, base, span)?;
                    let value = machine.head(value, base, span)?;
                    match members.get(&key) {
                        Some(kept) if *kept != value && machine.reports_conflicts() => {
                            let message = "object keys must be unique";
                            Err(EvalError::new(ErrorCode::Conflict, Some(*key_span), message)
                                .into())
                        }
                        // This includes a value that is equal but written differently: `1.0`
                        // replaces `1`.
                        _ => {
                            members.insert(key, value);
                            Ok(())
                        }
                    }
                })?;
                Ok(Value::from(members))
            }
        }
    }

    /// Runs a body and calls `collect` for each solution.
    fn collect(
        &mut self,
        within: &Run<'p>,
        span: Span,
        collect: &mut dyn FnMut(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.deeper(|machine| {
            machine.run(within, 0, &mut |machine| {
                machine.trace(TraceOp::Exit, TraceNode::Body, within, span);
                machine.context.spend(ELEMENT)?;
                collect(machine)?;
                machine.trace(TraceOp::Redo, TraceNode::Body, within, span);
                Ok(())
            })
        })
    }

    fn head(&self, term: &'p Term, base: u32, span: Span) -> Result<Value, Stop> {
        let value = self.value(term, base);
        value.map_or_else(|| self.without_value(span), |value| Ok(value.into_owned()))
    }

    /// Returns the value of a comprehension that is made once for all values of its outer
    /// variables; `None` if there is no group for their present values.
    fn cached_comprehension(
        &mut self,
        run: &Run<'p>,
        comprehension: &'p Comprehension,
        index: &'p ComprehensionIndex,
    ) -> Result<Option<Value>, Stop> {
        self.spared(index.reaches);
        let grouped = match run.comprehensions.comprehension(index.id) {
            Some(grouped) => grouped,
            None => {
                // Lets the comprehensions within share this cache.
                run.comprehensions.begin();
                let grouped = Rc::new(self.group(run, comprehension, index)?);
                run.comprehensions.keep_comprehension(index.id, Rc::clone(&grouped));
                grouped
            }
        };
        let keys = index.keys.iter().map(|slot| self.owned_value(&Term::Var(*slot), run.base));
        let Some(keys) = keys.collect::<Option<Vec<_>>>() else { return Ok(None) };
        match grouped.get(&keys) {
            Some(CachedComprehension::Value(value)) => Ok(Some(value.clone())),
            Some(CachedComprehension::Heads(solutions)) => {
                self.with_heads(run.base, comprehension, solutions).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Makes a comprehension's value from the cached solutions of its body and the present values
    /// of its head's other variables.
    fn with_heads(
        &mut self,
        base: u32,
        comprehension: &'p Comprehension,
        solutions: &[Vec<(Slot, Value)>],
    ) -> Result<Value, Stop> {
        let span = comprehension.span;
        let mut made = match &comprehension.kind {
            ComprehensionKind::Array(_) => Value::new_array(),
            ComprehensionKind::Set(_) => Value::new_set(),
            ComprehensionKind::Object(..) => Value::new_object(),
        };
        for solution in solutions {
            let mark = self.trail.len();
            for (slot, value) in solution {
                if self.slot_value(*slot, base).is_none() {
                    self.bind(base + slot, Bound::Value(value.clone()));
                }
            }
            let added = self.add_head(base, comprehension, span, &mut made);
            self.undo(mark);
            added?;
        }
        Ok(made)
    }

    /// Adds the head's value for a solution to what a comprehension makes.
    fn add_head(
        &self,
        base: u32,
        comprehension: &'p Comprehension,
        span: Span,
        made: &mut Value,
    ) -> Result<(), Stop> {
        match (&comprehension.kind, made) {
            (ComprehensionKind::Array(term), Value::Array(items)) => {
                Shared::make_mut(items).push(self.head(term, base, span)?);
            }
            (ComprehensionKind::Set(term), Value::Set(items)) => {
                let item = self.head(term, base, span)?;
                Shared::make_mut(items).insert(item);
            }
            (ComprehensionKind::Object(key, value, _), Value::Object(members)) => {
                let key = self.head(key, base, span)?;
                let value = self.head(value, base, span)?;
                Shared::make_mut(members).insert(key, value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Evaluates a comprehension for all values of its outer variables.
    fn group(
        &mut self,
        run: &Run<'p>,
        comprehension: &'p Comprehension,
        index: &'p ComprehensionIndex,
    ) -> Result<ComprehensionGroups, Stop> {
        let span = comprehension.span;
        let base = self.enter_frame(run.scope);
        let within = self.framed_run(run, (&comprehension.body, run.scope, base), false);
        let mut grouped = ComprehensionGroups::new();
        self.trace(TraceOp::Enter, TraceNode::Body, &within, span);
        let flow = self.collect(&within, span, &mut |machine| {
            let keys = index.keys.iter().map(|slot| machine.owned_value(&Term::Var(*slot), base));
            let Some(keys) = keys.collect::<Option<Vec<_>>>() else { return Ok(()) };
            if !index.head.is_empty() {
                let seen =
                    |slot: &Slot| Some((*slot, machine.owned_value(&Term::Var(*slot), base)?));
                let solution = index.head.iter().filter_map(seen).collect();
                match grouped.entry(keys).or_insert_with(|| CachedComprehension::Heads(Vec::new()))
                {
                    CachedComprehension::Heads(solutions) => solutions.push(solution),
                    CachedComprehension::Value(_) => {}
                }
                return Ok(());
            }
            let empty = || match &comprehension.kind {
                ComprehensionKind::Array(_) => CachedComprehension::Value(Value::new_array()),
                ComprehensionKind::Set(_) => CachedComprehension::Value(Value::new_set()),
                ComprehensionKind::Object(..) => CachedComprehension::Value(Value::new_object()),
            };
            if let CachedComprehension::Value(made) = grouped.entry(keys).or_insert_with(empty) {
                machine.add_head(base, comprehension, span, made)?;
            }
            Ok(())
        });
        self.leave_frame(base);
        flow?;
        Ok(grouped)
    }

    /// Returns `true` if `every` holds.
    pub(super) fn every(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        every: &'p Every,
    ) -> Result<bool, Stop> {
        if let Some((term, base)) = self.irregular(&every.domain, run.base) {
            return self.every_of_term(run, op, every, (term, base));
        }
        let Some(domain) = self.value(&every.domain, run.base).map(std::borrow::Cow::into_owned)
        else {
            return Ok(false);
        };
        if !matches!(domain, Value::Array(_) | Value::Object(_) | Value::Set(_)) {
            return Ok(false);
        }
        let mut holds = true;
        let result = each_member(&domain, |key, item| {
            holds &= self.every_one(run, op, every, key, item).map_err(Some)?;
            if self.ends_every(op, holds) { Err(None) } else { Ok(()) }
        });
        match result {
            Ok(()) => Ok(holds),
            Err(None) => Ok(false),
            Err(Some(stop)) => Err(stop),
        }
    }

    /// Returns `true` if the remaining elements of an `every` needn't be looked at.
    fn ends_every(&self, op: &Op, holds: bool) -> bool {
        if holds || self.unknown && self.guessing {
            return false;
        }
        self.spared(op.reaches);
        !self.spares_nothing(op.reaches)
    }

    /// Does the same for a term, in the order of its own elements.
    fn every_of_term(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        every: &'p Every,
        (domain, base): (&'p Term, u32),
    ) -> Result<bool, Stop> {
        let members: Vec<(Option<Value>, Option<Value>)> = match domain {
            Term::Array(items) => (0_i64..)
                .map(|index| Some(Value::from(index)))
                .zip(items.iter().map(|item| self.owned_value(item, base)))
                .collect(),
            Term::Set(items) => items
                .iter()
                .map(|item| (self.owned_value(item, base), self.owned_value(item, base)))
                .collect(),
            // Each key is looked up again, so that of equal keys the first is found.
            Term::Object(members) => {
                let seen =
                    |(key, value)| (self.owned_value(key, base), self.owned_value(value, base));
                let members: Vec<_> =
                    members.iter().map(|(key, value)| seen((key, value))).collect();
                let mut first = std::collections::BTreeMap::new();
                for (key, value) in &members {
                    first.entry(key).or_insert(value);
                }
                let value = |key| first.get(key).copied().cloned().flatten();
                members.iter().map(|(key, _)| (key.clone(), value(key))).collect()
            }
            Term::Const(_) | Term::Var(_) => return Ok(false),
        };
        let mut holds = true;
        for (key, item) in members {
            let (Some(key), Some(item)) = (key, item) else { continue };
            holds &= self.every_one(run, op, every, &key, &item)?;
            if self.ends_every(op, holds) {
                return Ok(false);
            }
        }
        Ok(holds)
    }

    fn every_one(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        every: &'p Every,
        key: &Value,
        item: &Value,
    ) -> Result<bool, Stop> {
        self.step()?;
        let mark = self.trail.len();
        let bound = every.key.as_ref().is_none_or(|term| self.unify_value(term, run.base, key))
            && self.unify_value(&every.value, run.base, item);
        let holds = if bound {
            let once = !self.spares_nothing(op.reaches);
            let within = self.nested_run(run, &every.body, once);
            let mut holds = false;
            self.trace(TraceOp::Enter, TraceNode::Body, &within, op.span);
            let flow = self.deeper(|machine| {
                machine.run(&within, 0, &mut |machine| {
                    machine.trace(TraceOp::Exit, TraceNode::Body, &within, op.span);
                    machine.trace(TraceOp::Redo, TraceNode::Body, &within, op.span);
                    holds = true;
                    Ok(())
                })
            });
            within_rule(flow).map(|()| holds)
        } else {
            Ok(true)
        };
        self.undo(mark);
        holds
    }
}
