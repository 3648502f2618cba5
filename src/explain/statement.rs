//! The explanation of a failed statement: its operands, their values and the way in which it
//! failed.
//!
//! Owns mapping the events of a tracer back to the text that the author wrote.

use std::collections::BTreeMap;

use super::Operand;
use super::documents::Found;
use crate::rego::Program;
use crate::rego::Value;
use crate::rego::internal::engine::TraceEvent;
use crate::rego::syntax::tree::{Expr, ExprKind, Name, Rule, Span, Term, TermKind, With};
use crate::rego::syntax::visit::{self, walk_exprs};

/// The most distinct values that are kept for a variable.
const MAX_VALUES: usize = 4;

/// The values of variables, by the names that the compiler gave them.
#[derive(Debug, Default)]
pub(crate) struct LocalValues(BTreeMap<String, Vec<Value>>);

impl LocalValues {
    /// Forgets all values.
    fn clear(&mut self) {
        self.0.clear();
    }

    /// Records the values that the variables have at an event.
    pub fn keep(&mut self, event: &TraceEvent<'_>) {
        event.locals.each(&mut |name, value| {
            let values = self.0.entry(name.to_owned()).or_default();
            if values.len() < MAX_VALUES && !values.contains(value) {
                values.push(value.clone());
            }
        });
    }

    /// Returns the values of a variable by the compiler's name.
    pub fn get(&self, local: &str) -> Option<Vec<Value>> {
        self.0.get(local).cloned()
    }

    /// Returns the values of a variable by its author's name.
    pub fn of_author(&self, program: &Program, name: &str) -> Option<Vec<Value>> {
        let renamed = &program.compiled().rewritten;
        let found = self.0.iter().find(|(local, _)| {
            let local: Name = local.as_str().into();
            renamed.get(&local).is_some_and(|author| &**author == name)
        });
        found.map(|(_, values)| values.clone()).or_else(|| self.get(name))
    }

    /// Resolves a reference with constant keys into a variable that has a single value,
    /// `Some(None)` if it is undefined. `None` for any other term, whose value isn't known.
    fn field(&self, program: &Program, term: &Term) -> Option<Option<Value>> {
        let TermKind::Ref(parts) = &term.kind else { return None };
        let (head, rest) = parts.split_first()?;
        let TermKind::Var(name) = &head.kind else { return None };
        let values = self.of_author(program, name)?;
        let [value] = values.as_slice() else { return None };
        let mut found = Some(value);
        for part in rest {
            let TermKind::String(key) = &part.kind else { return None };
            found = found.and_then(|value| value.get_str(key));
        }
        Some(found.cloned())
    }
}

/// The last statement of a body among those that failed.
#[derive(Debug, Default)]
pub(crate) struct LastFailed {
    /// The statement's index in the body.
    pub place: Option<usize>,
    /// The values of variables when it failed.
    pub bound: LocalValues,
}

impl LastFailed {
    /// Records that the statement at index `place` failed.
    pub fn note(&mut self, place: usize, event: &TraceEvent<'_>) {
        if self.place.is_none_or(|known| known < place) {
            self.bound.clear();
            self.place = Some(place);
        }
        if self.place == Some(place) {
            self.bound.keep(event);
        }
    }
}

/// Returns the operands of a statement with their values, as far as they are known; `document`
/// returns the values of references to documents, with the replacements of the statement.
pub(crate) fn operand_values(
    program: &Program,
    statement: &Expr,
    (made, bound): (&BTreeMap<Span, Name>, &LocalValues),
    document: &dyn Fn(&[&With], &Term) -> Found,
) -> Vec<Operand> {
    let mut shown: Vec<Operand> = Vec::new();
    for Part { term, with, within } in operands(statement) {
        let values = match &term.kind {
            TermKind::Var(name) => match bound.of_author(program, name) {
                // The name of a rule that begins a reference.
                None if within => continue,
                None => match document(&with, term) {
                    Found::Document(value) => Some(Vec::from_iter(value)),
                    Found::Local => None,
                    Found::Unknown => continue,
                },
                values => values,
            },
            _ => match made.get(&term.span) {
                Some(local) => bound.get(local),
                None => match bound.field(program, term) {
                    Some(field) => Some(Vec::from_iter(field)),
                    None => match document(&with, term) {
                        Found::Document(value) => Some(Vec::from_iter(value)),
                        // The value isn't in any variable, so it isn't known.
                        Found::Local | Found::Unknown => continue,
                    },
                },
            },
        };
        let text = program.sources().text(term.span).to_owned();
        if !text.is_empty() && !shown.iter().any(|operand| operand.text == text) {
            shown.push(Operand { text, values: values.unwrap_or_default() });
        }
    }
    shown
}

/// Describes the way in which a statement failed.
pub(crate) fn verdict(statement: &Expr, undefined: bool) -> &'static str {
    let operator = |name: &str| match &statement.kind {
        ExprKind::Call(terms) => terms.first().is_some_and(|t| is(t, name)),
        _ => false,
    };
    match &statement.kind {
        ExprKind::Every(_) => "doesn't hold for each",
        ExprKind::Not(_) => "is false",
        _ if statement.negated => "is false",
        ExprKind::Some(_) => "finds nothing",
        _ if undefined => "is undefined",
        _ if operator("assign") || operator("eq") => "has no match",
        _ => "is false",
    }
}

pub(super) fn is(term: &Term, name: &str) -> bool {
    match &term.kind {
        TermKind::Var(var) => &**var == name,
        TermKind::Ref(parts) => matches!(parts.as_slice(), [only] if is(only, name)),
        _ => false,
    }
}

/// A term of a statement whose value is worth showing.
struct Part<'a> {
    term: &'a Term,
    /// The replacements under which it is evaluated.
    with: Vec<&'a With>,
    /// `true` if it is part of another one.
    within: bool,
}

/// The maximum number of operands that are shown: a chain of operators has as many as it is long.
const MAX_OPERANDS: usize = 100;

/// Returns the operands of a statement whose values are worth showing.
fn operands(statement: &Expr) -> Vec<Part<'_>> {
    let mut found = Operands { found: Vec::new(), with: Vec::new() };
    found.statement(statement);
    found.found
}

struct Operands<'a> {
    found: Vec<Part<'a>>,
    with: Vec<&'a With>,
}

impl<'a> Operands<'a> {
    fn statement(&mut self, statement: &'a Expr) {
        let before = self.with.len();
        self.with.extend(&statement.with);
        match &statement.kind {
            ExprKind::Term(term) => self.operand(term),
            ExprKind::Call(terms) => terms.iter().skip(1).for_each(|term| self.operand(term)),
            ExprKind::Some(declared) => {
                for symbol in &declared.symbols {
                    if let TermKind::Call(terms) = &symbol.kind
                        && let Some(list) = terms.last()
                    {
                        self.operand(list);
                    }
                }
            }
            ExprKind::Every(every) => self.operand(&every.domain),
            ExprKind::Not(not) => not.body.iter().for_each(|expr| self.statement(expr)),
            ExprKind::And(_) | ExprKind::Or(_) => {}
        }
        self.with.truncate(before);
    }

    /// Collects a term that has a value, followed by the variables within it.
    fn operand(&mut self, term: &'a Term) {
        if self.found.len() >= MAX_OPERANDS {
            return;
        }
        match &term.kind {
            TermKind::Null | TermKind::Bool(_) | TermKind::Number(_) | TermKind::String(_) => {}
            TermKind::Group(inner) => self.operand(inner),
            TermKind::Var(name) if name.starts_with('$') || matches!(&**name, "data" | "input") => {
            }
            TermKind::Call(terms) => {
                if terms.len() > 1 {
                    self.push(term, false);
                }
                terms.iter().skip(1).for_each(|term| self.operand(term));
            }
            TermKind::Ref(parts) => {
                self.push(term, false);
                for part in parts.iter().filter(|part| is_local(part)) {
                    self.push(part, true);
                }
            }
            // A constant adds nothing.
            _ if visit::vars(term).is_empty() => {}
            _ => self.push(term, false),
        }
    }

    fn push(&mut self, term: &'a Term, within: bool) {
        self.found.push(Part { term, with: self.with.clone(), within });
    }
}

/// Returns `true` for a variable of the author's that isn't the root of a document.
fn is_local(term: &Term) -> bool {
    match &term.kind {
        TermKind::Var(name) => !name.starts_with('$') && !matches!(&**name, "data" | "input"),
        _ => false,
    }
}

/// Returns the variables that compile stages introduced for the terms of a rule, by the terms'
/// spans.
pub(crate) fn generated_locals(program: &Program, rule: &Rule) -> BTreeMap<Span, Name> {
    let mut made = BTreeMap::new();
    let modules = &program.compiled().modules;
    let own = modules.iter().filter(|module| module.span.file == rule.span.file);
    let Some(compiled) = own.flat_map(|m| &m.rules).find(|other| other.span == rule.span) else {
        return made;
    };
    walk_exprs(compiled, &mut |expr| {
        if let ExprKind::Call(terms) = &expr.kind {
            match terms.as_slice() {
                [operator, left, right] if is(operator, "eq") && expr.generated => {
                    for (one, other) in [(left, right), (right, left)] {
                        if let (TermKind::Var(name), false) =
                            (&one.kind, matches!(other.kind, TermKind::Var(_)))
                        {
                            made.entry(other.span).or_insert_with(|| Name::clone(name));
                        }
                    }
                }
                [_, .., Term { kind: TermKind::Var(name), .. }] if expr.generated => {
                    made.entry(expr.span).or_insert_with(|| Name::clone(name));
                }
                _ => {}
            }
        }
        true
    });
    made
}
