//! Imports and local variables that nothing uses.

use super::walk::{Kind, Model};
use crate::Diagnostic;
use crate::evaluate::load::ModuleSyntax;

/// Finds unused imports.
pub(super) fn imports(module: &ModuleSyntax<'_>, out: &mut Vec<Diagnostic>) {
    for import in module.imports() {
        if !import.used && !import.alias.starts_with('_') {
            let message = format!("the import `{}` isn't used", import.alias);
            out.push(
                Diagnostic::warning("unused-import", message)
                    .with_hint("remove it")
                    .at(import.position),
            );
        }
    }
}

/// Finds unused variables and arguments.
pub(super) fn variables(module: &ModuleSyntax<'_>, model: &Model<'_>, out: &mut Vec<Diagnostic>) {
    for variable in &model.variables {
        if variable.used || variable.name.starts_with('_') {
            continue;
        }
        let what = match variable.kind {
            Kind::Argument => "argument",
            Kind::Declared => "variable",
            Kind::Implicit => continue,
        };
        let message = format!("the {what} `{}` isn't used", variable.name);
        let (start, end) = variable.bytes;
        out.push(
            Diagnostic::warning("unused-local", message)
                .with_hint("use it, or write `_` in its place")
                .at(module.position(start, end)),
        );
    }
}
