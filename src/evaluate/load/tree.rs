//! All packages and rules of all modules, by path.
//!
//! Owns the tree below `data` that rules make, and the question which rules a reference depends
//! on. It doesn't know modules' texts, nor what is wrong with them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Rule, RuleHead};

use super::modifiers::is_constant;
use super::scope::{self, Step};

/// What the definitions of a rule make together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleKind {
    /// One value.
    Complete,
    /// A set, element by element.
    PartialSet,
    /// An object, key by key.
    PartialObject,
    /// A function.
    Function {
        /// How many arguments it takes.
        arity: usize,
    },
}

/// One definition of a rule.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) module: usize,
    /// Which of the module's rules it is.
    pub(super) rule: usize,
    pub(super) kind: RuleKind,
    pub(super) is_default: bool,
    /// Whether it gives the rule a value whatever is asked.
    pub(super) always: bool,
    /// Byte offsets of the head's reference.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All definitions of one path.
#[derive(Debug)]
pub(super) struct Group {
    /// Below `data`.
    pub(super) path: Vec<Arc<str>>,
    /// How many of the path's parts are the package's.
    pub(super) package: usize,
    pub(super) definitions: Vec<Definition>,
}

impl Group {
    /// The kind of the first definition; a sound set of modules has no other.
    pub(super) fn kind(&self) -> RuleKind {
        self.definitions.first().map_or(RuleKind::Complete, |d| d.kind)
    }

    /// `data.p.allow`.
    pub(super) fn name(&self) -> String {
        data_path(&self.path)
    }
}

/// A package.
#[derive(Debug)]
pub(super) struct PackageNode {
    pub(super) path: Vec<Arc<str>>,
    pub(super) modules: Vec<usize>,
    /// First names of its rules.
    pub(super) roots: HashSet<Arc<str>>,
}

#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) children: BTreeMap<Arc<str>, Node>,
    pub(super) group: Option<usize>,
    pub(super) package: Option<usize>,
    /// A package is here or below.
    pub(super) packages: bool,
}

/// The tree of all rules.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) root: Node,
    pub(super) groups: Vec<Group>,
    pub(super) packages: Vec<PackageNode>,
    /// For each module, the group of each of its rules.
    pub(super) group_of: Vec<Vec<usize>>,
}

/// `data.a["b-c"].d`.
pub(super) fn data_path<S: AsRef<str>>(path: &[S]) -> String {
    let mut out = String::from("data");
    for part in path {
        push_step(&mut out, part.as_ref());
    }
    out
}

/// Appends `.field` or `["any key"]`.
pub(super) fn push_step(out: &mut String, key: &str) {
    if is_field(key) {
        out.push('.');
        out.push_str(key);
    } else {
        out.push('[');
        out.push_str(&serde_json::Value::from(key).to_string());
        out.push(']');
    }
}

fn is_field(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A head's reference: its keys up to the first that isn't known before the evaluation, and
/// whether that was all of it.
fn ground(refr: &ExprRef) -> (Vec<Arc<str>>, bool) {
    let chain = scope::chain(refr);
    let mut path: Vec<Arc<str>> = vec![chain.base.span().text().into()];
    for link in &chain.steps {
        match link {
            scope::Link::Field(span, _) => path.push(span.text().into()),
            scope::Link::Index(index, _) => match scope::key(index) {
                Some(key) => path.push(key),
                None => return (path, false),
            },
        }
    }
    (path, true)
}

/// The path in its package and the kind of one definition.
fn head(rule: &Rule) -> (Vec<Arc<str>>, RuleKind, &ExprRef) {
    match rule {
        Rule::Default { refr, args, .. } => {
            let (path, whole) = ground(refr);
            let kind = match (args.len(), whole) {
                (0, true) => RuleKind::Complete,
                (0, false) => RuleKind::PartialObject,
                (arity, _) => RuleKind::Function { arity },
            };
            (path, kind, refr)
        }
        Rule::Spec { head: RuleHead::Func { refr, args, .. }, .. } => {
            // A function without parameters is a rule.
            let kind = match args.len() {
                0 => RuleKind::Complete,
                arity => RuleKind::Function { arity },
            };
            (ground(refr).0, kind, refr)
        }
        Rule::Spec { head: RuleHead::Set { refr, key, .. }, .. } => {
            let (mut path, whole) = ground(refr);
            if key.is_none() && path.len() > 1 {
                path.pop();
            }
            let kind = if whole { RuleKind::PartialSet } else { RuleKind::PartialObject };
            (path, kind, refr)
        }
        Rule::Spec { head: RuleHead::Compr { refr, .. }, .. } => {
            let (path, whole) = ground(refr);
            (path, if whole { RuleKind::Complete } else { RuleKind::PartialObject }, refr)
        }
    }
}

/// Whether one definition gives its rule a value whatever is asked.
fn always(rule: &Rule) -> bool {
    match rule {
        Rule::Default { .. } => true,
        Rule::Spec { head: RuleHead::Compr { assign: Some(assign), .. }, bodies, .. } => {
            bodies.is_empty() && is_constant(&assign.value)
        }
        Rule::Spec { .. } => false,
    }
}

/// The path of a module's package.
pub(super) fn package_path(module: &ast::Module) -> Vec<Arc<str>> {
    scope::path(&module.package.refr)
        .map(|(first, rest)| std::iter::once(first).chain(rest).collect())
        .unwrap_or_default()
}

impl Tree {
    /// Adds one module.
    pub(super) fn add(&mut self, index: usize, module: &ast::Module) {
        let package = package_path(module);
        let slot = self.package(&package);
        if let Some(node) = self.packages.get_mut(slot) {
            node.modules.push(index);
        }
        let mut groups = Vec::with_capacity(module.policy.len());
        for (number, rule) in module.policy.iter().enumerate() {
            let (local, kind, refr) = head(rule);
            if let (Some(node), Some(first)) = (self.packages.get_mut(slot), local.first()) {
                node.roots.insert(first.clone());
            }
            let path: Vec<_> = package.iter().cloned().chain(local).collect();
            let group = self.group(path, package.len());
            let definition = Definition {
                module: index,
                rule: number,
                kind,
                is_default: matches!(rule.as_ref(), Rule::Default { .. }),
                always: always(rule),
                start: refr.span().start as usize,
                end: whole_end(refr),
            };
            if let Some(group) = self.groups.get_mut(group) {
                group.definitions.push(definition);
            }
            groups.push(group);
        }
        self.group_of.push(groups);
    }

    fn package(&mut self, path: &[Arc<str>]) -> usize {
        let mut node = &mut self.root;
        node.packages = true;
        for part in path {
            node = node.children.entry(part.clone()).or_default();
            node.packages = true;
        }
        *node.package.get_or_insert_with(|| {
            self.packages.push(PackageNode {
                path: path.to_vec(),
                modules: Vec::new(),
                roots: HashSet::new(),
            });
            self.packages.len() - 1
        })
    }

    /// Whether a path below `data` is a function's: a module's, or one that loading made.
    pub(super) fn is_function(&self, path: &[Arc<str>]) -> bool {
        let group = self.node(path).and_then(|node| node.group);
        let group = group.and_then(|group| self.groups.get(group));
        group.is_some_and(|group| matches!(group.kind(), RuleKind::Function { .. }))
    }

    /// Whether a path below `data` is a rule's that has a value whatever is asked.
    pub(super) fn always_has_value(&self, path: &[Arc<str>]) -> bool {
        let group = self.node(path).and_then(|node| node.group);
        group.and_then(|group| self.groups.get(group)).is_some_and(|group| match group.kind() {
            RuleKind::PartialSet | RuleKind::PartialObject => true,
            RuleKind::Complete => group.definitions.iter().any(|d| d.always),
            RuleKind::Function { .. } => false,
        })
    }

    fn group(&mut self, path: Vec<Arc<str>>, package: usize) -> usize {
        let mut node = &mut self.root;
        for part in &path {
            node = node.children.entry(part.clone()).or_default();
        }
        *node.group.get_or_insert_with(|| {
            self.groups.push(Group { path, package, definitions: Vec::new() });
            self.groups.len() - 1
        })
    }

    /// The node at a path.
    pub(super) fn node<S: AsRef<str>>(&self, path: impl IntoIterator<Item = S>) -> Option<&Node> {
        path.into_iter().try_fold(&self.root, |node, part| node.children.get(part.as_ref()))
    }

    /// The package of exactly this path.
    pub(super) fn package_at(&self, path: &[Arc<str>]) -> Option<&PackageNode> {
        self.packages.get(self.node(path)?.package?)
    }

    /// The group of exactly this path.
    pub(super) fn group_at<S: AsRef<str>>(
        &self,
        path: impl IntoIterator<Item = S>,
    ) -> Option<usize> {
        self.node(path)?.group
    }

    /// Every group that a reference depends on.
    pub(super) fn targets(&self, steps: &[Step]) -> Vec<usize> {
        let mut found = Vec::new();
        collect(&self.root, steps, &mut found);
        found
    }
}

fn collect(node: &Node, steps: &[Step], found: &mut Vec<usize>) {
    found.extend(node.group);
    match steps.split_first() {
        None | Some((Step::Any, _)) => {
            let rest = steps.get(1..).unwrap_or(&[]);
            node.children.values().for_each(|child| collect(child, rest, found));
        }
        Some((Step::Key(key), rest)) => {
            if let Some(child) = node.children.get(key) {
                collect(child, rest, found);
            }
        }
    }
}

/// Where a head's reference ends: its span, for a reference in a rule's head, ends before the
/// closing bracket.
fn whole_end(refr: &ExprRef) -> usize {
    let span = refr.span();
    let end = scope::end(span);
    match refr.as_ref() {
        Expr::RefBrack { .. } => end + 1,
        _ => end,
    }
}
