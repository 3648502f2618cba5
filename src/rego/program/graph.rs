//! The contents of a program: its packages, its rules, and the dependencies between these.

use std::collections::{BTreeMap, BTreeSet};

use super::{PackageInfo, RuleInfo, RuleKind};
use crate::rego::core::{
    Body, Core, Head, NodeId, Op, OpKind, Ref, Resolved, SetId, Side, Target, Term, WithValue,
    push_part,
};
use crate::rego::syntax::tree::{Module, TermKind};
use crate::rego::value::Value;

/// Returns the packages, the rules, and the index of each rule set among the rules.
pub(super) fn describe(
    core: &Core,
    modules: &[Module],
) -> (Vec<PackageInfo>, Vec<RuleInfo>, BTreeMap<SetId, usize>) {
    let mut packages: BTreeMap<String, PackageInfo> = BTreeMap::new();
    for module in modules {
        let path = package_path(module);
        let package =
            packages.entry(path.clone()).or_insert_with(|| PackageInfo { path, spans: Vec::new() });
        package.spans.push(module.package.span);
    }
    let mut ids: Vec<SetId> = (0..).map(SetId).take(core.sets.len()).collect();
    let path = |id: &SetId| core.set(*id).map(|set| &set.path);
    ids.sort_by(|a, b| path(a).cmp(&path(b)));
    let indices: BTreeMap<SetId, usize> = ids.iter().copied().zip(0..).collect();
    let rules = ids.iter().filter_map(|id| rule(core, *id, &packages, &indices)).collect();
    (packages.into_values().collect(), rules, indices)
}

fn package_path(module: &Module) -> String {
    let mut path = String::from("data");
    for part in module.package.path.iter().skip(1) {
        if let TermKind::String(text) = &part.kind {
            push_part(&mut path, &Value::from(text.clone()));
        }
    }
    path
}

fn rule(
    core: &Core,
    id: SetId,
    packages: &BTreeMap<String, PackageInfo>,
    indices: &BTreeMap<SetId, usize>,
) -> Option<RuleInfo> {
    let set = core.set(id)?;
    let kind = match (set.function, set.multi, set.ground) {
        (true, _, _) => RuleKind::Function,
        (_, true, true) => RuleKind::PartialSet,
        (_, false, true) => RuleKind::Complete,
        _ => RuleKind::PartialObject,
    };
    // The longest package path that is a prefix of the rule's.
    let mut package = String::from("data");
    let mut path = package.clone();
    for part in &set.parts {
        push_part(&mut path, part);
        if packages.contains_key(&path) {
            package.clone_from(&path);
        }
    }
    let ids = set
        .definitions
        .iter()
        .flat_map(|it| std::iter::once(it.rule).chain(it.otherwise.iter().copied()))
        .chain(set.default);
    let rules: Vec<_> = ids.filter_map(|id| core.rule(id)).collect();
    let mut reads = RuleReads { core, sets: BTreeSet::new() };
    for rule in &rules {
        reads.body(&rule.body);
    }
    Some(RuleInfo {
        path: set.path.to_string(),
        package,
        kind,
        arity: set.arity,
        has_default: set.default.is_some(),
        definitions: rules.iter().map(|rule| rule.span).collect(),
        depends_on: reads.sets.iter().filter_map(|set| indices.get(set).copied()).collect(),
    })
}

/// The rule sets that bodies read.
struct RuleReads<'c> {
    core: &'c Core,
    sets: BTreeSet<SetId>,
}

impl RuleReads<'_> {
    fn body(&mut self, body: &Body) {
        for op in body {
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        crate::rego::value::deeper(|| match &op.kind {
            OpKind::Unify(sides) => {
                self.side(&sides.0);
                self.side(&sides.1);
            }
            OpKind::Test(side) => self.side(side),
            OpKind::Call(call) => self.target(call.target),
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
                        WithValue::Function(target, ..) => self.target(*target),
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
        if let Target::Function(set) = target {
            self.sets.insert(set);
        }
    }

    fn side(&mut self, side: &Side) {
        match side {
            Side::Ref(reference) => self.reference(reference),
            Side::Comprehension(it) => self.body(&it.body),
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
                crate::rego::value::deeper(|| self.below(child, rest));
            }
            return;
        }
        for child in found.children.values() {
            crate::rego::value::deeper(|| self.below(*child, rest));
        }
    }
}
