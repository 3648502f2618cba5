//! Arrays, sets and objects.

use regorus::Value;
use regorus::value::Array;

use super::arguments::{any, array, type_name};
use super::{Fault, Outcome, Scope, differs, operand, size};

/// `array.concat(a, b)`: what it makes is charged.
pub(super) fn concat(scope: &Scope, args: &[Value]) -> Outcome {
    let (a, b) = (array(args, 0)?, array(args, 1)?);
    size::bytes(scope, (a.len() as u64 + b.len() as u64) * size::ELEMENT)?;
    Ok(Value::from(a.iter().chain(b.iter()).cloned().collect::<Vec<_>>()))
}

/// `object.subset(super, sub)`.
pub(super) fn subset(_: &Scope, args: &[Value]) -> Outcome {
    let (whole, part) = (any(args, 0)?, any(args, 1)?);
    let is = match (whole, part) {
        (Value::Object(_), Value::Object(_)) => within(whole, part),
        (Value::Set(whole), Value::Set(part)) => part.iter().all(|member| whole.contains(member)),
        (Value::Array(whole), Value::Array(part)) => run(whole, part),
        (Value::Array(whole), Value::Set(part)) => {
            part.iter().all(|member| whole.iter().any(|other| other == member))
        }
        _ => {
            return operand(format!(
                "both arguments of object.subset must be of the same type or array and set, not \
                 {} and {}",
                type_name(whole),
                type_name(part)
            ));
        }
    };
    Ok(Value::from(is))
}

/// Whether `part` is in `whole`, key by key; sets and arrays inside as `object.subset` has them.
fn within(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, member)| whole.get(key).is_some_and(|other| within(other, member))),
        (Value::Set(whole), Value::Set(part)) => part.iter().all(|member| whole.contains(member)),
        (Value::Array(whole), Value::Array(part)) => run(whole, part),
        _ => whole == part,
    }
}

/// Whether `part` is a run of `whole`.
fn run(whole: &Array, part: &Array) -> bool {
    part.is_empty() || whole.as_slice().windows(part.len()).any(|run| run == part.as_slice())
}

/// The bytes that the unions of an array of objects take.
pub(super) fn union_n_size(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    let mut members = 0_u64;
    for (index, member) in array(args, 0)?.iter().enumerate() {
        let Value::Object(object) = member else {
            return operand(format!(
                "operand 1 must be array of objects but element {index} is {}",
                type_name(member)
            ));
        };
        members += object.len() as u64;
    }
    Ok(members * 2 * size::ELEMENT)
}

/// Whether all members of the first argument are of one type: regorus' own errors about members
/// would hold all of their value.
fn all(args: &[Value], taken: &str, kind: fn(&Value) -> bool) -> Result<u64, Fault> {
    let members = match any(args, 0)? {
        Value::Array(array) => array.iter().all(kind),
        Value::Set(set) => set.iter().all(kind),
        _ => true,
    };
    if members {
        Ok(0)
    } else {
        operand(format!("operand 1 must have members of type {taken} only"))
    }
}

/// `sum` and `product` take numbers.
pub(super) fn of_numbers(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    all(args, "number", |member| matches!(member, Value::Number(_)))
}

/// `union` and `intersection` take sets.
pub(super) fn of_sets(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    all(args, "set", |member| matches!(member, Value::Set(_)))
}

/// The functions of time take numbers, alone or in an array with strings.
pub(super) fn of_scalars(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    let scalar = |member: &Value| matches!(member, Value::Number(_) | Value::String(_));
    for (index, arg) in args.iter().enumerate() {
        if let Value::Array(array) = arg
            && (array.len() < 2 || !array.iter().all(scalar))
        {
            return operand(format!("operand {} must be a time, or one with its zone", index + 1));
        }
    }
    Ok(0)
}

/// Operations on a document are objects, with text for what isn't their value.
pub(super) fn patches(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    for patch in array(args, 1)?.iter() {
        let Value::Object(fields) = patch else { return operand("operations must be objects") };
        let op = fields.get(&Value::from("op"));
        if !matches!(op, Some(Value::String(_))) {
            return operand("operations must have a string for `op`");
        }
        let path = |name: &str| match fields.get(&Value::from(name)) {
            Some(Value::Array(path)) => path
                .iter()
                .all(|step| !matches!(step, Value::Array(_) | Value::Object(_) | Value::Set(_))),
            Some(Value::String(_)) | None => true,
            Some(_) => false,
        };
        if !path("path") || !path("from") {
            return differs("a path that is no string and no array of scalars");
        }
    }
    Ok(0)
}
