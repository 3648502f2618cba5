//! Quantities with units: `1.5Gi`, `200m`.

use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};

use super::operands::{answer, string};
use super::{Answer, Code, Context, Error, Value};
use crate::value::{Number, NumberError};

const DECIMAL: [u64; 6] = [
    1_000,
    1_000_000,
    1_000_000_000,
    1_000_000_000_000,
    1_000_000_000_000_000,
    1_000_000_000_000_000_000,
];

/// Returns the factor of a prefix (`k`, `m`, `g`, …); a power of 1,024 if `binary`.
fn factor(prefix: char, binary: bool) -> Option<u64> {
    let index = "kmgtpe".find(prefix)?;
    if binary { Some(1 << (10 * (index + 1))) } else { DECIMAL.get(index).copied() }
}

/// Splits a quantity into number and unit; returns `None` if the exponent has too many digits.
fn split(text: &str) -> Option<(&str, &str)> {
    const EXPONENT: usize = 6;
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied();
    let mut at = 0;
    let mut end = bytes.len();
    while let Some(current) = byte(at) {
        match current {
            b'0'..=b'9' | b'.' | b'+' | b'-' => {}
            b'e' | b'E' => {
                // An `e` starts an exponent only if digits or a sign follow.
                if !byte(at + 1)
                    .is_some_and(|next| next.is_ascii_digit() || matches!(next, b'+' | b'-'))
                {
                    end = at;
                    break;
                }
                if let Some(b'+' | b'-') = byte(at + 1) {
                    at += 1;
                }
                let digits =
                    bytes.iter().skip(at + 1).take_while(|byte| byte.is_ascii_digit()).count();
                if digits > EXPONENT {
                    return None;
                }
            }
            _ => {
                end = at;
                break;
            }
        }
        at += 1;
    }
    text.split_at_checked(end)
}

/// Parses a number after rewriting it as JSON: no plus sign, digits on both sides of the point.
fn number(text: &str) -> Result<Option<Number>, Error> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let at = rest.find(['e', 'E']).unwrap_or(rest.len());
    let (mantissa, exponent) = rest.split_at(at);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Ok(None);
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    match Number::read(&format!("{sign}{whole}.{fraction}{exponent}")) {
        Err(NumberError::Invalid) => Ok(None),
        other => Ok(Some(other?)),
    }
}

pub(super) fn parse(_: &dyn Context, args: &[Value]) -> Answer {
    let failed = |message: &str| Error::failed(format!("units.parse: {message}"));
    let text = string(args, 0)?.replace('"', "");
    if text.contains(' ') {
        return Err(failed("spaces not allowed in resource strings"));
    }
    let (amount, unit) = split(&text).ok_or_else(|| failed("exponent too large"))?;
    if amount.is_empty() {
        return Err(failed("no amount provided"));
    }
    // Case doesn't matter except for the first letter: `m` and `M` differ.
    let mut letters = unit.chars();
    let unit: String =
        letters.next().into_iter().chain(letters.as_str().to_lowercase().chars()).collect();
    let lower = unit.to_ascii_lowercase();
    let mut chars = lower.chars();
    // For thousandths OPA uses the double nearest to 0.001.
    let milli = || (BigInt::from(1_152_921_504_606_847_u64), BigInt::one() << 60_u32);
    let unknown = || failed(&format!("unit {unit} not recognized"));
    let (over, under) = match (chars.next(), chars.next(), chars.next()) {
        (None, ..) => (BigInt::one(), BigInt::one()),
        (Some('m'), None, None) if unit == "m" => milli(),
        (Some(prefix), None, None) => {
            (BigInt::from(factor(prefix, false).ok_or_else(unknown)?), BigInt::one())
        }
        (Some(prefix), Some('i'), None) => {
            (BigInt::from(factor(prefix, true).ok_or_else(unknown)?), BigInt::one())
        }
        _ => return Err(unknown()),
    };
    let number = number(amount)?.ok_or_else(|| failed("could not parse amount to a number"))?;
    let (digits, power) =
        number.to_fraction().ok_or_else(|| Error::halt(Code::Limit, "the amount is too large"))?;
    let (over, under) = (over * digits, under * power);
    if (&over % &under).is_zero() {
        return answer(Number::from(&(over / under)));
    }
    // Ten decimals, rounding halves away from zero.
    let scaled = over.abs() * 10_000_000_000_u64 * 2_u32 + &under;
    let rounded = (scaled / (under * 2_u32)).to_string();
    let sign = if over.is_negative() { "-" } else { "" };
    let padded = format!("{rounded:0>11}");
    let (whole, fraction) = padded.split_at(padded.len() - 10);
    match Number::parse(&format!("{sign}{whole}.{fraction}")) {
        Some(number) => answer(number),
        None => Err(failed("could not parse amount to a number")),
    }
}

pub(super) fn parse_bytes(_: &dyn Context, args: &[Value]) -> Answer {
    let failed = |message: &str| Error::failed(format!("units.parse_bytes: {message}"));
    let text = string(args, 0)?.to_lowercase().replace('"', "");
    if text.contains(' ') {
        return Err(failed("spaces not allowed in resource strings"));
    }
    let (amount, unit) = split(&text).ok_or_else(|| failed("exponent too large"))?;
    if amount.is_empty() {
        return Err(failed("no byte amount provided"));
    }
    let unknown = || failed(&format!("byte unit {unit} not recognized"));
    let bare = unit.strip_suffix('b').unwrap_or(unit);
    let mut chars = bare.chars();
    let factor = match (chars.next(), chars.next(), chars.next()) {
        (None, ..) if unit.is_empty() => 1,
        (Some(prefix), None, None) => factor(prefix, false).ok_or_else(unknown)?,
        (Some(prefix), Some('i'), None) => factor(prefix, true).ok_or_else(unknown)?,
        _ => return Err(unknown()),
    };
    let number =
        number(amount)?.ok_or_else(|| failed("could not parse byte amount to a number"))?;
    answer(Number::from(&number.truncated_product(factor)?))
}
