//! The cases of a table test: those with a result, and those that its body reaches but doesn't
//! complete.
//!
//! Owns the call that reports a case to the host, and its place in a test's body: as early as the
//! case's keys are known, so that a case is reported before it can fail. OPA's tester does the same
//! with a function of its own.

use std::collections::{BTreeMap, HashSet};

use super::Case;
use super::find::name_length;
use crate::load::TEST_CASE;
use crate::rego::Value;
use crate::rego::internal::deeper;
use crate::rego::syntax::tree::{Expr, ExprKind, Module, Name, Rule, Term, TermKind};
use crate::rego::syntax::visit;
use crate::rego::value::Object;

/// Adds the reporting call to every table test. The modules are those after OPA's stage
/// `RewriteLocalVars`.
pub(super) fn report_cases(modules: &mut [Module]) {
    for rule in modules.iter_mut().flat_map(|module| &mut module.rules) {
        let Some(length) = name_length(rule) else { continue };
        let keys = rule.head.reference.get(length..).unwrap_or_default().to_vec();
        if keys.is_empty() || rule.head.is_function() || rule.head.has_contains {
            continue;
        }
        for key in &keys {
            move_up(rule, key);
        }
        let variables: HashSet<Name> = keys
            .iter()
            .filter_map(|key| match &key.kind {
                TermKind::Var(name) => Some(Name::clone(name)),
                _ => None,
            })
            .collect();
        // After the first mention of each of them.
        let below = variables
            .iter()
            .filter_map(|name| rule.body.iter().position(|expr| mentions(expr).contains(name)))
            .max();
        let at = below.map_or(0, |index| index + 1);
        rule.body.insert(at.min(rule.body.len()), call(keys, rule.head.span));
    }
}

fn call(keys: Vec<Term>, span: crate::rego::syntax::tree::Span) -> Expr {
    let term = |kind| Term { kind, span };
    let mut parts = TEST_CASE.split('.');
    let head = term(TermKind::Var(parts.next().unwrap_or_default().into()));
    let rest = parts.map(|part| term(TermKind::String(part.into())));
    let operator = term(TermKind::Ref(std::iter::once(head).chain(rest).collect()));
    Expr {
        kind: ExprKind::Call(vec![operator, term(TermKind::Array(keys))]),
        negated: false,
        with: Vec::new(),
        span,
        // A generated expression has a variable for its result, which this statement doesn't have.
        generated: false,
        from_assignment: false,
    }
}

fn mentions(expr: &Expr) -> HashSet<Name> {
    let mut names = HashSet::new();
    visit::walk_terms(expr, &mut |term| {
        if let TermKind::Var(name) = &term.kind {
            names.insert(Name::clone(name));
        }
        true
    });
    names
}

/// Moves the statement that a compile stage generated for a key of the head up to where the
/// variables that it needs are bound.
fn move_up(rule: &mut Rule, key: &Term) {
    let TermKind::Var(key) = &key.kind else { return };
    let made = rule.body.iter().position(|expr| {
        expr.generated
            && matches!(&expr.kind, ExprKind::Call(terms)
                if matches!(terms.get(1).map(|t| &t.kind), Some(TermKind::Var(name)) if name == key))
    });
    let Some(from) = made else { return };
    let Some(expr) = rule.body.get(from) else { return };
    let mut needs = mentions(expr);
    needs.remove(key);
    needs.retain(|name| name.starts_with("__local"));
    let last = needs
        .iter()
        .filter_map(|name| rule.body.iter().position(|expr| mentions(expr).contains(name)))
        .max();
    let to = last.map_or(0, |index| index + 1);
    if to < from {
        let expr = rule.body.remove(from);
        rule.body.insert(to, expr);
    }
}

/// Returns `true` if a case passes: its value is `true`, or an object of such values.
pub(super) fn holds(object: Option<&Value>, keys: &[Value]) -> bool {
    let found = keys.iter().fold(object, |value, key| value?.as_object()?.get(key));
    found.is_some_and(passes)
}

fn passes(value: &Value) -> bool {
    match value {
        Value::Object(members) => deeper(|| !members.is_empty() && members.values().all(passes)),
        value => *value == Value::Bool(true),
    }
}

/// Returns a case's name: a string as it is, any other value as JSON.
pub(super) fn name(key: &Value) -> String {
    key.as_str().map_or_else(|| key.to_json(), str::to_owned)
}

/// Returns the cases of a table: those with a result, and those that were only reported. The members
/// of a result that is an object are cases of their own.
pub(super) fn cases(value: Option<&Value>, named: &[Vec<Value>]) -> Vec<Case> {
    let object = value.and_then(Value::as_object);
    let mut below: BTreeMap<Value, Vec<Vec<Value>>> = BTreeMap::new();
    for keys in named {
        if let Some((first, rest)) = keys.split_first() {
            below.entry(first.clone()).or_default().push(rest.to_vec());
        }
    }
    for key in object.into_iter().flat_map(Object::keys) {
        below.entry(key.clone()).or_default();
    }
    below
        .into_iter()
        .map(|(key, named)| {
            let value = object.and_then(|object| object.get(&key));
            let name = name(&key);
            let cases = deeper(|| cases(value, &named));
            let passed = match value {
                Some(Value::Object(_)) | None => {
                    !cases.is_empty() && cases.iter().all(|case| case.passed)
                }
                Some(value) => *value == Value::Bool(true),
            };
            Case { name, passed, cases }
        })
        .collect()
}
