//! Groups of policies: YAML files of `kind: PolicyGroup`, which attach policy documents to materials and to
//! attestations.
//!
//! Owns the format of the document, and the arguments that a group gives to its policies. Which inputs are
//! which material belongs to `materials`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rego_platform::rego::Value;
use rego_platform::{Error, ErrorKind};
use rego_platform_client::text::escape;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::fields::{kind, typed_as, version};
use super::inputs::{InputYaml, Inputs};
use super::material::{ATTESTATION, Material};
use super::modules::{Elsewhere, document};
use super::place::{Located, Place, Placed};
use super::policy::{self, EmbeddedYaml, Metadata, PolicyDocument, parse_embedded, values};
use super::template::Template;
use crate::model::Source;
use crate::setting;

/// A group of policies.
#[derive(Debug)]
pub(crate) struct PolicyGroup {
    pub name: String,
    pub path: String,
    pub inputs: Inputs,
    pub materials: Vec<GroupMaterial>,
    /// The documents to which it refers.
    pub sources: Vec<Source>,
}

/// The policies for a material, or for attestations.
#[derive(Debug)]
pub(crate) struct GroupMaterial {
    name: Template,
    kind: Option<String>,
    is_prefix: bool,
    optional: bool,
    is_attestation: bool,
    pub attached: Vec<Attached>,
}

/// A policy document as a group attaches it: its name follows that of the group.
#[derive(Debug)]
pub(crate) struct Attached {
    pub document: PolicyDocument,
    with: Placed<BTreeMap<String, Placed<Template>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GroupYaml {
    #[serde(rename = "apiVersion", deserialize_with = "version")]
    _version: (),
    #[serde(rename = "kind")]
    _kind: IgnoredAny,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    #[serde(default)]
    inputs: Vec<InputYaml>,
    policies: Policies,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Policies {
    #[serde(default)]
    materials: Vec<MaterialYaml>,
    #[serde(default)]
    attestation: Vec<Located<Attachment>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MaterialYaml {
    #[serde(rename = "type", default, deserialize_with = "kind")]
    kind: Option<String>,
    name: Option<Located<Template>>,
    #[serde(default)]
    optional: bool,
    #[serde(default, alias = "match_mode", deserialize_with = "is_prefix")]
    match_mode: bool,
    #[serde(default)]
    policies: Vec<Located<Attachment>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Attachment {
    #[serde(rename = "ref")]
    reference: Option<Located<String>>,
    embedded: Option<EmbeddedYaml>,
    #[serde(default)]
    with: BTreeMap<String, Located<Template>>,
    /// Whether its violations block is for the vendor's engine: those of a gate always do.
    #[serde(rename = "gate")]
    _gate: Option<bool>,
    /// The vendor's engine evaluates it nevertheless.
    #[serde(rename = "disabled")]
    _disabled: Option<bool>,
    /// For the service.
    #[serde(rename = "requirements")]
    _requirements: Option<IgnoredAny>,
}

fn is_prefix<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "PREFIX" => Ok(true),
        "EXACT" | "UNSPECIFIED" => Ok(false),
        other => {
            let other = escape(other);
            Err(D::Error::custom(format!("the mode `{other}` is neither `EXACT` nor `PREFIX`")))
        }
    }
}

/// Parses a group.
pub(crate) fn parse(file: Place<'_>, elsewhere: Elsewhere<'_>) -> Result<PolicyGroup, Error> {
    let GroupYaml { metadata, spec, .. } = typed_as::<GroupYaml>(file, "group of policies")?;
    let inputs = Inputs::new(spec.inputs, file)?;
    inputs.refuse_templates()?;
    let mut reader = Reader {
        file,
        elsewhere,
        group: &metadata.name,
        inputs: &inputs,
        modules: 0,
        sources: Vec::new(),
    };
    let mut materials = Vec::new();
    for material in spec.policies.materials {
        let name = material.name.map(|name| file.placed(name));
        if let Some(name) = &name {
            inputs.refuse_in(name, &metadata.name)?;
            if material.kind.is_none() {
                let hint = "`type` is the kind of the input that it is";
                return Err(name.refused("a material with a name lacks its `type`", Some(hint)));
            }
        }
        materials.push(GroupMaterial {
            name: name.map(|name| name.value).unwrap_or_default(),
            kind: material.kind,
            is_prefix: material.match_mode,
            optional: material.optional,
            is_attestation: false,
            attached: reader.attached(material.policies)?,
        });
    }
    if !spec.policies.attestation.is_empty() {
        materials.push(GroupMaterial {
            name: Template::default(),
            kind: Some(ATTESTATION.to_owned()),
            is_prefix: false,
            optional: true,
            is_attestation: true,
            attached: reader.attached(spec.policies.attestation)?,
        });
    }
    let sources = reader.sources;
    if materials.iter().all(|material| material.attached.is_empty()) {
        let shown = escape(file.path);
        let message = format!("{shown}: the group attaches no policy: it would always pass");
        return Err(Error::new(ErrorKind::Configuration, message));
    }
    let mut all: Vec<_> = materials.iter_mut().flat_map(|one| &mut one.attached).collect();
    rename(&metadata.name, &mut all);
    Ok(PolicyGroup { name: metadata.name, path: file.path.to_owned(), inputs, materials, sources })
}

/// Names policies after their group, and by their number where the group attaches several of one name.
fn rename(group: &str, all: &mut [&mut Attached]) {
    let names: Vec<String> = all.iter().map(|one| one.document.name.clone()).collect();
    for (number, (one, name)) in (1..).zip(all.iter_mut().zip(&names)) {
        let is_only = names.iter().filter(|other| *other == name).count() == 1;
        let number = if is_only { String::new() } else { format!("/{number}") };
        one.document.name = format!("{group}/{name}{number}");
    }
}

/// Reads what the file of a group attaches.
struct Reader<'a> {
    file: Place<'a>,
    elsewhere: Elsewhere<'a>,
    group: &'a str,
    inputs: &'a Inputs,
    /// The number of modules that were read.
    modules: usize,
    sources: Vec<Source>,
}

impl Reader<'_> {
    fn attached(&mut self, all: Vec<Located<Attachment>>) -> Result<Vec<Attached>, Error> {
        all.into_iter().map(|one| self.one(one)).collect()
    }

    fn one(&mut self, attachment: Located<Attachment>) -> Result<Attached, Error> {
        let Placed { value: attachment, at } = self.file.placed(attachment);
        let place = Placed { value: (), at: at.clone() };
        let document = match (attachment.embedded, attachment.reference) {
            (Some(document), None) => {
                parse_embedded(self.file, document, self.elsewhere, &mut self.modules)
                    .map_err(|error| place.placing(error))?
            }
            (None, Some(reference)) => {
                let reference = self.file.placed(reference);
                let (path, text, digest) =
                    document(self.file.path, &reference.value, self.elsewhere)
                        .map_err(|error| reference.placing(error))?;
                let parsed = policy::parse(Place { path: &path, text: &text }, self.elsewhere)?;
                self.sources.push(Source { path, digest });
                parsed
            }
            _ => {
                let hint = "`ref` names a policy document, `embedded` is one";
                let message = "the attachment has not exactly one of `ref` and `embedded`";
                return Err(place.refused(message, Some(hint)));
            }
        };
        document.inputs.refuse_unknown((self.group, self.inputs))?;
        let with = attachment.with.into_iter();
        let with: BTreeMap<_, _> =
            with.map(|(name, text)| (name, self.file.placed(text))).collect();
        for (name, text) in &with {
            self.refuse_argument(&document, name, text)?;
        }
        Ok(Attached { document, with: Placed { value: with, at } })
    }

    fn refuse_argument(
        &self,
        document: &PolicyDocument,
        name: &str,
        text: &Placed<Template>,
    ) -> Result<(), Error> {
        self.inputs.refuse_in(text, self.group)?;
        let policy = escape(&document.name);
        if document.inputs.is_empty() {
            return match text.value.inputs().next() {
                None => Ok(()),
                Some(_) => Err(text.refused(
                    format!("the policy `{policy}` declares no inputs: the template isn't filled"),
                    Some("declare the input in the policy's `spec.inputs`"),
                )),
            };
        }
        if document.inputs.names().any(|own| own == name) {
            return Ok(());
        }
        let message = format!("the policy `{policy}` declares no input `{}`", escape(name));
        Err(text.refused(message, Some(&document.inputs.hint(name))))
    }
}

impl PolicyGroup {
    /// Returns the texts of its inputs: those of the given ones that it takes, and its defaults.
    pub fn texts(
        &self,
        given: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Error> {
        self.inputs.texts(given, &BTreeMap::new(), |name| {
            let (name, group) = (escape(name), escape(&self.name));
            let message = format!("the group `{group}` needs the argument `{name}`");
            Error::new(ErrorKind::Configuration, message).by_setting(setting::ARGUMENTS)
        })
    }

    pub fn attached(&self) -> impl Iterator<Item = &Attached> {
        self.materials.iter().flat_map(|material| &material.attached)
    }

    /// Returns the files of the documents to which it refers.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let files = self.sources.iter().map(|source| PathBuf::from(&source.path).canonicalize());
        files.flatten().collect()
    }
}

impl GroupMaterial {
    /// Returns the material with the texts of the group's inputs.
    pub fn filled(&self, group: &PolicyGroup, inputs: &BTreeMap<String, String>) -> Material {
        let name = Some(self.name.filled(inputs)).filter(|name| !name.is_empty());
        // As in the vendor's engine, the type of a material without a name doesn't matter.
        let kind = self.kind.clone().filter(|_| name.is_some() || self.is_attestation);
        Material {
            group: group.name.clone(),
            name,
            is_prefix: self.is_prefix,
            kind,
            optional: self.optional,
        }
    }
}

impl Attached {
    /// Returns its arguments, with the texts of the group's inputs.
    pub fn arguments(
        &self,
        inputs: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Value>, Error> {
        let with = self.with.value.iter();
        let given: BTreeMap<String, String> =
            with.map(|(name, text)| (name.clone(), text.value.filled(inputs))).collect();
        let missing = |name: &str| {
            let policy = escape(&self.document.name);
            let message = format!("the policy `{policy}` needs the argument `{}`", escape(name));
            match self.with.value.get(name) {
                // Its text is empty as long as the group's input is.
                Some(text) => text.placing(
                    Error::new(ErrorKind::Configuration, message).by_setting(setting::ARGUMENTS),
                ),
                None => self.with.refused(message, Some("write it below `with`")),
            }
        };
        Ok(values(self.document.inputs.texts(&given, inputs, missing)?))
    }
}
