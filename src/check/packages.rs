//! Packages without a verdict rule.
//!
//! Owns the names of verdict rules. A gate refuses a package without one, since a package with
//! `violation` instead of `violations` would always pass.

use std::collections::{HashMap, HashSet};

use super::Inspected;
use crate::Diagnostic;
use crate::load::{Package, RuleKind};
use crate::rego::syntax::tree::{Module, Span};
use crate::text::nearest;

/// The names of verdict rules; names that begin with `deny_` or `warn_` are verdict rules too.
const NAMES: &[&str] = &["result", "deny", "violations", "findings", "warn"];

/// The hint about a package of tests that isn't recognized as one.
pub(crate) const TESTS_HINT: &str =
    "the name of a test package ends in `_test`, or its file names in `_test.rego`";

/// Returns `true` for the name of a verdict rule.
pub(super) fn is_verdict(name: &str) -> bool {
    NAMES.contains(&name) || name.starts_with("deny_") || name.starts_with("warn_")
}

/// Finds packages without a verdict rule that nothing but tests refers to.
pub(super) fn check(all: &Inspected<'_>, out: &mut Vec<Diagnostic>) {
    let packages = all.packages;
    let referred: HashSet<&[String]> =
        packages.iter().flat_map(|package| &package.refers_to).map(Vec::as_slice).collect();
    let mut modules: HashMap<Vec<&str>, &Module> = HashMap::new();
    for module in all.modules {
        modules.entry(super::names::package_path(module)).or_insert(module);
    }
    for package in packages {
        if !package.is_test && !referred.contains(package.path.as_slice()) && !has_verdict(package)
        {
            out.extend(finding(all, package, &modules));
        }
    }
}

/// Returns the names of the package's own rules, without functions.
fn names(package: &Package) -> impl Iterator<Item = &str> {
    let own = package.path.len();
    package
        .rules
        .iter()
        .filter(|rule| !matches!(rule.kind, RuleKind::Function { .. }))
        .filter_map(move |rule| rule.path.get(own).map(String::as_str))
}

fn has_verdict(package: &Package) -> bool {
    names(package).any(is_verdict)
}

fn finding(
    all: &Inspected<'_>,
    package: &Package,
    modules: &HashMap<Vec<&str>, &Module>,
) -> Option<Diagnostic> {
    let message = format!("the package `{}` has no verdict rule", package.path.join("."));
    let near = names(package).find_map(|name| Some((name, nearest(name, NAMES.iter().copied())?)));
    let hint = match near {
        Some((name, near)) => format!("did you mean `{near}` instead of `{name}`?"),
        None if package.has_only_tests() => TESTS_HINT.to_owned(),
        None => {
            "give it `deny`, `violations`, `findings`, `warn` or `result`, or import it where it is used".to_owned()
        }
    };
    let own: Vec<&str> = package.path.iter().map(String::as_str).collect();
    let module = modules.get(&own)?;
    let path = module.package.path.get(1..).unwrap_or_default();
    let span = match (path.first(), path.last()) {
        (Some(first), Some(last)) => Span { end: last.span.end, ..first.span },
        _ => module.package.span,
    };
    let position = all.position(span);
    Some(Diagnostic::warning("no-verdict", message).with_hint(hint).at(position))
}
