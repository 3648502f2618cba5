//! Policy documents: YAML files of `kind: Policy`, each with one or more Rego modules.
//!
//! Owns the format of the document. Which files are policy documents belongs to [`crate::sources`], the
//! text of their modules to `modules`, their inputs to `inputs`, groups to `group`.

use std::collections::BTreeMap;

use rego_platform::Error;
use rego_platform::rego::Value;
use rego_platform_client::text::escape;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::fields::{name, older_kind, or_default, policy_kind, typed_as};
use super::file::{DocumentFile, Located, Placed};
use super::inputs::{InputYaml, Inputs};
use super::modules::{Elsewhere, Module, embedded, read, referred};
use super::runtime::PolicyInputs;
use crate::input::argument;
use crate::policy::finding_types::{self, FindingType};
use crate::setting;

#[derive(Debug)]
pub(crate) struct PolicyDocument {
    pub version: Placed<String>,
    pub name: String,
    pub path: String,
    pub description: Option<String>,
    /// The required type of findings.
    pub finding: Option<FindingType>,
    /// The policy that decides whether the vendor's engine attaches the document.
    pub auto_match: Option<String>,
    pub inputs: Inputs,
    pub entries: Vec<PolicyEntry>,
}

/// One of a document's policies.
#[derive(Debug, Clone)]
pub(crate) struct PolicyEntry {
    pub kind: Option<String>,
    /// The phases of an attestation that evaluate the policy. A gate runs after all phases.
    pub phases: Vec<String>,
    pub module: Module,
    /// The digest of the module's file, if it isn't embedded.
    pub digest: Option<String>,
}

/// The content of a document file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PolicyYaml {
    #[serde(alias = "api_version")]
    api_version: Located<String>,
    #[serde(rename = "kind", deserialize_with = "one_policy")]
    _kind: (),
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "members that a gate doesn't need")]
pub(crate) struct Metadata {
    #[serde(deserialize_with = "name")]
    pub name: String,
    description: Option<String>,
    /// Annotations of the author, unused here.
    annotations: Option<BTreeMap<String, String>>,
    /// The owner of the policy, unused here.
    organization: Option<String>,
    #[serde(default, alias = "finding_type", deserialize_with = "finding")]
    finding_type: Option<FindingType>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    #[serde(default, deserialize_with = "or_default")]
    inputs: Vec<InputYaml>,
    #[serde(default, deserialize_with = "or_default")]
    policies: Vec<EntryYaml>,
    /// The older format: a single policy, for the kind `type`.
    #[serde(rename = "type", default, deserialize_with = "older_kind")]
    kind: Option<String>,
    embedded: Option<Located<String>>,
    path: Option<String>,
    /// The policy by which it attaches itself, which isn't evaluated: `-i` and `--kind` decide here.
    #[serde(alias = "auto_match")]
    auto_match: Option<AutoMatch>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EntryYaml {
    #[serde(default, deserialize_with = "policy_kind")]
    kind: Option<String>,
    embedded: Option<Located<String>>,
    path: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    #[serde(default, alias = "attestation_phases", deserialize_with = "or_default")]
    attestation_phases: Vec<Phase>,
}

/// A phase of an attestation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Phase {
    AttestationPhaseUnspecified,
    Init,
    Push,
}

impl Phase {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::AttestationPhaseUnspecified => None,
            Self::Init => Some("INIT"),
            Self::Push => Some("PUSH"),
        }
    }
}

/// The location of the policy for automatic attachment.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AutoMatch {
    path: Option<String>,
    embedded: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
}

impl AutoMatch {
    /// Returns the location; `None` unless exactly one is given.
    fn place(self) -> Option<String> {
        match (self.path, self.embedded, self.reference) {
            (Some(path), None, None) | (None, None, Some(path)) => Some(path),
            (None, Some(_), None) => Some("embedded".to_owned()),
            _ => None,
        }
    }
}

fn one_policy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "Policy" => Ok(()),
        _ => Err(D::Error::custom("unexpected kind: expected `Policy`")),
    }
}

fn finding<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FindingType>, D::Error> {
    let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let found = finding_types::TYPES.iter().find(|known| known.name == name).copied();
    found.map(Some).ok_or_else(|| {
        let known = finding_types::TYPES.map(|known| format!("`{}`", known.name)).join(", ");
        D::Error::custom(format!(
            "unknown finding type `{}`: expected one of {known}",
            escape(&name)
        ))
    })
}

/// Parses the document of a file.
pub(crate) fn parse(
    file: DocumentFile<'_>,
    elsewhere: Elsewhere<'_>,
) -> Result<PolicyDocument, Error> {
    of_yaml(file, typed_as(file, "policy document")?, elsewhere, &mut 0)
}

/// Converts a document of a file, after `modules` earlier modules.
pub(crate) fn of_yaml(
    file: DocumentFile<'_>,
    document: PolicyYaml,
    elsewhere: Elsewhere<'_>,
    modules: &mut usize,
) -> Result<PolicyDocument, Error> {
    let PolicyYaml { api_version, metadata, mut spec, .. } = document;
    let path = file.path;
    let shown = escape(path);
    if spec.embedded.is_some() || spec.path.is_some() || spec.kind.is_some() {
        if !spec.policies.is_empty() {
            return Err(Error::configuration(format!(
                "{shown}: `policies` and the older `type`, `path` and `embedded` can't be used together"
            )));
        }
        spec.policies.push(EntryYaml {
            kind: spec.kind,
            embedded: spec.embedded,
            path: spec.path,
            reference: None,
            attestation_phases: Vec::new(),
        });
    }
    if spec.policies.is_empty() {
        return Err(Error::configuration(format!("{shown}: empty `policies`")));
    }
    let mut entries = Vec::with_capacity(spec.policies.len());
    for (number, entry) in (1..).zip(spec.policies) {
        *modules += 1;
        let (module, digest) = match (entry.embedded, entry.path, entry.reference) {
            (Some(module), None, None) => {
                (embedded(file, module.line, &module.value, *modules), None)
            }
            (None, Some(module), None) => read(path, &module, elsewhere)?,
            (None, None, Some(reference)) => referred(path, &reference, elsewhere)?,
            _ => {
                return Err(Error::configuration(format!(
                    "{shown}: invalid policy {number}: expected exactly one of `embedded`, `path` and `ref`"
                )));
            }
        };
        let phases = entry.attestation_phases.into_iter().filter_map(Phase::name);
        let phases = phases.map(str::to_owned).collect();
        entries.push(PolicyEntry { kind: entry.kind, phases, module, digest });
    }
    let auto_match = spec.auto_match.map(|by| {
        let message = "invalid `auto_match`: expected exactly one of `embedded`, `path` and `ref`";
        by.place().ok_or_else(|| Error::configuration(format!("{shown}: {message}")))
    });
    Ok(PolicyDocument {
        version: file.placed(api_version),
        name: metadata.name,
        path: path.to_owned(),
        description: metadata.description,
        finding: metadata.finding_type,
        auto_match: auto_match.transpose()?,
        inputs: Inputs::new(spec.inputs, file)?,
        entries: for_kinds(entries),
    })
}

impl PolicyYaml {
    /// Returns the embedded modules.
    pub fn embedded(self) -> impl Iterator<Item = Located<String>> {
        let entries = self.spec.policies.into_iter().filter_map(|entry| entry.embedded);
        self.spec.embedded.into_iter().chain(entries)
    }
}

/// Returns the policies for each kind. A policy without a kind applies to all kinds of the others.
fn for_kinds(entries: Vec<PolicyEntry>) -> Vec<PolicyEntry> {
    let mut kinds: Vec<_> = entries.iter().filter_map(|entry| entry.kind.clone()).collect();
    kinds.sort();
    kinds.dedup();
    let each = |entry: PolicyEntry| match (&entry.kind, kinds.as_slice()) {
        (Some(_), _) | (None, []) => vec![entry],
        (None, kinds) => {
            let of = |kind: &String| PolicyEntry { kind: Some(kind.clone()), ..entry.clone() };
            kinds.iter().map(of).collect()
        }
    };
    entries.into_iter().flat_map(each).collect()
}

impl PolicyDocument {
    /// Returns the names of its policies, one for each entry: its own name, followed by the kind if
    /// there are several, or by the number where no kind tells them apart.
    pub(crate) fn policy_names(&self) -> Vec<String> {
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

    /// Returns the arguments of a document without a group: the given ones that it declares, and defaults.
    pub fn arguments(
        &self,
        given: &BTreeMap<String, String>,
        inputs: &PolicyInputs,
    ) -> Result<BTreeMap<String, Value>, Error> {
        let mut given = given.clone();
        inputs.apply((&self.name, ""), &mut given);
        let missing = |name: &str| {
            let (name, policy) = (escape(name), escape(&self.name));
            Error::configuration(format!("missing argument `{name}` of the policy `{policy}`"))
                .by_setting(setting::ARGUMENTS)
        };
        self.inputs.texts(&given, &BTreeMap::new(), missing).map(values)
    }
}

/// Returns arguments as policies get them.
pub(crate) fn values(texts: BTreeMap<String, String>) -> BTreeMap<String, Value> {
    texts.into_iter().filter_map(|(name, text)| Some((name, argument(&text)?))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn parse(path: &str, text: &str, elsewhere: Elsewhere<'_>) -> Result<PolicyDocument, Error> {
        super::parse(DocumentFile { path, text }, elsewhere)
    }

    const GOOD: &str = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: m\nspec:\n  \
        inputs:\n    - {name: a, required: true}\n    - {name: b, default: 'x,y'}\n  policies:\n    \
        - kind: SARIF\n      embedded: |\n        package main\n\n        import rego.v1\n\n        violations := []\n";

    #[test]
    fn modules_keep_their_line_numbers() {
        let document = parse("d/p.yaml", GOOD, Elsewhere::default()).unwrap();
        let module = &document.entries[0].module;
        let line = module
            .source()
            .unwrap()
            .text
            .lines()
            .position(|line| line.trim() == "package main")
            .unwrap();
        assert_eq!(GOOD.lines().nth(line).unwrap().trim(), "package main");
        assert_eq!(document.entries[0].kind.as_deref(), Some("SARIF"));
    }

    #[test]
    fn a_document_takes_only_declared_arguments() {
        let document = parse("p.yaml", GOOD, Elsewhere::default()).unwrap();
        let arguments = |given: &[(&str, &str)]| {
            let given = given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            let found = document.arguments(&given.collect(), &PolicyInputs::default());
            found.map(|found| serde_json::to_string(&found).unwrap())
        };
        assert!(arguments(&[]).unwrap_err().to_string().contains("`a`"));
        arguments(&[("a", "")]).unwrap_err();
        for (given, expected) in [
            (&[("a", "1")][..], r#"{"a":"1","b":["x","y"]}"#),
            // What is given counts even if it is empty or only separates.
            (&[("a", ","), ("b", "")], "{}"),
            (&[("a", "1{{ inputs.x }}")], r#"{"a":"1","b":["x","y"]}"#),
        ] {
            assert_eq!(arguments(given).unwrap(), expected, "{given:?}");
        }
    }

    #[test]
    fn errors_in_a_policy_document_have_their_position() {
        for (from, to, expected) in [
            (
                "  name: m",
                "  name: m\n  nam: x",
                "p.yaml:5:3: invalid policy document: unknown field `nam`",
            ),
            ("embedded: |", "embeded: |", "unknown field `embeded`"),
            ("metadata:\n  name: m", "metadata: [m, null, null, null]", "invalid type: sequence"),
            ("- {name: a, required: true}", "- [a, x, true, x]", "invalid type: sequence"),
            ("- {name: a", "- {nam: a", "unknown field `nam`"),
            ("embedded: |", "path: x.rego\n      embedded: |", "exactly one"),
            ("- {name: b,", "- {name: a,", "duplicate input `a`"),
            ("kind: Policy", "kind: PolicyGroup", "unexpected kind: expected `Policy`"),
            ("spec:", "kind: Policy\nspec:", "the key `kind` appears twice"),
            ("  policies:", "  policies: []\n  policies:", "the key `policies` appears twice"),
            (
                "- kind: SARIF",
                "- kind: sarif",
                "p.yaml:10:13: invalid policy document: unknown kind `sarif`: did you mean `SARIF`?",
            ),
            ("kind: SARIF", "kind: ARTIFACT", "unsupported kind of a policy: `ARTIFACT`"),
            ("  policies:", "  type: EVIDENCE\n  policies:", "kind of a policy: `EVIDENCE`"),
            ("name: m", "name: N", "p.yaml:4:9: invalid policy document: invalid name `N`"),
            ("name: m", "name: 5", "expected a string"),
            ("name: a", "name: a-b", "invalid name `a-b` of an input"),
            (
                "name: b",
                "name: y",
                "p.yaml:8:14: invalid policy document: `y` is a boolean in YAML 1.1",
            ),
            ("required: true", "required: yes", "p.yaml:7:27: invalid policy document"),
            ("- kind: SARIF", "- attestation_phases: [LATE]", "unknown variant `LATE`"),
            ("embedded: |", "ref: x\n      embedded: |", "exactly one"),
            ("embedded: |", "path: x.wasm\n      other: |", "unknown field `other`"),
            ("default: 'x,y'", "default: 'x', required: true", "default of the required input"),
            (
                "  name: m",
                "  name: m\n  finding_type: OTHER",
                "`OTHER`: expected one of `VULNERABILITY`",
            ),
            (
                "  policies:",
                "  autoMatch: {path: a, ref: b}\n  policies:",
                "invalid `auto_match`: expected exactly one of",
            ),
        ] {
            let error =
                parse("p.yaml", &GOOD.replacen(from, to, 1), Elsewhere::default()).unwrap_err();
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
            let error = parse("p.yaml", &text, Elsewhere::default()).unwrap_err();
            assert!(error.diagnostics()[0].message.contains("another document"), "{error}");
        }
    }

    #[test]
    fn the_older_format_and_unused_fields_are_read() {
        let text = GOOD.replace("  name: m", "  name: m\n  finding_type: SAST\n  organization: o");
        let text = text
            .replace("    - kind: SARIF", "    - kind: SARIF\n      attestation_phases: [PUSH]");
        let text = text.replace("spec:", "spec:\n  auto_match: {embedded: x}");
        let document = parse("p.yaml", &text, Elsewhere::default()).unwrap();
        assert_eq!(document.entries[0].phases, ["PUSH"]);
        assert_eq!(document.auto_match.as_deref(), Some("embedded"));
        assert_eq!(document.finding.unwrap().name, "SAST");
        let old = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {name: m}\nspec:\n  type: SARIF\n  \
            embedded: |\n    package main\n\n    import rego.v1\n\n    violations := []\n";
        let document = parse("p.yaml", old, Elsewhere::default()).unwrap();
        assert_eq!(document.entries[0].kind.as_deref(), Some("SARIF"));
        // Members are in camel or snake case.
        let snake = GOOD.replace("apiVersion", "api_version");
        assert_eq!(parse("p.yaml", &snake, Elsewhere::default()).unwrap().name, "m");
    }

    #[test]
    fn a_policy_without_a_kind_is_for_those_of_the_others() {
        let more = "    - embedded: |\n        package main\n\n        import rego.v1\n\n        violations := []\n";
        let entry = more.replace("- embedded", "- kind: OPENVEX\n      embedded");
        let text = format!("{GOOD}{more}{entry}");
        let document = parse("p.yaml", &text, Elsewhere::default()).unwrap();
        let kinds: Vec<_> = document.entries.iter().map(|entry| entry.kind.as_deref()).collect();
        assert_eq!(kinds, [Some("SARIF"), Some("OPENVEX"), Some("SARIF"), Some("OPENVEX")]);
    }
}
