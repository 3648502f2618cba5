//! Names with the product's prefix, and the paths of rules.
//!
//! Owns refusing a name with the prefix that isn't a function: a call of a misspelt function would
//! be undefined, and a gate would pass without having asked.

use std::collections::BTreeSet;

use crate::functions::{self, FunctionSet};
use crate::rego::syntax::tree::{Module, Rule, Term, TermKind};
use crate::rego::syntax::visit;
use crate::text::nearest;

use super::Inspected;
use crate::{Diagnostic, Product, setting};

/// Returns a module's package, as a path below `data`.
pub(super) fn package_path(module: &Module) -> Vec<&str> {
    let parts = module.package.path.get(1..).unwrap_or_default();
    parts.iter().filter_map(constant).collect()
}

/// Returns a rule's path below `data`; `None` if part of it isn't constant.
pub(super) fn rule_path<'a>(module: &'a Module, rule: &'a Rule) -> Option<Vec<&'a str>> {
    let mut path = package_path(module);
    for part in &rule.head.reference {
        path.push(constant(part)?);
    }
    Some(path)
}

/// Returns a part of a path if it is a name.
pub(crate) fn constant(term: &Term) -> Option<&str> {
    match &term.kind {
        TermKind::Var(name) | TermKind::String(name) => Some(name),
        _ => None,
    }
}

/// Finds names with the prefix that aren't functions, and imports and rules that hide functions.
/// Returns the indices of the modules that mention the prefix.
pub(super) fn check(all: &Inspected<'_>, out: &mut Vec<Diagnostic>) -> BTreeSet<usize> {
    let product = all.product.as_str();
    for author in all.authors {
        for import in &author.imports {
            if super::unused::name(import) == Some(product) {
                let message =
                    format!("the import `{product}` hides the functions of the same prefix");
                out.push(
                    Diagnostic::error("name-collision", message)
                        .with_hint("import it under another name with `as`")
                        .at(all.position(import.span)),
                );
            }
        }
    }
    let mut mentioning = BTreeSet::new();
    for (at, module) in all.modules.iter().enumerate() {
        for rule in &module.rules {
            if !rule.head.args.is_empty() && hides_function(module, rule, product) {
                let path: Vec<_> = rule.head.reference.iter().filter_map(constant).collect();
                let message =
                    format!("the rule `{}` hides the function of that name", path.join("."));
                let hint = "rename it; to mock a function in a test, use `with`";
                let at = all.position(rule.span);
                out.push(Diagnostic::error("name-collision", message).with_hint(hint).at(at));
            }
            visit::walk_terms(rule, &mut |term| {
                if let TermKind::Ref(parts) = &term.kind
                    && let Some((head, rest)) = parts.split_first()
                    && is(head, product)
                {
                    mentioning.insert(at);
                    let name = rest.first().and_then(constant).unwrap_or_default();
                    let full = all.product.function(name);
                    let known = all.enabled.iter().any(|function| function.name == name)
                        || all.host_functions.iter().any(|function| function.name() == full);
                    if !known || rest.len() != 1 {
                        out.push(unknown(all, name).at(all.position(term.span)));
                    }
                }
                true
            });
        }
    }
    mentioning
}

/// Returns `true` for a policy's function that is taken for one of the product's, which it never asks:
/// by the calls in its package, or, in a package with the product's name, by whoever reads a call of
/// `data.platform.discover`.
fn hides_function(module: &Module, rule: &Rule, product: &str) -> bool {
    let imitates = || {
        let mut path = package_path(module).into_iter();
        let is_product = path.next() == Some(product);
        let name = path.next().or_else(|| rule.head.reference.first().and_then(constant));
        is_product && name.is_some_and(|name| functions::function(name).is_some())
    };
    rule.head.reference.first().is_some_and(|first| is(first, product)) || imitates()
}

/// Returns the finding about a name with the prefix that isn't a function, or isn't enabled.
fn unknown(all: &Inspected<'_>, name: &str) -> Diagnostic {
    unknown_function(all.product, all.enabled, name)
}

/// Returns the finding about `name`, without the prefix, that isn't a function or isn't enabled.
pub(crate) fn unknown_function(product: &Product, enabled: FunctionSet, name: &str) -> Diagnostic {
    if let Some(function) = functions::function(name) {
        let message = format!("`{product}.{name}` is off by default");
        return Diagnostic::error("unknown-function", message)
            .by_setting(setting::FUNCTION.of(function.name));
    }
    let near = nearest(name, functions::FUNCTIONS.iter().map(|f| f.name));
    let hint = match near {
        _ if functions::OF_DOCUMENTS.contains(&name) => {
            format!("`{product}.{name}` is a function of policy documents")
        }
        Some(near) => format!("did you mean `{product}.{near}`?"),
        None => {
            let all: Vec<_> =
                enabled.iter().map(|function| format!("`{product}.{}`", function.name)).collect();
            format!("the functions are {}", all.join(", "))
        }
    };
    let message = format!("`{product}.{name}` is not a function");
    let finding = Diagnostic::error("unknown-function", message).with_hint(hint);
    match near {
        Some(near) => finding.renamed(name, near),
        None => finding,
    }
}

fn is(term: &Term, name: &str) -> bool {
    matches!(&term.kind, TermKind::Var(var) if &**var == name)
}
