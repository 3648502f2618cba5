//! The explanation of a failed statement: its operands, their values and the way in which it
//! failed.
//!
//! Owns mapping the events of a tracer back to the text that the author wrote.

use std::collections::BTreeMap;

use super::Operand;
use crate::rego::Value;
use crate::rego::engine::TraceEvent;
use crate::rego::program::Program;
use crate::rego::syntax::tree::{Expr, ExprKind, Name, Rule, Span, Term, TermKind};
use crate::rego::syntax::visit::walk_exprs;

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

    /// Keeps the values that the variables have at an event.
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
    /// Its index in the body.
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

/// Returns the operands of a statement with their values, as far as they are known; `outside`
/// returns the values of references to documents.
pub(crate) fn operand_values(
    program: &Program,
    statement: &Expr,
    (made, bound): (&BTreeMap<Span, Name>, &LocalValues),
    outside: &dyn Fn(&Term) -> Option<Option<Value>>,
) -> Vec<Operand> {
    let mut shown: Vec<Operand> = Vec::new();
    for (term, within) in operands(statement) {
        let values = match &term.kind {
            TermKind::Var(name) => match bound.of_author(program, name) {
                // The name of a rule that begins a reference.
                None if within => continue,
                None => outside(term).map(Vec::from_iter),
                values => values,
            },
            _ => match made.get(&term.span) {
                Some(local) => bound.get(local),
                None => match bound.field(program, term).or_else(|| outside(term)) {
                    Some(field) => Some(Vec::from_iter(field)),
                    // The value isn't in any variable, so it isn't known.
                    None => continue,
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

/// Returns the operands of a statement whose values are worth showing, and whether each is part of
/// another one.
fn operands(statement: &Expr) -> Vec<(&Term, bool)> {
    let mut found = Vec::new();
    match &statement.kind {
        ExprKind::Term(term) => operand(term, &mut found),
        ExprKind::Call(terms) => {
            for term in terms.iter().skip(1) {
                operand(term, &mut found);
            }
        }
        ExprKind::Some(declared) => {
            for symbol in &declared.symbols {
                if let TermKind::Call(terms) = &symbol.kind
                    && let Some(list) = terms.last()
                {
                    operand(list, &mut found);
                }
            }
        }
        ExprKind::Every(every) => operand(&every.domain, &mut found),
        ExprKind::Not(not) => {
            for expr in &not.body {
                found.extend(operands(expr));
            }
        }
        ExprKind::And(_) | ExprKind::Or(_) => {}
    }
    found
}

/// Collects a term that has a value, followed by the variables within it.
fn operand<'a>(term: &'a Term, found: &mut Vec<(&'a Term, bool)>) {
    match &term.kind {
        TermKind::Null | TermKind::Bool(_) | TermKind::Number(_) | TermKind::String(_) => {}
        TermKind::Group(inner) => operand(inner, found),
        TermKind::Var(name) if name.starts_with('$') || matches!(&**name, "data" | "input") => {}
        TermKind::Var(_) => found.push((term, false)),
        TermKind::Call(terms) => {
            found.push((term, false));
            for term in terms.iter().skip(1) {
                operand(term, found);
            }
        }
        TermKind::Ref(parts) => {
            found.push((term, false));
            let is_local = |part: &&Term| match &part.kind {
                TermKind::Var(name) => {
                    !name.starts_with('$') && !matches!(&**name, "data" | "input")
                }
                _ => false,
            };
            found.extend(parts.iter().filter(is_local).map(|part| (part, true)));
        }
        _ => found.push((term, false)),
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
