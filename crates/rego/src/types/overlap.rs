//! Decides if two types can have a value in common.

use super::ty::{Array, Object, Type};

/// Returns `true` if a value can be of both types.
pub(super) fn unifies(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Unknown, _) | (_, Type::Unknown) => false,
        (Type::Any(x), Type::Any(y)) => any_unifies(x, b) || any_unifies(y, a),
        (Type::Any(of), other) | (other, Type::Any(of)) => any_unifies(of, other),
        (Type::Null, Type::Null)
        | (Type::Boolean, Type::Boolean)
        | (Type::Number, Type::Number)
        | (Type::String, Type::String) => true,
        (Type::Array(a), Type::Array(b)) => {
            fixed_elements_unify(a, b)
                && fixed_elements_unify(b, a)
                && (a.rest().is_unknown() || b.rest().is_unknown() || unifies(a.rest(), b.rest()))
        }
        (Type::Object(a), Type::Object(b)) => {
            fixed_members_unify(a, b) && fixed_members_unify(b, a) && rests_unify(a, b)
        }
        // `set()` is a set of any type.
        (Type::Set(a), Type::Set(b)) => a.is_unknown() || b.is_unknown() || unifies(a, b),
        (Type::Function(a), Type::Function(b)) => {
            a.args.len() == b.args.len() && a.args.iter().zip(&b.args).all(|(a, b)| unifies(a, b))
        }
        _ => false,
    }
}

fn any_unifies(of: &[Type], other: &Type) -> bool {
    !matches!(other, Type::Function(_))
        && (of.is_empty() || of.iter().any(|option| unifies(option, other)))
}

fn fixed_elements_unify(a: &Array, b: &Array) -> bool {
    // Most elements of a long literal have the type of the one before.
    let uniform = b.fixed().is_empty();
    let mut before = None;
    a.fixed().iter().enumerate().all(|(at, element)| {
        let repeated =
            uniform && before.replace(element).is_some_and(|before| same_scalar(before, element));
        repeated || unifies(element, &b.select(at))
    })
}

fn same_scalar(a: &Type, b: &Type) -> bool {
    matches!(
        (a, b),
        (Type::Null, Type::Null)
            | (Type::Boolean, Type::Boolean)
            | (Type::Number, Type::Number)
            | (Type::String, Type::String)
    )
}

fn fixed_members_unify(a: &Object, b: &Object) -> bool {
    // As in OPA, only the type of the other members' values decides whether there may be any.
    let open = |object: &Object| object.rest().is_some_and(|rest| !rest.value.is_unknown());
    a.fixed().iter().all(|property| match b.select(&property.key) {
        Type::Unknown => open(a) || open(b),
        tpe => unifies(&property.value, &tpe),
    })
}

fn rests_unify(a: &Object, b: &Object) -> bool {
    match (a.rest(), b.rest()) {
        (Some(a), Some(b)) if !a.value.is_unknown() && !b.value.is_unknown() => {
            unifies(&a.value, &b.value)
        }
        _ => true,
    }
}
