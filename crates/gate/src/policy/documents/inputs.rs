//! Declared inputs of policy documents and groups, and their values.

use std::collections::{BTreeMap, BTreeSet};

use rego_platform::Error;
use rego_platform_client::text::{did_you_mean, escape};
use serde::Deserialize;

use super::fields::{input_name, or_default};
use super::file::{DocumentFile, Located, Placed};
use super::template::Template;

/// The declaration of an input in a document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct InputYaml {
    #[serde(deserialize_with = "input_name")]
    name: String,
    #[serde(rename = "description")]
    _description: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    required: bool,
    default: Option<Located<Template>>,
}

/// The inputs that a document declares.
#[derive(Debug)]
pub(crate) struct Inputs(Vec<Input>);

#[derive(Debug)]
struct Input {
    name: String,
    required: bool,
    default: Option<Placed<Template>>,
}

impl Inputs {
    pub fn new(all: Vec<InputYaml>, file: DocumentFile<'_>) -> Result<Self, Error> {
        let wrong =
            |message: String| Error::configuration(format!("{}: {message}", escape(file.path)));
        let mut names = BTreeSet::new();
        for input in &all {
            let name = escape(&input.name);
            if !names.insert(&input.name) {
                return Err(wrong(format!("duplicate input `{name}`")));
            }
            let has_default = input.default.as_ref().is_some_and(|text| !text.value.is_empty());
            if input.required && has_default {
                return Err(wrong(format!("default of the required input `{name}`")));
            }
        }
        let read = |input: InputYaml| Input {
            name: input.name,
            required: input.required,
            default: input.default.map(|text| file.placed(text)),
        };
        Ok(Self(all.into_iter().map(read).collect()))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|input| input.name.as_str())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses defaults that are templates whose inputs nothing fills.
    pub fn refuse_templates(&self) -> Result<(), Error> {
        let mut defaults = self.0.iter().filter_map(|input| input.default.as_ref());
        match defaults.find(|text| text.value.has_actions()) {
            Some(found) => Err(found.refused(
                "template not supported here: only a group fills templates of defaults",
                Some("write the value"),
            )),
            None => Ok(()),
        }
    }

    /// Refuses defaults that refer to inputs which a group doesn't have.
    pub fn refuse_unknown(&self, group: (&str, &Self)) -> Result<(), Error> {
        let mut defaults = self.0.iter().filter_map(|input| input.default.as_ref());
        defaults.try_for_each(|text| group.1.refuse_in(text, group.0))
    }

    /// Refuses a template that refers to an undeclared input. Messages name the owner as `group`.
    pub fn refuse_in(&self, text: &Placed<Template>, group: &str) -> Result<(), Error> {
        let is_known = |name: &str| self.names().any(|own| own == name);
        let Some(name) = text.value.inputs().find(|name| !is_known(name)) else { return Ok(()) };
        let message = format!("undeclared input of {group}: `{}`", escape(name));
        Err(text.refused(message, Some(&self.hint(name))))
    }

    /// Returns the next step for a name that isn't declared.
    pub fn hint(&self, name: &str) -> String {
        did_you_mean(name, self.names(), "declare the input in `spec.inputs`")
    }

    /// Returns the value of each input: the given value, even if empty, or else the default. `bindings` fill
    /// the templates of both. What is given is all there is for a document without inputs, as it is written.
    ///
    /// # Errors
    /// What `missing` returns for a required input without a text, and for templates that can't be filled.
    pub fn texts(
        &self,
        given: &BTreeMap<String, String>,
        bindings: &BTreeMap<String, String>,
        missing: impl Fn(&str) -> Error,
    ) -> Result<BTreeMap<String, String>, Error> {
        if self.0.is_empty() {
            return Ok(given.clone());
        }
        let mut found = BTreeMap::new();
        for input in &self.0 {
            let given = given.get(&input.name).map(|text| Template::new(text).filled(bindings));
            let given = given.transpose()?;
            if input.required && given.as_ref().is_none_or(String::is_empty) {
                return Err(missing(&input.name));
            }
            let default = || {
                let text = input.default.as_ref()?;
                Some(text.value.filled(bindings).map_err(|error| text.placing(error)))
            };
            if let Some(text) = given.map(Ok).or_else(default).transpose()? {
                found.insert(input.name.clone(), text);
            }
        }
        Ok(found)
    }
}
