//! Builds the tree of paths from the rules.
//!
//! ```text
//! package a.b                         a ─ b ─ p       set #0: p, p
//! p := 1 if …                               └ q       set #1: q.r[x].s
//! p := 2 if …                               
//! q[x].s := 3 if …                    a path ends at its first variable
//! ```
//! If a path in a set has a variable, the rules below it belong to the same set and the tree ends
//! there: a single evaluation builds the whole document.

use std::sync::Arc;

use crate::core::{Core, Node, NodeId, RuleSet, SetId};
use crate::problem::Problem;
use crate::syntax::print::is_name;
use crate::syntax::tree::{Module, Rule, Term, TermKind};
use crate::types::terms;
use crate::value::Value;

use super::unexpected;

/// A rule and the rule set that it belongs to.
pub(super) struct Placed<'a> {
    pub(super) rule: &'a Rule,
    pub(super) package: &'a [Term],
    pub(super) set: SetId,
}

/// A node while the tree is being built.
#[derive(Default)]
struct DraftNode<'a> {
    rules: Vec<(&'a Rule, &'a [Term])>,
    children: Vec<(Value, usize)>,
}

/// Builds the nodes and rule sets of a core; returns each rule with its set, in order.
pub(super) fn build<'a>(
    core: &mut Core,
    modules: &'a [Module],
) -> Result<Vec<Placed<'a>>, Problem> {
    let mut order: Vec<&Module> = modules.iter().collect();
    // A package comes before the packages inside it; within one package, the order of files is
    // kept.
    order.sort_by_key(|module| module.package.path.len());
    let mut nodes = vec![DraftNode::default()];
    let mut known = std::collections::HashMap::new();
    let mut child_of = |nodes: &mut Vec<DraftNode<'a>>, at: usize, key: Value| -> usize {
        *known.entry((at, key.clone())).or_insert_with(|| {
            nodes.push(DraftNode::default());
            let child = nodes.len() - 1;
            if let Some(node) = nodes.get_mut(at) {
                node.children.push((key, child));
            }
            child
        })
    };
    for module in order {
        let mut package = 0;
        for part in module.package.path.iter().skip(1) {
            let key = constant(part).ok_or_else(|| unexpected(part.span, "this package"))?;
            package = child_of(&mut nodes, package, key);
        }
        for rule in &module.rules {
            let mut at = package;
            for (index, part) in rule.head.reference.iter().enumerate() {
                let key = match (&part.kind, index) {
                    (TermKind::Var(name), 0) => Value::from(Arc::clone(name)),
                    _ => match constant(part) {
                        Some(key) => key,
                        None => break,
                    },
                };
                at = child_of(&mut nodes, at, key);
            }
            if let Some(node) = nodes.get_mut(at) {
                node.rules.push((rule, &module.package.path));
            }
        }
    }
    let mut placed = Vec::new();
    core.nodes.push(Node {
        key: Value::from("data"),
        children: std::collections::BTreeMap::new(),
        set: None,
        hidden: false,
    });
    let mut path = Vec::new();
    copy_node(core, &nodes, 0, Core::ROOT, &mut path, &mut placed);
    Ok(placed)
}

/// Copies a node and everything below it into the core, and builds the rule sets.
fn copy_node<'a>(
    core: &mut Core,
    nodes: &[DraftNode<'a>],
    from: usize,
    to: NodeId,
    path: &mut Vec<Value>,
    placed: &mut Vec<Placed<'a>>,
) {
    let Some(node) = nodes.get(from) else { return };
    if !node.rules.is_empty() {
        let ground = node.rules.iter().all(|(rule, _)| is_ground(rule));
        let mut rules = node.rules.clone();
        if !ground {
            collect_rules(nodes, from, &mut rules);
        }
        let set = SetId(u32::try_from(core.sets.len()).unwrap_or(u32::MAX));
        core.sets.push(new_set(path, &rules));
        placed.extend(rules.iter().map(|(rule, package)| Placed { rule, package, set }));
        if let Some(added) = core.sets.last()
            && added.function
        {
            core.functions.insert(Arc::clone(&added.path), set);
        }
        if let Some(node) = core.nodes.get_mut(to.0 as usize) {
            node.set = Some(set);
        }
        if !ground {
            return;
        }
    }
    for (key, child) in &node.children {
        let id = NodeId(u32::try_from(core.nodes.len()).unwrap_or(u32::MAX));
        let hidden = path.is_empty() && key.as_str() == Some("system");
        core.nodes.push(Node {
            key: key.clone(),
            children: std::collections::BTreeMap::new(),
            set: None,
            hidden,
        });
        if let Some(node) = core.nodes.get_mut(to.0 as usize) {
            node.children.insert(key.clone(), id);
        }
        path.push(key.clone());
        crate::value::deeper(|| copy_node(core, nodes, *child, id, path, placed));
        path.pop();
    }
}

/// Collects the rules below a node, ordered by key.
fn collect_rules<'a>(
    nodes: &[DraftNode<'a>],
    from: usize,
    rules: &mut Vec<(&'a Rule, &'a [Term])>,
) {
    let Some(node) = nodes.get(from) else { return };
    let mut children: Vec<_> = node.children.iter().collect();
    children.sort();
    for (_, child) in children {
        if let Some(node) = nodes.get(*child) {
            rules.extend(node.rules.iter().copied());
        }
        crate::value::deeper(|| collect_rules(nodes, *child, rules));
    }
}

fn new_set(path: &[Value], rules: &[(&Rule, &[Term])]) -> RuleSet {
    let mut name = String::with_capacity(60);
    name.push_str("data");
    for part in path {
        push_part(&mut name, part);
    }
    let first = rules.first().map(|(rule, _)| *rule);
    RuleSet {
        path: name.into(),
        parts: path.to_vec(),
        multi: first.is_some_and(|rule| rule.head.value.is_none()),
        ground: rules.iter().all(|(rule, _)| rule.default || is_ground(rule)),
        function: rules.iter().any(|(rule, _)| rule.head.is_function()),
        arity: first.map_or(0, |rule| rule.head.args.len()),
        definitions: Vec::new(),
        default: None,
        early: false,
        uneven: false,
        keys: None,
        single: false,
        reaches: false,
        marks: crate::core::Marks::NONE,
        pure: false,
        index: None,
        members: Vec::new(),
        all: Vec::new(),
    }
}

fn is_ground(rule: &Rule) -> bool {
    rule.head.reference.iter().skip(1).all(|part| constant(part).is_some())
}

/// Returns the value of a scalar.
pub(super) fn constant(term: &Term) -> Option<Value> {
    if term.ungrouped().is_scalar() { terms::constant(term) } else { None }
}

/// Appends a component to the text of a path.
pub(crate) fn push_part(path: &mut String, part: &Value) {
    if let Some(text) = part.as_str().filter(|text| is_name(text)) {
        path.push('.');
        path.push_str(text);
        return;
    }
    path.push('[');
    path.push_str(&part.to_string());
    path.push(']');
}
