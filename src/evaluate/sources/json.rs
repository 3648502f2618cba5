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

/// The first part of a valid text that the parser reads as something else, and why.
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
            b'-' | b'0'..=b'9' if is_wide(token) => {
                let shown = crate::text::shorten(token, 40);
                return Some((at, format!("the integer {shown} has more than 64 bits")));
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

/// Whether it is an integer that neither `i64` nor `u64` holds.
pub(super) fn is_wide(number: &str) -> bool {
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
            "1.00000000000000000001",
            "123456789012345678901.5",
            "1e30",
            r#"{"99999999999999999999999": "$serde_json::private::Numbers"}"#,
        ] {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
    }
}
