//! Lowers definitions.
//!
//! ```text
//! p := x if { … } else := y if { … }    #0 value slot 0 of body, otherwise #1 value slot 0 of body
//! f(x, {"a": y}) := y                   #2 args [slot 0, {const: slot 1}], value slot 1
//! s contains x if { … }                 #3 key slot 0
//! q[k].a := v if { … }                  #4 path [const "q", slot 0, const "a"], value slot 1
//! ```

use std::collections::BTreeSet;

use crate::core::Head as RefHead;
use crate::core::{
    Candidate, Core, Definition, Op, OpKind, Resolved, Rule, RuleId, RuleSet, SetId, Side, Target,
    Term,
};
use crate::index::{Candidate as IndexCandidate, Index, Lookup, Reference, Resolver};
use crate::problem::Problem;
use crate::syntax::tree::{self, TermKind};
use crate::threads;
use crate::value::Value;

use super::frame::Frame;
use super::tree::{Placed, constant};
use super::{Lowering, unexpected};

impl Lowering<'_> {
    /// Lowers a definition and its `else` branches, and adds them to their rule set.
    pub(super) fn rule(&mut self, placed: &Placed<'_>) -> Result<(), Problem> {
        let Placed { rule, package, set } = *placed;
        self.set = Some(set);
        let id = self.definition(rule, package, set)?;
        let branches = rule.branches().skip(1);
        let otherwise: Vec<_> = branches
            .map(|branch| self.definition(branch, package, set))
            .collect::<Result<_, _>>()?;
        if let super::Destination::Program(core) = &mut self.core
            && let Some(set) = core.sets.get_mut(set.0 as usize)
        {
            set.members.push(std::iter::once(id).chain(otherwise.iter().copied()).collect());
            if rule.default {
                set.default = Some(id);
            } else {
                set.definitions.push(Definition { rule: id, otherwise });
            }
        }
        Ok(())
    }

    fn definition(
        &mut self,
        rule: &tree::Rule,
        package: &[tree::Term],
        set: SetId,
    ) -> Result<RuleId, Problem> {
        let mut frame = Frame::default();
        let head = &rule.head;
        let args = self.terms(&mut frame, &head.args)?;
        for arg in &args {
            frame.bind(arg);
        }
        let mut reference = self.terms(&mut frame, package.iter().skip(1))?;
        for (index, part) in head.reference.iter().enumerate() {
            reference.push(match (&part.kind, index) {
                (TermKind::Var(name), 0) => Term::Const(Value::from(name.clone())),
                _ => self.term(&mut frame, part)?,
            });
        }
        let body = self.body(&mut frame, &rule.body)?;
        let key = match (&head.key, &head.value) {
            (Some(key), None) => Some(self.term(&mut frame, key)?),
            _ => None,
        };
        let value = head.value.as_ref().map(|value| self.term(&mut frame, value)).transpose()?;
        if key.is_none() && value.is_none() {
            return Err(unexpected(head.span, "a rule without key and value"));
        }
        let rule = Rule {
            scope: frame.scope(),
            span: rule.span,
            head_span: head.span,
            set,
            reference,
            args,
            key,
            value,
            body,
            single: false,
        };
        let super::Destination::Program(core) = &mut self.core else {
            return Err(unexpected(rule.span, "a rule in a query"));
        };
        core.rules.push(rule);
        Ok(RuleId(u32::try_from(core.rules.len() - 1).unwrap_or(u32::MAX)))
    }
}

/// Builds the index of each rule set.
pub(super) fn index(core: &mut Core, placed: &[Placed<'_>]) {
    let groups: Vec<_> = placed.chunk_by(|a, b| a.set == b.set).collect();
    let known = &*core;
    let built = threads::map(groups, |group| {
        let rules: Vec<&tree::Rule> = group.iter().map(|place| place.rule).collect();
        let index = Index::build(&rules, &|reference| leads_to_rules(known, reference));
        Some((group.first()?.set, index?))
    });
    for (id, index) in built.into_iter().flatten() {
        let Some(set) = core.sets.get_mut(id.0 as usize) else { continue };
        let candidates = |set: &RuleSet, found: &[IndexCandidate]| -> Vec<Candidate> {
            let rule =
                |found: &IndexCandidate| set.members.get(found.rule)?.get(found.branch).copied();
            found
                .iter()
                .filter_map(|found| Some(Candidate { rule: rule(found)?, first: found.first }))
                .collect()
        };
        set.all = candidates(set, &index.all());
        // A lookup that asks for no value depends on nothing, so its result always holds.
        let mut probe = LookupProbe { asked: false };
        let mut lookup = Lookup::new();
        let Ok((found, early)) = index.lookup(&mut lookup, &mut probe);
        if probe.asked {
            set.index = Some(Box::new(index));
        } else {
            set.all = candidates(set, found);
            set.early = early;
        }
    }
}

/// A resolver that records whether any value was asked for.
struct LookupProbe {
    asked: bool,
}

impl Resolver for LookupProbe {
    type Error = std::convert::Infallible;

    fn resolve(&mut self, _: &Reference) -> Result<Option<Value>, Self::Error> {
        self.asked = true;
        Ok(None)
    }
}

/// Returns `true` if the constant operands of a reference lead to a rule, or to a path with rules
/// below it.
fn leads_to_rules(core: &Core, reference: &[tree::Term]) -> bool {
    let Some((head, rest)) = reference.split_first() else { return false };
    if !head.is_var("data") {
        return false;
    }
    let mut node = Core::ROOT;
    for part in rest {
        let Some(key) = constant(part) else { break };
        let Some(child) = core.child(node, &key) else { return false };
        if core.node(child).is_some_and(|child| child.set.is_some()) {
            return true;
        }
        node = child;
    }
    true
}

/// Sets the flags that can be determined only once all rules are lowered.
pub(super) fn finish(core: &mut Core) {
    for index in 0..core.sets.len() {
        let Some(set) = core.sets.get(index) else { continue };
        let rules = || set.definitions.iter().filter_map(|definition| core.rule(definition.rule));
        let lengths: BTreeSet<usize> = rules().map(|rule| rule.reference.len()).collect();
        let keys: BTreeSet<usize> = rules().map(|rule| set.keys_of(rule)).collect();
        if let Some(set) = core.sets.get_mut(index) {
            set.uneven = lengths.len() > 1;
            set.keys = keys.first().copied().filter(|_| keys.len() == 1);
        }
    }
    let mut single = SingleAnswers { known: vec![None; core.sets.len()], core };
    let known: Vec<bool> = (0..single.core.sets.len()).map(|index| single.set(index)).collect();
    let rules: Vec<bool> = single
        .core
        .rules
        .iter()
        .map(|rule| rule.body.iter().all(|op| op_single(op, &known)))
        .collect();
    for (set, known) in core.sets.iter_mut().zip(&known) {
        set.single = *known;
    }
    for (rule, single) in core.rules.iter_mut().zip(rules) {
        rule.single = single;
    }
}

/// Determines which rule sets have at most one answer.
struct SingleAnswers<'c> {
    core: &'c Core,
    known: Vec<Option<bool>>,
}

impl SingleAnswers<'_> {
    fn set(&mut self, index: usize) -> bool {
        if let Some(Some(known)) = self.known.get(index) {
            return *known;
        }
        // Rules can't be recursive; if they are anyway, the answer is no.
        if let Some(known) = self.known.get_mut(index) {
            *known = Some(false);
        }
        let core = self.core;
        let single = core.sets.get(index).is_some_and(|set| {
            if set.multi || !set.ground {
                // The whole document, or the part that is asked for, is built before it is used.
                return true;
            }
            set.rules().filter_map(|id| core.rule(id)).all(|rule| {
                // An irregular value can be iterated only as long as its frame lives.
                let regular = !rule.value.as_ref().is_some_and(Term::may_be_irregular);
                regular
                    && rule
                        .body
                        .iter()
                        .all(|op| op.single && is_regular(op) && self.callees_single(op))
            })
        });
        if let Some(known) = self.known.get_mut(index) {
            *known = Some(single);
        }
        single
    }

    /// Returns `true` if the rules that an expression refers to have at most one answer.
    fn callees_single(&mut self, op: &Op) -> bool {
        crate::value::deeper(|| match &op.kind {
            OpKind::With(_, op) => self.callees_single(op),
            _ => callees(op).all(|set| self.answers_at_once(set)),
        })
    }

    /// Returns `true` if rules that a body refers to have at most one answer, with nothing left to
    /// evaluate once they have it. Otherwise the rest of the body would have to run before that
    /// remainder.
    fn answers_at_once(&mut self, id: SetId) -> bool {
        let ends = self.core.set(id).is_some_and(|set| {
            let made = set.multi || !set.ground;
            let early = set.early || set.index.as_ref().is_some_and(|index| index.exits_early());
            made || set.definitions.len() < 2 || early
        });
        ends && self.set(id.0 as usize)
    }
}

/// Returns `true` if an expression binds no variable to a term that may be irregular.
fn is_regular(op: &Op) -> bool {
    let irregular = |side: &Side| matches!(side, Side::Term(term) if term.may_be_irregular());
    match &op.kind {
        OpKind::Unify(_) => !op.sides().any(irregular),
        OpKind::With(_, op) => is_regular(op),
        _ => true,
    }
}

fn op_single(op: &Op, sets: &[bool]) -> bool {
    let known = |set: SetId| sets.get(set.0 as usize).copied().unwrap_or(false);
    op.single
        && match &op.kind {
            OpKind::With(_, op) => op_single(op, sets),
            _ => callees(op).all(known),
        }
}

/// Returns the rules that an expression without `with` refers to.
fn callees(op: &Op) -> impl Iterator<Item = SetId> {
    let called = match &op.kind {
        OpKind::Call(call) => match call.target {
            Target::Function(set) => Some(set),
            _ => None,
        },
        _ => None,
    };
    let referenced = op.sides().filter_map(|side| match side {
        Side::Ref(reference) => match reference.head {
            RefHead::Data(Resolved::Rules(set, _)) => Some(set),
            _ => None,
        },
        _ => None,
    });
    called.into_iter().chain(referenced)
}
