//! Packages in several files, and imports.

use std::collections::HashSet;

use super::{Places, View};
use crate::check::model::data_path;
use crate::check::{names, unused};
use crate::load::Package;
use crate::rego::syntax::tree::{Import, Name, Term, TermKind};
use crate::rego::syntax::visit;

/// Finds references to, and imports of, packages in several files as a whole, or what contains them.
pub(super) fn whole(view: &View<'_>, out: &mut Places) {
    let several = |package: &&Package| view.file_count(package) > 1;
    let several: Vec<&Package> = view.all.packages.iter().filter(several).collect();
    let contained = |term: &Term| {
        let path = data_path(term).filter(|path| !path.is_empty())?;
        let is_prefix = |package: &&&Package| {
            path.len() <= package.path.len()
                && path.iter().zip(&package.path).all(|((key, _), part)| key == part)
        };
        several.iter().find(is_prefix).copied()
    };
    for (_, file) in &view.files {
        let imports = file.author.imports.iter().map(|import| &import.path);
        for term in file.model.references.iter().map(|(_, term)| *term).chain(imports) {
            if let Some(package) = contained(term) {
                let (path, count) = (package.path.join("."), view.file_count(package));
                let message = format!("the package `{path}` is in {count} files");
                out.push((term.span, message));
            }
        }
    }
}

/// Finds imports whose name is another import's, or a rule's, in another file of the package.
pub(super) fn imports(view: &View<'_>, out: &mut Places) {
    for package in view.all.packages {
        let files: Vec<_> = view.files_of(package).collect();
        for file in &files {
            for import in &file.author.imports {
                let Some(name) = unused::name(import).filter(|_| is_of_policies(import)) else {
                    continue;
                };
                let others = files.iter().filter(|other| other.id() != file.id());
                let differs = others.map(|other| &other.author).any(|other| {
                    let imports = other.imports.iter();
                    let mut same = imports.filter(|import| unused::name(import) == Some(name));
                    let rule = |name: &str| other.rules.iter().any(|rule| begins(rule, name));
                    same.any(|other_import| path(&other_import.path) != path(&import.path))
                        || rule(name)
                });
                if differs {
                    let message = format!("`{name}` is something else in another file");
                    out.push((import.span, message));
                }
            }
        }
    }
}

fn begins(rule: &crate::rego::syntax::tree::Rule, name: &str) -> bool {
    let first = rule.head.reference.first().map(|term| &term.kind);
    matches!(first, Some(TermKind::Var(var)) if &**var == name)
}

/// Returns `true` for imports of `data` and `input`: others are the language's.
fn is_of_policies(import: &Import) -> bool {
    path(&import.path).first().is_some_and(|head| matches!(&***head, "data" | "input"))
}

fn path(term: &Term) -> Vec<&Name> {
    let parts = match &term.kind {
        TermKind::Ref(parts) => parts.as_slice(),
        _ => std::slice::from_ref(term),
    };
    parts
        .iter()
        .filter_map(|part| match &part.kind {
            TermKind::Var(name) | TermKind::String(name) => Some(name),
            _ => None,
        })
        .collect()
}

/// Finds imports of packages all of whose rules are evaluated for one of them, with their calls, or
/// with an error if they import this one.
pub(super) fn evaluated(view: &View<'_>, out: &mut Places) {
    let calling: HashSet<Vec<&str>> = view
        .files
        .iter()
        .filter(|(_, file)| !file.model.calls.is_empty())
        .map(|(_, file)| names::package_path(file.module))
        .collect();
    for (_, file) in &view.files {
        let own = names::package_path(file.module);
        for import in &file.author.imports {
            let Some(path) = data_path(&import.path) else { continue };
            let path: Vec<&str> = path.iter().map(|(key, _)| *key).collect();
            let Some(package) =
                view.all.packages.iter().find(|package| package.path.iter().eq(path.iter()))
            else {
                continue;
            };
            let imports_back = view
                .files_of(package)
                .flat_map(|other| &other.author.imports)
                .filter_map(|import| data_path(&import.path))
                .any(|path| path.iter().map(|(key, _)| key).eq(own.iter()));
            let shown = path.join(".");
            if imports_back {
                out.push((import.span, format!("`{shown}` imports this package")));
            } else if calling.contains(&path) {
                out.push((import.span, format!("the rules of `{shown}` call the service")));
            }
        }
    }
}

/// Returns the imported path that a name stands for in a module.
pub(super) fn imported(imports: &[Import], name: &str) -> Option<String> {
    let import = imports.iter().find(|import| unused::name(import) == Some(name))?;
    is_of_policies(import).then(|| {
        let parts: Vec<&str> = path(&import.path).into_iter().map(|name| &**name).collect();
        parts.join(".")
    })
}

/// Visits the calls of a module as its author wrote them, with the name that is called.
pub(super) fn each_call(
    module: &crate::rego::syntax::tree::Module,
    work: &mut dyn FnMut(String, &[Term]),
) {
    use crate::check::model::function_name;
    use crate::rego::syntax::tree::ExprKind;
    let mut each = |terms: &[Term]| {
        if let Some(name) = terms.first().and_then(function_name) {
            work(name, terms);
        }
    };
    visit::walk_exprs(module, &mut |expr| {
        if let ExprKind::Call(terms) = &expr.kind {
            each(terms);
        }
        true
    });
    visit::walk_terms(module, &mut |term| {
        if let TermKind::Call(terms) = &term.kind {
            each(terms);
        }
        true
    });
}
