//! Arguments that may be absent.
//!
//! Owns finding references that may be undefined because a field is optional, according to the
//! function they come from or the schema of `input`. A call with such an argument is undefined, and
//! the statement silently fails.

use super::infer::Types;
use super::model::{How, WholeList};
use super::{File, Inspected};
use crate::Diagnostic;
use crate::rego::Value;
use crate::rego::builtins::lookup;
use crate::rego::syntax::tree::{Span, Term, TermKind};
use crate::rego::types::terms;

/// The most references of a schema that are followed.
const MAX_STEPS: usize = 100;

/// Finds arguments that may be absent and aren't tested elsewhere in their rule.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    (at, file): (usize, &'a File<'a>),
    types: &Types<'a>,
    out: &mut Vec<Diagnostic>,
) {
    let infix = |name: &str| lookup(name).is_some_and(|it| it.infix.is_some());
    let calls = file.model.others.iter();
    let calls = calls.filter(|(name, ..)| !infix(name) && !name.starts_with("internal."));
    let counted = file.model.wholes.iter().filter_map(|whole| match (whole.list, whole.how) {
        (WholeList::Term(list), How::Counted(_)) => Some(list),
        _ => None,
    });
    let arguments: Vec<&Term> = calls
        .flat_map(|(_, arguments, _)| arguments.iter())
        .chain(counted)
        .filter(|argument| matches!(argument.kind, TermKind::Ref(_)))
        .collect();
    for argument in &arguments {
        let of_function = types
            .infer(at, argument)
            .filter(|shape| shape.optional && !shape.practice)
            .map(|shape| shape.field.to_owned());
        let of_input = || all.input_schema.and_then(|schema| absent(schema, argument));
        let Some(field) = of_function.or_else(of_input) else { continue };
        if is_looked_at(file, &arguments, argument) {
            continue;
        }
        out.push(
            Diagnostic::warning("optional-argument", format!("`{field}` may be absent"))
                .with_hint(
                    "the call is undefined then: give it a default with `object.get`, or ask for \
                     the field in a statement of its own",
                )
                .at(all.position(argument.span)),
        );
    }
}

/// Returns `true` if the same rule also has the reference outside an argument.
fn is_looked_at(file: &File<'_>, arguments: &[&Term], argument: &Term) -> bool {
    let within = |outer: Span, inner: Span| outer.start <= inner.start && inner.end <= outer.end;
    let Some(rule) = file.module.rules.iter().find(|rule| within(rule.span, argument.span)) else {
        return false;
    };
    file.model.references.iter().any(|other| {
        within(rule.span, other.span)
            && !arguments.iter().any(|it| std::ptr::eq(*it, *other))
            && terms::compare(other, argument).is_eq()
    })
}

/// Returns the property of a reference into `input` that the schema doesn't require. An object
/// schema that requires no property at all makes no statement about absence.
fn absent(schema: &Value, reference: &Term) -> Option<String> {
    let TermKind::Ref(parts) = &reference.kind else { return None };
    let (head, rest) = parts.split_first()?;
    if !matches!(&head.kind, TermKind::Var(name) if &**name == "input") {
        return None;
    }
    let mut node = followed(schema, schema)?;
    let mut found = None;
    for part in rest {
        node = match &part.kind {
            TermKind::String(name) => {
                if let Some(Value::Array(required)) = node.get_str("required")
                    && !required.is_empty()
                    && !required.iter().any(|it| it.as_str() == Some(name))
                {
                    found = Some(name.to_string());
                }
                followed(schema, node.get_str("properties")?.get_str(name)?)?
            }
            _ => followed(schema, node.get_str("items")?)?,
        };
    }
    found
}

/// Resolves a schema's reference within its document, if it has one.
fn followed<'s>(document: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let mut node = schema;
    for _ in 0..MAX_STEPS {
        let Some(reference) = node.get_str("$ref") else { return Some(node) };
        let path = reference.as_str()?.strip_prefix("#")?;
        node = path.split('/').skip(1).try_fold(document, |node, part| node.get_str(part))?;
    }
    None
}
