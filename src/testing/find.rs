//! The rules that are tests, with a unique name for each definition.
//!
//! Owns finding tests and renaming the second and later definitions of a name; otherwise one
//! definition's value would count for another. The new name, `test_x#01`, can't be written in a
//! policy; reports show it.

use std::collections::HashMap;

use crate::Position;
use crate::load::position;
use crate::rego::Sources as Texts;
use crate::rego::syntax::tree::{Module, Rule, Span, Term, TermKind};

/// A definition of a rule with a test's name.
#[derive(Debug, Clone)]
pub(super) struct TestRule {
    /// The index of its module, and its index among the module's rules.
    pub module: usize,
    pub rule: usize,
    /// The package, below `data`.
    pub package: Vec<String>,
    /// The constant part of the rule's path within the package; the last part is the test's name as
    /// its author wrote it.
    pub path: Vec<String>,
    /// The last part, with a number if it isn't the first of that name.
    pub name: String,
    pub shape: TestShape,
    pub position: Position,
}

/// The kind of rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestShape {
    /// A rule with a single value.
    Plain,
    /// A table with this number of keys: at least one is a variable, or the single one is that of
    /// an object, without a body.
    Table,
    Function,
    /// A field of an object or an element of a set.
    Part,
}

impl TestRule {
    /// Returns `true` if it is skipped because of its name.
    pub fn is_skipped(&self) -> bool {
        self.path.last().is_some_and(|name| name.starts_with("todo_test_"))
    }
}

/// Returns `true` for the name of a test.
fn is_test(name: &str) -> bool {
    name.starts_with("test_") || name.starts_with("todo_test_")
}

fn constant(term: &Term) -> Option<&str> {
    match &term.kind {
        TermKind::Var(name) | TermKind::String(name) => Some(name),
        _ => None,
    }
}

/// Returns the number of parts of a rule's reference up to its test's name; `None` if it isn't a
/// test.
pub(super) fn name_length(rule: &Rule) -> Option<usize> {
    let reference = &rule.head.reference;
    let names = reference.iter().enumerate().map_while(|(index, term)| match &term.kind {
        TermKind::Var(name) if index == 0 => Some(&**name),
        TermKind::String(name) => Some(&**name),
        _ => None,
    });
    names.into_iter().position(is_test).map(|index| index + 1)
}

/// Returns the tests of modules, in their order, after renaming each later definition of a name.
pub(super) fn rename(texts: &Texts, modules: &mut [Module]) -> Vec<TestRule> {
    let mut seen: HashMap<Vec<String>, usize> = HashMap::new();
    let mut found = Vec::new();
    for (module_index, module) in modules.iter_mut().enumerate() {
        let package: Vec<String> = module
            .package
            .path
            .iter()
            .skip(1)
            .filter_map(|term| constant(term).map(str::to_owned))
            .collect();
        for (rule_index, rule) in module.rules.iter_mut().enumerate() {
            let Some(length) = name_length(rule) else { continue };
            let path: Vec<String> = rule
                .head
                .reference
                .iter()
                .take(length)
                .filter_map(|term| constant(term).map(str::to_owned))
                .collect();
            let Some(own) = path.last().cloned() else { continue };
            let full: Vec<String> = package.iter().chain(&path).cloned().collect();
            let count = seen.entry(full).or_insert(0);
            let name = if *count == 0 { own.clone() } else { format!("{own}#{count:02}") };
            *count += 1;
            if name != own
                && let Some(term) = rule.head.reference.get_mut(length - 1)
            {
                match &mut term.kind {
                    TermKind::Var(var) => *var = name.as_str().into(),
                    TermKind::String(text) => *text = name.as_str().into(),
                    _ => {}
                }
            }
            let head = rule.head.reference.get(length - 1).map_or(rule.head.span, |t| t.span);
            found.push(TestRule {
                module: module_index,
                rule: rule_index,
                package: package.clone(),
                path,
                name,
                shape: shape(rule, length),
                position: position(texts, Span { start: rule.span.start.min(head.start), ..head }),
            });
        }
    }
    found
}

fn shape(rule: &Rule, length: usize) -> TestShape {
    let head = &rule.head;
    let keys = head.reference.get(length..).unwrap_or_default();
    // The compile stages replace all terms but scalars by variables.
    let variable = |term: &Term| !term.ungrouped().is_scalar();
    if head.is_function() {
        TestShape::Function
    } else if head.has_contains || (head.key.is_some() && head.value.is_none()) {
        TestShape::Part
    } else if keys.is_empty() {
        TestShape::Plain
    } else if head.key.is_some() || keys.iter().any(variable) {
        TestShape::Table
    } else {
        TestShape::Part
    }
}
