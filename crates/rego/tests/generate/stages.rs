//! Modules after each compile stage, beside OPA's.

use std::cell::RefCell;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::rego::Sources;
use crate::rego::internal::annotations;
use crate::rego::internal::compile::{self, CompileOptions, Function, Functions, Stage};
use crate::rego::syntax::tree::Module;
use crate::rego::syntax::{ParseOptions, parse_module};

use super::case::{Case, Fault, HOST};
use super::oracle;

/// Returns the question about the stages of a case.
pub fn question(case: &Case) -> Json {
    let modules: serde_json::Map<String, Json> =
        case.files.iter().map(|(path, text)| (path.clone(), json!(text))).collect();
    let host: Vec<Json> = HOST
        .iter()
        .map(|function| json!({"name": function.name, "args": function.args, "result": function.result}))
        .collect();
    json!({"ask": "stages", "modules": modules, "version": case.version, "strict": case.strict, "host": host})
}

/// Returns the built-in functions and the host's.
pub fn functions() -> Arc<Functions> {
    let mut functions: Functions =
        crate::rego::internal::builtins::all().iter().map(Function::from).collect();
    for function in HOST {
        functions.insert(Function::new(
            function.name,
            format!("{} -> {}", function.args.join(", "), function.result),
        ));
    }
    Arc::new(functions)
}

/// Returns a parser's message without OPA's additions (this crate's hint is separate from the
/// message), and without a position that it repeats.
fn without_hint(message: &str) -> &str {
    let message = message.rsplit_once("rego_parse_error: ").map_or(message, |(_, rest)| rest);
    message.split_once(" (hint: ").map_or(message, |(rest, _)| rest)
}

/// Returns a difference, as its kind and a text that shows it; `None` if there is none.
pub fn compare(case: &Case, opa: &Json, functions: &Arc<Functions>) -> Option<(String, String)> {
    let theirs: Vec<Fault> = opa["errors"]
        .as_array()
        .map(|list| list.iter().map(oracle::fault).collect())
        .unwrap_or_default();
    if opa.get("panic").is_some() || opa.get("failed").is_some() {
        return None;
    }
    let version = super::subject::version(case.version);
    let mut sources = Sources::new();
    let mut modules = Vec::new();
    let mut problems = Vec::new();
    let mut files: Vec<&(String, String)> = case.files.iter().collect();
    files.sort();
    for (path, text) in files {
        let file = sources.add(path.as_str(), text.as_str());
        match parse_module(file, text, &ParseOptions::version(version)) {
            Ok(module) => modules.push(module),
            Err(found) => problems.extend(found),
        }
    }
    // OPA's parser reads annotations as well.
    if problems.is_empty()
        && let Err(found) = annotations::of_modules(&modules, &sources)
    {
        problems.extend(found);
    }
    let fault = |problem: &crate::rego::Problem| {
        let position = sources.position(problem.span);
        Fault {
            code: problem.code.as_str().to_owned(),
            message: problem.message.clone(),
            row: position.line,
            file: position.path.to_owned(),
        }
    };
    let show = |faults: &[Fault]| faults.iter().map(Fault::show).collect::<Vec<_>>().join("\n");
    let parse_error = theirs.iter().any(|fault| fault.code == "rego_parse_error");
    if !problems.is_empty() || parse_error {
        let ours: Vec<Fault> = problems.iter().map(fault).collect();
        return match (problems.is_empty(), parse_error) {
            (true, true) => Some(("parser takes".to_owned(), show(&theirs))),
            (false, false) => Some(("parser refuses".to_owned(), show(&ours))),
            _ if (ours.first().map(|one| (one.row, one.message.as_str())))
                != (theirs.first().map(|one| (one.row, without_hint(&one.message)))) =>
            {
                Some((
                    "parser's words".to_owned(),
                    format!("OPA: {}\nours: {}", show(&theirs), show(&ours)),
                ))
            }
            _ => None,
        };
    }
    // OPA leaves out the texts of unchanged modules.
    let mut last: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    let mut wanted = std::collections::BTreeMap::new();
    for stage in opa["stages"].as_array().into_iter().flatten() {
        if let Some(changed) = stage["modules"].as_object() {
            for (path, text) in changed {
                // OPA prints annotations above what they are about; here they aren't in the tree.
                let lines = text.as_str().unwrap_or_default().split_inclusive('\n');
                last.insert(path.clone(), lines.filter(|line| !line.starts_with('#')).collect());
            }
        }
        wanted.insert(stage["name"].as_str().unwrap_or_default().to_owned(), last.clone());
    }
    let first: RefCell<Option<(String, String)>> = RefCell::default();
    let observer = |stage: Stage, modules: &[Module]| {
        if first.borrow().is_some() {
            return;
        }
        let Some(wanted) = wanted.get(&format!("{stage:?}")) else { return };
        for (module, theirs) in modules.iter().zip(wanted.values()) {
            let ours = module.to_string();
            if ours != *theirs {
                let line = theirs.lines().zip(ours.lines()).find(|(a, b)| a != b);
                let text = line.map_or_else(
                    || format!("OPA:\n{theirs}\nours:\n{ours}"),
                    |(a, b)| format!("OPA:  {a}\nours: {b}"),
                );
                *first.borrow_mut() = Some((format!("after {stage:?}"), text));
                return;
            }
        }
    };
    let mut options = CompileOptions::new(Arc::clone(functions));
    options.strict = case.strict;
    options.observer = Some(&observer);
    let result = compile::compile(modules, &sources, &options);
    if let Some(found) = first.into_inner() {
        return Some(found);
    }
    match result {
        Ok(_) if theirs.is_empty() => None,
        Ok(_) => {
            Some((format!("taken: {}", theirs.first().map_or("", |one| &one.code)), show(&theirs)))
        }
        Err(found) => {
            let mut ours: Vec<Fault> = found.iter().map(fault).collect();
            let mut theirs: Vec<Fault> = theirs;
            if theirs.is_empty() {
                return Some(("refused".to_owned(), show(&ours)));
            }
            ours.sort();
            theirs.sort();
            ours.dedup();
            theirs.dedup();
            // OPA limits the number of its errors, and doesn't know the positions of all of them.
            theirs.retain(|one| one.message != "error limit reached");
            let named = |one: &Fault| (one.code.clone(), one.message.clone());
            let placed = |faults: &[Fault]| -> Vec<(String, String)> {
                let placeless: Vec<_> =
                    theirs.iter().filter(|one| one.row == 0).map(named).collect();
                let placed = faults.iter().filter(|one| placeless.contains(&named(one)));
                placed.map(named).collect()
            };
            let exact = |faults: &[Fault]| -> Vec<Fault> {
                let named_placed = placed(&theirs);
                let exact = faults.iter().filter(|one| !named_placed.contains(&named(one)));
                exact.cloned().collect()
            };
            (exact(&ours) != exact(&theirs) || placed(&ours) != placed(&theirs)).then(|| {
                (
                    "other errors".to_owned(),
                    format!("OPA: {}\nours: {}", show(&theirs), show(&ours)),
                )
            })
        }
    }
}
