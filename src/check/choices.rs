//! What may stand in a place of a policy that is being written: fields of answers, filters, and the values
//! that a field is known to have.
//!
//! The place has a name that nothing else has, so that the text can be parsed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::infer::Types;
use crate::functions::known_fields::{self, known_fields};
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
        look(all, &|term| is_place(term, place), &mut found.borrow_mut());
        Findings::default()
    };
    load::compile(sources, options, &inspect, None);
    found.into_inner().into_values().collect()
}

type Found = BTreeMap<&'static str, Choice>;

fn is_place(term: &Term, place: &str) -> bool {
    matches!(&term.kind, TermKind::String(text) if **text == *place)
}

fn look(all: &Inspected<'_>, is_place: &dyn Fn(&Term) -> bool, found: &mut Found) {
    let files = all.files();
    let types = Types::new(all, &files);
    for (at, file) in files.iter().enumerate() {
        let mut missing = |fields: &'static [Field], part: &Term| {
            if is_place(part) {
                add_fields(fields, true, found);
            }
        };
        for (_, term) in &file.model.references {
            types.missing(at, term, &mut missing);
        }
        for (name, arguments, _) in &file.model.others {
            if let ("object.get", [object, key, _]) = (name.as_str(), *arguments) {
                types.missing_keys(at, (object, key), &mut missing);
            }
        }
        for comparison in &file.model.comparisons {
            let sides = [(comparison.left, comparison.right), (comparison.right, comparison.left)];
            for (one, _) in sides.into_iter().filter(|(_, other)| is_place(other)) {
                add_values(types.infer(at, one).map_or(&[], |of| of.values), found);
            }
        }
        for call in &file.model.calls {
            for (argument, term) in call.function.arguments.iter().zip(call.arguments) {
                if is_place(term) {
                    add_values(known_fields::argument(call.function.name, argument.name), found);
                }
                if let (Type::Object(fields), TermKind::Object(members)) = (argument.ty, &term.kind)
                {
                    filters(fields, members, is_place, found);
                }
            }
        }
    }
}

/// Looks at an object of filters.
fn filters(
    fields: &'static [Field],
    members: &[(Term, Term)],
    is_place: &dyn Fn(&Term) -> bool,
    found: &mut Found,
) {
    for (key, value) in members {
        if is_place(key) {
            add_fields(fields, false, found);
        }
        let values = match &value.kind {
            TermKind::Array(items) | TermKind::Set(items) => items.as_slice(),
            _ => std::slice::from_ref(value),
        };
        if let TermKind::String(name) = &key.kind
            && values.iter().any(is_place)
        {
            let known = known_fields(fields).iter().find(|known| known.name == &**name);
            add_values(known.map_or(&[], |known| known.values), found);
        }
    }
}

/// Adds an object's documented fields, and those that are known beside them.
fn add_fields(fields: &'static [Field], with_known: bool, found: &mut Found) {
    for known in known_fields(fields).iter().filter(|_| with_known) {
        found.insert(known.name, Choice { name: known.name, doc: "" });
    }
    for field in fields {
        found.insert(field.name, Choice { name: field.name, doc: field.doc });
    }
}

fn add_values(values: &'static [&'static str], found: &mut Found) {
    found.extend(values.iter().map(|name| (*name, Choice { name, doc: "" })));
}
