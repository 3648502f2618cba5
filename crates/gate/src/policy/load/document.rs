//! Loads policy documents and groups, and the packages of their modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rego_platform::evaluate::Policies;
use rego_platform::load::position;
use rego_platform::load::roles::PackageOrigin;
use rego_platform::rego::Value;
use rego_platform::sources::{Gathered, Sources};
use rego_platform::{Diagnostic, Error, Product};
use rego_platform_client::files::bounded;
use rego_platform_client::text::{data_reference, escape};
use serde::Deserialize;

use super::closed::refuse_undeclared;
use super::{Check, Gate, GateOptions, NOT_CHOSEN, SKIPPED};
use crate::input::{ATTESTATION, Material};
use crate::policy::annotations::describe;
use crate::policy::documents::{
    Attached, DocumentFile, Elsewhere, PolicyDocument, PolicyEntry, PolicyGroup, PolicyInputs,
    parse_contract, parse_group, parse_policy, refuse_version, typed_as,
};
use crate::policy::packages;
use crate::policy::reach::{Names, Reach};
use crate::report::model::Source;

/// A file of one or more policies.
#[derive(Debug)]
pub(super) enum Document {
    Policy(PolicyDocument),
    Group(PolicyGroup),
}

#[derive(Deserialize)]
struct OfKind {
    kind: Kind,
}

#[derive(Deserialize)]
enum Kind {
    Policy,
    PolicyGroup,
}

/// The maximum size of a contract, in bytes.
const MAX_CONTRACT: u64 = 16 << 20;

/// The reason of policies that their contract skips.
const SKIPPED_BY_CONTRACT: &str = "skipped by the contract";

/// Moves policy documents out of the data, and reads the contract. A document to which a group or the contract
/// refers is evaluated as it says there, and not by itself.
pub(super) fn split_off_documents(
    gathered: &mut Gathered,
    contract: Option<&str>,
    elsewhere: Elsewhere<'_>,
) -> Result<Vec<Document>, Error> {
    let texts = gathered.take_policy_documents();
    let mut groups = contract.map_or(Ok(Vec::new()), |path| read_contract(path, elsewhere))?;
    let attached: Vec<_> = groups.iter().map(PolicyGroup::files).collect();
    let mut policies = Vec::new();
    let is_in = |all: &[BTreeSet<PathBuf>], path: &str| {
        let path = Path::new(path).canonicalize();
        path.is_ok_and(|path| all.iter().any(|files| files.contains(&path)))
    };
    for (path, text) in &texts {
        let file = DocumentFile { path, text };
        match typed_as::<OfKind>(file, "policy document")?.kind {
            Kind::Policy => policies.push(parse_policy(file, elsewhere)?),
            Kind::PolicyGroup if is_in(&attached, path) => {}
            Kind::PolicyGroup => groups.push(parse_group(file, elsewhere)?),
        }
    }
    let referred: Vec<_> = groups.iter().map(PolicyGroup::files).collect();
    policies.retain(|policy| !is_in(&referred, &policy.path));
    for policy in &policies {
        policy.inputs.refuse_templates()?;
    }
    let policies = policies.into_iter().map(Document::Policy);
    let documents: Vec<_> = policies.chain(groups.into_iter().map(Document::Group)).collect();
    let modules = documents.iter().flat_map(Document::entries).filter(|own| own.digest.is_some());
    let modules: BTreeSet<PathBuf> =
        modules.filter_map(|own| Path::new(own.module.path()).canonicalize().ok()).collect();
    // A module that a document names is evaluated as the document says, and not by itself.
    let is_named =
        |path: &str| Path::new(path).canonicalize().is_ok_and(|path| modules.contains(&path));
    gathered.files.modules.retain(|module| modules.is_empty() || !is_named(&module.path));
    Ok(documents)
}

fn read_contract(path: &str, elsewhere: Elsewhere<'_>) -> Result<Vec<PolicyGroup>, Error> {
    let failed = |error: std::io::Error| {
        Error::configuration(format!("can't read the contract `{}`", escape(path)))
            .with_source(error)
    };
    let bytes = bounded(Path::new(path), MAX_CONTRACT).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| failed(std::io::Error::other(error)))?;
    parse_contract(DocumentFile { path, text: &text }, elsewhere)
}

impl Document {
    /// Returns the policies.
    fn policies(&self) -> Vec<&PolicyDocument> {
        match self {
            Self::Policy(policy) => vec![policy],
            Self::Group(group) => group.attached().map(|attached| &attached.document).collect(),
        }
    }

    /// Refuses versions that don't belong to a product.
    pub fn refuse_versions(&self, product: &Product) -> Result<(), Error> {
        let own = match self {
            Self::Policy(_) => None,
            Self::Group(group) => group.version.as_ref(),
        };
        let policies = self.policies().into_iter().map(|policy| &policy.version);
        own.into_iter().chain(policies).try_for_each(|version| refuse_version(version, product))
    }

    /// Returns `true` if another document refers to this file, as a contract does to an attached group.
    pub fn is_recorded(&self) -> bool {
        match self {
            Self::Policy(_) => false,
            Self::Group(group) => group.sources.iter().any(|source| source.path == group.path),
        }
    }

    /// Returns the modules.
    pub fn entries(&self) -> impl Iterator<Item = &PolicyEntry> {
        self.policies().into_iter().flat_map(|policy| &policy.entries)
    }

    /// Returns the path of its file.
    pub fn path(&self) -> &str {
        match self {
            Self::Policy(policy) => &policy.path,
            Self::Group(group) => &group.path,
        }
    }

    /// Returns the document's name and the names of its policies.
    pub fn names(&self) -> Vec<String> {
        let group = match self {
            Self::Policy(_) => Vec::new(),
            Self::Group(group) => {
                let own = group.attached().map(|attached| attached.policy.clone());
                own.chain([group.name.clone()]).collect()
            }
        };
        let policies = self.policies().into_iter();
        let own =
            policies.flat_map(|policy| [vec![policy.name.clone()], policy.policy_names()].concat());
        group.into_iter().chain(own).collect()
    }

    /// Returns the names of the declared arguments.
    pub fn declared(&self) -> Vec<&str> {
        match self {
            Self::Policy(policy) => policy.inputs.names().collect(),
            Self::Group(group) if group.contract.is_some() => Vec::new(),
            Self::Group(group) => group.inputs.names().collect(),
        }
    }

    /// Returns `true` if the document uses an input for one run, for all policies or for one.
    pub fn takes(&self, inputs: &PolicyInputs, name: &str, policy: Option<&str>) -> bool {
        let takes = |document: &PolicyDocument, named: (&str, &str)| {
            let is_declared = document.inputs.is_empty()
                || document.inputs.names().any(|declared| declared == name);
            is_declared && inputs.has(name, policy, named)
        };
        match self {
            Self::Policy(document) => takes(document, (&document.name, "")),
            Self::Group(group) => standalone(group).any(|own| takes(&own.document, own.named())),
        }
    }
}

/// Returns the policies of a contract that get the inputs for one run. As in the vendor's client, policies of
/// groups and for the attestation don't.
fn standalone(group: &PolicyGroup) -> impl Iterator<Item = &Attached> {
    let own = group.materials.iter().filter(|own| group.is_contract() && !own.is_attestation);
    own.flat_map(|material| &material.attached)
}

/// The evaluation settings of a policy document.
struct How<'a> {
    arguments: BTreeMap<String, Value>,
    material: Option<&'a Material>,
    /// `true` if the document applies only to attestations.
    is_attestation: bool,
}

impl Gate {
    /// Loads the policies of a document. `chosen` are the names of those to evaluate; all if empty.
    pub(super) fn load_document(
        &mut self,
        document: &Document,
        chosen: &[String],
        options: &GateOptions,
    ) -> Result<(), Error> {
        let reason = |names: &[&str]| -> Option<&'static str> {
            let is = |given: &[String]| names.iter().any(|name| packages::is_chosen(given, name));
            if !chosen.is_empty() && !is(chosen) {
                Some(NOT_CHOSEN)
            } else {
                is(&options.skip).then_some(SKIPPED)
            }
        };
        match document {
            Document::Policy(policy) => {
                let how = || {
                    let arguments = policy.arguments(&options.arguments, &options.policy_inputs)?;
                    Ok(How { arguments, material: None, is_attestation: false })
                };
                self.load_policy(policy, |names| reason(names), options, how)?;
            }
            Document::Group(group) => {
                for source in &group.sources {
                    self.sources.push(source.clone());
                }
                let is_asked = document.names().iter().any(|name| reason(&[name]).is_none());
                let inputs =
                    if is_asked { group.texts(&options.arguments)? } else { BTreeMap::new() };
                for own in &group.materials {
                    let mut material = own.filled(group, &inputs)?;
                    let mut is_asked = own.attached.is_empty() && reason(&[&group.name]).is_none();
                    let is_attestation = own.is_attestation;
                    for attached in &own.attached {
                        let of_group = |names: &[&str]| {
                            if group.skips(&attached.policy) {
                                return Some(SKIPPED_BY_CONTRACT);
                            }
                            reason(&[names, &[&group.name, &attached.policy]].concat())
                        };
                        let given = Some(&options.policy_inputs)
                            .filter(|_| group.is_contract() && !is_attestation);
                        is_asked |=
                            self.load_policy(&attached.document, of_group, options, || {
                                let arguments = attached.arguments(&inputs, given)?;
                                Ok(How { arguments, material: Some(&material), is_attestation })
                            })?;
                    }
                    // Nothing is missing if none of its policies is evaluated by the caller's choice.
                    material.optional |= !is_asked;
                    self.materials.push(material);
                }
            }
        }
        Ok(())
    }

    /// Loads a policy document. `reason` says why a policy with these names isn't evaluated, if it isn't.
    /// Returns `false` if that holds for all of them.
    fn load_policy<'a>(
        &mut self,
        document: &PolicyDocument,
        reason: impl Fn(&[&str]) -> Option<&'static str>,
        options: &GateOptions,
        how: impl Fn() -> Result<How<'a>, Error>,
    ) -> Result<bool, Error> {
        let mut known = None;
        for (entry, name) in document.entries.iter().zip(document.policy_names()) {
            match reason(&[&document.name, &name]) {
                Some(SKIPPED) => self.record_skipped(name),
                Some(reason) => self.record_not_asked(name, reason),
                None => {
                    let how = match &mut known {
                        Some(how) => how,
                        None => known.insert(how()?),
                    };
                    self.load_entry(document, entry, name, how, options)?;
                }
            }
        }
        Ok(known.is_some())
    }

    fn load_entry(
        &mut self,
        document: &PolicyDocument,
        entry: &PolicyEntry,
        name: String,
        how: &How<'_>,
        options: &GateOptions,
    ) -> Result<(), Error> {
        self.refuse_same_name(document, &name)?;
        let of_attestation = how.is_attestation.then_some(ATTESTATION);
        let own = entry.kind.as_deref().or(of_attestation);
        let mut wanted = options.kind.as_deref().into_iter().chain(of_attestation);
        if let Some((other, wanted)) =
            own.and_then(|own| Some((own, wanted.find(|kind| *kind != own)?)))
        {
            self.record_not_asked(name, &format!("written for the kind `{other}`"));
            self.notes.push(format!(
                "the policy `{}` wasn't evaluated: expected the kind `{wanted}`, found `{other}`",
                document.name
            ));
            return Ok(());
        }
        let module = entry.module.source()?.clone();
        if let Some(digest) = entry.digest.clone() {
            self.sources.push(Source { path: module.path.clone(), digest });
        }
        let sources = Sources::new([module], []);
        let policies = self.load_policies(&sources, options, PackageOrigin::Document)?;
        self.note_calls(&policies);
        let reach = Reach::new(&policies);
        refuse_outside(&policies, &reach)?;
        refuse_undeclared(&policies, document)?;
        for mut asked in
            packages::verdict_packages(&policies, (&[], &[]), PackageOrigin::Document, &reach)?
        {
            asked.name.clone_from(&name);
            asked.any_field |= options.allow_warnings;
            asked.finding = document.finding;
            let (mut policy, notes) = describe(&asked, &policies);
            self.notes.extend(notes);
            policy.attestation_phases.clone_from(&entry.phases);
            policy.auto_match.clone_from(&document.auto_match);
            policy.finding_type = document.finding.map(|finding| finding.name.to_owned());
            policy.document = Some(document.name.clone());
            policy.api_version = Some(document.version.value.clone());
            policy.kind.clone_from(&entry.kind);
            policy.description = policy.description.or_else(|| document.description.clone());
            self.policies.push(policy);
            let mut check = Check::new(policies.clone(), asked, &how.arguments, options, &reach);
            check.context.metadata.document = true;
            if !document.inputs.is_empty() {
                // It gets no argument but those that it declares.
                check.reads.arguments = Names::default();
                let declared = document.inputs.names().map(str::to_owned);
                check.context.metadata.declared = Some(declared.collect());
            }
            check.kind = own.map(str::to_owned);
            check.material = how.material.cloned();
            // It is evaluated for inputs of its kind alone.
            let kind = &mut check.context.metadata.kind;
            *kind = kind.take().or_else(|| check.kind.clone());
            self.record_asked(&check);
            self.checks.push(check);
        }
        Ok(())
    }
}

/// Refuses a module with references that only other files could define.
fn refuse_outside(policies: &Policies, reach: &Reach) -> Result<(), Error> {
    let own = policies.packages().next().map(|package| package.path.clone());
    let Some((outside, span)) = reach.outside(own.as_deref().unwrap_or_default()) else {
        return Ok(());
    };
    let outside = escape(&data_reference(outside));
    let message = format!("reference outside of the policy document: `{outside}`");
    Err(Error::policy(vec![
        Diagnostic::error("alone", message)
            .with_hint("move the definition into the document's module, or load the module as Rego")
            .at(position(policies.program().sources(), span)),
    ]))
}
