//! Policy documents: YAML files of `kind: Policy`, each with one or more Rego modules.
//!
//! Owns the format of the document and its arguments. Loading its modules belongs to `load`,
//! defaults for parts of the verdict that they omit to `packages` and `verdict`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::rego::Value;
use serde::Deserialize;
use yaml_serde::Value as Yaml;

use super::documents::argument;
use super::split::{DocumentSplitter, Syntax};
use crate::sources::{ModuleSource, document};
use crate::text::escape;
use crate::{Error, ErrorKind, Setting};

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
    #[serde(alias = "api_version")]
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
    /// For the author's own use.
    #[serde(default)]
    #[allow(dead_code)]
    annotations: BTreeMap<String, Yaml>,
    /// The owner of the policy, which doesn't matter for inputs.
    #[allow(dead_code)]
    organization: Option<String>,
    /// The type of structured findings, which reports show as they are.
    #[serde(alias = "finding_type")]
    #[allow(dead_code)]
    finding_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    #[serde(default)]
    inputs: Vec<InputSpec>,
    #[serde(default)]
    policies: Vec<Entry>,
    /// The older format: a single policy, for the kind `type`.
    #[serde(rename = "type")]
    kind: Option<String>,
    embedded: Option<String>,
    path: Option<String>,
    /// The materials that a policy attaches itself to, which `-i` and `--kind` decide here.
    #[serde(alias = "auto_match")]
    #[allow(dead_code)]
    auto_match: Option<Yaml>,
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
    #[serde(rename = "ref")]
    reference: Option<String>,
    /// The phases of an attestation in which it is evaluated. A gate runs after all of them and
    /// ignores it.
    #[serde(alias = "attestation_phases")]
    #[allow(dead_code)]
    attestation_phases: Option<Vec<String>>,
}

/// The size of the largest policy document; a larger file is data.
const MAX_DOCUMENT: usize = 4 << 20;

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

/// Returns `true` if a text is a policy document, valid or not, rather than data: even if it is one
/// of several documents, or can't be parsed. A policy document mistaken for data would silently
/// give no verdict.
pub(super) fn is_policy(text: &str) -> bool {
    // An escape may stand for any character of a word.
    if (text.len() > MAX_DOCUMENT || !text.contains('\\')) && !has_words(text) {
        return false;
    }
    split_documents(text).iter().any(|(document_text, syntax)| {
        match document("", document_text, *syntax == Syntax::Yaml) {
            Ok(value) => is_policy_value(&value),
            // A less strict reader may still accept it.
            Err(_) => names_policy(document_text),
        }
    })
}

/// Returns `true` if a text has one of the words without which it isn't a policy document: data
/// without them isn't parsed to find out.
fn has_words(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["kind", "spec", "policies"].iter().any(|word| text.contains(word))
}

/// Returns `true` if a document of a text is valid and a policy document.
pub(super) fn is_valid_policy(text: &str) -> bool {
    names_policy(text)
        && split_documents(text).iter().any(|(text, syntax)| {
            document("", text, *syntax == Syntax::Yaml).is_ok_and(|value| is_policy_value(&value))
        })
}

/// Returns `true` if a document of a text has the modules of a policy document. Other documents with
/// `kind: Policy`, such as those of a cluster, may be inputs.
pub(super) fn has_policies(text: &str) -> bool {
    names_policy(text)
        && split_documents(text).iter().any(|(text, syntax)| {
            document("", text, *syntax == Syntax::Yaml)
                .is_ok_and(|value| field(&value, "spec").is_some_and(has_modules))
        })
}

/// Returns `true` if a document of a text is a resource of a cluster with Rego in it, such as a
/// `ConstraintTemplate`: other tools evaluate it.
pub(super) fn holds_rego(text: &str) -> bool {
    fn is_rego(value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        text.lines().any(|line| line.trim_start().starts_with("package "))
    }
    fn holds(value: &Value, depth: usize) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| holds(item, depth + 1)),
            Value::Object(_) if depth > MAX_DEPTH => false,
            Value::Object(members) => {
                field(value, "rego").is_some_and(is_rego)
                    || members.values().any(|member| holds(member, depth + 1))
            }
            _ => false,
        }
    }
    let is_resource = |value: &Value| {
        field(value, "apiVersion").is_some() && field(value, "kind").is_some() && holds(value, 0)
    };
    text.contains("package ")
        && text.to_ascii_lowercase().contains("rego")
        && split_documents(text).iter().any(|(text, syntax)| {
            document("", text, *syntax == Syntax::Yaml).is_ok_and(|value| is_resource(&value))
        })
}

/// The depth to which resources are searched for Rego.
const MAX_DEPTH: usize = 16;

/// Splits a text into its documents: JSON ones if that is what all of them are, else YAML ones. A
/// YAML document may begin as JSON does.
fn split_documents(text: &str) -> Vec<(String, Syntax)> {
    let split = |syntax| {
        let stream = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        let mut splitter = DocumentSplitter::new(stream, syntax);
        std::iter::from_fn(move || splitter.next().ok().flatten())
            .map(|raw| (String::from_utf8_lossy(&raw.bytes).into_owned(), raw.syntax))
    };
    let found: Vec<_> = split(None).collect();
    let is_valid = |(text, syntax): &(String, Syntax)| {
        *syntax == Syntax::Yaml || document("", text, false).is_ok()
    };
    if found.iter().all(is_valid) { found } else { split(Some(Syntax::Yaml)).collect() }
}

/// Returns an object's field, in any case.
fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Object(object) = value else { return None };
    object
        .iter()
        .find(|(key, _)| key.as_str().is_some_and(|key| key.eq_ignore_ascii_case(name)))
        .map(|(_, value)| value)
}

fn is_policy_value(value: &Value) -> bool {
    let has = |name: &str| field(value, name).is_some();
    let is_kind = field(value, "kind").and_then(Value::as_str).is_some_and(is_policy_kind);
    let is_listed = match field(value, "items") {
        Some(Value::Array(items)) => items.iter().any(is_policy_value),
        _ => false,
    };
    let has_version = has("apiVersion") || has("api_version");
    // Its `kind` was forgotten.
    let is_nameless = !has("kind")
        && (has_version || has("metadata"))
        && field(value, "spec").is_some_and(|spec| {
            ["policies", "embedded", "path", "ref"].iter().any(|name| field(spec, name).is_some())
        });
    is_kind && (has_version || has("spec"))
        || is_nameless
        || field(value, "spec")
            .is_some_and(|spec| has_modules(spec) || field(spec, "embedded").is_some())
        || has_modules(value)
        || is_listed
}

/// Returns `true` if a value has the `policies` of a policy document, whatever its `kind`.
fn has_modules(spec: &Value) -> bool {
    let holds_module = |entry: &Value| {
        let path = field(entry, "path").and_then(Value::as_str);
        field(entry, "embedded").is_some()
            || path.is_some_and(|path| path.to_lowercase().ends_with(".rego"))
    };
    match field(spec, "policies") {
        Some(Value::Array(entries)) => entries.iter().any(holds_module),
        _ => false,
    }
}

fn is_policy_kind(kind: &str) -> bool {
    let kind = kind.trim().to_lowercase();
    kind.len() <= 20 && (kind == "policygroup" || strsim::damerau_levenshtein(&kind, "policy") <= 3)
}

/// Returns `true` if a line of a text is `kind: Policy`, or a near miss of it.
fn names_policy(text: &str) -> bool {
    let bare = |text: &str| {
        text.trim_matches(|c: char| c.is_whitespace() || "\"',".contains(c)).to_owned()
    };
    text.lines().any(|line| {
        let line = line.trim_start_matches('\u{feff}').split(" #").next().unwrap_or_default();
        line.split_once(':').is_some_and(|(key, value)| {
            // A tag may precede the value.
            let value = value.split_whitespace().last().unwrap_or_default();
            bare(key.trim_start_matches(['{', ' '])).eq_ignore_ascii_case("kind")
                && is_policy_kind(&bare(value))
        })
    })
}

/// Parses a document; `path` is its file.
pub(super) fn parse(path: &str, text: &str) -> Result<PolicyDocument, Error> {
    let shown = escape(path);
    if text.len() > MAX_DOCUMENT {
        return Err(wrong(format!(
            "{shown}: a policy document is larger than {}",
            crate::text::size(MAX_DOCUMENT as u64)
        ))
        .with_hint("put its modules beside it, and name them with `path`"));
    }
    let documents = split_documents(text).len();
    if documents > 1 {
        return Err(wrong(format!("{shown}: a policy document is one of {documents} documents"))
            .with_hint("put each policy into a file of its own: one would be read, or none"));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    refuse_groups(text, &shown)?;
    let written: DocumentYaml = yaml_serde::from_str(text).map_err(|error| {
        let place = match error.location() {
            Some(at) => format!("{shown}:{}:{}", at.line(), at.column()),
            None => shown.clone(),
        };
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or(&message);
        wrong(format!("{place}: not a valid policy document: {}", escape(message)))
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
    let mut spec = written.spec;
    if spec.embedded.is_some() || spec.path.is_some() || spec.kind.is_some() {
        if !spec.policies.is_empty() {
            return Err(wrong(format!(
                "{shown}: `policies` and the older `type`, `path` and `embedded` can't be used together"
            )));
        }
        spec.policies.push(Entry {
            kind: spec.kind.take(),
            embedded: spec.embedded.take(),
            path: spec.path.take(),
            reference: None,
            attestation_phases: None,
        });
    }
    if spec.policies.is_empty() {
        let place = place(text, &shown, "policies:");
        return Err(wrong(format!("{place}: `policies` is empty: it would always pass")));
    }
    let mut names = BTreeSet::new();
    for input in &spec.inputs {
        check_input(input, &shown)?;
        if !names.insert(&input.name) {
            let name = escape(&input.name);
            return Err(wrong(format!("{shown}: the input `{name}` is declared twice")));
        }
    }
    let mut entries = Vec::with_capacity(spec.policies.len());
    for (number, entry) in (1..).zip(spec.policies) {
        if entry.kind.as_deref().is_some_and(|kind| kind.trim().is_empty()) {
            return Err(wrong(format!("{shown}: the kind of policy {number} is empty"))
                .with_hint("name a kind, such as `SARIF`, or leave it out: then it is for all"));
        }
        let module = match (entry.embedded, entry.path, entry.reference) {
            (Some(embedded), None, None) => {
                refuse_wasm(embedded.as_bytes(), &shown, number)?;
                ModuleSource { path: format!("{path}#{number}"), text: aligned(text, &embedded) }
            }
            (None, Some(module), None) => read(path, &module, number)?,
            (None, None, Some(reference)) => {
                let place = place(text, &shown, "ref:");
                let reference = escape(&reference);
                return Err(wrong(format!(
                    "{place}: `ref` isn't supported: `{reference}` isn't fetched"
                ))
                .with_hint("fetch the module, and name it with `path`"));
            }
            _ => {
                return Err(wrong(format!(
                    "{shown}: policy {number} has not exactly one of `embedded` and `path`"
                )));
            }
        };
        let module = ModuleSource { text: with_omitted_rules(&module.text), ..module };
        entries.push(PolicyEntry { kind: entry.kind, module });
    }
    Ok(PolicyDocument {
        name: written.metadata.name,
        path: path.to_owned(),
        description: written.metadata.description,
        inputs: spec.inputs,
        entries,
    })
}

/// Refuses a policy group, whose policies can't be fetched here, and a `kind` key in another case.
fn refuse_groups(text: &str, shown: &str) -> Result<(), Error> {
    let Ok(head) = yaml_serde::from_str::<BTreeMap<String, Yaml>>(text) else { return Ok(()) };
    let known = head.iter().find(|(key, _)| key.eq_ignore_ascii_case("kind"));
    let Some((key, Yaml::String(kind))) = known else { return Ok(()) };
    let place = place(text, shown, &format!("{key}:"));
    if kind.eq_ignore_ascii_case("policygroup") {
        return Err(wrong(format!("{place}: groups of policies (`PolicyGroup`) aren't supported"))
            .with_hint("name its policies one by one")
            .by_setting(Setting::Ignored));
    }
    if key != "kind" {
        return Err(wrong(format!("{place}: the key `{}` is unknown", escape(key)))
            .with_hint("write `kind`")
            .by_setting(Setting::Ignored));
    }
    Ok(())
}

fn check_input(input: &InputSpec, shown: &str) -> Result<(), Error> {
    let name = escape(&input.name);
    let default = input.default.as_deref().unwrap_or_default();
    if input.required && !default.is_empty() {
        return Err(wrong(format!("{shown}: the input `{name}` is required and has a default")));
    }
    if default.contains("{{") {
        return Err(wrong(format!("{shown}: the default of the input `{name}` is a template"))
            .with_hint("templates aren't filled in here: write the value"));
    }
    Ok(())
}

/// Refuses a compiled policy, recognised by its first bytes, raw or as base64.
fn refuse_wasm(bytes: &[u8], shown: &str, number: usize) -> Result<(), Error> {
    if bytes.starts_with(b"\0asm") || bytes.trim_ascii_start().starts_with(b"AGFzb") {
        return Err(wrong(format!("{shown}: policy {number} is WebAssembly (WASM)"))
            .with_hint("only Rego is evaluated here"));
    }
    Ok(())
}

/// Appends definitions of the rules that policy documents may omit, if the module mentions them.
/// They come last, so that the module's lines keep their numbers.
fn with_omitted_rules(module: &str) -> String {
    let defines = |name: &str| {
        module.lines().any(|line| {
            let line = line.strip_prefix("default ").map_or(line, str::trim_start);
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    let mentions = |name: &str| {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        module.lines().map(|line| line.split('#').next().unwrap_or(line)).any(|line| {
            line.match_indices(name).any(|(at, _)| {
                let before = line.get(..at).and_then(|text| text.chars().next_back());
                let after = line.get(at + name.len()..).and_then(|text| text.chars().next());
                !before.is_some_and(|c| word(c) || matches!(c, '.' | '"'))
                    && !after.is_some_and(|c| word(c) || c == '"')
            })
        })
    };
    let mut text = module.to_owned();
    let skipped = !defines("skipped") && mentions("skipped");
    let reason = !defines("skip_reason") && mentions("skip_reason");
    let valid = !defines("valid_input") && (mentions("valid_input") || skipped || reason);
    for (needed, rules) in [
        (valid, "default valid_input := true\n"),
        (skipped, "default skipped := true\n\nskipped := false if valid_input\n"),
        (
            reason,
            "default skip_reason := \"\"\n\nskip_reason := \"the file content is not recognized\" if not valid_input\n",
        ),
        (!defines("ignore") && mentions("ignore"), "default ignore := false\n"),
        (!defines("violations") && mentions("violations"), "default violations := []\n"),
    ] {
        if needed {
            text.push_str("\n\n");
            text.push_str(rules);
        }
    }
    text
}

/// Returns the position of the line that starts with `key`.
fn place(text: &str, shown: &str, key: &str) -> String {
    let line = text.lines().position(|line| line.trim_start().starts_with(key)).unwrap_or(0);
    let column = text
        .lines()
        .nth(line)
        .map_or(1, |line| line.chars().count() - line.trim_start().chars().count() + 1);
    format!("{shown}:{}:{column}", line + 1)
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
fn read(document: &str, module: &str, number: usize) -> Result<ModuleSource, Error> {
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
    if relative.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wasm")) {
        refuse_wasm(b"\0asm", &escape(document), number)?;
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
        return Err(wrong(format!("`{shown}` is larger than {}", crate::text::size(MAX_MODULE))));
    }
    let bytes = std::fs::read(&real).map_err(failed)?;
    refuse_wasm(&bytes, &escape(document), number)?;
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

    /// Returns `true` if the document takes an argument.
    pub fn declares(&self, name: &str) -> bool {
        // A document that declares no argument takes all.
        self.inputs.is_empty() || self.inputs.iter().any(|input| input.name == name)
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
                    return Err(wrong(message).by_setting(Setting::Arguments));
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
                "p.yaml:5:3: not a valid policy document: metadata: unknown field `nam`",
            ),
            ("kind: Policy", "kind: Polic", "p.yaml:2:1: the kind `Polic` is unknown"),
            ("/v1", "/v2", "p.yaml:1:1: the version"),
            ("embedded: |", "embeded: |", "unknown field `embeded`"),
            ("- {name: a", "- {nam: a", "unknown field `nam`"),
            ("embedded: |", "path: x.rego\n      embedded: |", "exactly one"),
            ("- {name: b,", "- {name: a,", "the input `a` is declared twice"),
        ] {
            let error = parse("p.yaml", &GOOD.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(is_policy(GOOD) && is_policy(&GOOD.replace("Policy", "Polcy")));
        assert!(!is_policy("kind: Deployment\napiVersion: v1") && !is_policy("kind: 1"));
        let own = GOOD.replace('\n', "\n  ");
        for (text, expected) in [
            (format!("{GOOD}---\n{GOOD}"), "one of 2 documents"),
            (format!("a: 1\n---\n{GOOD}"), "one of 2 documents"),
            (GOOD.replace("spec:", "kind: Policy\nspec:"), "duplicate"),
            (GOOD.replace("  policies:", "  policies: []\n  policies:"), "duplicate field"),
            (
                GOOD.replace("      embedded: |", "      embedded: x\n      embedded: |"),
                "duplicate",
            ),
            (format!("{GOOD}#{}", " ".repeat(MAX_DOCUMENT)), "larger than"),
            (
                format!("x: &b {{kind: Policy}}\n<<: *b\n{}", GOOD.replace("kind: P", "x: P")),
                "kind",
            ),
            (GOOD.replace("kind: Policy", "kind: !!str Policy"), ""),
            (
                GOOD.replace("kind: Policy", "\"kind\" : 'Policy' # one\nx: {\u{1}"),
                "not a valid policy document",
            ),
            (format!("x:\n  {own}\nkind: Policy\napiVersion: x/v1\n"), "unknown field `x`"),
        ] {
            assert!(is_policy(&text), "{text}");
            match parse("p.yaml", &text) {
                Err(error) => assert!(error.to_string().contains(expected), "{text}: {error}"),
                Ok(_) => assert_eq!(expected, "", "{text}"),
            }
        }
        for (from, to, expected) in [
            ("kind: Policy", "Kind: Policy", "p.yaml:2:1: the key `Kind`"),
            ("kind: Policy", "kind: PolicyGroup", "p.yaml:2:1: groups of policies"),
            ("embedded: |", "ref: https://x.example/p.rego\n      xx: |", "unknown field `xx`"),
            ("default: 'x,y'", "default: 'x', required: true", "required and has a default"),
            ("package main", "AGFzbQ", "WebAssembly"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert!(is_policy(&text), "{text}");
            let error = parse("p.yaml", &text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_document_without_a_kind_or_on_one_long_line_is_not_data() {
        for spec in [
            "policies: [{embedded: package x}]",
            "policies: [{ref: sbom-present}]",
            "type: SARIF\n  path: x.rego",
            "policies:\n    materials: [{name: sbom}]",
        ] {
            for head in ["apiVersion: x/v1\n", "metadata: {name: n}\n"] {
                let text = format!("{head}spec:\n  {spec}\n");
                assert!(is_policy(&text), "{text}");
                assert!(parse("p.yaml", &text).is_err());
            }
        }
        for data in ["spec: {policies: [{ref: a}]}", "metadata: {}\nspec: {replicas: 1}"] {
            assert!(!is_policy(data), "{data}");
        }
        let spaces = " ".repeat(MAX_DOCUMENT);
        let document = |kind: &str| {
            serde_json::json!({
                "apiVersion": "x.example/v1",
                kind: "Policy",
                "metadata": {"name": "n"},
                "spec": {"policies": [{"embedded": format!("package main\n#{spaces}")}]},
            })
        };
        for kind in ["kind", "KIND", "other"] {
            let text = document(kind).to_string();
            assert!(is_policy(&text));
            assert!(parse("p.json", &text).unwrap_err().to_string().contains("larger than"));
        }
        assert!(!is_policy(&format!("{{\"kind\": \"x\", \"text\": \"{spaces}\"}}")));
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
        let reference = "apiVersion: x.example/v1\nkind: Policy\nmetadata: {name: n}\nspec:\n  policies:\n  \
            - ref: p.rego\n";
        let error = parse("p.yaml", reference).unwrap_err().to_string();
        assert!(error.contains("`ref` isn't supported"), "{error}");
    }

    #[test]
    fn omitted_rules_are_added_if_they_are_mentioned() {
        let module = "package main\n\nresult := {\"skipped\": skipped, \"violations\": []}\n\n\
            default skipped := true\n\nskipped := false if valid_input\n";
        let text = with_omitted_rules(module);
        assert!(text.starts_with(module));
        assert!(text.contains("default valid_input := true"), "{text}");
        assert!(
            !text.contains("default violations") && text.matches("default skipped").count() == 1
        );
        let plain = "package main\n\nviolations contains \"x\" # skipped\n";
        assert_eq!(with_omitted_rules(plain), plain);
    }

    #[test]
    fn module_paths_stay_in_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("out.rego"), "package out").unwrap();
        std::fs::write(dir.path().join("d/in.rego"), "package in").unwrap();
        let document = dir.path().join("d/p.yaml");
        let document = document.to_str().unwrap();
        assert_eq!(read(document, "in.rego", 1).unwrap().text, "package in");
        let absolute = dir.path().join("d/in.rego");
        for path in ["../out.rego", absolute.to_str().unwrap(), "https://x.example/p.rego"] {
            read(document, path, 1).unwrap_err();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../out.rego", dir.path().join("d/link.rego")).unwrap();
            read(document, "link.rego", 1).unwrap_err();
        }
    }
}
