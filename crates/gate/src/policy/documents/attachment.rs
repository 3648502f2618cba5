//! Attachments of policy documents in groups and contracts, and their arguments.

use std::collections::BTreeMap;

use rego_platform::Error;
use rego_platform::rego::Value;
use rego_platform_client::text::escape;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::fields::or_default;
use super::file::{DocumentFile, Located, Placed};
use super::inputs::Inputs;
use super::modules::{Elsewhere, document};
use super::policy::{self, PolicyDocument, PolicyYaml, of_yaml, values};
use super::runtime::PolicyInputs;
use super::template::Template;
use crate::report::model::Source;
use crate::setting;

/// A policy document attached by a group. Its name follows the group's name.
#[derive(Debug)]
pub(crate) struct Attached {
    pub document: PolicyDocument,
    /// The document's own name.
    pub policy: String,
    /// The reference to the document, if it isn't embedded.
    pub reference: Option<String>,
    /// The material that a contract selects. In a group, the enclosing material applies.
    pub selector: Option<Selector>,
    with: Placed<BTreeMap<String, Placed<Template>>>,
}

/// The material that a policy is for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Selector {
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, alias = "match_mode", deserialize_with = "is_prefix")]
    pub match_mode: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "members that a gate doesn't need")]
pub(crate) struct AttachmentYaml {
    #[serde(rename = "ref")]
    reference: Option<Located<String>>,
    pub(super) embedded: Option<PolicyYaml>,
    #[serde(default, deserialize_with = "or_default")]
    with: BTreeMap<String, Located<Template>>,
    selector: Option<Selector>,
    /// Blocking of violations in the vendor's engine. In a gate, violations always block.
    gate: Option<bool>,
    /// Ignored: the vendor's engine evaluates disabled policies too.
    disabled: Option<bool>,
    /// Requirements for the service, unused here.
    requirements: Option<Vec<Requirement>>,
}

/// The name of a requirement: `[ORGANIZATION/]FRAMEWORK/NAME[@VERSION]`.
struct Requirement;

impl<'de> Deserialize<'de> for Requirement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (path, version) = match text.split_once('@') {
            Some((path, version)) => (path, Some(version)),
            None => (text.as_str(), None),
        };
        let is_part = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
        let is_organization = |part: &str| {
            let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            !part.is_empty() && part.chars().all(allowed)
        };
        let parts: Vec<_> = path.split('/').collect();
        let is_path = match parts.as_slice() {
            [framework, name] => is_part(framework) && is_part(name),
            [organization, framework, name] => {
                is_organization(organization) && is_part(framework) && is_part(name)
            }
            _ => false,
        };
        if is_path && version.is_none_or(|version| is_part(version) && !version.contains('@')) {
            return Ok(Self);
        }
        let text = escape(&text);
        Err(D::Error::custom(format!(
            "invalid requirement `{text}`: expected `[ORGANIZATION/]FRAMEWORK/NAME[@VERSION]`"
        )))
    }
}

/// Reads how a name is matched; `true` for the beginnings of names.
pub(super) fn is_prefix<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Option::<String>::deserialize(deserializer)?.as_deref() {
        Some("PREFIX") => Ok(true),
        None | Some("EXACT" | "UNSPECIFIED") => Ok(false),
        Some(other) => {
            let other = escape(other);
            Err(D::Error::custom(format!("unknown mode `{other}`: expected `EXACT` or `PREFIX`")))
        }
    }
}

/// Names policies after their group, with a number for duplicate names.
pub(super) fn rename(group: &str, all: &mut [&mut Attached]) {
    let names: Vec<String> = all.iter().map(|one| one.document.name.clone()).collect();
    for (number, (one, name)) in (1..).zip(all.iter_mut().zip(&names)) {
        let is_only = names.iter().filter(|other| *other == name).count() == 1;
        let number = if is_only { String::new() } else { format!("/{number}") };
        one.document.name = format!("{group}/{name}{number}");
    }
}

/// A reader of the attachments in a file.
pub(super) struct AttachmentReader<'a> {
    file: DocumentFile<'a>,
    elsewhere: Elsewhere<'a>,
    /// The group or contract, as named in messages.
    owner: &'a str,
    /// The inputs that templates may refer to; a contract has none.
    inputs: Option<&'a Inputs>,
    /// The number of modules that were read.
    modules: usize,
    /// The documents to which it refers.
    pub sources: Vec<Source>,
}

impl<'a> AttachmentReader<'a> {
    pub fn new(
        file: DocumentFile<'a>,
        elsewhere: Elsewhere<'a>,
        owner: &'a str,
        inputs: Option<&'a Inputs>,
    ) -> Self {
        Self { file, elsewhere, owner, inputs, modules: 0, sources: Vec::new() }
    }

    pub fn attached(&mut self, all: Vec<Located<AttachmentYaml>>) -> Result<Vec<Attached>, Error> {
        all.into_iter().map(|one| self.one(one)).collect()
    }

    fn one(&mut self, attachment: Located<AttachmentYaml>) -> Result<Attached, Error> {
        let Placed { value: attachment, at } = self.file.placed(attachment);
        let place = Placed { value: (), at: at.clone() };
        let reference = attachment.reference.as_ref().map(|reference| reference.value.clone());
        let document = match (attachment.embedded, attachment.reference) {
            (Some(document), None) => {
                of_yaml(self.file, document, self.elsewhere, &mut self.modules)
                    .map_err(|error| place.placing(error))?
            }
            (None, Some(reference)) => {
                let reference = self.file.placed(reference);
                let (path, text, digest) =
                    document(self.file.path, &reference.value, self.elsewhere)
                        .map_err(|error| reference.placing(error))?;
                let parsed =
                    policy::parse(DocumentFile { path: &path, text: &text }, self.elsewhere)?;
                self.sources.push(Source { path, digest });
                parsed
            }
            _ => {
                let hint = "write either `ref` or `embedded`";
                let message = "invalid attachment: expected exactly one of `ref` and `embedded`";
                return Err(place.refused(message, Some(hint)));
            }
        };
        match self.inputs {
            Some(inputs) => document.inputs.refuse_unknown((self.owner, inputs))?,
            None => document.inputs.refuse_templates()?,
        }
        let with = attachment.with.into_iter();
        let with: BTreeMap<_, _> =
            with.map(|(name, text)| (name, self.file.placed(text))).collect();
        for (name, text) in &with {
            self.refuse_argument(&document, name, text)?;
        }
        Ok(Attached {
            policy: document.name.clone(),
            document,
            reference,
            selector: attachment.selector,
            with: Placed { value: with, at },
        })
    }

    fn refuse_argument(
        &self,
        document: &PolicyDocument,
        name: &str,
        text: &Placed<Template>,
    ) -> Result<(), Error> {
        match self.inputs {
            Some(inputs) => inputs.refuse_in(text, self.owner)?,
            None if text.value.has_actions() => {
                let message =
                    format!("template not supported here: {} binds no inputs", self.owner);
                return Err(text.refused(message, Some("write the value")));
            }
            None => {}
        }
        let policy = escape(&document.name);
        if document.inputs.is_empty() {
            return match text.value.inputs().next() {
                None => Ok(()),
                Some(_) => Err(text.refused(
                    format!("unfilled template: the policy `{policy}` declares no inputs"),
                    Some("declare the input in the policy's `spec.inputs`"),
                )),
            };
        }
        if document.inputs.names().any(|own| own == name) {
            return Ok(());
        }
        let message = format!("undeclared input of the policy `{policy}`: `{}`", escape(name));
        Err(text.refused(message, Some(&document.inputs.hint(name))))
    }
}

impl Attached {
    /// Returns the arguments, from the group's inputs and the inputs of this run.
    pub fn arguments(
        &self,
        bindings: &BTreeMap<String, String>,
        inputs: Option<&PolicyInputs>,
    ) -> Result<BTreeMap<String, Value>, Error> {
        let with = self.with.value.iter();
        let mut given: BTreeMap<String, String> =
            with.map(|(name, text)| (name.clone(), text.value.as_written().to_owned())).collect();
        if let Some(inputs) = inputs {
            inputs.apply(self.named(), &mut given);
        }
        let missing = |name: &str| {
            let policy = escape(&self.document.name);
            let message = format!("missing argument `{}` of the policy `{policy}`", escape(name));
            match self.with.value.get(name) {
                // Its text is empty as long as the group's input is.
                Some(text) => {
                    text.placing(Error::configuration(message).by_setting(setting::ARGUMENTS))
                }
                None => self.with.refused(message, Some("add the argument below `with`")),
            }
        };
        let texts = self.document.inputs.texts(&given, bindings, missing);
        texts.map(values).map_err(|error| self.with.placing(error))
    }

    /// Returns a value with the place of the attachment.
    pub fn placed<T>(&self, value: T) -> Placed<T> {
        Placed { value, at: self.with.at.clone() }
    }

    /// Returns the document's name, and the reference to it.
    pub fn named(&self) -> (&str, &str) {
        (&self.policy, self.reference.as_deref().unwrap_or_default())
    }
}
