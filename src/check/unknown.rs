//! References to rules and data that don't exist.
//!
//! A reference below a loaded package that names neither a rule nor data is undefined. Under `not`,
//! or in a test that something isn't denied, that looks like success. If the data is only loaded
//! elsewhere, the finding can be silenced.

use std::collections::HashSet;

use crate::rego::Value;

use super::model::data_path;
use super::{File, Inspected};
use crate::Diagnostic;
use crate::load::Package;
use crate::rego::syntax::tree::{Expr, Span};
use crate::rego::syntax::visit;
use crate::sources::DataSource;
use crate::text::nearest;

/// The names that references can lead to.
pub(super) struct Known<'a> {
    packages: &'a [Package],
    data: &'a [DataSource],
    /// The paths that a `with` replaces somewhere.
    targets: HashSet<Vec<String>>,
}

impl<'a> Known<'a> {
    pub fn new(all: &Inspected<'a>, files: &[File<'_>]) -> Self {
        let mut targets = HashSet::new();
        for file in files {
            visit::walk_exprs(file.module, &mut |expr: &Expr| {
                for with in &expr.with {
                    let path = data_path(&with.target).unwrap_or_default();
                    let keys: Vec<_> = path.iter().map(|(key, _)| (*key).to_owned()).collect();
                    if !keys.is_empty() {
                        targets.insert(keys);
                    }
                }
                true
            });
        }
        Self { packages: all.packages, data: all.data, targets }
    }

    /// Returns the number of a path's keys up to the one that doesn't exist, and the path that may
    /// be meant; `None` if all exist.
    fn missing(&self, path: &[&str]) -> Option<(usize, Option<String>)> {
        let package =
            self.packages.iter().filter(|p| starts(path, &p.path)).max_by_key(|p| p.path.len());
        let beyond = |other: &[String]| along(path, other);
        if self.packages.iter().any(|p| p.rules.iter().any(|rule| beyond(&rule.path)))
            || self.packages.iter().any(|p| starts_with(&p.path, path))
            || self.targets.iter().any(|target| beyond(target))
            || self.data.iter().any(|data| is_in(&data.value, path))
        {
            return None;
        }
        let Some(package) = package else { return self.missing_package(path) };
        let own = package.path.len();
        let name = path.get(own)?;
        let names = package.rules.iter().filter_map(|rule| rule.path.get(own));
        let near = nearest(name, names.map(String::as_str)).filter(|near| near != name);
        let shown = near.map(|near| shown(&package.path, near));
        // The rule's name is right, so the part after it is wrong.
        let length = if near.is_none() && has_rule(package, name) { own + 2 } else { own + 1 };
        Some((length.min(path.len()), shown))
    }

    /// Handles a path outside all packages, which is data's unless it resembles a package's.
    fn missing_package(&self, path: &[&str]) -> Option<(usize, Option<String>)> {
        let package = self.packages.iter().find(|package| {
            let (own, given) = (&package.path, path.get(..package.path.len()));
            let wrong = given.into_iter().flatten().zip(own).filter(|(a, b)| **a != b.as_str());
            let wrong: Vec<_> = wrong.collect();
            matches!(wrong.as_slice(), [(name, meant)] if nearest(name, [meant.as_str()]).is_some())
                && path.get(own.len()).is_none_or(|rule| has_rule(package, rule))
        })?;
        let near = match path.get(package.path.len()) {
            Some(rule) => shown(&package.path, rule),
            None => format!("data.{}", package.path.join(".")),
        };
        Some((package.path.len(), Some(near)))
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

/// Returns `true` if `path` begins with all of `start`.
fn starts(path: &[&str], start: &[String]) -> bool {
    path.len() >= start.len() && along(path, start)
}

/// Returns `true` if `path` is the beginning of `whole`.
fn starts_with(whole: &[String], path: &[&str]) -> bool {
    whole.len() >= path.len() && along(path, whole)
}

/// Returns `true` if one is the beginning of the other.
fn along(path: &[&str], other: &[String]) -> bool {
    path.iter().zip(other).all(|(a, b)| a == b)
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
