//! Arrays, sets and objects.

use regorus::Value;
use regorus::value::Array;

use super::arguments::{any, array, type_name};
use super::{Fault, Outcome, Scope, operand, size};

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
