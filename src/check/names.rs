//! Names under the product's prefix, and the paths of rules.
//!
//! Owns the refusal of what is under the prefix and isn't a function: a misspelt function would be
//! undefined, and a gate would pass where it never asked.

use crate::Diagnostic;
use crate::builtins;
use crate::rego::syntax::tree::{Module, Rule, Term, TermKind};
use crate::rego::syntax::visit;
use crate::text::nearest;

use super::Policies;

/// A module's package, as a path below `data`.
pub(super) fn package_path(module: &Module) -> Vec<&str> {
    let parts = module.package.path.get(1..).unwrap_or_default();
    parts.iter().filter_map(constant).collect()
}

/// A rule's path below `data`, as far as it is constant.
pub(super) fn rule_path<'a>(module: &'a Module, rule: &'a Rule) -> Option<Vec<&'a str>> {
    let mut path = package_path(module);
    for part in &rule.head.reference {
        path.push(constant(part)?);
    }
    Some(path)
}

fn constant(term: &Term) -> Option<&str> {
    match &term.kind {
        TermKind::Var(name) | TermKind::String(name) => Some(name),
        _ => None,
    }
}

/// Finds names under the prefix that aren't functions, wherever they stand.
pub(super) fn check(all: &Policies<'_>, out: &mut Vec<Diagnostic>) {
    let product = all.product.as_str();
    for module in all.modules {
        visit::walk_terms(module, &mut |term| {
            let wrong = match &term.kind {
                TermKind::Ref(parts) => match parts.split_first() {
                    Some((head, rest)) if is(head, product) => {
                        let name = rest.first().and_then(constant).unwrap_or_default();
                        let known = builtins::function(name).is_some() && rest.len() == 1;
                        (!known).then(|| name.to_owned())
                    }
                    _ => None,
                },
                _ => None,
            };
            if let Some(name) = wrong {
                let near = nearest(&name, builtins::FUNCTIONS.iter().map(|f| f.name));
                let hint = match near {
                    Some(near) => format!("did you mean `{product}.{near}`?"),
                    None => {
                        let all: Vec<_> = builtins::FUNCTIONS
                            .iter()
                            .map(|function| format!("`{product}.{}`", function.name))
                            .collect();
                        format!("the functions are {}", all.join(", "))
                    }
                };
                let message = format!("`{product}.{name}` is not a function");
                out.push(
                    Diagnostic::error("unknown-name", message)
                        .with_hint(hint)
                        .at(all.position(term.span)),
                );
            }
            true
        });
    }
}

fn is(term: &Term, name: &str) -> bool {
    matches!(&term.kind, TermKind::Var(var) if &**var == name)
}
