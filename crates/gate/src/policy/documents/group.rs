//! Groups of policies: YAML files of `kind: PolicyGroup`, which attach policy documents to materials and to
//! attestations.
//!
//! Owns the format of the document. Attachments belong to `attachment`, which inputs are which material to
//! `materials`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rego_platform::Error;
use rego_platform_client::text::escape;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::attachment::{Attached, AttachmentReader, AttachmentYaml, is_prefix, rename};
use super::fields::{kind, or_default, typed_as};
use super::file::{DocumentFile, Located, Placed};
use super::inputs::{InputYaml, Inputs};
use super::modules::Elsewhere;
use super::policy::{Metadata, PolicyYaml};
use super::template::Template;
use crate::input::{ATTESTATION, Material};
use crate::report::model::Source;
use crate::setting;

/// A policy group.
#[derive(Debug)]
pub(crate) struct PolicyGroup {
    /// The version of the document; none for policies that a contract attaches directly.
    pub version: Option<Placed<String>>,
    pub name: String,
    pub path: String,
    pub inputs: Inputs,
    pub materials: Vec<GroupMaterial>,
    /// The documents that the group refers to.
    pub sources: Vec<Source>,
    /// The settings of the contract that attaches the group, if any.
    pub contract: Option<ByContract>,
}

/// The settings of a contract for an attached group.
#[derive(Debug, Default)]
pub(crate) struct ByContract {
    /// The texts of the group's inputs.
    pub with: BTreeMap<String, String>,
    /// The policies that aren't evaluated.
    pub skip: Vec<String>,
}

/// The policies for a material, or for attestations.
#[derive(Debug, Default)]
pub(crate) struct GroupMaterial {
    pub name: Option<Placed<Template>>,
    pub kind: Option<String>,
    pub is_prefix: bool,
    pub optional: bool,
    /// A name that several materials have, of which an input has to be one.
    pub any_of: Option<String>,
    pub is_attestation: bool,
    pub attached: Vec<Attached>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GroupYaml {
    #[serde(alias = "api_version")]
    api_version: Located<String>,
    #[serde(rename = "kind")]
    _kind: IgnoredAny,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    #[serde(default, deserialize_with = "or_default")]
    inputs: Vec<InputYaml>,
    #[serde(default, deserialize_with = "or_default")]
    policies: Policies,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Policies {
    #[serde(default, deserialize_with = "or_default")]
    materials: Vec<MaterialYaml>,
    #[serde(default, deserialize_with = "or_default")]
    attestation: Vec<Located<AttachmentYaml>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MaterialYaml {
    #[serde(rename = "type", default, deserialize_with = "kind")]
    kind: Option<String>,
    name: Option<Located<Template>>,
    #[serde(default, deserialize_with = "or_default")]
    optional: bool,
    #[serde(default, alias = "match_mode", deserialize_with = "is_prefix")]
    match_mode: bool,
    #[serde(default, deserialize_with = "or_default")]
    policies: Vec<Located<AttachmentYaml>>,
}

/// Returns the embedded modules of a group.
pub(super) fn embedded(file: DocumentFile<'_>) -> Result<Vec<Located<String>>, Error> {
    let group: GroupYaml = typed_as(file, "policy group")?;
    let Policies { materials, attestation } = group.spec.policies;
    let of_materials = materials.into_iter().flat_map(|material| material.policies);
    let all = of_materials.chain(attestation).filter_map(|own| own.value.embedded);
    Ok(all.flat_map(PolicyYaml::embedded).collect())
}

/// Parses a group.
pub(crate) fn parse(
    file: DocumentFile<'_>,
    elsewhere: Elsewhere<'_>,
) -> Result<PolicyGroup, Error> {
    let GroupYaml { api_version, metadata, spec, .. } = typed_as(file, "policy group")?;
    let inputs = Inputs::new(spec.inputs, file)?;
    inputs.refuse_templates()?;
    let owner = format!("the group `{}`", escape(&metadata.name));
    let mut reader = AttachmentReader::new(file, elsewhere, &owner, Some(&inputs));
    let mut materials = Vec::new();
    for material in spec.policies.materials {
        let name = material.name.filter(|name| !name.value.is_empty());
        let name = name.map(|name| file.placed(name));
        if let Some(name) = &name {
            inputs.refuse_in(name, &owner)?;
            if material.kind.is_none() {
                let hint = "set `type` to the kind of the input";
                return Err(name.refused("missing `type` of a named material", Some(hint)));
            }
        }
        materials.push(GroupMaterial {
            name,
            kind: material.kind,
            is_prefix: material.match_mode,
            optional: material.optional,
            attached: reader.attached(material.policies)?,
            ..GroupMaterial::default()
        });
    }
    materials.extend(GroupMaterial::of_attestations(reader.attached(spec.policies.attestation)?));
    let sources = reader.sources;
    if materials.iter().all(|material| material.attached.is_empty()) {
        let shown = escape(file.path);
        let message = format!("{shown}: policy group without policies");
        return Err(Error::configuration(message));
    }
    let mut all: Vec<_> = materials.iter_mut().flat_map(|one| &mut one.attached).collect();
    rename(&metadata.name, &mut all);
    Ok(PolicyGroup {
        version: Some(file.placed(api_version)),
        name: metadata.name,
        path: file.path.to_owned(),
        inputs,
        materials,
        sources,
        contract: None,
    })
}

impl PolicyGroup {
    /// Returns the values of the declared inputs: the given ones and defaults. A contract that attaches the
    /// group gives them.
    pub fn texts(
        &self,
        given: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Error> {
        let given = self.contract.as_ref().map_or(given, |contract| &contract.with);
        self.inputs.texts(given, &BTreeMap::new(), |name| {
            let (name, group) = (escape(name), escape(&self.name));
            let message = format!("missing argument `{name}` of the group `{group}`");
            let error = Error::configuration(message);
            match self.contract {
                Some(_) => error.with_hint("add the argument below `with` in the contract"),
                None => error.by_setting(setting::ARGUMENTS),
            }
        })
    }

    /// Returns `true` for the materials and policies of a contract itself.
    pub fn is_contract(&self) -> bool {
        self.version.is_none()
    }

    /// Returns `true` if the contract skips a policy of this name.
    pub fn skips(&self, policy: &str) -> bool {
        self.contract.as_ref().is_some_and(|contract| contract.skip.iter().any(|own| own == policy))
    }

    pub fn attached(&self) -> impl Iterator<Item = &Attached> {
        self.materials.iter().flat_map(|material| &material.attached)
    }

    /// Returns the files of the documents that the group refers to.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let files = self.sources.iter().map(|source| PathBuf::from(&source.path).canonicalize());
        files.flatten().collect()
    }
}

impl GroupMaterial {
    /// Returns the material of attestations with its policies, if any.
    pub fn of_attestations(attached: Vec<Attached>) -> Option<Self> {
        let kind = Some(ATTESTATION.to_owned());
        let own = Self { kind, optional: true, is_attestation: true, attached, ..Self::default() };
        (!own.attached.is_empty()).then_some(own)
    }

    /// Returns the material with the values of the group's inputs.
    pub fn filled(
        &self,
        group: &PolicyGroup,
        inputs: &BTreeMap<String, String>,
    ) -> Result<Material, Error> {
        let fill = |name: &Placed<Template>| {
            name.value.filled(inputs).map_err(|error| name.placing(error))
        };
        let name = self.name.as_ref().map(fill).transpose()?.filter(|name| !name.is_empty());
        // As in the vendor's client, the type of a material without a name doesn't matter.
        let kind = self.kind.clone().filter(|_| name.is_some() || self.is_attestation);
        Ok(Material {
            group: group.name.clone(),
            name,
            is_prefix: self.is_prefix,
            kind,
            optional: self.optional,
            any_of: self.any_of.clone(),
        })
    }
}
