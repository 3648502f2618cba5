//! Statements of tests that always hold: sets and objects, also empty ones.
//!
//! `test_x if p.deny with input as {}` passes whatever `p.deny` holds, since an empty set is true.

use std::collections::HashMap;

use super::dead::{constant_path, is_test};
use super::model::function_name;
use super::{Constants, File, Inspected, arguments, names};
use crate::Diagnostic;
use crate::rego::internal::builtins::lookup;
use crate::rego::internal::types::{Function, Type};
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
        let in_test = |at: Span| tests.iter().any(|test| within(*test, at));
        let values = file.model.statements.iter();
        let values = values.filter(|(term, negated)| !negated && in_test(term.span));
        let values = values.filter(|(term, _)| {
            let literal = arguments::literal(file, constants, term);
            match &literal.kind {
                TermKind::Ref(parts) => is_collection(parts, 0, &collections),
                kind => is_collection_literal(kind),
            }
        });
        let calls = file.model.called.iter().filter(|(_, at)| in_test(*at));
        let calls = calls.filter(|(terms, _)| {
            terms.split_first().is_some_and(|(function, arguments)| {
                gives_collection(function, arguments.len())
                    || matches!(&function.kind, TermKind::Ref(parts)
                        if is_collection(parts, arguments.len(), &collections))
            })
        });
        let always = values.map(|(term, _)| term.span).chain(calls.map(|(_, span)| *span));
        for at in always {
            let message = "this holds even if it is empty, so the test can't fail here";
            let hint = "compare it, with `count` or a set of messages";
            let finding = Diagnostic::warning("always-true", message).with_hint(hint);
            out.push(finding.at(all.position(at)));
        }
    }
}

fn within(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The paths of rules and their numbers of arguments, and whether each is a set, an array or an object by
/// all its definitions.
type Collections<'a> = HashMap<(Vec<&'a str>, usize), bool>;

fn collections<'a>(files: &[File<'a>]) -> Collections<'a> {
    let mut found = Collections::new();
    for file in files {
        let package = names::package_path(file.module);
        for rule in &file.module.rules {
            let path = package.iter().copied().chain(constant_path(rule)).collect();
            *found.entry((path, rule.head.args.len())).or_insert(true) &= makes_collection(rule);
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
    is_part
        || rule.generated_body
            && values.all(|value| value.is_some_and(|value| is_collection_literal(&value.kind)))
}

fn is_collection_literal(kind: &TermKind) -> bool {
    matches!(
        kind,
        TermKind::Comprehension(..) | TermKind::Array(_) | TermKind::Set(_) | TermKind::Object(_)
    )
}

/// Returns `true` for a built-in function whose results are sets, arrays or objects.
fn gives_collection(function: &Term, arguments: usize) -> bool {
    let builtin = function_name(function).and_then(|name| lookup(&name));
    let types = builtin
        .filter(|builtin| !builtin.relation)
        .and_then(|builtin| Function::parse(builtin.signature).ok());
    types.is_some_and(|types| {
        types.args.len() == arguments
            && matches!(types.result, Type::Set(_) | Type::Array(_) | Type::Object(_))
    })
}

/// Returns `true` for a whole rule that is a collection, or a function whose results are.
fn is_collection(parts: &[Term], arguments: usize, collections: &Collections<'_>) -> bool {
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
    **head == *"data" && path.is_some_and(|path| collections.get(&(path, arguments)) == Some(&true))
}
