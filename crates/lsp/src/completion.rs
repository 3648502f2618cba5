//! Completions at a position: names that continue the path before the cursor, fields, and filters and values
//! within strings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lsp_types::{
    CompletionItem, CompletionItemKind, Documentation, MarkupContent, MarkupKind, Position,
};
use rego::internal::builtins;
use rego::syntax::{ParseOptions, parse_module};
use rego_platform::functions::FUNCTIONS;
use rego_platform::load::LoadOptions;
use rego_platform::{Product, check};

use crate::file::File;
use crate::files::{Files, Place};
use crate::hover;

/// Returns the path before the cursor: its complete names. The last, which is being typed, isn't one.
fn before(file: &File, position: Position) -> Vec<String> {
    let offset = file.text.offset(position);
    let head = file.text.content.get(..offset).unwrap_or_default();
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let path = head.rsplit(|c| !is_part(c)).next().unwrap_or_default();
    let mut names: Vec<_> = path.split('.').map(str::to_owned).collect();
    names.pop();
    names
}

/// Returns the completions at a position.
pub(crate) fn completions(place: Place<'_>) -> Vec<CompletionItem> {
    let Place { files, load, path, position } = place;
    let Some(file) = files.get(path) else { return Vec::new() };
    let product = &load.product;
    let offset = file.text.offset(position);
    if let Some(string) = string_at(file, position) {
        return choices(files, load, (path, file), string, true);
    }
    let typed = before(file, position);
    let mut found = BTreeMap::new();
    functions(product, &typed, &mut found);
    let names = &file.names;
    match typed.split_first() {
        Some((head, rest)) if head == "data" => rules(files, rest, &mut found),
        Some((head, rest)) => {
            let imported = names.imports.get(head);
            let full = imported.map_or_else(
                || [&names.package, typed.as_slice()].concat(),
                |import| [&import.path, rest].concat(),
            );
            rules(files, &full, &mut found);
        }
        None => {
            rules(files, &names.package, &mut found);
            for (name, import) in &names.imports {
                let detail = format!("data.{}", import.path.join("."));
                found.insert(name.clone(), item(name, CompletionItemKind::MODULE, detail));
            }
            for (name, detail) in [("input", "the document"), ("data", "rules and base data")] {
                found.insert(
                    name.to_owned(),
                    item(name, CompletionItemKind::KEYWORD, detail.to_owned()),
                );
            }
        }
    }
    if found.is_empty() && !typed.is_empty() {
        let head = file.text.content.get(..offset).unwrap_or_default();
        let start = head.rfind('.').map_or(offset, |dot| dot + 1);
        return choices(files, load, (path, file), (start, offset), false);
    }
    found.into_values().collect()
}

/// Returns the byte range of the string at a position, without its quotes.
fn string_at(file: &File, position: Position) -> Option<(usize, usize)> {
    let offset = file.text.offset(position);
    let start = file.text.offset(Position::new(position.line, 0));
    let line = file.text.line(usize::try_from(position.line).ok()?);
    let (mut opened, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match (c, opened) {
            _ if escaped => escaped = false,
            ('"', None) if start + at >= offset => return None,
            ('"', None) => opened = Some(start + at + 1),
            ('"', Some(opened)) if start + at >= offset => return Some((opened, start + at)),
            ('"', Some(_)) => opened = None,
            ('\\', Some(_)) => escaped = true,
            ('#', None) => return None,
            _ => {}
        }
    }
    // It isn't closed yet.
    opened.filter(|opened| *opened <= offset).map(|opened| (opened, offset))
}

/// A placeholder name that no policy has.
const PLACE: &str = "rego_platform_place";

/// Returns the fields or strings that may replace a byte range.
fn choices(
    files: &Files,
    load: &LoadOptions,
    (path, file): (&Path, &File),
    (start, end): (usize, usize),
    in_string: bool,
) -> Vec<CompletionItem> {
    // What is being written may lack its end.
    let is_closed = file.text.content.get(end..).is_some_and(|rest| rest.starts_with('"'));
    // As a key before as a value: `{"a"}` would be a set.
    let ends: &[&str] = match (in_string, is_closed) {
        (false, _) => &[""],
        (true, true) => &[": null", ""],
        (true, false) => &["\": null})", "\": null}", "\": null", "\"})", "\")", "\""],
    };
    let options = ParseOptions::version(files.rego(path));
    let whole = ends.iter().find_map(|more| {
        let mut text = file.text.content.clone();
        let closed = usize::from(is_closed && in_string);
        let behind = text.get(end..end + closed)?.to_owned();
        text.replace_range(start..end + closed, &format!("{PLACE}{behind}{more}"));
        parse_module(rego::FileId(0), &text, &options).is_ok().then_some(text)
    });
    let Some(text) = whole else { return Vec::new() };
    let needed = files.needed(std::iter::once(path));
    let parsed = |path: &&Path| files.get(path).is_some_and(|file| !file.is_broken);
    let mut wanted: BTreeSet<&Path> = needed.into_iter().filter(parsed).collect();
    wanted.insert(path);
    let mut sources = files.sources(Some(&wanted));
    let name = path.display().to_string();
    for module in sources.modules.iter_mut().filter(|module| module.path == name) {
        module.text = file.loaded(text.clone());
    }
    let item = |choice: check::Choice| {
        let kind = if in_string { CompletionItemKind::VALUE } else { CompletionItemKind::FIELD };
        item(choice.name, kind, choice.doc.to_owned())
    };
    check::choices(&sources, load, PLACE).into_iter().map(item).collect()
}

fn item(name: &str, kind: CompletionItemKind, detail: String) -> CompletionItem {
    let (label, kind, detail) = (name.to_owned(), Some(kind), Some(detail));
    CompletionItem { label, kind, detail, ..CompletionItem::default() }
}

/// Adds functions whose names continue the typed text.
fn functions(product: &Product, typed: &[String], found: &mut BTreeMap<String, CompletionItem>) {
    let of_product = FUNCTIONS.iter().map(|function| format!("{product}.{}", function.name));
    let builtins = builtins::all().iter().filter(|one| one.infix.is_none() && !one.deprecated);
    let builtins = builtins.map(|one| one.name).filter(|name| !name.starts_with("internal."));
    for name in of_product.chain(builtins.map(str::to_owned)) {
        let parts: Vec<_> = name.split('.').map(str::to_owned).collect();
        let Some([next, rest @ ..]) = parts.strip_prefix(typed) else { continue };
        if rest.is_empty() {
            let value = hover::function(product, &name).unwrap_or_default();
            let documentation = MarkupContent { kind: MarkupKind::Markdown, value };
            let mut item = item(next, CompletionItemKind::FUNCTION, name);
            item.documentation = Some(Documentation::MarkupContent(documentation));
            found.insert(next.clone(), item);
        } else {
            let module = || item(next, CompletionItemKind::MODULE, "functions".to_owned());
            found.entry(next.clone()).or_insert_with(module);
        }
    }
}

/// Adds packages and rules whose paths continue one.
fn rules(files: &Files, path: &[String], found: &mut BTreeMap<String, CompletionItem>) {
    for (_, file) in files.iter() {
        if let Some([next, ..]) = file.names.package.strip_prefix(path) {
            let package = || item(next, CompletionItemKind::MODULE, "package".to_owned());
            found.entry(next.clone()).or_insert_with(package);
        }
        for rule in &file.names.rules {
            let Some([next, rest @ ..]) = rule.path.strip_prefix(path) else { continue };
            if path.len() < file.names.package.len() || rule.is_test {
                continue;
            }
            let kind = match (&rule.arguments, rest) {
                (Some(_), []) => CompletionItemKind::FUNCTION,
                _ => CompletionItemKind::VARIABLE,
            };
            let arguments = rule.arguments.as_ref().map(|names| format!("({})", names.join(", ")));
            let detail = format!("data.{}{}", rule.path.join("."), arguments.unwrap_or_default());
            found.entry(next.clone()).or_insert_with(|| item(next, kind, detail));
        }
    }
}
