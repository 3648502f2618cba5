//! `frameworks.yaml`: frameworks, their requirements, and the sections that contain these.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::{FRAMEWORK, REQUIREMENT_STATUS};
use super::fields::{compact, text, with};
use super::files::{Folder, Source, code};
use super::identity::{Identity, owner};
use super::records::finish;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameworkEntry {
    id: Id,
    name: Name,
    display_name: Option<String>,
    description: Option<String>,
    /// The organization that owns it; visible to all organizations unless set.
    #[serde(skip_serializing)]
    organization: Option<Name>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    #[serde(default)]
    preview: bool,
    #[serde(default)]
    built_in: bool,
    #[serde(default)]
    not_applicable: bool,
    raw_schema: Option<Value>,
    #[serde(skip_serializing)]
    requirements: Vec<Requirement>,
    #[serde(default, skip_serializing)]
    sections: Vec<Section>,
}

/// A requirement, in its latest version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requirement {
    pub id: Id,
    pub version_id: Id,
    pub revision: u32,
    pub name: Name,
    pub display_name: String,
    pub description: String,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    #[serde(default)]
    preview: bool,
    #[serde(default)]
    built_in: bool,
    raw_schema: Option<Value>,
    pub scope: Option<Name>,
    #[serde(default)]
    automated_policies: u32,
    #[serde(default)]
    manual_evidence: u32,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    id: Id,
    name: Name,
    description: Option<String>,
    #[serde(default)]
    requirements: Vec<Name>,
    #[serde(default)]
    sections: Vec<Section>,
}

#[derive(Clone)]
pub(crate) struct Framework {
    pub id: Id,
    pub name: String,
    pub requirements: Vec<Arc<Requirement>>,
    pub not_applicable: bool,
    organization: Option<usize>,
    organization_id: Option<Id>,
    /// The JSON without requirements, sections, projects and products.
    base: Value,
    sections: Vec<Section>,
}

impl Framework {
    /// Returns `true` if this is the framework's id.
    pub fn is(&self, id: &str) -> bool {
        self.id.as_str() == id
    }

    /// Returns `true` if an organization can see it.
    pub fn visible(&self, organization: usize) -> bool {
        self.organization.is_none_or(|owner| owner == organization)
    }

    /// Returns the short form that other resources contain.
    pub fn brief(&self) -> Value {
        let display_name = text(&self.base, "display_name");
        json!({ "id": self.id, "name": self.name, "display_name": display_name })
    }

    /// Returns the JSON with requirements and sections; `status` gives the status of a requirement.
    pub fn record(&self, status: &dyn Fn(&Requirement) -> &'static str) -> Value {
        let show = |requirement: &Arc<Requirement>| self.requirement(requirement, status);
        let sections = self.sections.iter().map(|section| self.section(section, None, status));
        with(
            self.base.clone(),
            [
                ("requirements", self.requirements.iter().map(show).collect()),
                ("sections", sections.collect()),
            ],
        )
    }

    fn section(
        &self,
        section: &Section,
        parent: Option<&Id>,
        status: &dyn Fn(&Requirement) -> &'static str,
    ) -> Value {
        let wanted = section.requirements.iter().filter_map(|name| self.named(name.as_str()));
        let requirements: Vec<Value> = wanted.map(|one| self.requirement(one, status)).collect();
        let inner = section.sections.iter();
        let inner: Vec<Value> =
            inner.map(|inner| self.section(inner, Some(&section.id), status)).collect();
        json!({
            "id": section.id,
            "name": section.name,
            "description": section.description.as_deref().unwrap_or_default(),
            "parent_id": parent.map(Id::as_str).unwrap_or_default(),
            "requirements": requirements,
            "sub_sections": inner,
        })
    }

    /// Returns a requirement by its name.
    pub fn named(&self, name: &str) -> Option<&Arc<Requirement>> {
        self.requirements.iter().find(|known| known.name.as_str() == name)
    }

    fn requirement(
        &self,
        requirement: &Requirement,
        status: &dyn Fn(&Requirement) -> &'static str,
    ) -> Value {
        let scope = requirement.scope.as_ref().map_or("UNSPECIFIED", Name::as_str);
        compact(json!({
            "id": requirement.id,
            "name": requirement.name,
            "display_name": requirement.display_name,
            "description": requirement.description,
            "preview": requirement.preview,
            "built_in": requirement.built_in,
            "scope": scope,
            "status": status(requirement),
            "frameworks": [self.brief()],
            "version_references": [{
                "id": requirement.version_id,
                "scope": scope,
                "revision": requirement.revision,
                "automated_policies_count": requirement.automated_policies,
                "manual_evidence_count": requirement.manual_evidence,
            }],
            "organization_id": self.organization_id,
            "created_at": requirement.created_at,
            "updated_at": requirement.updated_at,
            "raw_schema": requirement.raw_schema,
        }))
    }
}

pub(super) fn load(folder: &Folder, identity: &Identity) -> Vec<Framework> {
    let mut all: Vec<Framework> = Vec::new();
    for (source, entries) in folder.topic::<Vec<FrameworkEntry>>("frameworks") {
        for entry in entries {
            let name = entry.name.as_str();
            if all.iter().any(|known| known.name == name || known.id == entry.id) {
                let message = format!("duplicate framework `{name}`");
                source.report(&format!("name: {name}"), 1, code::DUPLICATE, message);
            }
            let organization = match &entry.organization {
                None => None,
                Some(name) => match owner(&source, identity, name) {
                    Some(index) => Some(index),
                    None => continue,
                },
            };
            let framework = build(entry, organization, identity);
            check_requirements(&framework, &source);
            check_sections(&framework.sections, &framework, &source);
            // The whole record is checked against its table; the statuses of its requirements don't
            // matter.
            let record = framework.record(&|_| REQUIREMENT_STATUS);
            finish(&FRAMEWORK, record, &source, identity);
            all.push(framework);
        }
    }
    all
}

fn build(entry: FrameworkEntry, organization: Option<usize>, identity: &Identity) -> Framework {
    let owner = organization.and_then(|index| identity.organizations.get(index));
    let organization_id = owner.map(|organization| organization.id.clone());
    let base = compact(with(json!(entry), [("organization_id", json!(organization_id))]));
    Framework {
        id: entry.id,
        name: entry.name.as_str().to_owned(),
        requirements: entry.requirements.into_iter().map(Arc::new).collect(),
        not_applicable: entry.not_applicable,
        organization,
        organization_id,
        base,
        sections: entry.sections,
    }
}

/// Checks that no two requirements have the same name or id.
fn check_requirements(framework: &Framework, source: &Source) {
    for (index, one) in framework.requirements.iter().enumerate() {
        let mut before = framework.requirements.iter().take(index);
        if before.any(|other| other.name == one.name || other.id == one.id) {
            let name = one.name.as_str();
            let message = format!("duplicate requirement `{name}`");
            // Its name may occur elsewhere too; its version's id doesn't.
            source.report(one.version_id.as_str(), 0, code::DUPLICATE, message);
        }
    }
}

/// Checks that every name in a section is a requirement of the framework.
fn check_sections(sections: &[Section], framework: &Framework, source: &Source) {
    for section in sections {
        for name in section.requirements.iter().map(Name::as_str) {
            if framework.named(name).is_none() {
                let message =
                    format!("unknown requirement of the framework `{}`: `{name}`", framework.name);
                source.report(name, 0, code::REFERENCE, message);
            }
        }
        check_sections(&section.sections, framework, source);
    }
}
