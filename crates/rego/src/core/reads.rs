//! The rule sets and call sites that bodies refer to, and their other effects.

use std::collections::BTreeSet;

use super::{
    Body, Core, Head, Native, NodeId, Op, OpKind, Ref, Resolved, SetId, Side, Target, Term,
    WithValue,
};

/// The rule sets and call sites that bodies refer to.
pub(crate) struct RuleReads<'c> {
    core: &'c Core,
    sets: BTreeSet<SetId>,
    calls: bool,
    effects: bool,
}

impl<'c> RuleReads<'c> {
    pub fn new(core: &'c Core) -> Self {
        Self { core, sets: BTreeSet::new(), calls: false, effects: false }
    }

    /// The rule sets that the bodies seen so far refer to.
    pub fn sets(&self) -> &BTreeSet<SetId> {
        &self.sets
    }

    /// Returns `true` if a call site is in the bodies seen so far.
    pub fn calls(&self) -> bool {
        self.calls
    }

    /// Returns `true` if the bodies seen so far print, or call a built-in function whose result
    /// depends on more than its arguments.
    pub fn effects(&self) -> bool {
        self.effects
    }

    /// Looks at a body.
    pub fn body(&mut self, body: &Body) {
        for op in body {
            self.op(op);
        }
    }

    /// Looks at an expression.
    pub fn op(&mut self, op: &Op) {
        crate::value::deeper(|| match &op.kind {
            OpKind::Unify(sides) => {
                self.side(&sides.0);
                self.side(&sides.1);
            }
            OpKind::Test(side) => self.side(side),
            OpKind::Call(call) => {
                self.calls |= call.site.is_some();
                self.target(call.target);
            }
            OpKind::Every(every) => self.body(&every.body),
            OpKind::Not(body) => self.body(body),
            OpKind::Negated(op) => self.op(op),
            OpKind::And(left, right) | OpKind::Or(left, right) => {
                self.body(left);
                self.body(right);
            }
            OpKind::With(with, op) => {
                for with in with {
                    match &with.value {
                        WithValue::Function(target, _, site) => {
                            self.calls |= site.is_some();
                            self.target(*target);
                        }
                        WithValue::Ref(reference) => self.reference(reference),
                        WithValue::Comprehension(value) => self.body(&value.body),
                        WithValue::Term(_) => {}
                    }
                }
                self.op(op);
            }
        });
    }

    fn target(&mut self, target: Target) {
        match target {
            Target::Function(set) => {
                self.sets.insert(set);
            }
            Target::Builtin(builtin) => self.effects |= builtin.nondeterministic,
            Target::Native(native) => self.effects |= native == Native::Print,
            Target::Compare(_) | Target::Host(_) | Target::Missing => {}
        }
    }

    fn side(&mut self, side: &Side) {
        match side {
            Side::Ref(reference) => self.reference(reference),
            Side::Comprehension(comprehension) => self.body(&comprehension.body),
            Side::Term(_) => {}
        }
    }

    fn reference(&mut self, reference: &Ref) {
        match &reference.head {
            Head::Data(Resolved::Rules(set, _)) => {
                self.sets.insert(*set);
            }
            Head::Data(Resolved::Tree) => self.below(Core::ROOT, &reference.path),
            _ => {}
        }
    }

    /// Adds all rules that a path may reach.
    fn below(&mut self, node: NodeId, path: &[Term]) {
        let core = self.core;
        let Some(found) = core.node(node) else { return };
        if let Some(set) = found.set {
            self.sets.insert(set);
            return;
        }
        let (first, rest) = match path.split_first() {
            Some((first, rest)) => (Some(first), rest),
            None => (None, path),
        };
        if let Some(Term::Const(key)) = first {
            if let Some(child) = core.child(node, key) {
                crate::value::deeper(|| self.below(child, rest));
            }
            return;
        }
        for child in found.children.values() {
            crate::value::deeper(|| self.below(*child, rest));
        }
    }
}
