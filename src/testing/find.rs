//! Which rules are tests, and a name for each definition.
//!
//! Owns the finding of tests in syntax and the renaming of the second and later definitions of a
//! name, without which one definition would answer for another. The new name is as long as the old
//! one, so every position stays what it is.

use std::collections::{HashMap, HashSet};

use regorus::unstable as ast;

use ast::{Rule, RuleHead};

use super::source::{self, Part};
use crate::evaluate::sources::ModuleSource;
use crate::{Error, Position};

/// A definition of a rule with a test's name.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Its module, and its place among the module's rules.
    pub module: usize,
    pub rule: usize,
    /// The package, below `data`.
    pub package: Vec<String>,
    /// The rule's name as its author wrote it.
    pub name: String,
    /// The bytes of the name.
    pub span: (usize, usize),
    pub shape: Shape,
    pub position: Position,
}

/// What sort of rule it is.
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
    /// Whether the name says that it is to be skipped.
    pub fn is_skipped(&self) -> bool {
        self.name.starts_with("todo_test_")
    }
}

/// The tests of a module, in their order.
pub(super) fn tests(module: usize, text: &ModuleSource, v0: bool) -> Result<Vec<Found>, Error> {
    if !text.text.contains("test_") {
        return Ok(Vec::new());
    }
    source::parsed(text, v0, |syntax, author| {
        let (first, rest) = source::parts(&syntax.package.refr);
        let keys = rest.into_iter().filter_map(|part| match part {
            Part::Key(key) => Some(key),
            Part::Variable(_) => None,
        });
        let package: Vec<String> = std::iter::once(first.text().to_owned()).chain(keys).collect();
        let mut found = Vec::new();
        for (index, rule) in syntax.policy.iter().enumerate() {
            let (span, parts) = source::parts(reference(rule));
            let name = span.text();
            if !name.starts_with("test_") && !name.starts_with("todo_test_") {
                continue;
            }
            let (start, end) = (span.start as usize, span.end as usize);
            let at = rule.span().start as usize;
            found.push(Found {
                module,
                rule: index,
                package: package.clone(),
                name: name.to_owned(),
                span: (start, end),
                shape: shape(rule, &parts),
                position: source::position(&text.path, author, at.min(start), end),
            });
        }
        found
    })
}

/// The reference of a rule's head.
pub(super) fn reference(rule: &Rule) -> &ast::ExprRef {
    match rule {
        Rule::Default { refr, .. }
        | Rule::Spec {
            head:
                RuleHead::Compr { refr, .. } | RuleHead::Set { refr, .. } | RuleHead::Func { refr, .. },
            ..
        } => refr,
    }
}

fn shape(rule: &Rule, parts: &[Part<'_>]) -> Shape {
    let variables = parts.iter().any(|part| matches!(part, Part::Variable(_)));
    match rule {
        Rule::Default { args, .. } | Rule::Spec { head: RuleHead::Func { args, .. }, .. }
            if !args.is_empty() =>
        {
            Shape::Function
        }
        Rule::Spec { head: RuleHead::Set { .. }, .. } => Shape::Part,
        _ if parts.is_empty() => Shape::Plain,
        _ if variables => Shape::Table(parts.len()),
        _ => Shape::Part,
    }
}

/// A name for each of `found`, as reports show it: `test_x`, `test_x#01`.
pub(super) fn numbered(found: &[Found]) -> Vec<String> {
    let mut seen: HashMap<(&[String], &str), usize> = HashMap::new();
    found
        .iter()
        .map(|test| {
            let count = seen.entry((&test.package, &test.name)).or_insert(0);
            *count += 1;
            match *count {
                1 => test.name.clone(),
                many => format!("{}#{:02}", test.name, many - 1),
            }
        })
        .collect()
}

/// Gives each definition a name of its own, in the modules; returns the names.
pub(super) fn rename(found: &[Found], modules: &mut [ModuleSource]) -> Vec<String> {
    let mut names = Names::new(modules);
    let mut seen: HashSet<(&[String], &str)> = HashSet::new();
    let mut given = Vec::with_capacity(found.len());
    for test in found {
        if seen.insert((&test.package, &test.name)) {
            given.push(test.name.clone());
            continue;
        }
        let name = names.fresh(test.name.len());
        if let Some(module) = modules.get_mut(test.module) {
            let mark = module.text.len() - source::without_mark(&module.text).len();
            module.text.replace_range(mark + test.span.0..mark + test.span.1, &name);
        }
        given.push(name);
    }
    given
}

/// Names that occur nowhere.
pub(super) struct Names {
    texts: Vec<String>,
    next: usize,
}

impl Names {
    pub fn new(modules: &[ModuleSource]) -> Self {
        Self { texts: modules.iter().map(|module| module.text.clone()).collect(), next: 0 }
    }

    /// A name of at least 5 bytes that is part of no module's text.
    pub fn fresh(&mut self, length: usize) -> String {
        loop {
            let number = base36(self.next);
            self.next += 1;
            let name = format!("q{number:0>width$}", width = length.saturating_sub(1));
            if !self.texts.iter().any(|text| text.contains(&name)) {
                return name;
            }
        }
    }
}

fn base36(mut number: usize) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).unwrap_or(0);
        digits.push(char::from_digit(digit, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}
