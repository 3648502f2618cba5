//! References to rules and data that don't exist.
//!
//! A reference below a loaded package that names neither a rule nor data is undefined. Under `not`,
//! or in a test that something isn't denied, that looks like success. If the data is only loaded
//! elsewhere, the finding can be silenced.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::rego::Value;

use super::model::data_path;
use super::{File, Inspected};
use crate::Diagnostic;
use crate::load::Package;
use crate::load::paths::Paths;
use crate::rego::syntax::tree::{Expr, Span};
use crate::rego::syntax::visit;
use crate::sources::DataSource;
use crate::text::nearest;

/// The names that references can lead to.
pub(super) struct Known<'a> {
    packages: &'a [Package],
    by_path: HashMap<&'a [String], &'a Package>,
    package_paths: Paths,
    /// The number of keys of the longest path of a package.
    longest: usize,
    /// The paths of rules, and those that a `with` replaces somewhere.
    rules: Paths,
    data: &'a [DataSource],
    /// The packages that paths outside all packages may be meant to be in, by the beginning of the
    /// path that decides it.
    resembled: RefCell<HashMap<Vec<String>, Option<&'a Package>>>,
}

impl<'a> Known<'a> {
    pub fn new(all: &Inspected<'a>, files: &[File<'_>]) -> Self {
        let mut targets = Paths::default();
        for file in files {
            visit::walk_exprs(file.module, &mut |expr: &Expr| {
                for with in &expr.with {
                    let path = data_path(&with.target).unwrap_or_default();
                    let keys: Vec<_> = path.iter().map(|(key, _)| *key).collect();
                    if !keys.is_empty() {
                        targets.insert(&keys);
                    }
                }
                true
            });
        }
        Self::of(all.packages, all.data, targets)
    }

    /// `targets` are the paths that a `with` replaces somewhere.
    fn of(packages: &'a [Package], data: &'a [DataSource], targets: Paths) -> Self {
        let mut rules = targets;
        for rule in packages.iter().flat_map(|package| &package.rules) {
            rules.insert(&rule.path);
        }
        Self {
            packages,
            by_path: packages.iter().map(|package| (package.path.as_slice(), package)).collect(),
            package_paths: packages.iter().map(|package| package.path.as_slice()).collect(),
            longest: packages.iter().map(|package| package.path.len()).max().unwrap_or_default(),
            rules,
            data,
            resembled: RefCell::default(),
        }
    }

    /// Returns the number of a path's keys up to the one that doesn't exist, and the path that may
    /// be meant; `None` if all exist.
    fn missing(&self, path: &[&str]) -> Option<(usize, Option<String>)> {
        if self.rules.meets(path)
            || self.package_paths.is_begun(path)
            || self.data.iter().any(|data| is_in(&data.value, path))
        {
            return None;
        }
        let Some(package) = self.package_of(path) else { return self.missing_package(path) };
        let own = package.path.len();
        let name = path.get(own)?;
        let names = package.rules.iter().filter_map(|rule| rule.path.get(own));
        let near = nearest(name, names.map(String::as_str)).filter(|near| near != name);
        let shown = near.map(|near| shown(&package.path, near));
        // The rule's name is right, so the part after it is wrong.
        let length = if near.is_none() && has_rule(package, name) { own + 2 } else { own + 1 };
        Some((length.min(path.len()), shown))
    }

    /// Returns the innermost package that a path is in.
    fn package_of(&self, path: &[&str]) -> Option<&'a Package> {
        let package = path.get(..self.package_paths.longest(path)?)?;
        let package: Vec<String> = package.iter().map(|&key| key.to_owned()).collect();
        self.by_path.get(package.as_slice()).copied()
    }

    /// Handles a path outside all packages, which is data's unless it resembles a package's.
    fn missing_package(&self, path: &[&str]) -> Option<(usize, Option<String>)> {
        let package = self.resembled(path)?;
        let near = match path.get(package.path.len()) {
            Some(rule) => shown(&package.path, rule),
            None => format!("data.{}", package.path.join(".")),
        };
        Some((package.path.len(), Some(near)))
    }

    /// Returns the first package whose path differs from the beginning of `path` in one name that may
    /// be misspelt, and that has the rule that follows.
    fn resembled(&self, path: &[&str]) -> Option<&'a Package> {
        let decisive = path.get(..path.len().min(self.longest + 1)).unwrap_or(path);
        let key: Vec<String> = decisive.iter().map(|&key| key.to_owned()).collect();
        if let Some(known) = self.resembled.borrow().get(&key) {
            return *known;
        }
        let found = self.packages.iter().find(|package| {
            let (own, given) = (&package.path, path.get(..package.path.len()));
            let wrong = given.into_iter().flatten().zip(own).filter(|(a, b)| **a != b.as_str());
            let wrong: Vec<_> = wrong.collect();
            matches!(wrong.as_slice(), [(name, meant)] if nearest(name, [meant.as_str()]).is_some())
                && path.get(own.len()).is_none_or(|rule| has_rule(package, rule))
        });
        self.resembled.borrow_mut().insert(key, found);
        found
    }
}

/// Returns `true` if a rule of the package has this name, or is below it.
fn has_rule(package: &Package, name: &str) -> bool {
    let own = package.path.len();
    package.rules.iter().any(|rule| rule.path.get(own).is_some_and(|first| first == name))
}

fn shown(package: &[String], rule: &str) -> String {
    format!("data.{}.{rule}", package.join("."))
}

fn is_in(data: &Value, path: &[&str]) -> bool {
    let mut value = data;
    for part in path {
        // Names within a value that isn't an object aren't checked here.
        let Some(object) = value.as_object() else { return true };
        let Some(inner) = object.get(&Value::from(*part)) else { return false };
        value = inner;
    }
    true
}

/// Finds references to names that don't exist.
pub(super) fn check(
    all: &Inspected<'_>,
    file: &File<'_>,
    known: &Known<'_>,
    out: &mut Vec<Diagnostic>,
) {
    for term in &file.model.references {
        let Some(path) = data_path(term).filter(|path| !path.is_empty()) else { continue };
        let keys: Vec<&str> = path.iter().map(|(key, _)| *key).collect();
        let Some((length, near)) = known.missing(&keys) else { continue };
        let shown = keys.get(..length).unwrap_or(&keys);
        let message = format!("`data.{}` doesn't exist", shown.join("."));
        let right = near.as_deref().and_then(|near| {
            let (path, name) = near.strip_prefix("data.")?.rsplit_once('.')?;
            let (wrong, own) = shown.split_last()?;
            (own.join(".") == path && name != *wrong).then_some((*wrong, name.to_owned()))
        });
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "it is undefined, also under `not`; if other data has it, silence this with \
                     `# check:ignore unknown-rule`"
                .to_owned(),
        };
        // Parts that come from an import have the import's span: then the whole reference is
        // reported.
        let end = path.get(length.saturating_sub(1)).map_or(term.span.end, |(_, span)| span.end);
        let end = if end > term.span.start { end.min(term.span.end) } else { term.span.end };
        let mut finding = Diagnostic::warning("unknown-rule", message).with_hint(hint);
        if let Some((wrong, right)) = right {
            finding = finding.renamed(wrong, right);
        }
        out.push(finding.at(all.position(Span { end, ..term.span })));
    }
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
        let known = Known::of(&packages, &[], Paths::default());
        for package in &packages {
            let path: Vec<&str> = package.path.iter().map(String::as_str).collect();
            assert_eq!(known.missing(&path), None);
            let rule: Vec<&str> = path.into_iter().chain(["rule"]).collect();
            assert_eq!(known.missing(&rule), Some((3, None)));
        }
    }
}
