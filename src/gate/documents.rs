//! Preparing a document for a policy.
//!
//! Owns parsing, unwrapping attestations, `input.args` and wrapping arrays. Reading documents
//! belongs to `inputs`.

use std::collections::{BTreeMap, HashSet};

use crate::rego::Value;
use crate::rego::value::Object;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::input_use::{
    ARGUMENTS, BUNDLE_KEYS, CONTENTS, DocumentUse, ELEMENTS, ENVELOPE_KEYS, InputUse, METADATA,
    STATEMENT_KEYS,
};
use super::model::Subject;
use super::split::{RawDocument, Syntax};
use crate::builtins::describe;
use crate::evaluate::reject_duplicate_keys;
use crate::sources::document;
use crate::text::escape;
use crate::{Error, ErrorKind, Setting};

/// The field of the metadata, and the annotation in it, in which policies look for the kind of the
/// input; see [`METADATA`].
const ANNOTATIONS: &str = "annotations";
const KIND: &str = "chainloop.material.type";

/// The prefix of the type of every in-toto statement.
const STATEMENT: &str = "https://in-toto.io/Statement/";

/// Returns `true` for the type of statements of any version.
fn is_statement(sort: &str) -> bool {
    let version = sort.strip_prefix(STATEMENT).and_then(|rest| rest.strip_prefix('v'));
    version.is_some_and(|version| {
        !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    })
}

/// Options for passing documents to policies.
#[derive(Debug, Clone, Default)]
pub struct DocumentOptions {
    /// Set to wrap an array as `{"elements": [...]}`.
    pub wrap_arrays: bool,
    /// Set to unwrap DSSE envelopes and in-toto statements, and refuse anything else.
    pub attestation: bool,
    /// Set to combine all documents into one: an array of objects with `path` and `contents`.
    pub combine: bool,
    /// The project, for `input.chainloop_metadata`.
    pub metadata: Metadata,
}

/// The project that the inputs belong to.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    /// `project_name`.
    pub project: Option<String>,
    /// `project_version_name`.
    pub version: Option<String>,
}

/// The properties of a policy that determine how a document is passed to it.
#[derive(Debug, Clone)]
pub(super) struct PolicyContext {
    pub arguments: BTreeMap<String, Value>,
    /// Set if the caller gave arguments, even without values: then the input may have none.
    pub has_arguments: bool,
    /// Set if it comes from a policy document: then only the gate sets `input.args`, and arrays are
    /// always wrapped.
    pub document: bool,
    /// Its requirement on `input`.
    pub input: Expected,
    /// Its requirement on each document of combined ones.
    pub contents: Expected,
    /// Set if it names `input[_].contents`, which combined inputs have.
    pub names_contents: bool,
    /// The kind of the inputs, if the policy looks for it.
    pub kind: Option<String>,
    /// The fields of which an input must have one, since the policy looks at nothing else; of combined
    /// ones, the fields of their contents.
    pub fields: Vec<String>,
    pub contents_fields: Vec<String>,
}

impl PolicyContext {
    /// Returns `true` if the policy looks only at fields that an input doesn't have, or that none of
    /// combined ones has.
    pub fn sees_nothing_of(&self, input: &Value, combined: bool) -> bool {
        match input {
            Value::Array(inputs) if combined && !inputs.is_empty() => inputs.iter().all(|input| {
                let contents = input.get_str(CONTENTS);
                contents.is_some_and(|contents| has_none_of(&self.contents_fields, contents))
            }),
            _ => !combined && has_none_of(&self.fields, input),
        }
    }
}

/// Returns `true` for an object with fields, but none of these.
fn has_none_of(fields: &[String], value: &Value) -> bool {
    let Value::Object(members) = value else { return false };
    let has = |name: &String| members.contains_key(&Value::from(name.as_str()));
    !members.is_empty() && !fields.is_empty() && !fields.iter().any(has)
}

/// The requirements of a policy on a document.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Expected {
    /// The way in which it uses the document.
    pub how: InputUse,
    /// Set if it looks at the fields of a statement alone, and at none of an envelope.
    pub statements: bool,
    /// Set if it names `elements`, in which a wrapped array is.
    pub elements: bool,
    /// Set if it looks only at fields, and at others than those that the gate adds.
    pub other_fields: bool,
    /// Set if it uses the document itself, which may then be a string.
    pub bare: bool,
}

impl Expected {
    pub fn by(used: &DocumentUse) -> Self {
        let statements = used.how == InputUse::Fields
            && used.names(STATEMENT_KEYS)
            && !used.may_use(ENVELOPE_KEYS)
            && !used.may_use(BUNDLE_KEYS);
        let elements = used.may_use(&[ELEMENTS]);
        let other_fields = used.how == InputUse::Fields && !elements && used.names_own();
        Self { how: used.how, statements, elements, other_fields, bare: used.bare }
    }

    /// Refuses a document of which a policy would see nothing. `path` names one of combined ones.
    fn check(
        self,
        value: &Value,
        path: Option<&str>,
        options: &DocumentOptions,
    ) -> Result<(), Error> {
        let name = match path {
            Some(path) => format!("`{}`", escape(path)),
            None => "the input".to_owned(),
        };
        let is_array = matches!(value, Value::Array(_));
        if self.how == InputUse::Fields && !matches!(value, Value::Object(_)) {
            let what = match value {
                Value::Array(_) if options.combine && path.is_none() => {
                    "the array of combined inputs"
                }
                Value::Array(_) => "an array",
                Value::String(_) => "a string",
                _ => "a scalar",
            };
            let error =
                wrong(format!("{name} is {what}, and the policy only uses fields of an object"));
            return Err(match (value, path) {
                (_, None) if is_array && options.combine => {
                    error.with_hint("write `input[_].contents` for the contents of each input")
                }
                (_, None) if is_array => error.by_setting(Setting::WrappedArrays),
                (_, Some(_)) if is_array => error
                    .with_hint("leave it out, or refer to its elements: `input[_].contents[_]`"),
                _ => error.with_hint("write it as an object, with fields that have names"),
            });
        }
        let is_scalar = match value {
            Value::Array(_) | Value::Set(_) | Value::Object(_) => false,
            Value::String(_) => !self.bare,
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        };
        if self.how == InputUse::Whole && is_scalar {
            let what = describe(value);
            return Err(wrong(format!("{name} is {what}, in which the policy finds nothing"))
                .with_hint("is it the right file? a command before this one may have failed"));
        }
        if self.statements && !options.attestation && holds_envelope(value) {
            return Err(wrong(format!(
                "{name} is an envelope, and the policy looks at the statement in it"
            ))
            .by_setting(Setting::Envelopes));
        }
        Ok(())
    }
}

/// A parsed document, with the subjects of an attestation.
#[derive(Debug)]
pub(super) struct Parsed {
    pub value: Value,
    pub subjects: Vec<Subject>,
    pub predicate_type: Option<String>,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// Parses a document; `name` is that of its stream.
pub(super) fn parse(
    raw: &RawDocument,
    name: &str,
    options: &DocumentOptions,
) -> Result<Parsed, Error> {
    let text = std::str::from_utf8(&raw.bytes).map_err(|error| {
        let before = raw.bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = raw.line + memchr::memchr_iter(b'\n', before).count();
        wrong(format!("{name}:{line}: the text isn't UTF-8"))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value = value(text, name, raw.syntax == Syntax::Yaml, raw.line)?;
    // Any text without a structure is a string in YAML, in which policies find nothing.
    if matches!(value, Value::String(_)) && !Value::is_json(text.as_bytes()) {
        return Err(wrong(format!("{name}: the text is neither JSON nor YAML with fields"))
            .with_hint("convert other formats, such as TOML, XML or a Dockerfile, to JSON first"));
    }
    if options.attestation {
        // YAML has further ways to write a key twice.
        if raw.syntax == Syntax::Yaml && !Value::is_json(text.as_bytes()) {
            return Err(wrong(format!("{name}: the attestation is YAML, not JSON"))
                .with_hint("attestations and their envelopes are JSON: generate it again"));
        }
        unambiguous(text)?;
        unwrap(value)
    } else {
        if Value::is_json(text.as_bytes()) {
            reject_duplicate_keys(text.as_bytes()).map_err(|found| {
                wrong(format!("{name}: {}", found.message))
                    .with_hint("parsers differ in which of the two they take: write it once")
            })?;
        }
        Ok(Parsed { value, subjects: Vec::new(), predicate_type: None })
    }
}

/// Parses a value exactly, or returns an error with its position.
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

/// The exact type of a payload: readers differ in how they treat other types.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

fn two_readings(what: &str) -> Error {
    wrong(format!("the document can be read in two ways: {what}"))
        .with_hint("a verifier may read it differently: generate it again")
}

fn unambiguous(text: &str) -> Result<(), Error> {
    reject_duplicate_keys(text.as_bytes()).map_err(|wrong| two_readings(&wrong.message))
}

/// Returns a key as readers take it that ignore case and `_`. Those that fold letters as Go does take
/// U+017F for `s`.
fn folded(key: &str) -> String {
    let head = usize::from(key.starts_with('_'));
    let (head, rest) = (key.get(..head), key.get(head..));
    let rest = rest.unwrap_or_default().replace('_', "").to_lowercase().replace('\u{17f}', "s");
    head.unwrap_or_default().to_owned() + &rest
}

/// Refuses an object, at any depth of the subjects, with two keys of which some readers take one for
/// the other.
fn refuse_ambiguous_keys(value: &Value) -> Result<(), Error> {
    match value {
        Value::Array(items) => items.iter().try_for_each(refuse_ambiguous_keys),
        Value::Object(object) => {
            let mut seen = HashSet::new();
            for key in object.keys().filter_map(Value::as_str) {
                if !seen.insert(folded(key)) {
                    let key = crate::text::shorten(key, 80);
                    return Err(two_readings(&format!(
                        "some readers take `{key}` for another key"
                    )));
                }
            }
            object.values().try_for_each(refuse_ambiguous_keys)
        }
        _ => Ok(()),
    }
}

/// Refuses keys that other readers take for known ones because they ignore case or `_`.
fn refuse_lookalike_keys(value: &Value) -> Result<(), Error> {
    let Value::Object(object) = value else { return Ok(()) };
    let known = || [STATEMENT_KEYS, ENVELOPE_KEYS, BUNDLE_KEYS].into_iter().flatten();
    for key in object.keys() {
        let Value::String(key) = key else { continue };
        if let Some(meant) = known().find(|known| folded(known) == folded(key) && **known != &**key)
        {
            let key = crate::text::shorten(key, 80);
            return Err(two_readings(&format!("some readers take `{key}` for `{meant}`")));
        }
    }
    Ok(())
}

/// Refuses keys of one format beside those of another.
fn refuse_foreign_keys(value: &Value, others: &[&[&str]]) -> Result<(), Error> {
    for key in others.iter().copied().flatten() {
        if field(value, key).is_some() {
            return Err(two_readings(&format!("`{key}` is next to an envelope or statement")));
        }
    }
    Ok(())
}

/// Returns `true` for an envelope, for a bundle with one, and for a list with either. Keys count
/// even if they aren't written exactly, as some readers take them.
pub(super) fn holds_envelope(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_envelope),
        other => is_envelope(other),
    }
}

fn is_envelope(value: &Value) -> bool {
    fn plain(text: &str) -> impl Iterator<Item = u8> {
        text.bytes().filter(|b| *b != b'_').map(|b| b.to_ascii_lowercase())
    }
    let Value::Object(object) = value else { return false };
    let is = |key: &Value, name: &str| key.as_str().is_some_and(|key| plain(key).eq(plain(name)));
    let has = |name: &str| object.keys().any(|key| is(key, name));
    let holds = |(key, value): (&Value, &Value)| {
        HOLDERS.iter().any(|name| is(key, name)) && holds_envelope(value)
    };
    (has("payload") && (has("payloadType") || has("signatures")))
        || has("dsseEnvelope")
        || object.iter().any(holds)
}

/// The fields in which tools put an envelope or a bundle.
const HOLDERS: &[&str] = &["attestation", "attestations", "bundle", "content", "envelope"];

/// Returns the statement from an envelope, from a bundle with an envelope, or on its own.
fn unwrap(whole: Value) -> Result<Parsed, Error> {
    refuse_lookalike_keys(&whole)?;
    let envelope = match field(&whole, "dsseEnvelope") {
        Some(envelope) => {
            // A bundle holds an envelope or a signature of another message, not both.
            refuse_foreign_keys(&whole, &[ENVELOPE_KEYS, STATEMENT_KEYS, &["messageSignature"]])?;
            refuse_lookalike_keys(envelope)?;
            refuse_foreign_keys(envelope, &[BUNDLE_KEYS, STATEMENT_KEYS])?;
            Some(envelope)
        }
        None if field(&whole, "payload").or(field(&whole, "payloadType")).is_some() => {
            refuse_foreign_keys(&whole, &[STATEMENT_KEYS])?;
            Some(&whole)
        }
        None => None,
    };
    let statement = match envelope {
        Some(envelope) => {
            let (payload, payload_type) =
                (text(envelope, "payload"), text(envelope, "payloadType"));
            let (Some(payload), Some(payload_type)) = (payload, payload_type) else {
                return Err(wrong("the envelope has no `payload` or no `payloadType`"));
            };
            if payload_type != PAYLOAD_TYPE {
                let shown = crate::text::shorten(payload_type, 80);
                return Err(wrong(format!("the envelope's payload is `{shown}`, not in-toto"))
                    .with_hint(format!("a statement's `payloadType` is `{PAYLOAD_TYPE}`")));
            }
            let payload = decode(payload)?;
            unambiguous(&payload)?;
            let statement = value(&payload, "payload", false, 1)?;
            refuse_lookalike_keys(&statement)?;
            statement
        }
        None => whole,
    };
    refuse_foreign_keys(&statement, &[&["payload", "payloadType", "dsseEnvelope"]])?;
    if !text(&statement, "_type").is_some_and(is_statement) {
        return Err(wrong("the document is neither a DSSE envelope nor an in-toto statement")
            .by_setting(Setting::Attestations));
    }
    let broken = || wrong("the statement's `subject` doesn't conform to in-toto");
    let subjects: Vec<Subject> = match field(&statement, "subject") {
        Some(list) => {
            refuse_ambiguous_keys(list)?;
            let list = serde_json::to_value(list).map_err(|_| broken())?;
            serde_json::from_value(list).map_err(|_| broken())?
        }
        None => return Err(broken()),
    };
    let predicate_type = text(&statement, "predicateType").map(str::to_owned);
    Ok(Parsed { value: statement, subjects, predicate_type })
}

/// Decodes a payload's base64: DSSE allows both alphabets, and padding is often missing.
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

/// Returns the input for a policy: arrays wrapped, arguments and project added.
pub(super) fn finish(
    value: Option<Value>,
    context: &PolicyContext,
    options: &DocumentOptions,
) -> Result<Option<Value>, Error> {
    let value = match value {
        Some(list @ Value::Array(_)) if options.wrap_arrays || context.document => {
            // `input[_].contents` finds nothing in the object.
            let contents_alone = options.combine
                && !context.input.elements
                && context.contents.how == InputUse::Fields;
            if context.input.other_fields || contents_alone {
                let message =
                    "the array is given as `input.elements`, which the policy doesn't use";
                return Err(wrong(message).with_hint("write `input.elements[_]` for each element"));
            }
            Some(object(ELEMENTS, list))
        }
        other => other,
    };
    if let Some(value) = &value {
        context.input.check(value, None, options)?;
        if options.combine {
            for (path, contents) in combined(value) {
                context.contents.check(contents, Some(path), options)?;
            }
        }
    }
    let metadata = options.metadata.fields();
    let owns_args = matches!(&value, Some(value) if field(value, ARGUMENTS).is_some());
    if context.has_arguments && !context.document && owns_args {
        return Err(wrong("the input has `args` already: the arguments would replace it")
            .with_hint("rename the field, or give no arguments"));
    }
    let is_unchanged = context.arguments.is_empty() && metadata.is_empty();
    if is_unchanged && context.kind.is_none() && !context.document {
        return Ok(value);
    }
    let mut value = value.unwrap_or_else(Value::new_object);
    let Some(fields) = value.as_object_mut() else {
        return Err(wrong("the input isn't an object: it has no place for arguments")
            .by_setting(Setting::WrappedArrays));
    };
    if let Some(kind) = &context.kind {
        of_kind(fields, kind, context.document)?;
    }
    if !metadata.is_empty() {
        let mut all = match fields.remove(&Value::from(METADATA)) {
            Some(own) => of_project(own, &metadata, context.document)?,
            None => Value::new_object(),
        };
        if let Some(all) = all.as_object_mut() {
            for (name, text) in metadata {
                all.insert(Value::from(name), Value::from(text));
            }
        }
        fields.insert(Value::from(METADATA), all);
    }
    let own = context.arguments.iter();
    let arguments: BTreeMap<Value, Value> =
        own.map(|(name, value)| (Value::from(name.as_str()), value.clone())).collect();
    if context.document {
        // The document's own `args` are replaced: only the gate's caller chooses arguments.
        fields.insert(Value::from(ARGUMENTS), Value::from(arguments));
    } else if !arguments.is_empty() {
        fields.insert(Value::from(ARGUMENTS), Value::from(arguments));
    }
    Ok(Some(value))
}

/// Returns the paths and contents of combined inputs.
fn combined(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let list = field(value, ELEMENTS).unwrap_or(value).as_array();
    list.into_iter()
        .flatten()
        .filter_map(|entry| Some((text(entry, "path")?, field(entry, "contents")?)))
}

/// Returns an input's own metadata if they agree with those that are given: no verdict is about two
/// projects. Under a policy document, as with its arguments, only those that are given count.
fn of_project(own: Value, given: &[(&str, &str)], document: bool) -> Result<Value, Error> {
    let differs = |(name, text): &&(&str, &str)| {
        field(&own, name).is_some_and(|own| own.as_str() != Some(text))
    };
    let other = given.iter().find(differs);
    match other {
        None if matches!(own, Value::Object(_)) => Ok(own),
        _ if document => Ok(Value::new_object()),
        None => Err(wrong(format!("the input's own `{METADATA}` isn't an object"))
            .with_hint("rename the field, or give no project")),
        Some((name, text)) => {
            Err(wrong(format!("the input has another `{METADATA}.{name}` than `{}`", escape(text)))
                .with_hint("give the input's own, or none"))
        }
    }
}

/// Adds the kind of the input to the annotations in its metadata.
fn of_kind(fields: &mut Object, kind: &str, document: bool) -> Result<(), Error> {
    let take = |fields: &mut Object, name: &str| match fields.remove(&Value::from(name)) {
        None => Ok(Value::new_object()),
        Some(own @ Value::Object(_)) => Ok(own),
        Some(_) if document => Ok(Value::new_object()),
        Some(_) => Err(wrong(format!("the input's own `{name}` isn't an object"))
            .with_hint("rename the field, or give no kind")),
    };
    let mut metadata = take(fields, METADATA)?;
    if let Some(members) = metadata.as_object_mut() {
        let mut annotations = take(members, ANNOTATIONS)?;
        let own = text(&annotations, KIND).map(str::to_owned);
        if let Some(own) = own.filter(|own| own != kind && !document) {
            return Err(wrong(format!("the input is of the kind `{}`", escape(&own)))
                .with_hint(format!("`{}` was given", escape(kind))));
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(Value::from(KIND), Value::from(kind));
        }
        members.insert(Value::from(ANNOTATIONS), annotations);
    }
    fields.insert(Value::from(METADATA), metadata);
    Ok(())
}

impl Metadata {
    fn fields(&self) -> Vec<(&'static str, &str)> {
        [("project_name", &self.project), ("project_version_name", &self.version)]
            .into_iter()
            .filter_map(|(name, text)| Some((name, text.as_deref()?)))
            .collect()
    }
}

/// Returns an object with one field.
pub(super) fn object(name: &str, value: Value) -> Value {
    Value::from(BTreeMap::from([(Value::from(name), value)]))
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

    fn shown(value: &Value) -> String {
        serde_json::to_string(value).unwrap()
    }

    fn expected(how: InputUse) -> Expected {
        Expected { how, ..Expected::default() }
    }

    /// The context of a policy that was loaded by itself.
    fn plain(input: Expected, contents: Expected) -> PolicyContext {
        let arguments = BTreeMap::new();
        PolicyContext {
            arguments,
            has_arguments: false,
            document: false,
            input,
            contents,
            names_contents: false,
            kind: None,
            fields: Vec::new(),
            contents_fields: Vec::new(),
        }
    }

    #[test]
    fn an_input_that_is_no_object_is_explained() {
        let context = plain(expected(InputUse::Fields), Expected::default());
        for (text, combine, expected) in [
            ("[1]", false, "array"),
            ("[1]", true, "`input[_].contents`"),
            ("\"a = 1\"", false, "a string"),
            ("1", false, "scalar"),
        ] {
            let options = DocumentOptions { combine, ..DocumentOptions::default() };
            let value = Some(Value::from_json(text).unwrap());
            let error = finish(value, &context, &options).unwrap_err();
            let shown = format!("{error} {}", error.hint().unwrap_or_default());
            assert!(shown.contains(expected), "{shown}");
            let wraps = error.setting() == Some(Setting::WrappedArrays);
            assert_eq!(wraps, text == "[1]" && !combine, "{text}");
        }
    }

    #[test]
    fn a_combined_document_is_checked_as_alone() {
        let options = DocumentOptions { combine: true, ..DocumentOptions::default() };
        let finish = |contents: &str, expected: Expected, document: bool| {
            let text = format!(
                r#"[{{"path": "a", "contents": {{}}}}, {{"path": "b", "contents": {contents}}}]"#
            );
            let input = Expected { elements: true, ..Expected::default() };
            let context = PolicyContext { document, ..plain(input, expected) };
            super::finish(Some(Value::from_json(&text).unwrap()), &context, &options)
        };
        let fields = expected(InputUse::Fields);
        finish("{\"bad\": true}", fields, false).unwrap();
        for contents in ["[{\"bad\": true}]", "\"bad = true\"", "1"] {
            for document in [false, true] {
                let error = finish(contents, fields, document).unwrap_err();
                assert!(error.to_string().starts_with("`b` is a"), "{error}");
                let whole = finish(contents, expected(InputUse::Whole), document);
                assert_eq!(whole.is_ok(), contents.starts_with('['), "{contents}");
            }
        }
        let bare = Expected { bare: true, ..expected(InputUse::Whole) };
        for (contents, is_right) in
            [("\"x\"", true), ("{}", true), ("null", false), ("1", false), ("true", false)]
        {
            assert_eq!(finish(contents, bare, false).is_ok(), is_right, "{contents}");
        }
        let statements = Expected { statements: true, ..fields };
        let envelope = "{\"payloadType\": \"t\", \"payload\": \"\"}";
        let error = finish(envelope, statements, false).unwrap_err();
        assert!(error.to_string().starts_with("`b` is an envelope"), "{error}");
    }

    #[test]
    fn an_input_of_another_project_is_refused() {
        let context = plain(expected(InputUse::Whole), Expected::default());
        let metadata = Metadata { project: Some("shop".to_owned()), version: None };
        let options = DocumentOptions { metadata, ..DocumentOptions::default() };
        let finish = |text: &str, document: bool| {
            let value = Some(Value::from_json(text).unwrap());
            let context = PolicyContext { document, ..context.clone() };
            super::finish(value, &context, &options).map(|value| shown(&value.unwrap()))
        };
        let own = r#"{"chainloop_metadata":{"project_name":"shop","project_version_name":"1"}}"#;
        assert_eq!(finish(own, false).unwrap(), own);
        let added = r#"{"chainloop_metadata":{"project_name":"shop"}}"#;
        assert_eq!(finish("{}", false).unwrap(), added);
        for other in [own.replace("shop", "other"), own.replace("\"shop\"", "null")] {
            let error = finish(&other, false).unwrap_err();
            assert!(error.to_string().contains("another"), "{error}");
            // A policy document sees only what is given: nothing of the other project's.
            let seen = finish(&other, true).unwrap();
            assert!(!seen.contains("other") && !seen.contains("project_version_name"), "{seen}");
        }
        for other in ["\"shop\"", "null", "[]"] {
            finish(&format!(r#"{{"chainloop_metadata": {other}}}"#), false).unwrap_err();
        }
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
        let given = PolicyContext {
            arguments,
            has_arguments: true,
            document: false,
            input: expected(InputUse::Whole),
            contents: Expected::default(),
            names_contents: false,
            kind: None,
            fields: Vec::new(),
            contents_fields: Vec::new(),
        };
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
        // A policy that uses only fields needs an object.
        let fields = PolicyContext { input: expected(InputUse::Fields), ..bare.clone() };
        for text in ["[1]", "1", "\"x\"", "null"] {
            assert_eq!(finish(parse(text), &bare, &plain).is_ok(), text == "[1]", "{text}");
            finish(parse(text), &fields, &plain).unwrap_err();
        }
        let unused = PolicyContext { input: expected(InputUse::None), ..bare.clone() };
        finish(parse("null"), &unused, &plain).unwrap();
        finish(parse("[1]"), &fields, &wrap).unwrap();
    }

    #[test]
    fn a_policy_document_never_takes_arguments_from_the_input() {
        let given = PolicyContext {
            arguments: BTreeMap::new(),
            has_arguments: false,
            document: true,
            input: expected(InputUse::Fields),
            contents: Expected::default(),
            names_contents: false,
            kind: None,
            fields: Vec::new(),
            contents_fields: Vec::new(),
        };
        let metadata =
            Metadata { project: Some("shop".to_owned()), version: Some("1.2".to_owned()) };
        let plain = DocumentOptions::default();
        let project = DocumentOptions { metadata, ..DocumentOptions::default() };
        for (text, options, expected) in [
            (r#"{"args": {"max": 9}}"#, &plain, r#"{"args":{}}"#),
            ("[1]", &plain, r#"{"args":{},"elements":[1]}"#),
            (
                "[1]",
                &project,
                r#"{"args":{},"chainloop_metadata":{"project_name":"shop","project_version_name":"1.2"},"elements":[1]}"#,
            ),
            (
                r#"{"chainloop_metadata": {"project_name": "x", "y": 1}}"#,
                &project,
                r#"{"args":{},"chainloop_metadata":{"project_name":"shop","project_version_name":"1.2"}}"#,
            ),
            (
                r#"{"chainloop_metadata": {"project_name": "shop", "y": 1}}"#,
                &project,
                r#"{"args":{},"chainloop_metadata":{"project_name":"shop","project_version_name":"1.2","y":1}}"#,
            ),
        ] {
            let value = Some(Value::from_json(text).unwrap());
            assert_eq!(shown(&finish(value, &given, options).unwrap().unwrap()), expected);
        }
        finish(Some(Value::from(1)), &given, &plain).unwrap_err();
    }

    #[test]
    fn an_ambiguous_document_is_refused() {
        let statement = r#"{"_type": "https://in-toto.io/Statement/v1", "subject": []}"#;
        let engine = base64::engine::general_purpose::STANDARD;
        let payload = engine.encode(statement);
        let dsse =
            format!(r#""payloadType": "application/vnd.in-toto+json", "payload": "{payload}""#);
        let twice = engine.encode(statement.replace("\"subject\"", "\"_type\": 1, \"subject\""));
        let read =
            |text: &str| unambiguous(text).and_then(|()| unwrap(Value::from_json(text).unwrap()));
        let plain = format!("{{{dsse}, \"unknown\": 1, \"signatures\": []}}");
        read(&plain).unwrap();
        read(&format!("{{\"dsseEnvelope\": {plain}, \"mediaType\": \"m\"}}")).unwrap();
        for text in [
            format!("{{{dsse}, \"dsseEnvelope\": {plain}}}"),
            format!("{{{dsse}, \"_type\": \"x\"}}"),
            format!("{{{dsse}, \"predicate\": {{}}}}"),
            format!("{{\"dsseEnvelope\": {plain}, \"subject\": []}}"),
            format!("{{\"dsseEnvelope\": {plain}, \"messageSignature\": {{}}}}"),
            format!("{{{dsse}, \"payload\": \"{payload}\"}}"),
            format!("{{{dsse}, \"Payload\": \"{payload}\"}}"),
            format!("{{{dsse}, \"payload_type\": \"x\"}}"),
            format!("{{{}}}", dsse.replace(&payload, &twice)),
            format!("{{{}}}", dsse.replace("+json", "+json; x")),
            format!("{{{}}}", dsse.replace("application", "Application")),
            statement.replace("\"subject\"", "\"Subject\": 1, \"subject\""),
            statement.replace("\"subject\"", "\"payload\": 1, \"subject\""),
        ] {
            read(&text).unwrap_err();
        }
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
            let parsed = unwrap(Value::from_json(text).unwrap()).unwrap();
            assert_eq!(parsed.predicate_type.as_deref(), Some("t"));
            assert_eq!(parsed.subjects.first().unwrap().name, "n>?");
        }
        let other = envelope.replace("vnd.in-toto", "x");
        let broken = envelope.replace(&payload, "!");
        for text in ["{}", "[]", &other, &broken, r#"{"_type": "https://in-toto.io/Statement/v1"}"#]
        {
            unwrap(Value::from_json(text).unwrap()).unwrap_err();
        }
    }
}
