//! Finds the expressions that compute operands of calls, as far as a call site is reached from these.
//!
//! ```text
//! platform.discover(lower(input.image), "")
//!
//! slot 0 = input.image                      operand of the third
//! builtin lower(slot 0) -> slot 1           operand of the third
//! host platform.discover(slot 1, "")
//! ```
//! So does an assignment, a pattern or an iteration that the author wrote, if an operand is computed from a
//! variable that it binds: `x := input.image; platform.discover(x, "")`. A statement that binds nothing is a
//! condition: without it, the call isn't reached.

use std::collections::BTreeSet;

use super::slots::{Mentions, mentioned, named};
use crate::core::{
    Body, Call, Comprehension, Core, Head, Marks, Op, OpKind, Ref, RuleReads, SetId, Side, Slot,
    Target, Term, With, WithValue,
};
use crate::value::deeper;

/// Sets the flags of rule sets and expressions that say where a call site is reached.
pub(super) fn finish(core: &mut Core) {
    let Reached { calls, effects } = Reached::new(core);
    let mut marking =
        Marking { reaches: &calls, reads_input: false, iterates_input: false, walks: false };
    for rule in &mut core.rules {
        let mut bound = BTreeSet::new();
        rule.args.iter().for_each(|term| named(term, &mut bound));
        marking.body(&mut rule.body, &bound);
    }
    core.reads_input = marking.reads_input;
    core.iterates_input = marking.iterates_input;
    core.walks = marking.walks;
    for (set, (calls, effects)) in core.sets.iter_mut().zip(calls.into_iter().zip(effects)) {
        set.reaches = calls;
        set.pure = !calls && !effects;
    }
}

/// For each rule set, what is reached from its bodies by the graph of rules.
struct Reached {
    /// A call site.
    calls: Vec<bool>,
    /// A print, or another effect; see [`RuleReads::effects`].
    effects: Vec<bool>,
}

impl Reached {
    fn new(core: &Core) -> Self {
        let mut readers: Vec<Vec<u32>> = vec![Vec::new(); core.sets.len()];
        let (mut calls, mut effects) = (Vec::new(), Vec::new());
        for (index, set) in (0_u32..).zip(&core.sets) {
            let mut reads = RuleReads::new(core);
            for rule in set.members.iter().flatten().filter_map(|id| core.rule(*id)) {
                reads.body(&rule.body);
            }
            if reads.calls() {
                calls.push(index);
            }
            if reads.effects() {
                effects.push(index);
            }
            for SetId(read) in reads.sets() {
                if let Some(readers) = readers.get_mut(*read as usize) {
                    readers.push(index);
                }
            }
        }
        Self { calls: all_readers(calls, &readers), effects: all_readers(effects, &readers) }
    }
}

/// Returns which rule sets are among those given, or read one that is.
fn all_readers(mut open: Vec<u32>, readers: &[Vec<u32>]) -> Vec<bool> {
    let mut reached = vec![false; readers.len()];
    while let Some(index) = open.pop() {
        if let Some(known) = reached.get_mut(index as usize).filter(|known| !**known) {
            *known = true;
            open.extend(readers.get(index as usize).into_iter().flatten());
        }
    }
    reached
}

/// Marks the expressions of bodies.
struct Marking<'r> {
    reaches: &'r [bool],
    reads_input: bool,
    iterates_input: bool,
    walks: bool,
}

impl Marking<'_> {
    /// Returns `true` if a call site is reached from the body, before which variables are bound.
    fn body(&mut self, body: &mut Body, given: &BTreeSet<Slot>) -> bool {
        let mut bound = given.clone();
        let mut reaches = false;
        for op in body.iter_mut() {
            reaches |= self.op(op, &bound);
            bound.append(&mut mentioned(op));
        }
        if reaches {
            let mentions = Mentions::of(body);
            for index in 0..body.len() {
                let distance = self.operand_of(body, &mentions, index, given);
                if let Some(op) = body.get_mut(index)
                    && distance > 0
                {
                    op.operand_of = distance;
                    op.marks.add(Marks::CALL);
                }
            }
        }
        reaches
    }

    fn op(&mut self, op: &mut Op, bound: &BTreeSet<Slot>) -> bool {
        let reaches = deeper(|| match &mut op.kind {
            OpKind::Unify(sides) => self.side(&mut sides.0, bound) | self.side(&mut sides.1, bound),
            OpKind::Test(side) => self.side(side, bound),
            OpKind::Call(call) => {
                self.walks |= matches!(call.target, Target::Builtin(own) if own.relation);
                self.calls(call)
            }
            OpKind::Every(every) => {
                let mut given = bound.clone();
                every.key.iter().chain([&every.value]).for_each(|term| named(term, &mut given));
                self.body(&mut every.body, &given)
            }
            OpKind::Not(body) => self.body(body, bound),
            OpKind::Negated(op) | OpKind::With(_, op) => self.op(op, bound),
            OpKind::And(left, right) | OpKind::Or(left, right) => {
                self.body(left, bound) | self.body(right, bound)
            }
        });
        op.reaches = reaches;
        reaches
    }

    fn side(&mut self, side: &mut Side, bound: &BTreeSet<Slot>) -> bool {
        match side {
            Side::Ref(reference) => {
                let of_input = matches!(reference.head, Head::Input);
                self.reads_input |= of_input;
                self.iterates_input |= of_input && matches!(*reference.path, [Term::Var(_), ..]);
                self.refers(reference)
            }
            Side::Comprehension(comprehension) => {
                let Comprehension { body, index, .. } = &mut **comprehension;
                let reaches = self.body(body, bound);
                if let Some(index) = index {
                    index.reaches = reaches;
                }
                reaches
            }
            Side::Term(_) => false,
        }
    }

    fn refers(&self, reference: &Ref) -> bool {
        match &reference.head {
            Head::Data(crate::core::Resolved::Rules(set, _)) => self.set(*set),
            // Any rule may be below the path.
            Head::Data(crate::core::Resolved::Tree) => self.reaches.contains(&true),
            _ => false,
        }
    }

    fn set(&self, set: SetId) -> bool {
        self.reaches.get(set.0 as usize).copied().unwrap_or(false)
    }

    fn calls(&self, call: &Call) -> bool {
        call.site.is_some()
            || match call.target {
                Target::Function(set) => self.set(set),
                _ => false,
            }
    }

    /// Returns the distance from an expression to the one with the call whose operand it computes, if a
    /// call site is reached from that call; otherwise 0. `given` are the variables with values before the body.
    fn operand_of(
        &self,
        body: &Body,
        mentions: &Mentions,
        index: usize,
        given: &BTreeSet<Slot>,
    ) -> u32 {
        let Some(op) = body.get(index) else { return 0 };
        let is_call = call_in(op).is_some_and(|call| self.calls(call));
        if !binds(op) || is_call && !op.generated {
            return 0;
        }
        let new_at = |at| mentions.new_at(at).filter(|slot| !given.contains(slot));
        let mut computed: BTreeSet<Slot> = new_at(index).collect();
        let after = |slot: &Slot| mentions.users(*slot).iter().copied().filter(|at| *at > index);
        let mut open: BTreeSet<usize> = computed.iter().flat_map(after).collect();
        while let Some(at) = open.pop_first() {
            let Some(op) = body.get(at) else { break };
            if self.takes(op, &mut computed) {
                return u32::try_from(at - index).unwrap_or(0);
            }
            if binds(op) {
                let new: Vec<Slot> = new_at(at).collect();
                open.extend(new.iter().flat_map(after).filter(|user| *user > at));
                computed.extend(new);
            }
        }
        0
    }

    /// Returns `true` if an expression holds a call with one of the computed variables, from which a call
    /// site is reached. Adds the variables within the expression that are computed from them.
    fn takes(&self, op: &Op, computed: &mut BTreeSet<Slot>) -> bool {
        let in_body = |body: &Body, computed: &mut BTreeSet<Slot>| {
            body.iter().any(|op| {
                let takes = self.takes(op, computed);
                let mentions = mentioned(op);
                if binds(op) && !mentions.is_disjoint(computed) {
                    computed.extend(mentions);
                }
                takes
            })
        };
        let in_side = |side: &Side, computed: &mut BTreeSet<Slot>| match side {
            Side::Comprehension(comprehension) => {
                in_body(&comprehension.body, &mut computed.clone())
            }
            _ => false,
        };
        deeper(|| match &op.kind {
            OpKind::Unify(sides) => in_side(&sides.0, computed) || in_side(&sides.1, computed),
            OpKind::Test(side) => in_side(side, computed),
            OpKind::Call(call) => {
                let mut args = BTreeSet::new();
                call.args.iter().for_each(|term| named(term, &mut args));
                self.calls(call) && !args.is_disjoint(computed)
            }
            OpKind::Every(every) => {
                let mut inner = computed.clone();
                let mut domain = BTreeSet::new();
                named(&every.domain, &mut domain);
                if !domain.is_disjoint(computed) {
                    every.key.iter().chain([&every.value]).for_each(|term| named(term, &mut inner));
                }
                in_body(&every.body, &mut inner)
            }
            OpKind::Not(body) => in_body(body, &mut computed.clone()),
            OpKind::Negated(op) => self.takes(op, computed),
            // What replaces a document is an argument of whatever reads it.
            OpKind::With(with, inner) => {
                let is_computed = |with: &With| match &with.value {
                    WithValue::Term(term) => {
                        let mut slots = BTreeSet::new();
                        named(term, &mut slots);
                        !slots.is_disjoint(computed)
                    }
                    _ => false,
                };
                inner.reaches && with.iter().any(is_computed) || self.takes(inner, computed)
            }
            OpKind::And(left, right) | OpKind::Or(left, right) => {
                in_body(left, &mut computed.clone()) || in_body(right, &mut computed.clone())
            }
        })
    }
}

/// Returns an expression without its modifiers and its negation.
fn bare(mut op: &Op) -> &Op {
    while let OpKind::With(_, inner) | OpKind::Negated(inner) = &op.kind {
        op = inner;
    }
    op
}

fn call_in(op: &Op) -> Option<&Call> {
    match &bare(op).kind {
        OpKind::Call(call) => Some(call),
        _ => None,
    }
}

/// Returns `true` if an expression is of a kind that gives values to variables.
fn binds(op: &Op) -> bool {
    match &op.kind {
        OpKind::With(_, op) => binds(op),
        OpKind::Unify(_) | OpKind::Test(Side::Ref(_)) => true,
        OpKind::Call(call) => call.output.is_some(),
        _ => false,
    }
}
