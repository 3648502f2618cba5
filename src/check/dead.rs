//! Dead rules: rules that nothing uses.
//!
//! Owns the graph of the rules of one load. A rule is unused if no verdict rule, no test and no rule of
//! another package reaches it, and dead unless it is a function or all its definitions are literals:
//! these say nothing about an input that a verdict could miss. A package without a verdict rule is a
//! library: others use all of its rules. A dead rule is often a verdict rule under a name that isn't
//! one's.

use std::collections::{BTreeSet, HashMap};

use super::{File, Inspected, names};
use crate::Diagnostic;
use crate::load::head_span;
use crate::load::roles::{Role, nearest, role};
use crate::rego::syntax::tree::{Rule, Span, Term, TermKind};
use crate::rego::syntax::visit;

/// All definitions of one path.
struct Node<'a> {
    /// The path below `data`, up to its first part that isn't constant.
    path: Vec<&'a str>,
    /// The number of the path's parts that are the package's.
    package: usize,
    /// The head of the first definition.
    at: Span,
    is_function: bool,
    /// `true` if its value may depend on the input, when nothing calls it.
    can_vary: bool,
    /// The nodes that it refers to.
    uses: BTreeSet<usize>,
}

impl<'a> Node<'a> {
    fn package(&self) -> &[&'a str] {
        self.path.get(..self.package).unwrap_or_default()
    }

    /// Returns the first part of the rule's own name.
    fn name(&self) -> &'a str {
        self.path.get(self.package).copied().unwrap_or_default()
    }

    fn is_test(&self) -> bool {
        self.path.iter().skip(self.package).any(|name| is_test(name))
    }
}

/// Returns `true` for the name of a test.
pub(super) fn is_test(name: &str) -> bool {
    name.starts_with("test_") || name.starts_with("todo_test_")
}

/// The paths of nodes, as a tree.
#[derive(Default)]
struct Tree<'a> {
    node: Option<usize>,
    below: HashMap<&'a str, Tree<'a>>,
}

impl<'a> Tree<'a> {
    fn at(&mut self, path: &[&'a str]) -> &mut Self {
        path.iter().fold(self, |tree, part| tree.below.entry(part).or_default())
    }

    /// Adds the nodes that a reference with these operands may lead to, into or through.
    fn find(&self, operands: &[Term], found: &mut BTreeSet<usize>) {
        found.extend(self.node);
        match operands.split_first() {
            Some((Term { kind: TermKind::String(key), .. }, rest)) => {
                if let Some(tree) = self.below.get(&**key) {
                    tree.find(rest, found);
                }
            }
            Some((_, rest)) => self.below.values().for_each(|tree| tree.find(rest, found)),
            None => self.below.values().for_each(|tree| tree.find(&[], found)),
        }
    }
}

/// Finds the unused rules that no other one refers to, and the dead ones that no other dead one does.
pub(super) fn check(all: &Inspected<'_>, files: &[File<'_>], out: &mut Vec<Diagnostic>) {
    let nodes = nodes(files);
    let role = |node: &Node<'_>| role(node.name(), all.origin).filter(|_| !node.is_function);
    let mut with_verdict = BTreeSet::new();
    let mut with_result = BTreeSet::new();
    for node in &nodes {
        let role = role(node);
        if role.is_some_and(Role::gives_verdict) {
            with_verdict.insert(node.package());
        }
        if role == Some(Role::Result) {
            with_result.insert(node.package());
        }
    }
    // What a policy document states beside its violations, `result` states in its own fields.
    let is_verdict = |node: &Node<'_>| {
        role(node).is_some_and(|role| role.gives_verdict() || !with_result.contains(node.package()))
    };
    let mut open: Vec<usize> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        if !with_verdict.contains(node.package()) || is_verdict(node) || node.is_test() {
            open.push(index);
        }
        let others = node
            .uses
            .iter()
            .filter(|at| nodes.get(**at).is_some_and(|other| other.package() != node.package()));
        open.extend(others);
    }
    let mut live = BTreeSet::new();
    while let Some(index) = open.pop() {
        if live.insert(index) {
            open.extend(nodes.get(index).into_iter().flat_map(|node| &node.uses));
        }
    }
    let unused = || nodes.iter().enumerate().filter(|(index, _)| !live.contains(index));
    let used = |(index, node): (usize, &Node<'_>)| -> Vec<usize> {
        node.uses.iter().copied().filter(|at| *at != index).collect()
    };
    let in_unused: BTreeSet<usize> = unused().flat_map(used).collect();
    let in_dead: BTreeSet<usize> =
        unused().filter(|(_, node)| node.can_vary).flat_map(used).collect();
    for (index, node) in unused() {
        let is_dead = node.can_vary;
        if (if is_dead { &in_dead } else { &in_unused }).contains(&index) {
            continue;
        }
        let name = node.path.get(node.package..).unwrap_or_default().join(".");
        let finding = if is_dead {
            let message =
                format!("the rule `{name}` is dead: no verdict, test or other package uses it");
            Diagnostic::warning("dead-rule", message)
        } else {
            Diagnostic::warning("unused-rule", format!("nothing uses the rule `{name}`"))
        };
        let hint = match nearest(node.name()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use it in `deny`, `violations`, `findings`, `warn` or `result`, or remove it"
                .to_owned(),
        };
        out.push(finding.with_hint(hint).at(all.position(node.at)));
    }
}

/// Returns the rules of all files, with what they refer to.
fn nodes<'a>(files: &[File<'a>]) -> Vec<Node<'a>> {
    let (mut nodes, mut tree) = (Vec::new(), Tree::default());
    // The node of each rule, by file and place in the file.
    let mut of_rules: Vec<Vec<usize>> = Vec::new();
    for file in files {
        let package = names::package_path(file.module);
        let mut of_file = Vec::new();
        for rule in &file.module.rules {
            let path: Vec<&str> = package.iter().copied().chain(constant_path(rule)).collect();
            let place = tree.at(&path);
            let index = *place.node.get_or_insert(nodes.len());
            if index == nodes.len() {
                nodes.push(Node {
                    path,
                    package: package.len(),
                    at: head_span(rule),
                    is_function: rule.head.is_function(),
                    can_vary: false,
                    uses: BTreeSet::new(),
                });
            }
            if let Some(node) = nodes.get_mut(index) {
                node.can_vary |= can_vary(rule);
            }
            of_file.push(index);
        }
        of_rules.push(of_file);
    }
    for (file, of_file) in files.iter().zip(&of_rules) {
        for (rule, term) in &file.model.references {
            let TermKind::Ref(parts) = &term.kind else { continue };
            let Some((Term { kind: TermKind::Var(head), .. }, operands)) = parts.split_first()
            else {
                continue;
            };
            let node = of_file.get(*rule).and_then(|index| nodes.get_mut(*index));
            if let Some(node) = node.filter(|_| **head == *"data") {
                tree.find(operands, &mut node.uses);
            }
        }
    }
    nodes
}

/// Returns the path of a rule in its package, up to its first part that isn't constant.
pub(super) fn constant_path(rule: &Rule) -> impl Iterator<Item = &str> {
    rule.head.reference.iter().enumerate().map_while(|(index, part)| match &part.kind {
        TermKind::Var(name) if index == 0 => Some(&**name),
        TermKind::String(name) => Some(&**name),
        _ => None,
    })
}

/// Returns `true` unless a definition is a function's, or has no body and nothing to evaluate in its
/// head.
pub(super) fn can_vary(rule: &Rule) -> bool {
    let head = &rule.head;
    if head.is_function() {
        return false;
    }
    let terms = head.reference.iter().skip(1).chain(&head.key).chain(&head.value);
    let mut is_literal = (rule.generated_body || rule.default) && rule.else_rule.is_none();
    for term in terms {
        visit::walk_terms(term, &mut |term| {
            is_literal &= match term.kind {
                TermKind::Null | TermKind::Bool(_) | TermKind::Number(_) | TermKind::String(_) => {
                    true
                }
                TermKind::Array(_)
                | TermKind::Set(_)
                | TermKind::Object(_)
                | TermKind::Group(_) => true,
                TermKind::Var(_)
                | TermKind::Ref(_)
                | TermKind::Call(_)
                | TermKind::Template(_)
                | TermKind::Comprehension(..) => false,
            };
            is_literal
        });
    }
    !is_literal
}
