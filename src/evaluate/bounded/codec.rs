//! Texts in other notations: base64 and URLs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use regorus::Value;

use super::arguments::{object, string, strings};
use super::{Outcome, Scope, native, operand, size};

/// `base64.is_valid(text)`; line breaks count for nothing.
pub(super) fn base64_is_valid(scope: &Scope, args: &[Value]) -> Outcome {
    native::call(scope, "base64.is_valid", &[without_breaks(string(args, 0)?)])
}

/// `base64.decode(text)`; line breaks count for nothing.
pub(super) fn base64_decode(scope: &Scope, args: &[Value]) -> Outcome {
    native::call(scope, "base64.decode", &[without_breaks(string(args, 0)?)])
}

fn without_breaks(text: &str) -> Value {
    Value::from(text.replace(['\r', '\n'], ""))
}

fn escaped(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// `urlquery.encode(text)`.
pub(super) fn url_encode(scope: &Scope, args: &[Value]) -> Outcome {
    let text = string(args, 0)?;
    size::string(scope, (text.len() as u64).saturating_mul(3))?;
    let mut out = String::with_capacity(text.len());
    escaped(&mut out, text);
    Ok(Value::from(out))
}

/// `urlquery.encode_object(object)`: values are strings, or arrays or sets of strings.
pub(super) fn url_encode_object(scope: &Scope, args: &[Value]) -> Outcome {
    let mut out = String::new();
    for (key, value) in object(args, 0)?.iter_sorted() {
        let Value::String(key) = key else { return operand("keys must be strings") };
        let values = match value {
            Value::String(text) => vec![&**text],
            Value::Array(_) | Value::Set(_) => strings(std::slice::from_ref(value), 0)?,
            _ => return operand("values must be strings, or arrays or sets of strings"),
        };
        for value in values {
            if !out.is_empty() {
                out.push('&');
            }
            escaped(&mut out, key);
            out.push('=');
            escaped(&mut out, value);
            if out.len() as u64 > scope.bounds().string {
                size::string(scope, out.len() as u64)?;
            }
        }
    }
    size::string(scope, out.len() as u64)?;
    Ok(Value::from(out))
}

fn unescaped(text: &str) -> Result<String, super::Fault> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                let (Some(high), Some(low)) = (digit(), digit()) else {
                    return operand("invalid URL escape");
                };
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).or_else(|_| operand("the decoded text isn't UTF-8"))
}

/// `urlquery.decode(text)`.
pub(super) fn url_decode(scope: &Scope, args: &[Value]) -> Outcome {
    let text = unescaped(string(args, 0)?)?;
    size::string(scope, text.len() as u64)?;
    Ok(Value::from(text))
}

/// `urlquery.decode_object(text)`: each key with all its values.
pub(super) fn url_decode_object(scope: &Scope, args: &[Value]) -> Outcome {
    let text = string(args, 0)?;
    size::bytes(scope, text.len() as u64 * 8)?;
    let mut object: BTreeMap<Value, Vec<Value>> = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        if pair.contains(';') {
            return operand("invalid semicolon separator in query");
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = Value::from(unescaped(value)?);
        object.entry(Value::from(unescaped(key)?)).or_default().push(value);
    }
    let members = object.into_iter().map(|(key, values)| (key, Value::from(values)));
    Ok(Value::from(members.collect::<BTreeMap<_, _>>()))
}
