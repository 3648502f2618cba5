//! The operators that compare any two values.

use super::operands::{answer, operand};
use super::{Answer, Context, Family, Run, Value};

pub(super) const FUNCTIONS: Family = &[
    ("equal", Run::Plain(|_, args| compare(args, std::cmp::Ordering::is_eq))),
    ("neq", Run::Plain(|_, args| compare(args, std::cmp::Ordering::is_ne))),
    ("lt", Run::Plain(|_, args| compare(args, std::cmp::Ordering::is_lt))),
    ("lte", Run::Plain(|_, args| compare(args, std::cmp::Ordering::is_le))),
    ("gt", Run::Plain(|_, args| compare(args, std::cmp::Ordering::is_gt))),
    ("gte", Run::Plain(|_, args| compare(args, std::cmp::Ordering::is_ge))),
    ("internal.member_2", Run::Plain(member)),
    ("internal.member_3", Run::Plain(member_with_key)),
];

fn compare(args: &[Value], holds: fn(std::cmp::Ordering) -> bool) -> Answer {
    answer(holds(operand(args, 0)?.cmp(operand(args, 1)?)))
}

/// `value in collection`
fn member(_: &dyn Context, args: &[Value]) -> Answer {
    let value = operand(args, 0)?;
    answer(match operand(args, 1)? {
        Value::Set(set) => set.contains(value),
        Value::Array(array) => array.contains(value),
        Value::Object(object) => object.values().any(|member| member == value),
        _ => false,
    })
}

/// `key, value in collection`
fn member_with_key(_: &dyn Context, args: &[Value]) -> Answer {
    let (key, value, collection) = (operand(args, 0)?, operand(args, 1)?, operand(args, 2)?);
    answer(collection.is_collection() && collection.get(key) == Some(value))
}
