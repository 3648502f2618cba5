//! The rules of a file, for its outline, and tests that can be run.

use lsp_types::{DocumentSymbol, SymbolKind};

use crate::file::File;

/// Returns the rules of a file, in its order.
#[allow(deprecated, reason = "a field of the protocol without a constructor")]
pub(crate) fn symbols(file: &File) -> Vec<DocumentSymbol> {
    let names = &file.names;
    let symbol = |rule: &crate::names::Declared| {
        let path = rule.path.get(names.package.len()..).unwrap_or_default();
        let kind = if rule.arguments.is_some() {
            SymbolKind::FUNCTION
        } else if rule.is_test {
            SymbolKind::EVENT
        } else {
            SymbolKind::VARIABLE
        };
        DocumentSymbol {
            name: path.join("."),
            detail: rule.arguments.as_ref().map(|names| format!("({})", names.join(", "))),
            kind,
            tags: None,
            deprecated: None,
            range: file.text.range(rule.span.0.min(rule.head.0), rule.span.1.max(rule.head.1)),
            selection_range: file.text.range(rule.head.0, rule.head.1),
            children: None,
        }
    };
    names.rules.iter().map(symbol).collect()
}
