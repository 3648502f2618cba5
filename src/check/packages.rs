//! Packages that have rules, none of which gives a verdict, and to which no verdict leads.

use std::collections::{HashMap, HashSet};

use super::Inspected;
use super::dead::can_vary;
use crate::Diagnostic;
use crate::load::roles::{Role, nearest, role};
use crate::load::{Package, RuleKind};
use crate::rego::syntax::tree::{Module, Span};

/// The hint about a package of tests that isn't recognized as one.
const TESTS_HINT: &str =
    "the name of a test package ends in `_test`, or its file names in `_test.rego`";

/// The documents that a server asks for itself, as OPA's does: nothing else has to use them.
const OF_SERVERS: [&[&str]; 4] = [
    &["system", "health"],
    &["system", "log", "drop"],
    &["system", "log", "mask"],
    &["system", "main"],
];

/// Finds packages without a verdict rule to which no package with one refers, directly or through others.
pub(super) fn check(all: &Inspected<'_>, out: &mut Vec<Diagnostic>) {
    let packages = all.packages;
    let gives = |name: &str| role(name, all.origin).is_some_and(Role::gives_verdict);
    let is_root =
        |package: &&Package| package.is_test || names(package).any(gives) || serves(package);
    let by_path: HashMap<&[String], &Package> =
        packages.iter().map(|package| (package.path.as_slice(), package)).collect();
    let mut open: Vec<&Package> = packages.iter().filter(is_root).collect();
    let mut used: HashSet<&[String]> = open.iter().map(|package| &*package.path).collect();
    while let Some(package) = open.pop() {
        let paths = package.refers_to.iter().map(Vec::as_slice);
        open.extend(paths.filter(|path| used.insert(path)).filter_map(|path| by_path.get(path)));
    }
    // Functions and literals alone are a library.
    let mut modules: HashMap<Vec<&str>, &Module> = HashMap::new();
    for module in all.modules.iter().filter(|module| module.rules.iter().any(can_vary)) {
        modules.entry(super::names::package_path(module)).or_insert(module);
    }
    for package in packages {
        if !used.contains(package.path.as_slice()) {
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

/// Returns `true` if a rule of the package makes a document that a server asks for.
fn serves(package: &Package) -> bool {
    let is_asked =
        |path: &[String]| OF_SERVERS.iter().any(|asked| path.iter().take(asked.len()).eq(*asked));
    package.rules.iter().any(|rule| is_asked(&rule.path))
}

fn finding(
    all: &Inspected<'_>,
    package: &Package,
    modules: &HashMap<Vec<&str>, &Module>,
) -> Option<Diagnostic> {
    let message = format!("the package `{}` has no verdict rule", package.path.join("."));
    let near = names(package).find_map(|name| Some((name, nearest(name)?)));
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
