//! Edits: the formatting of `fmt`, and the fixes of `check`.

use std::collections::HashMap;
use std::path::Path;

use lsp_types::{CodeAction, CodeActionKind, Range, TextEdit, WorkspaceEdit};
use rego::{FormatOptions, format};
use rego_platform::check;
use rego_platform::sources::ModuleSource;
use rego_platform::{Diagnostic, Fix};

use crate::addresses;
use crate::file::File;

/// Returns the edits that format the modules of a file as `opa fmt` does; `None` if one can't be parsed.
pub(crate) fn formatted(path: &Path, files: &[&File]) -> Option<Vec<TextEdit>> {
    let mut edits = Vec::new();
    for file in files {
        let content = content(file)?;
        let new = format(&path.display().to_string(), content, FormatOptions::default()).ok()?;
        if new != content {
            edits.push(edit(file, new));
        }
    }
    Some(edits)
}

/// Returns a file's text, without its indentation in a policy document; `None` for a module at an unknown
/// position in a document that can't be parsed.
fn content(file: &File) -> Option<&str> {
    match &file.embedded {
        None => Some(&file.text.content),
        Some(module) => (!file.is_broken).then_some(&module.text),
    }
}

/// Returns the edit that replaces such a text.
fn edit(file: &File, new: String) -> TextEdit {
    match &file.embedded {
        None => TextEdit::new(file.text.whole(), new),
        Some(module) => module.edit(&file.text, &new),
    }
}

/// Returns the fixes of findings within a range, each with one right answer.
pub(crate) fn fixes(
    path: &Path,
    file: &File,
    range: Range,
    found: &[Diagnostic],
) -> Vec<CodeAction> {
    let name = path.display().to_string();
    let Some(content) = content(file) else { return Vec::new() };
    let module = ModuleSource::new(&name, content);
    let is_there = |finding: &&Diagnostic| {
        finding.position.as_ref().is_some_and(|at| {
            let own = file.text.range_of(at);
            at.file == name && own.start <= range.end && range.start <= own.end
        })
    };
    let action = |finding: &Diagnostic| {
        let title = match finding.fix.as_ref()? {
            Fix::Name { right, .. } => format!("Write `{right}`"),
            Fix::Remove => "Remove it".to_owned(),
        };
        let finding = match &file.embedded {
            None => finding.clone(),
            Some(module) => module.located(finding)?,
        };
        let fixed = check::fix(std::slice::from_ref(&module), &[finding]);
        let edit = edit(file, fixed.into_iter().next()?.text);
        let changes = Some(HashMap::from([(addresses::uri(path)?, vec![edit])]));
        Some(CodeAction {
            title,
            kind: Some(CodeActionKind::QUICKFIX),
            edit: Some(WorkspaceEdit { changes, ..WorkspaceEdit::default() }),
            is_preferred: Some(true),
            ..CodeAction::default()
        })
    };
    found.iter().filter(is_there).filter_map(action).collect()
}
