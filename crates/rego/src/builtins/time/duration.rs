//! Durations as text: `1h30m`, `2d`, `1.5w`.

use super::layout::quoted;
use crate::builtins::Error;

const HOUR: u64 = 3_600_000_000_000;

fn invalid(text: &str) -> Error {
    Error::failed(format!("time: invalid duration {}", quoted(text)))
}

/// Parses a duration in nanoseconds: Go's notation, plus days, weeks and years of fixed length.
pub(in super::super) fn parse(text: &str) -> Result<i64, Error> {
    if text.is_empty() {
        return Err(invalid(text));
    }
    if !text.contains(['d', 'w', 'y']) {
        return parse_go(text, text);
    }
    let extended = || -> Option<String> {
        let (sign, mut rest) = match text.strip_prefix(['+', '-']) {
            Some(rest) => (text.get(..1)?, rest),
            None => ("", text),
        };
        let mut out = String::from(sign);
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (digits, after) = rest.split_at(end);
            if digits.is_empty() {
                return None;
            }
            let unit = ["ms", "us", "µs", "ns"].into_iter().find(|unit| after.starts_with(unit));
            let unit = unit.or_else(|| {
                after.get(..1).filter(|unit| unit.chars().all(|c| c.is_ascii_lowercase()))
            })?;
            rest = after.strip_prefix(unit)?;
            let hours = match unit {
                "d" => 24.0,
                "w" => 168.0,
                "y" => 8760.0,
                _ => {
                    out.push_str(digits);
                    out.push_str(unit);
                    continue;
                }
            };
            if digits.bytes().filter(|byte| *byte == b'.').count() > 1 || digits == "." {
                return None;
            }
            let value: f64 = digits.parse().ok()?;
            let value = value * hours;
            if !value.is_finite() {
                return None;
            }
            out.push_str(&format!("{value}h"));
        }
        Some(out)
    };
    match extended() {
        Some(rewritten) if !rewritten.trim_start_matches(['+', '-']).is_empty() => {
            parse_go(&rewritten, text)
        }
        _ => Err(invalid(text)),
    }
}

/// Parses a duration in nanoseconds in Go's notation.
pub fn go_duration(text: &str) -> Option<i64> {
    parse_go(text, text).ok()
}

/// Reads leading digits; returns `None` if they exceed 64 bits.
fn leading_integer<'a>(text: &mut &'a str) -> Option<(u64, &'a str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    let mut value = 0_u64;
    for digit in digits.bytes() {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        if value > 1 << 63 {
            return None;
        }
    }
    Some((value, digits))
}

/// Reads the digits after a point, and returns the number, its divisor, and whether there are
/// digits. Digits that don't fit are dropped.
fn leading_fraction(text: &mut &str) -> (u64, f64, bool) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    let (mut value, mut scale) = (0_u64, 1.0);
    for digit in digits.bytes() {
        if value > (i64::MAX as u64) / 10 {
            break;
        }
        let next = value * 10 + u64::from(digit - b'0');
        if next > 1 << 63 {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value, scale, !digits.is_empty())
}

/// Parses Go's notation; errors quote `original`.
fn parse_go(text: &str, original: &str) -> Result<i64, Error> {
    let (negative, mut rest) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid(original));
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        if !rest.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
            return Err(invalid(original));
        }
        let (whole, digits) = leading_integer(&mut rest).ok_or_else(|| invalid(original))?;
        let (mut fraction, mut scale, mut any) = (0, 1.0, !digits.is_empty());
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            let some;
            (fraction, scale, some) = leading_fraction(&mut rest);
            any |= some;
        }
        if !any {
            return Err(invalid(original));
        }
        let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        let (unit, after) = rest.split_at(end);
        rest = after;
        let unit = match unit {
            "" => {
                let original = quoted(original);
                return Err(Error::failed(format!("time: missing unit in duration {original}")));
            }
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => HOUR,
            other => {
                let (other, original) = (quoted(other), quoted(original));
                return Err(Error::failed(format!(
                    "time: unknown unit {other} in duration {original}"
                )));
            }
        };
        if whole > (1 << 63) / unit {
            return Err(invalid(original));
        }
        let mut value = whole * unit;
        if fraction > 0 {
            // Truncated as in Go, which computes in doubles.
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss
            )]
            let part = (fraction as f64 * (unit as f64 / scale)) as u64;
            value = value.saturating_add(part);
        }
        total = total.saturating_add(value);
        if value > 1 << 63 || total > 1 << 63 {
            return Err(invalid(original));
        }
    }
    if negative {
        return Ok(0_i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).map_err(|_| invalid(original))
}
