//! Contracts: the required content of an attestation, and the attached policies and groups.
//!
//! The materials and policies of a contract are a group's, with the contract's name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rego_platform::Error;
use rego_platform_client::text::escape;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::attachment::{Attached, AttachmentReader, AttachmentYaml, rename};
use super::fields::{is_name, kind, name, or_default, typed_as};
use super::file::{DocumentFile, Located, Placed};
use super::group::{self, ByContract, GroupMaterial, PolicyGroup};
use super::inputs::Inputs;
use super::modules::{Elsewhere, document};
use super::policy::Metadata;
use super::template::Template;
use crate::report::model::Source;

/// The supported version of a contract, and of the older format.
const VERSION: &str = "chainloop.dev/v1";
const OLDER_VERSION: &str = "v1";

/// A contract in its newer form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ContractYaml {
    #[serde(alias = "api_version")]
    api_version: Located<String>,
    kind: Located<String>,
    metadata: Metadata,
    spec: Spec,
}

/// The members that distinguish the formats.
#[derive(Deserialize)]
struct FormatMembers {
    #[serde(rename = "schemaVersion", alias = "schema_version")]
    schema_version: Option<Located<String>>,
}

/// The specification of a contract. In the older format, it is the entire document.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "members that a gate doesn't need")]
struct Spec {
    #[serde(rename = "schemaVersion", alias = "schema_version")]
    schema_version: Option<Located<String>>,
    #[serde(default, deserialize_with = "or_default")]
    materials: Vec<Located<MaterialYaml>>,
    #[serde(default, deserialize_with = "or_default")]
    policies: Policies,
    #[serde(default, alias = "policy_groups", deserialize_with = "or_default")]
    policy_groups: Vec<Located<GroupAttachment>>,
    /// The following members configure the run that creates the attestation.
    #[serde(alias = "env_allow_list")]
    env_allow_list: Option<Vec<String>>,
    runner: Option<IgnoredAny>,
    annotations: Option<Vec<AnnotationYaml>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "members that a gate doesn't need")]
struct AnnotationYaml {
    name: String,
    value: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "members that a gate doesn't need")]
struct MaterialYaml {
    #[serde(rename = "type", deserialize_with = "kind")]
    kind: Option<String>,
    #[serde(deserialize_with = "name")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    optional: bool,
    #[serde(default, deserialize_with = "or_default")]
    group: String,
    /// The following members configure the attestation.
    output: Option<bool>,
    annotations: Option<Vec<AnnotationYaml>>,
    #[serde(alias = "skip_upload")]
    skip_upload: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Policies {
    #[serde(default, deserialize_with = "or_default")]
    materials: Vec<Located<AttachmentYaml>>,
    #[serde(default, deserialize_with = "or_default")]
    attestation: Vec<Located<AttachmentYaml>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GroupAttachment {
    #[serde(rename = "ref")]
    reference: Located<String>,
    #[serde(default, deserialize_with = "or_default")]
    with: BTreeMap<String, Located<Template>>,
    #[serde(default, deserialize_with = "or_default")]
    skip: Vec<String>,
    /// Blocking of violations in the vendor's client. In a gate, violations always block.
    #[serde(rename = "gate")]
    _gate: Option<bool>,
}

/// Parses a contract: a group of its own materials and policies, and the groups that it attaches.
pub(crate) fn parse(
    file: DocumentFile<'_>,
    elsewhere: Elsewhere<'_>,
) -> Result<Vec<PolicyGroup>, Error> {
    let (contract, spec) = forms(file)?;
    let owner = format!("the contract `{}`", escape(&contract));
    let mut reader = AttachmentReader::new(file, elsewhere, &owner, None);
    let mut materials = required(file, spec.materials)?;
    for mut attached in reader.attached(spec.policies.materials)? {
        let selector = attached.selector.take().unwrap_or_default();
        refuse_aimless(&attached, &selector.name)?;
        let name = Some(selector.name).filter(|name| !name.is_empty());
        materials.push(GroupMaterial {
            name: name.map(|name| attached.placed(Template::new(name))),
            is_prefix: selector.match_mode,
            optional: true,
            attached: vec![attached],
            ..GroupMaterial::default()
        });
    }
    materials.extend(GroupMaterial::of_attestations(reader.attached(spec.policies.attestation)?));
    let sources = reader.sources;
    let mut all: Vec<_> = materials.iter_mut().flat_map(|one| &mut one.attached).collect();
    rename(&contract, &mut all);
    let own = PolicyGroup {
        version: None,
        name: contract,
        path: file.path.to_owned(),
        inputs: Inputs::new(Vec::new(), file)?,
        materials,
        sources,
        contract: Some(ByContract::default()),
    };
    let mut groups = vec![own];
    for attachment in spec.policy_groups {
        groups.push(attached_group(file, attachment, elsewhere)?);
    }
    Ok(groups)
}

/// Returns a contract's name and specification.
fn forms(file: DocumentFile<'_>) -> Result<(String, Spec), Error> {
    let what = "contract";
    let unknown = |version: Placed<String>, expected: &str| {
        let message =
            format!("unknown version `{}`: expected `{expected}`", escape(&version.value));
        Err(version.refused(message, None))
    };
    if typed_as::<FormatMembers>(file, what)?.schema_version.is_some() {
        let spec: Spec = typed_as(file, what)?;
        return match spec.schema_version.as_ref().map(|version| file.placed(version.clone())) {
            Some(version) if version.value != OLDER_VERSION => unknown(version, OLDER_VERSION),
            _ => {
                let stem = Path::new(file.path).file_stem().and_then(|stem| stem.to_str());
                Ok((stem.unwrap_or(what).to_owned(), spec))
            }
        };
    }
    let ContractYaml { api_version, kind, metadata, spec } = typed_as(file, what)?;
    let (version, kind) = (file.placed(api_version), file.placed(kind));
    if kind.value != "Contract" {
        let hint = "give policies and policy groups as policies";
        return Err(kind.refused("unexpected kind: expected `Contract`", Some(hint)));
    }
    if version.value != VERSION {
        return unknown(version, VERSION);
    }
    match spec.schema_version {
        Some(version) => Err(file.placed(version).refused("unknown member `schemaVersion`", None)),
        None => Ok((metadata.name, spec)),
    }
}

/// Returns the materials that a contract requires.
fn required(
    file: DocumentFile<'_>,
    all: Vec<Located<MaterialYaml>>,
) -> Result<Vec<GroupMaterial>, Error> {
    let mut names = BTreeSet::new();
    let mut found = Vec::new();
    for material in all {
        let Placed { value: material, at } = file.placed(material);
        let place = Placed { value: (), at };
        let shown = escape(&material.name);
        if material.kind.is_none() {
            return Err(place.refused(format!("missing `type` of the material `{shown}`"), None));
        }
        if !material.group.is_empty() && !is_name(&material.group) {
            let group = escape(&material.group);
            let message = format!("invalid name of a material group: `{group}`");
            let hint = "use lowercase letters and digits, with hyphens inside";
            return Err(place.refused(message, Some(hint)));
        }
        if !names.insert(material.name.clone()) {
            return Err(place.refused(format!("duplicate material `{shown}`"), None));
        }
        let any_of = Some(material.group).filter(|group| !group.is_empty());
        found.push(GroupMaterial {
            name: Some(Placed { value: Template::new(material.name), at: place.at }),
            kind: material.kind,
            optional: material.optional || any_of.is_some(),
            any_of,
            ..GroupMaterial::default()
        });
    }
    Ok(found)
}

/// Refuses a policy without a kind or selector: the vendor's client would never evaluate it.
fn refuse_aimless(attached: &Attached, selector: &str) -> Result<(), Error> {
    if !selector.is_empty() || attached.document.entries.iter().any(|entry| entry.kind.is_some()) {
        return Ok(());
    }
    let policy = escape(&attached.policy);
    let message = format!("policy never evaluated: `{policy}` has neither a kind nor a `selector`");
    let hint = "add `selector: {name: MATERIAL}`";
    Err(attached.placed(()).refused(message, Some(hint)))
}

fn attached_group(
    file: DocumentFile<'_>,
    attachment: Located<GroupAttachment>,
    elsewhere: Elsewhere<'_>,
) -> Result<PolicyGroup, Error> {
    let attachment = attachment.value;
    let reference = file.placed(attachment.reference);
    let (path, text, digest) = document(file.path, &reference.value, elsewhere)
        .map_err(|error| reference.placing(error))?;
    let mut found = group::parse(DocumentFile { path: &path, text: &text }, elsewhere)?;
    found.sources.push(Source { path, digest });
    let mut with = BTreeMap::new();
    for (name, text) in attachment.with {
        let text = file.placed(text);
        if !found.inputs.is_empty() && !found.inputs.names().any(|own| own == name) {
            let (group, shown) = (escape(&found.name), escape(&name));
            let message = format!("undeclared input of the group `{group}`: `{shown}`");
            return Err(text.refused(message, Some(&found.inputs.hint(&name))));
        }
        if text.value.has_actions() {
            let message = "template not supported here: a contract binds no inputs";
            return Err(text.refused(message, Some("write the value")));
        }
        with.insert(name, text.value.as_written().to_owned());
    }
    found.contract = Some(ByContract { with, skip: attachment.skip });
    Ok(found)
}
