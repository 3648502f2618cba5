//! Checks that no rule depends on its own value.

use std::collections::HashSet;

use crate::problem::{Problem, ProblemCode};
use crate::syntax::print;
use crate::syntax::tree::{Name, Term, TermKind};

use super::Compiler;
use super::dependency_graph::{DynamicDependency, selecting_positions};
use super::names::NameMap;
use super::order;
use super::rule_tree::RuleId;
use crate::syntax::walk::{self, NodeMut};

/// Restores the author's variables in a reference.
pub fn author_ref(rewritten: &NameMap<Name>, reference: &[Term]) -> Vec<Term> {
    let mut reference = reference.to_vec();
    for term in &mut reference {
        walk::change(term, Some(order::sort), |node| {
            if let NodeMut::Term(Term { kind: TermKind::Var(name), .. }) = node
                && let Some(author) = rewritten.get(name)
            {
                *name = Name::clone(author);
            }
            false
        });
    }
    reference
}

/// The number of conditions beyond which none is listed in a message.
const MAX_CONDITIONS: usize = 2;

impl Compiler<'_> {
    /// Checks that no rule depends on itself, directly or indirectly.
    pub(super) fn check_recursion(&mut self) {
        let component = self.components();
        let mut problems = Vec::new();
        let mut order = Vec::new();
        self.rule_tree.depth_first(&mut |node| {
            order.extend(node.values.iter().flat_map(|id| self.rules.branches(*id)));
            false
        });
        for id in order {
            let of = |id: RuleId| component.get(id.index()).copied();
            let cyclic =
                self.graph.dependencies(id).any(|other| other == id || of(other) == of(id));
            if cyclic && let Some(problem) = self.self_path(id, &component) {
                problems.push(problem);
            }
        }
        self.problems(problems);
    }

    /// The number of each rule's strongly connected component, so that only rules in cycles are
    /// searched.
    fn components(&self) -> Vec<usize> {
        let size = self.graph.len();
        let ids = || (0..size).filter_map(|index| u32::try_from(index).ok()).map(RuleId);
        let mut visited = vec![false; size];
        let mut finished = Vec::with_capacity(size);
        for root in ids() {
            let mut stack = vec![(root, false)];
            while let Some((id, done)) = stack.pop() {
                if done {
                    finished.push(id);
                    continue;
                }
                match visited.get_mut(id.index()) {
                    Some(seen) if !*seen => *seen = true,
                    _ => continue,
                }
                stack.push((id, true));
                stack.extend(self.graph.dependencies(id).map(|other| (other, false)));
            }
        }
        let mut component = vec![usize::MAX; size];
        for root in finished.into_iter().rev() {
            let mut stack = vec![root];
            while let Some(id) = stack.pop() {
                match component.get_mut(id.index()) {
                    Some(slot) if *slot == usize::MAX => *slot = root.index(),
                    _ => continue,
                }
                stack.extend(self.graph.dependents(id));
            }
        }
        component
    }

    /// Finds a path from a rule back to itself.
    fn path(&self, id: RuleId, component: &[usize], certain: bool) -> Option<Vec<RuleId>> {
        let of = |id: RuleId| component.get(id.index()).copied();
        let mut visited = HashSet::from([id]);
        let edges = |from: RuleId| {
            let mut edges: Vec<RuleId> = self
                .graph
                .dependencies(from)
                .filter(|to| of(*to) == of(id))
                .filter(|to| !certain || self.graph.dynamic_cause(from, *to).is_none())
                .collect();
            edges.reverse();
            edges
        };
        let mut stack = vec![(id, edges(id))];
        while let Some((_, rest)) = stack.last_mut() {
            let Some(next) = rest.pop() else {
                stack.pop();
                continue;
            };
            if next == id {
                let mut path: Vec<RuleId> = stack.iter().map(|(id, _)| *id).collect();
                path.push(id);
                return Some(path);
            }
            if visited.insert(next) {
                stack.push((next, edges(next)));
            }
        }
        None
    }

    fn self_path(&self, id: RuleId, component: &[usize]) -> Option<Problem> {
        let (path, certain) = match self.path(id, component, true) {
            Some(path) => (path, true),
            None => (self.path(id, component, false)?, false),
        };
        let span = self.rules.get(id).map(|info| info.span)?;
        let names: Vec<String> = path.iter().map(|id| self.rule_text(*id)).collect();
        let (verb, cause) =
            if certain { ("is", String::new()) } else { ("may be", self.cause(&path)) };
        let message =
            format!("rule {} {verb} recursive: {}{cause}", self.rule_text(id), names.join(" -> "));
        Some(Problem::new(ProblemCode::Recursion, span, message))
    }

    /// Describes the reference that may close a cycle, and the conditions under which it does.
    fn cause(&self, path: &[RuleId]) -> String {
        for (index, pair) in path.windows(2).enumerate() {
            let [from, to] = pair else { continue };
            let Some(edge) = self.graph.dynamic_cause(*from, *to) else { continue };
            return self.cause_of(edge, *from, *to, index > 0).unwrap_or_default();
        }
        String::new()
    }

    fn cause_of(
        &self,
        edge: &DynamicDependency,
        from: RuleId,
        to: RuleId,
        show_from: bool,
    ) -> Option<String> {
        let target = self.rules.get(to)?;
        let length = edge.reference.len().min(target.path.len());
        let reference = author_ref(&self.rewritten, edge.reference.get(..length)?);
        let mut text = format!(" ({}", print::RefText(&reference));
        if show_from {
            text.push_str(&format!(" in {}", self.rule_text(from)));
        }
        let mut conditions: Vec<(String, Term, String)> = Vec::new();
        let mut ok = true;
        for position in selecting_positions(&edge.selected, target, &edge.bound).unwrap_or_default()
        {
            let (Some(term), Some(Some(value))) =
                (reference.get(position), target.path.get(position))
            else {
                continue;
            };
            let value = value.to_string();
            match conditions.iter().find(|(_, other, _)| order::equal(other, term)) {
                Some((_, _, other)) if *other != value => ok = false,
                Some(_) => {}
                None => conditions.push((term.to_string(), term.clone(), value)),
            }
        }
        if !ok || conditions.is_empty() || conditions.len() > MAX_CONDITIONS {
            text.push_str(&format!(" could refer to {})", self.rule_text(to)));
            return Some(text);
        }
        text.push_str(&format!(" refers to {}", self.rule_text(to)));
        for (index, (term, _, value)) in conditions.iter().enumerate() {
            text.push_str(if index == 0 { " if " } else { " and " });
            text.push_str(&format!("{term} is {value}"));
        }
        text.push(')');
        Some(text)
    }
}
