//! Completions at a position of a policy that is being written: fields of responses, filters, and known values
//! of fields.
//!
//! The place has a name that nothing else has, so that the text can be parsed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::infer::Types;
use crate::functions::known_fields::{self, known_field, known_fields};
use crate::functions::{Field, Type};
use crate::load::{self, Findings, Inspected, LoadOptions};
use crate::rego::syntax::tree::{Term, TermKind};
use crate::sources::Sources;

/// A field, or a value.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Choice {
    pub name: &'static str,
    /// The meaning of a field; empty where nothing is documented.
    pub doc: &'static str,
}

/// Returns what may stand where `place` is the name or the text.
#[doc(hidden)]
pub fn choices(sources: &Sources, options: &LoadOptions, place: &str) -> Vec<Choice> {
    let found = RefCell::new(BTreeMap::new());
    let inspect = |all: &Inspected<'_>| {
        look(all, place, &mut found.borrow_mut());
        Findings::default()
    };
    load::compile(sources, options, &inspect, None);
    found.into_inner().into_iter().map(|(name, doc)| Choice { name, doc }).collect()
}

/// The names, each with its documentation.
type Found = BTreeMap<&'static str, &'static str>;

fn is_place(term: &Term, place: &str) -> bool {
    matches!(&term.kind, TermKind::String(text) if **text == *place)
}

fn look(all: &Inspected<'_>, place: &str, found: &mut Found) {
    let files = all.files();
    let types = Types::new(all, &files);
    for (at, file) in files.iter().enumerate() {
        types.each_missing(at, file, &mut |fields, part| {
            if is_place(part, place) {
                found.extend(known_fields(fields).iter().map(|known| (known.name, "")));
                add_fields(fields, found);
            }
        });
        for comparison in &file.model.comparisons {
            let sides = [(comparison.left, comparison.right), (comparison.right, comparison.left)];
            for (one, _) in sides.into_iter().filter(|(_, other)| is_place(other, place)) {
                add_values(types.infer(at, one).map_or(&[], |of| of.values), found);
            }
        }
        for call in &file.model.calls {
            for (argument, term) in call.function.arguments.iter().zip(call.arguments) {
                if is_place(term, place) {
                    add_values(known_fields::argument(call.function.name, argument.name), found);
                }
                if let (Type::Object(fields), TermKind::Object(members)) = (argument.ty, &term.kind)
                {
                    filters(fields, members, place, found);
                }
            }
        }
    }
}

/// Looks at an object of filters.
fn filters(fields: &'static [Field], members: &[(Term, Term)], place: &str, found: &mut Found) {
    for (key, value) in members {
        if is_place(key, place) {
            add_fields(fields, found);
        }
        let values = match &value.kind {
            TermKind::Array(items) | TermKind::Set(items) => items.as_slice(),
            _ => std::slice::from_ref(value),
        };
        if let TermKind::String(name) = &key.kind
            && values.iter().any(|value| is_place(value, place))
        {
            let known = known_field(fields, name);
            add_values(known.map_or(&[], |known| known.values), found);
        }
    }
}

/// Adds an object's documented fields.
fn add_fields(fields: &'static [Field], found: &mut Found) {
    found.extend(fields.iter().map(|field| (field.name, field.doc)));
}

fn add_values(values: &'static [&'static str], found: &mut Found) {
    found.extend(values.iter().map(|name| (*name, "")));
}
