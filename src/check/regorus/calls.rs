//! Calls, and `with` for functions.

use std::collections::HashSet;

use super::packages::{each_call, imported};
use super::{Places, View};
use crate::check::File;
use crate::check::model::{data_path, function_name};
use crate::check::names::package_path;
use crate::rego::internal::builtins::{Builtin, lookup};
use crate::rego::internal::types::Function;
use crate::rego::syntax::tree::{Rule, With};
use crate::rego::syntax::visit::{self, Node};

/// Finds uses of the value of `walk`.
pub(super) fn walk(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        for (name, arguments, span) in &file.model.others {
            if name == "walk" && arguments.len() == 1 {
                out.push((*span, "the value of `walk`".to_owned()));
            }
        }
    }
}

/// Finds calls of the host's functions, and of built-in ones, that give their result to an argument.
pub(super) fn result_arguments(view: &View<'_>, out: &mut Places) {
    let arity = |name: &str| {
        let host = view.all.host_functions.iter().find(|function| function.name() == name);
        if let Some(function) = host {
            return Some(usize::from(function.arity()));
        }
        let has_result = |builtin: &&Builtin| {
            builtin.infix.is_none() && !builtin.relation && builtin.name != "print"
        };
        let builtin = lookup(name).filter(has_result)?;
        Some(Function::parse(builtin.signature).ok()?.args.len())
    };
    for (_, file) in &view.files {
        for (name, arguments, span) in &file.model.others {
            if arity(name).is_some_and(|arity| arguments.len() > arity) {
                out.push((*span, "the result as an argument".to_owned()));
            }
        }
        for call in &file.model.calls {
            if call.arguments.len() > call.function.arguments.len() {
                out.push((call.span, "the result as an argument".to_owned()));
            }
        }
    }
}

/// The path of a policy's function, and `true` if it is written without its package.
type Written = (String, bool);

fn written(view: &View<'_>, file: &File<'_>, name: &str) -> Option<Written> {
    let exists = |path: &str| view.rules.contains_key(&path.split('.').collect::<Vec<_>>());
    if let Some(path) = name.strip_prefix("data.") {
        return exists(path).then(|| (path.to_owned(), false));
    }
    let (head, rest) = name.split_once('.').map_or((name, ""), |(head, rest)| (head, rest));
    if let Some(path) = imported(&file.author.imports, head) {
        let path = path.strip_prefix("data.")?;
        let path = if rest.is_empty() { path.to_owned() } else { format!("{path}.{rest}") };
        return exists(&path).then_some((path, false));
    }
    let path = format!("{}.{name}", package_path(file.author).join("."));
    exists(&path).then_some((path, true))
}

/// Finds `with` for a policy's function that some call writes in another way.
pub(super) fn with_function(view: &View<'_>, out: &mut Places) {
    let mut calls: HashSet<Written> = HashSet::new();
    for (_, file) in &view.files {
        each_call(file.author, &mut |name, _| calls.extend(written(view, file, &name)));
    }
    each_with(view, &mut |file, with| {
        let name = function_name(&with.target);
        let Some((path, short)) = name.and_then(|name| written(view, file, &name)) else { return };
        let message = format!("`{path}` is called under another name");
        if calls.contains(&(path, !short)) {
            out.push((with.span, message));
        }
    });
}

/// Finds `with` whose value reads a rule of the policies, itself or in a function that it calls.
pub(super) fn with_value(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        visit::walk_exprs(file.module, &mut |expr| {
            for with in &expr.with {
                if reads_rule(view, &with.value, &mut HashSet::new()) {
                    out.push((with.span, "the value of `with` reads a rule".to_owned()));
                }
            }
            true
        });
    }
}

fn reads_rule(
    view: &View<'_>,
    node: &(impl Node + ?Sized),
    seen: &mut HashSet<Vec<String>>,
) -> bool {
    let mut paths: Vec<Vec<String>> = Vec::new();
    visit::walk_terms(node, &mut |term| {
        let path = data_path(term);
        paths.extend(path.map(|path| path.iter().map(|(key, _)| (*key).to_owned()).collect()));
        true
    });
    paths.into_iter().any(|path| {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let beginnings = (1..=keys.len()).filter_map(|length| keys.get(..length));
        let rules = beginnings.filter_map(|path| view.rules.get(path)).flatten();
        let rules: Vec<&Rule> = rules.map(|(_, rule)| *rule).collect();
        rules.iter().any(|rule| !rule.head.is_function())
            || seen.insert(path) && rules.iter().any(|rule| reads_rule(view, *rule, seen))
    })
}

/// Finds `with` for functions of the host, and functions that aren't a policy's as replacements.
pub(super) fn mocks(view: &View<'_>, out: &mut Places) {
    let is_host = |name: &str| {
        let rest = name.strip_prefix(view.all.product.as_str());
        rest.is_some_and(|rest| rest.starts_with('.'))
            || view.all.host_functions.iter().any(|function| function.name() == name)
    };
    each_with(view, &mut |file, with| {
        let Some(target) = function_name(&with.target) else { return };
        let value = function_name(&with.value);
        let policies = |name: &str| written(view, file, name).is_some();
        let by = value.filter(|name| !policies(name) && (lookup(name).is_some() || is_host(name)));
        if is_host(&target) {
            out.push((with.span, format!("regorus can't replace `{target}`")));
        } else if let Some(by) = by {
            out.push((with.span, format!("regorus can't replace anything by `{by}`")));
        }
    });
}

fn each_with(view: &View<'_>, work: &mut dyn FnMut(&File<'_>, &With)) {
    for (_, file) in &view.files {
        visit::walk_exprs(file.author, &mut |expr| {
            for with in &expr.with {
                work(file, with);
            }
            true
        });
    }
}
