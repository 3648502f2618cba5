//! JSON and YAML documents as values of the interpreter.
//!
//! Owns parsing data files, with file and line where they are wrong. Of YAML it takes what is
//! JSON in another dress: Rego reads YAML 1.1 and this crate's parser YAML 1.2, so a plain scalar
//! that they take for different things is refused.

use std::collections::HashSet;

use crate::rego::Value;
use yaml_serde::Value as Yaml;

use super::files::Kind;
use super::json;
use crate::text::shorten;
use crate::{Diagnostic, Position};

/// Deepest nesting of a YAML document, as the JSON parser bounds its own.
const MAX_DEPTH: usize = 128;

/// Parses one document of data, which must be an object.
pub(super) fn parse(path: &str, text: &str, kind: Kind) -> Result<Value, Diagnostic> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Diagnostic::error("data-error", format!("`{path}` is empty"))
            .with_hint("a data file holds an object; remove the file, or write `{}`"));
    }
    let value = any(path, text, matches!(kind, Kind::Yaml))?;
    if matches!(value, Value::Object(_)) {
        Ok(value)
    } else {
        Err(Diagnostic::error("data-error", format!("`{path}` holds no object"))
            .with_hint("a data file holds an object, whose keys become paths below `data`")
            .at(position(path, text, 1, 1)))
    }
}

/// Parses a document of any type.
pub(super) fn any(path: &str, text: &str, is_yaml: bool) -> Result<Value, Diagnostic> {
    if is_yaml { yaml(path, text) } else { json(path, text) }
}

fn json(path: &str, text: &str) -> Result<Value, Diagnostic> {
    json::parse(text).map_err(|wrong| {
        Diagnostic::error("data-error", wrong.message).at(position(
            path,
            text,
            wrong.line,
            wrong.column,
        ))
    })
}

fn yaml(path: &str, text: &str) -> Result<Value, Diagnostic> {
    let parsed: Yaml = yaml_serde::from_str(text).map_err(|error| {
        let diagnostic = Diagnostic::error("data-error", format!("no YAML: {error}"));
        match error.location() {
            Some(at) => diagnostic.at(position(path, text, at.line(), at.column())),
            None => diagnostic.with_hint(format!("in `{path}`")),
        }
    })?;
    let plain = Plain::new(text);
    plain.tags().and_then(|()| convert(&parsed, &plain, 0)).map_err(|wrong| {
        let at = wrong.near.and_then(|near| text.find(&near)).unwrap_or(0);
        let line = text.get(..at).unwrap_or("").matches('\n').count() + 1;
        let column = at - text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1) + 1;
        Diagnostic::error("data-error", wrong.message)
            .with_hint("write it as JSON would have it")
            .at(position(path, text, line, column))
    })
}

struct Wrong {
    message: String,
    near: Option<String>,
}

fn wrong(message: impl Into<String>, near: Option<String>) -> Wrong {
    Wrong { message: message.into(), near }
}

fn convert(yaml: &Yaml, plain: &Plain<'_>, depth: usize) -> Result<Value, Wrong> {
    if depth > MAX_DEPTH {
        return Err(wrong(format!("nested more than {MAX_DEPTH} levels deep"), None));
    }
    match yaml {
        Yaml::Null => Ok(Value::Null),
        Yaml::Bool(b) => Ok(Value::from(*b)),
        Yaml::Number(n) => number(n, plain),
        Yaml::String(s) => {
            plain.string(s)?;
            Ok(Value::from(s.as_str()))
        }
        Yaml::Sequence(items) => {
            let items: Result<Vec<_>, _> =
                items.iter().map(|item| convert(item, plain, depth + 1)).collect();
            Ok(Value::from(items?))
        }
        Yaml::Mapping(fields) => {
            let mut object = Value::new_object();
            for (key, value) in fields {
                let Yaml::String(key) = key else {
                    return Err(wrong("a key is no string", None));
                };
                if key == "<<" {
                    return Err(wrong("merge keys (`<<`) are no JSON", Some("<<".into())));
                }
                plain.string(key)?;
                let value = convert(value, plain, depth + 1)?;
                if let Some(object) = object.as_object_mut() {
                    object.insert(Value::from(key.as_str()), value);
                }
            }
            Ok(object)
        }
        Yaml::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            Err(wrong(format!("the tag `{tag}` is no JSON"), Some(tag)))
        }
    }
}

fn number(number: &yaml_serde::Number, plain: &Plain<'_>) -> Result<Value, Wrong> {
    let shown = number.to_string();
    if let Some(i) = number.as_i64() {
        plain.number()?;
        return Ok(Value::from(i));
    }
    if let Some(u) = number.as_u64() {
        return Ok(Value::from(u));
    }
    if let Some(token) = plain.wide {
        let message = format!("the integer {} has more than 64 bits", shorten(token, 40));
        return Err(wrong(message, Some(token.to_owned())));
    }
    match number.as_f64() {
        Some(f) if f.is_finite() => Ok(Value::from(f)),
        _ => Err(wrong(format!("`{shown}` is no JSON number"), Some(shown))),
    }
}

/// The words of a text, outside quotes and comments, that the two versions of YAML read
/// differently: `yes`, `010`, `1_000`, `12:30`. Found roughly: a word inside a longer plain
/// scalar counts too, so a document may be refused that both read alike.
struct Plain<'a> {
    words: HashSet<&'a str>,
    octal: Option<&'a str>,
    wide: Option<&'a str>,
    tag: Option<&'a str>,
}

impl<'a> Plain<'a> {
    fn new(text: &'a str) -> Self {
        let mut plain = Self { words: HashSet::new(), octal: None, wide: None, tag: None };
        for line in text.lines() {
            let line = line.split(" #").next().unwrap_or(line);
            for token in line.split([' ', '\t', ',', '[', ']', '{', '}']) {
                let token = token.strip_suffix(':').unwrap_or(token);
                if token.starts_with("!!") {
                    plain.tag = Some(token);
                } else if is_octal(token) {
                    plain.octal = Some(token);
                } else if json::is_wide(token) {
                    plain.wide = Some(token);
                }
                if is_boolean(token) || is_number(token) {
                    plain.words.insert(token);
                }
            }
        }
        plain
    }

    /// Tags of YAML's own, which the parser follows without a word.
    fn tags(&self) -> Result<(), Wrong> {
        match self.tag {
            Some(tag) => Err(wrong(format!("the tag `{tag}` is no JSON"), Some(tag.to_owned()))),
            None => Ok(()),
        }
    }

    fn number(&self) -> Result<(), Wrong> {
        match self.octal {
            Some(token) => Err(wrong(
                format!("`{token}` is one number in YAML 1.1 and another in YAML 1.2"),
                Some(token.to_owned()),
            )),
            None => Ok(()),
        }
    }

    fn string(&self, value: &str) -> Result<(), Wrong> {
        if self.words.contains(value) {
            let message = format!(
                "`{value}` without quotes is a string in YAML 1.2 and something else in YAML 1.1"
            );
            return Err(wrong(message, Some(value.to_owned())));
        }
        Ok(())
    }
}

fn unsigned(token: &str) -> &str {
    token.trim_start_matches(['-', '+'])
}

fn is_octal(token: &str) -> bool {
    let digits = unsigned(token);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit())
}

fn is_boolean(token: &str) -> bool {
    ["y", "n", "yes", "no", "on", "off"].iter().any(|word| token.eq_ignore_ascii_case(word))
}

fn is_number(token: &str) -> bool {
    let digits = unsigned(token);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_hexdigit() || b"_:.xob".contains(&b))
        && (digits.contains(['_', ':']) || (digits.len() > 1 && digits.starts_with('0')))
}

fn position(path: &str, text: &str, line: usize, column: usize) -> Position {
    let shown = text.split('\n').nth(line.saturating_sub(1)).unwrap_or("").trim_end_matches('\r');
    // The parsers count bytes; a reader counts characters. A long line of data is shown in part.
    let before = shown.char_indices().take_while(|(at, _)| *at + 1 < column).count();
    Position {
        file: path.to_owned(),
        line: u32::try_from(line.max(1)).unwrap_or(u32::MAX),
        column: u32::try_from(before + 1).unwrap_or(u32::MAX),
        length: 1,
        text: shown.chars().take(240).collect(),
    }
}
