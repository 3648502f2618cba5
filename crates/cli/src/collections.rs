//! The collections of rules that the command contains.
//!
//! Owns their names, the files of each, and the description of a rule in its `# METADATA`. A collection is a folder
//! of `policies`, a rule a file in it. The folder `lib` has the model that all rules use.

use std::collections::{BTreeMap, BTreeSet};

use rego_platform::rego::Sources;
use rego_platform::rego::Value;
use rego_platform::rego::internal::annotations::{Annotations, Target, of_modules};
use rego_platform::rego::syntax::{BaseVersion, ParseOptions, parse_module};
use rego_platform::sources::Fetched;
use rego_platform::{Error, Product};
use rego_platform_client::text::{did_you_mean, escape, hex};
use rego_platform_gate::Parameter;
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};

use crate::shipped::{FILES, of_product};

/// The folder of the model.
pub(super) const LIBRARY: &str = "lib";

/// The folders of `policies` that aren't collections.
const OTHERS: [&str; 3] = [LIBRARY, "parameters", "testdata"];

/// The package of the parameters' values, which has none.
pub(super) const PARAMETERS: File = (
    "parameters.rego",
    b"# Values of the rules' parameters, such as `allowed_licenses := [\"MIT\"]`. `--arg` replaces a value.\n\
    package parameters\n",
);

/// The frameworks of controls, as annotations and as people name them.
const FRAMEWORKS: [(&str, &str); 5] = [
    ("cra", "CRA"),
    ("nist_800_53", "NIST 800-53"),
    ("osps", "OSPS Baseline"),
    ("slsa", "SLSA"),
    ("ssdf", "SSDF"),
];

/// A file of a collection: its name within the folder, and the content.
pub(super) type File = (&'static str, &'static [u8]);

/// A rule as its annotation describes it.
#[derive(Debug)]
pub(super) struct Rule {
    pub collection: &'static str,
    pub name: &'static str,
    pub title: String,
    pub description: String,
    pub severity: String,
    pub remediation: String,
    pub effective_on: Option<String>,
    pub inputs: Vec<String>,
    pub functions: Vec<String>,
    pub parameters: Vec<Parameter>,
    /// The names of controls, by framework.
    pub controls: Vec<(&'static str, Vec<String>)>,
}

/// Returns the folder of `policies` that a file is in, and its name in the folder.
fn split(path: &'static str) -> Option<(&'static str, &'static str)> {
    path.strip_prefix("policies/")?.split_once('/')
}

/// Returns `true` for a file of a collection or of the model.
pub(super) fn contain(path: &'static str) -> bool {
    split(path).is_some()
}

/// Returns the names of the collections.
pub(super) fn names() -> BTreeSet<&'static str> {
    let folders = FILES.iter().filter_map(|(path, _)| Some(split(path)?.0));
    folders.filter(|folder| !OTHERS.contains(folder)).collect()
}

/// Returns the files of a folder, with its tests.
pub(super) fn files(folder: &str) -> impl Iterator<Item = File> {
    FILES.iter().filter_map(move |&(path, content)| {
        let (own, name) = split(path)?;
        (own == folder).then_some((name, content))
    })
}

/// Returns the rule that a file defines, if it defines one.
fn rule_name(file: &'static str) -> Option<&'static str> {
    let name = file.strip_suffix(".rego")?;
    (!name.ends_with("_test")).then_some(name)
}

/// Returns the name of a collection.
///
/// # Errors
/// There is no such collection.
pub(super) fn named(name: &str) -> Result<&'static str, Error> {
    let names = names();
    names.get(name).copied().ok_or_else(|| {
        let all = format!("use one of {}", names.iter().copied().collect::<Vec<_>>().join(", "));
        Error::configuration(format!("unknown collection: `{}`", escape(name)))
            .with_hint(did_you_mean(name, names.iter().copied(), all))
    })
}

/// Returns the file of a rule.
fn file(collection: &'static str, rule: &str) -> Result<File, Error> {
    let rules: BTreeMap<_, _> =
        files(collection).filter_map(|file| Some((rule_name(file.0)?, file))).collect();
    rules.get(rule).copied().ok_or_else(|| {
        let all = format!("`rego-platform policies show {collection}` lists the rules");
        Error::configuration(format!("unknown rule of `{collection}`: `{}`", escape(rule)))
            .with_hint(did_you_mean(rule, rules.keys().copied(), all))
    })
}

/// Returns the sources of collections, or of single rules (`NAME/RULE`), with the model.
///
/// # Errors
/// There is no such collection or rule.
pub(super) fn sources(given: &[String], product: &Product) -> Result<Vec<Fetched>, Error> {
    let mut chosen: BTreeMap<&str, BTreeMap<&str, &[u8]>> = BTreeMap::new();
    for name in given {
        let (collection, rule) =
            name.split_once('/').map_or((&**name, None), |(c, r)| (c, Some(r)));
        let collection = named(collection)?;
        let files = match rule {
            Some(rule) => vec![file(collection, rule)?],
            None => policies(collection).collect(),
        };
        chosen.entry(collection).or_default().extend(files);
    }
    if !chosen.is_empty() {
        let rules: Vec<_> = chosen.values().flat_map(|files| files.values().copied()).collect();
        chosen.insert(LIBRARY, library(rules, false));
        chosen.insert("parameters", [PARAMETERS].into());
    }
    let source = |(folder, files): (&str, BTreeMap<&str, &'static [u8]>)| {
        let files: Vec<_> = files
            .into_iter()
            .map(|(name, content)| {
                (name.to_owned(), of_product(name, content, product).into_owned().into())
            })
            .collect();
        let mut hash = Sha256::new();
        for (name, content) in &files {
            hash.update(format!("{} {name}\n", hex(&Sha256::digest(content))));
        }
        let digest = format!("sha256:{}", hex(&hash.finalize()));
        Fetched::files(format!("collection:{folder}"), digest, files)
    };
    Ok(chosen.into_iter().map(source).collect())
}

/// Returns the files of the model that modules import, directly or not; with their tests, if these are wanted.
pub(super) fn library(
    modules: impl IntoIterator<Item = &'static [u8]>,
    with_tests: bool,
) -> BTreeMap<&'static str, &'static [u8]> {
    let all: BTreeMap<_, _> = files(LIBRARY).collect();
    let (mut open, mut needed) = (modules.into_iter().collect::<Vec<_>>(), BTreeMap::new());
    while let Some(module) = open.pop() {
        let lines = std::str::from_utf8(module).unwrap_or_default().lines();
        let imports = lines.filter_map(|line| line.strip_prefix("import data.lib."));
        for name in imports.filter_map(|import| import.split([' ', '.']).next()) {
            let own = [format!("{name}.rego"), format!("{name}_test.rego")];
            for file in own.iter().take(1 + usize::from(with_tests)) {
                if let Some((file, content)) = all.get_key_value(file.as_str())
                    && needed.insert(*file, *content).is_none()
                {
                    open.push(content);
                }
            }
        }
    }
    needed
}

/// Returns the modules of a folder that aren't tests.
fn policies(folder: &str) -> impl Iterator<Item = File> {
    files(folder).filter(|(name, _)| rule_name(name).is_some())
}

/// Returns the rules of a collection.
///
/// # Errors
/// A rule can't be read.
pub(super) fn rules(collection: &'static str) -> Result<Vec<Rule>, Error> {
    policies(collection).map(|file| Rule::read(collection, file)).collect()
}

impl Rule {
    fn read(collection: &'static str, (file, content): File) -> Result<Self, Error> {
        let broken = || Error::internal(format!("the rule `{collection}/{file}` can't be read"));
        let text = std::str::from_utf8(content).map_err(|_| broken())?;
        let mut sources = Sources::new();
        let id = sources.add(file, text);
        let module = parse_module(id, text, &ParseOptions::version(BaseVersion::V1));
        let module = module.map_err(|_| broken())?;
        let blocks = of_modules([&module], &sources).map_err(|_| broken())?;
        let is_of_package = |block: &&Annotations| matches!(block.target, Target::Package(_));
        let block = blocks.iter().find(is_of_package).ok_or_else(broken)?;
        let custom = |name: &str| block.custom.get(&Value::from(name));
        let text =
            |name: &str| custom(name).and_then(Value::as_str).map(|text| text.trim().to_owned());
        let frameworks = FRAMEWORKS
            .iter()
            .filter_map(|(key, shown)| Some((*shown, texts(custom("controls")?.get_str(key)))));
        Ok(Self {
            collection,
            name: rule_name(file).ok_or_else(broken)?,
            title: block.title.trim().to_owned(),
            description: block.description.trim().to_owned(),
            severity: text("severity").unwrap_or_default(),
            remediation: text("remediation").unwrap_or_default(),
            effective_on: text("effective_on"),
            inputs: texts(custom("input")),
            functions: texts(custom("functions")),
            parameters: Parameter::of_block(block),
            controls: frameworks.filter(|(_, names)| !names.is_empty()).collect(),
        })
    }

    /// Returns the name with the collection's.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.collection, self.name)
    }

    /// Returns the description for programs.
    pub fn json(&self) -> serde_json::Value {
        let parameters = self.parameters.iter().map(
            |own| json!({"name": own.name, "description": own.description, "default": own.default}),
        );
        let controls = self.controls.iter().map(|(of, names)| ((*of).to_owned(), json!(names)));
        json!({
            "collection": self.collection,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "severity": self.severity,
            "remediation": self.remediation,
            "effective_on": self.effective_on,
            "inputs": self.inputs,
            "functions": self.functions,
            "parameters": parameters.collect::<Vec<_>>(),
            "controls": controls.collect::<Map<_, _>>(),
        })
    }
}

/// Returns the strings of an array.
fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|text| Some(text.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use rego_platform::functions::FUNCTIONS;
    use rego_platform_gate::model::Severity;
    use rego_platform_gate::{Gate, GateOptions};

    use super::*;

    /// Loads a gate of collections and rules.
    fn gate(given: &[String]) -> Gate {
        let mut options = GateOptions::default();
        options.fetched = sources(given, &Product::default()).unwrap();
        let paths: Vec<_> = options.fetched.iter().map(|own| own.address().to_owned()).collect();
        Gate::load(&paths, &options).unwrap()
    }

    #[test]
    fn each_rule_is_complete_by_itself() {
        let mut defaults: BTreeMap<String, Value> = BTreeMap::new();
        for rule in names().into_iter().flat_map(|name| rules(name).unwrap()) {
            let name = rule.full_name();
            let gate = gate(std::slice::from_ref(&name));
            let [policy] = gate.policies() else { panic!("{name}: one package with a verdict") };
            assert_eq!(policy.name, name.replace('-', "_").replace('/', "."));
            assert!(Severity::parse(&rule.severity).is_some(), "{name}: severity");
            for text in [&rule.title, &rule.description, &rule.remediation] {
                assert!(!text.is_empty(), "{name}: title, description or remediation");
            }
            assert!(!rule.inputs.is_empty() || !rule.functions.is_empty(), "{name}: input");
            assert_eq!(policy.effective_on, rule.effective_on, "{name}: effective_on");
            let controls: Vec<_> = rule.controls.iter().flat_map(|(_, names)| names).collect();
            for control in &policy.controls {
                assert!(controls.contains(&control), "{name}: `{control}` of an unknown framework");
            }
            for function in &rule.functions {
                assert!(FUNCTIONS.iter().any(|own| own.name == function), "{name}: `{function}`");
            }
            for own in rule.parameters {
                assert!(!own.description.is_empty(), "{name}: `{}`", own.name);
                let other = defaults.entry(own.name).or_insert_with(|| own.default.clone());
                assert_eq!(*other, own.default, "{name}: equal names, equal defaults");
            }
            let tests = format!("{}_test.rego", rule.name);
            assert!(files(rule.collection).any(|(file, _)| file == tests), "{name}: tests");
        }
    }

    #[test]
    fn collections_load_together() {
        let all: Vec<String> = names().into_iter().map(str::to_owned).collect();
        let count: usize = all.iter().map(|name| rules(named(name).unwrap()).unwrap().len()).sum();
        assert!(count >= 17);
        assert_eq!(gate(&all).policies().len(), count);
    }
}
