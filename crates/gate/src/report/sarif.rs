//! Reports in SARIF 2.1.0, which code-scanning services and editors show beside the code.
//!
//! Owns the translation of rules and results, and of paths, which become relative to the repository's root
//! and use forward slashes. Columns count characters, as everywhere here, and the log
//! declares that.

use std::collections::HashMap;
use std::path::{Component, Path};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rego_platform::{Level, Position};
use serde_sarif::sarif::{
    ArtifactLocation, Location, Message, MultiformatMessageString, PhysicalLocation, Region,
    ReportingConfiguration, ReportingDescriptor, ResultColumnKind, ResultLevel, Run, SCHEMA_URL,
    Sarif, Tool, ToolComponent, Version,
};

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

/// The most results of a run: GitHub refuses a file with more.
pub const MAX_RESULTS: usize = 25_000;

/// Returns a log with one run. Paths below `folder` become relative. A result without a position is at the path
/// `somewhere`, since readers refuse one without a location. Of more than [`MAX_RESULTS`], errors are kept first.
#[doc(hidden)]
pub fn log(rules: &[Rule<'_>], items: &[Item<'_>], folder: &Path, somewhere: &str) -> Sarif {
    let places: HashMap<&str, usize> =
        rules.iter().enumerate().map(|(index, rule)| (rule.id, index)).collect();
    let driver = ToolComponent::builder()
        .name("rego-platform")
        .semantic_version(env!("CARGO_PKG_VERSION"))
        .rules(rules.iter().map(descriptor).collect::<Vec<_>>())
        .build();
    let mut kept: Vec<_> = items.iter().collect();
    if kept.len() > MAX_RESULTS {
        kept.sort_by_key(|item| item.level != Level::Error);
        kept.truncate(MAX_RESULTS);
    }
    let result =
        |item: &&Item<'_>| result(item, places.get(item.rule).copied(), (folder, somewhere));
    let results: Vec<_> = kept.iter().map(result).collect();
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .column_kind(serde_json::json!(ResultColumnKind::UnicodeCodePoints))
        .results(results)
        .build();
    Sarif::builder()
        .schema(SCHEMA_URL)
        .version(serde_json::json!(Version::V2_1_0))
        .runs(vec![run])
        .build()
}

fn descriptor(rule: &Rule<'_>) -> ReportingDescriptor {
    let text = |text: &str| MultiformatMessageString::builder().text(text).build();
    let level = serde_json::json!(level(rule.level));
    ReportingDescriptor::builder()
        .id(rule.id)
        .short_description(text(rule.summary))
        .help(text(rule.help))
        .default_configuration(ReportingConfiguration::builder().level(level).build())
        .build()
}

const fn level(level: Level) -> ResultLevel {
    match level {
        Level::Error => ResultLevel::Error,
        _ => ResultLevel::Warning,
    }
}

fn result(
    item: &Item<'_>,
    index: Option<usize>,
    (folder, somewhere): (&Path, &str),
) -> serde_sarif::sarif::Result {
    let place = item.position.map_or_else(|| file(somewhere, folder), |at| location(at, folder));
    let mut result = serde_sarif::sarif::Result::builder()
        .message(Message::builder().text(item.message.as_str()).build())
        .rule_id(item.rule)
        .level(level(item.level))
        .locations(vec![place])
        .build();
    result.rule_index = index.and_then(|index| i64::try_from(index).ok());
    result
}

pub(crate) fn location(position: &Position, folder: &Path) -> Location {
    let region = Region::builder()
        .start_line(i64::from(position.line))
        .start_column(i64::from(position.column))
        .end_line(i64::from(position.line))
        .end_column(i64::from(position.column) + i64::from(position.length))
        .build();
    let artifact = ArtifactLocation::builder().uri(uri(&position.file, folder)).build();
    Location::builder()
        .physical_location(
            PhysicalLocation::builder().artifact_location(artifact).region(region).build(),
        )
        .build()
}

/// Returns the location of a file as a whole. Readers require a line.
pub(crate) fn file(path: &str, folder: &Path) -> Location {
    let artifact = ArtifactLocation::builder().uri(uri(path, folder)).build();
    let region = Region::builder().start_line(1_i64).build();
    let place = PhysicalLocation::builder().artifact_location(artifact).region(region).build();
    Location::builder().physical_location(place).build()
}

/// The characters to escape in a segment of a URI's path; `:` in the first segment would make it a
/// scheme.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// Returns a path as a URI: relative if it is below `folder` or relative already, otherwise with
/// the scheme `file`.
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
        let folder = Path::new(if cfg!(windows) { "C:\\nowhere" } else { "/nowhere" });
        for (path, expected) in [
            ("policies/a.rego".to_owned(), "policies/a.rego"),
            ("./a b/ü#.rego".to_owned(), "a%20b/%C3%BC%23.rego"),
            ("../x.rego".to_owned(), "../x.rego"),
            (folder.join("p").join("a.rego").to_string_lossy().into_owned(), "p/a.rego"),
        ] {
            assert_eq!(uri(&path, folder), expected, "{path}");
        }
        #[cfg(unix)]
        assert_eq!(uri("/else/a b.rego", folder), "file:///else/a%20b.rego");
    }
}
