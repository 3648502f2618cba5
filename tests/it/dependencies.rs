//! The top-level modules of the library have no cyclic dependencies, nor have the files and folders of
//! any crate of the workspace. Between crates, Cargo holds the direction.
//!
//! A top-level module depends on another if it names `crate::other`, or a name that `lib.rs`
//! re-exports from it; comments and tests don't count. A file depends on another if it names a path
//! that leads to it; a module's own file and the files of its submodules count as one.
//!
//! And the library without a feature brings no crate of it, and names no option of the command.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_have_no_cyclic_dependencies() {
    let graph = graph();
    assert!(graph.len() > 10, "the modules aren't found: {graph:?}");
    for module in graph.keys() {
        if let Some(path) = find_cycle(&graph, module) {
            panic!("modules with a cyclic dependency: {}", path.join(" → "));
        }
    }
}

#[test]
fn files_have_no_cyclic_dependencies() {
    for source in sources() {
        let graph = file_graph(&source);
        assert!(!graph.is_empty(), "the files aren't found: {graph:?}");
        for file in graph.keys() {
            if let Some(path) = find_cycle(&graph, file) {
                panic!("files with a cyclic dependency: {}", path.join(" → "));
            }
        }
    }
}

/// The modules of one folder, each with everything below it.
#[test]
fn folders_have_no_cyclic_dependencies() {
    const EXEMPT: [[&str; 2]; 1] = [
        // The messages of types show terms as the compiler prints them.
        ["types", "compile"],
    ];
    for source in sources() {
        let mut graph = Graph::new();
        for (file, used) in file_graph(&source) {
            for other in used {
                let (from, to) = siblings(&file, &other);
                if !EXEMPT.contains(&[&from, &to]) {
                    graph.entry(from).or_default().insert(to);
                }
            }
        }
        for folder in graph.keys() {
            if let Some(path) = find_cycle(&graph, folder) {
                panic!("folders with a cyclic dependency: {}", path.join(" → "));
            }
        }
    }
}

#[test]
fn only_grpc_brings_its_crates() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, features) = manifest.split_once("\n[features]\n").unwrap();
    let features = features.split_once("\n[").unwrap().0;
    let names = Regex::new(r"(?m)^([\w-]+) = ").unwrap();
    let all = names.captures_iter(features).map(|name| name[1].to_owned());
    let (grpc, others): (Vec<_>, Vec<_>) =
        all.filter(|name| name != "default").partition(|name| name == "grpc");
    assert_eq!(grpc, ["grpc"]);
    let of_grpc = |name: &String| name.starts_with("tonic") || name.starts_with("prost");
    let without = crates("rego-platform", &others);
    assert!(without.contains("reqwest"), "{without:?}");
    assert!(!without.iter().any(of_grpc), "{without:?}");
    assert!(crates("rego-platform", &[others, grpc].concat()).iter().any(of_grpc));
}

#[test]
fn only_context_brings_the_parser_of_its_file() {
    let features = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let of_context = ["etcetera", "toml"];
    let without =
        crates("rego-platform", &features(&["cache", "crypto", "grpc", "regorus", "ring"]));
    assert!(!of_context.iter().any(|name| without.contains(*name)), "{without:?}");
    let context = crates("rego-platform", &features(&["context"]));
    assert!(of_context.iter().all(|name| context.contains(*name)), "{context:?}");
}

#[test]
fn only_keyless_brings_its_crates() {
    let of_sigstore = |name: &String| name.starts_with("sigstore") || name.starts_with("x509");
    let features = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let without = crates("rego-platform-gate", &features(&["signatures"]));
    assert!(!without.iter().any(of_sigstore), "{without:?}");
    let keyless = crates("rego-platform-gate", &features(&["keyless"]));
    assert!(keyless.iter().any(of_sigstore), "{keyless:?}");
    // Neither another cryptography nor an HTTP client of its own.
    let library = crates("rego-platform", &features(&["ring"]));
    for other in ["aws-lc-rs", "openssl", "sigstore-tuf"] {
        assert!(!keyless.contains(other) && !library.contains(other), "{other}");
    }
}

#[test]
fn only_formats_brings_its_crates() {
    let of_formats = |name: &String| name.starts_with("hcl") || name == "rego-platform-formats";
    let features = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let without = crates("rego-platform-gate", &features(&["keyless"]));
    assert!(!without.iter().any(of_formats), "{without:?}");
    assert!(crates("rego-platform-gate", &features(&["formats"])).iter().any(of_formats));
    let library = crates("rego-platform", &features(&["regorus", "ring"]));
    assert!(!library.iter().any(of_formats), "{library:?}");
}

/// Returns the crates that one of the workspace brings with these features.
fn crates(package: &str, features: &[String]) -> BTreeSet<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut tree = Command::new(cargo);
    tree.args(["tree", "--locked", "--offline", "--package", package, "--edges", "normal"]);
    tree.args(["--prefix", "none", "--no-default-features", "--features", &features.join(" ")]);
    let output = tree.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// In a text, an option stands in backticks, alone or after the command's name.
#[test]
fn only_the_command_names_its_options() {
    let option = Regex::new(r"`(rego-platform [^`\n]* )?--?[a-z]").unwrap();
    assert!(option.is_match("`--arg N`") && option.is_match("`rego-platform eval -d p`"));
    assert!(!option.is_match("`git log --all`"));
    for source in sources().iter().filter(|source| !source.ends_with("cli/src")) {
        for (file, code) in source_files(source) {
            let named = code.lines().find(|line| option.is_match(line));
            assert_eq!(named, None, "{file} in {} names an option", source.display());
        }
    }
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

#[test]
fn dependencies_of_a_file_are_found() {
    let code = "pub(crate) use super::{a::{B, c::D}, e};\nfn f() { crate::g::h(); }\n";
    assert_eq!(paths(code), ["crate::g::h", "super::a::B", "super::a::c::D", "super::e"]);
    let files =
        BTreeMap::from(["x::a", "x::a::c", "x::y"].map(|file| (file.to_owned(), String::new())));
    assert_eq!(resolve("super::a::c::D", "x::y", &files).as_deref(), Some("x::a::c"));
    assert_eq!(resolve("super::a::B", "x::y", &files).as_deref(), Some("x::a"));
    assert_eq!(resolve("super::B", "x::a::c", &files), None);
    assert_eq!(resolve("crate::x::y::Z", "x::a", &files).as_deref(), Some("x::y"));
    assert_eq!(siblings("x::a::c", "x::y::d::e"), ("x::a".to_owned(), "x::y".to_owned()));
}

/// Returns the path from a node back to itself, if there is one.
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

/// Returns each top-level module with the modules it depends on.
fn graph() -> Graph {
    let source = root().join("src");
    let exported = exported(&fs::read_to_string(source.join("lib.rs")).unwrap());
    let files = source_files(&source);
    let modules: BTreeSet<&str> = files.keys().map(|file| first(file)).collect();
    let mut graph = Graph::new();
    for (file, code) in &files {
        let module = first(file);
        let used = graph.entry(module.to_owned()).or_default();
        for path in paths(code) {
            let Some(name) = path.strip_prefix("crate::").map(first) else { continue };
            let other = modules.get(name).copied();
            let other = other.or_else(|| exported.get(name).map(String::as_str));
            used.extend(other.filter(|other| *other != module).map(str::to_owned));
        }
    }
    graph
}

/// Returns the modules of the deepest common folder that contain two files.
fn siblings(a: &str, b: &str) -> (String, String) {
    let (a, b): (Vec<_>, Vec<_>) = (a.split("::").collect(), b.split("::").collect());
    let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    (a[..=common].join("::"), b[..=common].join("::"))
}

/// Returns each file with the files it depends on.
fn file_graph(source: &Path) -> Graph {
    let files = source_files(source);
    let used = |file: &str, code: &str| {
        paths(code).into_iter().filter_map(|path| resolve(&path, file, &files)).collect()
    };
    files.iter().map(|(file, code)| (file.clone(), used(file, code))).collect()
}

/// Returns the file to which a path in another file leads. None if it's the same file, or if the
/// module of one contains the other.
fn resolve(path: &str, from: &str, files: &BTreeMap<String, String>) -> Option<String> {
    let whole = if let Some(path) = path.strip_prefix("crate::") {
        path.to_owned()
    } else {
        let mut base = from;
        let mut rest = path;
        while let Some(path) = rest.strip_prefix("super::") {
            (base, rest) = (base.rsplit_once("::").map_or("", |(base, _)| base), path);
        }
        if rest == path {
            return None;
        }
        format!("{base}::{rest}")
    };
    let mut file = whole.trim_start_matches("::");
    while !files.contains_key(file) {
        file = file.rsplit_once("::")?.0;
    }
    let within = |a: &str, b: &str| format!("{a}::").starts_with(&format!("{b}::"));
    (!within(from, file) && !within(file, from)).then(|| file.to_owned())
}

/// Returns the paths from `crate` or `super` in a file, with groups of imports expanded.
fn paths(code: &str) -> Vec<String> {
    let mut all = Vec::new();
    for begin in ["crate::", "super::"] {
        for (at, _) in code.match_indices(begin) {
            if !code[..at].ends_with(is_of_path) {
                expand("", &code[at..], &mut all);
            }
        }
    }
    all
}

/// Adds the path with which a text begins, or each path of the group that ends it.
fn expand(prefix: &str, text: &str, out: &mut Vec<String>) {
    let end = text.find(|c| !is_of_path(c)).unwrap_or(text.len());
    let path = format!("{prefix}{}", &text[..end]);
    let Some(group) = text[end..].strip_prefix('{').filter(|_| path.ends_with("::")) else {
        return out.push(path.trim_end_matches(':').to_owned());
    };
    let (mut depth, mut begin) = (1, 0);
    for (at, c) in group.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if depth == 0 || (depth == 1 && c == ',') {
            let part = group[begin..at].trim();
            if !part.is_empty() {
                expand(&path, part, out);
            }
            begin = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || "_:".contains(c)
}

fn first(path: &str) -> &str {
    path.split("::").next().unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder with the sources of each crate.
fn sources() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    crates.chain([root().to_owned()]).map(|folder| folder.join("src")).collect()
}

/// Returns the code of each file by the path of its module.
fn source_files(source: &Path) -> BTreeMap<String, String> {
    let mut found = Vec::new();
    files(source, &mut found);
    let named = found.into_iter().map(|path| {
        let name = path.strip_prefix(source).unwrap().with_extension("");
        let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        let name = parts.join("::");
        let name = name.strip_suffix("::mod").unwrap_or(&name).to_owned();
        (name, code(&fs::read_to_string(path).unwrap()))
    });
    named.filter(|(name, _)| name != "lib" && name != "main").collect()
}

/// Collects the Rust files below a path, except those of tests.
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
