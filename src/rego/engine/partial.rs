//! Rules that make sets and objects, also within one another: `s contains x`, `p[k] := v`,
//! `q[a].b[c] contains x`.
//!
//! Asked as a whole, all definitions are evaluated and what they make is kept. Asked with operands
//! that have values, each definition's head is first made equal to them, so that its body looks for
//! nothing else; what is found is kept under these operands. Asked with a first operand without
//! value, the whole is made.

use std::collections::BTreeSet;

use super::cache::{Kept, Part};
use super::machine::{Machine, Run, Stop};
use super::rules::{Candidates, Rest};
use super::{ErrorCode, EvalError, TraceNode, TraceOp};
use crate::rego::core::{Rule, RuleSet, SetId, Term};
use crate::rego::value::{Object, Set, Shared, Value};

/// The document while it is made.
struct Making {
    value: Value,
    /// The paths that have a value, where one may be within another's.
    taken: BTreeSet<Vec<Value>>,
}

/// How a part is kept.
enum Hint {
    /// It isn't.
    None,
    /// Under these.
    Key(Vec<Part>),
}

impl<'p> Machine<'p, '_> {
    /// What a reference to such rules finds first, and the operands that are left to look up in
    /// it. This takes no alternatives: what is found is made before it is used.
    pub(super) fn partial(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        set: &'p RuleSet,
        path: &'p [Term],
    ) -> Result<Rest<'p>, Stop> {
        if let Some(Kept::Value(value)) = self.caches.document(id) {
            return Ok(Some((value.clone(), path)));
        }
        let Some(first) = path.first() else {
            return Ok(Some((self.extent(run, id, set)?, path)));
        };
        if self.is_free(first, run.base) {
            let candidates = self.find_candidates(set, &[]);
            let none = Self::has_none(candidates);
            self.drop_candidates(candidates);
            return Ok(if none { None } else { Some((self.extent(run, id, set)?, path)) });
        }
        let hint = match self.hint(run, id, set, path) {
            Ok(hint) => hint,
            Err((value, count)) => return Ok(Some((value, path.get(count..).unwrap_or_default()))),
        };
        let candidates = self.find_candidates(set, &[]);
        if Self::has_none(candidates) {
            self.drop_candidates(candidates);
            return Ok(None);
        }
        let mut making = new_document(set);
        for place in 0.. {
            let Some((rule, first)) = self.candidate(candidates, place) else { break };
            if !first {
                continue;
            }
            let flow =
                self.deeper(|machine| machine.partial_rule(run, set, rule, path, &mut making));
            if let Err(stop) = flow {
                self.drop_candidates(candidates);
                return Err(stop);
            }
        }
        self.drop_candidates(candidates);
        if let Hint::Key(key) = hint {
            let values = key.iter().filter_map(|part| match part {
                Part::Value(value) => Some(value),
                Part::Scope(_) => None,
            });
            let mut values = values;
            let found = values.try_fold(&making.value, |value, key| value.get(key)).cloned();
            if let Some(found) = found {
                self.world.spend(128)?;
                self.caches.keep_part(id, key, found);
            }
        }
        Ok(Some((making.value, path)))
    }

    /// What operands are kept under; or what is kept, and how many of them led to it.
    fn hint(
        &self,
        run: &Run<'p>,
        id: SetId,
        set: &RuleSet,
        path: &'p [Term],
    ) -> Result<Hint, (Value, usize)> {
        let longest = self.longest(set, path.len());
        let mut key: Vec<Part> = Vec::new();
        let mut count = 0;
        let mut scoping = false;
        for term in path.iter().take(longest) {
            let value = self.value(term, run.base).map(std::borrow::Cow::into_owned);
            match value {
                Some(value) if !scoping => {
                    key.push(Part::Value(value));
                    count += 1;
                }
                value => {
                    scoping = true;
                    if value.is_none() && !self.is_free(term, run.base) {
                        // A pattern that has no value yet: nothing to keep things under.
                        return Ok(Hint::None);
                    }
                    match key.last_mut() {
                        None => break,
                        Some(Part::Scope(scope)) => scope.push(value),
                        Some(Part::Value(_)) => key.push(Part::Scope(vec![value])),
                    }
                }
            }
            if let Some(kept) = self.caches.part(id, &key) {
                return Err((kept.clone(), count));
            }
        }
        if let Some(Part::Scope(scope)) = key.last_mut() {
            while scope.last().is_some_and(Option::is_none) {
                scope.pop();
            }
            if scope.is_empty() {
                key.pop();
            }
        }
        Ok(if key.is_empty() { Hint::None } else { Hint::Key(key) })
    }

    /// The number of operands the longest of the rules' paths has, at most so many as are asked.
    fn longest(&self, set: &RuleSet, most: usize) -> usize {
        let rules = set.definitions.iter().filter_map(|it| self.core.rule(it.rule));
        let length = |rule: &Rule| {
            rule.reference.len().saturating_sub(set.parts.len()) + usize::from(rule.multi())
        };
        rules.map(length).max().unwrap_or_default().min(most)
    }

    /// The whole document.
    fn extent(&mut self, run: &Run<'p>, id: SetId, set: &'p RuleSet) -> Result<Value, Stop> {
        let candidates = self.find_candidates(set, &[]);
        let making = self.extent_of(run, set, candidates);
        self.drop_candidates(candidates);
        let value = making?.value;
        self.caches.keep_document(id, Kept::Value(value.clone()));
        Ok(value)
    }

    fn extent_of(
        &mut self,
        run: &Run<'p>,
        set: &'p RuleSet,
        candidates: Candidates<'p>,
    ) -> Result<Making, Stop> {
        let mut making = new_document(set);
        for place in 0.. {
            let Some((rule, first)) = self.candidate(candidates, place) else { break };
            if !first {
                continue;
            }
            let base = self.enter_frame(&rule.scope);
            let within = self.apart(run, (&rule.body, &rule.scope, base), false);
            self.trace(TraceOp::Enter, TraceNode::Rule, &within, rule.span);
            let flow = self.deeper(|machine| {
                machine.run(&within, 0, &mut |machine| {
                    machine.trace(TraceOp::Exit, TraceNode::Rule, &within, rule.span);
                    machine.add(set, rule, base, &mut making)?;
                    machine.trace(TraceOp::Redo, TraceNode::Rule, &within, rule.span);
                    Ok(())
                })
            });
            self.leave_frame(base);
            flow?;
        }
        Ok(making)
    }

    /// What one definition makes of what is asked.
    fn partial_rule(
        &mut self,
        run: &Run<'p>,
        set: &RuleSet,
        rule: &'p Rule,
        path: &'p [Term],
        making: &mut Making,
    ) -> Result<(), Stop> {
        let base = self.enter_frame(&rule.scope);
        let mark = self.trail.len();
        let within = self.apart(run, (&rule.body, &rule.scope, base), false);
        self.trace(TraceOp::Enter, TraceNode::Rule, &within, rule.span);
        let flow = if self.bind_head(run, set, rule, path, base) {
            self.run(&within, 0, &mut |machine| {
                machine.trace(TraceOp::Exit, TraceNode::Rule, &within, rule.span);
                machine.add(set, rule, base, making)?;
                machine.trace(TraceOp::Redo, TraceNode::Rule, &within, rule.span);
                Ok(())
            })
        } else {
            self.trace(TraceOp::Fail, TraceNode::Rule, &within, rule.span);
            Ok(())
        };
        self.undo(mark);
        self.leave_frame(base);
        flow
    }

    /// Makes a head's operands equal to those that are asked.
    fn bind_head(
        &mut self,
        run: &Run<'p>,
        set: &RuleSet,
        rule: &'p Rule,
        path: &'p [Term],
        base: u32,
    ) -> bool {
        let own = rule.reference.get(set.parts.len()..).unwrap_or_default();
        let bound = path.iter().zip(own).all(|(asked, own)| self.unify(asked, run.base, own, base));
        if !bound {
            return false;
        }
        // The operand after the path is the element, of a set.
        match (&rule.key, path.get(own.len())) {
            (Some(key), Some(asked)) if rule.multi() => self.unify(asked, run.base, key, base),
            _ => true,
        }
    }

    fn head_term(&self, rule: &'p Rule, term: &'p Term, base: u32) -> Result<Value, Stop> {
        let value = self.value(term, base).map(std::borrow::Cow::into_owned);
        value.ok_or_else(|| self.without_value(rule.head_span))
    }

    /// Adds what a definition's head says when its body holds.
    fn add(
        &mut self,
        set: &RuleSet,
        rule: &'p Rule,
        base: u32,
        making: &mut Making,
    ) -> Result<(), Stop> {
        self.world.spend(96)?;
        let leaf = match (&rule.value, &rule.key) {
            (Some(term), _) | (None, Some(term)) => self.head_term(rule, term, base)?,
            (None, None) => return Err(self.without_value(rule.head_span)),
        };
        let own = rule.reference.get(set.parts.len()..).unwrap_or_default();
        if let Value::Set(elements) = &mut making.value {
            Shared::make_mut(elements).insert(leaf);
            return Ok(());
        }
        let mut keys = Vec::with_capacity(own.len());
        for term in own {
            keys.push(self.head_term(rule, term, base)?);
        }
        if set.uneven {
            let within = (0..keys.len())
                .any(|end| keys.get(..end).is_some_and(|prefix| making.taken.contains(prefix)));
            if within {
                return Err(not_unique(rule));
            }
            making.taken.insert(keys.clone());
        }
        let Some(last) = keys.pop() else { return Err(not_unique(rule)) };
        let mut place = &mut making.value;
        for key in keys {
            let Value::Object(members) = place else { return Err(not_unique(rule)) };
            place = Shared::make_mut(members).entry(key).or_insert_with(Value::new_object);
        }
        let Value::Object(members) = place else { return Err(not_unique(rule)) };
        let members = Shared::make_mut(members);
        if rule.multi() {
            match members.entry(last).or_insert_with(Value::new_set) {
                Value::Set(elements) => {
                    Shared::make_mut(elements).insert(leaf);
                }
                _ => return Err(not_unique(rule)),
            }
            return Ok(());
        }
        match members.get(&last) {
            Some(kept) if *kept != leaf => Err(not_unique(rule)),
            Some(_) => Ok(()),
            None => {
                members.insert(last, leaf);
                Ok(())
            }
        }
    }
}

fn new_document(set: &RuleSet) -> Making {
    let value =
        if set.multi && set.ground { Value::from(Set::new()) } else { Value::from(Object::new()) };
    Making { value, taken: BTreeSet::new() }
}

#[cold]
fn not_unique(rule: &Rule) -> Stop {
    EvalError::new(ErrorCode::Conflict, Some(rule.head_span), "object keys must be unique").into()
}
