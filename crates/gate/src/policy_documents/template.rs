//! Templates in groups of policies: texts in which `{{ inputs.NAME }}` stands for an input of the group.

use std::collections::BTreeMap;

use rego_platform_client::text::escape;
use serde::de::{Deserialize, Deserializer, Error as _};

/// A text with references to a group's inputs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Template(Vec<Part>);

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Input(String),
}

impl Template {
    /// Parses a text; an error is the message.
    fn parse(text: &str) -> Result<Self, String> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((inner, behind)) = after.split_once("}}") else {
                let begun = escape(after.trim());
                return Err(format!("the template `{{{{ {begun}` isn't closed: it ends in `}}}}`"));
            };
            let inner = inner.trim();
            let name = inner.strip_prefix('.').unwrap_or(inner).strip_prefix("inputs.");
            let Some(name) = name.filter(|name| is_name(name)) else {
                let inner = escape(inner);
                return Err(format!(
                    "the template `{{{{ {inner} }}}}` isn't of the form `{{{{ inputs.NAME }}}}`"
                ));
            };
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Input(name.to_owned()));
            rest = behind;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// Returns the names of the inputs that it refers to.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Input(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Returns its text with these inputs; one without a value is empty.
    pub fn filled(&self, inputs: &BTreeMap<String, String>) -> String {
        let texts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Input(name) => inputs.get(name).map_or("", String::as_str),
        });
        texts.collect()
    }
}

/// Returns `true` for the name that an input can have.
fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn templates_are_filled() {
        let inputs = BTreeMap::from([("a", "1"), ("b_2", "{{ inputs.a }}")]);
        let inputs = inputs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        for (text, expected) in [
            ("", ""),
            ("a }} b", "a }} b"),
            ("{{inputs.a}}@{{ .inputs.b_2\n}}.", "1@{{ inputs.a }}."),
            ("<{{ inputs.unset }}>", "<>"),
        ] {
            assert_eq!(Template::parse(text).unwrap().filled(&inputs), expected);
        }
        for (text, says) in [
            ("x {{ inputs.a", "the template `{{ inputs.a` isn't closed"),
            ("{{ inputs.a }", "isn't closed"),
            ("{{ a }}", "the template `{{ a }}` isn't of the form `{{ inputs.NAME }}`"),
            ("{{ inputs.a | upper }}", "isn't of the form"),
            ("{{- inputs.a }}", "isn't of the form"),
            ("{{ inputs. }}", "isn't of the form"),
            ("{{ inputs.1 }}", "isn't of the form"),
        ] {
            let error = Template::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
