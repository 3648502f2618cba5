//! Functions that aggregate the elements of a collection.

use super::operands::{
    Elements, answer, charge_elements, element_error, elements, operand, operand_error,
};
use super::{Answer, Context, Error, Value};
use crate::value::{Array, Number, NumberError};

pub(super) fn count(_: &dyn Context, args: &[Value]) -> Answer {
    let value = operand(args, 0)?;
    match value.len() {
        Some(count) => answer(count),
        None => Err(Error::operand(1, value, &["array", "object", "set", "string"])),
    }
}

fn members(args: &[Value]) -> Result<Elements<'_>, Error> {
    list_operand(args, 0, &["set", "array"])
}

pub(super) fn total(args: &[Value], fold: fn(&[&Number]) -> Result<Number, NumberError>) -> Answer {
    let numbers: Result<Vec<&Number>, Error> = members(args)?
        .map(|member| match member {
            Value::Number(number) => Ok(number),
            other => Err(element_error(1, operand(args, 0)?, other, &["number"])),
        })
        .collect();
    answer(fold(&numbers?)?)
}

pub(super) fn max(_: &dyn Context, args: &[Value]) -> Answer {
    // If elements are equal, the last one is returned.
    Ok(members(args)?.max().cloned())
}

pub(super) fn min(_: &dyn Context, args: &[Value]) -> Answer {
    // If elements are equal, the last one is returned.
    Ok(members(args)?.reduce(|least, value| if *least >= *value { value } else { least }).cloned())
}

pub(super) fn sort(context: &dyn Context, args: &[Value]) -> Answer {
    let members = members(args)?;
    charge_elements(context, members.len())?;
    let mut sorted: Array = members.cloned().collect();
    if matches!(args, [Value::Array(_), ..]) {
        sorted.sort();
    }
    answer(sorted)
}

pub(super) fn all(_: &dyn Context, args: &[Value]) -> Answer {
    answer(list_operand(args, 0, &["array", "set"])?.all(|boolean| *boolean == Value::Bool(true)))
}

pub(super) fn some(_: &dyn Context, args: &[Value]) -> Answer {
    answer(list_operand(args, 0, &["array", "set"])?.any(|boolean| *boolean == Value::Bool(true)))
}

/// Returns the elements of an argument that must be an array or a set; the error lists `expected`.
pub(super) fn list_operand<'a>(
    args: &'a [Value],
    index: usize,
    expected: &[&str],
) -> Result<Elements<'a>, Error> {
    let value = operand(args, index)?;
    elements(value).ok_or_else(|| match expected {
        [text] => {
            operand_error(index + 1, &format!("must be {text} but got {}", value.type_name()))
        }
        expected => Error::operand(index + 1, value, expected),
    })
}
