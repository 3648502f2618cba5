//! Loading policy documents and groups of them: which there are, and the packages of their modules.

use std::collections::BTreeMap;

use rego_platform::evaluate::Policies;
use rego_platform::load::position;
use rego_platform::load::roles::PackageOrigin;
use rego_platform::rego::Value;
use rego_platform::sources::{Gathered, Sources};
use rego_platform::{Diagnostic, Error};
use rego_platform_client::text::{data_reference, escape};
use serde::Deserialize;

use super::{Check, Gate, GateOptions, NOT_CHOSEN, SKIPPED};
use crate::describe::describe;
use crate::model::Source;
use crate::packages;
use crate::policy_documents::{
    Elsewhere, Material, Place, PolicyDocument, PolicyEntry, PolicyGroup, parse_group,
    parse_policy, typed_as,
};
use crate::reach::Reach;

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

/// Moves policy documents out of the data. One to which a group refers is evaluated as the group says, and
/// not by itself.
pub(super) fn split_off_documents(
    gathered: &mut Gathered,
    elsewhere: Elsewhere<'_>,
) -> Result<Vec<Document>, Error> {
    let texts = std::mem::take(&mut gathered.policy_documents);
    gathered.files.data.retain(|source| !texts.contains_key(&source.path));
    let mut groups = Vec::new();
    let mut policies = Vec::new();
    for (path, text) in &texts {
        let file = Place { path, text };
        match typed_as::<OfKind>(file, "policy document")?.kind {
            Kind::Policy => policies.push(parse_policy(file, elsewhere)?),
            Kind::PolicyGroup => groups.push(parse_group(file, elsewhere)?),
        }
    }
    let referred: Vec<_> = groups.iter().map(PolicyGroup::files).collect();
    policies.retain(|policy| {
        let path = std::path::Path::new(&policy.path).canonicalize();
        !path.is_ok_and(|path| referred.iter().any(|files| files.contains(&path)))
    });
    for policy in &policies {
        policy.inputs.refuse_templates()?;
    }
    let policies = policies.into_iter().map(Document::Policy);
    Ok(policies.chain(groups.into_iter().map(Document::Group)).collect())
}

impl Document {
    /// Returns its policies.
    fn policies(&self) -> Vec<&PolicyDocument> {
        match self {
            Self::Policy(policy) => vec![policy],
            Self::Group(group) => group.attached().map(|attached| &attached.document).collect(),
        }
    }

    /// Returns its modules.
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

    /// Returns its name, and those of its policies.
    pub fn names(&self) -> Vec<String> {
        let group = match self {
            Self::Policy(_) => None,
            Self::Group(group) => Some(group.name.clone()),
        };
        let policies = self.policies().into_iter();
        let own =
            policies.flat_map(|policy| [vec![policy.name.clone()], policy.policy_names()].concat());
        group.into_iter().chain(own).collect()
    }

    /// Returns the names of the arguments that it takes from the gate's caller.
    pub fn declared(&self) -> Vec<&str> {
        match self {
            Self::Policy(policy) => policy.inputs.names().collect(),
            Self::Group(group) => group.inputs.names().collect(),
        }
    }
}

/// How a policy document is evaluated.
struct How<'a> {
    arguments: BTreeMap<String, Value>,
    material: Option<&'a Material>,
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
                let arguments = || policy.arguments(&options.arguments);
                self.load_policy(
                    policy,
                    |names| reason(names),
                    options,
                    || Ok(How { arguments: arguments()?, material: None }),
                )?;
            }
            Document::Group(group) => {
                for source in &group.sources {
                    self.sources.push(source.clone());
                }
                let is_asked = document.names().iter().any(|name| reason(&[name]).is_none());
                let inputs =
                    if is_asked { group.texts(&options.arguments)? } else { BTreeMap::new() };
                for own in &group.materials {
                    let mut material = own.filled(group, &inputs);
                    let mut is_asked = own.attached.is_empty() && reason(&[&group.name]).is_none();
                    for attached in &own.attached {
                        let of_group =
                            |names: &[&str]| reason(&[names, &[group.name.as_str()]].concat());
                        is_asked |=
                            self.load_policy(&attached.document, of_group, options, || {
                                let arguments = attached.arguments(&inputs)?;
                                Ok(How { arguments, material: Some(&material) })
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
        let of_material = how.material.and_then(|material| material.kind.as_ref());
        let kinds = [entry.kind.as_ref(), of_material];
        let wanted = options.kind.as_ref().or(of_material);
        let other = kinds.into_iter().flatten().find(|kind| wanted.is_some_and(|own| own != *kind));
        if let (Some(wanted), Some(other)) = (wanted, other) {
            self.record_not_asked(name, &format!("it is for `{other}`"));
            self.notes.push(format!(
                "the policy `{}` is for `{other}`, not for `{wanted}`: it wasn't evaluated",
                document.name
            ));
            return Ok(());
        }
        let module = entry.module.clone();
        if let Some(digest) = entry.digest.clone() {
            self.sources.push(Source { path: module.path.clone(), digest });
        }
        let sources = Sources::new([module], []);
        let policies = self.load_policies(&sources, options, PackageOrigin::Document)?;
        self.note_calls(&policies);
        let reach = Reach::new(&policies);
        refuse_outside(&policies, &reach)?;
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
            policy.kind.clone_from(&entry.kind);
            policy.description = policy.description.or_else(|| document.description.clone());
            self.policies.push(policy);
            let mut check = Check::new(policies.clone(), asked, &how.arguments, options, &reach);
            check.context.metadata.document = true;
            check.kind = entry.kind.as_ref().or(of_material).cloned();
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

/// Refuses a module that refers to what only other files could define.
fn refuse_outside(policies: &Policies, reach: &Reach) -> Result<(), Error> {
    let own = policies.packages().next().map(|package| package.path.clone());
    let Some((outside, span)) = reach.outside(own.as_deref().unwrap_or_default()) else {
        return Ok(());
    };
    let outside = escape(&data_reference(outside));
    let message = format!("the policy refers to `{outside}`, which it can't see from a document");
    Err(Error::policy(vec![
        Diagnostic::error("alone", message)
            .with_hint(
                "a policy document is evaluated without the data and packages of other files: write what \
                 it needs into its module, or load the module as Rego",
            )
            .at(position(policies.program().sources(), span)),
    ]))
}
