//! The graph of dependencies between rules.

use std::collections::BTreeSet;

use crate::syntax::tree::{Body, Expr, Module, Name, Rule, Term, TermKind};
use crate::syntax::visit;

use super::names::{NameMap, VarSet};
use super::rule_tree::{RuleId, RuleInfo, is_scalar_value};
use super::{Compiler, exprs};
use crate::syntax::walk::{self, Node};

/// A dependency through a reference with a variable, which may or may not select the rule.
#[derive(Debug, Clone)]
pub struct DynamicDependency {
    /// The reference as it was when the graph was made.
    pub reference: Vec<Term>,
    /// The reference with those variables replaced that can have one value only.
    pub selected: Vec<Term>,
    /// The variables that may have values where the reference is evaluated.
    pub bound: VarSet,
    /// The rules that it may select.
    pub rules: Vec<RuleId>,
}

/// The rules that each rule depends on, and those that depend on it.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    reads: Vec<BTreeSet<RuleId>>,
    read_by: Vec<BTreeSet<RuleId>>,
    dynamic: Vec<Vec<DynamicDependency>>,
}

impl Graph {
    /// The rules that a rule depends on.
    pub fn dependencies(&self, rule: RuleId) -> impl Iterator<Item = RuleId> + '_ {
        self.reads.get(rule.index()).into_iter().flatten().copied()
    }

    /// The rules that depend on a rule.
    pub fn dependents(&self, rule: RuleId) -> impl Iterator<Item = RuleId> + '_ {
        self.read_by.get(rule.index()).into_iter().flatten().copied()
    }

    /// The number of rules.
    pub fn len(&self) -> usize {
        self.reads.len()
    }

    /// Returns `true` if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    fn add(&mut self, from: RuleId, to: RuleId) {
        if let Some(reads) = self.reads.get_mut(from.index()) {
            reads.insert(to);
        }
        if let Some(read_by) = self.read_by.get_mut(to.index()) {
            read_by.insert(from);
        }
    }

    /// The reference that may make one rule depend on another, if no reference certainly does.
    pub fn dynamic_cause(&self, from: RuleId, to: RuleId) -> Option<&DynamicDependency> {
        self.dynamic.get(from.index())?.iter().find(|dependency| dependency.rules.contains(&to))
    }

    /// Returns all rules, each after those that it depends on; or, as an error, a rule of a cycle.
    pub fn topological_order(&self, start: &[RuleId]) -> Result<Vec<RuleId>, RuleId> {
        let mut sorted = Vec::with_capacity(self.len());
        // 0: unvisited; 1: on the stack; 2: done.
        let mut state = vec![0_u8; self.len()];
        let mut stack: Vec<(RuleId, Vec<RuleId>)> = Vec::new();
        let rank: std::collections::HashMap<RuleId, usize> =
            start.iter().enumerate().map(|(rank, id)| (*id, rank)).collect();
        let edges = |id: RuleId| {
            let mut edges: Vec<RuleId> = self.dependencies(id).collect();
            edges.sort_by_key(|id| std::cmp::Reverse(rank.get(id).copied().unwrap_or(usize::MAX)));
            edges
        };
        for root in start {
            if state.get(root.index()).copied() != Some(0) {
                continue;
            }
            stack.push((*root, edges(*root)));
            set_state(&mut state, *root, 1);
            while let Some((id, rest)) = stack.last_mut() {
                let Some(next) = rest.pop() else {
                    let id = *id;
                    set_state(&mut state, id, 2);
                    sorted.push(id);
                    stack.pop();
                    continue;
                };
                match state.get(next.index()).copied() {
                    Some(0) => {
                        set_state(&mut state, next, 1);
                        stack.push((next, edges(next)));
                    }
                    Some(1) => return Err(next),
                    _ => {}
                }
            }
        }
        Ok(sorted)
    }
}

fn set_state(state: &mut [u8], id: RuleId, to: u8) {
    if let Some(state) = state.get_mut(id.index()) {
        *state = to;
    }
}

/// The largest number of references into which one is expanded.
const MAX_EXPANSION: usize = 64;

/// A variable to which the expression at `index` gives one of `values`.
struct Binding<'a> {
    index: usize,
    name: &'a Name,
    values: Vec<&'a Term>,
}

type KnownValues<'a> = NameMap<Vec<&'a Term>>;

/// The variables of a body that can only have certain constant values.
fn ordered_bindings(body: &Body) -> Vec<Binding<'_>> {
    let mut bindings: Vec<Binding<'_>> = Vec::new();
    let mut known: KnownValues<'_> = KnownValues::default();
    for (index, expr) in body.iter().enumerate() {
        if !exprs::is_equality(expr) || expr.negated || !expr.with.is_empty() {
            continue;
        }
        let Some((name, values)) = binding(expr, &known) else { continue };
        if known.contains_key(name) {
            continue;
        }
        known.insert(Name::clone(name), values.clone());
        bindings.push(Binding { index, name, values });
    }
    bindings
}

fn binding<'a>(expr: &'a Expr, known: &KnownValues<'a>) -> Option<(&'a Name, Vec<&'a Term>)> {
    let [left, right, ..] = exprs::operands(expr) else { return None };
    for (name, value) in [(left, right), (right, left)] {
        if let TermKind::Var(name) = &name.kind
            && let Some(values) = term_values(value, known)
        {
            return Some((name, values));
        }
    }
    None
}

/// The constants that a term can be equal to.
fn term_values<'a>(term: &'a Term, known: &KnownValues<'a>) -> Option<Vec<&'a Term>> {
    match &term.kind {
        TermKind::Var(name) => known.get(name).cloned(),
        TermKind::Ref(terms) => {
            let (head, operands) = terms.split_first()?;
            let mut values = term_values(head, known)?;
            for operand in operands {
                let mut next = Vec::new();
                for value in values {
                    if operand.is_constant() {
                        next.extend(member(value, operand));
                    } else {
                        next.extend(members(value)?);
                    }
                }
                if next.len() > MAX_EXPANSION {
                    return None;
                }
                values = next;
            }
            Some(values)
        }
        _ => term.is_constant().then(|| vec![term]),
    }
}

fn member<'a>(of: &'a Term, key: &Term) -> Option<&'a Term> {
    match &of.kind {
        TermKind::Object(pairs) => {
            let at = pairs.binary_search_by(|(other, _)| super::order::terms(other, key)).ok()?;
            pairs.get(at).map(|(_, value)| value)
        }
        TermKind::Array(terms) => match &key.kind {
            TermKind::Number(number) => terms.get(number.as_usize()?),
            _ => None,
        },
        TermKind::Set(terms) => {
            let at = terms.binary_search_by(|other| super::order::terms(other, key)).ok()?;
            terms.get(at)
        }
        _ => None,
    }
}

fn members(of: &Term) -> Option<Vec<&Term>> {
    match &of.kind {
        TermKind::Array(terms) | TermKind::Set(terms) => Some(terms.iter().collect()),
        TermKind::Object(pairs) => Some(pairs.iter().map(|(_, value)| value).collect()),
        _ => None,
    }
}

/// Returns `true` if an operand of a reference isn't constant.
pub fn has_var_term(reference: &[Term]) -> bool {
    reference.iter().skip(1).any(|term| !term.is_constant())
}

/// The references that a reference can be equal to, given the known values of its variables.
fn expand(reference: &[Term], known: &KnownValues<'_>) -> Vec<Vec<Term>> {
    let mut expanded = vec![reference.to_vec()];
    for (index, term) in reference.iter().enumerate().skip(1) {
        if term.is_constant() {
            continue;
        }
        let values = term_values(term, known).unwrap_or_default();
        if values.is_empty() || expanded.len() * values.len() > MAX_EXPANSION {
            continue;
        }
        let with = |prefix: &Vec<Term>, value: &Term| {
            let mut reference = prefix.clone();
            if let Some(at) = reference.get_mut(index) {
                *at = value.clone();
            }
            reference
        };
        expanded = expanded
            .iter()
            .flat_map(|prefix| values.iter().map(move |value| with(prefix, value)))
            .collect();
    }
    expanded
}

/// The variables that may have values before the expression at `index`.
fn vars_before(rule: &Rule, index: usize) -> VarSet {
    let mut found = VarSet::default();
    let mut add = |node: Node<'_>| {
        if let Node::Term(Term { kind: TermKind::Var(name), .. }) = node {
            found.add(name);
        }
        false
    };
    walk::read(&rule.head, &mut add);
    for expr in rule.body.iter().take(index) {
        walk::read(expr, &mut add);
    }
    if let Some(Term { kind: TermKind::Var(name), .. }) = rule.head.reference.first() {
        found.add(name);
    }
    found
}

/// The operands that must equal those of a rule's path for a reference to select the rule; empty if
/// it selects the rule in any case, `None` if it never does.
pub fn selecting_positions(
    reference: &[Term],
    rule: &RuleInfo,
    bound: &VarSet,
) -> Option<Vec<usize>> {
    let mut positions = Vec::new();
    for (index, (term, value)) in reference.iter().zip(&rule.path).enumerate().skip(1) {
        let Some(value) = value else { continue };
        if let TermKind::Var(name) = &term.kind
            && !bound.contains(name)
        {
            let times = reference
                .iter()
                .filter(|term| matches!(&term.kind, TermKind::Var(var) if var == name));
            if times.count() == 1 {
                continue;
            }
        }
        if term.is_constant() {
            if !is_scalar_value(term, value) {
                return None;
            }
            continue;
        }
        positions.push(index);
    }
    Some(positions)
}

/// Calls back with each reference to `data` under a node.
fn each_ref(node: &impl visit::Node, mut f: impl FnMut(&[Term])) {
    walk::read(node, |node| {
        if let Node::Term(Term { kind: TermKind::Ref(terms), .. }) = node
            && terms.first().is_some_and(|head| head.is_var("data"))
        {
            f(terms);
        }
        false
    });
}

impl Compiler<'_> {
    /// Builds the graph.
    pub(super) fn set_graph(&mut self) {
        let size = self.rules.0.len();
        let mut graph = Graph {
            reads: vec![BTreeSet::new(); size],
            read_by: vec![BTreeSet::new(); size],
            dynamic: vec![Vec::new(); size],
        };
        let mut id = 0_u32;
        let rules = self.modules.iter().flat_map(|module: &Module| &module.rules);
        for rule in rules.flat_map(Rule::branches) {
            self.add_rule(&mut graph, RuleId(id), rule);
            id = id.saturating_add(1);
        }
        self.graph = graph;
    }

    fn add_rule(&self, graph: &mut Graph, id: RuleId, rule: &Rule) {
        let mut bindings = None;
        let mut dynamic: Vec<DynamicDependency> = Vec::new();
        let mut certain: BTreeSet<RuleId> = BTreeSet::new();
        let last = rule.body.len();
        for at in 0..=last {
            let mut known: Option<KnownValues<'_>> = None;
            let mut bound: Option<VarSet> = None;
            let add = |reference: &[Term]| {
                let mut found = BTreeSet::new();
                if !has_var_term(reference) {
                    self.rules_dynamic(reference, &mut found);
                    self.depend(graph, id, &found);
                    certain.extend(found);
                    return;
                }
                let known = known.get_or_insert_with(|| {
                    let bindings = bindings.get_or_insert_with(|| ordered_bindings(&rule.body));
                    let before = bindings.iter().filter(|binding| binding.index < at);
                    before.map(|before| (Name::clone(before.name), before.values.clone())).collect()
                });
                let mut selected = reference.to_vec();
                if known.is_empty() {
                    self.rules_dynamic(reference, &mut found);
                } else {
                    let expanded = expand(reference, known);
                    for reference in &expanded {
                        self.rules_dynamic(reference, &mut found);
                    }
                    if let [only] = expanded.as_slice() {
                        selected.clone_from(only);
                    }
                }
                if found.is_empty() {
                    return;
                }
                self.depend(graph, id, &found);
                let bound = bound.get_or_insert_with(|| vars_before(rule, at));
                let mut uncertain = Vec::new();
                for other in found {
                    let info = self.rules.get(other);
                    let sure = info.and_then(|info| selecting_positions(&selected, info, bound));
                    if sure.is_some_and(|positions| positions.is_empty()) {
                        certain.insert(other);
                    } else {
                        uncertain.push(other);
                    }
                }
                if !uncertain.is_empty() {
                    dynamic.push(DynamicDependency {
                        reference: reference.to_vec(),
                        selected,
                        bound: bound.clone(),
                        rules: uncertain,
                    });
                }
            };
            match rule.body.get(at) {
                Some(expr) => each_ref(expr, add),
                None => each_ref(&rule.head, add),
            }
        }
        for dependency in &mut dynamic {
            dependency.rules.retain(|rule| !certain.contains(rule));
            // An `else` branch is read together with its rule.
            for index in 0..dependency.rules.len() {
                let Some(id) = dependency.rules.get(index) else { break };
                let branches = self.rules.branches(*id).skip(1);
                dependency.rules.extend(branches);
            }
        }
        dynamic.retain(|dependency| !dependency.rules.is_empty());
        if let Some(slot) = graph.dynamic.get_mut(id.index()) {
            *slot = dynamic;
        }
    }

    fn depend(&self, graph: &mut Graph, from: RuleId, to: &BTreeSet<RuleId>) {
        for id in to.iter().flat_map(|id| self.rules.branches(*id)) {
            graph.add(from, id);
        }
    }

    /// All rules, each after those that it depends on, in OPA's order of type checking.
    pub(super) fn sorted_rules(&self) -> Result<Vec<RuleId>, RuleId> {
        let mut start: Vec<RuleId> = self.rules.iter().map(|(id, _)| id).collect();
        start.sort_by_cached_key(|id| {
            let span = self.rules.get(*id).map(|info| info.span).unwrap_or_default();
            let (path, line, column) = self.place(span);
            (path.to_owned(), line, column)
        });
        self.graph.topological_order(&start)
    }
}
