//! Arithmetic, bitwise operations, ranges and random numbers.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

use super::operands::{answer, big_integer, integer, number, operand, operand_error, string};
use super::{Answer, Code, Context, Error, Value};
use crate::value::{Array, Number, NumberError};

/// The maximum size of a left shift's result, in bits.
const MAX_SHIFT: u64 = 400_000;

pub(super) fn binary(
    args: &[Value],
    compute: fn(&Number, &Number) -> Result<Number, NumberError>,
) -> Answer {
    answer(compute(number(args, 0)?, number(args, 1)?)?)
}

pub(super) fn unary(args: &[Value], compute: fn(&Number) -> Result<Number, NumberError>) -> Answer {
    answer(compute(number(args, 0)?)?)
}

/// Subtracts two numbers or two sets.
pub(super) fn minus(_: &dyn Context, args: &[Value]) -> Answer {
    match (operand(args, 0)?, operand(args, 1)?) {
        (Value::Number(a), Value::Number(b)) => answer(a.sub(b)?),
        (Value::Set(a), Value::Set(b)) => answer(a.difference(b)),
        (a, b) => Err(match (a, b) {
            (Value::Number(_), _) | (Value::Set(_), Value::Number(_)) => {
                let expected = if matches!(b, Value::Number(_)) { "set" } else { "number" };
                Error::operand(2, b, &[expected])
            }
            (Value::Set(_), _) => Error::operand(2, b, &["number"]),
            _ => Error::operand(1, a, &["number", "set"]),
        }),
    }
}

pub(super) fn bits(args: &[Value], compute: fn(BigInt, BigInt) -> BigInt) -> Answer {
    answer(Number::from(&compute(big_integer(args, 0)?, big_integer(args, 1)?)))
}

pub(super) fn negate(_: &dyn Context, args: &[Value]) -> Answer {
    answer(Number::from(&!big_integer(args, 0)?))
}

/// Reads the operands of a shift: the number, and the number of bits to shift by.
fn shift(args: &[Value]) -> Result<(BigInt, u64), Error> {
    let (value, by) = (big_integer(args, 0)?, big_integer(args, 1)?);
    if by.is_negative() {
        return Err(operand_error(
            2,
            "must be an unsigned integer number but got a negative integer",
        ));
    }
    // Only the lowest 64 bits count.
    Ok((value, by.iter_u64_digits().next().unwrap_or(0)))
}

pub(super) fn shift_left(_: &dyn Context, args: &[Value]) -> Answer {
    let (value, by) = shift(args)?;
    if value.is_zero() {
        return answer(0);
    }
    if value.bits().saturating_add(by) > MAX_SHIFT {
        return Err(NumberError::TooBig.into());
    }
    answer(Number::from(&(value << by)))
}

pub(super) fn shift_right(_: &dyn Context, args: &[Value]) -> Answer {
    let (value, by) = shift(args)?;
    let by = by.min(value.bits().saturating_add(1));
    answer(Number::from(&(value >> by)))
}

pub(super) fn format_int(_: &dyn Context, args: &[Value]) -> Answer {
    let value = number(args, 0)?;
    let radix = match number(args, 1)?.as_small() {
        Some(2) => 2,
        Some(8) => 8,
        Some(10) => 10,
        Some(16) => 16,
        _ => return Err(operand_error(2, "must be one of {2, 8, 10, 16}")),
    };
    let exact = value.is_integer_text() || radix == 10 && value.as_i64().is_some();
    let whole = if exact { value.to_bigint()? } else { None };
    let whole = match whole {
        Some(whole) => whole,
        None => value.truncated()?,
    };
    answer(whole.to_str_radix(radix))
}

pub(super) fn range(context: &dyn Context, args: &[Value]) -> Answer {
    numbers(context, &big_integer(args, 0)?, &big_integer(args, 1)?, &BigInt::from(1))
}

pub(super) fn range_step(context: &dyn Context, args: &[Value]) -> Answer {
    let (from, to, step) = (big_integer(args, 0)?, big_integer(args, 1)?, big_integer(args, 2)?);
    if !step.is_positive() {
        return Err(Error::failed("numbers.range_step: step must be a positive integer"));
    }
    numbers(context, &from, &to, &step)
}

/// Returns the numbers from one to another, both inclusive, stepping towards the second.
fn numbers(context: &dyn Context, from: &BigInt, to: &BigInt, step: &BigInt) -> Answer {
    let count = (to - from).abs() / step + 1_u32;
    let Some(count) = count.to_u64().filter(|count| *count < 1 << 40) else {
        return Err(Error::halt(Code::Limit, "the range has too many numbers"));
    };
    context.charge(count.saturating_mul(size_of::<Value>() as u64))?;
    let step = if to < from { -step } else { step.clone() };
    let mut numbers = Array::new();
    if let (Some(mut next), Some(step), Some(_)) = (from.to_i64(), step.to_i64(), to.to_i64()) {
        for at in 0..count {
            numbers.push(Value::from(next));
            next = next.saturating_add(step);
            if at % 4096 == 0 {
                context.check()?;
            }
        }
    } else {
        let mut next = from.clone();
        for _ in 0..count {
            context.charge(next.bits() / 3)?;
            context.check()?;
            numbers.push(Value::from(Number::from(&next)));
            next += &step;
        }
    }
    answer(numbers)
}

pub(super) fn random(context: &dyn Context, args: &[Value]) -> Answer {
    let (key, limit) = (string(args, 0)?, integer(args, 1)?.unsigned_abs());
    if limit == 0 {
        return answer(0);
    }
    let mut make = || answer(context.random(&format!("rand.intn {limit} {key}")) % limit);
    context.fixed("rand.intn", args, &mut make)
}
