//! JSON text as a value: exactly, or not at all.
//!
//! Owns what the parser would take for something else than it says, without an error: an integer
//! beyond 64 bits would be rounded, so that a policy that looks for it doesn't find it, and an
//! object with one certain key would become a number. How documents are combined is not its part.

use crate::rego::Value;

/// What is wrong, and where: line and column from 1, the column in bytes.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// A number that the value doesn't hold as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inexact {
    /// The keys that lead to it, indices of arrays included; empty where they aren't known.
    pub path: Vec<String>,
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// The key by which the interpreter's parser hands numbers around.
pub(crate) const NUMBER_KEY: &str = "$serde_json::private::Number";

/// Parses a document of any type.
pub(crate) fn parse(text: &str) -> Result<Value, Wrong> {
    let value = serde_json::from_str::<Value>(text).map_err(|error| {
        let said = error.to_string();
        // The place is given on its own.
        let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
        Wrong { line: error.line(), column: error.column(), message: format!("no JSON: {said}") }
    })?;
    match misread(text) {
        None => Ok(value),
        Some((at, message)) => {
            let before = text.get(..at).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |end| end + 1);
            let line = before.matches('\n').count() + 1;
            Err(Wrong { line, column: at - line_start + 1, message })
        }
    }
}

/// Parses a document of any type; the numbers that aren't the ones that are written are listed.
pub(crate) fn parse_inexactly(text: &str) -> Result<(Value, Vec<Inexact>), Wrong> {
    match parse(text) {
        Ok(value) => Ok((value, Vec::new())),
        Err(wrong) => {
            let found = all_inexact(text);
            // Everything else that is wrong stays wrong.
            if !found.iter().any(|f| (f.line, f.column) == (wrong.line, wrong.column)) {
                return Err(wrong);
            }
            let key = |(_, message): &(usize, String)| message.contains(NUMBER_KEY);
            if misread_from(text, &mut |_| false).is_some_and(|found| key(&found)) {
                return Err(wrong);
            }
            serde_json::from_str(text).map(|value| (value, found)).map_err(|_| wrong)
        }
    }
}

/// Every number of a valid text that its value doesn't hold, with the keys that lead to it.
fn all_inexact(text: &str) -> Vec<Inexact> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // For each container that is open: its key or index, and whether it is an object.
    let mut open: Vec<(String, bool, usize)> = Vec::new();
    let (mut at, mut line, mut start) = (0, 1, 0);
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let mut length = 1;
        match byte {
            b'\n' => (line, start) = (line + 1, at + 1),
            b'{' => open.push((String::new(), true, 0)),
            b'[' => open.push(("0".to_owned(), false, 0)),
            b'}' | b']' => drop(open.pop()),
            b',' => {
                if let Some((key, false, index)) = open.last_mut() {
                    *index += 1;
                    *key = index.to_string();
                }
            }
            b'"' => {
                length = string_length(rest);
                let follows = bytes.get(at + length..).unwrap_or_default().trim_ascii_start();
                if let (Some((key, true, _)), Some(b':')) = (open.last_mut(), follows.first()) {
                    let quoted = text.get(at..at + length).unwrap_or_default();
                    *key = serde_json::from_str(quoted).unwrap_or_default();
                }
            }
            b'-' | b'0'..=b'9' => {
                length = rest.iter().take_while(|b| b"+-.eE0123456789".contains(b)).count();
                let token = text.get(at..at + length).unwrap_or_default();
                if let Some(message) = inexact(token) {
                    let path = open.iter().map(|(key, ..)| key.clone()).collect();
                    found.push(Inexact { path, line, column: at - start + 1, message });
                }
            }
            _ => {}
        }
        at += length.max(1);
    }
    found
}

/// The first part of a valid text that the parser reads as something else, and why.
pub(crate) fn misread(text: &str) -> Option<(usize, String)> {
    misread_from(text, &mut |_| true)
}

/// The same; of numbers those alone that `counts`.
fn misread_from(text: &str, counts: &mut dyn FnMut(&str) -> bool) -> Option<(usize, String)> {
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
                if let Some(why) = inexact(token).filter(|_| counts(token)) {
                    return Some((at, why));
                }
            }
            _ => {}
        }
        at += length.max(1);
    }
    None
}

/// The length of the string that `bytes` begin with, quotes included.
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

fn is_number_key(quoted: &str) -> bool {
    // At most every character is escaped, as six.
    quoted.len() <= NUMBER_KEY.len() * 6 + 2
        && (quoted.contains(NUMBER_KEY) || quoted.contains('\\'))
        && serde_json::from_str::<String>(quoted).is_ok_and(|key| key == NUMBER_KEY)
}

/// Why the value of a number isn't the number that is written; nothing where it is. The only place
/// that decides it: an integer has to fit 64 bits, any other number has to be the shortest text of
/// its double, zeros and the place of the point aside.
pub(crate) fn inexact(number: &str) -> Option<String> {
    if is_wide(number) {
        let shown = crate::text::shorten(number, 40);
        return Some(format!("the integer {shown} has more than 64 bits"));
    }
    if number.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return None;
    }
    // A double holds fifteen digits, whichever they are.
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

/// A decimal number as its digits, without zeros at either end, and the exponent of the first.
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

/// Whether it is an integer that neither `i64` nor `u64` holds.
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
    fn what_would_be_misread_is_refused_with_its_place() {
        for (text, line, column, said) in [
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
            assert!(wrong.message.contains(said), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn everything_else_is_read() {
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
