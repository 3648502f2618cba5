//! `findings.yaml`: security findings of project versions, and their assessments.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::FINDING;
use super::fields::with;
use super::files::Folder;
use super::identity::Identity;
use super::projects::Projects;
use super::records::finish;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingEntry {
    id: Id,
    #[serde(skip_serializing)]
    project: Name,
    #[serde(skip_serializing)]
    version: Name,
    external_id: Name,
    finding_type: Name,
    severity: Name,
    status: Name,
    #[serde(default)]
    source: String,
    #[serde(default)]
    package_purl: String,
    #[serde(default)]
    is_in_kev: bool,
    first_seen_at: Option<Timestamp>,
    last_seen_at: Option<Timestamp>,
    #[serde(default)]
    artifact_ids: Vec<Id>,
    /// The status that the assessments result in.
    #[serde(default, skip_serializing)]
    effective_status: String,
    /// The assessments, as they are served.
    #[serde(default, skip_serializing)]
    assessments: Vec<serde_json::Map<String, Value>>,
}

/// A finding with its assessments.
#[derive(Clone)]
pub(crate) struct Finding {
    id: Id,
    pub organization: usize,
    pub json: Value,
    pub effective_status: String,
    pub assessments: Vec<serde_json::Map<String, Value>>,
}

impl Finding {
    /// Returns a text of the finding as it is served.
    pub fn text(&self, key: &str) -> &str {
        super::fields::text(&self.json, key)
    }
}

pub(super) fn load(folder: &Folder, identity: &Identity, projects: &Projects) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for (source, entries) in folder.topic::<Vec<FindingEntry>>("findings") {
        for entry in entries {
            let is_twin = all.iter().any(|known| known.id == entry.id);
            source.check_id(is_twin, "a finding", &entry.id);
            let place = (&source, entry.id.as_str(), 0);
            let found = projects.entry(place, &entry.project, &entry.version);
            let Some((project, version)) = found else { continue };
            let names = [
                ("project_name", json!(project.name)),
                ("project_version_name", json!(version.name)),
            ];
            let json = with(json!(entry), names);
            all.push(Finding {
                id: entry.id,
                organization: project.organization,
                json: finish(&FINDING, json, &source, identity),
                effective_status: entry.effective_status,
                assessments: entry.assessments,
            });
        }
    }
    all
}
