//! Lists that a `limit` may have cut, used as if they were complete.
//!
//! Owns following such a list through variables and rules to where it is counted, negated or
//! iterated with `every`. A comparison whose result is the same for the cut list is fine.

use std::collections::{HashMap, HashSet};

use super::model::{
    Binding, CallSite, Compared, Usage, WholeList, WholeUse, data_path, number, within,
};
use super::{Constants, File, Inspected, names};
use crate::Diagnostic;
use crate::rego::syntax::tree::{Span, Term, TermKind};

/// The most variables that are followed to decide whether an expression is the list itself.
const MAX_DEPTH: usize = 20;

/// A `limit`, with its number if that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limit(Option<f64>);

/// Rules whose value may depend on a cut list, by path, with the limit.
pub(super) struct CutRules(HashMap<Vec<String>, Limit>);

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|part| (*part).to_owned()).collect()
}

impl CutRules {
    /// Follows lists from the rules that fetch them to all rules that depend on those.
    pub fn new(files: &[File<'_>], constants: &Constants<'_>) -> Self {
        let mut cut: HashMap<Vec<String>, Limit> = HashMap::new();
        for file in files {
            for call in &file.model.calls {
                if let Some(limit) = limit_of(file, constants, call)
                    && let Some(rule) = file.module.rules.get(call.rule)
                    && let Some(path) = names::rule_path(file.module, rule)
                {
                    cut.insert(owned(&path), limit);
                }
            }
        }
        if cut.is_empty() {
            return Self(cut);
        }
        // The paths that each rule reads.
        let mut readers: Vec<(Vec<String>, Vec<Vec<String>>)> = Vec::new();
        for file in files {
            for rule in &file.module.rules {
                let Some(path) = names::rule_path(file.module, rule) else { continue };
                let mut reads = Vec::new();
                crate::rego::syntax::visit::walk_terms(rule, &mut |term| {
                    if let Some(path) = data_path(term) {
                        reads.push(path.iter().map(|(key, _)| (*key).to_owned()).collect());
                    }
                    true
                });
                readers.push((owned(&path), reads));
            }
        }
        loop {
            let mut more = Vec::new();
            for (path, reads) in &readers {
                if !cut.contains_key(path)
                    && let Some(limit) = reads.iter().find_map(|read| find(&cut, read))
                {
                    more.push((path.clone(), limit));
                }
            }
            if more.is_empty() {
                return Self(cut);
            }
            cut.extend(more);
        }
    }
}

/// Returns the limit of the cut rule that a path leads to.
fn find(cut: &HashMap<Vec<String>, Limit>, path: &[String]) -> Option<Limit> {
    (1..=path.len()).find_map(|length| cut.get(path.get(..length)?).copied())
}

/// Returns the limit in the filters of a call.
fn limit_of(file: &File<'_>, constants: &Constants<'_>, call: &CallSite<'_>) -> Option<Limit> {
    if call.replaced {
        return None;
    }
    let filters = super::arguments::literal(file, constants, call.arguments.first()?);
    let TermKind::Object(members) = &filters.kind else { return None };
    let value = members.iter().find_map(|(key, value)| match &key.kind {
        TermKind::String(key) if &**key == "limit" => Some(value),
        _ => None,
    })?;
    Some(Limit(number(super::arguments::literal(file, constants, value))))
}

/// Finds cut lists that are used as if they were complete.
pub(super) fn check(
    all: &Inspected<'_>,
    file: &File<'_>,
    constants: &Constants<'_>,
    cut: &CutRules,
    out: &mut Vec<Diagnostic>,
) {
    let limited: HashMap<Span, Limit> = file
        .model
        .calls
        .iter()
        .filter_map(|call| Some((call.span, limit_of(file, constants, call)?)))
        .collect();
    if limited.is_empty() && cut.0.is_empty() {
        return;
    }
    let search = Search { all, file, constants, cut, limited };
    let mut seen = HashSet::new();
    for whole in &file.model.wholes {
        let Some(limit) = search.limit_in(whole.list, &mut HashSet::new()) else { continue };
        if search.harmless(whole, limit) || !seen.insert(whole.span) {
            continue;
        }
        let what = match whole.usage {
            Usage::Counted(_) => "is counted",
            Usage::Negated => "is negated",
            Usage::Every => "is treated as the whole list",
        };
        let limit = match limit {
            Limit(Some(number)) => format!("`limit` {number}"),
            Limit(None) => "a `limit`".to_owned(),
        };
        out.push(
            Diagnostic::warning("cut-list", format!("a list that {limit} may have cut {what}"))
                .with_hint("leave `limit` out: every page is read then")
                .at(all.position(whole.span)),
        );
    }
}

struct Search<'f, 'a> {
    all: &'f Inspected<'f>,
    file: &'f File<'a>,
    constants: &'f Constants<'a>,
    cut: &'f CutRules,
    limited: HashMap<Span, Limit>,
}

impl Search<'_, '_> {
    /// Returns the limit of a list that is fetched or mentioned within `list`. `seen` are the
    /// variables that were followed already: two variables may mention each other many times.
    fn limit_in(&self, list: WholeList<'_>, seen: &mut HashSet<String>) -> Option<Limit> {
        let within = within(list, self.all.product.as_str());
        if let Some(limit) = within.calls.iter().find_map(|span| self.limited.get(span)) {
            return Some(*limit);
        }
        for (name, at) in within.variables {
            let Some(variable) = self.file.model.variable(&name, at) else { continue };
            let (Binding::Value(from) | Binding::Element(from)) = variable.binding else {
                continue;
            };
            if seen.insert(name.to_string())
                && let Some(limit) = self.limit_in(WholeList::Term(from), seen)
            {
                return Some(limit);
            }
        }
        within.references.iter().find_map(|term| {
            let path: Vec<String> =
                data_path(term)?.iter().map(|(key, _)| (*key).to_owned()).collect();
            find(&self.cut.0, &path)
        })
    }

    /// Returns `true` if the count of the cut list compares like that of the complete list.
    fn harmless(&self, whole: &WholeUse<'_>, limit: Limit) -> bool {
        let (Usage::Counted(Some((number, compared))), Limit(Some(limit)), WholeList::Term(list)) =
            (whole.usage, limit, whole.list)
        else {
            return false;
        };
        let enough = match compared {
            Compared::Above => number < limit,
            Compared::AtLeast => number <= limit,
        };
        enough && self.is_list(list, MAX_DEPTH)
    }

    /// Returns `true` if an expression is the list itself, not a selection from it.
    fn is_list(&self, term: &Term, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match &term.kind {
            TermKind::Call(_) => true,
            TermKind::Group(inner) => self.is_list(inner, depth),
            TermKind::Var(name) => match self.file.model.variable(name, term.span) {
                Some(variable) => match variable.binding {
                    Binding::Value(value) => self.is_list(value, depth),
                    _ => false,
                },
                None => false,
            },
            TermKind::Ref(parts) => match self.constants.find(term) {
                Some((value, _)) => self.is_list(value, depth),
                None => parts.first().is_some_and(|head| self.is_list(head, depth)),
            },
            _ => false,
        }
    }
}
