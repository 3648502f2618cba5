//! The tree of rules, by their paths.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::syntax::tree::{Module, Name, Rule, Span, Term, TermKind};
use crate::syntax::visit::is_ground;
use crate::types::terms;
use crate::value::Value;

use super::functions::{Arity, Functions};
use super::{Compiler, exprs};

/// The id of a definition: a rule of a module, or an `else` branch of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u32);

impl RuleId {
    /// The id as an index.
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Facts about a rule that don't require looking it up in its module.
#[derive(Debug, Clone)]
pub struct RuleInfo {
    /// The index of the module.
    pub module: usize,
    /// The index of the rule in its module.
    pub rule: usize,
    /// The number of the `else` branch; 0 is the rule itself.
    pub branch: usize,
    /// The path, beginning with `data`; operands that aren't scalars are `None`.
    pub path: Vec<Option<Value>>,
    /// The number of operands of `path` before the first with a variable.
    pub ground: usize,
    /// The number of arguments.
    pub args: usize,
    /// `true` for a `default` rule.
    pub default: bool,
    /// `true` if the rule defines elements of a set.
    pub multi_value: bool,
    /// The text that it was parsed from.
    pub span: Span,
    /// The next `else` branch.
    pub else_rule: Option<RuleId>,
}

/// All rules of the modules, in order, each followed by its `else` branches.
#[derive(Debug, Clone, Default)]
pub struct Rules(pub Vec<RuleInfo>);

impl Rules {
    /// The facts about a rule.
    pub fn get(&self, id: RuleId) -> Option<&RuleInfo> {
        self.0.get(id.index())
    }

    /// All rules with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (RuleId, &RuleInfo)> {
        (0..).map(RuleId).zip(&self.0)
    }

    /// The rule itself, from its module.
    pub fn find<'a>(&self, id: RuleId, modules: &'a [Module]) -> Option<&'a Rule> {
        let info = self.get(id)?;
        modules.get(info.module)?.rules.get(info.rule)?.branches().nth(info.branch)
    }

    /// A rule and its `else` branches.
    pub fn branches(&self, id: RuleId) -> impl Iterator<Item = RuleId> {
        std::iter::successors(Some(id), |id| self.get(*id)?.else_rule)
    }

    fn new(modules: &[Module]) -> Self {
        let mut all = Vec::new();
        for (at, module) in modules.iter().enumerate() {
            for (index, rule) in module.rules.iter().enumerate() {
                for (branch, rule) in rule.branches().enumerate() {
                    let id = u32::try_from(all.len()).unwrap_or(u32::MAX);
                    let next = RuleId(id.saturating_add(1));
                    let else_rule = rule.else_rule.is_some().then_some(next);
                    let info = info(module, rule);
                    all.push(RuleInfo { module: at, rule: index, branch, else_rule, ..info });
                }
            }
        }
        Self(all)
    }
}

fn info(module: &Module, rule: &Rule) -> RuleInfo {
    let mut path: Vec<Option<Value>> = module.package.path.iter().map(scalar).collect();
    let prefix = path.len();
    path.extend(rule.head.reference.iter().enumerate().map(|(index, term)| match &term.kind {
        TermKind::Var(name) if index == 0 => Some(Value::from(Name::clone(name))),
        _ => scalar(term),
    }));
    let ground = exprs::ground_prefix(&rule.head.reference).len() + prefix;
    RuleInfo {
        module: 0,
        rule: 0,
        branch: 0,
        path,
        ground,
        args: rule.head.args.len(),
        default: rule.default,
        multi_value: exprs::is_multi_value(&rule.head),
        span: rule.span,
        else_rule: None,
    }
}

pub fn scalar(term: &Term) -> Option<Value> {
    if term.is_scalar() { terms::constant(term) } else { None }
}

/// Returns `true` if a term is this scalar.
pub fn is_scalar_value(term: &Term, value: &Value) -> bool {
    scalar(term).as_ref() == Some(value)
}

/// A node of the tree of rules; the root is `data`.
#[derive(Debug, Clone, Default)]
pub struct TreeNode {
    /// The rules whose paths, up to the first variable, end here.
    pub values: Vec<RuleId>,
    /// The child nodes, by key.
    pub children: BTreeMap<Value, TreeNode>,
    /// `true` for `data.system`, which references with variables don't reach.
    pub hide: bool,
}

impl TreeNode {
    /// The child node for an operand of a reference.
    pub fn child(&self, key: &Term) -> Option<&Self> {
        self.children.get(&scalar(key)?)
    }

    /// The node that a reference, beginning with `data`, names exactly.
    pub fn find(&self, reference: &[Term]) -> Option<&Self> {
        let (head, operands) = reference.split_first()?;
        let root = head.is_var("data").then_some(self);
        operands.iter().try_fold(root?, |node, key| node.child(key))
    }

    /// The node at a path of values below this one.
    pub fn at(&self, path: &[Value]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.children.get(key))
    }

    fn make(&mut self, path: &[Option<Value>]) -> &mut Self {
        path.iter().fold(self, |node, key| {
            let key = key.clone().unwrap_or(Value::Null);
            node.children.entry(key).or_default()
        })
    }

    /// Calls `f` with this node and its descendants, in the order of keys. If `f` returns `true`,
    /// the descendants of its node are skipped.
    pub fn depth_first<'a>(&'a self, f: &mut impl FnMut(&'a Self) -> bool) {
        if !f(self) {
            for child in self.children.values() {
                child.depth_first(f);
            }
        }
    }

    /// All rules of this node and its descendants.
    pub fn all(&self) -> Vec<RuleId> {
        let mut found = Vec::new();
        self.depth_first(&mut |node| {
            found.extend(&node.values);
            false
        });
        found
    }
}

/// A node of the tree of packages; the root is `data`.
#[derive(Debug, Clone, Default)]
pub struct ModuleTreeNode {
    /// The indexes of the modules of this package.
    pub modules: Vec<usize>,
    /// The child packages, by name.
    pub children: BTreeMap<Name, ModuleTreeNode>,
    /// `true` for `data.system`.
    pub hide: bool,
}

impl ModuleTreeNode {
    /// Calls `f` with this node and its descendants.
    pub fn depth_first<'a>(&'a self, f: &mut impl FnMut(&'a Self)) {
        f(self);
        for child in self.children.values() {
            child.depth_first(f);
        }
    }
}

impl Compiler<'_> {
    /// Builds the tree of packages.
    pub(super) fn set_module_tree(&mut self) {
        let mut root = ModuleTreeNode::default();
        for (at, module) in self.modules.iter().enumerate() {
            let mut node = &mut root;
            for (depth, term) in module.package.path.iter().enumerate().skip(1) {
                let TermKind::String(name) = &term.kind else { continue };
                let hide = depth == 1 && **name == *"system";
                node = node
                    .children
                    .entry(Name::clone(name))
                    .or_insert_with(|| ModuleTreeNode { hide, ..ModuleTreeNode::default() });
            }
            node.modules.push(at);
        }
        self.module_tree = root;
    }

    /// Builds the tree of rules.
    pub(super) fn set_rule_tree(&mut self) {
        self.rules = Arc::new(Rules::new(&self.modules));
        let mut root = TreeNode::default();
        let mut order: Vec<usize> = Vec::new();
        self.module_tree.depth_first(&mut |node| order.extend(&node.modules));
        let mut first: Vec<usize> = vec![usize::MAX; self.modules.len()];
        for (index, info) in self.rules.0.iter().enumerate() {
            if let Some(first) = first.get_mut(info.module) {
                *first = (*first).min(index);
            }
        }
        for at in order {
            let Some(module) = self.modules.get(at) else { continue };
            let package: Vec<_> = module.package.path.iter().skip(1).map(scalar).collect();
            let node = root.make(&package);
            let start = first.get(at).copied().unwrap_or_default();
            let infos = self
                .rules
                .0
                .iter()
                .enumerate()
                .skip(start)
                .take_while(|(_, info)| info.module == at);
            for (index, info) in infos.filter(|(_, info)| info.branch == 0) {
                let id = RuleId(u32::try_from(index).unwrap_or(u32::MAX));
                let path = info.path.get(1 + package.len()..info.ground).unwrap_or_default();
                node.make(path).values.push(id);
            }
        }
        if let Some(system) = root.children.get_mut(&Value::from("system")) {
            system.hide = true;
        }
        self.rule_tree = Arc::new(root);
    }

    /// Collects the rules that a reference may refer to.
    pub(super) fn rules_dynamic(&self, reference: &[Term], found: &mut BTreeSet<RuleId>) {
        let Some(Term { kind: TermKind::Var(head), .. }) = reference.first() else { return };
        if **head == *"data" {
            self.collect_dynamic(&self.rule_tree, reference, 1, found);
        }
    }

    fn collect_dynamic(
        &self,
        node: &TreeNode,
        reference: &[Term],
        at: usize,
        found: &mut BTreeSet<RuleId>,
    ) {
        let Some(key) = reference.get(at) else {
            found.extend(node.all());
            return;
        };
        if key.is_constant() {
            if let Some(child) = node.child(key) {
                self.collect_intersecting(child, reference, at + 1, found);
                self.collect_dynamic(child, reference, at + 1, found);
            }
            return;
        }
        for child in node.children.values() {
            self.collect_intersecting(child, reference, at + 1, found);
            self.collect_dynamic(child, reference, at + 1, found);
        }
    }

    /// Collects the rules of a node whose paths don't contradict the reference.
    fn collect_intersecting(
        &self,
        node: &TreeNode,
        reference: &[Term],
        from: usize,
        found: &mut BTreeSet<RuleId>,
    ) {
        for id in &node.values {
            let Some(info) = self.rules.get(*id) else { continue };
            let pairs = info.path.iter().zip(reference).skip(from);
            let differs = |(value, term): (&Option<Value>, &Term)| {
                value
                    .as_ref()
                    .is_some_and(|value| term.is_constant() && !is_scalar_value(term, value))
            };
            if !pairs.into_iter().any(differs) {
                found.insert(*id);
            }
        }
    }

    /// Replaces operands of heads that are neither scalars nor variables by variables.
    pub(super) fn rewrite_rule_head_refs(&mut self) {
        let mut modules = std::mem::take(&mut self.modules);
        for rule in modules.iter_mut().flat_map(|module| &mut module.rules) {
            let last = rule.head.reference.len().saturating_sub(1);
            for index in 1..rule.head.reference.len() {
                let Some(term) = rule.head.reference.get_mut(index) else { continue };
                if matches!(term.kind, TermKind::Var(_)) || term.is_scalar() {
                    continue;
                }
                let equality = self.generate_equality(term.clone());
                let Some(var) = exprs::operands(&equality).first().cloned() else { continue };
                if index == last
                    && rule.head.key.as_ref().is_some_and(|key| super::order::equal(key, term))
                {
                    rule.head.key = Some(var.clone());
                }
                *term = var;
                exprs::append(&mut rule.body, [equality]);
            }
        }
        self.modules = modules;
    }
}

impl Arity for Compiler<'_> {
    fn arity(&self, reference: &[Term]) -> Option<usize> {
        self.arities().arity(reference)
    }
}

impl Compiler<'_> {
    /// The arities of all functions, to be shared by threads.
    pub(super) fn arities(&self) -> Arities<'_> {
        let functions = &self.options.functions;
        Arities { functions, rule_tree: &self.rule_tree, rules: &self.rules }
    }
}

/// The arities of built-in functions, the host's and the policies'.
pub(super) struct Arities<'a> {
    functions: &'a Functions,
    rule_tree: &'a TreeNode,
    rules: &'a Rules,
}

impl Arity for Arities<'_> {
    fn arity(&self, reference: &[Term]) -> Option<usize> {
        if let Some(function) = self.functions.by_reference(reference) {
            return Some(function.arity);
        }
        let rules = &self.rule_tree.find(reference)?.values;
        Some(self.rules.get(*rules.first()?)?.args)
    }
}

/// A rule's path, as messages show it.
pub fn rule_path(module: &Module, rule: &Rule) -> Vec<Term> {
    let mut path = module.package.path.clone();
    for (index, term) in rule.head.reference.iter().enumerate() {
        let mut term = term.clone();
        if let (0, TermKind::Var(name)) = (index, &term.kind) {
            term.kind = TermKind::String(Name::clone(name));
        }
        path.push(term);
    }
    path
}

/// The rules that are constants: a flag for each id.
pub fn constant_rules(rules: &Rules, modules: &[Module]) -> Vec<bool> {
    rules.iter().map(|(id, _)| rules.find(id, modules).is_some_and(is_constant_rule)).collect()
}

/// Returns `true` if a rule has a known value and no condition.
fn is_constant_rule(rule: &Rule) -> bool {
    exprs::is_empty_body(&rule.body)
        && rule.head.value.as_ref().is_some_and(|value| match &value.kind {
            TermKind::Var(_) => true,
            TermKind::Array(_) | TermKind::Object(_) | TermKind::Set(_) => is_ground(value),
            _ => value.is_scalar(),
        })
}
