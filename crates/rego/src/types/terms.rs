//! Queries on terms that types, annotations and the index share: constants, references, order.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

pub use crate::syntax::compare::terms as compare;
pub use crate::syntax::tree::is_root;
use crate::syntax::tree::{Name, Term, TermKind};
use crate::syntax::visit::{Visit, walk_term};
use crate::value::{Object, Set, Value};

/// The parts of a reference. The bare documents `input` and `data` are references of one part, as
/// in OPA.
pub fn reference(term: &Term) -> Option<&[Term]> {
    match &term.kind {
        TermKind::Ref(parts) => Some(parts),
        TermKind::Var(name) if is_root(name) => Some(std::slice::from_ref(term)),
        _ => None,
    }
}

/// The name of a variable, unless it's `input` or `data`.
pub fn variable(term: &Term) -> Option<&Name> {
    match &term.kind {
        TermKind::Var(name) if !is_root(name) => Some(name),
        _ => None,
    }
}

/// The names of all variables in a term, including those in closures, without duplicates.
pub fn variables(term: &Term) -> Rc<[Name]> {
    struct Variables(BTreeSet<Name>);
    impl Visit for Variables {
        fn term(&mut self, term: &Term) {
            self.0.extend(variable(term).cloned());
            walk_term(self, term);
        }
    }
    let mut found = Variables(BTreeSet::new());
    found.term(term);
    found.0.into_iter().collect()
}

/// Returns `true` if a term contains no variable, heads of references aside.
pub fn is_ground(term: &Term) -> bool {
    match &term.kind {
        TermKind::Null | TermKind::Bool(_) | TermKind::Number(_) | TermKind::String(_) => true,
        TermKind::Var(name) => is_root(name),
        TermKind::Ref(parts) => parts.iter().skip(1).all(is_ground),
        TermKind::Array(items) | TermKind::Set(items) | TermKind::Call(items) => {
            items.iter().all(is_ground)
        }
        TermKind::Object(members) => {
            members.iter().all(|(key, value)| is_ground(key) && is_ground(value))
        }
        TermKind::Group(inner) => is_ground(inner),
        TermKind::Template(_) | TermKind::Comprehension(..) => false,
    }
}

/// The value of a term that contains no variable, reference, call or comprehension.
pub fn constant(term: &Term) -> Option<Value> {
    Some(match &term.kind {
        TermKind::Null => Value::Null,
        TermKind::Bool(boolean) => Value::Bool(*boolean),
        TermKind::Number(number) => Value::Number(number.clone()),
        TermKind::String(text) => Value::from(Arc::clone(text)),
        TermKind::Array(items) => items.iter().map(constant).collect::<Option<Vec<_>>>()?.into(),
        TermKind::Set(items) => items.iter().map(constant).collect::<Option<Set>>()?.into(),
        TermKind::Object(members) => members
            .iter()
            .map(|(key, value)| Some((constant(key)?, constant(value)?)))
            .collect::<Option<Object>>()?
            .into(),
        TermKind::Group(inner) => constant(inner)?,
        _ => return None,
    })
}

/// The value of a constant as JSON has it: sets are arrays, keys are strings. OPA compares the keys
/// of object types in this form.
pub fn native(term: &Term) -> Option<Value> {
    constant(term).map(|value| to_native(&value))
}

fn to_native(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(to_native).collect::<Vec<_>>().into(),
        Value::Set(items) => items.iter().map(to_native).collect::<Vec<_>>().into(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| {
                let key = match to_native(key) {
                    Value::String(text) => Value::String(text),
                    other => Value::from(other.to_json()),
                };
                (key, to_native(value))
            })
            .collect::<Object>()
            .into(),
        scalar => scalar.clone(),
    }
}

/// The elements of a set in OPA's order, without duplicates.
pub fn elements(items: &[Term]) -> Vec<&Term> {
    let mut sorted: Vec<&Term> = items.iter().collect();
    sorted.sort_by(|a, b| compare(a, b));
    sorted.dedup_by(|a, b| compare(a, b).is_eq());
    sorted
}

/// Visits a term's parts; elements of sets and members of objects in OPA's order, without duplicates.
pub fn walk_in_order<V: Visit>(v: &mut V, term: &Term) {
    match &term.kind {
        TermKind::Set(items) => elements(items).into_iter().for_each(|element| v.term(element)),
        TermKind::Object(pairs) => {
            for (key, value) in members(pairs) {
                v.term(key);
                v.term(value);
            }
        }
        _ => walk_term(v, term),
    }
}

/// The members of an object in the order of their keys; the last wins of those with equal keys.
pub fn members(pairs: &[(Term, Term)]) -> Vec<(&Term, &Term)> {
    let mut sorted: Vec<(&Term, &Term)> = pairs.iter().map(|(key, value)| (key, value)).collect();
    sorted.sort_by(|a, b| compare(a.0, b.0));
    sorted.dedup_by(|later, kept| {
        let same = compare(later.0, kept.0).is_eq();
        if same {
            kept.1 = later.1;
        }
        same
    });
    sorted
}
