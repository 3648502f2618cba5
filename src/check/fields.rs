//! Fields that the functions' results don't have.
//!
//! A field is known if it is documented, or listed as the service's practice. An answer may have more:
//! a policy that reads one of those silences the finding.

use std::collections::BTreeSet;

use super::infer::Types;
use super::{File, Inspected, vendor};
use crate::Diagnostic;
use crate::functions::known_fields::known_fields;
use crate::functions::{FUNCTIONS, Field, Origin, Type};
use crate::rego::syntax::tree::{Span, Term, TermKind};
use crate::text::{nearest, shorten};

/// The most fields that a hint lists.
const MAX_FIELDS: usize = 12;

/// Finds names that aren't fields.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    (at, file): (usize, &'a File<'a>),
    types: &Types<'a>,
    out: &mut Vec<Diagnostic>,
) {
    let mut missing = |fields: &'static [Field], part: &Term| {
        if let TermKind::String(name) = &part.kind {
            out.push(unknown(all, fields, name, part.span));
        }
    };
    types.each_missing(at, file, &mut missing);
}

/// Returns the finding about a name that isn't a known field.
fn unknown(all: &Inspected<'_>, fields: &'static [Field], name: &str, span: Span) -> Diagnostic {
    let known: BTreeSet<&str> = fields
        .iter()
        .map(|field| field.name)
        .chain(known_fields(fields).iter().map(|known| known.name))
        .collect();
    let message = format!("`{}` isn't a known field", shorten(name, 80));
    let finding = Diagnostic::warning("unknown-field", message).at(all.position(span));
    if let Some(hint) = vendor::unknown(all, fields, name) {
        return finding.with_hint(hint);
    }
    if let Some(near) = nearest(name, known.iter().copied()) {
        return finding.with_hint(format!("did you mean `{near}`?")).renamed(name, near);
    }
    let is_result = |result| matches!(result, Type::Object(own) if std::ptr::eq(own, fields));
    if let Some(function) = FUNCTIONS.iter().find(|function| is_result(function.result))
        && matches!(function.origin, Origin::Key(key) if key == name)
    {
        let hint = format!("the result isn't wrapped in `{name}`: leave `.{name}` out");
        return finding.with_hint(hint);
    }
    let shown: Vec<String> =
        known.iter().take(MAX_FIELDS).map(|name| format!("`{name}`")).collect();
    let more = if known.len() > MAX_FIELDS { ", …" } else { "" };
    finding.with_hint(format!("expected one of {}{more}", shown.join(", ")))
}
