//! Misspelt fields of results.
//!
//! Results may have undocumented fields, so only a near miss of a known field is a finding.

use super::infer::Types;
use super::{File, Inspected};
use crate::Diagnostic;
use crate::builtins::Field;
use crate::builtins::known_fields::known_fields;
use crate::rego::syntax::tree::{Span, Term, TermKind};

/// Finds near misses of known fields.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    (at, file): (usize, &'a File<'a>),
    types: &Types<'a>,
    out: &mut Vec<Diagnostic>,
) {
    let mut missing = |fields: &'static [Field], part: &Term| {
        if let TermKind::String(name) = &part.kind {
            out.extend(near_miss(all, fields, name, part.span));
        }
    };
    for term in &file.model.references {
        types.missing(at, term, &mut missing);
    }
    for (name, arguments, _) in &file.model.others {
        if let ("object.get", [object, key, _]) = (name.as_str(), *arguments) {
            types.missing_keys(at, (object, key), &mut missing);
        }
    }
}

/// Returns the finding about a name that resembles a known field.
fn near_miss(
    all: &Inspected<'_>,
    fields: &'static [Field],
    name: &str,
    span: Span,
) -> Option<Diagnostic> {
    let known = || {
        let documented = fields.iter().map(|field| field.name);
        documented.chain(known_fields(fields).iter().map(|known| known.name))
    };
    if known().any(|known| known == name) {
        return None;
    }
    let near = known().find(|field| resembles(name, field))?;
    Some(
        Diagnostic::warning("unknown-field", format!("`{name}` isn't a known field"))
            .with_hint(format!("did you mean `{near}`?"))
            .renamed(name, near)
            .at(all.position(span)),
    )
}

/// Returns `true` if a name is so close to a field's that it must be meant: other capitals or
/// underscores, or a typo (two in a long name).
fn resembles(name: &str, field: &str) -> bool {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    let (name, field) = (plain(name), plain(field));
    let slips = match field.len() {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    };
    name == field || name.len() < 200 && strsim::damerau_levenshtein(&name, &field) <= slips
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_resemble_a_field_and_other_words_do_not() {
        for (name, field) in
            [("refernces", "references"), ("created_at", "createdAt"), ("knid", "kind")]
        {
            assert!(resembles(name, field), "{name}");
        }
        for (name, field) in [("id", "kind"), ("name", "kind"), ("metadata", "createdAt")] {
            assert!(!resembles(name, field), "{name}");
        }
    }
}
