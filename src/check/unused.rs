//! Unused imports and local variables.

use std::collections::BTreeSet;

use super::model::Kind;
use super::{File, Inspected};
use crate::Diagnostic;
use crate::rego::syntax::tree::{ExprKind, Import, Span, TermKind};
use crate::rego::syntax::visit::walk_exprs;

/// Finds unused imports: no reference in the author's text begins with their name.
pub(super) fn imports(all: &Inspected<'_>, file: &File<'_>, out: &mut Vec<Diagnostic>) {
    if file.author.imports.is_empty() {
        return;
    }
    let used = super::used_names(file.author);
    for import in &file.author.imports {
        let Some(name) = name(import) else { continue };
        let language = matches!(&import.path.kind, TermKind::Ref(parts)
            if matches!(parts.first().map(|head| &head.kind),
                Some(TermKind::Var(head)) if matches!(&**head, "rego" | "future")));
        if language || name.starts_with('_') || used.contains(name) {
            continue;
        }
        out.push(
            Diagnostic::warning("unused-import", format!("the import `{name}` isn't used"))
                .with_hint("remove it")
                .removed()
                .at(all.position(import.span)),
        );
    }
}

/// Returns the name under which an import is used.
pub(super) fn name(import: &Import) -> Option<&str> {
    if let Some((alias, _)) = &import.alias {
        return Some(alias);
    }
    match &import.path.kind {
        TermKind::Var(name) => Some(name),
        TermKind::Ref(parts) => match &parts.last()?.kind {
            TermKind::String(name) | TermKind::Var(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Finds unused variables and arguments.
pub(super) fn variables(all: &Inspected<'_>, file: &File<'_>, out: &mut Vec<Diagnostic>) {
    let rules = &file.author.rules;
    // The rules are in the order of the text.
    let rule = |at: Span| rules.partition_point(|rule| rule.span.start <= at.start);
    let mut plain = BTreeSet::new();
    for found in rules {
        walk_exprs(found, &mut |expr| {
            if let ExprKind::Some(declared) = &expr.kind {
                plain.extend(declared.symbols.iter().filter_map(|symbol| match &symbol.kind {
                    TermKind::Var(name) => Some((rule(symbol.span), name.to_string())),
                    _ => None,
                }));
            }
            true
        });
    }
    for (name, variable) in file.model.variables() {
        let author = all.author_name(name);
        if variable.mentions > 1 || author.starts_with('_') || author.starts_with('$') {
            continue;
        }
        let what = match variable.kind {
            Kind::Argument => "argument",
            // An undeclared variable may be there to test that a value exists.
            Kind::Local if !all.is_declared(name) => continue,
            // A plain `some` doesn't bind: the one mention left is the one that finds the values.
            Kind::Local if plain.contains(&(rule(variable.span), author.to_owned())) => continue,
            Kind::Local => "variable",
        };
        out.push(
            Diagnostic::warning("unused-local", format!("the {what} `{author}` isn't used"))
                .with_hint("use it, or replace it with `_`")
                .at(all.position(variable.span)),
        );
    }
}
