//! Type tests, type names and casts.

use num_bigint::BigUint;
use num_traits::Num;

use super::operands::{answer, charge_elements, operand, operand_error};
use super::{Answer, Context, Error, Value};
use crate::value::{Array, Number, Set, quoted};

pub(super) fn is(args: &[Value], name: &str) -> Answer {
    answer(operand(args, 0)?.type_name() == name)
}

pub(super) fn cast(args: &[Value], name: &str) -> Answer {
    let value = operand(args, 0)?;
    if value.type_name() == name {
        answer(value.clone())
    } else {
        Err(Error::operand(1, value, &[name]))
    }
}

pub(super) fn cast_array(context: &dyn Context, args: &[Value]) -> Answer {
    match operand(args, 0)? {
        array @ Value::Array(_) => answer(array.clone()),
        Value::Set(set) => {
            charge_elements(context, set.len())?;
            answer(set.iter().cloned().collect::<Array>())
        }
        other => Err(Error::operand(1, other, &["array", "set"])),
    }
}

pub(super) fn cast_set(context: &dyn Context, args: &[Value]) -> Answer {
    match operand(args, 0)? {
        set @ Value::Set(_) => answer(set.clone()),
        Value::Array(array) => {
            charge_elements(context, array.len())?;
            let mut set = Set::new();
            set.extend(array.iter().cloned());
            answer(set)
        }
        other => Err(Error::operand(1, other, &["array", "set"])),
    }
}

pub(super) fn to_number(_: &dyn Context, args: &[Value]) -> Answer {
    match operand(args, 0)? {
        Value::Null => answer(0),
        Value::Bool(value) => answer(i64::from(*value)),
        number @ Value::Number(_) => answer(number.clone()),
        Value::String(text) => {
            let bare = text.trim_start_matches(['+', '-']).to_lowercase();
            if matches!(bare.as_str(), "inf" | "infinity" | "nan") {
                return Err(operand_error(1, "must be valid number string but got string"));
            }
            let failed = |what: &str| {
                Error::failed(format!("strconv.ParseFloat: parsing {}: {what}", quoted(text)))
            };
            let number = read_float(text).ok_or_else(|| failed("invalid syntax"))?;
            let number =
                number.map_err(|error| Error::failed(format!("invalid number: {error}")))?;
            if number.as_f64().is_infinite() {
                return Err(failed("value out of range"));
            }
            answer(number)
        }
        other => Err(Error::operand(1, other, &["null", "boolean", "number", "string"])),
    }
}

/// Parses a number in Go's notation: a sign, underscores between digits, hexadecimal digits. The
/// result has JSON text.
pub(super) fn read_float(text: &str) -> Option<Result<Number, crate::value::NumberError>> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => ("-", text.get(1..)?),
        b'+' => ("", text.get(1..)?),
        _ => ("", text),
    };
    let hexadecimal = rest.len() > 2 && (rest.starts_with("0x") || rest.starts_with("0X"));
    if !underscores_are_separators(rest, hexadecimal) {
        return None;
    }
    let plain = rest.replace('_', "");
    if hexadecimal {
        return read_hexadecimal(sign, plain.get(2..)?);
    }
    let at = plain.find(['e', 'E']).unwrap_or(plain.len());
    let (mantissa, exponent) = plain.split_at(at);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let mut json = String::from(sign);
    let whole = whole.trim_start_matches('0');
    json.push_str(if whole.is_empty() { "0" } else { whole });
    if !fraction.is_empty() {
        json.push('.');
        json.push_str(fraction);
    }
    if let Some(figures) = exponent.get(1..) {
        let figures = figures.strip_prefix(['+', '-']).unwrap_or(figures);
        if figures.is_empty() || !digits(figures) {
            return None;
        }
        // With its `E`, if it's one.
        json.push_str(exponent);
    }
    Some(Number::read(&json))
}

/// Returns `true` if each underscore is between digits or between `0x` and a digit, Go's rule.
fn underscores_are_separators(text: &str, hexadecimal: bool) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || hexadecimal && byte.is_ascii_hexdigit();
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let after_prefix = hexadecimal && at == 2;
        (after_prefix || before.is_some_and(is_digit)) && bytes.get(at + 1).is_some_and(is_digit)
    })
}

/// Parses what follows `0x`, such as `1.8p3`.
fn read_hexadecimal(sign: &str, text: &str) -> Option<Result<Number, crate::value::NumberError>> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let figures = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if figures.is_empty() || !figures.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 = exponent.parse().unwrap_or(1 << 40);
    let exponent = exponent - 4 * i64::try_from(fraction.len()).ok()?;
    let mantissa = BigUint::from_str_radix(&digits, 16).ok()?;
    let Ok(shift) = u32::try_from(exponent.unsigned_abs()) else {
        return Some(Err(crate::value::NumberError::TooBig));
    };
    if shift > 20_000 {
        return Some(Err(crate::value::NumberError::TooBig));
    }
    if exponent >= 0 {
        return Some(Number::read(&format!("{sign}{}", mantissa << shift)));
    }
    // A half is five tenths.
    let digits = mantissa * BigUint::from(5_u32).pow(shift);
    Some(Number::read(&format!("{sign}{digits}e-{shift}")))
}
