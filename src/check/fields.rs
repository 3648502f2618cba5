//! Fields that results don't have.
//!
//! Results may have undocumented fields, so a finding needs more than a name that isn't documented:
//! a near miss of a known field, the end of one (`status` for `overall_status`), or a part of the
//! service's answer that isn't in the function's result (`pagination`).

use super::infer::Types;
use super::{File, Inspected};
use crate::Diagnostic;
use crate::builtins::known_fields::known_fields;
use crate::builtins::{FUNCTIONS, Field, Origin, Type};
use crate::rego::syntax::tree::{Span, Term, TermKind};
use crate::text::{ends_in, shorten};

/// Finds names that aren't fields.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    (at, file): (usize, &'a File<'a>),
    types: &Types<'a>,
    out: &mut Vec<Diagnostic>,
) {
    let mut missing = |fields: &'static [Field], part: &Term| {
        if let TermKind::String(name) = &part.kind {
            out.extend(unknown(all, fields, name, part.span));
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

/// Returns the finding about a name that resembles a known field, or that can't be one.
fn unknown(
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
    let message = format!("`{}` isn't a known field", shorten(name, 80));
    let finding = Diagnostic::warning("unknown-field", message).at(all.position(span));
    let mut similar = known().filter(|field| resembles(name, field));
    if let Some(near) = similar.next() {
        // A field may be both documented and known.
        let is_only = similar.all(|other| other == near);
        let finding = finding.with_hint(format!("did you mean `{near}`?"));
        return Some(if is_only { finding.renamed(name, near) } else { finding });
    }
    let hint = outside(fields, name).or_else(|| {
        let mut ending = known().filter(|field| ends_in(field, name));
        let near = ending.next().filter(|_| !name.is_empty())?;
        ending.all(|other| other == near).then(|| format!("did you mean `{near}`?"))
    });
    hint.map(|hint| finding.with_hint(hint))
}

/// Returns a hint for a part of the service's answer that a function's result doesn't have.
fn outside(fields: &'static [Field], name: &str) -> Option<String> {
    let is_result = |result| matches!(result, Type::Object(own) if std::ptr::eq(own, fields));
    let function = FUNCTIONS.iter().find(|function| is_result(function.result))?;
    match function.origin {
        Origin::Key(key) if key == name => {
            Some(format!("the result isn't wrapped in `{key}`: leave `.{key}` out"))
        }
        Origin::Key(_) => None,
        Origin::Composed => {
            let all: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
            Some(format!("the result has only {}", all.join(" and ")))
        }
    }
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
