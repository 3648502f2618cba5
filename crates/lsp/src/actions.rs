//! Changes of a text: the layout of `fmt`, and the fixes of `check`.

use std::collections::HashMap;
use std::path::Path;

use lsp_types::{CodeAction, CodeActionKind, Range, TextEdit, WorkspaceEdit};
use rego::{FormatOptions, format};
use rego_platform::check;
use rego_platform::sources::ModuleSource;
use rego_platform::{Diagnostic, Fix};

use crate::addresses;
use crate::files::File;

/// Returns the edits that give a text `opa fmt`'s layout; `None` if it can't be parsed.
pub(crate) fn formatted(path: &Path, file: &File) -> Option<Vec<TextEdit>> {
    let content = &file.text.content;
    let new = format(&path.display().to_string(), content, FormatOptions::default()).ok()?;
    Some(if new == *content { Vec::new() } else { vec![TextEdit::new(file.text.whole(), new)] })
}

/// Returns the fixes of findings within a range, each with one right answer.
pub(crate) fn fixes(
    path: &Path,
    file: &File,
    range: Range,
    found: &[Diagnostic],
) -> Vec<CodeAction> {
    let name = path.display().to_string();
    let module = ModuleSource::new(&name, &file.text.content);
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
        let fixed = check::fix(std::slice::from_ref(&module), std::slice::from_ref(finding));
        let text = fixed.into_iter().next()?.text;
        let edit = TextEdit::new(file.text.whole(), text);
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
