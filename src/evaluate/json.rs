//! JSON texts as values of the interpreter, exactly or not at all.
//!
//! Owns the one way from a text to a value: the interpreter reads an object with the single key
//! `$serde_json::private::Number` as a number, integers beyond 64 bits as floats and numbers beyond
//! a double as infinite, all without a word. Such texts are refused, with their place. A key that
//! is there twice has its last value, as in OPA; nesting is bounded by the parser (128 levels).

use regorus::Value;

/// What keys of the parser's own begin with.
const PRIVATE: &str = "$serde_json::private::";

/// Why a text isn't read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// What is wrong, without the place.
    pub(crate) message: String,
    /// From 1.
    pub(crate) line: usize,
    /// In bytes, from 1.
    pub(crate) column: usize,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at line {} column {}", self.message, self.line, self.column)
    }
}

/// The value of a JSON text.
pub(crate) fn parse(text: &str) -> Result<Value, Wrong> {
    let value = serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
        Wrong { message: said.to_owned(), line: error.line(), column: error.column() }
    })?;
    check(text)?;
    Ok(value)
}

/// Checks that a text which is JSON would be read exactly.
pub(crate) fn check(text: &str) -> Result<(), Wrong> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let end = match byte {
            b'"' => string_end(bytes, at),
            b'-' | b'0'..=b'9' => number_end(bytes, at),
            _ => {
                at += 1;
                continue;
            }
        };
        let token = text.get(at..end).unwrap_or("");
        let message = match byte {
            b'"' if is_key(bytes, end) => private_key(token),
            b'"' => None,
            _ => number(token),
        };
        if let Some(message) = message {
            return Err(wrong(text, at, message));
        }
        at = end;
    }
    Ok(())
}

/// Whether a key, without its quotes and escapes, is one of the parser's own.
pub(crate) fn is_private(key: &str) -> bool {
    key.starts_with(PRIVATE)
}

fn private_key(token: &str) -> Option<String> {
    // Without an escape the name stands there as it is.
    if !token.contains('\\') && !token.contains(PRIVATE) {
        return None;
    }
    let key: String = serde_json::from_str(token).ok()?;
    is_private(&key).then(|| format!("the key `{key}` can't be kept"))
}

fn number(token: &str) -> Option<String> {
    let shown = crate::text::shorten(token, 40);
    if token.contains(['.', 'e', 'E']) {
        let finite = token.parse::<f64>().is_ok_and(f64::is_finite);
        return (!finite).then(|| format!("the number `{shown}` is too large to be kept"));
    }
    let exact = token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok();
    (!exact).then(|| format!("the number `{shown}` is beyond 64 bits and can't be kept exactly"))
}

/// Where the string ends that starts at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn number_end(bytes: &[u8], start: usize) -> usize {
    let part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    let rest = bytes.get(start..).unwrap_or(&[]);
    start + rest.iter().position(|byte| !part(byte)).unwrap_or(rest.len())
}

fn is_key(bytes: &[u8], end: usize) -> bool {
    let rest = bytes.get(end..).unwrap_or(&[]);
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

fn wrong(text: &str, at: usize, message: String) -> Wrong {
    let before = text.get(..at).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    let column = at - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
    Wrong { message, line, column }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_would_be_read_as_something_else_is_refused() {
        for (text, line, column) in [
            (r#"{"$serde_json::private::Number": "1"}"#, 1, 2),
            (r#"{"\u0024serde_json::private::Number": "1"}"#, 1, 2),
            (r#"{"$serde_json\u003a:private::\u004eumber" : "1"}"#, 1, 2),
            ("[\n {\"a\": [\"\\\"\", {\"$serde_json::private::RawValue\": \"1\"}]}]", 2, 16),
            ("[18446744073709551616]", 1, 2),
            ("{\"a\":\n-9223372036854775809}", 2, 1),
            ("1e400", 1, 5),
            ("{\"a\": }", 1, 7),
        ] {
            let wrong = parse(text).unwrap_err();
            assert_eq!((wrong.line, wrong.column), (line, column), "{text}: {wrong}");
        }
        assert!(check("[-1E+999]").unwrap_err().message.contains("too large"));
        assert!(parse(&"[".repeat(200)).unwrap_err().message.contains("recursion"));
    }

    #[test]
    fn everything_else_is_kept() {
        for text in [
            r#"{"a":"$serde_json::private::Number"}"#,
            r#"["$serde_json::private::Number","\u0024serde_json::private::Number"]"#,
            r#"{"x$serde_json::private::Number":"99999999999999999999"}"#,
            "[18446744073709551615,-9223372036854775808,1.5,1e300]",
            r#"{"\\":"\"","b\"":[]}"#,
        ] {
            let wanted: serde_json::Value = serde_json::from_str(text).unwrap();
            let got = serde_json::to_value(parse(text).unwrap()).unwrap();
            assert_eq!(got.to_string().replace("e+", "e"), wanted.to_string().replace("e+", "e"));
        }
        assert_eq!(parse(r#"{"a": 1, "a": 2}"#).unwrap(), parse(r#"{"a": 2}"#).unwrap());
    }
}
