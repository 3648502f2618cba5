//! One document as a policy sees it.
//!
//! Owns parsing, the unwrapping of attestations, `input.args` and the wrapping of arrays. Where
//! documents come from is `inputs`'.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use crate::rego::Value;

use super::model::Subject;
use super::split::{Form, Piece};
use crate::evaluate::sources::document;
use crate::{Error, ErrorKind};

/// What the type of every in-toto statement starts with.
const STATEMENT: &str = "https://in-toto.io/Statement/";

/// How documents are handed to policies.
#[derive(Debug, Clone, Default)]
pub struct DocumentOptions {
    /// An array becomes `{"elements": [...]}`.
    pub wrap_arrays: bool,
    /// DSSE envelopes and in-toto statements are unwrapped, and nothing else is taken.
    pub attestation: bool,
    /// All documents are one: an array of objects with `path` and `contents`.
    pub combine: bool,
}

/// A document and what it is about.
#[derive(Debug)]
pub(super) struct Parsed {
    pub value: Value,
    pub subjects: Vec<Subject>,
    pub predicate_type: Option<String>,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// Parses a document; `name` is its stream's.
pub(super) fn parse(piece: &Piece, name: &str, options: &DocumentOptions) -> Result<Parsed, Error> {
    let text = std::str::from_utf8(&piece.bytes).map_err(|error| {
        let before = piece.bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = piece.line + memchr::memchr_iter(b'\n', before).count();
        wrong(format!("{name}:{line}: the text isn't UTF-8"))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value = value(text, name, piece.form == Form::Yaml, piece.line)?;
    if options.attestation {
        unwrap(value)
    } else {
        Ok(Parsed { value, subjects: Vec::new(), predicate_type: None })
    }
}

/// A value exactly as it is written, or an error with its place.
fn value(text: &str, name: &str, yaml: bool, line: usize) -> Result<Value, Error> {
    document(name, text, yaml).map_err(|found| {
        let error = match &found.position {
            Some(at) => {
                let line = at.line as usize + line - 1;
                wrong(format!("{name}:{line}:{}: {}", at.column, found.message))
            }
            None => wrong(format!("{name}: {}", found.message)),
        };
        match found.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    })
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(&Value::from(name)),
        _ => None,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    match field(value, name)? {
        Value::String(text) => Some(text.as_ref()),
        _ => None,
    }
}

/// The statement in an envelope, a bundle of one, or on its own.
fn unwrap(whole: Value) -> Result<Parsed, Error> {
    let envelope = field(&whole, "dsseEnvelope").unwrap_or(&whole);
    let statement = match (text(envelope, "payload"), text(envelope, "payloadType")) {
        (Some(payload), Some(sort)) => {
            if !sort.starts_with("application/vnd.in-toto") {
                let shown = crate::text::shorten(sort, 80);
                return Err(wrong(format!("the envelope's payload is `{shown}`, not in-toto"))
                    .with_hint("`--attestation` takes in-toto statements alone"));
            }
            value(&decode(payload)?, "payload", false, 1)?
        }
        _ => whole,
    };
    if !text(&statement, "_type").is_some_and(|sort| sort.starts_with(STATEMENT)) {
        return Err(wrong("the document is neither a DSSE envelope nor an in-toto statement")
            .with_hint("leave `--attestation` out to take it as it is"));
    }
    let broken = || wrong("the statement's `subject` isn't what in-toto says");
    let subjects: Vec<Subject> = match field(&statement, "subject") {
        Some(list) => {
            let list = serde_json::to_value(list).map_err(|_| broken())?;
            serde_json::from_value(list).map_err(|_| broken())?
        }
        None => return Err(broken()),
    };
    let predicate_type = text(&statement, "predicateType").map(str::to_owned);
    Ok(Parsed { value: statement, subjects, predicate_type })
}

/// DSSE takes both alphabets, and padding is often forgotten.
fn decode(payload: &str) -> Result<String, Error> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let url_safe = payload.contains(['-', '_']);
    let letters = if url_safe { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    let bytes = GeneralPurpose::new(letters, config)
        .decode(payload.trim())
        .map_err(|error| wrong("the envelope's payload isn't base64").with_source(error))?;
    String::from_utf8(bytes).map_err(|_| wrong("the envelope's payload isn't UTF-8"))
}

/// What the policy gets: arrays wrapped, arguments added.
pub(super) fn finish(
    value: Option<Value>,
    arguments: &BTreeMap<String, Value>,
    options: &DocumentOptions,
) -> Result<Option<Value>, Error> {
    let value = match value {
        Some(list @ Value::Array(_)) if options.wrap_arrays => Some(object("elements", list)),
        other => other,
    };
    if arguments.is_empty() {
        return Ok(value);
    }
    let mut value = value.unwrap_or_else(Value::new_object);
    let all: BTreeMap<Value, Value> =
        arguments.iter().map(|(name, value)| (Value::from(name.as_str()), value.clone())).collect();
    let Some(fields) = value.as_object_mut() else {
        return Err(wrong("the input is no object: it has no place for `--arg`")
            .with_hint("`--wrap-arrays` makes an object of an array"));
    };
    if fields.insert(Value::from("args"), Value::from(all)).is_some() {
        return Err(wrong("the input has `args` already: `--arg` would replace it")
            .with_hint("leave `--arg` out, or rename the field"));
    }
    Ok(Some(value))
}

/// An object with one field.
pub(super) fn object(name: &str, value: Value) -> Value {
    Value::from(BTreeMap::from([(Value::from(name), value)]))
}

/// The value of an argument: with line breaks or commas (`\,` is one that doesn't separate) an
/// array, else a string; nothing when it is empty.
pub fn argument(text: &str) -> Option<Value> {
    let mut items = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = c == '\\' && chars.peek() == Some(&',');
        match (c, items.last_mut()) {
            (',' | '\n', _) => items.push(String::new()),
            (_, Some(item)) if escaped => item.extend(chars.next()),
            (_, Some(item)) => item.push(c),
            _ => {}
        }
    }
    let mut items: Vec<Value> = items
        .iter()
        .map(|item| item.trim())
        .filter(|item| !item.is_empty())
        .map(Value::from)
        .collect();
    match (items.len(), text.replace("\\,", "").contains([',', '\n'])) {
        (0, _) => None,
        (1, false) => items.pop(),
        _ => Some(Value::from(items)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn shown(value: &Value) -> String {
        serde_json::to_string(value).unwrap()
    }

    #[test]
    fn arguments_are_strings_or_arrays() {
        for (text, expected) in [
            ("a b", Some("\"a b\"")),
            ("a,b", Some("[\"a\",\"b\"]")),
            ("a\nb\n", Some("[\"a\",\"b\"]")),
            ("a\\,b", Some("\"a,b\"")),
            ("a\\,b, c", Some("[\"a,b\",\"c\"]")),
            ("a,", Some("[\"a\"]")),
            ("C:\\x", Some("\"C:\\\\x\"")),
            ("", None),
            (" ,\n", None),
        ] {
            assert_eq!(argument(text).as_ref().map(shown).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn arguments_and_arrays_have_a_place() {
        let arguments = BTreeMap::from([("k".to_owned(), Value::from("v"))]);
        let wrap = DocumentOptions { wrap_arrays: true, ..DocumentOptions::default() };
        let parse = |text: &str| Some(Value::from_json_str(text).unwrap());
        let done = finish(parse("[1]"), &arguments, &wrap).unwrap().unwrap();
        assert_eq!(shown(&done), r#"{"args":{"k":"v"},"elements":[1]}"#);
        assert_eq!(
            shown(&finish(None, &arguments, &wrap).unwrap().unwrap()),
            r#"{"args":{"k":"v"}}"#
        );
        for text in ["[1]", "1", "{\"args\": 1}"] {
            finish(parse(text), &arguments, &DocumentOptions::default()).unwrap_err();
        }
        assert!(finish(None, &BTreeMap::new(), &wrap).unwrap().is_none());
    }

    #[test]
    fn attestations_are_unwrapped() {
        let statement = r#"{"_type": "https://in-toto.io/Statement/v1", "predicateType": "t",
            "subject": [{"name": "n>?", "digest": {"sha256": "aa"}}]}"#;
        let engine = base64::engine::general_purpose::STANDARD;
        let payload = engine.encode(statement);
        let envelope =
            format!(r#"{{"payloadType": "application/vnd.in-toto+json", "payload": "{payload}"}}"#);
        let url_safe =
            envelope.replace('+', "-").replace('/', "_").replace("vnd.in-toto-", "vnd.in-toto+");
        let url_safe = url_safe.replace("application_", "application/").replace('=', "");
        let bundle = format!(r#"{{"dsseEnvelope": {envelope}}}"#);
        for text in [statement, &envelope, &url_safe, &bundle] {
            let parsed = unwrap(Value::from_json_str(text).unwrap()).unwrap();
            assert_eq!(parsed.predicate_type.as_deref(), Some("t"));
            assert_eq!(parsed.subjects.first().unwrap().name, "n>?");
        }
        let other = envelope.replace("vnd.in-toto", "x");
        let broken = envelope.replace(&payload, "!");
        for text in ["{}", "[]", &other, &broken, r#"{"_type": "https://in-toto.io/Statement/v1"}"#]
        {
            unwrap(Value::from_json_str(text).unwrap()).unwrap_err();
        }
    }
}
