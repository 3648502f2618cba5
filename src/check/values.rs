//! Comparisons with values that a field isn't known to have.
//!
//! Owns the findings about a text that isn't one of a field's known values (`"CONTAINER_IMGE"`), a
//! value of another type than the field's (`!= 3`, which always holds), and a statement that is a
//! string such as `"false"`, which always holds. The service's enumerations are open: a policy that
//! looks for a newer value silences the finding.

use std::cell::RefCell;
use std::collections::HashSet;

use super::infer::{InferredType, Types};
use super::model::Comparison;
use super::{Constants, File, Inspected, arguments};
use crate::Diagnostic;
use crate::functions::known_fields::{self, BOOLEANS};
use crate::functions::{Field, Type};
use crate::rego::syntax::tree::{Span, Term, TermKind};
use crate::text::nearest;

/// The most values of a list that are looked at.
const MAX_PARTS: usize = 100;

/// Finds comparisons and arguments that can't be meant as written.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    (at, file): (usize, &'a File<'a>),
    types: &Types<'a>,
    constants: &Constants<'a>,
    out: &mut Vec<Diagnostic>,
) {
    let checker = Checker { all, at, file, types, constants, seen: RefCell::default() };
    for comparison in &file.model.comparisons {
        checker.comparison(comparison, out);
    }
    for (name, arguments, span) in &file.model.others {
        match (name.as_str(), *arguments) {
            ("internal.member_2", [value, list]) | ("internal.member_3", [_, value, list]) => {
                checker.membership(value, list, *span, out);
            }
            _ => {}
        }
    }
    for (term, negated) in &file.model.statements {
        checker.statement(term, *negated, out);
    }
    for call in &file.model.calls {
        for (argument, term) in call.function.arguments.iter().zip(call.arguments) {
            let known = known_fields::argument(call.function.name, argument.name);
            checker.unknown(argument.name, known, term, out);
            if let Type::Object(fields) = argument.ty {
                checker.filters(fields, term, out);
            }
        }
    }
}

struct Checker<'l, 'a> {
    all: &'l Inspected<'l>,
    at: usize,
    file: &'a File<'a>,
    types: &'l Types<'a>,
    constants: &'l Constants<'a>,
    /// The literals that were looked at, by the name of the field: many calls may share one.
    seen: RefCell<HashSet<(Span, String)>>,
}

impl<'a> Checker<'_, 'a> {
    fn literal(&self, term: &'a Term) -> &'a Term {
        arguments::literal(self.file, self.constants, term)
    }

    fn found(&self, span: Span, message: String, hint: impl Into<String>) -> Diagnostic {
        let finding = Diagnostic::warning("unknown-value", message);
        finding.with_hint(hint).at(self.all.position(span))
    }

    fn comparison(&self, comparison: &Comparison<'a>, out: &mut Vec<Diagnostic>) {
        let Comparison { operator, left, right, span } = *comparison;
        let shape = |term| self.types.infer(self.at, term);
        for (one, other) in [(left, right), (right, left)] {
            if let Some(inferred) = shape(one) {
                self.unknown(inferred.field, inferred.values, other, out);
            }
        }
        let (Some(one), Some(other)) = (shape(left), shape(right)) else { return };
        let (Some(a), Some(b)) = (one.type_name(), other.type_name()) else { return };
        if a == b {
            return;
        }
        let is_practice = one.practice || other.practice;
        let message = match operator {
            // For a documented field, the type checker reports it.
            "equal" | "eq" if !is_practice => return,
            "equal" | "eq" => format!("{a} never equals {b}"),
            "neq" => format!("{a} is always unequal to {b}"),
            _ => format!("{a} and {b} are ordered by their types, whatever they are"),
        };
        let field = if one.field.is_empty() { other } else { one };
        out.push(self.found(span, message, sends(field)));
    }

    /// Reports a list without any possible value of a field.
    fn membership(&self, value: &'a Term, list: &'a Term, span: Span, out: &mut Vec<Diagnostic>) {
        if let Some(of) = self.types.infer(self.at, list).and_then(InferredType::element) {
            self.unknown(of.field, of.values, value, out);
        }
        let Some(of) = self.types.infer(self.at, value) else { return };
        let (TermKind::Array(items) | TermKind::Set(items)) = &self.literal(list).kind else {
            return;
        };
        self.unknown(of.field, of.values, list, out);
        let other = |item: &'a Term| {
            let type_name = self.types.infer(self.at, item).and_then(InferredType::type_name);
            matches!((of.type_name(), type_name), (Some(of), Some(item)) if of != item)
        };
        if of.practice && !items.is_empty() && items.len() < MAX_PARTS && items.iter().all(other) {
            let type_name = of.type_name().unwrap_or_default();
            out.push(self.found(span, format!("{type_name} is never one of these"), sends(of)));
        }
    }

    /// Reports a statement that is a string `"true"` or `"false"`, and always holds.
    fn statement(&self, term: &'a Term, negated: bool, out: &mut Vec<Diagnostic>) {
        let Some(shape) = self.types.infer(self.at, term) else { return };
        if !std::ptr::eq(shape.values, BOOLEANS) || shape.lists > 0 {
            return;
        }
        let message = if negated {
            format!("`not {}` is false for `\"false\"` too, since that is a string", shape.field)
        } else {
            format!("`{}` holds for `\"false\"` too, since that is a string", shape.field)
        };
        out.push(self.found(term.span, message, "compare it: `== \"true\"`"));
    }

    fn filters(&self, fields: &'static [Field], term: &'a Term, out: &mut Vec<Diagnostic>) {
        let TermKind::Object(members) = &self.literal(term).kind else { return };
        for (key, value) in members.iter().take(MAX_PARTS) {
            let TermKind::String(key) = &key.kind else { continue };
            if let Some(known) = known_fields::known_field(fields, key) {
                self.unknown(known.name, known.values, value, out);
            }
        }
    }

    /// Reports texts that aren't known values, alone or in a list.
    fn unknown(
        &self,
        field: &str,
        known: &[&'static str],
        term: &'a Term,
        out: &mut Vec<Diagnostic>,
    ) {
        if known.is_empty() {
            return;
        }
        let literal = self.literal(term);
        if !self.seen.borrow_mut().insert((literal.span, field.to_owned())) {
            return;
        }
        let items = match &literal.kind {
            TermKind::Array(items) | TermKind::Set(items) => items.as_slice(),
            _ => std::slice::from_ref(literal),
        };
        for item in items.iter().take(MAX_PARTS) {
            let item = self.literal(item);
            let TermKind::String(text) = &item.kind else { continue };
            // An empty text stands for no value at all.
            if text.is_empty() || known.contains(&&**text) {
                continue;
            }
            // A literal in another file is reported where it is used.
            let place = if item.span.file == self.file.id() { item } else { term };
            let message = format!("`{}` isn't a known `{field}`", crate::text::escape(text));
            let hint = match nearest(text, known.iter().copied()) {
                Some(near) => format!("did you mean `\"{near}\"`?"),
                None => one_of(known),
            };
            out.push(self.found(place.span, message, hint));
        }
    }
}

/// Returns a hint with known values.
fn one_of(known: &[&str]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> =
        known.iter().take(SHOWN).map(|value| format!("`\"{value}\"`")).collect();
    let more = if known.len() > SHOWN { ", …" } else { "" };
    format!("expected one of {}{more}", shown.join(", "))
}

/// Returns a hint with the type and values of a field.
fn sends(field: InferredType) -> String {
    let Some(type_name) = field.type_name().filter(|_| !field.field.is_empty()) else {
        return "compare values of one type".to_owned();
    };
    match field.values {
        [one, other] => format!("`{}` is {type_name}: `\"{one}\"` or `\"{other}\"`", field.field),
        _ => format!("`{}` is {type_name}", field.field),
    }
}
