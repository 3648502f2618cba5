//! The top-level modules of `src` have no cyclic dependencies.
//!
//! A module depends on another if it names `crate::other`, or a name that `lib.rs` re-exports from
//! it; comments and tests don't count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_have_no_cyclic_dependencies() {
    let graph = graph();
    assert!(graph.len() > 15, "the modules aren't found: {graph:?}");
    for module in graph.keys() {
        if let Some(path) = find_cycle(&graph, module) {
            panic!("modules with a cyclic dependency: {}", path.join(" → "));
        }
    }
}

#[test]
fn the_language_depends_only_on_text() {
    let uses = graph().remove("rego").unwrap_or_default();
    assert_eq!(uses, BTreeSet::from(["text".to_owned()]));
}

#[test]
fn a_cycle_is_found() {
    let graph = |edges: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        graph
    };
    let cycle = graph(&[("a", "b"), ("b", "c"), ("c", "a")]);
    assert_eq!(find_cycle(&cycle, "a").unwrap(), ["a", "b", "c", "a"]);
    assert_eq!(find_cycle(&graph(&[("a", "b"), ("a", "c"), ("b", "c")]), "a"), None);
}

/// Returns the path from a module back to itself, if there is one.
fn find_cycle(graph: &Graph, start: &str) -> Option<Vec<String>> {
    let mut open = vec![vec![start.to_owned()]];
    let mut seen = BTreeSet::new();
    while let Some(path) = open.pop() {
        for next in graph.get(path.last()?).into_iter().flatten() {
            let mut longer = path.clone();
            longer.push(next.clone());
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                open.push(longer);
            }
        }
    }
    None
}

/// Returns each module with the modules it depends on.
fn graph() -> Graph {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut modules: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !["lib", "main"].contains(&name.as_str()) {
            files(&path, modules.entry(name).or_default());
        }
    }
    let exported = exported(&fs::read_to_string(root.join("lib.rs")).unwrap());
    let uses = Regex::new(r"\bcrate::(?:(\w+)|\{([^;]*)\};)").unwrap();
    let listed = Regex::new(r"(?:^|[{,])\s*(\w+)").unwrap();
    let mut graph = Graph::new();
    for (module, files) in &modules {
        let used = graph.entry(module.clone()).or_default();
        for file in files {
            let code = code(&fs::read_to_string(file).unwrap());
            for found in uses.captures_iter(&code) {
                let names: Vec<&str> = match (found.get(1), found.get(2)) {
                    (Some(name), _) => vec![name.as_str()],
                    (_, Some(list)) => {
                        let names = listed.captures_iter(list.as_str());
                        names.filter_map(|name| Some(name.get(1)?.as_str())).collect()
                    }
                    _ => Vec::new(),
                };
                for name in names {
                    let other = if modules.contains_key(name) { Some(name) } else { None };
                    let other = other.or_else(|| exported.get(name).map(String::as_str));
                    used.extend(other.filter(|other| other != module).map(str::to_owned));
                }
            }
        }
    }
    graph
}

/// Collects the Rust files of a module, except those of its tests.
fn files(path: &Path, out: &mut Vec<PathBuf>) {
    let name = path.file_name().unwrap().to_string_lossy();
    if name.contains("tests") || name == "fixture.rs" {
        return;
    }
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            files(&entry.unwrap().path(), out);
        }
    } else if name.ends_with(".rs") {
        out.push(path.to_owned());
    }
}

/// Returns the text of a file without comments and without the tests at its end.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..end].lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Returns the names that the crate re-exports, with the module of each.
fn exported(lib: &str) -> BTreeMap<String, String> {
    let exports = Regex::new(r"pub use (\w+)::(?:(\w+)|\{([^}]*)\});").unwrap();
    let mut all = BTreeMap::new();
    for export in exports.captures_iter(lib) {
        let names = export.get(2).or_else(|| export.get(3)).map_or("", |names| names.as_str());
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            all.insert(name.to_owned(), export[1].to_owned());
        }
    }
    all
}
