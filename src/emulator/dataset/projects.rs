//! `projects.yaml` and `products.yaml`: names, versions and workflows that evidence and
//! compliance refer to.

use serde::Deserialize;

use super::files::{Folder, Problems, Source, code};
use super::identity::Identity;
use super::scalars::{Id, Name};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectEntry {
    id: Id,
    organization: Name,
    name: Name,
    #[serde(default)]
    workflows: Vec<Named>,
    versions: Vec<VersionEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionEntry {
    id: Id,
    version: Name,
}

/// Something with an id and a name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator) struct Named {
    pub id: Id,
    pub name: Name,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProductEntry {
    id: Id,
    organization: Name,
    #[serde(rename = "name")]
    _name: Name,
    versions: Vec<ProductVersionEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProductVersionEntry {
    id: Id,
    #[serde(rename = "name")]
    _name: Name,
    project_versions: Vec<Id>,
}

/// A project.
pub(in crate::emulator) struct Project {
    pub id: Id,
    pub organization: usize,
    pub name: String,
    pub workflows: Vec<Named>,
    pub versions: Vec<Version>,
}

/// A version of a project, with the products it belongs to.
pub(in crate::emulator) struct Version {
    pub id: Id,
    pub name: String,
    /// Ids of products and of product versions.
    pub products: Vec<Id>,
    pub product_versions: Vec<Id>,
}

/// All projects.
#[derive(Default)]
pub(in crate::emulator) struct Projects {
    pub projects: Vec<Project>,
}

impl Projects {
    /// The project and the version with a version's id.
    pub fn version(&self, id: &Id) -> Option<(&Project, &Version)> {
        self.projects.iter().find_map(|project| {
            let version = project.versions.iter().find(|version| version.id == *id)?;
            Some((project, version))
        })
    }

    /// The project and the version that the data files name, or what is missing.
    pub(super) fn named(
        &self,
        project: &str,
        version: &str,
    ) -> Result<(&Project, &Version), String> {
        let found = self.projects.iter().find(|known| known.name == project);
        let found = found.ok_or_else(|| format!("there is no project `{project}`"))?;
        let known = found.versions.iter().find(|known| known.name == version);
        let known =
            known.ok_or_else(|| format!("the project `{project}` has no version `{version}`"))?;
        Ok((found, known))
    }
}

pub(super) fn load(folder: &Folder, identity: &Identity, problems: &mut Problems) -> Projects {
    let mut all = Projects::default();
    for (source, entries) in folder.topic::<Vec<ProjectEntry>>("projects", problems) {
        for entry in entries {
            let name = entry.name.as_str();
            let Some(organization) = owner(&source, identity, &entry.organization, problems) else {
                continue;
            };
            if all.projects.iter().any(|known| known.name == name || known.id == entry.id) {
                let message = format!("the project `{name}` is declared twice");
                problems.push(source.at(&format!("name: {name}"), 1, code::DUPLICATE, message));
            }
            let versions = entry.versions.into_iter().map(|version| Version {
                id: version.id,
                name: version.version.as_str().to_owned(),
                products: Vec::new(),
                product_versions: Vec::new(),
            });
            let versions: Vec<Version> = versions.collect();
            for version in &versions {
                let taken = versions.iter().filter(|other| other.id == version.id).count() > 1;
                if taken || all.version(&version.id).is_some() {
                    let message = format!("two versions have the id `{}`", version.id.as_str());
                    problems.push(source.at(version.id.as_str(), 1, code::DUPLICATE, message));
                }
            }
            all.projects.push(Project {
                id: entry.id,
                organization,
                name: entry.name.as_str().to_owned(),
                workflows: entry.workflows,
                versions,
            });
        }
    }
    for (source, entries) in folder.topic::<Vec<ProductEntry>>("products", problems) {
        for entry in entries {
            if let Some(organization) = owner(&source, identity, &entry.organization, problems) {
                link_product(&source, &entry, organization, &mut all, problems);
            }
        }
    }
    all
}

fn owner(
    source: &Source,
    identity: &Identity,
    name: &Name,
    problems: &mut Problems,
) -> Option<usize> {
    let found = identity.organization(name.as_str());
    if found.is_none() {
        let message =
            format!("there is no organization `{}` in `organizations.yaml`", name.as_str());
        problems.push(source.at(
            &format!("organization: {}", name.as_str()),
            0,
            code::REFERENCE,
            message,
        ));
    }
    found
}

/// Notes on each project version which product and product version it is part of.
fn link_product(
    source: &Source,
    product: &ProductEntry,
    organization: usize,
    all: &mut Projects,
    problems: &mut Problems,
) {
    for product_version in &product.versions {
        for id in &product_version.project_versions {
            let version = all
                .projects
                .iter_mut()
                .filter(|project| project.organization == organization)
                .flat_map(|project| project.versions.iter_mut())
                .find(|version| version.id == *id);
            let Some(version) = version else {
                let message = format!("there is no project version `{}`", id.as_str());
                problems.push(source.at(id.as_str(), 0, code::REFERENCE, message));
                continue;
            };
            version.products.push(product.id.clone());
            version.product_versions.push(product_version.id.clone());
        }
    }
}
