//! The resolution of plain scalars in YAML.

use super::timestamp::is_timestamp;
use crate::value::Number;

/// A resolved scalar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    /// A date, with or without a time, which becomes a string.
    Timestamp(String),
    Text(String),
}

impl Scalar {
    /// Resolves plain text without a tag.
    pub(crate) fn plain(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "true" | "True" | "TRUE" => return Self::Bool(true),
            "false" | "False" | "FALSE" => return Self::Bool(false),
            ".nan" | ".NaN" | ".NAN" => return Self::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
                return Self::Float(f64::INFINITY);
            }
            "-.inf" | "-.Inf" | "-.INF" => return Self::Float(f64::NEG_INFINITY),
            _ => {}
        }
        let number = match text.bytes().next() {
            Some(b'.') if separates_digits(text) => float(&text.replace('_', "")),
            Some(b'0'..=b'9' | b'+' | b'-') => {
                if is_timestamp(text) {
                    return Self::Timestamp(text.to_owned());
                }
                let bare = text.replace('_', "");
                integer(&bare)
                    .map(Self::Integer)
                    .or_else(|| if looks_like_float(&bare) { float(&bare) } else { None })
            }
            _ => None,
        };
        number.unwrap_or_else(|| Self::Text(text.to_owned()))
    }

    /// Returns the name of the scalar's tag.
    pub(crate) fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Integer(_) => "int",
            Self::Float(_) => "float",
            Self::Timestamp(_) => "timestamp",
            Self::Text(_) => "str",
        }
    }

    /// Returns a finite number, with a double's digits as `write` gives them; `None` for everything
    /// else.
    pub(super) fn number(&self, write: fn(f64) -> String) -> Option<Number> {
        match self {
            Self::Integer(value) => Number::parse(&value.to_string()),
            Self::Float(value) if value.is_finite() => Number::parse(&write(*value)),
            _ => None,
        }
    }
}

/// Formats a float as a key, with the digits of a 32-bit float.
pub(super) fn float_key(value: f64) -> String {
    #[allow(clippy::cast_possible_truncation)]
    let value = value as f32;
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = exponent.parse().unwrap_or_default();
    if value == 0.0 || (-4..6).contains(&power) {
        return format!("{value}");
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.unsigned_abs())
}

/// Parses a 64-bit integer, signed or unsigned, with Go's prefixes: `0x`, `0o`, `0b`, and `0` for
/// octal.
fn integer(text: &str) -> Option<i128> {
    let (negative, signed, rest) = match text.as_bytes().first()? {
        b'-' => (true, true, text.get(1..)?),
        b'+' => (false, true, text.get(1..)?),
        _ => (false, false, text),
    };
    let lower = rest.to_ascii_lowercase();
    let (radix, digits) = if let Some(digits) = lower.strip_prefix("0x") {
        (16, digits)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        (8, digits)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (2, digits)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, lower.get(1..)?)
    } else {
        (10, lower.as_str())
    };
    // go-yaml takes a sign after these prefixes too.
    let inner = !signed && (rest.starts_with("0b") || rest.starts_with("0o"));
    if digits.is_empty() || digits.len() > 70 || digits.starts_with(['+', '-']) && !inner {
        return None;
    }
    let signed = signed || digits.starts_with(['+', '-']);
    let value = i128::from_str_radix(digits, radix).ok()?;
    let value = if negative { -value } else { value };
    let most = if signed { i128::from(i64::MAX) } else { i128::from(u64::MAX) };
    (i128::from(i64::MIN)..=most).contains(&value).then_some(value)
}

/// Matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn looks_like_float(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let at = rest.find(['e', 'E']).unwrap_or(rest.len());
    let (mantissa, exponent) = rest.split_at(at);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let good = digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    let exponent_good = exponent.is_empty()
        || exponent.get(1..).is_some_and(|exponent| {
            let figures = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !figures.is_empty() && digits(figures)
        });
    good && exponent_good
}

/// Returns `true` if every underscore of a text is between two digits.
fn separates_digits(text: &str) -> bool {
    let digit = |at: Option<usize>| {
        at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_digit)
    };
    text.match_indices('_').all(|(at, _)| digit(at.checked_sub(1)) && digit(Some(at + 1)))
}

/// Parses a decimal double; returns `None` if it is out of range.
fn float(text: &str) -> Option<Scalar> {
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(Scalar::Float(value))
}
