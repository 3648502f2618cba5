//! `products.yaml`: products, whose versions bundle versions of projects.
//!
//! Owns the links in both directions, and the JSON of products. `aggregate` evaluates a version's
//! requirements.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::{PRODUCT, REQUIREMENT_STATUS};
use super::aggregate::{Aggregate, aggregate};
use super::compliance::Evaluation;
use super::fields::{compact, with};
use super::files::{Folder, Source, code};
use super::frameworks::Framework;
use super::identity::{Identity, owner};
use super::projects::{Project, Projects, named_framework};
use super::records::finish;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProductEntry {
    id: Id,
    organization: Name,
    name: Name,
    #[serde(default)]
    description: String,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    business_unit: Option<Value>,
    versions: Vec<VersionEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionEntry {
    id: Id,
    name: Name,
    #[serde(default)]
    description: String,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    released_at: Option<Timestamp>,
    status: Option<Name>,
    #[serde(default)]
    frameworks: Vec<Name>,
    #[serde(skip_serializing)]
    project_versions: Vec<Link>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    id: Id,
    #[serde(default)]
    track_latest: bool,
}

#[derive(Clone)]
pub(crate) struct Product {
    pub id: Id,
    pub organization: usize,
    pub versions: Vec<ProductVersion>,
    pub json: Value,
}

#[derive(Clone)]
pub(crate) struct ProductVersion {
    pub id: Id,
    pub json: Value,
    /// Each of its frameworks, with its compliance.
    pub compliance: Vec<(Id, Value)>,
}

/// The parsed entries, linked with their projects but not built yet.
pub(super) struct Entries(Vec<(Source, Vec<(usize, ProductEntry)>)>);

/// Reads the products and records in every project the products that it is part of.
pub(super) fn link(folder: &Folder, identity: &Identity, projects: &mut Projects) -> Entries {
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    for (source, entries) in folder.topic::<Vec<ProductEntry>>("products") {
        let mut owned = Vec::new();
        for entry in entries {
            let ids = entry.versions.iter().map(|version| &version.id).chain([&entry.id]);
            for id in ids {
                if !seen.insert(id.clone()) {
                    let id = id.as_str();
                    let message = format!("duplicate id of a product or version: `{id}`");
                    source.report(id, 1, code::DUPLICATE, message);
                }
            }
            if let Some(organization) = owner(&source, identity, &entry.organization) {
                link_one(&source, &entry, organization, projects);
                owned.push((organization, entry));
            }
        }
        all.push((source, owned));
    }
    Entries(all)
}

fn link_one(source: &Source, product: &ProductEntry, organization: usize, all: &mut Projects) {
    for product_version in &product.versions {
        for Link { id, .. } in &product_version.project_versions {
            let mut projects = all.projects.iter_mut();
            let found = projects.find_map(|project| {
                let same = project.organization == organization;
                let version = project.versions.iter_mut().find(|version| version.id == *id)?;
                same.then_some((&mut project.products, version))
            });
            let Some((products, version)) = found else {
                let message = format!("unknown project version `{}`", id.as_str());
                source.report(id.as_str(), 0, code::REFERENCE, message);
                continue;
            };
            for products in [products, &mut version.products] {
                if !products.contains(&product.id) {
                    products.push(product.id.clone());
                }
            }
            version.product_versions.push(product_version.id.clone());
        }
    }
}

/// Builds the JSON of every product, and the products within every project.
pub(super) fn build(
    entries: Entries,
    identity: &Identity,
    frameworks: &[Framework],
    evaluations: &[Evaluation],
    projects: &mut Projects,
) -> Vec<Product> {
    let every = || entries.0.iter().flat_map(|(_, entries)| entries);
    let summaries: HashMap<&Id, Value> =
        every().map(|(_, entry)| (&entry.id, entry.summary())).collect();
    for project in &mut projects.projects {
        let summaries = project.products.iter().filter_map(|id| summaries.get(id).cloned());
        let json = std::mem::take(&mut project.json);
        project.json = with(json, [("products", summaries.collect())]);
    }
    let mut products = Vec::new();
    for (source, entries) in &entries.0 {
        for (organization, entry) in entries {
            let organization = *organization;
            let siblings = every().filter(|(other, _)| *other == organization);
            let siblings: Vec<&ProductEntry> = siblings.map(|(_, entry)| entry).collect();
            let builder =
                Builder { source, frameworks, evaluations, projects, organization, siblings };
            let versions: Vec<ProductVersion> =
                entry.versions.iter().map(|version| builder.version(entry, version)).collect();
            let owner = identity.organizations.get(organization);
            let latest = entry.versions.iter().zip(&versions).enumerate();
            let latest = latest.max_by_key(|(index, (version, _))| (version.created_at, *index));
            let json = json!({
                "id": entry.id,
                "name": entry.name,
                "description": entry.description,
                "organization_id": owner.map(|owner| &owner.id),
                "created_at": entry.created_at,
                "updated_at": entry.updated_at,
                "latest_version": latest.map(|(_, (_, version))| &version.json),
                "business_unit": entry.business_unit,
            });
            let json = finish(&PRODUCT, json, source, identity);
            let id = entry.id.clone();
            products.push(Product { id, organization, versions, json });
        }
    }
    products
}

impl ProductEntry {
    fn summary(&self) -> Value {
        compact(json!({
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "created_at": self.created_at,
        }))
    }
}

/// The parts that a product version is built from.
struct Builder<'a> {
    source: &'a Source,
    frameworks: &'a [Framework],
    evaluations: &'a [Evaluation],
    projects: &'a Projects,
    organization: usize,
    /// The organization's products.
    siblings: Vec<&'a ProductEntry>,
}

impl Builder<'_> {
    fn version(&self, product: &ProductEntry, version: &VersionEntry) -> ProductVersion {
        let names = version.frameworks.iter();
        let frameworks: Vec<&Framework> = names
            .filter_map(|name| {
                named_framework(name, self.organization, self.frameworks, self.source)
            })
            .collect();
        let links: Vec<Value> =
            version.project_versions.iter().filter_map(|link| self.link(link)).collect();
        let ids: Vec<&Id> = version.project_versions.iter().map(|link| &link.id).collect();
        let (mut shown, mut compliance) = (Vec::new(), Vec::new());
        for framework in frameworks {
            let aggregated =
                aggregate(framework, &version.id, &ids, self.projects, self.evaluations);
            shown.push(self.framework(framework, &aggregated));
            compliance.push((framework.id.clone(), aggregated.json));
        }
        let more = [
            ("product_id", json!(product.id)),
            ("frameworks", shown.into()),
            ("project_versions", links.into()),
        ];
        let json = compact(with(json!(version), more));
        ProductVersion { id: version.id.clone(), json, compliance }
    }

    fn link(&self, link: &Link) -> Option<Value> {
        let (project, version) = self.projects.version(&link.id)?;
        Some(json!({
            "track_latest_project_version": link.track_latest,
            "project": project.in_product(),
            "version": version.json,
        }))
    }

    /// Returns a framework as a version of a product shows it: with the status of its requirements,
    /// and the projects and products that use it.
    fn framework(&self, framework: &Framework, aggregated: &Aggregate) -> Value {
        let record = framework.record(&|requirement| {
            aggregated.status.get(&requirement.id).copied().unwrap_or(REQUIREMENT_STATUS)
        });
        let uses = |project: &&Project| {
            project.organization == self.organization
                && project.versions.iter().any(|version| version.frameworks.contains(&framework.id))
        };
        let projects = self.projects.projects.iter().filter(uses).map(Project::brief).collect();
        let uses = |entry: &&&ProductEntry| {
            let names = || entry.versions.iter().flat_map(|version| &version.frameworks);
            names().any(|name| name.as_str() == framework.name)
        };
        let products = self.siblings.iter().filter(uses).map(|entry| entry.summary()).collect();
        with(record, [("projects", projects), ("products", products)])
    }
}
