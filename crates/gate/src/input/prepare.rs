//! Preparation of an input for a policy.
//!
//! Owns parsing, `input.args` and wrapping arrays. Reading inputs belongs to `inputs`, the input's
//! metadata to `metadata`, and what an attestation is to `attestation`.

use std::collections::BTreeMap;
use std::fmt;

use rego_platform::Error;
use rego_platform::rego::Value;
use rego_platform::rego::value::Object;

use super::attestation;
use super::metadata::{self, Metadata, MetadataReader, Origin};
use super::parser::{Parsed, Parser};
use super::split::{InputSplitter, InputText};
use super::values::InputValues;
use crate::provenance::Signatures;
use crate::setting;

/// Options for passing inputs to policies.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DocumentOptions {
    /// Set to wrap an array as `{"elements": [...]}`.
    pub wrap_arrays: bool,
    /// Set to make each element of an array, in JSON or YAML, a separate input, as conftest does.
    pub split_arrays: bool,
    /// Set to unwrap DSSE envelopes and in-toto statements, checking signatures in this way. Other inputs are
    /// errors.
    pub attestation: Option<Signatures>,
    /// The verification of signatures for inputs of the kind `ATTESTATION`.
    pub signatures: Option<Signatures>,
    /// The parser of all inputs. By default, the extension of each input selects it.
    pub parser: Option<Parser>,
    /// Set to combine all inputs into one: an array of objects with `path` and `contents`.
    pub combine: bool,
    /// The version of YAML for `yes`, `no`, `on`, `off`, `y` and `n`, if it is selected.
    pub yaml: Option<YamlVersion>,
    /// The metadata of inputs ([`Product::metadata_field`](rego_platform::Product::metadata_field)).
    pub metadata: Metadata,
}

/// A version of YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum YamlVersion {
    /// 1.1, in which `yes` and `off` are booleans, as for Kubernetes and conftest.
    V1_1,
    /// 1.2, in which they are strings, as for OPA.
    V1_2,
}

impl fmt::Display for YamlVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1_1 => "1.1",
            Self::V1_2 => "1.2",
        })
    }
}

impl DocumentOptions {
    /// Returns the parser that applies to every extension, if any: attestations are JSON.
    pub fn parser(&self) -> Option<Parser> {
        if self.attestation.is_some() { Some(Parser::Json) } else { self.parser }
    }

    /// Returns `true` if a text is one input, whatever its content.
    pub(super) fn is_an_input(&self, input: &InputText) -> bool {
        self.attestation.is_none() && !(self.split_arrays && input.parser.has_documents())
    }
}

/// The field that holds the policy's arguments.
pub(crate) const ARGUMENTS: &str = "args";

/// The field that an array is wrapped in.
const ELEMENTS: &str = "elements";

/// The maximum number of elements of an array that become separate inputs.
const MAX_ELEMENTS: usize = 100_000;

/// The properties of a policy that determine how an input is passed to it.
#[derive(Debug, Clone)]
pub(crate) struct PolicyContext {
    pub arguments: BTreeMap<String, Value>,
    /// `true` if the caller gave arguments, even without values: the input may not have `args` then.
    pub has_arguments: bool,
    /// The values that the caller adds to the input.
    pub values: InputValues,
    /// `true` if the verdict may depend on `input`.
    pub reads_input: bool,
    /// The input's metadata for this policy.
    pub metadata: MetadataReader,
}

/// Parses a text into one input, or one input for each attestation or array element. `name` is the stream's
/// name.
pub(super) fn parse_each(
    input: &InputText,
    name: &str,
    options: &DocumentOptions,
) -> Vec<Result<Parsed, Error>> {
    let Some(signatures) = &options.attestation else {
        return parse(input, name).map_or_else(|error| vec![Err(error)], elements);
    };
    match parsed(input, name).and_then(attestation::each) {
        Ok(all) => all.iter().map(|one| attestation::open(one, signatures)).collect(),
        Err(error) => vec![Err(error)],
    }
}

/// Parses all documents of a text.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`](rego_platform::ErrorKind::InvalidArgument) for a text that can't be read, with its line.
#[doc(hidden)]
pub fn parse_all(name: &str, text: Vec<u8>, parser: Parser) -> Result<Vec<Value>, Error> {
    let stream = Box::new(std::io::Cursor::new(text));
    let mut splitter = InputSplitter::new(stream, Some(parser));
    let mut all = Vec::new();
    let unreadable = |error: std::io::Error| {
        Error::invalid_argument(format!("{name}: can't read the input")).with_source(error)
    };
    while let Some(input) = splitter.next().map_err(unreadable)? {
        all.push(parsed(&input, name)?);
    }
    Ok(all)
}

/// Returns the elements of an array as separate inputs.
fn elements(parsed: Parsed) -> Vec<Result<Parsed, Error>> {
    match parsed.value.as_array().map(Vec::as_slice) {
        None => vec![Ok(parsed)],
        Some([]) => {
            vec![Err(Error::invalid_argument("empty array: no input"))]
        }
        Some(list) if list.len() > MAX_ELEMENTS => {
            let message = format!("too many elements in the array: the limit is {MAX_ELEMENTS}");
            vec![Err(Error::too_large(message))]
        }
        Some(list) => list.iter().map(|one| Ok(Parsed::of(one.clone()))).collect(),
    }
}

/// Parses a text other than an attestation.
pub(crate) fn parse(input: &InputText, name: &str) -> Result<Parsed, Error> {
    Ok(Parsed::of(parsed(input, name)?))
}

fn parsed(input: &InputText, name: &str) -> Result<Value, Error> {
    let text = std::str::from_utf8(&input.bytes).map_err(|error| {
        let before = input.bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = input.line + memchr::memchr_iter(b'\n', before).count();
        Error::invalid_argument(format!("{name}:{line}: invalid UTF-8"))
    })?;
    // A reader of another format looks for the mark itself.
    let mark = if input.parser.has_documents() { "\u{feff}" } else { "" };
    input.parser.value(text.strip_prefix(mark).unwrap_or(text), name, input.line)
}

/// Returns the input for a policy: arrays wrapped, values, arguments and metadata added.
pub(crate) fn finish(
    value: Option<Value>,
    context: &PolicyContext,
    options: &DocumentOptions,
    origin: Origin<'_>,
) -> Result<Option<Value>, Error> {
    let is_document = context.metadata.document;
    let value = match value {
        Some(list @ Value::Array(_)) if options.wrap_arrays || is_document => {
            Some(object(ELEMENTS, list))
        }
        other => other,
    };
    let value = context.values.put_into(value)?;
    let metadata = options.metadata.members(&context.metadata, origin);
    let owns_args = matches!(&value, Some(value) if value.get_str(ARGUMENTS).is_some());
    if context.has_arguments && !is_document && owns_args {
        return Err(Error::invalid_argument(
            "conflicting `args`: arguments given, but the input has this member",
        )
        .with_hint("rename the member, or give no arguments"));
    }
    if context.arguments.is_empty() && metadata.is_empty() && !is_document {
        return Ok(value);
    }
    let mut value = value.unwrap_or_else(Value::new_object);
    let Some(fields) = value.as_object_mut() else {
        return Err(Error::invalid_argument(
            "can't add arguments to the input: expected an object",
        )
        .by_setting(setting::WRAPPED_ARRAYS));
    };
    metadata::put(fields, metadata, &context.metadata)?;
    let own = context.arguments.iter();
    let arguments: Object =
        own.map(|(name, value)| (Value::from(name.as_str()), value.clone())).collect();
    // A policy document's own `args` are replaced: only the gate's caller chooses arguments.
    if is_document || !arguments.is_empty() {
        fields.insert(Value::from(ARGUMENTS), Value::from(arguments));
    }
    Ok(Some(value))
}

/// Returns an object with one field.
pub(crate) fn object(name: &str, value: Value) -> Value {
    Value::from(Object::from([(Value::from(name), value)]))
}

/// Returns the value of an argument, split at line breaks and commas (`\,` is a literal comma): an
/// array if there are several items, a string if there is one, `None` if there is none.
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
    match items.len() {
        0 => None,
        1 => items.pop(),
        _ => Some(Value::from(items)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use rego_platform::Product;

    fn shown(value: &Value) -> String {
        serde_json::to_string(value).unwrap()
    }

    /// The context of a policy that was loaded by itself.
    fn plain() -> PolicyContext {
        PolicyContext {
            arguments: BTreeMap::new(),
            has_arguments: false,
            values: InputValues::default(),
            reads_input: true,
            metadata: MetadataReader {
                product: Product::default(),
                document: false,
                declared: None,
                names: false,
                kind: None,
            },
        }
    }

    fn finish(
        value: Option<Value>,
        context: &PolicyContext,
        options: &DocumentOptions,
    ) -> Result<Option<Value>, Error> {
        super::finish(value, context, options, Origin::default())
    }

    #[test]
    fn arguments_are_strings_or_arrays() {
        for (text, expected) in [
            ("a b", Some("\"a b\"")),
            ("a,b", Some("[\"a\",\"b\"]")),
            ("a\nb\n", Some("[\"a\",\"b\"]")),
            ("a\\,b", Some("\"a,b\"")),
            ("a\\,b, c", Some("[\"a,b\",\"c\"]")),
            ("a,", Some("\"a\"")),
            (",a,,b,", Some("[\"a\",\"b\"]")),
            ("C:\\x", Some("\"C:\\\\x\"")),
            ("", None),
            (" ,\n", None),
        ] {
            assert_eq!(argument(text).as_ref().map(shown).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn arguments_are_added_and_arrays_wrapped() {
        let arguments = BTreeMap::from([("k".to_owned(), Value::from("v"))]);
        let given = PolicyContext { arguments, has_arguments: true, ..plain() };
        let bare =
            PolicyContext { arguments: BTreeMap::new(), has_arguments: false, ..given.clone() };
        // An argument without a value leaves no room for the input's own.
        let empty = PolicyContext { arguments: BTreeMap::new(), ..given.clone() };
        let wrap = DocumentOptions { wrap_arrays: true, ..DocumentOptions::default() };
        let plain = DocumentOptions::default();
        let parse = |text: &str| Some(Value::from_json(text).unwrap());
        let done = finish(parse("[1]"), &given, &wrap).unwrap().unwrap();
        assert_eq!(shown(&done), r#"{"args":{"k":"v"},"elements":[1]}"#);
        assert_eq!(shown(&finish(None, &given, &wrap).unwrap().unwrap()), r#"{"args":{"k":"v"}}"#);
        for text in ["[1]", "1", "{\"args\": 1}"] {
            finish(parse(text), &given, &plain).unwrap_err();
        }
        assert!(finish(None, &bare, &wrap).unwrap().is_none());
        finish(parse("{\"args\": 1}"), &empty, &plain).unwrap_err();
        finish(parse("{\"args\": 1}"), &bare, &plain).unwrap();
        assert_eq!(shown(&finish(parse("{}"), &empty, &plain).unwrap().unwrap()), "{}");
    }

    #[test]
    fn a_policy_document_never_takes_arguments_from_the_input() {
        let metadata = MetadataReader { document: true, ..plain().metadata };
        let given = PolicyContext { metadata, ..plain() };
        let metadata = Metadata {
            project: Some("shop".to_owned()),
            version: Some("1.2".to_owned()),
            ..Metadata::default()
        };
        let plain = DocumentOptions::default();
        let project = DocumentOptions { metadata, ..DocumentOptions::default() };
        for (text, options, expected) in [
            (r#"{"args": {"max": 9}}"#, &plain, r#"{"args":{}}"#),
            ("[1]", &plain, r#"{"args":{},"elements":[1]}"#),
            (
                "[1]",
                &project,
                r#"{"args":{},"elements":[1],"platform_metadata":{"project_name":"shop","project_version_name":"1.2"}}"#,
            ),
            (
                r#"{"platform_metadata": {"project_name": "x", "y": 1}}"#,
                &project,
                r#"{"args":{},"platform_metadata":{"project_name":"shop","project_version_name":"1.2"}}"#,
            ),
            (
                r#"{"platform_metadata": {"project_name": "shop", "y": 1}}"#,
                &project,
                r#"{"args":{},"platform_metadata":{"project_name":"shop","project_version_name":"1.2"}}"#,
            ),
        ] {
            let value = Some(Value::from_json(text).unwrap());
            assert_eq!(shown(&finish(value, &given, options).unwrap().unwrap()), expected);
        }
        finish(Some(Value::from(1)), &given, &plain).unwrap_err();
        let mut of_kind = given.clone();
        of_kind.metadata.kind = Some("SARIF".to_owned());
        let value = Some(Value::from_json(r#"{"a": 1}"#).unwrap());
        let expected = r#"{"a":1,"args":{},"platform_metadata":{"annotations":{"platform.material.type":"SARIF"}}}"#;
        assert_eq!(shown(&finish(value, &of_kind, &plain).unwrap().unwrap()), expected);
    }
}
