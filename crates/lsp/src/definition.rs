//! Definitions and references of a name.

use std::path::{Path, PathBuf};

use lsp_types::{Location, Position};

use crate::addresses;
use crate::file::File;
use crate::files::{Files, Place};
use crate::names::Declared;

/// Returns the definitions of the longest declared prefix of a path, with their files, or else the packages
/// of that name.
pub(crate) fn declared<'a>(
    files: &'a Files,
    path: &[String],
) -> Vec<(&'a Path, &'a File, &'a Declared)> {
    let all = || {
        files
            .iter()
            .flat_map(|(at, file)| file.names.rules.iter().map(move |rule| (at, file, rule)))
    };
    let is_begun = |rule: &Declared| path.starts_with(&rule.path);
    let longest = all().filter(|(.., rule)| is_begun(rule)).map(|(.., rule)| rule.path.len()).max();
    let Some(longest) = longest else { return Vec::new() };
    all().filter(|(.., rule)| rule.path.len() == longest && is_begun(rule)).collect()
}

/// Returns the path of the name at a position.
fn path_at(file: &File, position: Position) -> Option<Vec<String>> {
    let offset = file.text.offset(position);
    if let Some(rule) = file.names.declared_at(offset) {
        return Some(rule.path.clone());
    }
    file.names.at(offset)?.path().map(<[String]>::to_vec)
}

fn location(path: &Path, file: &File, span: (usize, usize)) -> Option<Location> {
    Some(Location::new(addresses::uri(path)?, file.text.range(span.0, span.1)))
}

/// Returns the definitions of the name at a position: its rules, or the files of its package.
pub(crate) fn definitions(place: Place<'_>) -> Vec<Location> {
    let Place { files, path, position, .. } = place;
    let Some(name) = files.get(path).and_then(|file| path_at(file, position)) else {
        return Vec::new();
    };
    let rules = declared(files, &name);
    if !rules.is_empty() {
        return rules.iter().filter_map(|(at, file, rule)| location(at, file, rule.head)).collect();
    }
    let of_package = files.iter().filter(|(_, file)| file.names.package == name);
    of_package.filter_map(|(at, file)| location(at, file, (0, 0))).collect()
}

/// Returns the references to the name at a position, and its declarations if `wanted`.
pub(crate) fn references(place: Place<'_>, wanted: bool) -> Vec<Location> {
    let Place { files, path, position, .. } = place;
    let name = files.get(path).and_then(|file| path_at(file, position));
    let rules = name.map(|name| declared(files, &name)).unwrap_or_default();
    let Some((.., rule)) = rules.first() else { return Vec::new() };
    let target = &rule.path;
    let mut found: Vec<(PathBuf, Location)> = Vec::new();
    for (at, file) in files.iter() {
        for used in &file.names.used {
            let Some(path) = used.path() else { continue };
            let is_head = file
                .names
                .rules
                .iter()
                .any(|rule| rule.head.0 <= used.span.0 && used.span.1 <= rule.head.1);
            let is_same =
                || declared(files, path).first().is_some_and(|(.., rule)| rule.path == *target);
            if !is_head && path.starts_with(target) && is_same() {
                found.extend(location(at, file, used.span).map(|one| (at.to_owned(), one)));
            }
        }
        for rule in file.names.rules.iter().filter(|rule| wanted && rule.path == *target) {
            found.extend(location(at, file, rule.head).map(|one| (at.to_owned(), one)));
        }
    }
    found.sort_by_key(|(at, one)| (at.clone(), one.range.start.line, one.range.start.character));
    found.into_iter().map(|(_, one)| one).collect()
}
