//! Encodings: JSON, base64, hexadecimal and URL queries.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurpose;

use super::encoding_rules::hex;
use super::operands::{answer, charge_elements, elements, object, operand, operand_error, string};
use super::{Answer, Context, Error, Value};
use crate::value::unicode::is_printable;
use crate::value::{Array, JsonLimits, JsonStyle, Object, lossy, named, quoted};

// --- JSON ------------------------------------------------------------------------------------

pub(super) fn json_marshal(context: &dyn Context, args: &[Value]) -> Answer {
    let value = operand(args, 0)?;
    context.charge(value.size())?;
    let text = value.to_go_json();
    context.charge(text.len() as u64)?;
    answer(text)
}

pub(super) fn json_marshal_with_options(context: &dyn Context, args: &[Value]) -> Answer {
    let value = operand(args, 0)?;
    let (mut indent, mut prefix, mut pretty, mut implied) = ("\t", "", None, false);
    let options = object(args, 1)?;
    for (index, (key, option)) in options.iter().enumerate() {
        let Value::String(name) = key else {
            let error = Error::operand(index, key, &["string"]);
            return Err(operand_error(
                2,
                &format!("failed to stringify key {key} at index {index}: {error}"),
            ));
        };
        let text = || {
            option.as_str().ok_or_else(|| {
                let error = Error::operand(index, option, &["string"]);
                operand_error(2, &format!("key {key} failed cast to string: {error}"))
            })
        };
        match &**name {
            "prefix" => (prefix, implied) = (text()?, true),
            "indent" => (indent, implied) = (text()?, true),
            "pretty" => match option {
                Value::Bool(value) => pretty = Some(*value),
                _ => return Err(operand_error(2, &format!("key {key} failed cast to bool"))),
            },
            _ => return Err(operand_error(2, &format!("object contained unknown key {key}"))),
        }
    }
    if !pretty.unwrap_or(implied) {
        return json_marshal(context, args);
    }
    let style = JsonStyle { indent: Some(indent), prefix, escape_html: true };
    let (lines, depth) = lines(value, 1);
    let per_line = (prefix.len() as u64).saturating_add(depth.saturating_mul(indent.len() as u64));
    context.charge(lines.saturating_mul(per_line).saturating_add(value.size()))?;
    // The first line has the prefix as well.
    answer(format!("{prefix}{}", value.to_json_styled(style)))
}

/// Returns the number of lines that the indented JSON of a value takes, and its depth.
fn lines(value: &Value, depth: u64) -> (u64, u64) {
    let parts: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Object(object) => Box::new(object.values()),
        other => match elements(other) {
            Some(elements) => elements,
            None => return (1, depth),
        },
    };
    crate::value::deeper(|| {
        parts.fold((2, depth), |(lines, deepest), part| {
            let (more, deep) = self::lines(part, depth + 1);
            (more.saturating_add(lines), deepest.max(deep))
        })
    })
}

pub(super) fn json_unmarshal(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    context.charge((text.len() as u64).saturating_mul(8))?;
    let limits = JsonLimits { ends_at_null: true, ..JsonLimits::default() };
    match Value::from_json_bytes(text.as_bytes(), limits) {
        Ok(value) => answer(value),
        Err(error) => Err(Error::failed(match error.message.as_str() {
            "unexpected end of JSON input" if text.trim_ascii().is_empty() => "EOF".to_owned(),
            "unexpected end of JSON input" => "unexpected EOF".to_owned(),
            message if message.ends_with("after top-level value") => format!("error: {message}"),
            message => message.to_owned(),
        })),
    }
}

pub(super) fn json_is_valid(_: &dyn Context, args: &[Value]) -> Answer {
    answer(operand(args, 0)?.as_str().is_some_and(|text| Value::is_json(text.as_bytes())))
}

// --- Base64 ----------------------------------------------------------------------------------

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(super) fn to_base64(context: &dyn Context, args: &[Value], engine: &GeneralPurpose) -> Answer {
    let text = string(args, 0)?;
    context.charge((text.len() as u64).saturating_mul(4) / 3)?;
    answer(engine.encode(text))
}

/// Decodes padded base64, ignoring line breaks and unused bits. The error is the position of the
/// offending byte.
fn from_base64(text: &[u8], alphabet: &[u8; 64]) -> Result<Vec<u8>, usize> {
    let is_break = |byte: Option<&u8>| matches!(byte, Some(b'\n' | b'\r'));
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    loop {
        let (mut bits, mut count, mut end) = (0_u32, 0, false);
        while count < 4 {
            let Some(&byte) = text.get(at) else {
                if count == 0 {
                    return Ok(out);
                }
                return Err(at - count);
            };
            at += 1;
            if let Some(value) = alphabet.iter().position(|letter| *letter == byte) {
                bits = bits << 6 | u32::try_from(value).unwrap_or_default();
                count += 1;
                continue;
            }
            if is_break(Some(&byte)) {
                continue;
            }
            if byte != b'=' || count < 2 {
                return Err(at - 1);
            }
            while count == 2 && is_break(text.get(at)) {
                at += 1;
            }
            if count == 2 {
                match text.get(at) {
                    None => return Err(text.len()),
                    Some(b'=') => at += 1,
                    Some(_) => return Err(at - 1),
                }
            }
            while is_break(text.get(at)) {
                at += 1;
            }
            if at < text.len() {
                return Err(at);
            }
            end = true;
            break;
        }
        bits <<= 6 * (4 - count);
        let [_, bytes @ ..] = bits.to_be_bytes();
        out.extend(bytes.iter().take(count - 1));
        if end {
            return Ok(out);
        }
    }
}

fn decoded(context: &dyn Context, text: &str, alphabet: &[u8; 64]) -> Answer {
    context.charge(text.len() as u64)?;
    match from_base64(text.as_bytes(), alphabet) {
        Ok(bytes) => answer(lossy(&bytes)),
        Err(at) => Err(Error::failed(format!("illegal base64 data at input byte {at}"))),
    }
}

pub(super) fn base64_decode(context: &dyn Context, args: &[Value]) -> Answer {
    decoded(context, string(args, 0)?, STANDARD)
}

pub(super) fn base64_is_valid(_: &dyn Context, args: &[Value]) -> Answer {
    let text = operand(args, 0)?.as_str();
    answer(text.is_some_and(|text| from_base64(text.as_bytes(), STANDARD).is_ok()))
}

pub(super) fn base64url_decode(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    let padding = match text.len() % 4 {
        _ if text.ends_with('=') => "",
        0 => "",
        2 => "==",
        3 => "=",
        _ => return Err(Error::failed(format!("illegal base64url string: {text}"))),
    };
    decoded(context, &format!("{text}{padding}"), URL)
}

// --- Hexadecimal -----------------------------------------------------------------------------

pub(super) fn hex_encode(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    context.charge((text.len() as u64).saturating_mul(2))?;
    answer(hex(text.as_bytes()))
}

pub(super) fn hex_decode(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    context.charge(text.len() as u64)?;
    let digit = |byte: u8| {
        char::from(byte).to_digit(16).ok_or_else(|| {
            let c = char::from(byte);
            let shown = if is_printable(c) { format!(" '{c}'") } else { String::new() };
            Error::failed(format!("encoding/hex: invalid byte: U+{byte:04X}{shown}"))
        })
    };
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut pairs = text.as_bytes().chunks_exact(2);
    for pair in &mut pairs {
        if let [high, low] = pair {
            bytes.push(u8::try_from(digit(*high)? * 16 + digit(*low)?).unwrap_or_default());
        }
    }
    if let [odd] = pairs.remainder() {
        digit(*odd)?;
        return Err(Error::failed("encoding/hex: odd length hex string"));
    }
    answer(lossy(&bytes))
}

// --- Queries ---------------------------------------------------------------------------------

/// Appends a text as Go's `url.QueryEscape` writes it.
pub(super) fn query_escape(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte))
            }
            b' ' => out.push('+'),
            _ => {
                // Writing to a string doesn't fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

pub(super) fn query_encode(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    context.charge((text.len() as u64).saturating_mul(3))?;
    let mut out = String::with_capacity(text.len());
    query_escape(&mut out, text);
    answer(out)
}

pub(super) fn query_encode_object(context: &dyn Context, args: &[Value]) -> Answer {
    let object = object(args, 0)?;
    let values = || operand_error(1, "values must be string, array[string], or set[string]");
    let mut members: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (key, value) in named(object) {
        let list = match value {
            Value::String(text) => vec![&**text],
            other => {
                let texts = elements(other).ok_or_else(values)?;
                let texts: Option<Vec<&str>> = texts.map(Value::as_str).collect();
                texts.ok_or_else(values)?
            }
        };
        members.insert(key, list);
    }
    let mut out = String::new();
    for (key, values) in &members {
        for value in values {
            context.charge((key.len() as u64 + value.len() as u64).saturating_mul(3))?;
            if !out.is_empty() {
                out.push('&');
            }
            query_escape(&mut out, key);
            out.push('=');
            query_escape(&mut out, value);
        }
    }
    answer(out)
}

fn unescaped(text: &str) -> Result<String, Error> {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digit =
                    |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
                let (Some(high), Some(low)) = (digit(at), digit(at + 1)) else {
                    let rest = bytes.get(at - 1..).unwrap_or_default();
                    let shown = lossy(rest.get(..3).unwrap_or(rest));
                    return Err(Error::failed(format!("invalid URL escape {}", quoted(&shown))));
                };
                out.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 2;
            }
            other => out.push(other),
        }
    }
    Ok(lossy(&out))
}

pub(super) fn query_decode(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    context.charge(text.len() as u64)?;
    answer(unescaped(text)?)
}

pub(super) fn query_decode_object(context: &dyn Context, args: &[Value]) -> Answer {
    const MAX_PARAMETERS: usize = 10_000;
    let text = string(args, 0)?;
    if text.matches('&').count() + 1 > MAX_PARAMETERS {
        return Err(Error::failed("number of URL query parameters exceeded limit"));
    }
    context.charge(text.len() as u64)?;
    let mut object: BTreeMap<Value, Array> = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        charge_elements(context, 4)?;
        if pair.contains(';') {
            return Err(Error::failed("invalid semicolon separator in query"));
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = unescaped(key)?;
        object.entry(Value::from(key)).or_default().push(Value::from(unescaped(value)?));
    }
    answer(object.into_iter().map(|(key, values)| (key, Value::from(values))).collect::<Object>())
}
