//! What may stand at a position: the names that continue the path before the cursor.

use std::collections::BTreeMap;
use std::path::Path;

use lsp_types::{
    CompletionItem, CompletionItemKind, Documentation, MarkupContent, MarkupKind, Position,
};
use rego::internal::builtins;
use rego_platform::Product;
use rego_platform::functions::FUNCTIONS;

use crate::files::{File, Files};
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

/// Returns the names that may follow.
pub(crate) fn completions(
    files: &Files,
    product: &Product,
    path: &Path,
    position: Position,
) -> Vec<CompletionItem> {
    let Some(file) = files.get(path) else { return Vec::new() };
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
                |path| [path, rest].concat(),
            );
            rules(files, &full, &mut found);
        }
        None => {
            rules(files, &names.package, &mut found);
            for (name, path) in &names.imports {
                let detail = format!("data.{}", path.join("."));
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
    found.into_values().collect()
}

fn item(name: &str, kind: CompletionItemKind, detail: String) -> CompletionItem {
    let (label, kind, detail) = (name.to_owned(), Some(kind), Some(detail));
    CompletionItem { label, kind, detail, ..CompletionItem::default() }
}

/// Adds functions whose names continue what is typed.
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
