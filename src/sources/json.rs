//! Reading JSON exactly, or not at all.
//!
//! Owns the reading of documents, whose numbers keep their text as OPA's do, and the rule for which numbers a
//! double holds, for YAML, which OPA reads by way of doubles. Combining documents belongs to `merge`.

use crate::rego::Value;
use crate::rego::value::JsonLimits;

/// A problem with its position: line and column from 1, the column in bytes.
#[derive(Debug)]
#[doc(hidden)]
pub struct JsonError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// The deepest nesting of a document; code that walks it later has the stack for as much.
const MAX_DEPTH: usize = 1_000;

/// Reads a document of any type as OPA does: numbers of any length keep their text. A key that appears
/// twice is an error: parsers differ in which of the two they take.
#[doc(hidden)]
pub fn read(text: &str) -> Result<Value, JsonError> {
    Value::from_json_bytes(text.as_bytes(), JsonLimits::default().depth(MAX_DEPTH).unique_keys())
        .map_err(|error| {
            let line = text.split('\n').nth(error.line.saturating_sub(1)).unwrap_or_default();
            let before = line.char_indices().nth(error.column.saturating_sub(1));
            let column = before.map_or(line.len(), |(at, _)| at) + 1;
            JsonError {
                line: error.line,
                column,
                message: format!("invalid JSON: {}", error.message),
            }
        })
}

/// Returns the reason why a number would not be held exactly, or `None` if it is. This is the only
/// place that decides it: an integer has to fit into 64 bits; any other number has to be the
/// shortest text of its double, zeros and the position of the point aside.
pub(crate) fn inexact(number: &str) -> Option<String> {
    if is_wide(number) {
        let shown = crate::text::shorten(number, 40);
        return Some(format!("the integer {shown} has more than 64 bits"));
    }
    if number.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return None;
    }
    // A double holds any fifteen digits.
    if number.len() <= 16 && !number.contains(['e', 'E']) {
        return None;
    }
    let shown = || crate::text::shorten(number, 40);
    let double: f64 = number.parse().ok()?;
    if !double.is_finite() {
        return Some(format!("the number {} is too large", shown()));
    }
    let same = digits(number) == digits(&format!("{double:e}"));
    (!same).then(|| format!("the number {} would be rounded to {double}", shown()))
}

/// Returns a decimal number's sign, its digits without zeros at either end, and the exponent of the
/// first digit.
fn digits(number: &str) -> Option<(bool, Vec<u8>, i64)> {
    let negative = number.starts_with('-');
    let number = number.trim_start_matches(['-', '+']);
    let (mantissa, exponent) = match number.find(['e', 'E']) {
        Some(at) => (number.get(..at)?, number.get(at + 1..)?),
        None => (number, "0"),
    };
    let sign = if exponent.starts_with('-') { -1 } else { 1 };
    let exponent: i64 = exponent.trim_start_matches(['-', '+']).parse().unwrap_or(i64::MAX / 4);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let zeros = all.iter().take_while(|b| **b == b'0').count();
    let mut kept = all.get(zeros..).unwrap_or_default().to_vec();
    while kept.last() == Some(&b'0') {
        kept.pop();
    }
    if kept.is_empty() {
        return Some((false, kept, 0));
    }
    let place = i64::try_from(whole.len()).ok()? - i64::try_from(zeros).ok()?;
    Some((negative, kept, sign * exponent + place))
}

/// Returns `true` for an integer that neither `i64` nor `u64` holds.
fn is_wide(number: &str) -> bool {
    number.len() > 18
        && number.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b'+')
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn documents_are_read_as_opa_reads_them() {
        for text in [
            "[7.0000000000000000001,1e-400,18446744073709551616,-9223372036854775809]",
            "[9007199254740993.0,1.10,1E400,0e5]",
            r#"{"$serde_json::private::Number":"12"}"#,
        ] {
            assert_eq!(read(text).unwrap().to_json(), text);
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&deep(MAX_DEPTH)).is_ok() && read(&deep(MAX_DEPTH + 1)).is_err());
        for (text, line, column, expected) in [
            ("{\n \"é\": }", 2, 8, "invalid JSON: invalid character '}'"),
            ("1e999999999", 1, 1, "number too big"),
            ("{} x", 1, 4, "after top-level value"),
            ("[01]", 1, 3, "after array element"),
            (r#"{"a": "\ud800", "\u0061": "b"}"#, 1, 31, "the key `a` appears twice"),
        ] {
            let wrong = read(text).unwrap_err();
            assert_eq!((wrong.line, wrong.column), (line, column), "{text}: {wrong:?}");
            assert!(wrong.message.contains(expected), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn numbers_that_a_double_rounds_are_known() {
        for (number, expected) in [
            ("18446744073709551616", "more than 64 bits"),
            ("-9223372036854775809", "more than 64 bits"),
            ("7.0000000000000000001", "would be rounded to 7"),
            ("1e-400", "would be rounded to 0"),
            ("9007199254740993.0", "would be rounded"),
            ("1e400", "too large"),
        ] {
            assert!(inexact(number).unwrap().contains(expected), "{number}");
        }
        for number in
            "18446744073709551615 -9223372036854775808 0.1 1.10 1.50e1 -0.0 0e5 100e-2 1e30 \
                       0.00043 9007199254740993"
                .split_whitespace()
        {
            assert_eq!(inexact(number), None);
        }
    }
}
