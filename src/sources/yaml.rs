//! Reading YAML as OPA does: the first document of a text, as the JSON that it stands for.
//!
//! Owns the meaning of scalars. The parser finds scalars and tells whether they are quoted; the
//! meaning of a plain one follows the rules of OPA's reader (integers of YAML 1.1, booleans of
//! 1.2), so that a policy sees the same value as in OPA. Line separators that only one version of
//! YAML treats as line breaks are refused.

use std::collections::BTreeMap;

use crate::rego::Value;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput, Tag};

use super::json::{self, Inexact};

/// The deepest nesting; `serde_json` has the same limit.
const MAX_DEPTH: usize = 128;

/// The most values of a document, counting those that aliases repeat.
const MAX_VALUES: usize = 10_000_000;

/// A problem with its position: line and column from 1, the column in characters.
#[derive(Debug)]
pub(super) struct YamlError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// The first document of a text.
#[derive(Debug)]
pub(super) struct FirstDocument {
    /// Its value; `None` if the text contains no document.
    pub value: Option<Value>,
    /// The number of further documents.
    pub further: usize,
    /// Numbers that aren't held exactly as they are written.
    pub inexact: Vec<Inexact>,
}

/// Reads the first document of a text; the further ones are only checked.
pub(super) fn read(text: &str) -> Result<FirstDocument, YamlError> {
    // If the parser, a dependency, panics, the text is refused.
    let done = std::panic::catch_unwind(|| Reader::new(text).stream());
    done.unwrap_or_else(|_| {
        Err(YamlError { line: 1, column: 1, message: "invalid YAML".to_owned() })
    })
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    text: &'t str,
    anchors: BTreeMap<usize, (Value, usize)>,
    values: usize,
    at: (usize, usize),
    path: Vec<String>,
    inexact: Vec<Inexact>,
}

/// The meaning of a scalar.
#[derive(Debug, Clone, PartialEq)]
enum Scalar {
    Null,
    Bool(bool),
    /// The decimal digits of an integer, or a decimal fraction as it is written.
    Number(String),
    Text(String),
    Merge,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            parser: Parser::new_from_str(text),
            text,
            anchors: BTreeMap::new(),
            values: 0,
            at: (1, 1),
            path: Vec::new(),
            inexact: Vec::new(),
        }
    }

    fn wrong(&self, message: impl Into<String>) -> YamlError {
        YamlError { line: self.at.0, column: self.at.1, message: message.into() }
    }

    fn next(&mut self) -> Result<Event<'t>, YamlError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.at = (span.start.line(), span.start.col() + 1);
                Ok(event)
            }
            Some(Err(error)) => Err(broken(&error)),
            None => Ok(Event::StreamEnd),
        }
    }

    fn stream(mut self) -> Result<FirstDocument, YamlError> {
        if let Some(at) = self.text.find(['\u{85}', '\u{2028}', '\u{2029}']) {
            let before = self.text.get(..at).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            let message = "a line separator (U+0085, U+2028 or U+2029) ends a line in YAML 1.1 \
                           and not in YAML 1.2";
            return Err(YamlError { line, column, message: message.to_owned() });
        }
        let (mut value, mut further) = (None, 0);
        loop {
            match self.next()? {
                Event::StreamEnd => break,
                Event::DocumentStart(_) if value.is_none() => {
                    let event = self.next()?;
                    value = Some(self.value(event, 0)?.0);
                }
                // Further documents are parsed too: OPA refuses a text whose second half is broken.
                Event::DocumentStart(_) => further += 1,
                _ => {}
            }
        }
        Ok(FirstDocument { value, further, inexact: self.inexact })
    }

    /// Reads a value. Returns it with the number of values that it is made of.
    fn value(&mut self, event: Event<'t>, depth: usize) -> Result<(Value, usize), YamlError> {
        if depth > MAX_DEPTH {
            return Err(self.wrong(format!("nested more than {MAX_DEPTH} levels deep")));
        }
        let (anchor, value, size) = match event {
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let Some((value, size)) = known else {
                    return Err(self.wrong("an alias of something that isn't complete yet"));
                };
                self.count(size)?;
                return Ok((value, size));
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1)?;
                let scalar = self.scalar(&text, style, tag.as_deref())?;
                (anchor, self.plain(scalar)?, 1)
            }
            Event::SequenceStart(anchor, _) => {
                self.count(1)?;
                let (mut items, mut size) = (Vec::new(), 1);
                loop {
                    let event = self.next()?;
                    if matches!(event, Event::SequenceEnd) {
                        break;
                    }
                    self.path.push(items.len().to_string());
                    let (item, more) = self.value(event, depth + 1)?;
                    self.path.pop();
                    items.push(item);
                    size += more;
                }
                (anchor, Value::from(items), size)
            }
            Event::MappingStart(anchor, _) => {
                self.count(1)?;
                let (value, size) = self.mapping(depth)?;
                (anchor, value, size)
            }
            _ => return Err(self.wrong("no value where there has to be one")),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), size));
        }
        Ok((value, size))
    }

    fn count(&mut self, more: usize) -> Result<(), YamlError> {
        self.values = self.values.saturating_add(more);
        if self.values > MAX_VALUES {
            return Err(
                self.wrong(format!("more than {MAX_VALUES} values, repeated ones included"))
            );
        }
        Ok(())
    }

    fn mapping(&mut self, depth: usize) -> Result<(Value, usize), YamlError> {
        let mut fields: BTreeMap<String, Value> = BTreeMap::new();
        let mut merged = Vec::new();
        let mut size = 1;
        loop {
            let key = match self.next()? {
                Event::MappingEnd => break,
                Event::Scalar(text, style, anchor, tag) => {
                    let scalar = self.scalar(&text, style, tag.as_deref())?;
                    if anchor > 0 {
                        let value = self.plain(scalar.clone())?;
                        self.anchors.insert(anchor, (value, 1));
                    }
                    scalar
                }
                Event::Alias(anchor) => match self.anchors.get(&anchor) {
                    Some((Value::String(text), _)) => Scalar::Text(text.to_string()),
                    _ => return Err(self.wrong("a key isn't a string")),
                },
                _ => return Err(self.wrong("a key isn't a string")),
            };
            self.count(1)?;
            let key = match key {
                Scalar::Merge => None,
                Scalar::Text(text) | Scalar::Number(text) => Some(text),
                Scalar::Bool(flag) => Some(flag.to_string()),
                Scalar::Null => return Err(self.wrong("a key is null")),
            };
            let event = self.next()?;
            self.path.push(key.clone().unwrap_or_default());
            let (value, more) = self.value(event, depth + 1)?;
            self.path.pop();
            size += more + 1;
            match key {
                // As in OPA, the last one of equal keys counts.
                Some(key) => drop(fields.insert(key, value)),
                None => merged.push(value),
            }
        }
        for value in merged {
            let all = match value {
                Value::Array(items) => items.iter().cloned().collect(),
                one => vec![one],
            };
            for one in all {
                let Value::Object(more) = one else {
                    return Err(self.wrong("what is merged (`<<`) isn't a mapping"));
                };
                for (key, value) in more.iter() {
                    let Value::String(key) = key else { continue };
                    fields.entry(key.to_string()).or_insert_with(|| value.clone());
                }
            }
        }
        let fields: BTreeMap<Value, Value> =
            fields.into_iter().map(|(key, value)| (Value::from(key), value)).collect();
        Ok((Value::from(fields), size))
    }

    fn plain(&mut self, scalar: Scalar) -> Result<Value, YamlError> {
        Ok(match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(flag) => Value::from(flag),
            Scalar::Text(text) => Value::from(text),
            Scalar::Merge => Value::from("<<"),
            Scalar::Number(text) => {
                if let Some(why) = json::inexact(&text) {
                    let (line, column) = self.at;
                    let path = self.path.clone();
                    self.inexact.push(Inexact { path, line, column, message: why });
                }
                serde_json::from_str(&text)
                    .map_err(|_| self.wrong(format!("`{text}` isn't a valid JSON number")))?
            }
        })
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
    ) -> Result<Scalar, YamlError> {
        let plain = style == ScalarStyle::Plain;
        let shown = || crate::text::shorten(text, 40);
        let Some(tag) = tag else {
            return if plain { self.resolved(text) } else { Ok(Scalar::Text(text.to_owned())) };
        };
        if !tag.is_yaml_core_schema() {
            // The value of a scalar with an application's own tag is its text.
            return Ok(Scalar::Text(text.to_owned()));
        }
        let found = match tag.suffix.as_str() {
            "binary" => {
                let data: String = text.split_whitespace().collect();
                let data = STANDARD.decode(data).ok().and_then(|data| String::from_utf8(data).ok());
                return data
                    .map(Scalar::Text)
                    .ok_or_else(|| self.wrong("`!!binary` isn't valid base64 of text"));
            }
            "int" | "float" | "bool" | "null" => self.resolved(text)?,
            _ => return Ok(Scalar::Text(text.to_owned())),
        };
        let fits = match (tag.suffix.as_str(), &found) {
            ("int", Scalar::Number(n)) => !n.contains(['.', 'e', 'E']),
            ("float", Scalar::Number(_)) | ("bool", Scalar::Bool(_)) | ("null", Scalar::Null) => {
                true
            }
            _ => false,
        };
        if fits {
            return Ok(found);
        }
        Err(self.wrong(format!("`{}` isn't a valid `!!{}`", shown(), tag.suffix)))
    }

    fn resolved(&self, text: &str) -> Result<Scalar, YamlError> {
        resolve(text).ok_or_else(|| {
            let shown = crate::text::shorten(text, 40);
            self.wrong(format!("`{shown}` isn't a valid JSON number"))
        })
    }
}

fn broken(error: &ScanError) -> YamlError {
    let at = error.marker();
    YamlError {
        line: at.line().max(1),
        column: at.col() + 1,
        message: format!("invalid YAML: {}", crate::text::shorten(error.info(), 200)),
    }
}

/// Returns the meaning of a plain scalar; `None` for infinity and NaN, which JSON doesn't have.
fn resolve(text: &str) -> Option<Scalar> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Scalar::Null),
        "true" | "True" | "TRUE" => return Some(Scalar::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Scalar::Bool(false)),
        "<<" => return Some(Scalar::Merge),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => return None,
        _ => {}
    }
    let first = text.bytes().next().unwrap_or_default();
    if first == b'.' {
        return Some(decimal(text).map_or_else(|| Scalar::Text(text.to_owned()), Scalar::Number));
    }
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-')) || is_timestamp(text) {
        return Some(Scalar::Text(text.to_owned()));
    }
    let plain = text.replace('_', "");
    let number = integer(&plain).or_else(|| decimal(&plain));
    Some(number.map_or_else(|| Scalar::Text(text.to_owned()), Scalar::Number))
}

/// Parses an integer: decimal, with `0x`, `0b` or `0o`, or octal because of a leading zero. Returns
/// its decimal digits, or `None` beyond 64 bits, where it may still be a decimal number.
fn integer(text: &str) -> Option<String> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, text.get(1..)?),
        [b'+', ..] => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, digits.get(2..)?),
        Some("0b" | "0B") => (2, digits.get(2..)?),
        Some("0o" | "0O") => (8, digits.get(2..)?),
        Some(_) if digits.starts_with('0') => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    // `from_str_radix` would accept a second sign.
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    let number = if negative { -number } else { number };
    let fits = i64::try_from(number).is_ok()
        || u64::try_from(number).is_ok_and(|_| !text.starts_with('+'));
    fits.then(|| number.to_string())
}

/// Returns a decimal number as JSON writes it.
fn decimal(text: &str) -> Option<String> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', ..] => ("-", text.get(1..)?),
        [b'+', ..] => ("", text.get(1..)?),
        _ => ("", text),
    };
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (digits.get(..at)?, Some(digits.get(at + 1..)?)),
        None => (digits, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !number(whole) || !number(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
    let exponent = match exponent {
        Some(text) => {
            let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
            if unsigned.is_empty() || !number(unsigned) {
                return None;
            }
            format!("e{text}")
        }
        None => String::new(),
    };
    Some(format!("{sign}{whole}{fraction}{exponent}"))
}

/// Returns `true` for a date, with or without a time; these are strings.
fn is_timestamp(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits == 4 && text.as_bytes().get(4) == Some(&b'-')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn shown(text: &str) -> String {
        match read(text) {
            Ok(read) => read.value.map_or("nothing".to_owned(), |value| value.to_json()),
            Err(wrong) => format!("{}:{}: {}", wrong.line, wrong.column, wrong.message),
        }
    }

    /// The expected values are those of OPA 1.22.2.
    #[test]
    fn scalars_have_the_meaning_that_opa_gives_them() {
        for (text, expected) in [
            ("a: {p: \" # \", mode: 0777}", r#"{"a":{"mode":511,"p":" # "}}"#),
            (
                "a: [0x1FF, 0X1FF, 0o17, 0O17, 0b11, 017, -017, 08, 0, 00]",
                r#"{"a":[511,511,15,15,3,15,-15,8,0,0]}"#,
            ),
            (
                "a: [1_000, +1, 1., .5, 1.50, 1e3, 12:30, 1_0.5]",
                r#"{"a":[1000,1,1,0.5,1.5,1000,"12:30",10.5]}"#,
            ),
            (
                "a: [yes, no, on, off, y, n, True, FALSE, ~, Null, '']",
                r#"{"a":["yes","no","on","off","y","n",true,false,null,null,""]}"#,
            ),
            ("on: push", r#"{"on":"push"}"#),
            ("true: 1\n2: 3\n1.5: 4", r#"{"1.5":4,"2":3,"true":1}"#),
            (
                "a: [2024-01-02, 2024-01-02T03:04:05Z]",
                r#"{"a":["2024-01-02","2024-01-02T03:04:05Z"]}"#,
            ),
            (
                "a: !Ref x\nb: !Sub {c: 1}\nc: !!str 1\nd: !!int 7\ne: !!binary aGk=",
                r#"{"a":"x","b":{"c":1},"c":"1","d":7,"e":"hi"}"#,
            ),
            (
                "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3",
                r#"{"a":{"b":1,"c":2},"d":{"b":1,"c":3}}"#,
            ),
            ("a: 1\na: 2", r#"{"a":2}"#),
            ("a: # c\r  0777\r", r#"{"a":511}"#),
            ("a: |\n  0777\nb: '0777'\nc: \"0777\"", r#"{"a":"0777\n","b":"0777","c":"0777"}"#),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn yaml_without_a_json_equivalent_is_refused_with_its_position() {
        for (text, expected) in [
            ("a: 1\nb: .inf", "2:4: `.inf` isn't a valid JSON number"),
            ("a: 1\n? [x]\n: 1", "a key isn't a string"),
            ("~: 1", "a key is null"),
            ("a: !!int x", "`x` isn't a valid `!!int`"),
            ("a: # c\u{2028}mode: 0777", "1:7: a line separator"),
            ("a: # c\u{85}mode: 0777", "a line separator"),
            ("a: [1", "invalid YAML"),
            ("a: &x [*x]", "isn't complete"),
        ] {
            assert!(shown(text).contains(expected), "{text}: {}", shown(text));
        }
        let mut bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
        for n in 1..12 {
            let one = format!("*a{},", n - 1).repeat(10);
            bomb = format!("{bomb}a{n}: &a{n} [{one}]\n");
        }
        assert!(shown(&bomb).contains("more than"), "bombs");
    }

    #[test]
    fn further_documents_are_counted() {
        let found = read("a: 1\n---\nb: 2\n---\nc: 3\n").unwrap();
        assert_eq!(
            (found.further, serde_json::to_string(&found.value).unwrap()),
            (2, "{\"a\":1}".into())
        );
        assert!(read("a: 1\n---\nb: [").is_err());
        assert!(read("# nothing\n").unwrap().value.is_none());
    }
}
