//! Which rules are tests, and a name for each definition.
//!
//! Owns the finding of tests and the renaming of the second and later definitions of a name,
//! without which one definition would answer for another. The new name, `test_x#01`, is one that
//! no author can write; reports show it.

use std::collections::HashMap;

use crate::Position;
use crate::load::position;
use crate::rego::problem::Sources as Texts;
use crate::rego::syntax::tree::{Module, Rule, Span, Term, TermKind};

/// A definition of a rule with a test's name.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Its module, and its place among the module's rules.
    pub module: usize,
    pub rule: usize,
    /// The package, below `data`.
    pub package: Vec<String>,
    /// The rule's path within the package, as far as it is constant; the last part is the test's
    /// name, as its author wrote it.
    pub path: Vec<String>,
    /// The last part, with a number when it isn't the first of that name.
    pub name: String,
    pub shape: Shape,
    pub position: Position,
}

/// What kind of rule it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One value.
    Plain,
    /// So many keys, of which one at least is a variable: each a case's.
    Table(usize),
    /// Takes arguments.
    Function,
    /// A field of an object, or an element of a set.
    Part,
}

impl Found {
    /// True if the name says that it is to be skipped.
    pub fn is_skipped(&self) -> bool {
        self.path.last().is_some_and(|name| name.starts_with("todo_test_"))
    }
}

/// True if a name is a test's.
fn is_test(name: &str) -> bool {
    name.starts_with("test_") || name.starts_with("todo_test_")
}

fn constant(term: &Term) -> Option<&str> {
    match &term.kind {
        TermKind::Var(name) | TermKind::String(name) => Some(name),
        _ => None,
    }
}

/// The number of parts of a rule's reference that lead to its test's name; nothing for other rules.
pub(super) fn name_length(rule: &Rule) -> Option<usize> {
    let reference = &rule.head.reference;
    let names = reference.iter().enumerate().map_while(|(index, term)| match &term.kind {
        TermKind::Var(name) if index == 0 => Some(&**name),
        TermKind::String(name) => Some(&**name),
        _ => None,
    });
    names.into_iter().position(is_test).map(|index| index + 1)
}

/// The tests of modules, in their order; each later definition of a name gets a name of its own.
pub(super) fn rename(texts: &Texts, modules: &mut [Module]) -> Vec<Found> {
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
            found.push(Found {
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

fn shape(rule: &Rule, length: usize) -> Shape {
    let keys = rule.head.reference.get(length..).unwrap_or_default();
    let variable = |term: &Term| !matches!(term.kind, TermKind::String(_));
    if rule.head.is_function {
        Shape::Function
    } else if rule.head.has_contains || (rule.head.key.is_some() && rule.head.value.is_none()) {
        Shape::Part
    } else if keys.is_empty() {
        Shape::Plain
    } else if keys.iter().any(variable) {
        Shape::Table(keys.len())
    } else {
        Shape::Part
    }
}
