//! References: operand by operand into a value, into base data, into the tree of rules.
//!
//! An operand with a value is looked up; one without is every key that there is, one after the
//! other. What a reference finds is made equal to its other side.

use std::cell::RefCell;

use super::machine::{Alternatives, Flow, Machine, Next, Run, Step, Stop};
use super::open::unread;
use crate::rego::core::{
    Comprehension, ComprehensionKind, Core, Head, NodeId, Ref, Resolved, SetId, Side, Term, member,
};
use crate::rego::value::{Number, Object, Shared, Value};

/// What a reference's value is made equal to.
#[derive(Clone, Copy)]
pub(super) enum Other<'o, 'p> {
    /// A term of a frame.
    Term(&'p Term, u32),
    /// Another reference.
    Ref(&'p Ref),
    /// A comprehension.
    Comprehension(&'p Comprehension),
    /// A value.
    Value(&'o Value),
    /// Anything but `false`.
    Truth,
    /// Anything; it is kept.
    Any(&'o RefCell<Option<Value>>),
}

/// What a reference finds without evaluating anything.
enum Look<'s, 'p> {
    Value(&'s Value),
    Undefined,
    /// It may find several.
    Many,
    /// Rules, and the operands after their path.
    Rules(SetId, &'p [Term]),
}

/// What a reference finds where it can find but one thing.
enum Found {
    Value(Value),
    Undefined,
    /// It may find several.
    Many,
}

/// True if a comprehension may make a value. As in OPA, one that makes another type isn't evaluated
/// to be compared, but for sets.
fn may_be_made(value: &Value, comprehension: &Comprehension) -> bool {
    match value {
        Value::Array(_) => matches!(comprehension.kind, ComprehensionKind::Array(_)),
        Value::Object(_) => matches!(comprehension.kind, ComprehensionKind::Object(..)),
        Value::Set(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

impl<'p, 'r> Machine<'p, 'r> {
    /// An equality with one answer.
    pub(super) fn unify_single(
        &mut self,
        run: &Run<'p>,
        a: &'p Side,
        b: &'p Side,
    ) -> Result<Step, Stop> {
        let base = run.base;
        match (a, b) {
            (Side::Term(a), Side::Term(b)) => Ok(self.unify(a, base, b, base).into()),
            (Side::Ref(reference), Side::Term(term)) | (Side::Term(term), Side::Ref(reference)) => {
                let found = match self.look(run, reference) {
                    Look::Value(found) => match self.value(term, base) {
                        Some(value) => return Ok((*value == *found).into()),
                        None => found.clone(),
                    },
                    Look::Undefined => return Ok(Step::No),
                    Look::Many => return Ok(Step::Many),
                    Look::Rules(set, path) => match self.find_in_rules(run, set, path)? {
                        Found::Value(value) => value,
                        Found::Undefined => return Ok(Step::No),
                        Found::Many => return Ok(Step::Many),
                    },
                };
                Ok(self.unify_owned(term, base, found).into())
            }
            (Side::Term(term), Side::Comprehension(it)) if !self.may_meet(term, base, it) => {
                Ok(Step::No)
            }
            (Side::Comprehension(it), Side::Term(term))
            | (Side::Term(term), Side::Comprehension(it)) => {
                let value = self.comprehension(run, it)?;
                Ok(self.unify_owned(term, base, value).into())
            }
            (Side::Comprehension(a), Side::Comprehension(b)) => {
                let a = self.comprehension(run, a)?;
                Ok((a == self.comprehension(run, b)?).into())
            }
            (Side::Ref(a), Side::Ref(b)) => match (self.look(run, a), self.look(run, b)) {
                (Look::Value(a), Look::Value(b)) => Ok((a == b).into()),
                // What comes second isn't evaluated then.
                (Look::Undefined, _) | (Look::Value(_), Look::Undefined) => Ok(Step::No),
                _ => Ok(Step::Many),
            },
            _ => Ok(Step::Many),
        }
    }

    /// True if a term on the left may be what a comprehension on the right makes.
    fn may_meet(&self, term: &'p Term, base: u32, comprehension: &Comprehension) -> bool {
        match self.through(term, base) {
            (Term::Array(_), _) => matches!(comprehension.kind, ComprehensionKind::Array(_)),
            (Term::Object(_), _) => matches!(comprehension.kind, ComprehensionKind::Object(..)),
            (Term::Set(_), _) => true,
            (term @ (Term::Const(_) | Term::Var(_)), base) => {
                self.value(term, base).is_none_or(|value| may_be_made(&value, comprehension))
            }
        }
    }

    /// An equality for each of its answers.
    pub(super) fn unify_many(
        &mut self,
        run: &Run<'p>,
        a: &'p Side,
        b: &'p Side,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        match (a, b) {
            (Side::Ref(a), b) | (b, Side::Ref(a)) => {
                let other = match b {
                    Side::Term(term) => Other::Term(term, run.base),
                    Side::Ref(reference) => Other::Ref(reference),
                    Side::Comprehension(it) => Other::Comprehension(it),
                };
                self.refer(run, a, other, next)
            }
            // Those have one answer.
            _ => match self.unify_single(run, a, b)? {
                Step::Yes => next(self),
                _ => Ok(()),
            },
        }
    }

    /// A term by itself with one answer.
    pub(super) fn test_single(&mut self, run: &Run<'p>, side: &'p Side) -> Result<Step, Stop> {
        Ok(match side {
            Side::Term(term) => {
                let value = self.value(term, run.base);
                value.is_none_or(|value| !is_false(&value)).into()
            }
            Side::Ref(reference) => match self.look(run, reference) {
                Look::Value(value) => (!is_false(value)).into(),
                Look::Undefined => Step::No,
                Look::Many => Step::Many,
                Look::Rules(set, path) => match self.find_in_rules(run, set, path)? {
                    Found::Value(value) => (!is_false(&value)).into(),
                    Found::Undefined => Step::No,
                    Found::Many => Step::Many,
                },
            },
            Side::Comprehension(it) => {
                self.comprehension(run, it)?;
                Step::Yes
            }
        })
    }

    /// A term by itself for each of its answers.
    pub(super) fn test_many(
        &mut self,
        run: &Run<'p>,
        side: &'p Side,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        match side {
            Side::Ref(reference) => self.refer(run, reference, Other::Truth, next),
            _ => match self.test_single(run, side)? {
                Step::Yes => next(self),
                _ => Ok(()),
            },
        }
    }

    /// What a reference to rules finds, where that takes no alternatives.
    fn find_in_rules(
        &mut self,
        run: &Run<'p>,
        set: SetId,
        path: &'p [Term],
    ) -> Result<Found, Stop> {
        Ok(match self.rules_single(run, set, path)? {
            Some(Some((value, rest))) => match self.descend(&value, rest, run.base) {
                Look::Value(value) => Found::Value(value.clone()),
                Look::Undefined => Found::Undefined,
                Look::Many | Look::Rules(..) => Found::Many,
            },
            Some(None) => Found::Undefined,
            None => Found::Many,
        })
    }

    /// Looks where nothing has to be evaluated.
    #[inline]
    fn look<'s>(&'s self, run: &Run<'p>, reference: &'p Ref) -> Look<'s, 'p> {
        let base = run.base;
        let path = &*reference.path;
        match &reference.head {
            Head::Input if !self.opens.is_empty() => Look::Many,
            Head::Input => match &self.input {
                Some(input) => self.descend(input, path, base),
                None => Look::Undefined,
            },
            Head::Var(slot) => match self.slot_value(*slot, base) {
                Some(value) => self.descend(value, path, base),
                None if self.slot_term(*slot, base).is_some() => Look::Many,
                None => Look::Undefined,
            },
            Head::Data(_) if self.data.is_some() || self.replaced_data > 0 => Look::Many,
            Head::Data(Resolved::Base(value, count)) => match value {
                Some(value) => {
                    self.descend_base(value, path.get(*count..).unwrap_or_default(), base)
                }
                None => Look::Undefined,
            },
            Head::Data(Resolved::Rules(set, count)) => {
                Look::Rules(*set, path.get(*count..).unwrap_or_default())
            }
            Head::Data(Resolved::Tree) => Look::Many,
            Head::Nothing => Look::Undefined,
        }
    }

    /// Looks up operands that have values.
    #[inline]
    fn descend<'s>(&self, value: &'s Value, path: &'p [Term], base: u32) -> Look<'s, 'p> {
        let mut value = value;
        for term in path {
            let Some(key) = self.value(term, base) else { return Look::Many };
            match value.get(&key) {
                Some(found) => value = found,
                None => return Look::Undefined,
            }
        }
        Look::Value(value)
    }

    /// The same in base data.
    fn descend_base<'s>(&self, value: &'s Value, path: &'p [Term], base: u32) -> Look<'s, 'p> {
        let mut value = value;
        for term in path {
            let Some(key) = self.value(term, base) else { return Look::Many };
            match member(value, &key) {
                Some(found) => value = found,
                None => return Look::Undefined,
            }
        }
        Look::Value(value)
    }

    /// A reference for each thing that it finds.
    pub(super) fn refer(
        &mut self,
        run: &Run<'p>,
        reference: &'p Ref,
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let path = &reference.path;
        match &reference.head {
            Head::Nothing => Ok(()),
            Head::Input => match self.input.clone() {
                Some(value) if self.opens.is_empty() => self.walk(run, value, path, other, next),
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

    /// The other side of what was found.
    pub(super) fn meet(
        &mut self,
        run: &Run<'p>,
        value: Value,
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        match other {
            Other::Term(term, base) => {
                let mark = self.trail.len();
                let flow = if self.unify_owned(term, base, value) { next(self) } else { Ok(()) };
                self.undo(mark);
                flow
            }
            Other::Truth => {
                if is_false(&value) {
                    Ok(())
                } else {
                    next(self)
                }
            }
            Other::Value(other) => {
                if value == *other {
                    next(self)
                } else {
                    Ok(())
                }
            }
            Other::Ref(reference) => self.refer(run, reference, Other::Value(&value), next),
            Other::Comprehension(it) => {
                if may_be_made(&value, it) && self.comprehension(run, it)? == value {
                    next(self)
                } else {
                    Ok(())
                }
            }
            Other::Any(place) => {
                *place.borrow_mut() = Some(value);
                next(self)
            }
        }
    }

    /// The other side of a document of `data` that isn't one rule's. OPA puts that document second: a
    /// comprehension is evaluated whatever it makes.
    fn meet_document(
        &mut self,
        run: &Run<'p>,
        value: Value,
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let Other::Comprehension(it) = other else { return self.meet(run, value, other, next) };
        if self.comprehension(run, it)? == value { next(self) } else { Ok(()) }
    }

    /// The rest of a reference, within a value.
    pub(super) fn walk(
        &mut self,
        run: &Run<'p>,
        mut value: Value,
        mut path: &'p [Term],
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        while let Some((term, rest)) = path.split_first() {
            let found = match self.value(term, run.base) {
                Some(key) => value.get(&key).cloned(),
                None => {
                    return self
                        .deeper(|machine| machine.each(run, &value, (term, rest), other, next));
                }
            };
            match found {
                Some(found) => value = found,
                None => return Ok(()),
            }
            path = rest;
        }
        self.meet(run, value, other, next)
    }

    /// Every key of a value for an operand without one.
    fn each(
        &mut self,
        run: &Run<'p>,
        value: &Value,
        (term, rest): (&'p Term, &'p [Term]),
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let mut alternatives = Alternatives::new(run);
        match value {
            Value::Array(items) => {
                for (index, item) in (0_i64..).zip(items.iter()) {
                    self.step()?;
                    let key = Value::Number(Number::from(index));
                    alternatives.tried(self.with_key(
                        run,
                        (term, &key),
                        item,
                        rest,
                        other,
                        next,
                    ))?;
                }
            }
            Value::Object(members) => {
                for (key, item) in members.iter() {
                    self.step()?;
                    alternatives.tried(self.with_key(run, (term, key), item, rest, other, next))?;
                }
            }
            Value::Set(items) => {
                // Only one element can be what it is compared with.
                if rest.is_empty()
                    && let Some(wanted) = self.wanted(other)
                {
                    if items.contains(&wanted) {
                        alternatives.tried(self.with_key(
                            run,
                            (term, &wanted),
                            &wanted,
                            rest,
                            other,
                            next,
                        ))?;
                    }
                    return alternatives.done();
                }
                for item in items.iter() {
                    self.step()?;
                    alternatives.tried(self.with_key(
                        run,
                        (term, item),
                        item,
                        rest,
                        other,
                        next,
                    ))?;
                }
            }
            _ => {}
        }
        alternatives.done()
    }

    #[inline]
    fn with_key(
        &mut self,
        run: &Run<'p>,
        (term, key): (&'p Term, &Value),
        item: &Value,
        rest: &'p [Term],
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let mark = self.trail.len();
        let flow = if self.unify_value(term, run.base, key) {
            self.walk(run, item.clone(), rest, other, next)
        } else {
            Ok(())
        };
        self.undo(mark);
        flow
    }

    /// The value that the other side has already.
    fn wanted(&self, other: Other<'_, 'p>) -> Option<Value> {
        match other {
            Other::Term(term, base) => self.value(term, base).map(std::borrow::Cow::into_owned),
            Other::Value(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// The rest of a reference, within a term that has variables: as an operand with a pattern
    /// leaves them in a rule's head.
    pub(super) fn walk_term(
        &mut self,
        run: &Run<'p>,
        (within, base): (&'p Term, u32),
        path: &'p [Term],
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let (within, base) = match self.irregular(within, base) {
            Some(irregular) => irregular,
            None => match self.value(within, base).map(std::borrow::Cow::into_owned) {
                Some(value) => return self.walk(run, value, path, other, next),
                None => self.through(within, base),
            },
        };
        let Some((operand, rest)) = path.split_first() else {
            let mark = self.trail.len();
            let holds = match other {
                Other::Term(term, other_base) => self.unify(within, base, term, other_base),
                Other::Value(value) => self.unify_value(within, base, value),
                Other::Truth => true,
                // Two references, or a comprehension: only with what has a value.
                Other::Ref(_) | Other::Comprehension(_) | Other::Any(_) => {
                    return match self.value(within, base).map(std::borrow::Cow::into_owned) {
                        Some(value) => self.meet(run, value, other, next),
                        None => Ok(()),
                    };
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
                    members.iter().filter_map(|(key, _)| self.seen(key, base)).collect()
                }
                Term::Set(items) => items.iter().filter_map(|item| self.seen(item, base)).collect(),
                Term::Const(_) | Term::Var(_) => Vec::new(),
            },
        };
        // An operand without value may also be made equal to a key without one.
        let valueless = |machine: &Self, key: &'p Term| {
            machine.is_free(operand, run.base) && machine.seen(key, base).is_none()
        };
        let open: Vec<(&'p Term, &'p Term)> = match within {
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
        let mut alternatives = Alternatives::new(run);
        for key in keys {
            self.step()?;
            let is_key = |term: &Term| self.seen(term, base).is_some_and(|value| value == key);
            let item = match within {
                Term::Array(items) => {
                    key.as_number().and_then(Number::as_usize).and_then(|at| items.get(at))
                }
                Term::Object(members) => {
                    members.iter().find(|(key, _)| is_key(key)).map(|(_, value)| value)
                }
                // An element is its value from here on.
                Term::Set(items) => {
                    if items.iter().any(is_key) {
                        alternatives.tried(self.with_key(
                            run,
                            (operand, &key),
                            &key,
                            rest,
                            other,
                            &mut *next,
                        ))?;
                    }
                    continue;
                }
                Term::Const(_) | Term::Var(_) => None,
            };
            let Some(item) = item else { continue };
            let mark = self.trail.len();
            let flow = if self.unify_value(operand, run.base, &key) {
                self.deeper(|machine| machine.walk_term(run, (item, base), rest, other, &mut *next))
            } else {
                Ok(())
            };
            self.undo(mark);
            alternatives.tried(flow)?;
        }
        for (key, item) in open {
            self.step()?;
            let mark = self.trail.len();
            let flow = if self.unify(operand, run.base, key, base) {
                self.deeper(|machine| machine.walk_term(run, (item, base), rest, other, &mut *next))
            } else {
                Ok(())
            };
            self.undo(mark);
            alternatives.tried(flow)?;
        }
        alternatives.done()
    }

    /// The rest of a reference, within base data beside which there are no rules.
    fn walk_base(
        &mut self,
        run: &Run<'p>,
        mut value: &'p Value,
        mut path: &'p [Term],
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        while let Some((term, rest)) = path.split_first() {
            let Some(key) = self.value(term, run.base) else {
                return self
                    .deeper(|machine| machine.each_base(run, value, (term, rest), other, next));
            };
            match member(value, &key) {
                Some(found) => value = found,
                None => return Ok(()),
            }
            path = rest;
        }
        self.meet_document(run, value.clone(), other, next)
    }

    fn each_base(
        &mut self,
        run: &Run<'p>,
        value: &'p Value,
        (term, rest): (&'p Term, &'p [Term]),
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let mut alternatives = Alternatives::new(run);
        let mut tried = |machine: &mut Self, key: &Value, item: &'p Value| {
            machine.step()?;
            let mark = machine.trail.len();
            let flow = if machine.unify_value(term, run.base, key) {
                machine.walk_base(run, item, rest, other, next)
            } else {
                Ok(())
            };
            machine.undo(mark);
            alternatives.tried(flow)
        };
        match value {
            Value::Array(items) => {
                for (index, item) in (0_i64..).zip(items.iter()) {
                    tried(self, &Value::from(index), item)?;
                }
            }
            Value::Object(members) => {
                for (key, item) in members.iter() {
                    tried(self, key, item)?;
                }
            }
            Value::Set(items) => {
                for item in items.iter() {
                    tried(self, item, item)?;
                }
            }
            _ => {}
        }
        alternatives.done()
    }

    /// True if a path is within what `with` replaces.
    fn is_replaced(&self, path: &[Value]) -> bool {
        self.replaced_data > 0 && self.replaced.iter().any(|replaced| replaced.covers(path))
    }

    /// A reference through the tree of rules and data, from a node on.
    fn tree(
        &mut self,
        run: &Run<'p>,
        node: Option<NodeId>,
        path: &'p [Term],
        done: Vec<Value>,
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        if !self.opens.is_empty()
            && let Some(open) = self.open_at(false, &done)
        {
            return self.meet_open(run, &open, path, other, next);
        }
        let Some((term, rest)) = path.split_first() else {
            return match self.document(run, node, &done)? {
                Some(value) => self.meet_document(run, value, other, next),
                None => Ok(()),
            };
        };
        if let Some(key) = self.value(term, run.base).map(std::borrow::Cow::into_owned) {
            return self.tree_child(run, node, key, (rest, done), other, next);
        }
        let document = self.resolve(&done);
        let mut alternatives = Alternatives::new(run);
        let keys: Vec<Value> = match &document {
            Some(Value::Array(items)) => (0_i64..).map(Value::from).take(items.len()).collect(),
            Some(Value::Object(members)) => members.keys().cloned().collect(),
            Some(Value::Set(items)) => items.iter().cloned().collect(),
            _ => Vec::new(),
        };
        for key in keys {
            self.step()?;
            alternatives.tried(self.tree_key(
                run,
                node,
                (term, key),
                (rest, &done),
                other,
                next,
            ))?;
        }
        alternatives.done()?;
        let core = self.core;
        let Some(node_id) = node else { return Ok(()) };
        let Some(children) = core.node(node_id).map(|node| &node.children) else { return Ok(()) };
        for key in children.keys() {
            // A key of both was just tried.
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
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let mark = self.trail.len();
        let flow = if self.unify_value(term, run.base, &key) {
            self.tree_child(run, node, key, (rest, done.to_vec()), other, next)
        } else {
            Ok(())
        };
        self.undo(mark);
        flow
    }

    fn tree_child(
        &mut self,
        run: &Run<'p>,
        node: Option<NodeId>,
        key: Value,
        (rest, mut done): (&'p [Term], Vec<Value>),
        other: Other<'_, 'p>,
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

    /// The base document of a path, with what replaces it.
    pub(super) fn resolve(&self, path: &[Value]) -> Option<Value> {
        let replacement = self
            .data
            .as_ref()
            .and_then(|data| path.iter().try_fold(data, |value, key| value.get(key)));
        if self.is_replaced(path) {
            return replacement.cloned();
        }
        let real = path.iter().try_fold(&self.core.data, member);
        match (replacement, real) {
            (Some(replacement), Some(real)) => Some(merge(replacement, real)),
            (Some(value), None) | (None, Some(value)) => Some(value.clone()),
            (None, None) => None,
        }
    }

    /// The whole document of a path that isn't a rule's: base data and what the rules below make.
    fn document(
        &mut self,
        run: &Run<'p>,
        node: Option<NodeId>,
        path: &[Value],
    ) -> Result<Option<Value>, Stop> {
        if !self.opens.is_empty() && self.is_open(false, path) {
            return Err(unread(run));
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

    /// What the rules below a node make.
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
                self.world.spend(64)?;
                result.insert(key.clone(), value);
            }
        }
        Ok(result)
    }

    /// What the rules of a path make, or what replaces it.
    fn leaf(&mut self, run: &Run<'p>, set: SetId, path: &[Value]) -> Result<Option<Value>, Stop> {
        let replaced =
            (1..=path.len()).any(|end| self.is_replaced(path.get(..end).unwrap_or_default()));
        if replaced {
            if self.is_open(false, path) {
                return Err(unread(run));
            }
            return Ok(self.resolve(path));
        }
        let place = RefCell::new(None);
        self.rules(run, set, &[], Other::Any(&place), &mut |_| Ok(()))?;
        Ok(place.into_inner())
    }
}

#[inline]
pub(super) fn is_false(value: &Value) -> bool {
    matches!(value, Value::Bool(false))
}

fn has_key(document: &Value, key: &Value) -> bool {
    document.get(key).is_some()
}

/// Both, where they are objects; otherwise the first.
pub(super) fn merge(first: &Value, second: &Value) -> Value {
    let (Value::Object(a), Value::Object(b)) = (first, second) else { return first.clone() };
    if b.is_empty() {
        return first.clone();
    }
    let mut merged = Shared::clone(b);
    let members = Shared::make_mut(&mut merged);
    for (key, value) in a.iter() {
        let value = match members.get(key) {
            Some(other) => crate::rego::value::deeper(|| merge(value, other)),
            None => value.clone(),
        };
        members.insert(key.clone(), value);
    }
    Value::Object(merged)
}
