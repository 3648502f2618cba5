//! A module's imports.
//!
//! Owns what an import stands for and which imports can't stand side by side. Imports of keywords
//! are the parser's.

use std::collections::HashMap;
use std::sync::Arc;

use regorus::unstable as ast;

use super::parse::Module;
use super::scope::{self, Head, Import};
use crate::{Diagnostic, Product};

/// Reads the imports of `data` and `input`, and refuses those that hide each other.
pub(super) fn read(module: &mut Module, product: &Product, out: &mut Vec<Diagnostic>) {
    let mut imports = Vec::new();
    for import in &module.ast.imports {
        let Some((first, path)) = scope::path(&import.refr) else { continue };
        let head = match first.as_ref() {
            "data" => Head::Data,
            "input" => Head::Input,
            _ => continue,
        };
        let alias = match &import.r#as {
            Some(span) => Some(Arc::from(span.text())),
            // `import input` and `import data` change nothing.
            None => path.last().cloned(),
        };
        imports.push(Import {
            head,
            path,
            alias,
            start: import.span.start as usize,
            end: scope::end(&import.span),
        });
    }
    check(module, &imports, product, out);
    module.imports = imports;
}

fn check(module: &Module, imports: &[Import], product: &Product, out: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<&str, &Import> = HashMap::new();
    for import in imports {
        let Some(alias) = import.alias.as_deref() else { continue };
        let position = || module.file.position(import.start, import.end);
        if alias == product.as_str() {
            out.push(
                Diagnostic::error(
                    "name-collision",
                    format!(
                        "the import takes the name `{alias}`, which the functions `{alias}.…` need"
                    ),
                )
                .with_hint("import it under another name with `as`")
                .at(position()),
            );
        }
        if matches!(alias, "data" | "input") && !import.path.is_empty() {
            out.push(
                Diagnostic::error("name-collision", format!("an import can't be called `{alias}`"))
                    .with_hint("import it under another name with `as`")
                    .at(position()),
            );
        }
        if let Some(first) = seen.insert(alias, import) {
            let line = module.file.position(first.start, first.end).line;
            out.push(
                Diagnostic::error(
                    "import-conflict",
                    format!("the import `{alias}` hides the import of that name on line {line}"),
                )
                .with_hint("give one of them another name with `as`")
                .at(position()),
            );
        }
    }
}

/// The byte ranges of imports that the interpreter must not see: it keeps imports by package, so
/// those of one file would leak into the others. Imports of keywords stay in old modules, whose
/// parser needs them.
pub(super) fn hidden(module: &ast::Module) -> impl Iterator<Item = (usize, usize)> {
    module.imports.iter().filter_map(|import| {
        let (first, _) = scope::path(&import.refr)?;
        let document = matches!(first.as_ref(), "data" | "input");
        (document || module.rego_v1).then(|| (import.span.start as usize, scope::end(&import.span)))
    })
}
