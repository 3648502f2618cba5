//! Reading JSON exactly, or not at all.
//!
//! Owns the reading of documents, whose numbers keep their text as OPA's do, and of texts that pass
//! through a parser that would silently misread some of them (recordings, arguments of `call`): an
//! integer beyond 64 bits would be rounded, and an object with one particular key would become a
//! number. The rule for which numbers a double holds is here too, for YAML, which OPA reads by way
//! of doubles. Combining documents belongs to `merge`.

use crate::rego::Value;
use crate::rego::value::JsonLimits;

/// A problem with its position: line and column from 1, the column in bytes.
#[derive(Debug)]
pub(crate) struct JsonError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// A number that a value doesn't hold exactly as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inexact {
    /// The keys and array indices that lead to it; empty if they aren't known.
    pub path: Vec<String>,
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// The key with which `serde_json` passes numbers of any length between its own types.
#[cfg(any(feature = "cli", test))]
pub(crate) const NUMBER_KEY: &str = "$serde_json::private::Number";

/// Parses a document of any type.
#[cfg(any(feature = "cli", test))]
pub(crate) fn parse(text: &str) -> Result<Value, JsonError> {
    let value = serde_json::from_str::<Value>(text).map_err(|error| {
        let message = error.to_string();
        // The position is reported separately.
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
        JsonError {
            line: error.line(),
            column: error.column(),
            message: format!("invalid JSON: {message}"),
        }
    })?;
    match misread(text) {
        None => Ok(value),
        Some((at, message)) => {
            let before = text.get(..at).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |end| end + 1);
            let line = before.matches('\n').count() + 1;
            Err(JsonError { line, column: at - line_start + 1, message })
        }
    }
}

/// The deepest nesting of a document; code that walks it later has the stack for as much.
const MAX_DEPTH: usize = 1_000;

/// Reads a document of any type as OPA does: numbers of any length keep their text.
pub(crate) fn read(text: &str) -> Result<Value, JsonError> {
    Value::from_json_bytes(
        text.as_bytes(),
        JsonLimits { depth: MAX_DEPTH, ..JsonLimits::default() },
    )
    .map_err(|error| {
        let line = text.split('\n').nth(error.line.saturating_sub(1)).unwrap_or_default();
        let before = line.char_indices().nth(error.column.saturating_sub(1));
        let column = before.map_or(line.len(), |(at, _)| at) + 1;
        JsonError { line: error.line, column, message: format!("invalid JSON: {}", error.message) }
    })
}

/// Finds the first token of a valid text that the parser would misread. Returns its offset and the
/// reason.
#[cfg(any(feature = "cli", test))]
pub(crate) fn misread(text: &str) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = match byte {
            b'"' => string_length(rest),
            b'-' | b'0'..=b'9' => {
                rest.iter().take_while(|b| b"+-.eE0123456789".contains(b)).count()
            }
            _ => 1,
        };
        let token = text.get(at..at + length).unwrap_or_default();
        match byte {
            b'"' if is_number_key(token) => {
                return Some((at, format!("the key `{NUMBER_KEY}` means something else here")));
            }
            b'-' | b'0'..=b'9' => {
                if let Some(why) = inexact(token) {
                    return Some((at, why));
                }
            }
            _ => {}
        }
        at += length.max(1);
    }
    None
}

/// Returns the length of the string at the beginning of `bytes`, quotes included.
#[cfg(any(feature = "cli", test))]
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(offset) = bytes.get(at..).and_then(|b| memchr::memchr2(b'"', b'\\', b)) {
        at += offset;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(any(feature = "cli", test))]
fn is_number_key(quoted: &str) -> bool {
    // At worst every character is escaped, in six bytes.
    quoted.len() <= NUMBER_KEY.len() * 6 + 2
        && (quoted.contains(NUMBER_KEY) || quoted.contains('\\'))
        && serde_json::from_str::<String>(quoted).is_ok_and(|key| key == NUMBER_KEY)
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
    fn a_text_that_would_be_misread_is_refused_with_its_position() {
        for (text, line, column, expected) in [
            ("{\n \"a\": 18446744073709551616}", 2, 7, "more than 64 bits"),
            ("[-9223372036854775809]", 1, 2, "more than 64 bits"),
            ("7.0000000000000000001", 1, 1, "would be rounded to 7"),
            ("[1e-400]", 1, 2, "would be rounded to 0"),
            ("9007199254740993.0", 1, 1, "would be rounded"),
            ("1e400", 1, 5, "out of range"),
            ("\"\\\\\" 1", 1, 6, "trailing characters"),
            (r#"{"a": {"$serde_json::private::Number": "12"}}"#, 1, 8, "means something else"),
            (r#"{"\u0024serde_json::private::Number": "12"}"#, 1, 2, "means something else"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert_eq!((wrong.line, wrong.column), (line, column), "{text}: {wrong:?}");
            assert!(wrong.message.contains(expected), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn documents_are_read_as_opa_reads_them() {
        for text in [
            "[7.0000000000000000001,1e-400,18446744073709551616,-9223372036854775809]",
            "[9007199254740993.0,1.10,1E400,0e5]",
            r#"{"$serde_json::private::Number":"12"}"#,
        ] {
            assert_eq!(read(text).unwrap().to_json(), text);
        }
        assert_eq!(read(r#"{"a": "\ud800", "a": "b"}"#).unwrap().to_json(), r#"{"a":"b"}"#);
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&deep(MAX_DEPTH)).is_ok() && read(&deep(MAX_DEPTH + 1)).is_err());
        for (text, line, column, expected) in [
            ("{\n \"é\": }", 2, 8, "invalid JSON: invalid character '}'"),
            ("1e999999999", 1, 1, "number too big"),
            ("{} x", 1, 4, "after top-level value"),
            ("[01]", 1, 3, "after array element"),
        ] {
            let wrong = read(text).unwrap_err();
            assert_eq!((wrong.line, wrong.column), (line, column), "{text}: {wrong:?}");
            assert!(wrong.message.contains(expected), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn exact_texts_are_read() {
        for text in [
            "18446744073709551615",
            "-9223372036854775808",
            r#"["99999999999999999999999", "\"", "\\", "a\\\"99999999999999999999"]"#,
            "[0.1, 1.10, 1.50e1, -0.0, 0e5, 100e-2, 1e30, 0.00043]",
            "9007199254740993",
            r#"{"99999999999999999999999": "$serde_json::private::Numbers"}"#,
        ] {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
    }
}
