//! The operators that compare any two values.

use super::operands::{answer, operand};
use super::{Answer, Context, Value};

pub(super) fn compare(args: &[Value], holds: fn(std::cmp::Ordering) -> bool) -> Answer {
    answer(holds(operand(args, 0)?.cmp(operand(args, 1)?)))
}

/// `value in collection`
pub(super) fn member(_: &dyn Context, args: &[Value]) -> Answer {
    let value = operand(args, 0)?;
    answer(match operand(args, 1)? {
        Value::Set(set) => set.contains(value),
        Value::Array(array) => array.contains(value),
        Value::Object(object) => object.values().any(|member| member == value),
        _ => false,
    })
}

/// `key, value in collection`
pub(super) fn member_with_key(_: &dyn Context, args: &[Value]) -> Answer {
    let (key, value, collection) = (operand(args, 0)?, operand(args, 1)?, operand(args, 2)?);
    answer(collection.is_collection() && collection.get(key) == Some(value))
}
