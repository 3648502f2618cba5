//! References to whole packages, answered rule by rule.
//!
//! Owns the generated rules that stand in for a package's value: the interpreter marks a package
//! as done after its first module and leaves the rest out. A view names each rule by its full
//! path, which it gets right, and holds no more than the reference can reach:
//! `data.policies[_].deny` sees `deny` of each package and nothing else.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use regorus::Value;

use super::scope::{Head, Role, Step, Use};
use super::sites::Site;
use super::tree::{Node, RuleKind, Tree, data_path, push_step};
use crate::Diagnostic;

/// Most generated rules of one set of modules.
const MAX_RULES: usize = 50_000;

/// A hidden package, its name, and the rules in it.
pub(super) struct Hidden {
    /// The package's name, which no author can guess.
    pub(super) package: String,
    lines: Vec<String>,
    functions: HashSet<String>,
    /// The calls of modules that go through functions of the package.
    pub(super) sites: Vec<Site>,
    /// Views by the text of their rules.
    known: HashMap<String, usize>,
}

impl Hidden {
    pub(super) fn new(package: String) -> Self {
        Self {
            package,
            lines: Vec::new(),
            functions: HashSet::new(),
            sites: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// `data.<package>.<rule>`.
    pub(super) fn reference(&self, rule: &str) -> String {
        format!("data.{}.{rule}", self.package)
    }

    /// Adds a function: `rule(args) := name(args)`.
    pub(super) fn function(&mut self, rule: &str, arity: usize, name: &str) {
        let args = (0..arity).map(|i| format!("a{i}")).collect::<Vec<_>>().join(", ");
        self.lines.push(format!("{rule}({args}) := {name}({args})"));
        self.functions.insert(rule.to_owned());
    }

    /// A number for a call.
    pub(super) fn site(&mut self, site: Site) -> usize {
        self.sites.push(site);
        self.sites.len() - 1
    }

    /// Whether a path below `data` is that of one of its functions.
    pub(super) fn is_function(&self, path: &[Arc<str>]) -> bool {
        match path {
            [package, rule] => {
                package.as_ref() == self.package && self.functions.contains(rule.as_ref())
            }
            _ => false,
        }
    }

    /// The module's text, if anything is in it.
    pub(super) fn text(&self) -> Option<String> {
        (!self.lines.is_empty())
            .then(|| format!("package {}\n{}\n", self.package, self.lines.join("\n")))
    }
}

/// What views are built from.
pub(super) struct Views<'a> {
    pub(super) tree: &'a Tree,
    pub(super) data: &'a Value,
    /// The paths that any `with` replaces, below `data`.
    pub(super) replaced: Vec<Vec<Step>>,
    /// The groups that are functions which any `with` replaces.
    pub(super) mocked: &'a HashSet<usize>,
}

impl Views<'_> {
    /// How many steps of a reference make the package, or a part of `data` above packages, that
    /// it takes as a value. `None`: it names a rule, or data that no package touches.
    pub(super) fn needed(&self, found: &Use) -> Option<usize> {
        if found.head != Head::Data || !matches!(found.role, Role::Read | Role::Replacement) {
            return None;
        }
        let mut node = &self.tree.root;
        let mut count = 0;
        for key in found.keys() {
            node = node.children.get(key)?;
            if node.group.is_some() {
                return None;
            }
            count += 1;
        }
        // `r.a := 1 if false` makes `r` an empty object, which the interpreter has only if `r.a` is.
        (node.packages || !node.children.is_empty()).then_some(count)
    }

    /// Whether a reference names, by its name in its own package, a function that some `with`
    /// replaces.
    pub(super) fn is_mocked(&self, found: &Use) -> bool {
        found.head == Head::Data
            && found.role != Role::Read
            && found.steps.len() > found.written()
            && self.tree.group_at(found.keys()).is_some_and(|g| self.mocked.contains(&g))
    }

    /// The step of a reference that goes from an object that is built key by key to a rule that
    /// defines one key of it.
    pub(super) fn crossing(&self, found: &Use) -> Option<usize> {
        if found.head != Head::Data || found.role != Role::Read {
            return None;
        }
        let mut node = &self.tree.root;
        for (index, key) in found.keys().enumerate() {
            let partial = node
                .group
                .and_then(|g| self.tree.groups.get(g))
                .is_some_and(|g| g.kind() == RuleKind::PartialObject);
            node = node.children.get(key)?;
            if partial {
                return Some(index);
            }
        }
        None
    }

    /// Makes the view of a reference; `count` is from [`Self::needed`].
    pub(super) fn make(
        &self,
        found: &Use,
        count: usize,
        hidden: &mut Hidden,
    ) -> Result<String, Diagnostic> {
        let path: Vec<Arc<str>> = found.keys().take(count).cloned().collect();
        if let Some(other) = self.replaced.iter().find(|t| self.overlaps(t, &path)) {
            let name = data_path(&path);
            let target = Use { head: Head::Data, steps: other.clone(), ..found.clone() };
            return Err(Diagnostic::error(
                "whole-package",
                format!(
                    "`{name}` is taken as a whole, and `with {}` replaces part of it",
                    super::names::full_name(&target)
                ),
            )
            .with_hint("refer to the package's rules by name"));
        }
        let node = self.tree.node(&path);
        let value = path.iter().try_fold(self.data, |value, key| {
            value.as_object().ok()?.get(&Value::String(key.clone()))
        });
        let tail = found.steps.get(count..).unwrap_or(&[]);
        let Some(node) = node else { return Ok(data_path(&path)) };
        let mut path = path;
        let made = self.node(node, value, &mut path, tail, hidden);
        if hidden.lines.len() > MAX_RULES {
            return Err(Diagnostic::error(
                "whole-package",
                format!("`{}` holds too many rules to be taken as a whole", data_path(&path)),
            )
            .with_hint("refer to the package's rules by name"));
        }
        Ok(made)
    }

    /// Whether a replaced path reaches into, or is above, what a view of `path` lists; below a
    /// rule it doesn't matter, since the view names the rule itself.
    pub(super) fn overlaps(&self, target: &[Step], path: &[Arc<str>]) -> bool {
        let common =
            target.iter().zip(path).all(|(step, key)| matches!(step, Step::Key(k) if k == key));
        if !common {
            return false;
        }
        if target.len() <= path.len() {
            return true;
        }
        let mut node = &self.tree.root;
        for step in target {
            let Step::Key(key) = step else { return true };
            match node.children.get(key) {
                Some(child) if child.group.is_some() => return false,
                Some(child) => node = child,
                None => return true,
            }
        }
        true
    }

    /// The text of an expression that has the node's value.
    fn node(
        &self,
        node: &Node,
        value: Option<&Value>,
        path: &mut Vec<Arc<str>>,
        tail: &[Step],
        hidden: &mut Hidden,
    ) -> String {
        let leaf = !node.packages && node.children.is_empty();
        if node.group.is_some() || leaf || hidden.lines.len() > MAX_RULES {
            return data_path(path);
        }
        let object = value.and_then(|v| v.as_object().ok());
        let mut keys: BTreeSet<Arc<str>> = node.children.keys().cloned().collect();
        if let Some(object) = object {
            keys.extend(object.iter().filter_map(|(key, _)| match key {
                Value::String(key) => Some(key.clone()),
                _ => None,
            }));
        }
        if let Some(Step::Key(only)) = tail.first() {
            keys.retain(|key| key == only);
        }
        let rest = tail.get(1..).unwrap_or(&[]);
        let mut rules = Vec::new();
        for key in keys {
            let value = object.and_then(|o| o.get(&Value::String(key.clone())));
            let child = node.children.get(&key);
            if value.is_none() && child.is_some_and(|child| !self.has_value(child)) {
                continue;
            }
            path.push(key.clone());
            let text = match child {
                Some(child) => self.node(child, value, path, rest, hidden),
                None => data_path(path),
            };
            path.pop();
            rules.push((key, text));
        }
        hidden.view(&rules)
    }

    /// A package, and what leads to a rule, has a value even when it is empty; functions have none.
    fn has_value(&self, node: &Node) -> bool {
        let group = node.group.and_then(|g| self.tree.groups.get(g));
        !group.is_some_and(|group| matches!(group.kind(), RuleKind::Function { .. }))
    }
}

impl Hidden {
    /// A partial object with these members, each left out while it is undefined.
    fn view(&mut self, rules: &[(Arc<str>, String)]) -> String {
        let mut content = String::new();
        for (key, text) in rules {
            push_step(&mut content, key);
            let _ = writeln!(content, " {text}");
        }
        let next = self.known.len();
        let number = *self.known.entry(content).or_insert(next);
        let name = format!("v{number}");
        if number == next {
            if rules.is_empty() {
                self.lines.push(format!("{name} := {{}}"));
            }
            for (key, text) in rules {
                let key = serde_json::Value::from(key.as_ref());
                self.lines.push(format!("{name}[{key}] := {text}"));
            }
        }
        self.reference(&name)
    }
}
