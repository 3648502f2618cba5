//! References to rules and data that don't exist.
//!
//! A reference below `data` that leads to no rule, package or loaded document is undefined. Under
//! `not`, or in a test that something isn't denied, that looks like success.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::rego::Value;

use super::arguments::literal;
use super::model::data_path;
use super::{Constants, File, Inspected};
use crate::Diagnostic;
use crate::functions::describe;
use crate::load::Package;
use crate::load::paths::Paths;
use crate::rego::syntax::tree::{Expr, Span, Term, TermKind};
use crate::rego::syntax::visit;
use crate::sources::DataSource;
use crate::text::{data_reference, nearest};

/// The names that references can lead to.
pub(super) struct Known<'a> {
    by_path: HashMap<&'a [String], &'a Package>,
    package_paths: Paths,
    /// The paths of rules, and of what a gate adds to the data.
    rules: Paths,
    /// The paths that a `with` of a policy replaces somewhere, and one of a test.
    replaced: Paths,
    replaced_in_tests: Paths,
    data: &'a [DataSource],
}

/// The place of the name and folder of an input's file in the data, where conftest has it.
#[doc(hidden)]
pub const INPUT_FILE: [&str; 2] = ["conftest", "file"];

/// The code of the finding that there is no such data.
#[doc(hidden)]
pub const MISSING_DATA: &str = "missing-data";

/// The place of an attestation's signers in the data.
#[doc(hidden)]
pub const SIGNERS: [&str; 2] = ["attestation", "signers"];

/// A path that leads to nothing.
#[derive(Debug, PartialEq)]
struct Missing {
    /// The number of its keys up to the one that doesn't exist.
    length: usize,
    /// `true` in a loaded package.
    in_package: bool,
    /// The path that may be meant.
    near: Option<String>,
}

impl<'a> Known<'a> {
    pub fn new(all: &Inspected<'a>, files: &[File<'_>]) -> Self {
        let mut known = Self::of(all.packages, all.data);
        for file in files {
            visit::walk_exprs(file.module, &mut |expr: &Expr| {
                for with in &expr.with {
                    let path = data_path(&with.target).unwrap_or_default();
                    let keys: Vec<_> = path.iter().map(|(key, _)| *key).collect();
                    if !keys.is_empty() {
                        known.replaced_in_tests.insert(&keys);
                    }
                    if !keys.is_empty() && !file.is_test {
                        known.replaced.insert(&keys);
                    }
                }
                true
            });
        }
        known
    }

    fn of(packages: &'a [Package], data: &'a [DataSource]) -> Self {
        let mut rules = Paths::default();
        for rule in packages.iter().flat_map(|package| &package.rules) {
            rules.insert(&rule.path);
        }
        for name in ["name", "dir"] {
            rules.insert(&[&INPUT_FILE[..], &[name]].concat());
        }
        rules.insert(&SIGNERS);
        Self {
            by_path: packages.iter().map(|package| (package.path.as_slice(), package)).collect(),
            package_paths: packages.iter().map(|package| package.path.as_slice()).collect(),
            rules,
            replaced: Paths::default(),
            replaced_in_tests: Paths::default(),
            data,
        }
    }

    /// Returns how a path leads to nothing; `None` if it leads to something.
    fn missing(&self, path: &[&str], in_test: bool) -> Option<Missing> {
        let replaced = if in_test { &self.replaced_in_tests } else { &self.replaced };
        if self.rules.meets(path)
            || replaced.meets(path)
            || self.package_paths.is_begun(path)
            || self.data.iter().any(|data| is_in(&data.value, path))
        {
            return None;
        }
        let Some(package) = self.package_of(path) else {
            return Some(Missing { length: path.len(), in_package: false, near: None });
        };
        let own = package.path.len();
        let name = path.get(own)?;
        let names: BTreeSet<&str> = package
            .rules
            .iter()
            .filter_map(|rule| rule.path.get(own).map(String::as_str))
            .collect();
        // The rule's name is right, so the part after it is wrong.
        if names.contains(name) {
            return Some(Missing { length: path.len().min(own + 2), in_package: true, near: None });
        }
        let near =
            nearest(name, names).map(|near| format!("data.{}.{near}", package.path.join(".")));
        Some(Missing { length: own + 1, in_package: true, near })
    }

    /// Returns the innermost package that a path is in.
    fn package_of(&self, path: &[&str]) -> Option<&'a Package> {
        let package = path.get(..self.package_paths.longest(path)?)?;
        let package: Vec<String> = package.iter().map(|&key| key.to_owned()).collect();
        self.by_path.get(package.as_slice()).copied()
    }

    /// Returns the first value on a path that is neither an object nor a list, and the number of keys
    /// up to it.
    fn scalar(&self, path: &[&str]) -> Option<(usize, &'a Value)> {
        self.data.iter().find_map(|data| {
            let mut value = &data.value;
            for (index, part) in path.iter().enumerate() {
                value = value.as_object()?.get(&Value::from(*part))?;
                if !matches!(value, Value::Object(_) | Value::Array(_) | Value::Set(_)) {
                    return Some((index + 1, value));
                }
            }
            None
        })
    }
}

/// Returns `true` if data has a value at a path, or has one above it that isn't an object.
pub fn is_in(data: &Value, path: &[&str]) -> bool {
    let mut value = data;
    for part in path {
        let Some(object) = value.as_object() else { return true };
        let Some(inner) = object.get(&Value::from(*part)) else { return false };
        value = inner;
    }
    true
}

/// Finds references to names that don't exist, and into values that have no members.
pub(super) fn check(
    all: &Inspected<'_>,
    file: &File<'_>,
    (known, constants): (&Known<'_>, &Constants<'_>),
    out: &mut Vec<Diagnostic>,
) {
    // A function that doesn't exist is the compiler's to report.
    let called: HashSet<Span> = file.model.others.iter().map(|(.., at)| *at).collect();
    for (_, term) in file.model.references.iter().filter(|(_, term)| !called.contains(&term.span)) {
        let Some(path) = data_path(term).filter(|path| !path.is_empty()) else { continue };
        let keys: Vec<&str> = path.iter().map(|(key, _)| *key).collect();
        match known.missing(&keys, file.is_test) {
            Some(missing) => out.push(unknown(all, term, &path, missing)),
            None => {
                let operands = match &term.kind {
                    TermKind::Ref(parts) => parts.len().saturating_sub(1),
                    _ => 0,
                };
                let scalar = known.scalar(&keys).filter(|(length, _)| *length < operands);
                out.extend(scalar.map(|found| without_members(all, &keys, found, term.span)));
            }
        }
    }
    for (name, arguments, _) in &file.model.others {
        let ("internal.member_2" | "internal.member_3", [.., list]) = (name.as_str(), *arguments)
        else {
            continue;
        };
        let Some(path) = data_path(literal(file, constants, list)) else { continue };
        let keys: Vec<&str> = path.iter().map(|(key, _)| *key).collect();
        let scalar = known.scalar(&keys).filter(|(length, _)| *length == keys.len());
        out.extend(scalar.map(|found| without_members(all, &keys, found, list.span)));
    }
}

fn unknown(
    all: &Inspected<'_>,
    term: &Term,
    path: &[(&str, Span)],
    Missing { length, in_package, near }: Missing,
) -> Diagnostic {
    let shown: Vec<&str> = path.iter().take(length).map(|(key, _)| *key).collect();
    // Parts that come from an import have the import's span: then the whole reference is reported.
    let end = path.get(length.saturating_sub(1)).map_or(term.span.end, |(_, span)| span.end);
    let end = if end > term.span.start { end.min(term.span.end) } else { term.span.end };
    let at = all.position(Span { end, ..term.span });
    let reference = data_reference(&shown);
    if !in_package {
        let message = format!("no loaded file defines `{reference}`, so it is undefined");
        return Diagnostic::warning(MISSING_DATA, message)
            .with_hint("load the file or folder that defines it, too")
            .at(at);
    }
    let right = near.as_deref().and_then(|near| {
        let (_, name) = near.rsplit_once('.')?;
        Some((*shown.last()?, name.to_owned()))
    });
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "it is undefined, also under `not`; if other data has it, load that, too".to_owned()
        }
    };
    let finding = Diagnostic::warning("unknown-rule", format!("`{reference}` doesn't exist"));
    let finding = finding.with_hint(hint).at(at);
    match right {
        Some((wrong, right)) => finding.renamed(wrong, right),
        None => finding,
    }
}

fn without_members(
    all: &Inspected<'_>,
    path: &[&str],
    (length, value): (usize, &Value),
    span: Span,
) -> Diagnostic {
    let path = data_reference(path.get(..length).unwrap_or_default());
    let message = format!("no members in `{path}`: it is {}", describe(value));
    Diagnostic::warning(MISSING_DATA, message)
        .with_hint("make it an array or an object, empty if there is nothing in it")
        .at(all.position(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looking at every package for each reference would not end.
    #[test]
    fn a_name_is_looked_up_among_many_packages_at_once() {
        let packages: Vec<Package> = (0..100_000)
            .map(|number| Package {
                path: vec!["p".to_owned(), format!("n{number}")],
                rules: Vec::new(),
                files: Vec::new(),
                is_test: false,
                is_suite: false,
                refers_to: Vec::new(),
            })
            .collect();
        let known = Known::of(&packages, &[]);
        for package in &packages {
            let path: Vec<&str> = package.path.iter().map(String::as_str).collect();
            assert_eq!(known.missing(&path, false), None);
            let rule: Vec<&str> = path.into_iter().chain(["rule"]).collect();
            let missing = Missing { length: 3, in_package: true, near: None };
            assert_eq!(known.missing(&rule, false), Some(missing));
        }
    }
}
