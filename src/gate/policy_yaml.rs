//! Policy documents: YAML of `kind: Policy`, each with one or more Rego modules of its own.
//!
//! Owns the document's form and its arguments. How its modules are loaded belongs to `load`, what
//! is supplied where they leave out pieces of the verdict, to `packages` and `verdict`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::rego::Value;
use serde::Deserialize;
use yaml_serde::Value as Yaml;

use super::documents::argument;
use crate::evaluate::sources::ModuleSource;
use crate::text::{escape, nearest};
use crate::{Error, ErrorKind};

/// Largest module that a document names by path.
const MAX_MODULE: u64 = 16 << 20;

/// A policy document.
#[derive(Debug)]
pub(super) struct PolicyDocument {
    pub name: String,
    pub path: String,
    pub description: Option<String>,
    inputs: Vec<InputSpec>,
    pub entries: Vec<PolicyEntry>,
}

/// One of a document's policies.
#[derive(Debug)]
pub(super) struct PolicyEntry {
    pub kind: Option<String>,
    pub module: ModuleSource,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Metadata {
    name: String,
    description: Option<String>,
    /// Free for their authors' own use.
    #[serde(default)]
    #[allow(dead_code)]
    annotations: BTreeMap<String, Yaml>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    #[serde(default)]
    inputs: Vec<InputSpec>,
    policies: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InputSpec {
    name: String,
    #[allow(dead_code)]
    description: Option<String>,
    #[serde(default)]
    required: bool,
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    kind: Option<String>,
    embedded: Option<String>,
    path: Option<String>,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

/// Whether a text is a policy document, good or bad, rather than data.
pub(super) fn is_policy(text: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        api_version: Option<Yaml>,
        kind: Option<Yaml>,
        spec: Option<Yaml>,
    }
    if !text.contains("kind") {
        return false;
    }
    yaml_serde::from_str::<Head>(text).is_ok_and(|head| {
        let policy = head
            .kind
            .as_ref()
            .and_then(Yaml::as_str)
            .is_some_and(|kind| kind == "Policy" || nearest(kind, ["policy"]).is_some());
        policy && (head.api_version.is_some() || head.spec.is_some())
    })
}

/// Reads a document; `path` is its file.
pub(super) fn parse(path: &str, text: &str) -> Result<PolicyDocument, Error> {
    let shown = escape(path);
    let written: Written = yaml_serde::from_str(text).map_err(|error| {
        let place = match error.location() {
            Some(at) => format!("{shown}:{}:{}", at.line(), at.column()),
            None => shown.clone(),
        };
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or(&said);
        wrong(format!("{place}: no policy document: {}", escape(said)))
    })?;
    if written.kind != "Policy" {
        let place = place(text, &shown, "kind:");
        let kind = escape(&written.kind);
        return Err(
            wrong(format!("{place}: the kind `{kind}` is unknown")).with_hint("it is `Policy`")
        );
    }
    if !written.api_version.ends_with("/v1") {
        let place = place(text, &shown, "apiVersion:");
        let version = escape(&written.api_version);
        return Err(wrong(format!("{place}: the version `{version}` is unknown"))
            .with_hint("it ends in `/v1`"));
    }
    if written.metadata.name.trim().is_empty() {
        return Err(wrong(format!("{shown}: the policy's name is empty")));
    }
    if written.spec.policies.is_empty() {
        let place = place(text, &shown, "policies:");
        return Err(wrong(format!("{place}: `policies` is empty: it would always pass")));
    }
    let mut entries = Vec::with_capacity(written.spec.policies.len());
    for (number, entry) in (1..).zip(written.spec.policies) {
        let module = match (entry.embedded, entry.path) {
            (Some(embedded), None) => {
                ModuleSource { path: format!("{path}#{number}"), text: aligned(text, &embedded) }
            }
            (None, Some(module)) => read(path, &module)?,
            _ => {
                return Err(wrong(format!(
                    "{shown}: policy {number} has not exactly one of `embedded` and `path`"
                )));
            }
        };
        entries.push(PolicyEntry { kind: entry.kind, module });
    }
    Ok(PolicyDocument {
        name: written.metadata.name,
        path: path.to_owned(),
        description: written.metadata.description,
        inputs: written.spec.inputs,
        entries,
    })
}

/// The place of the line that starts with `key`.
fn place(text: &str, shown: &str, key: &str) -> String {
    let line = text.lines().position(|line| line.trim_start().starts_with(key)).unwrap_or(0);
    let column = text
        .lines()
        .nth(line)
        .map_or(1, |line| line.chars().count() - line.trim_start().chars().count() + 1);
    format!("{shown}:{}:{column}", line + 1)
}

/// The module with line breaks before it, so that its lines have the numbers that they have in the
/// document, where it is found there word for word.
fn aligned(document: &str, module: &str) -> String {
    let wanted: Vec<&str> = module.lines().map(str::trim).collect();
    let lines: Vec<&str> = document.lines().map(str::trim).collect();
    let at = lines.windows(wanted.len().max(1)).position(|window| window == wanted);
    "\n".repeat(at.unwrap_or(0)) + module
}

/// A module beside the document. It never leads out of the document's folder.
fn read(document: &str, module: &str) -> Result<ModuleSource, Error> {
    let shown = escape(module);
    let outside = || {
        wrong(format!("{}: `{shown}` isn't a file in the policy's folder", escape(document)))
            .with_hint("`path` is relative to the document, and leads nowhere else")
    };
    let relative = Path::new(module);
    if !relative
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir))
    {
        return Err(outside());
    }
    let folder = Path::new(document).parent().unwrap_or(Path::new(""));
    let path = folder.join(relative);
    let failed = |error: std::io::Error| {
        wrong(format!("{}: the policy `{shown}` can't be read", escape(document)))
            .with_source(error)
    };
    let root = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let real = std::fs::canonicalize(&path).map_err(failed)?;
    if !real.starts_with(std::fs::canonicalize(root).map_err(failed)?) {
        return Err(outside());
    }
    if std::fs::metadata(&real).map_err(failed)?.len() > MAX_MODULE {
        return Err(wrong(format!("`{shown}` is larger than {MAX_MODULE} bytes")));
    }
    let text = std::fs::read_to_string(&real).map_err(failed)?;
    Ok(ModuleSource { path: path.to_string_lossy().into_owned(), text })
}

impl PolicyDocument {
    /// Whether the document declares an argument.
    pub fn declares(&self, name: &str) -> bool {
        self.inputs.iter().any(|input| input.name == name)
    }

    /// The names of its arguments.
    pub fn declared(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().map(|input| input.name.as_str())
    }

    /// What of the given arguments reaches it, with its defaults.
    pub fn arguments(
        &self,
        given: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Value>, Error> {
        let mut found = BTreeMap::new();
        for input in &self.inputs {
            let text = given.get(&input.name).or(input.default.as_ref());
            match text.and_then(|text| argument(text)) {
                Some(value) => {
                    found.insert(input.name.clone(), value);
                }
                None if input.required => {
                    let (name, policy) = (escape(&input.name), escape(&self.name));
                    let message = format!("the policy `{policy}` needs the argument `{name}`");
                    return Err(wrong(message).with_hint(format!("add `--arg {name}=VALUE`")));
                }
                None => {}
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    const GOOD: &str = "apiVersion: x.example/v1\nkind: Policy\nmetadata:\n  name: n\nspec:\n  \
        inputs:\n    - {name: a, required: true}\n    - {name: b, default: 'x,y'}\n  policies:\n    \
        - kind: SARIF\n      embedded: |\n        package main\n\n        violations := []\n";

    #[test]
    fn modules_keep_their_lines() {
        let document = parse("d/p.yaml", GOOD).unwrap();
        let module = &document.entries[0].module;
        let line = module.text.lines().position(|line| line == "package main").unwrap();
        assert_eq!(GOOD.lines().nth(line).unwrap().trim(), "package main");
        assert_eq!(document.entries[0].kind.as_deref(), Some("SARIF"));
    }

    #[test]
    fn arguments_are_declared() {
        let document = parse("p.yaml", GOOD).unwrap();
        assert!(document.arguments(&BTreeMap::new()).unwrap_err().to_string().contains("`a`"));
        let empty = BTreeMap::from([("a".to_owned(), String::new())]);
        document.arguments(&empty).unwrap_err();
        let given = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        let found = document.arguments(&given).unwrap();
        assert_eq!(serde_json::to_string(&found).unwrap(), r#"{"a":"1","b":["x","y"]}"#);
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        for (from, to, says) in [
            (
                "  name: n",
                "  name: n\n  nam: x",
                "p.yaml:5:3: no policy document: metadata: unknown field `nam`",
            ),
            ("kind: Policy", "kind: Polic", "p.yaml:2:1: the kind `Polic` is unknown"),
            ("/v1", "/v2", "p.yaml:1:1: the version"),
            ("embedded: |", "embeded: |", "unknown field `embeded`"),
            ("- {name: a", "- {nam: a", "unknown field `nam`"),
            ("embedded: |", "path: x.rego\n      embedded: |", "exactly one"),
        ] {
            let error = parse("p.yaml", &GOOD.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(is_policy(GOOD) && is_policy(&GOOD.replace("Policy", "Polcy")));
        assert!(!is_policy("kind: Deployment\napiVersion: v1") && !is_policy("kind: 1"));
    }

    #[test]
    fn paths_stay_in_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("out.rego"), "package out").unwrap();
        std::fs::write(dir.path().join("d/in.rego"), "package in").unwrap();
        let document = dir.path().join("d/p.yaml");
        let document = document.to_str().unwrap();
        assert_eq!(read(document, "in.rego").unwrap().text, "package in");
        let absolute = dir.path().join("d/in.rego");
        for path in ["../out.rego", absolute.to_str().unwrap(), "https://x.example/p.rego"] {
            read(document, path).unwrap_err();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../out.rego", dir.path().join("d/link.rego")).unwrap();
            read(document, "link.rego").unwrap_err();
        }
    }
}
