//! Reads the operands of a call as the types that a function takes, or returns OPA's error.

use num_bigint::BigInt;

use super::{Answer, Code, Context, Error};
use crate::value::{Array, Number, NumberError, Object, Set, Value};

/// Returns the operand at `index`, counting from 0.
#[inline]
pub(super) fn operand(args: &[Value], index: usize) -> Result<&Value, Error> {
    args.get(index).ok_or_else(|| Error::failed("arity mismatch"))
}

/// Returns a type error about the operand at `position`, counting from 1, in OPA's words.
pub(super) fn operand_error(position: usize, message: &str) -> Error {
    Error { code: Code::Type, message: format!("operand {position} {message}").into(), halt: false }
}

/// Returns the error for a collection whose element has the wrong type; `position` counts from 1.
pub(super) fn element_error(
    position: usize,
    collection: &Value,
    got: &Value,
    expected: &[&str],
) -> Error {
    let (outer, inner) = (collection.type_name(), got.type_name());
    operand_error(
        position,
        &match expected {
            [one] => format!("must be {outer} of {one}s but got {outer} containing {inner}"),
            many => {
                let many = many.join(", ");
                format!("must be {outer} of (any of) {{{many}}} but got {outer} containing {inner}")
            }
        },
    )
}

/// Returns the string operand at `index`.
#[inline]
pub(super) fn string(args: &[Value], index: usize) -> Result<&str, Error> {
    let value = operand(args, index)?;
    value.as_str().ok_or_else(|| Error::operand(index + 1, value, &["string"]))
}

/// Returns the number operand at `index`.
#[inline]
pub(super) fn number(args: &[Value], index: usize) -> Result<&Number, Error> {
    let value = operand(args, index)?;
    value.as_number().ok_or_else(|| Error::operand(index + 1, value, &["number"]))
}

/// Returns the array operand at `index`.
#[inline]
pub(super) fn array(args: &[Value], index: usize) -> Result<&Array, Error> {
    let value = operand(args, index)?;
    value.as_array().ok_or_else(|| Error::operand(index + 1, value, &["array"]))
}

/// Returns the object operand at `index`.
#[inline]
pub(super) fn object(args: &[Value], index: usize) -> Result<&Object, Error> {
    let value = operand(args, index)?;
    value.as_object().ok_or_else(|| Error::operand(index + 1, value, &["object"]))
}

/// Returns the set operand at `index`.
#[inline]
pub(super) fn set(args: &[Value], index: usize) -> Result<&Set, Error> {
    let value = operand(args, index)?;
    value.as_set().ok_or_else(|| Error::operand(index + 1, value, &["set"]))
}

/// Returns the operand at `index` as a 64-bit integer.
pub(super) fn integer(args: &[Value], index: usize) -> Result<i64, Error> {
    integer_of(operand(args, index)?, index + 1)
}

/// Converts a value to a 64-bit integer; `position` counts from 1.
pub(super) fn integer_of(value: &Value, position: usize) -> Result<i64, Error> {
    let Value::Number(number) = value else {
        return Err(Error::operand(position, value, &["number"]));
    };
    number.as_i64().ok_or_else(|| {
        operand_error(position, "must be integer number but got floating-point number")
    })
}

/// Returns the operand at `index` as an integer of any size.
pub(super) fn big_integer(args: &[Value], index: usize) -> Result<BigInt, Error> {
    let value = operand(args, index)?;
    let Value::Number(number) = value else {
        return Err(Error::operand(index + 1, value, &["integer"]));
    };
    number.to_bigint()?.ok_or_else(|| {
        operand_error(index + 1, "must be integer number but got floating-point number")
    })
}

/// The elements of an array or a set.
pub(super) type Elements<'a> = Box<dyn ExactSizeIterator<Item = &'a Value> + 'a>;

/// Returns the elements of an array or a set.
pub(super) fn elements(value: &Value) -> Option<Elements<'_>> {
    match value {
        Value::Array(array) => Some(Box::new(array.iter())),
        Value::Set(set) => Some(Box::new(set.iter())),
        _ => None,
    }
}

/// Returns the elements of an array or a set of strings.
pub(super) fn strings<'a>(
    value: &'a Value,
    position: usize,
    expected: &[&str],
) -> Result<Vec<&'a str>, Error> {
    let elements = elements(value).ok_or_else(|| Error::operand(position, value, expected))?;
    elements
        .map(|element| {
            element.as_str().ok_or_else(|| element_error(position, value, element, &["string"]))
        })
        .collect()
}

impl From<NumberError> for Error {
    fn from(error: NumberError) -> Self {
        match error {
            NumberError::TooBig => Self::halt(Code::Limit, "number too big to compute with"),
            error => Self::failed(error.to_string()),
        }
    }
}

/// Wraps a value as the result of a function.
#[inline]
#[allow(clippy::unnecessary_wraps)]
pub(super) fn answer(value: impl Into<Value>) -> Answer {
    Ok(Some(value.into()))
}

/// Accounts for a new collection of `count` elements.
pub(super) fn charge_elements(context: &dyn Context, count: usize) -> Result<(), Error> {
    context.charge((count as u64).saturating_mul(size_of::<Value>() as u64))
}

/// Accounts for a new string.
pub(super) fn charge_text(context: &dyn Context, bytes: usize) -> Result<(), Error> {
    context.charge(bytes as u64)
}

/// A counter for loops that checks every 1,024 turns whether the evaluation must end.
pub(super) struct Ticks(u32);

impl Ticks {
    pub(super) fn new() -> Self {
        Self(0)
    }

    /// Counts a turn of the loop.
    #[inline]
    pub(super) fn tick(&mut self, context: &dyn Context) -> Result<(), Error> {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(1024) { context.check() } else { Ok(()) }
    }
}
