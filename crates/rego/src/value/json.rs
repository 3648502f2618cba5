//! JSON text to values and back.
//!
//! Reads as OPA does: a number keeps its text, the last of several equal keys wins, and each byte
//! that isn't valid UTF-8 becomes U+FFFD. Writes as OPA does: members are ordered by name, sets
//! become arrays, and keys that aren't strings become their JSON text.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write};
use std::sync::Arc;

use super::{Array, Number, NumberError, Object, Value, deeper, lossy, meter, quote_with};
use crate::text::shorten;

/// Limits on what may be read.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct JsonLimits {
    /// The maximum nesting depth.
    pub depth: usize,
    /// Set to refuse an object in which a key appears twice: parsers differ in which of the two they
    /// take.
    pub unique_keys: bool,
    /// Set to end before a `null` after the value, whatever follows it, as OPA's built-in functions
    /// do.
    pub ends_at_null: bool,
}

impl Default for JsonLimits {
    /// OPA's limits.
    fn default() -> Self {
        Self { depth: 10_000, unique_keys: false, ends_at_null: false }
    }
}

impl JsonLimits {
    /// Sets the maximum nesting depth.
    #[must_use]
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Refuses an object in which a key appears twice.
    #[must_use]
    pub fn unique_keys(mut self) -> Self {
        self.unique_keys = true;
        self
    }
}

/// The layout of written JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonStyle<'a> {
    /// The indentation of each level; `None` writes everything on one line.
    pub indent: Option<&'a str>,
    /// The prefix of each line after the first.
    pub prefix: &'a str,
    /// Writes `<`, `>` and `&` as escapes, as Go does by default.
    pub escape_html: bool,
}

/// The error for text that isn't valid JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonError {
    /// A description of the error.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, line, column, .. } = self;
        write!(f, "invalid JSON: {message} at line {line}, column {column}")
    }
}

impl std::error::Error for JsonError {}

impl Value {
    /// Parses JSON.
    ///
    /// # Errors
    /// Returns an error if the text isn't JSON or is nested too deeply.
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        Self::from_json_bytes(text.as_bytes(), JsonLimits::default())
    }

    /// Parses JSON within limits.
    ///
    /// # Errors
    /// Returns an error if the text isn't JSON or exceeds the limits.
    pub fn from_json_bytes(text: &[u8], limits: JsonLimits) -> Result<Self, JsonError> {
        let mut reader = Reader::new(text, limits);
        reader.document().map_err(|failure| reader.locate(failure))
    }

    /// Parses the first JSON value of a text within limits. Returns it with the position of the byte behind
    /// it; what follows isn't read.
    ///
    /// # Errors
    /// Returns an error if the text doesn't begin with JSON or exceeds the limits.
    #[doc(hidden)]
    pub fn first_of_json(text: &[u8], limits: JsonLimits) -> Result<(Self, usize), JsonError> {
        let mut reader = Reader::new(text, limits);
        let value = reader.value().map_err(|failure| reader.locate(failure))?;
        Ok((value, reader.at))
    }

    /// Returns `true` if `text` is JSON, whatever the size of its numbers.
    pub fn is_json(text: &[u8]) -> bool {
        let limits = JsonLimits::default();
        Reader { bounded: false, ..Reader::new(text, limits) }.document().is_ok()
    }

    /// Returns the JSON text on one line.
    pub fn to_json(&self) -> String {
        self.to_json_styled(JsonStyle::default())
    }

    /// Returns the JSON text on one line as Go writes it, with escapes for `<`, `>` and `&`.
    pub(crate) fn to_go_json(&self) -> String {
        self.to_json_styled(JsonStyle { escape_html: true, ..JsonStyle::default() })
    }

    /// Returns the JSON text on several lines, indented by two spaces.
    pub fn to_json_pretty(&self) -> String {
        self.to_json_styled(JsonStyle { indent: Some("  "), ..JsonStyle::default() })
    }

    /// Returns the JSON text in the given style.
    pub fn to_json_styled(&self, style: JsonStyle<'_>) -> String {
        let mut out = String::new();
        // Writing to a string doesn't fail.
        let _ = self.write_json(&mut out, style);
        out
    }

    /// Writes the JSON text.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_json(&self, out: &mut dyn Write, style: JsonStyle<'_>) -> fmt::Result {
        Writer { out, style, level: 0 }.value(self)
    }
}

// --- Reading ---------------------------------------------------------------------------------

/// An error message and the offset of the offending byte.
struct Failure {
    message: String,
    at: usize,
}

type Read<T> = Result<T, Failure>;

/// A small cache of member names, so that equal names share one allocation.
struct NameCache([Option<Arc<str>>; 64]);

impl Default for NameCache {
    fn default() -> Self {
        Self([const { None }; 64])
    }
}

impl NameCache {
    fn get(&mut self, name: &str) -> Arc<str> {
        let bytes = name.as_bytes();
        let mix = |at: usize| bytes.get(at).copied().map_or(0, usize::from);
        let index = bytes.len()
            ^ mix(0)
            ^ (mix(bytes.len() / 2) << 2)
            ^ (mix(bytes.len().wrapping_sub(1)) << 3);
        let Some(kept) = self.0.get_mut(index % 64) else { return name.into() };
        match kept {
            Some(kept) if **kept == *name => Arc::clone(kept),
            kept => {
                let made: Arc<str> = name.into();
                *kept = Some(Arc::clone(&made));
                made
            }
        }
    }
}

/// The maximum number of members for which memory is reserved before an object is read.
const MAX_EXPECTED: usize = 32;

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    limits: JsonLimits,
    /// `true` if numbers beyond OPA's limit are errors.
    bounded: bool,
    names: NameCache,
    /// The number of members of the last complete object. The next one often has as many.
    members: usize,
    /// The position from which on the host is asked whether to go on.
    ask_at: usize,
}

/// The number of bytes that are read between two questions to the host.
const BYTES_BETWEEN_QUESTIONS: usize = 1 << 20;

/// A collection that is still being read.
enum Open {
    Array(Array),
    /// The members so far, and the name of the next one.
    Object(Vec<(Value, Value)>, Option<Arc<str>>),
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8], limits: JsonLimits) -> Self {
        Self {
            text,
            at: 0,
            limits,
            bounded: true,
            names: NameCache::default(),
            members: 0,
            ask_at: BYTES_BETWEEN_QUESTIONS,
        }
    }

    fn locate(&self, failure: Failure) -> JsonError {
        let before = self.text.get(..failure.at).unwrap_or(self.text);
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let rest = before.get(start..).unwrap_or_default();
        let column = String::from_utf8_lossy(rest).chars().count() + 1;
        JsonError { message: failure.message, line, column }
    }

    fn fail<T>(&self, context: &str) -> Read<T> {
        let at = self.at;
        let Some(byte) = self.text.get(at).copied() else {
            return Err(Failure { message: "unexpected end of JSON input".to_owned(), at });
        };
        let mut message = String::from("invalid character ");
        // Writing to a string doesn't fail.
        let _ = quote_with(&mut message, char::from(byte).encode_utf8(&mut [0; 4]), '\'', false);
        message.extend([" ", context]);
        Err(Failure { message, at })
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn document(&mut self) -> Read<Value> {
        let value = self.value()?;
        self.space();
        let rest = self.text.get(self.at..).unwrap_or_default();
        if rest.is_empty() || self.limits.ends_at_null && rest.starts_with(b"null") {
            return Ok(value);
        }
        self.fail("after top-level value")
    }

    /// Reads a value and everything nested in it, with an explicit stack instead of recursion.
    fn value(&mut self) -> Read<Value> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            if self.at >= self.ask_at {
                self.ask_at = self.at + BYTES_BETWEEN_QUESTIONS;
                if !meter::goes_on() {
                    return Err(Failure { message: "interrupted".to_owned(), at: self.at });
                }
            }
            self.space();
            // An opening bracket continues with the first element; anything else is a complete
            // value.
            let mut value = match self.peek() {
                Some(b'[') => {
                    self.enter(open.len())?;
                    self.space();
                    if self.peek() == Some(b']') {
                        self.at += 1;
                        Value::new_array()
                    } else {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                }
                Some(b'{') => {
                    self.enter(open.len())?;
                    self.space();
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                        Value::new_object()
                    } else {
                        let name = self.name()?;
                        open.push(Open::Object(Vec::with_capacity(self.members), Some(name)));
                        continue;
                    }
                }
                _ => self.scalar()?,
            };
            // Closes all collections that end with this value.
            loop {
                let Some(parent) = open.last_mut() else { return Ok(value) };
                match parent {
                    Open::Array(values) => {
                        values.push(value);
                        self.space();
                        match self.peek() {
                            Some(b',') => {
                                self.at += 1;
                                break;
                            }
                            Some(b']') => self.at += 1,
                            _ => return self.fail("after array element"),
                        }
                    }
                    Open::Object(members, name) => {
                        if let Some(name) = name.take() {
                            members.push((Value::String(name.into()), value));
                        }
                        self.space();
                        match self.peek() {
                            Some(b',') => {
                                self.at += 1;
                                self.space();
                                let next = self.name()?;
                                if let Some(Open::Object(_, name)) = open.last_mut() {
                                    *name = Some(next);
                                }
                                break;
                            }
                            Some(b'}') => self.at += 1,
                            _ => return self.fail("after object key:value pair"),
                        }
                    }
                }
                value = match open.pop() {
                    Some(Open::Array(mut values)) => {
                        values.shrink_to_fit();
                        Value::from(values)
                    }
                    Some(Open::Object(members, _)) => {
                        self.members = members.len().min(MAX_EXPECTED);
                        if self.limits.unique_keys {
                            self.refuse_repeated(&members)?;
                        }
                        Value::from(members.into_iter().collect::<Object>())
                    }
                    None => Value::Null,
                };
            }
        }
    }

    /// Fails if two members of the object that ends here have one name.
    fn refuse_repeated(&self, members: &[(Value, Value)]) -> Read<()> {
        let mut names = HashSet::with_capacity(members.len());
        let repeated = members.iter().filter_map(|(name, _)| name.as_str());
        match repeated.into_iter().find(|name| !names.insert(*name)) {
            None => Ok(()),
            Some(name) => {
                let message = format!("the key `{}` appears twice", shorten(name, 80));
                Err(Failure { message, at: self.at })
            }
        }
    }

    fn enter(&mut self, depth: usize) -> Read<()> {
        if depth >= self.limits.depth {
            return Err(Failure { message: "exceeded max depth".to_owned(), at: self.at });
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a member's name and the colon after it.
    fn name(&mut self) -> Read<Arc<str>> {
        if self.peek() != Some(b'"') {
            return self.fail("looking for beginning of object key string");
        }
        let name = match self.string()? {
            Cow::Borrowed(name) => self.names.get(name),
            Cow::Owned(name) => name.into(),
        };
        self.space();
        if self.peek() != Some(b':') {
            return self.fail("after object key");
        }
        self.at += 1;
        Ok(name)
    }

    fn scalar(&mut self) -> Read<Value> {
        match self.peek() {
            Some(b'"') => Ok(match self.string()? {
                Cow::Borrowed(text) => Value::from(text),
                Cow::Owned(text) => Value::from(text),
            }),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => self.fail("looking for beginning of value"),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Read<Value> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return self
                    .fail(&format!("in literal {word} (expecting '{}')", char::from(expected)));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Read<Value> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.fail("in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.fail("after decimal point in numeric literal");
            }
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.fail("in exponent of numeric literal");
            }
            self.digits();
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        let text = std::str::from_utf8(text).unwrap_or_default();
        match Number::read(text) {
            Ok(number) => Ok(Value::Number(number)),
            Err(_) if !self.bounded => Ok(Value::Null),
            Err(NumberError::Invalid) => self.fail("in numeric literal"),
            Err(error) => Err(Failure { message: format!("invalid number: {error}"), at: start }),
        }
    }

    /// Reads a string; the next byte is its opening quote.
    fn string(&mut self) -> Read<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        let text: &'a [u8] = self.text;
        let rest = text.get(start..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ')
            .unwrap_or(rest.len());
        let plain = rest.get(..end).unwrap_or_default();
        if rest.get(end) == Some(&b'"') {
            self.at += end + 1;
            return Ok(match std::str::from_utf8(plain) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(lossy(plain)),
            });
        }
        let mut out: Vec<u8> = plain.to_vec();
        self.at += end;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(lossy(&out)));
                }
                Some(b'\\') => {
                    self.at += 1;
                    let c = self.escape()?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(byte) if byte >= b' ' => {
                    let rest = self.text.get(self.at..).unwrap_or_default();
                    let run = rest
                        .iter()
                        .position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ')
                        .unwrap_or(rest.len());
                    out.extend_from_slice(rest.get(..run).unwrap_or_default());
                    self.at += run;
                }
                _ => return self.fail("in string literal"),
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        let c = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let first = self.unit()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                // A lone surrogate becomes U+FFFD; what follows is read on its own.
                let after = self.at;
                if self.text.get(after..after + 2) == Some(b"\\u") {
                    self.at += 2;
                    let second = self.unit()?;
                    if (0xdc00..0xe000).contains(&second) {
                        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    self.at = after;
                }
                return Ok(char::REPLACEMENT_CHARACTER);
            }
            _ => return self.fail("in string escape code"),
        };
        self.at += 1;
        Ok(c)
    }

    /// Reads four hexadecimal digits.
    fn unit(&mut self) -> Read<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.fail("in \\u hexadecimal character escape");
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }
}

// --- Writing ---------------------------------------------------------------------------------

/// The members of an object by name. Keys that aren't strings are named by their JSON text; if names
/// collide, the last one wins.
pub(crate) fn named(object: &Object) -> BTreeMap<String, &Value> {
    let name = |key: &Value| key.as_str().map_or_else(|| key.to_go_json(), str::to_owned);
    object.iter().map(|(key, value)| (name(key), value)).collect()
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    style: JsonStyle<'a>,
    level: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) -> fmt::Result {
        match value {
            Value::Null => self.out.write_str("null"),
            Value::Bool(value) => self.out.write_str(if *value { "true" } else { "false" }),
            Value::Number(number) => write!(self.out, "{number}"),
            Value::String(text) => write_json_string(self.out, text, self.style.escape_html),
            Value::Array(array) if meter::visits(array.len()) => {
                deeper(|| self.list(array.len(), array.iter()))
            }
            Value::Set(set) if meter::visits(set.len()) => {
                deeper(|| self.list(set.len(), set.iter()))
            }
            Value::Object(object) if meter::visits(object.len()) => deeper(|| self.object(object)),
            // The evaluation ends with an error.
            Value::Array(_) | Value::Set(_) | Value::Object(_) => Ok(()),
        }
    }

    fn line(&mut self) -> fmt::Result {
        if let Some(indent) = self.style.indent {
            self.out.write_char('\n')?;
            self.out.write_str(self.style.prefix)?;
            for _ in 0..self.level {
                self.out.write_str(indent)?;
            }
        }
        Ok(())
    }

    fn list<'v>(&mut self, count: usize, values: impl Iterator<Item = &'v Value>) -> fmt::Result {
        if count == 0 {
            return self.out.write_str("[]");
        }
        self.out.write_char('[')?;
        self.level += 1;
        for (i, value) in values.enumerate() {
            if i > 0 {
                self.out.write_char(',')?;
            }
            self.line()?;
            self.value(value)?;
        }
        self.level -= 1;
        self.line()?;
        self.out.write_char(']')
    }

    fn object(&mut self, object: &Object) -> fmt::Result {
        if object.is_empty() {
            return self.out.write_str("{}");
        }
        if object.keys().all(|key| matches!(key, Value::String(_))) {
            let members = object.iter().filter_map(|(key, value)| Some((key.as_str()?, value)));
            return self.members(members);
        }
        self.members(named(object).iter().map(|(name, value)| (name.as_str(), *value)))
    }

    fn members<'v>(&mut self, members: impl Iterator<Item = (&'v str, &'v Value)>) -> fmt::Result {
        self.out.write_char('{')?;
        self.level += 1;
        for (i, (name, value)) in members.enumerate() {
            if i > 0 {
                self.out.write_char(',')?;
            }
            self.line()?;
            write_json_string(self.out, name, self.style.escape_html)?;
            self.out.write_str(if self.style.indent.is_some() { ": " } else { ":" })?;
            self.value(value)?;
        }
        self.level -= 1;
        self.line()?;
        self.out.write_char('}')
    }
}

/// Writes a JSON string as Go does.
pub(crate) fn write_json_string(out: &mut dyn Write, text: &str, escape_html: bool) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| {
        byte < b' '
            || byte == b'"'
            || byte == b'\\'
            || byte == 0xe2
            || escape_html && matches!(byte, b'<' | b'>' | b'&')
    }) {
        let (plain, tail) = rest.split_at(at);
        out.write_str(plain)?;
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out.write_str("\\\"")?,
            Some('\\') => out.write_str("\\\\")?,
            Some('\n') => out.write_str("\\n")?,
            Some('\r') => out.write_str("\\r")?,
            Some('\t') => out.write_str("\\t")?,
            Some('\u{8}') => out.write_str("\\b")?,
            Some('\u{c}') => out.write_str("\\f")?,
            Some(c) if c < ' ' || c.is_ascii() || matches!(c, '\u{2028}' | '\u{2029}') => {
                write!(out, "\\u{:04x}", u32::from(c))?;
            }
            Some(c) => out.write_char(c)?,
            None => {}
        }
        rest = chars.as_str();
    }
    out.write_str(rest)?;
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn json_text_survives_a_round_trip() {
        for text in [
            r#"{"a":[1,1.10,1e3,-0,"é\u2028\n\"",null,true,{}],"b":{"":[]}}"#,
            "12345678901234567890.000",
            r#""""#,
        ] {
            assert_eq!(Value::from_json(text).unwrap().to_json(), text);
        }
        let value = Value::from_json(" { \"b\" : 1 , \"a\":2, \"b\":[ ] } ").unwrap();
        assert_eq!(value.to_json(), r#"{"a":2,"b":[]}"#);
        let pair = Value::from_json(r#""\ud83d\ude00 \ud83d x \udc00""#).unwrap();
        assert_eq!(pair, Value::from("😀 \u{fffd} x \u{fffd}"));
    }

    #[test]
    fn errors_have_the_message_of_go_and_a_position() {
        for (text, message) in [
            ("", "unexpected end of JSON input at line 1, column 1"),
            ("[1,]", "invalid character ']' looking for beginning of value at line 1, column 4"),
            ("{\n \"a\" 1}", "invalid character '1' after object key at line 2, column 6"),
            (
                "{'a': 1}",
                "invalid character '\\'' looking for beginning of object key string at line 1, column 2",
            ),
            ("trux", "invalid character 'x' in literal true (expecting 'e') at line 1, column 4"),
            ("01", "invalid character '1' after top-level value at line 1, column 2"),
            ("1e999999", "invalid number: number too big at line 1, column 1"),
        ] {
            let error = Value::from_json(text).unwrap_err().to_string();
            assert_eq!(error, format!("invalid JSON: {message}"), "{text}");
        }
        let deep = "[".repeat(10_001);
        assert_eq!(Value::from_json(&deep).unwrap_err().message, "exceeded max depth");
    }

    #[test]
    fn sets_and_keys_that_are_not_strings_are_written_as_opa_does() {
        let object: Object = [
            (Value::from(1), Value::from("<")),
            (Value::from("1"), Value::from(2)),
            (
                Value::from(vec![Value::from("a")]),
                Value::from([Value::Null].into_iter().collect::<super::super::Set>()),
            ),
        ]
        .into();
        let value = Value::from(object);
        assert_eq!(value.to_json(), r#"{"1":2,"[\"a\"]":[null]}"#);
        assert_eq!(value.to_string(), r#"{1: "<", "1": 2, ["a"]: {null}}"#);
        assert_eq!(
            Value::from("<")
                .to_json_styled(JsonStyle { escape_html: true, ..JsonStyle::default() }),
            r#""\u003c""#
        );
    }
}
