//! Finds the expressions that compute operands of calls, as far as a call site is reached from these.
//!
//! ```text
//! platform.discover(lower(input.image), "")
//!
//! slot 0 = input.image                      operand of the third
//! builtin lower(slot 0) -> slot 1           operand of the third
//! host platform.discover(slot 1, "")
//! ```
//! An expression that the author wrote isn't an operand, even if the call needs its value: in
//! `x := input.image; platform.discover(x, "")` the call isn't reached without it.

use crate::core::{
    Body, Call, Comprehension, Core, Head, Op, OpKind, Ref, RuleReads, SetId, Side, Slot, Target,
    Term,
};
use crate::value::deeper;

/// Sets the flags of rule sets and expressions that say where a call site is reached.
pub(super) fn finish(core: &mut Core) {
    let Reached { calls, effects } = Reached::new(core);
    let mut marking = Marking { reaches: &calls, reads_input: false, walks: false };
    for rule in &mut core.rules {
        marking.body(&mut rule.body);
    }
    core.reads_input = marking.reads_input;
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
    walks: bool,
}

impl Marking<'_> {
    /// Returns `true` if a call site is reached from the body.
    fn body(&mut self, body: &mut Body) -> bool {
        let mut reaches = false;
        for op in body.iter_mut() {
            reaches |= self.op(op);
        }
        if reaches {
            for index in 0..body.len() {
                let distance = self.operand_of(body, index);
                if let Some(op) = body.get_mut(index) {
                    op.operand_of = distance;
                }
            }
        }
        reaches
    }

    fn op(&mut self, op: &mut Op) -> bool {
        let reaches = deeper(|| match &mut op.kind {
            OpKind::Unify(sides) => self.side(&mut sides.0) | self.side(&mut sides.1),
            OpKind::Test(side) => self.side(side),
            OpKind::Call(call) => {
                self.walks |= matches!(call.target, Target::Builtin(own) if own.relation);
                self.calls(call)
            }
            OpKind::Every(every) => self.body(&mut every.body),
            OpKind::Not(body) => self.body(body),
            OpKind::Negated(op) | OpKind::With(_, op) => self.op(op),
            OpKind::And(left, right) | OpKind::Or(left, right) => {
                self.body(left) | self.body(right)
            }
        });
        op.reaches = reaches;
        reaches
    }

    fn side(&mut self, side: &mut Side) -> bool {
        match side {
            Side::Ref(reference) => {
                self.reads_input |= matches!(reference.head, Head::Input);
                self.refers(reference)
            }
            Side::Comprehension(comprehension) => {
                let Comprehension { body, index, .. } = &mut **comprehension;
                let reaches = self.body(body);
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

    /// Returns the distance from an expression to the call whose operand it computes, if a call site
    /// is reached from that; otherwise 0.
    fn operand_of(&self, body: &Body, index: usize) -> u32 {
        let mut at = index;
        while let Some(op) = body.get(at).filter(|op| op.generated) {
            let made = result(op);
            let uses = |op: &Op| made.is_some_and(|slot| takes(op, slot));
            let after = body.get(at + 1..).unwrap_or_default();
            let Some(distance) = after.iter().position(uses) else { return 0 };
            at += distance + 1;
            if body.get(at).and_then(call_in).is_some_and(|call| self.calls(call)) {
                return u32::try_from(at - index).unwrap_or(0);
            }
        }
        0
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

/// Returns the variable that a generated expression computes.
fn result(op: &Op) -> Option<Slot> {
    let slot = |term: &Term| match term {
        Term::Var(slot) => Some(*slot),
        _ => None,
    };
    match &bare(op).kind {
        OpKind::Unify(sides) => match &**sides {
            (Side::Term(term), _) | (_, Side::Term(term)) => slot(term),
            _ => None,
        },
        OpKind::Call(call) => call.output.as_ref().and_then(slot),
        _ => None,
    }
}

/// Returns `true` if an expression needs the value of a variable.
fn takes(op: &Op, wanted: Slot) -> bool {
    let in_term = |term: &Term| {
        let mut found = false;
        term.each_slot(&mut |slot| found |= slot == wanted);
        found
    };
    let in_side = |side: &Side| match side {
        Side::Term(term) => in_term(term),
        Side::Ref(reference) => {
            let head = matches!(reference.head, Head::Var(slot) if slot == wanted);
            head || reference.path.iter().any(in_term)
        }
        Side::Comprehension(_) => false,
    };
    match &bare(op).kind {
        OpKind::Unify(sides) => in_side(&sides.0) || in_side(&sides.1),
        OpKind::Test(side) => in_side(side),
        OpKind::Call(call) => call.args.iter().chain(&call.output).any(in_term),
        OpKind::Every(every) => in_term(&every.domain),
        _ => false,
    }
}
