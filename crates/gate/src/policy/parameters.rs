//! Parameters of rules: members of `data.parameters`, which `custom.parameters` in `# METADATA` declares.
//!
//! Owns their types, which are those of their defaults, and their values from arguments. A package that declares its
//! parameters or its inputs is a rule: it gets arguments as parameters, and in `input.args` only those that it names.

use std::collections::{BTreeMap, BTreeSet};

use rego_platform::Error;
use rego_platform::evaluate::Policies;
use rego_platform::functions::describe;
use rego_platform::rego::Value;
use rego_platform::rego::internal::annotations::{Annotations, Target, of_modules};
use rego_platform::rego::syntax::tree::With;
use rego_platform_client::text::escape;

use super::input_data::replacement;
use super::packages::VerdictPackage;
use crate::input::argument;

/// The member of `data` that holds the parameters, and of `custom` that declares them.
const PARAMETERS: &str = "parameters";

/// The member of `custom` that declares the inputs of a rule.
const INPUT: &str = "input";

/// A parameter of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name in `data.parameters`.
    pub name: String,
    /// The description for people.
    pub description: String,
    /// The value without an argument.
    pub default: Value,
}

/// The parameters of a run's packages that arguments set.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    /// The names of all parameters.
    pub names: BTreeSet<String>,
    /// The replacements of `data.parameters`.
    pub values: Vec<With>,
    /// The files of packages that are rules.
    rules: BTreeSet<String>,
}

impl Parameter {
    /// Returns the parameters that a block of annotations declares. Malformed ones are left out.
    #[doc(hidden)]
    pub fn of_block(block: &Annotations) -> Vec<Self> {
        let list = block.custom.get(&Value::from(PARAMETERS)).and_then(Value::as_array);
        let parameter = |own: &Value| {
            let text = |name| Some(own.get_str(name)?.as_str()?.trim().to_owned());
            let default = own.get_str("default")?.clone();
            let description = text("description").unwrap_or_default();
            Some(Self { name: text("name")?, description, default })
        };
        list.into_iter().flatten().filter_map(parameter).collect()
    }

    /// Returns the value of an argument, which has the type of the default.
    fn value(&self, text: &str) -> Result<Value, Error> {
        converted(&self.default, text).ok_or_else(|| {
            Error::configuration(format!(
                "invalid value of the parameter `{}`: expected {}, found `{}`",
                escape(&self.name),
                describe(&self.default),
                escape(text)
            ))
            .with_hint(escape(&self.description))
        })
    }
}

/// Returns a text as a value of the type of `like`.
fn converted(like: &Value, text: &str) -> Option<Value> {
    match like {
        Value::String(_) => Some(Value::from(text)),
        Value::Array(items) => {
            let given: Vec<Value> = match argument(text) {
                Some(Value::Array(all)) => all.iter().cloned().collect(),
                one => one.into_iter().collect(),
            };
            let text = Value::from("");
            let like = items.first().unwrap_or(&text);
            let items = given.iter().map(|item| converted(like, item.as_str()?));
            Some(Value::from(items.collect::<Option<Vec<_>>>()?))
        }
        _ => {
            let value = Value::from_json(text).ok()?;
            (describe(&value) == describe(like)).then_some(value)
        }
    }
}

impl Parameters {
    /// Returns the parameters of packages, with the values of those that are arguments.
    ///
    /// # Errors
    /// An argument doesn't have the type of the parameter.
    pub fn new(
        packages: &[VerdictPackage],
        policies: &Policies,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let mut all = Self::default();
        if arguments.is_empty() {
            return Ok(all);
        }
        let texts = policies.program().sources();
        let is_of_packages = |path: &str| {
            packages.iter().flat_map(|package| &package.files).any(|file| file == path)
        };
        let modules = policies.program().modules().iter();
        let modules = modules.filter(|module| {
            texts.get(module.span.file).is_some_and(|source| is_of_packages(source.path()))
        });
        // Blocks that can't be read are refused when a module is compiled.
        let blocks = of_modules(modules, texts).unwrap_or_default();
        let blocks = blocks.iter().filter(|block| matches!(block.target, Target::Package(_)));
        let mut values = BTreeMap::new();
        let declares = |block: &Annotations| {
            [PARAMETERS, INPUT].iter().any(|name| block.custom.contains_key(&Value::from(*name)))
        };
        let files = blocks.clone().filter(|block| declares(block));
        let files = files.filter_map(|block| Some(texts.get(block.span.file)?.path().to_owned()));
        all.rules = files.collect();
        for parameter in blocks.flat_map(Parameter::of_block) {
            if let Some(text) = arguments.get(&parameter.name) {
                let value = parameter.value(text)?;
                let of_other = values.insert(parameter.name.clone(), value.clone());
                if of_other.is_some_and(|other| other != value) {
                    return Err(Error::configuration(format!(
                        "parameter of two types: `{}`",
                        escape(&parameter.name)
                    ))
                    .with_hint("give its defaults in `# METADATA` the same type"));
                }
            }
            all.names.insert(parameter.name);
        }
        for (name, value) in &values {
            all.values.extend(replacement(&[PARAMETERS, name], value.clone())?);
        }
        Ok(all)
    }

    /// Returns `true` for a package that gets arguments as parameters.
    pub fn is_rule(&self, package: &VerdictPackage) -> bool {
        package.files.iter().any(|file| self.rules.contains(file))
    }

    /// Returns `true` if an argument is a parameter.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_value_has_the_type_of_its_default() {
        for (default, text, expected) in [
            ("[]", "a, b", Some(r#"["a","b"]"#)),
            (r#"["x"]"#, "a", Some(r#"["a"]"#)),
            ("[]", "", Some("[]")),
            ("[22]", "80,443", Some("[80,443]")),
            ("[22]", "80,http", None),
            ("30", "7", Some("7")),
            ("30", "soon", None),
            ("30", "\"7\"", None),
            ("true", "false", Some("false")),
            ("true", "no", None),
            (r#""high""#, "7", Some(r#""7""#)),
            ("{}", r#"{"a": 1}"#, Some(r#"{"a":1}"#)),
            ("{}", "[]", None),
        ] {
            let default = Value::from_json(default).unwrap();
            let found = converted(&default, text).map(|value| value.to_json());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
