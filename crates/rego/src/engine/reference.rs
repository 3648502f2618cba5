//! References: looked up operand by operand in a value, in base data, and in the tree of rules.
//!
//! An operand with a value is looked up; an unbound one iterates over all keys. Each value found is
//! unified with the other side of the equality.

use std::borrow::Cow;
use std::cell::RefCell;

use super::deferred::deferred_read;
use super::machine::{Alternatives, Flow, Machine, Next, Run, Stop};
use super::reached::address;
use super::results::{OtherSide, SingleResult, SingleValue, is_false, keys};
use crate::core::{
    Comprehension, ComprehensionKind, Core, Head, Marks, NodeId, Op, Ref, Resolved, SetId, Side,
    Term, member,
};
use crate::value::{Number, Object, Shared, Value};

/// The result of looking up a reference without evaluating anything.
enum DirectLookup<'s, 'p> {
    Value(&'s Value),
    Undefined,
    /// There may be several values.
    Many,
    /// The reference leads to rules; the operands after their path are given.
    Rules(SetId, &'p [Term]),
}

/// Returns `true` if a comprehension can be equal to a value. As in OPA, one that makes another
/// type isn't evaluated for the comparison, except against sets.
fn may_equal_comprehension(value: &Value, comprehension: &Comprehension) -> bool {
    match value {
        Value::Array(_) => matches!(comprehension.kind, ComprehensionKind::Array(_)),
        Value::Object(_) => matches!(comprehension.kind, ComprehensionKind::Object(..)),
        Value::Set(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

impl<'p, 'r> Machine<'p, 'r> {
    /// Evaluates an equality that has at most one answer.
    pub(super) fn unify_single(
        &mut self,
        run: &Run<'p>,
        a: &'p Side,
        b: &'p Side,
    ) -> Result<SingleResult, Stop> {
        let base = run.base;
        match (a, b) {
            (Side::Term(a), Side::Term(b)) => Ok(self.unify(a, base, b, base).into()),
            (Side::Ref(reference), Side::Term(term)) | (Side::Term(term), Side::Ref(reference)) => {
                let found = match self.look_up(run, reference) {
                    DirectLookup::Value(found) => match self.value(term, base) {
                        Some(value) => return Ok((*value == *found).into()),
                        None => found.clone(),
                    },
                    DirectLookup::Undefined => return Ok(SingleResult::No),
                    DirectLookup::Many => return Ok(SingleResult::Many),
                    DirectLookup::Rules(set, path) => match self.find_in_rules(run, set, path)? {
                        SingleValue::Value(value) => value,
                        SingleValue::Undefined => return Ok(SingleResult::No),
                        SingleValue::Many => return Ok(SingleResult::Many),
                    },
                };
                Ok(self.unify_owned(term, base, found).into())
            }
            (Side::Term(term), Side::Comprehension(comprehension))
                if !self.may_unify_comprehension(term, base, comprehension) =>
            {
                Ok(SingleResult::No)
            }
            (Side::Comprehension(comprehension), Side::Term(term))
            | (Side::Term(term), Side::Comprehension(comprehension)) => {
                let value = self.comprehension(run, comprehension)?;
                Ok(self.unify_owned(term, base, value).into())
            }
            (Side::Comprehension(a), Side::Comprehension(b)) => {
                let a = self.comprehension(run, a)?;
                Ok((a == self.comprehension(run, b)?).into())
            }
            (Side::Ref(a), Side::Ref(b)) => match (self.look_up(run, a), self.look_up(run, b)) {
                (DirectLookup::Value(a), DirectLookup::Value(b)) => Ok((a == b).into()),
                // The second reference isn't evaluated in these cases.
                (DirectLookup::Undefined, _)
                | (DirectLookup::Value(_), DirectLookup::Undefined) => Ok(SingleResult::No),
                _ => Ok(SingleResult::Many),
            },
            _ => Ok(SingleResult::Many),
        }
    }

    /// Returns `true` if a term on the left can be equal to what a comprehension on the right
    /// makes.
    fn may_unify_comprehension(
        &self,
        term: &'p Term,
        base: u32,
        comprehension: &Comprehension,
    ) -> bool {
        match self.follow_term(term, base) {
            (Term::Array(_), _) => matches!(comprehension.kind, ComprehensionKind::Array(_)),
            (Term::Object(_), _) => matches!(comprehension.kind, ComprehensionKind::Object(..)),
            (Term::Set(_), _) => true,
            (term @ (Term::Const(_) | Term::Var(_)), base) => self
                .value(term, base)
                .is_none_or(|value| may_equal_comprehension(&value, comprehension)),
        }
    }

    /// Evaluates an equality for each of its answers; `after` are the expressions that follow.
    pub(super) fn unify_many(
        &mut self,
        run: &Run<'p>,
        (a, b): (&'p Side, &'p Side),
        after: &'p [Op],
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        match (a, b) {
            (Side::Ref(a), b) | (b, Side::Ref(a)) => {
                let other = match b {
                    Side::Term(term) => OtherSide::Element(term, run.base, after),
                    Side::Ref(reference) => OtherSide::Ref(reference),
                    Side::Comprehension(comprehension) => OtherSide::Comprehension(comprehension),
                };
                self.evaluate_reference(run, a, other, next)
            }
            // All others have at most one answer.
            _ => match self.unify_single(run, a, b)? {
                SingleResult::Yes => next(self),
                _ => Ok(()),
            },
        }
    }

    /// Evaluates an expression that is a single term and has at most one answer.
    pub(super) fn test_single(
        &mut self,
        run: &Run<'p>,
        side: &'p Side,
    ) -> Result<SingleResult, Stop> {
        Ok(match side {
            Side::Term(term) => {
                let value = self.value(term, run.base);
                value.is_none_or(|value| !is_false(&value)).into()
            }
            Side::Ref(reference) => match self.look_up(run, reference) {
                DirectLookup::Value(value) => (!is_false(value)).into(),
                DirectLookup::Undefined => SingleResult::No,
                DirectLookup::Many => SingleResult::Many,
                DirectLookup::Rules(set, path) => match self.find_in_rules(run, set, path)? {
                    SingleValue::Value(value) => (!is_false(&value)).into(),
                    SingleValue::Undefined => SingleResult::No,
                    SingleValue::Many => SingleResult::Many,
                },
            },
            Side::Comprehension(comprehension) => {
                self.comprehension(run, comprehension)?;
                SingleResult::Yes
            }
        })
    }

    /// Evaluates an expression that is a single term for each of its answers.
    pub(super) fn test_many(
        &mut self,
        run: &Run<'p>,
        side: &'p Side,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        match side {
            Side::Ref(reference) => self.evaluate_reference(run, reference, OtherSide::Truth, next),
            _ => match self.test_single(run, side)? {
                SingleResult::Yes => next(self),
                _ => Ok(()),
            },
        }
    }

    /// Evaluates a reference to rules, as long as it has at most one answer.
    fn find_in_rules(
        &mut self,
        run: &Run<'p>,
        set: SetId,
        path: &'p [Term],
    ) -> Result<SingleValue, Stop> {
        Ok(match self.rules_single(run, set, path)? {
            Some(Some((value, rest))) => {
                let found = self.descend_owned(value.clone(), rest, run.base);
                if matches!(found, SingleValue::Undefined) {
                    self.suspect_closed(run, &value, rest);
                }
                found
            }
            Some(None) => SingleValue::Undefined,
            None => SingleValue::Many,
        })
    }

    /// Notes that a look-up finds nothing since an object can't have a member.
    #[inline]
    pub(super) fn suspect_closed(&self, run: &Run<'p>, value: &Value, path: &'p [Term]) {
        if self.excludes_path(Some(value), self.keys(run, path)) {
            self.suspect_absent();
        }
    }

    /// Notes that a path of the data leads to nothing since an object can't have a member.
    fn suspect_missing(&self, path: &[Value]) {
        let keys = path.iter().map(Cow::Borrowed);
        if self.data.as_ref().is_some_and(|data| self.excludes_path(Some(data), keys)) {
            self.suspect_absent();
        }
    }

    pub(super) fn suspect_absent(&self) {
        self.suspect(Marks::CLOSED);
        self.lacks.set(true);
    }

    /// Looks up operands that have values in the value of a rule, which isn't evaluated again.
    fn descend_owned(&self, mut value: Value, path: &'p [Term], base: u32) -> SingleValue {
        for term in path {
            let Some(key) = self.value(term, base) else { return SingleValue::Many };
            match found_by(&value, &key).cloned() {
                Some(found) => value = found,
                None => return SingleValue::Undefined,
            }
        }
        SingleValue::Value(value)
    }

    /// Looks up a reference as far as that needs no evaluation.
    #[inline]
    fn look_up<'s>(&'s self, run: &Run<'p>, reference: &'p Ref) -> DirectLookup<'s, 'p> {
        let base = run.base;
        let path = &*reference.path;
        match &reference.head {
            Head::Input if !self.deferred.is_empty() => DirectLookup::Many,
            Head::Input => match &self.input {
                Some(input) => {
                    let found = self.descend(input, path, base, Value::get);
                    match found {
                        DirectLookup::Value(_) if self.own_input && !path.is_empty() => {
                            self.found_field.set(true);
                        }
                        DirectLookup::Undefined => self.suspect_closed(run, input, path),
                        _ => {}
                    }
                    found
                }
                None => {
                    if self.excludes_path(None, self.keys(run, path)) {
                        self.suspect_absent();
                    }
                    DirectLookup::Undefined
                }
            },
            Head::Var(slot) => match self.slot_value(*slot, base) {
                Some(value) => {
                    let found = self.descend(value, path, base, Value::get);
                    if matches!(found, DirectLookup::Undefined) {
                        self.suspect_closed(run, value, path);
                    }
                    found
                }
                None if self.slot_term(*slot, base).is_some() => DirectLookup::Many,
                None => DirectLookup::Undefined,
            },
            Head::Data(_) if self.data.is_some() || self.replaced_data > 0 => DirectLookup::Many,
            Head::Data(Resolved::Base(value, count)) => match value {
                Some(value) => {
                    self.descend(value, path.get(*count..).unwrap_or_default(), base, member)
                }
                None => DirectLookup::Undefined,
            },
            Head::Data(Resolved::Rules(set, count)) => {
                DirectLookup::Rules(*set, path.get(*count..).unwrap_or_default())
            }
            Head::Data(Resolved::Tree) => DirectLookup::Many,
            Head::Nothing => DirectLookup::Undefined,
        }
    }

    /// Returns `true` if a reference of an equality finds nothing, as far as that needs no evaluation.
    pub(super) fn finds_nothing(&self, run: &Run<'p>, op: &'p Op) -> bool {
        op.sides().any(|side| match side {
            Side::Ref(reference) => matches!(self.look_up(run, reference), DirectLookup::Undefined),
            _ => false,
        })
    }

    /// Returns the value of a reference, if it needs no evaluation and the look-up isn't recorded.
    pub(super) fn found_before(&self, run: &Run<'p>, reference: &'p Ref) -> Option<Value> {
        let notes = matches!(reference.head, Head::Input) && self.own_input;
        if notes && !self.found_field.get() {
            return None;
        }
        match self.look_up(run, reference) {
            DirectLookup::Value(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// Looks up operands that have values, in a value or, with [`member`], in base data.
    #[inline]
    fn descend<'s>(
        &self,
        mut value: &'s Value,
        path: &'p [Term],
        base: u32,
        member: impl for<'v> Fn(&'v Value, &Value) -> Option<&'v Value>,
    ) -> DirectLookup<'s, 'p> {
        for term in path {
            let Some(key) = self.value(term, base) else { return DirectLookup::Many };
            match member(value, &key) {
                Some(found) if is_other_text(value, found, &key) => return DirectLookup::Many,
                Some(found) => value = found,
                None => return DirectLookup::Undefined,
            }
        }
        DirectLookup::Value(value)
    }

    /// Evaluates a reference and continues with each value that it finds.
    pub(super) fn evaluate_reference(
        &mut self,
        run: &Run<'p>,
        reference: &'p Ref,
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let path = &reference.path;
        match &reference.head {
            Head::Nothing => Ok(()),
            Head::Input => match self.input.clone() {
                Some(value) if self.deferred.is_empty() => {
                    let own = self.own_input;
                    let is_field = path.len() > usize::from(matches!(value, Value::Array(_)));
                    self.walk(run, value, path, other, &mut |machine| {
                        if own && is_field {
                            machine.found_field.set(true);
                        }
                        next(machine)
                    })
                }
                Some(value) => self.walk_input(run, (&value, &[]), path, other, next),
                None => Ok(()),
            },
            Head::Var(slot) => {
                if let Some(value) = self.slot_value(*slot, run.base).cloned() {
                    return self.walk(run, value, path, other, next);
                }
                match self.slot_term(*slot, run.base) {
                    Some((term, base)) => self.walk_term(run, (term, base), path, other, next),
                    None => Ok(()),
                }
            }
            Head::Data(resolved) => {
                if self.data.is_some() || self.replaced_data > 0 {
                    return self.tree(run, Some(Core::ROOT), path, Vec::new(), other, next);
                }
                match resolved {
                    Resolved::Base(value, count) => {
                        let path = path.get(*count..).unwrap_or_default();
                        match value {
                            Some(value) => self.walk_base(run, value, path, other, next),
                            None => Ok(()),
                        }
                    }
                    Resolved::Rules(set, count) => {
                        let path = path.get(*count..).unwrap_or_default();
                        self.rules(run, *set, path, other, next)
                    }
                    Resolved::Tree => {
                        self.tree(run, Some(Core::ROOT), path, Vec::new(), other, next)
                    }
                }
            }
        }
    }

    /// Unifies a value with the other side and continues.
    pub(super) fn unify_found(
        &mut self,
        run: &Run<'p>,
        value: Value,
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        match other {
            OtherSide::Term(term, base) | OtherSide::Element(term, base, _) => {
                let is_pattern = !matches!(term, Term::Var(_) | Term::Const(_));
                let taken_apart = is_pattern.then(|| value.clone());
                self.attempt(|machine| {
                    if machine.unify_owned(term, base, value) {
                        return next(machine);
                    }
                    if let Some(value) = taken_apart {
                        machine.misfits(run, (term, base), &value);
                    }
                    Ok(())
                })
            }
            OtherSide::Truth if is_false(&value) => Ok(()),
            OtherSide::Value(other) if value != *other => Ok(()),
            OtherSide::Truth | OtherSide::Value(_) => next(self),
            OtherSide::Ref(reference) => {
                self.evaluate_reference(run, reference, OtherSide::Value(&value), next)
            }
            OtherSide::Comprehension(comprehension) => {
                if may_equal_comprehension(&value, comprehension)
                    && self.comprehension(run, comprehension)? == value
                {
                    next(self)
                } else {
                    Ok(())
                }
            }
            OtherSide::Any(place) => {
                *place.borrow_mut() = Some(value);
                next(self)
            }
        }
    }

    /// Notes that a value doesn't fit a pattern.
    fn misfits(&self, run: &Run<'p>, (pattern, base): (&'p Term, u32), value: &Value) {
        if self.survey.is_some() && !self.contradicts(pattern, base, Some(value)) {
            run.misses();
        }
        if self.excludes_in(pattern, base, value) {
            self.suspect_absent();
        }
    }

    /// Unifies a term with unbound variables with the other side, which is evaluated first.
    fn unify_open(
        &mut self,
        run: &Run<'p>,
        (term, base): (&'p Term, u32),
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let open = OtherSide::Term(term, base);
        match other {
            OtherSide::Ref(reference) => self.evaluate_reference(run, reference, open, next),
            OtherSide::Comprehension(comprehension) => {
                if !self.may_unify_comprehension(term, base, comprehension) {
                    return Ok(());
                }
                let value = self.comprehension(run, comprehension)?;
                self.unify_found(run, value, open, next)
            }
            _ => Err(deferred_read(run)),
        }
    }

    /// Unifies a document of `data` that isn't a single rule's with the other side. OPA puts that
    /// document second: a comprehension is evaluated whatever type it makes.
    fn unify_document(
        &mut self,
        run: &Run<'p>,
        value: Value,
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let OtherSide::Comprehension(comprehension) = other else {
            return self.unify_found(run, value, other, next);
        };
        if self.comprehension(run, comprehension)? == value { next(self) } else { Ok(()) }
    }

    /// Looks up the remaining operands of a reference within a value.
    pub(super) fn walk(
        &mut self,
        run: &Run<'p>,
        mut value: Value,
        mut path: &'p [Term],
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        while let Some((term, rest)) = path.split_first() {
            let found = match self.value(term, run.base) {
                Some(key) => found_by(&value, &key).cloned(),
                None => {
                    return self
                        .deeper(|machine| machine.each(run, &value, (term, rest), other, next));
                }
            };
            match found {
                Some(found) => value = found,
                None => {
                    run.misses();
                    self.suspect_closed(run, &value, path);
                    return Ok(());
                }
            }
            path = rest;
        }
        self.unify_found(run, value, other, next)
    }

    /// Tries every key of a value for an unbound operand.
    fn each(
        &mut self,
        run: &Run<'p>,
        value: &Value,
        (term, rest): (&'p Term, &'p [Term]),
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let mut alternatives = Alternatives::new(run);
        tried_each(run, value);
        let keys = self.matches(run, value, rest, other, found_by)?;
        let is_input =
            !self.closed.is_empty() && matches!(value, Value::Object(_)) && self.is_input(value);
        let mut tried = |machine: &mut Self, key: &Value, item: &Value| {
            // Who iterates over the input reads no member of what the gate adds to it.
            if is_input && machine.is_excluded(run, item, rest) {
                run.misses();
                return Ok(());
            }
            alternatives.record(machine.with_key(run, (term, key), item, rest, other, next))
        };
        if let Some(keys) = keys {
            for key in keys.iter() {
                self.step()?;
                let Some(item) = found_by(value, key) else { continue };
                tried(self, key, item)?;
            }
            return alternatives.finish();
        }
        // At most one element of a set can be equal to the other side.
        if let Value::Set(items) = value
            && rest.is_empty()
            && let Some(known) = self.known_value(other)
        {
            if items.contains(&known) {
                tried(self, &known, &known)?;
            }
            return alternatives.finish();
        }
        each_member(value, |key, item| {
            self.step()?;
            tried(self, key, item)
        })?;
        alternatives.finish()
    }

    /// Returns `true` for the input of the evaluation.
    pub(super) fn is_input(&self, value: &Value) -> bool {
        let place = address(value);
        place.is_some() && place == self.input.as_ref().and_then(address)
    }

    /// Returns `true` if the first of some operands looks up a member that an object can't have.
    fn is_excluded(&self, run: &Run<'p>, value: &Value, path: &'p [Term]) -> bool {
        let key = path.first().and_then(|term| self.value(term, run.base));
        key.is_some_and(|key| value.get(&key).is_none() && self.closed.excludes(value, &key))
    }

    #[inline]
    fn with_key(
        &mut self,
        run: &Run<'p>,
        (term, key): (&'p Term, &Value),
        item: &Value,
        rest: &'p [Term],
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        self.if_equal((term, run.base), key, |machine| {
            machine.walk(run, item.clone(), rest, other, next)
        })
    }

    /// The value of the other side, if it has one already.
    pub(super) fn known_value(&self, other: OtherSide<'_, 'p>) -> Option<Value> {
        match other {
            OtherSide::Term(term, base) | OtherSide::Element(term, base, _) => {
                self.value(term, base).map(Cow::into_owned)
            }
            OtherSide::Value(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// Looks up the remaining operands of a reference within a term that has unbound variables,
    /// such as a rule's head has after unification with an operand that is a pattern.
    pub(super) fn walk_term(
        &mut self,
        run: &Run<'p>,
        (within, base): (&'p Term, u32),
        path: &'p [Term],
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let (within, base) = match self.irregular(within, base) {
            Some(irregular) => irregular,
            None => match self.value(within, base).map(Cow::into_owned) {
                Some(value) => return self.walk(run, value, path, other, next),
                None => self.follow_term(within, base),
            },
        };
        let Some((operand, rest)) = path.split_first() else {
            let mark = self.trail.len();
            let holds = match other {
                OtherSide::Term(term, other_base) | OtherSide::Element(term, other_base, _) => {
                    self.unify(within, base, term, other_base)
                }
                OtherSide::Value(value) => self.unify_value(within, base, value),
                OtherSide::Truth => true,
                OtherSide::Ref(_) | OtherSide::Comprehension(_) | OtherSide::Any(_) => {
                    if let Some(value) = self.value(within, base).map(Cow::into_owned) {
                        return self.unify_found(run, value, other, next);
                    }
                    return self.unify_open(run, (within, base), other, next);
                }
            };
            let flow = if holds { next(self) } else { Ok(()) };
            self.undo(mark);
            return flow;
        };
        let keys: Vec<Value> = match self.value(operand, run.base) {
            Some(key) => vec![key.into_owned()],
            None => match within {
                Term::Array(items) => (0_i64..).map(Value::from).take(items.len()).collect(),
                Term::Object(members) => {
                    members.iter().filter_map(|(key, _)| self.owned_value(key, base)).collect()
                }
                Term::Set(items) => {
                    items.iter().filter_map(|item| self.owned_value(item, base)).collect()
                }
                Term::Const(_) | Term::Var(_) => Vec::new(),
            },
        };
        // An unbound operand may also be unified with a key that has no value.
        let valueless = |machine: &Self, key: &'p Term| {
            machine.is_free(operand, run.base) && machine.owned_value(key, base).is_none()
        };
        let unbound_keys: Vec<(&'p Term, &'p Term)> = match within {
            Term::Object(members) => members
                .iter()
                .filter(|(key, _)| valueless(self, key))
                .map(|(key, value)| (key, value))
                .collect(),
            Term::Set(items) => {
                items.iter().filter(|item| valueless(self, item)).map(|item| (item, item)).collect()
            }
            _ => Vec::new(),
        };
        if self.is_free(operand, run.base) {
            run.iterates();
        }
        let mut alternatives = Alternatives::new(run);
        for key in keys {
            self.step()?;
            let is_key =
                |term: &Term| self.owned_value(term, base).is_some_and(|value| value == key);
            let item = match within {
                Term::Array(items) => {
                    key.as_number().and_then(Number::as_usize).and_then(|at| items.get(at))
                }
                Term::Object(members) => {
                    members.iter().find(|(key, _)| is_key(key)).map(|(_, value)| value)
                }
                // From here on, the element is its value.
                Term::Set(items) => {
                    if items.iter().any(is_key) {
                        let found = (operand, &key);
                        let flow = self.with_key(run, found, &key, rest, other, &mut *next);
                        alternatives.record(flow)?;
                    }
                    continue;
                }
                Term::Const(_) | Term::Var(_) => None,
            };
            let Some(item) = item else {
                run.misses();
                continue;
            };
            alternatives.record(self.if_equal((operand, run.base), &key, |machine| {
                machine
                    .deeper(|machine| machine.walk_term(run, (item, base), rest, other, &mut *next))
            }))?;
        }
        for (key, item) in unbound_keys {
            self.step()?;
            let mark = self.trail.len();
            let flow = if self.unify(operand, run.base, key, base) {
                self.deeper(|machine| machine.walk_term(run, (item, base), rest, other, &mut *next))
            } else {
                Ok(())
            };
            self.undo(mark);
            alternatives.record(flow)?;
        }
        alternatives.finish()
    }

    /// Looks up the remaining operands of a reference within base data without rules next to it.
    fn walk_base(
        &mut self,
        run: &Run<'p>,
        mut value: &'p Value,
        mut path: &'p [Term],
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        while let Some((term, rest)) = path.split_first() {
            let Some(key) = self.value(term, run.base) else {
                return self
                    .deeper(|machine| machine.each_base(run, value, (term, rest), other, next));
            };
            match member(value, &key) {
                Some(found) if is_other_text(value, found, &key) => {
                    let key = key.into_owned();
                    return self.walk(run, key, rest, other, next);
                }
                Some(found) => value = found,
                None => {
                    run.misses();
                    return Ok(());
                }
            }
            path = rest;
        }
        self.unify_document(run, value.clone(), other, next)
    }

    fn each_base(
        &mut self,
        run: &Run<'p>,
        value: &'p Value,
        (term, rest): (&'p Term, &'p [Term]),
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let mut alternatives = Alternatives::new(run);
        tried_each(run, value);
        let keys = self.matches(run, value, rest, other, member)?;
        let mut tried = |machine: &mut Self, key: &Value, item: &'p Value| {
            machine.step()?;
            alternatives.record(machine.if_equal((term, run.base), key, |machine| {
                machine.walk_base(run, item, rest, other, next)
            }))
        };
        if let Some(keys) = keys {
            for key in keys.iter() {
                if let Some(item) = value.get(key) {
                    tried(self, key, item)?;
                }
            }
            return alternatives.finish();
        }
        each_member(value, |key, item| tried(self, key, item))?;
        alternatives.finish()
    }

    /// Returns `true` if a path is within a document that `with` replaces.
    fn is_replaced(&self, path: &[Value]) -> bool {
        self.replaced_data > 0 && self.replaced.iter().any(|replaced| replaced.covers(path))
    }

    /// Evaluates a reference through the tree of rules and data, from a node on.
    fn tree(
        &mut self,
        run: &Run<'p>,
        node: Option<NodeId>,
        path: &'p [Term],
        done: Vec<Value>,
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        if !self.deferred.is_empty()
            && let Some(deferred) = self.deferred_at(false, &done)
        {
            return self.unify_deferred(run, &deferred, path, other, next);
        }
        let Some((term, rest)) = path.split_first() else {
            let Some(value) = self.document(run, node, &done)? else {
                self.suspect_missing(&done);
                return Ok(());
            };
            return self.unify_document(run, value, other, next);
        };
        if let Some(key) = self.value(term, run.base).map(Cow::into_owned) {
            return self.tree_child(run, node, key, (rest, done), other, next);
        }
        run.iterates();
        let document = self.resolve(&done);
        if document.is_none() {
            self.suspect_missing(&done);
        }
        let mut alternatives = Alternatives::new(run);
        for key in document.iter().flat_map(keys) {
            self.step()?;
            let flow = self.tree_key(run, node, (term, key), (rest, &done), other, next);
            alternatives.record(flow)?;
        }
        alternatives.finish()?;
        let core = self.core;
        let Some(node_id) = node else { return Ok(()) };
        let Some(children) = core.node(node_id).map(|node| &node.children) else { return Ok(()) };
        for key in children.keys() {
            // A key that is in both has just been tried.
            if document.as_ref().is_some_and(|document| has_key(document, key)) {
                continue;
            }
            self.step()?;
            self.tree_key(run, node, (term, key.clone()), (rest, &done), other, next)?;
        }
        Ok(())
    }

    fn tree_key(
        &mut self,
        run: &Run<'p>,
        node: Option<NodeId>,
        (term, key): (&'p Term, Value),
        (rest, done): (&'p [Term], &[Value]),
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        self.if_equal((term, run.base), &key.clone(), |machine| {
            machine.tree_child(run, node, key, (rest, done.to_vec()), other, next)
        })
    }

    fn tree_child(
        &mut self,
        run: &Run<'p>,
        node: Option<NodeId>,
        key: Value,
        (rest, mut done): (&'p [Term], Vec<Value>),
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let child = node.and_then(|node| self.core.child(node, &key));
        done.push(key);
        let child = if self.is_replaced(&done) { None } else { child };
        let set = child.and_then(|child| self.core.node(child)).and_then(|node| node.set);
        self.deeper(|machine| match set {
            Some(set) => machine.rules(run, set, rest, other, next),
            None => machine.tree(run, child, rest, done, other, next),
        })
    }

    /// The base document at a path, with replacements applied.
    pub(super) fn resolve(&self, path: &[Value]) -> Option<Value> {
        let replacement = self.data.as_ref().and_then(|data| path.iter().try_fold(data, found_by));
        if self.is_replaced(path) {
            return replacement.cloned();
        }
        let real = match path {
            [] => Some(&self.core.visible),
            path => path.iter().try_fold(&self.core.data, member),
        };
        match (replacement, real) {
            (Some(replacement), Some(real)) => Some(merge(replacement, real)),
            (Some(value), None) | (None, Some(value)) => Some(value.clone()),
            (None, None) => None,
        }
    }

    /// The whole document at a path that isn't a rule's: base data merged with the values of the
    /// rules below.
    fn document(
        &mut self,
        run: &Run<'p>,
        node: Option<NodeId>,
        path: &[Value],
    ) -> Result<Option<Value>, Stop> {
        if !self.deferred.is_empty() && self.has_deferred(false, path) {
            return Err(deferred_read(run));
        }
        let base = self.resolve(path);
        let rules = match node {
            Some(node) => Some(Value::from(self.leaves(run, node, path)?)),
            None => None,
        };
        Ok(match (base, rules) {
            (Some(base), Some(rules)) => Some(merge(&base, &rules)),
            (base, rules) => base.or(rules),
        })
    }

    /// The values of the rules below a node, as an object.
    fn leaves(&mut self, run: &Run<'p>, node: NodeId, path: &[Value]) -> Result<Object, Stop> {
        let mut result = Object::new();
        let core = self.core;
        let Some(node) = core.node(node) else { return Ok(result) };
        for (key, child) in &node.children {
            let Some(child_node) = core.node(*child) else { continue };
            if child_node.hidden {
                continue;
            }
            let mut below = path.to_vec();
            below.push(key.clone());
            let value = match child_node.set {
                Some(set) => self.leaf(run, set, &below)?,
                None => {
                    Some(Value::from(self.deeper(|machine| machine.leaves(run, *child, &below))?))
                }
            };
            if let Some(value) = value {
                self.context.spend(64)?;
                result.insert(key.clone(), value);
            }
        }
        Ok(result)
    }

    /// The value of the rules at a path, or its replacement.
    fn leaf(&mut self, run: &Run<'p>, set: SetId, path: &[Value]) -> Result<Option<Value>, Stop> {
        let replaced =
            (1..=path.len()).any(|end| self.is_replaced(path.get(..end).unwrap_or_default()));
        if replaced {
            if self.has_deferred(false, path) {
                return Err(deferred_read(run));
            }
            return Ok(self.resolve(path));
        }
        let place = RefCell::new(None);
        self.rules(run, set, &[], OtherSide::Any(&place), &mut |_| Ok(()))?;
        Ok(place.into_inner())
    }
}

/// Notes that every key of a value is tried, or that it has none.
fn tried_each(run: &Run<'_>, value: &Value) {
    match value {
        Value::Array(_) | Value::Object(_) | Value::Set(_) => run.iterates(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => run.misses(),
    }
}

/// Calls `f` with each key of a value and what is found by it. Elements of sets are keys themselves.
pub(super) fn each_member<'v, E>(
    value: &'v Value,
    mut f: impl FnMut(&Value, &'v Value) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::Array(items) => {
            (0_i64..).zip(items.iter()).try_for_each(|(at, item)| f(&Value::from(at), item))
        }
        Value::Object(members) => members.iter().try_for_each(|(key, item)| f(key, item)),
        Value::Set(items) => items.iter().try_for_each(|item| f(item, item)),
        _ => Ok(()),
    }
}

/// Looks up an operand in a value. The element of a set is the operand itself.
pub(super) fn found_by<'v>(value: &'v Value, key: &'v Value) -> Option<&'v Value> {
    match value {
        Value::Set(elements) => elements.contains(key).then_some(key),
        value => value.get(key),
    }
}

/// Returns `true` for an element of a set that might be written differently from the operand that
/// finds it, such as `1` and `1.0`. As in OPA, the operand is the value then.
fn is_other_text(within: &Value, found: &Value, key: &Value) -> bool {
    matches!(within, Value::Set(_))
        && match (found, key) {
            (Value::Number(a), Value::Number(b)) => a.text() != b.text(),
            (Value::Array(_) | Value::Object(_) | Value::Set(_), _) => true,
            _ => false,
        }
}

fn has_key(document: &Value, key: &Value) -> bool {
    document.get(key).is_some()
}

/// Merges two objects recursively; where they aren't both objects, the first wins.
pub(super) fn merge(first: &Value, second: &Value) -> Value {
    let (Value::Object(a), Value::Object(b)) = (first, second) else { return first.clone() };
    if b.is_empty() {
        return first.clone();
    }
    let mut merged = Shared::clone(b);
    let members = Shared::make_mut(&mut merged);
    for (key, value) in a.iter() {
        let value = match members.get(key) {
            Some(other) => crate::value::deeper(|| merge(value, other)),
            None => value.clone(),
        };
        members.insert(key.clone(), value);
    }
    Value::Object(merged)
}
