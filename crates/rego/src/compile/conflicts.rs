//! Finds definitions that conflict with each other, with packages or with base documents.

use std::collections::BTreeSet;

use crate::problem::Problem;
use crate::syntax::print;
use crate::syntax::tree::{Module, Rule, Span, Term, TermKind};
use crate::value::Value;

use super::recursion::author_ref;
use super::rule_tree::{RuleId, RuleInfo, TreeNode, rule_path};
use super::{Compiler, exprs};

impl Compiler<'_> {
    fn rule(&self, id: RuleId) -> Option<(&Module, &Rule)> {
        let module = self.modules.get(self.rules.get(id)?.module)?;
        Some((module, self.rules.find(id, &self.modules)?))
    }

    /// A rule's path, with the author's variables.
    pub(super) fn rule_text(&self, id: RuleId) -> String {
        let path = self.rule(id).map(|(module, rule)| rule_path(module, rule)).unwrap_or_default();
        print::RefText(&author_ref(&self.rewritten, &path)).to_string()
    }

    /// Formats a position for use within a message.
    pub(super) fn place_text(&self, span: Span) -> String {
        let (path, line, column) = self.place(span);
        if path.is_empty() { format!("{line}:{column}") } else { format!("{path}:{line}") }
    }

    /// Checks that the definitions of each rule are of the same kind and hide nothing.
    pub(super) fn check_rule_conflicts(&mut self) {
        let mut found = Vec::new();
        self.rule_tree.depth_first(&mut |node| {
            found.extend(self.check_node(node));
            false
        });
        if let Some(data) = self.options.data {
            self.check_path_conflicts(&self.rule_tree, data, &mut Vec::new(), &mut found);
        }
        self.check_package_conflicts(&mut found);
        self.problems(found);
    }

    fn check_node(&self, node: &TreeNode) -> Option<Problem> {
        let infos: Vec<(RuleId, &RuleInfo)> =
            node.values.iter().filter_map(|id| Some((*id, self.rules.get(*id)?))).collect();
        let (first, first_info) = *infos.first()?;
        let is_ground = |info: &RuleInfo| info.ground == info.path.len();
        let below = |functions: bool| self.flatten_children(node, functions);
        let mut conflicts =
            if infos.iter().any(|(_, info)| is_ground(info)) { below(false) } else { Vec::new() };
        // A function must not have a path that a rule's variables can reach.
        if conflicts.is_empty() && infos.iter().any(|(_, info)| !is_ground(info)) {
            conflicts = below(true);
        }
        let last = infos.last().map_or(first, |(id, _)| *id);
        if !conflicts.is_empty() {
            let mut message = format!("rule {} conflicts with:", self.rule_text(last));
            for id in conflicts {
                let span = self.rules.get(id).map(|info| info.span).unwrap_or_default();
                message.push_str(&format!(
                    "\n  rule {} at {}",
                    self.rule_text(id),
                    self.place_text(span)
                ));
            }
            return Some(Problem::types(first_info.span, message));
        }
        let kinds: BTreeSet<bool> = infos.iter().map(|(_, info)| info.multi_value).collect();
        let arities: BTreeSet<usize> = infos.iter().map(|(_, info)| info.args).collect();
        let complete = infos.iter().any(|(_, info)| !info.multi_value && is_ground(info));
        let partial = infos.iter().any(|(_, info)| info.multi_value || !is_ground(info));
        let set = infos.iter().any(|(_, info)| info.multi_value && is_ground(info));
        let sets = infos.iter().any(|(_, info)| info.multi_value && !is_ground(info));
        if kinds.len() > 1 || arities.len() > 1 || (complete && partial) || (set && sets) {
            let message = format!("conflicting rules {} found", self.rule_text(last));
            let mut problem = Problem::types(first_info.span, message);
            let default = infos.iter().any(|(_, info)| info.default);
            let places = |multi_value: bool| {
                let mut of = infos.iter().filter(|(_, info)| info.multi_value == multi_value);
                of.next().map(|(_, info)| self.place_text(info.span))
            };
            if kinds.len() > 1 && default {
                let hint =
                    "a set needs no default: without elements it's empty; drop the `default`";
                problem = problem.hint(hint);
            } else if let (Some(set), Some(value)) = (places(true), places(false)) {
                problem = problem.hint(format!(
                    "a rule is either a set (`contains`, at {set}) or one value (at {value})"
                ));
            }
            return Some(problem);
        }
        let defaults: Vec<&RuleInfo> =
            infos.iter().map(|(_, info)| *info).filter(|info| info.default).collect();
        if let [default, _, ..] = defaults.as_slice() {
            let places: Vec<String> =
                defaults.iter().map(|info| self.place_text(info.span)).collect();
            let message = format!(
                "multiple default rules {} found at {}",
                self.rule_text(last),
                places.join(", ")
            );
            let span =
                self.modules.get(default.module).map_or(default.span, |module| module.package.span);
            return Some(Problem::types(span, message));
        }
        None
    }

    /// The rules below a node, except those below another rule that is included.
    fn flatten_children(&self, node: &TreeNode, functions: bool) -> Vec<RuleId> {
        let mut all: Vec<(RuleId, Vec<Term>)> = Vec::new();
        for child in node.children.values() {
            for id in child.all() {
                let info = self.rules.get(id);
                if !functions || info.is_some_and(|info| info.args > 0) {
                    let path = self
                        .rule(id)
                        .map(|(module, rule)| rule_path(module, rule))
                        .unwrap_or_default();
                    all.push((id, path));
                }
            }
        }
        all.sort_by(|(_, a), (_, b)| super::order::slices(a, b));
        let mut kept: Vec<(RuleId, Vec<Term>)> = Vec::new();
        for (id, path) in all {
            // A prefix is sorted before the paths that begin with it.
            let covered = kept.iter().rev().take(8).any(|(_, other)| {
                path.get(..other.len())
                    .is_some_and(|start| super::order::slices(start, other).is_eq())
            });
            if !covered {
                kept.push((id, path));
            }
        }
        kept.into_iter().map(|(id, _)| id).collect()
    }

    /// Checks that no rule has the path of a base document.
    fn check_path_conflicts(
        &self,
        node: &TreeNode,
        data: &Value,
        path: &mut Vec<String>,
        found: &mut Vec<Problem>,
    ) {
        for (key, child) in &node.children {
            let Value::String(name) = key else { continue };
            // A value that isn't an object leaves no room for rules below it.
            let below = if let Value::Object(_) = data { data.get(key) } else { Some(data) };
            let Some(below) = below else { continue };
            path.push(name.to_string());
            if let Some(info) = child.values.first().and_then(|id| self.rules.get(*id)) {
                let message = format!("conflicting rule for data path {} found", path.join("/"));
                found.push(Problem::compile(info.span, message));
            } else {
                self.check_path_conflicts(child, below, path, found);
            }
            path.pop();
        }
    }

    /// Checks that no rule has the path of a package.
    fn check_package_conflicts(&self, found: &mut Vec<Problem>) {
        for (at, module) in self.modules.iter().enumerate() {
            let mut node = Some(&self.module_tree);
            for term in module.package.path.iter().skip(1) {
                node = node.and_then(|node| match &term.kind {
                    TermKind::String(name) => node.children.get(name),
                    _ => None,
                });
            }
            let Some(node) = node.filter(|node| !node.children.is_empty()) else { continue };
            for rule in &module.rules {
                if !exprs::is_ground_ref(&rule.head.reference) {
                    continue;
                }
                let target =
                    rule.head.reference.iter().try_fold(node, |node, term| match &term.kind {
                        TermKind::String(name) | TermKind::Var(name) => node.children.get(name),
                        _ => None,
                    });
                for other in
                    target.into_iter().flat_map(|node| &node.modules).filter(|other| **other != at)
                {
                    if let Some(other) = self.modules.get(*other) {
                        let message = format!(
                            "package {} conflicts with rule {} defined at {}",
                            print::RefText(other.package.path.get(1..).unwrap_or_default()),
                            print::RefText(&rule.head.reference),
                            self.place_text(rule.span)
                        );
                        found.push(Problem::types(module.package.span, message));
                    }
                }
            }
        }
    }
}
