//! Policy documents: YAML files of `kind: Policy`, each with one or more Rego modules.
//!
//! Owns the format of the document and its arguments. Which files are policy documents belongs to
//! [`crate::sources`], loading their modules to `load`, defaults for parts of the verdict that they omit to
//! `packages` and `verdict`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use rego_platform::rego::Value;
use rego_platform::rego::syntax::tree::FileId;
use rego_platform::rego::syntax::{BaseVersion, ParseOptions, parse_module, visit};
use rego_platform::sources::{ModuleSource, typed};
use rego_platform::{Error, ErrorKind};
use rego_platform_client::text::escape;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::describe::rule_name;
use super::documents::argument;
use crate::setting;

/// The size of the largest module that a document names by path.
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
struct DocumentYaml {
    #[serde(rename = "apiVersion", deserialize_with = "version")]
    _version: (),
    #[serde(rename = "kind")]
    _kind: IgnoredAny,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Metadata {
    #[serde(deserialize_with = "stated")]
    name: String,
    description: Option<String>,
    /// For the author's own use.
    #[serde(rename = "annotations")]
    _annotations: Option<IgnoredAny>,
    /// The owner of the policy, which doesn't matter for inputs.
    #[serde(rename = "organization")]
    _organization: Option<IgnoredAny>,
    /// The type of structured findings, which reports show as they are.
    #[serde(rename = "findingType", alias = "finding_type")]
    _finding_type: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    #[serde(default)]
    inputs: Vec<InputSpec>,
    #[serde(default)]
    policies: Vec<PolicyReference>,
    /// The older format: a single policy, for the kind `type`.
    #[serde(rename = "type", default, deserialize_with = "kind")]
    kind: Option<String>,
    embedded: Option<String>,
    path: Option<String>,
    /// The materials that a policy attaches itself to, which `-i` and `--kind` decide here.
    #[serde(rename = "autoMatch", alias = "auto_match")]
    _auto_match: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InputSpec {
    #[serde(deserialize_with = "stated")]
    name: String,
    #[serde(rename = "description")]
    _description: Option<IgnoredAny>,
    #[serde(default)]
    required: bool,
    #[serde(default, deserialize_with = "default")]
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PolicyReference {
    #[serde(default, deserialize_with = "kind")]
    kind: Option<String>,
    embedded: Option<String>,
    path: Option<String>,
    #[serde(rename = "ref", default, deserialize_with = "reference")]
    _reference: (),
    /// The phases of an attestation in which it is evaluated. A gate runs after all of them and
    /// ignores it.
    #[serde(rename = "attestationPhases", alias = "attestation_phases")]
    _attestation_phases: Option<IgnoredAny>,
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let version = String::deserialize(deserializer)?;
    if version.ends_with("/v1") {
        return Ok(());
    }
    let version = escape(&version);
    Err(D::Error::custom(format!("the version `{version}` is unknown: it ends in `/v1`")))
}

fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() { Err(D::Error::custom("it is empty")) } else { Ok(text) }
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let kind = Option::<String>::deserialize(deserializer)?;
    if kind.as_deref().is_some_and(|kind| kind.trim().is_empty()) {
        return Err(D::Error::custom("the kind is empty: without one, the policy is for all"));
    }
    Ok(kind)
}

fn default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let default = Option::<String>::deserialize(deserializer)?;
    if default.as_deref().is_some_and(|default| default.contains("{{")) {
        return Err(D::Error::custom("the default is a template: write the value"));
    }
    Ok(default)
}

fn reference<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(D::Error::custom("`ref` isn't supported: fetch the module, and name it with `path`"))
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

/// Parses a document; `path` is its file.
pub(super) fn parse(path: &str, text: &str) -> Result<PolicyDocument, Error> {
    let DocumentYaml { metadata, mut spec, .. } = typed(path, text).map_err(|mut found| {
        found.message = format!("not a valid policy document: {}", found.message);
        Error::policy(vec![found])
    })?;
    let shown = escape(path);
    if spec.embedded.is_some() || spec.path.is_some() || spec.kind.is_some() {
        if !spec.policies.is_empty() {
            return Err(wrong(format!(
                "{shown}: `policies` and the older `type`, `path` and `embedded` can't be used together"
            )));
        }
        spec.policies.push(PolicyReference {
            kind: spec.kind,
            embedded: spec.embedded,
            path: spec.path,
            _reference: (),
            _attestation_phases: None,
        });
    }
    if spec.policies.is_empty() {
        return Err(wrong(format!("{shown}: `policies` is empty: it would always pass")));
    }
    let mut names = BTreeSet::new();
    for input in &spec.inputs {
        let name = escape(&input.name);
        if !names.insert(&input.name) {
            return Err(wrong(format!("{shown}: the input `{name}` is declared twice")));
        }
        if input.required && input.default.as_ref().is_some_and(|text| !text.is_empty()) {
            return Err(wrong(format!(
                "{shown}: the input `{name}` is required and has a default"
            )));
        }
    }
    let mut entries = Vec::with_capacity(spec.policies.len());
    for (number, entry) in (1..).zip(spec.policies) {
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
        let module = ModuleSource { text: with_omitted_rules(module.text), ..module };
        entries.push(PolicyEntry { kind: entry.kind, module });
    }
    Ok(PolicyDocument {
        name: metadata.name,
        path: path.to_owned(),
        description: metadata.description,
        inputs: spec.inputs,
        entries,
    })
}

/// The rules that a module may use without defining them, in the order in which they use each other.
const OMITTED: [(&str, &str); 5] = [
    ("skipped", "default skipped := true\n\nskipped := false if valid_input\n"),
    (
        "skip_reason",
        "default skip_reason := \"\"\n\nskip_reason := \"the file content is not recognized\" if not valid_input\n",
    ),
    ("valid_input", "default valid_input := true\n"),
    ("ignore", "default ignore := false\n"),
    ("violations", "default violations := []\n"),
];

/// Appends the rules that a module uses without defining them. They come last, so that its lines keep
/// their numbers.
fn with_omitted_rules(mut text: String) -> String {
    let Ok(module) = parse_module(FileId(0), &text, &ParseOptions::version(BaseVersion::V1)) else {
        return text;
    };
    let defined: BTreeSet<&str> = module.rules.iter().filter_map(rule_name).collect();
    let mut used = visit::vars(&module);
    for (name, rules) in OMITTED {
        if used.contains(name) && !defined.contains(name) {
            text.push_str("\n\n");
            text.push_str(rules);
            used.extend(rules.contains("valid_input").then(|| "valid_input".into()));
        }
    }
    text
}

/// Prepends line breaks to a module so that its lines have the same numbers as in the document, if
/// it is found there word for word.
fn aligned(document: &str, module: &str) -> String {
    let wanted: Vec<&str> = module.lines().map(str::trim).collect();
    let lines: Vec<&str> = document.lines().map(str::trim).collect();
    let at = lines.windows(wanted.len().max(1)).position(|window| window == wanted);
    "\n".repeat(at.unwrap_or(0)) + module
}

/// Reads a module that the document names by path, which may not lead out of the document's folder.
fn read(document: &str, module: &str) -> Result<ModuleSource, Error> {
    let shown = escape(module);
    let outside = || {
        wrong(format!("{}: `{shown}` isn't a file in the policy's folder", escape(document)))
            .with_hint("`path` is relative to the document, and leads nowhere else")
    };
    let relative = Path::new(module);
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative.components().all(is_inside) {
        return Err(outside());
    }
    if relative.extension().is_none_or(|extension| extension != "rego") {
        return Err(wrong(format!("{}: the policy `{shown}` isn't Rego", escape(document)))
            .with_hint("`path` names a file that ends in `.rego`"));
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
        return Err(wrong(format!(
            "`{shown}` is larger than {}",
            rego_platform_client::text::size(MAX_MODULE)
        )));
    }
    let bytes = std::fs::read(&real).map_err(failed)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| wrong(format!("{}: the policy `{shown}` isn't UTF-8", escape(document))))?;
    Ok(ModuleSource { path: path.to_string_lossy().into_owned(), text })
}

impl PolicyDocument {
    /// Returns the names of its policies, one for each entry: its own name, followed by the kind if
    /// there are several, or by the number where no kind tells them apart.
    pub(super) fn policy_names(&self) -> Vec<String> {
        let kinds: Vec<_> = self.entries.iter().map(|entry| entry.kind.as_deref()).collect();
        let name = |(number, kind): (usize, Option<&str>)| match kind {
            _ if kinds.len() == 1 => self.name.clone(),
            None => format!("{}/{number}", self.name),
            Some(kind) if kinds.iter().filter(|other| **other == Some(kind)).count() == 1 => {
                format!("{}/{kind}", self.name)
            }
            Some(kind) => format!("{}/{kind}/{number}", self.name),
        };
        (1..).zip(kinds.iter().copied()).map(name).collect()
    }

    /// Returns the names of its declared arguments.
    pub fn declared(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().map(|input| input.name.as_str())
    }

    /// Returns its arguments: those of the given ones that it takes, and its defaults.
    pub fn arguments(
        &self,
        given: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Value>, Error> {
        let mut found = BTreeMap::new();
        if self.inputs.is_empty() {
            let all = given.iter();
            found.extend(all.filter_map(|(name, text)| Some((name.clone(), argument(text)?))));
        }
        for input in &self.inputs {
            // An empty argument counts as absent.
            let given = given.get(&input.name).filter(|text| !text.is_empty());
            let text = given.or(input.default.as_ref());
            match text.and_then(|text| argument(text)) {
                Some(value) => {
                    found.insert(input.name.clone(), value);
                }
                None if input.required => {
                    let (name, policy) = (escape(&input.name), escape(&self.name));
                    let message = format!("the policy `{policy}` needs the argument `{name}`");
                    return Err(wrong(message).by_setting(setting::ARGUMENTS));
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
    fn modules_keep_their_line_numbers() {
        let document = parse("d/p.yaml", GOOD).unwrap();
        let module = &document.entries[0].module;
        let line = module.text.lines().position(|line| line == "package main").unwrap();
        assert_eq!(GOOD.lines().nth(line).unwrap().trim(), "package main");
        assert_eq!(document.entries[0].kind.as_deref(), Some("SARIF"));
    }

    #[test]
    fn a_document_takes_only_declared_arguments() {
        let document = parse("p.yaml", GOOD).unwrap();
        assert!(document.arguments(&BTreeMap::new()).unwrap_err().to_string().contains("`a`"));
        let empty = BTreeMap::from([("a".to_owned(), String::new())]);
        document.arguments(&empty).unwrap_err();
        let given = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        let found = document.arguments(&given).unwrap();
        assert_eq!(serde_json::to_string(&found).unwrap(), r#"{"a":"1","b":["x","y"]}"#);
    }

    #[test]
    fn errors_in_a_policy_document_have_their_position() {
        for (from, to, expected) in [
            (
                "  name: n",
                "  name: n\n  nam: x",
                "p.yaml:5:3: not a valid policy document: unknown field `nam`",
            ),
            ("/v1", "/v2", "p.yaml:1:13: not a valid policy document: the version"),
            ("embedded: |", "embeded: |", "unknown field `embeded`"),
            ("- {name: a", "- {nam: a", "unknown field `nam`"),
            ("embedded: |", "path: x.rego\n      embedded: |", "exactly one"),
            ("- {name: b,", "- {name: a,", "the input `a` is declared twice"),
            ("spec:", "kind: Policy\nspec:", "the key `kind` appears twice"),
            ("  policies:", "  policies: []\n  policies:", "the key `policies` appears twice"),
            ("- kind: SARIF", "- kind: ' '", "p.yaml:10:13: not a valid policy document: the kind"),
            ("embedded: |", "ref: x\n      embedded: |", "`ref` isn't supported"),
            ("embedded: |", "path: x.wasm\n      other: |", "unknown field `other`"),
            ("default: 'x,y'", "default: 'x', required: true", "required and has a default"),
            ("default: 'x,y'", "default: '{{ x }}'", "the default is a template"),
        ] {
            let error = parse("p.yaml", &GOOD.replacen(from, to, 1)).unwrap_err();
            let shown = match error.diagnostics() {
                [found] => {
                    let at = found.position.as_ref().unwrap();
                    format!("{}:{}:{}: {}", at.file, at.line, at.column, found.message)
                }
                _ => error.to_string(),
            };
            assert!(shown.contains(expected), "{shown}");
        }
        for text in [format!("{GOOD}---\n{GOOD}"), format!("{GOOD}---\na: 1\n")] {
            let error = parse("p.yaml", &text).unwrap_err();
            assert!(error.diagnostics()[0].message.contains("another document"), "{error}");
        }
    }

    #[test]
    fn the_older_format_and_unused_fields_are_read() {
        let text = GOOD.replace("  name: n", "  name: n\n  finding_type: SAST\n  organization: o");
        let text = text
            .replace("    - kind: SARIF", "    - kind: SARIF\n      attestation_phases: [PUSH]");
        let text = text.replace("spec:", "spec:\n  auto_match: {embedded: x}");
        assert_eq!(parse("p.yaml", &text).unwrap().entries.len(), 1);
        let old = "apiVersion: x.example/v1\nkind: Policy\nmetadata: {name: n}\nspec:\n  type: SARIF\n  \
            embedded: |\n    package main\n\n    violations := []\n";
        let document = parse("p.yaml", old).unwrap();
        assert_eq!(document.entries[0].kind.as_deref(), Some("SARIF"));
    }

    #[test]
    fn the_omitted_rules_that_a_module_uses_are_added() {
        let module = "package main\n\nresult := {\"skipped\": skipped, \"violations\": []}\n\n\
            default skipped := true\n\nskipped := false if valid_input\n";
        let text = with_omitted_rules(module.to_owned());
        assert!(text.starts_with(module));
        assert!(text.contains("default valid_input := true"), "{text}");
        assert!(
            !text.contains("default violations") && text.matches("default skipped").count() == 1
        );
        let reason = with_omitted_rules("package main\n\nresult := skip_reason\n".to_owned());
        assert!(reason.contains("default skip_reason") && reason.contains("default valid_input"));
        let plain = "package main\n\nviolations contains \"skipped\" if input.skipped # skipped\n";
        assert_eq!(with_omitted_rules(plain.to_owned()), plain);
    }

    #[test]
    fn module_paths_stay_in_the_folder() {
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
