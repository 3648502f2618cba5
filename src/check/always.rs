//! Statements of tests that always hold: sets and objects, also empty ones.
//!
//! `test_x if p.deny with input as {}` passes whatever `p.deny` holds, since an empty set is true.

use std::collections::HashMap;

use super::dead::{constant_path, is_test};
use super::{Constants, File, Inspected, arguments, names};
use crate::Diagnostic;
use crate::rego::syntax::tree::{Rule, Span, Term, TermKind};

/// Finds statements of tests that are a set or an object, which may be empty.
pub(super) fn check(
    all: &Inspected<'_>,
    files: &[File<'_>],
    constants: &Constants<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let collections = collections(files);
    for file in files {
        let tests: Vec<_> = file
            .module
            .rules
            .iter()
            .filter(|rule| constant_path(rule).any(is_test))
            .map(|rule| rule.span)
            .collect();
        for (term, _) in file.model.statements.iter().filter(|(_, negated)| !negated) {
            if !tests.iter().any(|test| within(*test, term.span)) {
                continue;
            }
            let literal = arguments::literal(file, constants, term);
            let always = match &literal.kind {
                TermKind::SetComprehension(_)
                | TermKind::ArrayComprehension(_)
                | TermKind::ObjectComprehension(_) => true,
                TermKind::Ref(parts) => is_collection(parts, &collections),
                _ => false,
            };
            if always {
                let message = "this holds even if it is empty, so the test can't fail here";
                let hint = "compare it, with `count` or a set of messages";
                let finding = Diagnostic::warning("always-true", message).with_hint(hint);
                out.push(finding.at(all.position(term.span)));
            }
        }
    }
}

fn within(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Returns the paths of rules, and whether each is a set, an array or an object by all its
/// definitions.
fn collections<'a>(files: &[File<'a>]) -> HashMap<Vec<&'a str>, bool> {
    let mut found: HashMap<Vec<&str>, bool> = HashMap::new();
    for file in files {
        let package = names::package_path(file.module);
        for rule in &file.module.rules {
            let path = package.iter().copied().chain(constant_path(rule)).collect();
            *found.entry(path).or_insert(true) &= makes_collection(rule);
        }
    }
    found
}

fn makes_collection(rule: &Rule) -> bool {
    let head = &rule.head;
    let is_part = head.has_contains
        || head.key.is_some()
        || constant_path(rule).count() < head.reference.len();
    let values = std::iter::successors(Some(rule), |rule| rule.else_rule.as_deref());
    let mut values = values.map(|rule| rule.head.value.as_ref());
    !head.is_function()
        && (is_part
            || values.all(|value| {
                matches!(
                    value.map(|value| &value.kind),
                    Some(
                        TermKind::SetComprehension(_)
                            | TermKind::ArrayComprehension(_)
                            | TermKind::ObjectComprehension(_)
                            | TermKind::Array(_)
                            | TermKind::Set(_)
                            | TermKind::Object(_)
                    )
                )
            }) && rule.generated_body)
}

/// Returns `true` for a reference to a whole rule that is a collection.
fn is_collection(parts: &[Term], collections: &HashMap<Vec<&str>, bool>) -> bool {
    let Some((Term { kind: TermKind::Var(head), .. }, operands)) = parts.split_first() else {
        return false;
    };
    let path: Option<Vec<&str>> = operands
        .iter()
        .map(|part| match &part.kind {
            TermKind::String(key) => Some(&**key),
            _ => None,
        })
        .collect();
    **head == *"data" && path.is_some_and(|path| collections.get(&path) == Some(&true))
}
