//! JSON and YAML documents as values.
//!
//! Owns the requirements on data and input documents, reported with file and line where they aren't
//! met. The meaning of a text belongs to `json` and `yaml`.

use serde::de::DeserializeOwned;

use crate::rego::Value;

use super::files::Kind;
use super::json;
use super::yaml;
use crate::{Diagnostic, Position};

/// A data document.
#[derive(Debug)]
pub(super) struct Data {
    pub value: Value,
    /// The number of further documents in the same text, which aren't read.
    pub further: usize,
}

/// Parses a data document. At the root of the data it must be an object.
pub(super) fn parse(path: &str, text: &str, kind: Kind, is_root: bool) -> Result<Data, Diagnostic> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let empty = || {
        Diagnostic::error("data-error", format!("`{path}` is empty"))
            .with_hint("a data file holds an object; remove the file, or write `{}`")
    };
    if text.trim().is_empty() {
        return Err(empty());
    }
    let data = if matches!(kind, Kind::Yaml) {
        let read = yaml::read(text).map_err(|wrong| of_yaml(path, text, &wrong))?;
        if read.further > 0 {
            refuse_further_policy(path, text)?;
        }
        let value = read.value.ok_or_else(empty)?;
        Data { value, further: read.further }
    } else {
        let value = json::read(text).map_err(|wrong| of_json(path, text, &wrong))?;
        Data { value, further: 0 }
    };
    if !is_root || matches!(data.value, Value::Object(_)) {
        Ok(data)
    } else {
        Err(Diagnostic::error("data-error", format!("`{path}` doesn't contain an object"))
            .with_hint(
                "its keys become paths below `data`; `PATH:FILE` puts any value below a path",
            )
            .at(position(path, text, 1, 1)))
    }
}

/// Refuses a policy document that follows another document: it wouldn't be evaluated.
fn refuse_further_policy(path: &str, text: &str) -> Result<(), Diagnostic> {
    let further = yaml::further(text).map_err(|wrong| of_yaml(path, text, &wrong))?;
    if !further.iter().any(is_policy) {
        return Ok(());
    }
    let message = format!("`{path}` has a policy document behind `---`");
    Err(Diagnostic::error("data-error", message)
        .with_hint("put each policy document into its own file"))
}

/// Parses a document of data of any type.
pub(super) fn of_bundle(path: &str, text: &str, is_yaml: bool) -> Result<Data, Diagnostic> {
    parse(path, text, if is_yaml { Kind::Yaml } else { Kind::Json }, false)
}

/// Parses a document of any type.
pub(super) fn any(path: &str, text: &str, is_yaml: bool) -> Result<Value, Diagnostic> {
    if !is_yaml {
        return json::read(text).map_err(|wrong| of_json(path, text, &wrong));
    }
    // As in OPA, an input that is JSON is read as JSON, whatever its name.
    if let Ok(value) = json::read(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        return Ok(value);
    }
    let read = yaml::read(text).map_err(|wrong| of_yaml(path, text, &wrong))?;
    if read.further > 0 {
        let message = "unexpected second document in the same text".to_owned();
        return Err(Diagnostic::error("data-error", message)
            .with_hint("separate documents with lines of `---`"));
    }
    Ok(read.value.unwrap_or(Value::Null))
}

/// The group of the vendor's `apiVersion`, which one of its two spellings puts behind [`OLDER`].
const VENDOR: &str = "chainloop.dev/";

/// The beginning of the older spelling of an `apiVersion`.
const OLDER: &str = "workflowcontract.";

/// Returns `true` for what says that it is a policy or a group of them: `kind: Policy` or `PolicyGroup` with an
/// `apiVersion` and a `spec`, whatever the version, and any kind but `Contract` with an `apiVersion` of the
/// vendor's. Its reader refuses unknown versions and misspelt kinds: as data, such a policy would silently
/// not be evaluated.
pub(super) fn is_policy(value: &Value) -> bool {
    let version = api_version(value);
    let is_vendors = version
        .and_then(Value::as_str)
        .is_some_and(|version| version.starts_with(OLDER) || version.starts_with(VENDOR));
    match kind(value) {
        Some("Contract") => false,
        Some("Policy" | "PolicyGroup") => {
            is_vendors || version.is_some() && value.get_str("spec").is_some()
        }
        _ => is_vendors,
    }
}

/// Returns `true` for a contract, in its newer or its older form.
pub(super) fn is_contract(value: &Value) -> bool {
    let schema = value.get_str("schemaVersion").or_else(|| value.get_str("schema_version"));
    kind(value) == Some("Contract") && api_version(value).is_some()
        || schema.and_then(Value::as_str) == Some("v1")
}

fn kind(value: &Value) -> Option<&str> {
    value.get_str("kind").and_then(Value::as_str)
}

fn api_version(value: &Value) -> Option<&Value> {
    value.get_str("apiVersion").or_else(|| value.get_str("api_version"))
}

/// Refuses plain scalars that YAML 1.1 reads as booleans and YAML 1.2 as strings.
pub(super) fn refuse_boolean_words(path: &str, text: &str) -> Result<(), Diagnostic> {
    let found = yaml::boolean_word(text).map_err(|wrong| of_yaml(path, text, &wrong))?;
    found.map_or(Ok(()), |wrong| Err(of_yaml(path, text, &wrong)))
}

/// Reads the only document of a YAML text into a type.
pub(super) fn typed<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, Diagnostic> {
    yaml::typed(text).map_err(|wrong| of_yaml(path, text, &wrong))
}

fn of_json(path: &str, text: &str, wrong: &json::JsonError) -> Diagnostic {
    let at = position(path, text, wrong.line, wrong.column);
    let found = Diagnostic::error("data-error", wrong.message.clone()).at(at);
    match hint(text, wrong) {
        Some(hint) => found.with_hint(hint),
        None => found,
    }
}

/// Returns the correction of a common mistake in JSON, by the character at which parsing failed.
fn hint(text: &str, wrong: &json::JsonError) -> Option<&'static str> {
    let start: usize =
        text.split_inclusive('\n').take(wrong.line.saturating_sub(1)).map(str::len).sum();
    let (before, rest) = text.split_at_checked(start + wrong.column.saturating_sub(1))?;
    let is_key = wrong.message.contains("object key string");
    match rest.chars().next() {
        None if wrong.message.contains("end of JSON input") => Some("the text is incomplete"),
        None => None,
        Some('}' | ']') if before.trim_end().ends_with(',') => Some("remove the comma before it"),
        Some('\'') => Some("strings are written in double quotes"),
        Some('/' | '#') => Some("JSON has no comments"),
        Some(c) if is_key && c.is_alphanumeric() => Some("keys are written in double quotes"),
        Some('T' | 'F' | 'N') => Some("JSON has `true`, `false` and `null`"),
        Some('{' | '[') if wrong.message.contains("after top-level value") => {
            Some("a file holds one document: make it an array")
        }
        Some(_) => None,
    }
}

fn of_yaml(path: &str, text: &str, wrong: &yaml::YamlError) -> Diagnostic {
    let at = place(path, text, wrong.line, wrong.column);
    let found = Diagnostic::error("data-error", wrong.message.clone()).at(at);
    match wrong.hint {
        Some(hint) => found.with_hint(hint),
        None => found,
    }
}

/// Returns the position of a place in YAML, whose column counts characters.
pub(super) fn place(path: &str, text: &str, line: usize, column: usize) -> Position {
    let shown = text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default();
    let before = shown.char_indices().nth(column.saturating_sub(1));
    let column = before.map_or(shown.len(), |(at, _)| at) + 1;
    position(path, text, line, column)
}

fn position(path: &str, text: &str, line: usize, column: usize) -> Position {
    let shown = text.split('\n').nth(line.saturating_sub(1)).unwrap_or("").trim_end_matches('\r');
    // The parsers count bytes, but users count characters. A long line of data is shown in part.
    let before = shown.char_indices().take_while(|(at, _)| *at + 1 < column).count();
    Position {
        file: path.to_owned(),
        line: u32::try_from(line.max(1)).unwrap_or(u32::MAX),
        column: u32::try_from(before + 1).unwrap_or(u32::MAX),
        length: 1,
        text: shown.chars().take(240).collect(),
    }
}
