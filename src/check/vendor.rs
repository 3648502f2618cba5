//! Uses of answers that the vendor's own built-in gives otherwise.
//!
//! There, the answer of `discover` is as Go writes it: a field that is empty is left out, and a time is an
//! object. Here every documented field is there, and a time is a text. A policy that runs on both engines
//! uses what is equal.

use super::infer::{InferredType, Types};
use super::model::Comparison;
use super::{File, Inspected};
use crate::Diagnostic;
use crate::functions::{Field, Type, discover};
use crate::rego::syntax::tree::{Span, Term, TermKind};

/// The product whose policies the vendor's engine evaluates as well.
const PRODUCT: &str = "chainloop";

/// A field that the vendor's engine never has, and the service sends no longer.
const GONE: &str = "public";

/// The name of the time here, and there.
const TIME: (&str, &str) = ("createdAt", "created_at");

/// Finds uses with another result in the vendor's engine.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    (at, file): (usize, &'a File<'a>),
    types: &Types<'a>,
    out: &mut Vec<Diagnostic>,
) {
    if !is_vendors(all) {
        return;
    }
    let found = |span: Span, message: String, hint: String| {
        Diagnostic::warning("vendor-answer", message).with_hint(hint).at(all.position(span))
    };
    for (_, term) in &file.model.references {
        let TermKind::Ref(parts) = &term.kind else { continue };
        let Some(last) = parts.last().filter(|last| is_text(last, TIME.0)) else { continue };
        if types.infer(at, term).is_some_and(is_answers) {
            let message = format!("`{}` is undefined in the vendor's engine", TIME.0);
            let hint = format!("there it is `{}`, an object with `seconds`", TIME.1);
            out.push(found(last.span, message, hint));
        }
    }
    for (term, negated) in &file.model.statements {
        let field = types.infer(at, term).filter(|of| is_answers(*of) && !of.optional);
        // `not` holds for a boolean that is false as for one that isn't there.
        if let Some(field) = field.filter(|of| *negated && !is_boolean(*of)) {
            out.push(found(term.span, left_out(field, "`not` holds only there"), written(field)));
        }
    }
    for Comparison { operator, left, right, span } in &file.model.comparisons {
        for (one, other) in [(left, right), (right, left)] {
            let Some(field) = types.infer(at, one).filter(|of| is_answers(*of)) else { continue };
            if !holds_for_empty(operator, other) {
                continue;
            }
            if field.field == GONE {
                let message = format!("`{GONE}` is undefined in the vendor's engine");
                out.push(found(*span, message, "the service sends it no longer".to_owned()));
            } else {
                out.push(found(*span, left_out(field, "this holds only here"), written(field)));
            }
        }
    }
}

/// Returns the hint about a field that isn't known here, and is the vendor's.
pub(super) fn unknown(all: &Inspected<'_>, fields: &[Field], name: &str) -> Option<String> {
    let is_there = is_vendors(all) && name == TIME.1 && is_one(fields);
    is_there.then(|| format!("only the vendor's engine has it; here it is `{}`, a text", TIME.0))
}

fn is_vendors(all: &Inspected<'_>) -> bool {
    all.product.as_str() == PRODUCT
}

fn is_one(fields: &[Field]) -> bool {
    [discover::RESULT, discover::REFERENCE].into_iter().any(|own| std::ptr::eq(own, fields))
}

/// Returns `true` for a field of the answer or of a reference.
fn is_answers(found: InferredType) -> bool {
    found.lists == 0 && is_one(found.of)
}

fn is_boolean(found: InferredType) -> bool {
    matches!(found.ty, Type::Boolean)
}

fn is_text(term: &Term, text: &str) -> bool {
    matches!(&term.kind, TermKind::String(own) if **own == *text)
}

/// Returns `true` if a comparison with a literal holds for an empty field and not for one that isn't there.
fn holds_for_empty(operator: &str, literal: &Term) -> bool {
    let is_equal = matches!(operator, "equal" | "eq");
    match &literal.kind {
        TermKind::Bool(value) => {
            if is_equal {
                !value
            } else {
                *value && operator == "neq"
            }
        }
        TermKind::String(text) => is_equal && text.is_empty(),
        TermKind::Array(items) => is_equal && items.is_empty(),
        _ => false,
    }
}

fn left_out(field: InferredType, result: &str) -> String {
    let value = if is_boolean(field) { "false" } else { "empty" };
    format!("the vendor's engine leaves `{}` out if it is {value}: {result}", field.field)
}

/// Returns how to write it for both.
fn written(field: InferredType) -> String {
    match field.ty {
        Type::Boolean => format!("write `not ….{}` for both", field.field),
        Type::Array(_) => {
            format!("write `count(object.get(…, \"{}\", [])) == 0` for both", field.field)
        }
        _ => format!("write `object.get(…, \"{}\", \"\") == \"\"` for both", field.field),
    }
}
