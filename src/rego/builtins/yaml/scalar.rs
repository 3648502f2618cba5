//! The resolution of plain scalars in YAML.

use crate::rego::builtins::go_float::json_float;
use crate::rego::builtins::time::{TIMESTAMPS, rfc3339_in_utc};
use crate::rego::value::{Number, Value};

/// A resolved scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
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
    pub(super) fn plain(text: &str) -> Self {
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
            Some(b'.') => float(text),
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
    pub(super) fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Integer(_) => "int",
            Self::Float(_) => "float",
            Self::Timestamp(_) => "timestamp",
            Self::Text(_) => "str",
        }
    }

    /// Converts to a value; returns `None` if JSON can't represent it.
    pub(super) fn into_value(self) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Integer(value) => Value::Number(Number::parse(&value.to_string())?),
            Self::Float(value) if value.is_finite() => {
                Value::Number(Number::parse(&json_float(value))?)
            }
            Self::Float(_) => return None,
            Self::Timestamp(text) | Self::Text(text) => Value::from(text),
        })
    }

    /// Converts to the name of a member; returns `None` for null.
    pub(super) fn into_key(self) -> Option<String> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => float_key(value),
            Self::Timestamp(text) | Self::Text(text) => text,
        })
    }
}

/// Formats a float as a key, with the digits of a 32-bit float.
fn float_key(value: f64) -> String {
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
    if digits.is_empty() || digits.len() > 70 || digits.starts_with(['+', '-']) {
        return None;
    }
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

/// Parses a double; returns `None` if it is out of range.
fn float(text: &str) -> Option<Scalar> {
    let number = crate::rego::builtins::casts::read_float(text)?.ok()?;
    number.as_finite_f64().map(Scalar::Float)
}

/// Returns `true` if go-yaml recognizes the text as a date.
fn is_timestamp(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits == 4
        && text.as_bytes().get(4) == Some(&b'-')
        && TIMESTAMPS.iter().any(|layout| rfc3339_in_utc(layout, text).is_some())
}
