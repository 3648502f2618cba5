//! Placeholders for functions of the host, so that regorus can replace them in tests.
//!
//! regorus replaces its own functions and those of policies, but none that a host registered. A test's
//! package gets a function of each name that it replaces, which no call of the package reaches.

use std::collections::{BTreeMap, BTreeSet};

use crate::evaluate::Policies;
use crate::load::LoadOptions;
use crate::rego::syntax::tree::{Expr, ExprKind, Module, Term, TermKind};
use crate::rego::syntax::visit;
use crate::sources::ModuleSource;

/// Returns a module for each package that replaces functions of the host and doesn't call them itself,
/// except where they are replaced.
pub(super) fn of(policies: &Policies, options: &LoadOptions) -> Vec<ModuleSource> {
    let functions = functions(options);
    let mut packages: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut called: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for module in policies.program().modules() {
        let package = package(module);
        let mut replaced = BTreeSet::new();
        visit::walk_exprs(module, &mut |expr| {
            for with in &expr.with {
                let name = name(&with.target);
                replaced.extend(functions.keys().find(|known| Some(*known) == name.as_ref()));
            }
            true
        });
        let calls = called.entry(package.clone()).or_default();
        for rule in &module.rules {
            visit::walk_exprs(rule, &mut |expr| calls_of(expr, calls));
        }
        packages.entry(package).or_default().extend(replaced.iter().map(|name| name.as_str()));
    }
    let modules = packages.into_iter().filter_map(|(package, names)| {
        let calls = called.remove(&package).unwrap_or_default();
        let rules = names.into_iter().filter(|name| !calls.contains(*name)).filter_map(|name| {
            let arguments = vec!["_"; *functions.get(name)?].join(", ");
            Some(format!("{name}({arguments}) := null if false\n"))
        });
        let rules: String = rules.collect();
        let text = format!("package {package}\n\nimport rego.v1\n\n{rules}");
        let path = format!("stand-ins of {package}");
        (!rules.is_empty()).then_some(ModuleSource::new(path, text))
    });
    modules.collect()
}

/// Returns the number of arguments of each of the host's functions.
fn functions(options: &LoadOptions) -> BTreeMap<String, usize> {
    let service = options
        .enabled
        .iter()
        .map(|function| (options.product.function(function.name), usize::from(function.arity())));
    let own = options.host_functions.iter();
    service
        .chain(own.map(|function| (function.name().to_owned(), usize::from(function.arity()))))
        .collect()
}

/// Collects the calls of a statement that no `with` of it replaces.
fn calls_of(expr: &Expr, out: &mut BTreeSet<String>) -> bool {
    let replaced: BTreeSet<String> =
        expr.with.iter().filter_map(|with| name(&with.target)).collect();
    let mut call = |terms: &[Term]| {
        out.extend(terms.first().and_then(name).filter(|name| !replaced.contains(name)));
    };
    if let ExprKind::Call(terms) = &expr.kind {
        call(terms);
    }
    visit::walk_terms(expr, &mut |term| {
        if let TermKind::Call(terms) = &term.kind {
            call(terms);
        }
        true
    });
    true
}

fn package(module: &Module) -> String {
    let parts = module.package.path.iter().skip(1).filter_map(|term| match &term.kind {
        TermKind::Var(name) | TermKind::String(name) => Some(&**name),
        _ => None,
    });
    parts.collect::<Vec<_>>().join(".")
}

/// Returns the dotted name that a term is.
fn name(term: &Term) -> Option<String> {
    let parts = match &term.kind {
        TermKind::Ref(parts) => parts.as_slice(),
        _ => std::slice::from_ref(term),
    };
    let names = parts.iter().map(|part| match &part.kind {
        TermKind::Var(name) | TermKind::String(name) => Some(&**name),
        _ => None,
    });
    Some(names.collect::<Option<Vec<_>>>()?.join("."))
}
