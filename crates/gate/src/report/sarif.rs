//! Reports in SARIF 2.1.0, which code-scanning services and editors show next to the code.
//!
//! Owns the translation of rules and results, and of paths, which become relative to the repository's root
//! and use forward slashes. Columns count characters, as everywhere here, and the log
//! declares that.

use std::collections::HashMap;
use std::path::{Component, Path};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rego_platform::{Level, Position};
use serde_json::{Value, json};

use super::paths::relative;

/// A kind of result.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Rule<'a> {
    pub id: &'a str,
    pub level: Level,
    pub summary: &'a str,
    pub help: &'a str,
}

/// A result.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Item<'a> {
    /// The id of its rule.
    pub rule: &'a str,
    pub level: Level,
    pub message: String,
    pub position: Option<&'a Position>,
}

/// The maximum number of results of a run: GitHub refuses a file with more.
pub const MAX_RESULTS: usize = 25_000;

/// The address of the format's schema.
const SCHEMA: &str = "https://schemastore.azurewebsites.net/schemas/json/sarif-2.1.0.json";

/// Returns a log with one run. Paths below `folder` become relative. A result without a position is at the path
/// `somewhere`, since readers refuse one without a location. Of more than [`MAX_RESULTS`], errors are kept first.
#[doc(hidden)]
pub fn log(rules: &[Rule<'_>], items: &[Item<'_>], folder: &Path, somewhere: &str) -> Value {
    let places: HashMap<&str, usize> =
        rules.iter().enumerate().map(|(index, rule)| (rule.id, index)).collect();
    let mut kept: Vec<_> = items.iter().collect();
    if kept.len() > MAX_RESULTS {
        kept.sort_by_key(|item| item.level != Level::Error);
        kept.truncate(MAX_RESULTS);
    }
    let result = |item: &Item<'_>| {
        let place =
            item.position.map_or_else(|| file(somewhere, folder), |at| location(at, folder));
        let result = json!({
            "message": {"text": item.message},
            "ruleId": item.rule,
            "level": level(item.level),
            "locations": [place],
        });
        with(result, [("ruleIndex", places.get(item.rule).map(|index| json!(index)))])
    };
    document(json!({
        "tool": {"driver": {
            "name": "rego-platform",
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules.iter().map(descriptor).collect::<Value>(),
        }},
        "columnKind": "unicodeCodePoints",
        "results": kept.into_iter().map(result).collect::<Value>(),
    }))
}

/// Returns a log with this run.
pub(crate) fn document(run: Value) -> Value {
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
}

/// Returns an object with the further fields that have a value.
pub(crate) fn with<const N: usize>(mut object: Value, more: [(&str, Option<Value>); N]) -> Value {
    if let Some(fields) = object.as_object_mut() {
        let more = more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        fields.extend(more);
    }
    object
}

fn descriptor(rule: &Rule<'_>) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": level(rule.level)},
    })
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        _ => "warning",
    }
}

pub(crate) fn location(position: &Position, folder: &Path) -> Value {
    let end = u64::from(position.column) + u64::from(position.length);
    json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(&position.file, folder)},
        "region": {
            "startLine": position.line,
            "startColumn": position.column,
            "endLine": position.line,
            "endColumn": end,
        },
    }})
}

/// Returns the location of a file as a whole. Readers require a line.
pub(crate) fn file(path: &str, folder: &Path) -> Value {
    json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(path, folder)},
        "region": {"startLine": 1},
    }})
}

/// The characters to escape in a segment of a URI's path; `:` in the first segment would make it a
/// scheme.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// Returns a path as a URI: relative to `folder` if there is one, otherwise as it is written or with the scheme
/// `file`.
pub(crate) fn uri(path: &str, folder: &Path) -> String {
    let relative = relative(path, folder);
    if relative.is_absolute() {
        return url::Url::from_file_path(&relative)
            .map_or_else(|()| encoded(&relative), |url| url.to_string());
    }
    match encoded(&relative) {
        text if text.is_empty() => ".".to_owned(),
        text => text,
    }
}

fn encoded(path: &Path) -> String {
    let parts = path.components().filter_map(|part| match part {
        Component::CurDir => None,
        Component::ParentDir => Some("..".to_owned()),
        other => {
            let text = other.as_os_str().to_string_lossy().into_owned();
            Some(utf8_percent_encode(&text, ESCAPED).to_string())
        }
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris_relative_to_the_folder() {
        let folder = &std::env::current_dir().unwrap_or_default();
        for (path, expected) in [
            ("policies/a.rego".to_owned(), "policies/a.rego"),
            ("./a b/ü#.rego".to_owned(), "a%20b/%C3%BC%23.rego"),
            ("../x.rego".to_owned(), "../x.rego"),
            (folder.join("p").join("a.rego").to_string_lossy().into_owned(), "p/a.rego"),
        ] {
            assert_eq!(uri(&path, folder), expected, "{path}");
        }
        #[cfg(unix)]
        {
            assert_eq!(uri("/else/a b.rego", Path::new("/here")), "../else/a%20b.rego");
            assert_eq!(uri("/else/a b.rego", Path::new("")), "file:///else/a%20b.rego");
        }
    }
}
