//! Rules, packages and data that can't stand side by side.
//!
//! Owns the refusals that need only paths and kinds: two kinds of rule under one path, a rule
//! below another's value, a package under a rule, data where a rule or a package is.

use std::sync::Arc;

use regorus::Value;

use super::parse::Module;
use super::tree::{Definition, Group, Node, RuleKind, Tree, data_path};
use crate::Diagnostic;

/// Finds every conflict among `modules` and with `data`.
pub(super) fn check(modules: &[Module], tree: &Tree, data: &Value, out: &mut Vec<Diagnostic>) {
    let check = Check { modules, tree };
    for group in &tree.groups {
        check.kinds(group, out);
    }
    check.nesting(&tree.root, None, out);
    let mut path = Vec::new();
    check.data(&tree.root, data, &mut path, out);
}

struct Check<'a> {
    modules: &'a [Module],
    tree: &'a Tree,
}

impl Check<'_> {
    fn at(&self, diagnostic: Diagnostic, definition: &Definition) -> Diagnostic {
        match self.modules.get(definition.module) {
            Some(m) => diagnostic.at(m.file.position(definition.start, definition.end)),
            None => diagnostic,
        }
    }

    fn place(&self, definition: &Definition) -> String {
        self.modules.get(definition.module).map_or_else(String::new, |m| {
            let position = m.file.position(definition.start, definition.end);
            format!("{}:{}", position.file, position.line)
        })
    }

    fn kinds(&self, group: &Group, out: &mut Vec<Diagnostic>) {
        let Some(first) = group.definitions.first() else { return };
        if let Some(other) = group.definitions.iter().find(|d| d.kind != first.kind) {
            let (code, message) = match (first.kind, other.kind) {
                (RuleKind::Function { arity: a }, RuleKind::Function { arity: b }) => (
                    "arity",
                    format!(
                        "function `{}` is defined with {a} and with {b} arguments",
                        group.name()
                    ),
                ),
                (a, b) => (
                    "rule-conflict",
                    format!(
                        "`{}` is defined as {} and as {}",
                        group.name(),
                        kind_name(a),
                        kind_name(b)
                    ),
                ),
            };
            let hint = format!("the other definition is at {}", self.place(first));
            out.push(self.at(Diagnostic::error(code, message).with_hint(hint), other));
        }
        // The interpreter keeps one module per function and reads the others' bodies as if they
        // were that one's.
        if matches!(first.kind, RuleKind::Function { .. })
            && let Some(other) = group.definitions.iter().find(|d| d.module != first.module)
        {
            let message = format!("function `{}` is defined in more than one file", group.name());
            let hint = format!(
                "move its definitions into one file; the other is at {}",
                self.place(first)
            );
            out.push(
                self.at(Diagnostic::error("function-over-files", message).with_hint(hint), other),
            );
        }
        let mut defaults = group.definitions.iter().filter(|d| d.is_default);
        if let (Some(one), Some(two)) = (defaults.next(), defaults.next())
            && one.kind != RuleKind::PartialObject
        {
            let message = format!("`{}` has more than one default", group.name());
            let hint = format!("the other default is at {}", self.place(one));
            out.push(self.at(Diagnostic::error("rule-conflict", message).with_hint(hint), two));
        }
    }

    /// Looks for rules and packages below a rule. A partial object may have members that are
    /// rules of their own.
    fn nesting(&self, node: &Node, above_index: Option<usize>, out: &mut Vec<Diagnostic>) {
        let group = |index: usize| self.tree.groups.get(index);
        let here = node.group.and_then(group);
        let above = above_index.and_then(group);
        let package = node.package.and_then(|p| self.tree.packages.get(p));
        if let (Some(rule), Some(package)) = (here.or(above), package) {
            let message = format!(
                "rule `{}` is in the place of package `{}`",
                rule.name(),
                data_path(&package.path)
            );
            self.push("package-conflict", message, "rename the rule or the package", rule, out);
        } else if let (Some(above), Some(below)) = (above, here)
            && above.kind() != RuleKind::PartialObject
        {
            let message =
                format!("rule `{}` is below the value of rule `{}`", below.name(), above.name());
            let place = above.definitions.first().map(|d| self.place(d)).unwrap_or_default();
            let hint = format!("the other rule is at {place}");
            self.push("rule-conflict", message, &hint, below, out);
        }
        // What is below a package in a rule's place is said with the package.
        let above = if package.is_some() { None } else { node.group.or(above_index) };
        node.children.values().for_each(|child| self.nesting(child, above, out));
    }

    fn push(
        &self,
        code: &'static str,
        message: String,
        hint: &str,
        group: &Group,
        out: &mut Vec<Diagnostic>,
    ) {
        let diagnostic = Diagnostic::error(code, message).with_hint(hint);
        out.extend(group.definitions.first().map(|d| self.at(diagnostic, d)));
    }

    fn data(
        &self,
        node: &Node,
        value: &Value,
        path: &mut Vec<Arc<str>>,
        out: &mut Vec<Diagnostic>,
    ) {
        if let Some(group) = node.group.and_then(|g| self.tree.groups.get(g)) {
            if let Some(first) = group.definitions.first() {
                let message = format!("data has a value where rule `{}` is", group.name());
                let hint =
                    "remove it from the data, or rename the rule: data never overrides rules";
                out.push(
                    self.at(Diagnostic::error("data-conflict", message).with_hint(hint), first),
                );
            }
            return;
        }
        let Ok(object) = value.as_object() else {
            let message = format!(
                "data has {} where packages are, at `{}`",
                super::data::type_name(value),
                data_path(path)
            );
            let package = first_package(node).and_then(|p| self.tree.packages.get(p));
            let hint = package.map_or_else(String::new, |p| {
                format!("remove it from the data, or rename package `{}`", data_path(&p.path))
            });
            out.push(Diagnostic::error("data-conflict", message).with_hint(hint));
            return;
        };
        for (name, child) in &node.children {
            let key = Value::String(name.clone());
            if let Some(value) = object.get(&key) {
                path.push(name.clone());
                self.data(child, value, path, out);
                path.pop();
            }
        }
    }
}

fn first_package(node: &Node) -> Option<usize> {
    node.package.or_else(|| node.children.values().find_map(first_package))
}

/// How a rule of this kind is called.
pub(super) fn kind_name(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Complete => "a single value",
        RuleKind::PartialSet => "a set",
        RuleKind::PartialObject => "an object",
        RuleKind::Function { .. } => "a function",
    }
}
