//! The operands of a call: each as what a function takes, or OPA's error for what it doesn't.

use num_bigint::BigInt;

use super::{Answer, Code, Context, Error};
use crate::rego::value::{Array, Number, NumberError, Object, Set, Value};

/// The operand at `index`, from 0.
#[inline]
pub(super) fn any(args: &[Value], index: usize) -> Result<&Value, Error> {
    args.get(index).ok_or_else(|| Error::failed("arity mismatch"))
}

/// An error about an operand (from 1) beyond its type: a type error, in OPA's words.
pub(super) fn wrong(position: usize, message: &str) -> Error {
    Error { code: Code::Type, message: format!("operand {position} {message}").into(), halt: false }
}

/// A collection (operand `position`, from 1) has an element of a type that it may not have.
pub(super) fn element(
    position: usize,
    collection: &Value,
    got: &Value,
    expected: &[&str],
) -> Error {
    let (outer, inner) = (collection.type_name(), got.type_name());
    wrong(
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

/// A string.
#[inline]
pub(super) fn string(args: &[Value], index: usize) -> Result<&str, Error> {
    let value = any(args, index)?;
    value.as_str().ok_or_else(|| Error::operand(index + 1, value, &["string"]))
}

/// A number.
#[inline]
pub(super) fn number(args: &[Value], index: usize) -> Result<&Number, Error> {
    let value = any(args, index)?;
    value.as_number().ok_or_else(|| Error::operand(index + 1, value, &["number"]))
}

/// An array.
#[inline]
pub(super) fn array(args: &[Value], index: usize) -> Result<&Array, Error> {
    let value = any(args, index)?;
    value.as_array().ok_or_else(|| Error::operand(index + 1, value, &["array"]))
}

/// An object.
#[inline]
pub(super) fn object(args: &[Value], index: usize) -> Result<&Object, Error> {
    let value = any(args, index)?;
    value.as_object().ok_or_else(|| Error::operand(index + 1, value, &["object"]))
}

/// A set.
#[inline]
pub(super) fn set(args: &[Value], index: usize) -> Result<&Set, Error> {
    let value = any(args, index)?;
    value.as_set().ok_or_else(|| Error::operand(index + 1, value, &["set"]))
}

/// An integer of 64 bits.
pub(super) fn integer(args: &[Value], index: usize) -> Result<i64, Error> {
    integer_of(any(args, index)?, index + 1)
}

/// A value that must be an integer of 64 bits; `position` is from 1.
pub(super) fn integer_of(value: &Value, position: usize) -> Result<i64, Error> {
    let Value::Number(number) = value else {
        return Err(Error::operand(position, value, &["number"]));
    };
    number
        .as_i64()
        .ok_or_else(|| wrong(position, "must be integer number but got floating-point number"))
}

/// An integer of any size.
pub(super) fn big_integer(args: &[Value], index: usize) -> Result<BigInt, Error> {
    let value = any(args, index)?;
    let Value::Number(number) = value else {
        return Err(Error::operand(index + 1, value, &["integer"]));
    };
    number
        .to_bigint()?
        .ok_or_else(|| wrong(index + 1, "must be integer number but got floating-point number"))
}

/// An array's or set's elements.
pub(super) fn elements<'a>(
    value: &'a Value,
) -> Option<Box<dyn ExactSizeIterator<Item = &'a Value> + 'a>> {
    match value {
        Value::Array(array) => Some(Box::new(array.iter())),
        Value::Set(set) => Some(Box::new(set.iter())),
        _ => None,
    }
}

/// An array or set of strings.
pub(super) fn strings(value: &Value, position: usize) -> Result<Vec<&str>, Error> {
    let Some(elements) = elements(value) else {
        return Err(Error::operand(position, value, &["array", "set"]));
    };
    elements
        .map(|it| it.as_str().ok_or_else(|| element(position, value, it, &["string"])))
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

/// A value as a function's answer.
#[inline]
#[allow(clippy::unnecessary_wraps)]
pub(super) fn answer(value: impl Into<Value>) -> Answer {
    Ok(Some(value.into()))
}

/// Bytes that a new collection of `count` elements takes, announced.
pub(super) fn charge_elements(context: &dyn Context, count: usize) -> Result<(), Error> {
    context.charge((count as u64).saturating_mul(size_of::<Value>() as u64))
}

/// Bytes of a new string, announced.
pub(super) fn charge_text(context: &dyn Context, bytes: usize) -> Result<(), Error> {
    context.charge(bytes as u64)
}

/// A counter for loops: looks now and then whether the evaluation is over.
pub(super) struct Ticks(u32);

impl Ticks {
    pub(super) fn new() -> Self {
        Self(0)
    }

    /// One turn.
    #[inline]
    pub(super) fn tick(&mut self, context: &dyn Context) -> Result<(), Error> {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(1024) { context.check() } else { Ok(()) }
    }
}
