//! `projects.yaml`: projects with their repository, workflows and versions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::PROJECT;
use super::fields::{compact, with};
use super::files::{Folder, Source, code};
use super::frameworks::Framework;
use super::identity::{Identity, owner};
use super::records::finish;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectEntry {
    id: Id,
    organization: Name,
    name: Name,
    #[serde(default)]
    description: String,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    repository: Option<Value>,
    #[serde(default)]
    workflows: Vec<Workflow>,
    versions: Vec<VersionEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionEntry {
    id: Id,
    version: Name,
    created_at: Option<Timestamp>,
    released_at: Option<Timestamp>,
    last_workflow_run_at: Option<Timestamp>,
    #[serde(default)]
    workflow_runs_count: u64,
    #[serde(default)]
    pre_release: bool,
    status: Option<Name>,
    #[serde(default)]
    frameworks: Vec<Name>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workflow {
    pub id: Id,
    pub name: Name,
    #[serde(default)]
    description: String,
    #[serde(rename = "workflow_template_id")]
    template_id: Option<Id>,
    #[serde(default)]
    pull_request: bool,
    #[serde(default)]
    managed: bool,
    #[serde(default)]
    inputs: BTreeMap<String, String>,
}

#[derive(Clone)]
pub(crate) struct Project {
    pub id: Id,
    pub organization: usize,
    pub name: String,
    pub description: String,
    pub workflows: Vec<Workflow>,
    pub versions: Vec<Version>,
    /// The products that it is part of.
    pub products: Vec<Id>,
    /// The JSON in the list of projects.
    pub json: Value,
    repository: Option<Value>,
}

/// A version of a project, with the products that it belongs to.
#[derive(Clone)]
pub(crate) struct Version {
    pub id: Id,
    pub name: String,
    /// Ids of products and of product versions.
    pub products: Vec<Id>,
    pub product_versions: Vec<Id>,
    pub frameworks: Vec<Id>,
    pub json: Value,
}

#[derive(Clone, Default)]
pub(crate) struct Projects {
    pub projects: Vec<Project>,
}

impl Projects {
    /// Returns the project and the version with a version's id.
    pub fn version(&self, id: &Id) -> Option<(&Project, &Version)> {
        self.projects.iter().find_map(|project| {
            let version = project.versions.iter().find(|version| version.id == *id)?;
            Some((project, version))
        })
    }

    /// Returns the project and the version that an entry of a data file names, or reports the missing one at
    /// the n-th occurrence of a text.
    pub(super) fn entry(
        &self,
        (source, needle, nth): (&Source, &str, usize),
        project: &Name,
        version: &Name,
    ) -> Option<(&Project, &Version)> {
        let (name, version) = (project.as_str(), version.as_str());
        let project = self.projects.iter().find(|known| known.name == name);
        let versions = project.into_iter().flat_map(|project| &project.versions);
        let found = project.zip(versions.clone().find(|known| known.name == version));
        if found.is_none() {
            let message = match project {
                Some(_) => format!("unknown version of the project `{name}`: `{version}`"),
                None => format!("unknown project `{name}`"),
            };
            source.report(needle, nth, code::REFERENCE, message);
        }
        found
    }
}

impl Project {
    /// Returns the short form that other resources contain.
    pub fn brief(&self) -> Value {
        json!({ "id": self.id, "name": self.name, "description": self.description })
    }

    /// Returns the JSON in lists of products: with workflows and repository.
    pub fn in_product(&self) -> Value {
        let workflows = self.workflows.iter().map(Workflow::json).collect();
        compact(with(
            self.json.clone(),
            [("workflows", workflows), ("repository", json!(self.repository))],
        ))
    }
}

impl Workflow {
    fn json(&self) -> Value {
        let template = self.template_id.as_ref().map_or("", Id::as_str);
        with(json!(self), [("workflow_template_id", json!(template))])
    }
}

pub(super) fn load(folder: &Folder, identity: &Identity, frameworks: &[Framework]) -> Projects {
    let mut all = Projects::default();
    for (source, entries) in folder.topic::<Vec<ProjectEntry>>("projects") {
        for entry in entries {
            let name = entry.name.as_str();
            let Some(organization) = owner(&source, identity, &entry.organization) else {
                continue;
            };
            if all.projects.iter().any(|known| known.name == name || known.id == entry.id) {
                let message = format!("duplicate project `{name}`");
                source.report(&format!("name: {name}"), 1, code::DUPLICATE, message);
            }
            let project = build(entry, organization, identity, frameworks, &source);
            for version in &project.versions {
                let twins = project.versions.iter().filter(|other| other.id == version.id);
                if twins.count() > 1 || all.version(&version.id).is_some() {
                    let message = format!("duplicate id of a version: `{}`", version.id.as_str());
                    source.report(version.id.as_str(), 1, code::DUPLICATE, message);
                }
            }
            finish(&PROJECT, project.in_product(), &source, identity);
            all.projects.push(project);
        }
    }
    all
}

fn build(
    entry: ProjectEntry,
    organization: usize,
    identity: &Identity,
    frameworks: &[Framework],
    source: &Source,
) -> Project {
    // The latest version is the one created last; without times, the last in the file.
    let newest = |time: &dyn Fn(&VersionEntry) -> Option<Timestamp>| {
        let versions = entry.versions.iter().enumerate();
        versions.max_by_key(|(index, version)| (time(version), *index)).map(|(index, _)| index)
    };
    let latest = newest(&|version| version.created_at);
    let released = newest(&|version| version.released_at)
        .filter(|index| entry.versions.get(*index).is_some_and(|v| v.released_at.is_some()));
    let mut versions = Vec::new();
    for (index, version) in entry.versions.iter().enumerate() {
        let names = version.frameworks.iter();
        let used: Vec<&Framework> = names
            .filter_map(|name| named_framework(name, organization, frameworks, source))
            .collect();
        versions.push(version.build(&entry.id, latest == Some(index), &used));
    }
    let owner = identity.organizations.get(organization);
    let version = |index: Option<usize>| index.and_then(|index| versions.get(index));
    let json = compact(json!({
        "id": entry.id,
        "name": entry.name,
        "description": entry.description,
        "organization": owner.map(|owner| json!({ "id": owner.id, "name": owner.name })),
        "products": [],
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "latest_version": version(latest).map(|version| version.json.clone()),
        "latest_released_version": version(released).map(|version| version.json.clone()),
    }));
    Project {
        id: entry.id,
        organization,
        name: entry.name.as_str().to_owned(),
        description: entry.description,
        workflows: entry.workflows,
        versions,
        products: Vec::new(),
        json,
        repository: entry.repository,
    }
}

impl VersionEntry {
    fn build(&self, project: &Id, latest: bool, frameworks: &[&Framework]) -> Version {
        let brief: Vec<Value> = frameworks.iter().map(|framework| framework.brief()).collect();
        let more = [
            ("project_id", json!(project)),
            ("frameworks", brief.into()),
            ("workflow_runs_count", self.workflow_runs_count.to_string().into()),
            ("latest", latest.into()),
        ];
        let json = compact(with(json!(self), more));
        Version {
            id: self.id.clone(),
            name: self.version.as_str().to_owned(),
            products: Vec::new(),
            product_versions: Vec::new(),
            frameworks: frameworks.iter().map(|framework| framework.id.clone()).collect(),
            json,
        }
    }
}

/// Returns the framework that a version names; another organization's doesn't exist for it.
pub(super) fn named_framework<'a>(
    name: &Name,
    organization: usize,
    frameworks: &'a [Framework],
    source: &Source,
) -> Option<&'a Framework> {
    let name = name.as_str();
    let mut visible = frameworks.iter().filter(|known| known.visible(organization));
    let found = visible.find(|known| known.name == name);
    if found.is_none() {
        let message = format!("unknown framework `{name}`: not in `frameworks.yaml`");
        source.report(name, 0, code::REFERENCE, message);
    }
    found
}
