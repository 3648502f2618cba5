//! From an author's module to one that the interpreter evaluates as Rego means it.
//!
//! Owns which edits a module gets: imports go, and references through them become full paths;
//! whole packages become views; functions that some `with` replaces are called through rules,
//! since the interpreter replaces rules only. The edits themselves are [`super::text`]'s.

use std::collections::{BTreeMap, HashSet};

use super::builtins::{Called, Functions};
use super::imports;
use super::names::full_name;
use super::parse::Module;
use super::prints;
use super::scope::{Head, Role, Use};
use super::sites;
use super::text::Edit;
use super::tree::{Tree, data_path};
use super::views::{Hidden, Views};
use crate::Diagnostic;

/// The functions that calls go to through a hidden rule: name to rule.
#[derive(Debug, Clone, Default)]
pub(super) struct Shim {
    /// Functions of the host and the product that some `with` replaces or puts in a place.
    replaceable: BTreeMap<String, Through>,
    /// Built-ins that some `with` puts in another function's place.
    replacements: BTreeMap<String, Through>,
}

/// A rule in a function's place.
#[derive(Debug, Clone)]
struct Through {
    rule: String,
    arity: usize,
}

impl Shim {
    /// Finds what needs a rule, in all modules, and writes the rules.
    pub(super) fn new<'a>(
        uses: impl Iterator<Item = &'a Use>,
        functions: &Functions<'_>,
        hidden: &mut Hidden,
    ) -> Self {
        let mut shim = Self::default();
        shim.extend(uses, functions, hidden);
        shim
    }

    /// Adds what else needs a rule.
    pub(super) fn extend<'a>(
        &mut self,
        uses: impl Iterator<Item = &'a Use>,
        functions: &Functions<'_>,
        hidden: &mut Hidden,
    ) {
        for found in uses {
            if !matches!(found.head, Head::Name(_))
                || !matches!(found.role, Role::Target | Role::Replacement)
            {
                continue;
            }
            let name = full_name(found);
            let Called::Function(arity) = functions.called(&name, false) else { continue };
            let list = if functions.extension(&name).is_some() {
                &mut self.replaceable
            } else if found.role == Role::Replacement {
                &mut self.replacements
            } else {
                continue;
            };
            if list.contains_key(&name) {
                continue;
            }
            let kind = if functions.extension(&name).is_some() { 'f' } else { 'b' };
            let rule = format!("{kind}{}", list.len());
            hidden.function(&rule, arity, &name);
            list.insert(name, Through { rule: hidden.reference(&rule), arity });
        }
    }

    /// Whether a function that `found` replaces is called through a rule.
    pub(super) fn replaces(&self, found: &Use) -> bool {
        self.replaceable.contains_key(&full_name(found))
    }

    /// Whether calls of the product's or the host's functions go through rules.
    pub(super) fn is_on(&self) -> bool {
        !self.replaceable.is_empty()
    }

    fn rule(&self, found: &Use) -> Option<&Through> {
        if !matches!(found.head, Head::Name(_)) || found.role == Role::Read {
            return None;
        }
        let name = full_name(found);
        let replacement =
            (found.role == Role::Replacement).then(|| self.replacements.get(&name)).flatten();
        replacement.or_else(|| self.replaceable.get(&name))
    }
}

/// The edits of the references `uses`.
///
/// `file` is the modules' name; without one, calls aren't noted.
pub(super) fn references(
    uses: &[Use],
    file: Option<&str>,
    shim: &Shim,
    views: &Views<'_>,
    hidden: &mut Hidden,
) -> Result<Vec<Edit>, (usize, Diagnostic)> {
    let mut edits = Vec::new();
    for (index, found) in uses.iter().enumerate() {
        if let Some(count) = views.needed(found) {
            let text = views.make(found, count, hidden).map_err(|d| (index, d))?;
            // Of the path, so many steps came with the name: an import's.
            let given = found.steps.len() - found.written();
            let end = match count.checked_sub(given + 1) {
                Some(last) => found.ends.get(last).copied().unwrap_or(found.name_end),
                None => found.name_end,
            };
            edits.push(Edit::new(found.start, end, text));
            continue;
        }
        if let Some(at) = views.crossing(found) {
            edits.push(crossing(found, at).map_err(|d| (index, d))?);
        }
        if let Some(Through { rule, arity }) = shim.rule(found) {
            edits.push(Edit::new(found.start, found.end(), rule.clone()));
            let last = arity.checked_sub(1).and_then(|last| found.arguments.get(last));
            if let (Some(last), Some(file)) = (last, file) {
                let site = (file.to_owned(), found.start, found.end());
                edits.extend(sites::edits(hidden.site(site), *last));
            }
        } else if found.ends.is_empty() && matches!(&found.head, Head::Name(n) if &**n == "print") {
            edits.extend(found.arguments.iter().flat_map(|argument| prints::edits(*argument)));
        } else if found.import.is_some() || views.is_mocked(found) {
            let given = found.steps.len() - found.written();
            let path: Vec<_> = found.keys().take(given).collect();
            let text = data_path(&path);
            let text = match found.head {
                Head::Input => format!("input{}", text.strip_prefix("data").unwrap_or("")),
                _ => text,
            };
            edits.push(Edit::new(found.start, found.name_end, text));
        }
    }
    Ok(edits)
}

/// The functions that some `with` replaces. The interpreter knows a replacement by the name that is
/// written in the `with`, so all of these must be called by one name: the full path.
pub(super) fn mocked<'a>(uses: impl Iterator<Item = &'a Use>, tree: &Tree) -> HashSet<usize> {
    uses.filter(|u| u.head == Head::Data && u.role == Role::Target)
        .filter_map(|u| tree.group_at(u.keys()))
        .collect()
}

/// The step from an object that is built key by key to a rule that defines one key. Written as a
/// raw string, the interpreter evaluates all of the object; else it looks at the one rule.
fn crossing(found: &Use, at: usize) -> Result<Edit, Diagnostic> {
    let given = found.steps.len() - found.written();
    let key = found.keys().nth(at).filter(|key| !key.contains('`'));
    let (Some(key), Some(own)) = (key, at.checked_sub(given)) else {
        return Err(Diagnostic::error(
            "rule-overlap",
            format!("`{}` is defined as a rule and as a key of an object", full_name(found)),
        )
        .with_hint("refer to the object in the module itself, not through an import of the key"));
    };
    let start = match own.checked_sub(1) {
        Some(before) => found.ends.get(before).copied().unwrap_or(found.name_end),
        None => found.name_end,
    };
    let end = found.ends.get(own).copied().unwrap_or(start);
    Ok(Edit::new(start, end, format!("[`{key}`]")))
}

/// All edits of a module.
pub(super) fn module(
    module: &Module,
    shim: &Shim,
    views: &Views<'_>,
    hidden: &mut Hidden,
) -> Result<Vec<Edit>, Diagnostic> {
    let mut edits = references(&module.uses, Some(module.file.path()), shim, views, hidden)
        .map_err(|(index, d)| match module.uses.get(index) {
            Some(found) => d.at(module.file.position(found.start, found.end())),
            None => d,
        })?;
    for &(start, end) in &module.hiding {
        let name = module.file.author().get(start..end).unwrap_or("");
        let mut text = format!("{name}_local");
        while module.file.author().contains(&text) {
            text.push('_');
        }
        edits.push(Edit::new(start, end, text));
    }
    for (start, end) in imports::hidden(&module.ast) {
        // Line by line, so that positions within stay on their lines.
        let text = module.file.author().get(start..end).unwrap_or("");
        let mut at = start;
        for line in text.split_inclusive('\n') {
            let kept = line.trim_end_matches(['\r', '\n']);
            let blank = " ".repeat(kept.chars().count());
            edits.push(Edit::new(at, at + kept.len(), blank));
            at += line.len();
        }
    }
    Ok(edits)
}
