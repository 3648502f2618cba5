//! Partial rules, which make sets and objects, also nested: `s contains x`, `p[k] := v`, `q[a].b[c]
//! contains x`.
//!
//! For a reference to the whole document, all definitions are evaluated and the result is cached.
//! For one whose operands have values, each definition's head is first unified with these, so that
//! its body searches for nothing else; the result is cached under the operands. For one whose first
//! operand is unbound, the whole document is made; so it is after many searches ([`super::whole`]).

use std::collections::BTreeSet;

use super::cache::{CachedRule, PartialKey};
use super::machine::{Machine, Run, Stop};
use super::reference::found_by;
use super::rules::{Candidates, ValueAndRest};
use super::{ErrorCode, EvalError, TraceNode, TraceOp};
use crate::core::{Rule, RuleSet, SetId, Term};
use crate::value::{Object, Shared, Value, set_of};

/// The document while it is being made.
enum PartialDocument {
    /// The elements of a set, in the order in which they were found.
    Set(Vec<Value>),
    Object {
        value: Value,
        /// The paths that have a value; used if one path may be within another's value.
        taken: BTreeSet<Vec<Value>>,
    },
}

impl PartialDocument {
    fn new(set: &RuleSet) -> Self {
        if set.multi && set.ground {
            Self::Set(Vec::new())
        } else {
            Self::Object { value: Value::from(Object::new()), taken: BTreeSet::new() }
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Set(elements) => Value::from(set_of(elements)),
            Self::Object { value, .. } => value,
        }
    }
}

/// The key under which a part is cached.
enum CacheHint {
    /// The part isn't cached.
    None,
    Key(Vec<PartialKey>),
}

impl<'p> Machine<'p, '_> {
    /// Returns the value that a reference to such rules finds first, and the operands that remain
    /// to be looked up in it. This has at most one answer: the document is complete before it is
    /// used.
    pub(super) fn partial(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        set: &'p RuleSet,
        path: &'p [Term],
    ) -> Result<ValueAndRest<'p>, Stop> {
        if let Some(CachedRule::Value(value)) = self.caches.document(id) {
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
        let operands = path.get(..set.keys.unwrap_or(0)).unwrap_or(path);
        if let Some(whole) = self.made_whole(run, id, operands) {
            return Ok(Some((whole, path)));
        }
        // As in OPA, the longest path of the definitions that may hold determines how many operands
        // are part of the key.
        let early = if set.keys.is_none() { Some(self.find_candidates(set, &[])) } else { None };
        let keys = match (set.keys, early) {
            (Some(keys), _) => keys,
            (None, Some(candidates)) => self.longest(set, candidates),
            (None, None) => 0,
        };
        let hint = match self.cache_hint(run, id, path.get(..keys).unwrap_or(path)) {
            Ok(hint) => hint,
            Err((value, count)) => {
                if let Some(candidates) = early {
                    self.drop_candidates(candidates);
                }
                return Ok(Some((value, path.get(count..).unwrap_or_default())));
            }
        };
        if let CacheHint::Key(key) = &hint
            && set.pure
            && let Some(whole) = self.make_whole(run, id, set, key)?
        {
            return Ok(Some((whole, path)));
        }
        let before = self.steps;
        let candidates = early.unwrap_or_else(|| self.find_candidates(set, &[]));
        if Self::has_none(candidates) {
            self.drop_candidates(candidates);
            return Ok(None);
        }
        let mut document = PartialDocument::new(set);
        for place in 0.. {
            let Some((rule, first)) = self.candidate(candidates, place) else { break };
            if !first {
                continue;
            }
            let flow = self
                .deeper(|machine| machine.partial_rule(run, set, rule, Some(path), &mut document));
            if let Err(stop) = flow {
                self.drop_candidates(candidates);
                return Err(stop);
            }
        }
        self.drop_candidates(candidates);
        if set.pure {
            self.caches.searches(id).spent += self.steps - before;
        }
        let document = document.into_value();
        if let CacheHint::Key(key) = hint
            && !self.unknown
        {
            let values = key.iter().filter_map(|part| match part {
                PartialKey::Value(value) => Some(value),
                PartialKey::Scope(_) => None,
            });
            let mut values = values;
            let found = values.try_fold(&document, found_by).cloned();
            if let Some(found) = found {
                self.context.spend(128)?;
                self.caches.keep_part(id, key, found);
            }
        }
        Ok(Some((document, path)))
    }

    /// Returns the key under which the operands' part is to be cached; or, as an error, the part
    /// that is cached already and the number of operands that lead to it.
    fn cache_hint(
        &self,
        run: &Run<'p>,
        id: SetId,
        path: &'p [Term],
    ) -> Result<CacheHint, (Value, usize)> {
        let mut key: Vec<PartialKey> = Vec::new();
        let mut count = 0;
        let mut scoping = false;
        for term in path {
            let value = self.value(term, run.base).map(std::borrow::Cow::into_owned);
            match value {
                Some(value) if !scoping => {
                    key.push(PartialKey::Value(value));
                    count += 1;
                }
                value => {
                    scoping = true;
                    if value.is_none() && !self.is_free(term, run.base) {
                        // A pattern that has no value yet can't be part of a key.
                        return Ok(CacheHint::None);
                    }
                    match key.last_mut() {
                        None => break,
                        Some(PartialKey::Scope(scope)) => scope.push(value),
                        Some(PartialKey::Value(_)) => key.push(PartialKey::Scope(vec![value])),
                    }
                }
            }
            if let Some(kept) = self.caches.part(id, &key) {
                return Err((kept.clone(), count));
            }
        }
        if let Some(PartialKey::Scope(scope)) = key.last_mut() {
            while scope.last().is_some_and(Option::is_none) {
                scope.pop();
            }
            if scope.is_empty() {
                key.pop();
            }
        }
        Ok(if key.is_empty() { CacheHint::None } else { CacheHint::Key(key) })
    }

    /// The number of operands of the longest path among the candidates.
    fn longest(&self, set: &RuleSet, candidates: Candidates<'p>) -> usize {
        let mut longest = 0;
        for place in 0.. {
            let Some((rule, first)) = self.candidate(candidates, place) else { break };
            if first {
                longest = longest.max(set.keys_of(rule));
            }
        }
        longest
    }

    /// Makes and caches the whole document.
    fn extent(&mut self, run: &Run<'p>, id: SetId, set: &'p RuleSet) -> Result<Value, Stop> {
        let value = self.extent_of(run, set)?;
        if !self.unknown {
            self.caches.keep_document(id, CachedRule::Value(value.clone()));
        }
        Ok(value)
    }

    /// Makes the whole document.
    pub(super) fn extent_of(&mut self, run: &Run<'p>, set: &'p RuleSet) -> Result<Value, Stop> {
        let candidates = self.find_candidates(set, &[]);
        let document = self.document_of(run, set, candidates);
        self.drop_candidates(candidates);
        document
    }

    fn document_of(
        &mut self,
        run: &Run<'p>,
        set: &'p RuleSet,
        candidates: Candidates<'p>,
    ) -> Result<Value, Stop> {
        let mut document = PartialDocument::new(set);
        for place in 0.. {
            let Some((rule, first)) = self.candidate(candidates, place) else { break };
            if !first {
                continue;
            }
            self.deeper(|machine| machine.partial_rule(run, set, rule, None, &mut document))?;
        }
        Ok(document.into_value())
    }

    /// Evaluates one definition, for the operands of a reference or for the whole document.
    fn partial_rule(
        &mut self,
        run: &Run<'p>,
        set: &RuleSet,
        rule: &'p Rule,
        path: Option<&'p [Term]>,
        document: &mut PartialDocument,
    ) -> Result<(), Stop> {
        let base = self.enter_frame(&rule.scope);
        let mark = self.trail.len();
        let within = self.framed_run(run, (&rule.body, &rule.scope, base), false);
        self.trace(TraceOp::Enter, TraceNode::Rule, &within, rule.span);
        let flow = if path.is_none_or(|path| self.bind_head(run, set, rule, path, base)) {
            self.run(&within, 0, &mut |machine| {
                machine.trace(TraceOp::Exit, TraceNode::Rule, &within, rule.span);
                machine.add(set, rule, base, document)?;
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

    /// Unifies a head's operands with those of a reference.
    fn bind_head(
        &mut self,
        run: &Run<'p>,
        set: &RuleSet,
        rule: &'p Rule,
        path: &'p [Term],
        base: u32,
    ) -> bool {
        let own = rule.reference.get(set.parts.len()..).unwrap_or_default();
        let bound =
            path.iter().zip(own).all(|(operand, own)| self.unify(operand, run.base, own, base));
        if !bound {
            return false;
        }
        // For a set, the operand after the path is the element.
        match (&rule.key, path.get(own.len())) {
            (Some(key), Some(operand)) if rule.multi() => self.unify(operand, run.base, key, base),
            _ => true,
        }
    }

    fn head_term(&self, rule: &'p Rule, term: &'p Term, base: u32) -> Result<Value, Stop> {
        let value = self.value(term, base);
        value.map_or_else(|| self.without_value(rule.head_span), |value| Ok(value.into_owned()))
    }

    /// Adds the value of a definition's head to the document.
    fn add(
        &mut self,
        set: &RuleSet,
        rule: &'p Rule,
        base: u32,
        document: &mut PartialDocument,
    ) -> Result<(), Stop> {
        self.context.spend(96)?;
        let leaf = match (&rule.value, &rule.key) {
            (Some(term), _) | (None, Some(term)) => self.head_term(rule, term, base)?,
            (None, None) => self.without_value(rule.head_span)?,
        };
        let own = rule.reference.get(set.parts.len()..).unwrap_or_default();
        let (value, taken) = match document {
            PartialDocument::Set(elements) => {
                elements.push(leaf);
                return Ok(());
            }
            PartialDocument::Object { value, taken } => (value, taken),
        };
        let mut keys = Vec::with_capacity(own.len());
        for term in own {
            keys.push(self.head_term(rule, term, base)?);
        }
        if set.uneven && self.reports_conflicts() {
            let within = (0..keys.len())
                .any(|end| keys.get(..end).is_some_and(|prefix| taken.contains(prefix)));
            if within {
                return Err(not_unique(rule));
            }
            taken.insert(keys.clone());
        }
        let Some(last) = keys.pop() else { return Err(not_unique(rule)) };
        let mut place = value;
        for key in keys {
            let Value::Object(members) = place else { return Err(not_unique(rule)) };
            place = Shared::make_mut(members).get_or_insert_with(key, Value::new_object);
        }
        let Value::Object(members) = place else { return Err(not_unique(rule)) };
        let members = Shared::make_mut(members);
        if rule.multi() {
            match members.get_or_insert_with(last, Value::new_set) {
                Value::Set(elements) => {
                    Shared::make_mut(elements).insert(leaf);
                }
                _ => return Err(not_unique(rule)),
            }
            return Ok(());
        }
        match members.get(&last) {
            Some(kept) if *kept != leaf && self.reports_conflicts() => Err(not_unique(rule)),
            Some(_) => Ok(()),
            None => {
                members.insert(last, leaf);
                Ok(())
            }
        }
    }
}

#[cold]
fn not_unique(rule: &Rule) -> Stop {
    EvalError::new(ErrorCode::Conflict, Some(rule.head_span), "object keys must be unique").into()
}
