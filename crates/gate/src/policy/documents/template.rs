//! Templates in policy documents, groups and contracts: strings where `{{ inputs.NAME }}` refers to an input.
//!
//! They are Go templates, as the vendor's client fills them: conditions and functions work, and an input without
//! a value is empty.

use std::collections::BTreeMap;

use rego_platform::Error;
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
use rego_platform::load::LoadOptions;
use rego_platform::rego::Value;
use rego_platform::rego::value::Object;
use rego_platform::sources::Sources;
use rego_platform_client::text::escape;
use serde::de::{Deserialize, Deserializer};

/// The beginning of an action.
const OPEN: &str = "{{";

/// The variable of the inputs.
const INPUTS: &str = "inputs";

/// The prefix of an input's name in an action.
const MEMBER: &str = "inputs.";

/// A text with references to inputs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Template(String);

impl Template {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns `true` if the template has actions, so that its result depends on inputs.
    pub fn has_actions(&self) -> bool {
        self.0.contains(OPEN)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text as it is written.
    pub fn as_written(&self) -> &str {
        &self.0
    }

    /// Returns the names of the inputs that it refers to.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        let after = self.0.split(OPEN).skip(1).map(|rest| rest.split("}}").next().unwrap_or(rest));
        after.flat_map(|action| {
            action.match_indices(MEMBER).filter_map(|(at, _)| {
                let before = action.get(..at)?.chars().next_back();
                let name = action.get(at + MEMBER.len()..)?;
                let end = name.find(|c: char| !is_name_part(c)).unwrap_or(name.len());
                (!before.is_some_and(is_name_part)).then_some(name.get(..end)?)
            })
        })
    }

    /// Returns the text with these inputs.
    ///
    /// # Errors
    /// For a template that can't be read, or whose functions fail.
    pub fn filled(&self, inputs: &BTreeMap<String, String>) -> Result<String, Error> {
        if !self.has_actions() {
            return Ok(self.0.clone());
        }
        let text = |text: &str| Value::from(text);
        let given = inputs.iter().map(|(name, own)| (text(name), text(own)));
        // An input without a value is empty text, as in a map of texts.
        let absent = self.inputs().map(|name| (text(name), text("")));
        let bindings: Object = absent.chain(given).collect();
        let variables = Value::from(Object::from([(text(INPUTS), Value::from(bindings))]));
        let template = text(&with_dots(&self.0)).to_json();
        let policies = Policies::load(&Sources::default(), LoadOptions::default())?;
        let call = format!("strings.render_template({template}, {})", variables.to_json());
        let query = policies.query(&call)?;
        let offline = "templates can't call the service".to_owned();
        let mut options = EvaluateOptions::new(Answers::Unavailable(offline));
        options.strict_builtin_errors = true;
        let failed = |error: &Error| {
            let message = format!("invalid template `{}`: {error}", escape(&self.0));
            Error::configuration(message).with_hint("refer to an input as `{{ inputs.NAME }}`")
        };
        let output = policies.evaluate(&query, None, &options).result.map_err(|e| failed(&e))?;
        let filled = output.value().and_then(Value::as_str).unwrap_or_default();
        Ok(filled.replace("<undefined>", "<no value>"))
    }
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Adds the dot that Go requires before `inputs.` at the beginning of an action.
fn with_dots(text: &str) -> String {
    let mut parts = text.split(OPEN);
    let mut dotted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        dotted.push_str(OPEN);
        let inner = part.trim_start();
        let is_input = inner.strip_prefix(INPUTS).is_some_and(|rest| !rest.is_empty());
        if is_input {
            dotted.extend([" .", inner]);
        } else {
            dotted.push_str(part);
        }
    }
    dotted
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// As Go 1.26 fills them with the option `missingkey=zero`.
    #[test]
    fn templates_are_filled() {
        let inputs = BTreeMap::from([("a", "1"), ("b_2", "{{ inputs.a }}")]);
        let inputs = inputs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        for (text, expected) in [
            ("", ""),
            ("a }} b", "a }} b"),
            ("{{inputs.a}}@{{ .inputs.b_2\n}}.", "1@{{ inputs.a }}."),
            ("<{{ inputs.unset }}>", "<>"),
            ("{{ if .inputs.a }}yes{{ else }}no{{ end }}", "yes"),
            ("{{ if .inputs.unset }}yes{{ else }}no{{ end }}", "no"),
            ("{{ inputs.a | printf \"%q\" }}", "\"1\""),
            ("{{ .other }}", "<no value>"),
        ] {
            assert_eq!(Template::new(text).filled(&inputs).unwrap(), expected, "{text}");
        }
        for text in [
            "x {{ inputs.a",
            "{{ inputs.a }",
            "{{ a }}",
            "{{ inputs.a | upper }}",
            "{{- inputs.a }}",
        ] {
            let error = Template::new(text).filled(&inputs).unwrap_err().to_string();
            assert!(error.contains("invalid template"), "{text}: {error}");
        }
    }

    #[test]
    fn the_inputs_of_a_template_are_known() {
        for (text, expected) in [
            ("inputs.a", &[][..]),
            (
                "{{ inputs.a }} inputs.b {{if .inputs.c_1}}{{ .inputs.d }}{{end}}",
                &["a", "c_1", "d"],
            ),
            ("{{ .myinputs.a }}", &[]),
        ] {
            assert_eq!(Template::new(text).inputs().collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
