//! `findings.yaml`: security findings of project versions, and their assessments.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::FINDING;
use super::files::{Folder, Problems, code};
use super::identity::Identity;
use super::projects::Projects;
use super::records::finish;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingEntry {
    id: Id,
    project: Name,
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
    #[serde(default)]
    effective_status: String,
    /// The assessments, as they are served.
    #[serde(default)]
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

pub(super) fn load(
    folder: &Folder,
    identity: &Identity,
    projects: &Projects,
    problems: &mut Problems,
) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for (source, entries) in folder.topic::<Vec<FindingEntry>>("findings", problems) {
        for entry in entries {
            let id = entry.id.as_str();
            if all.iter().any(|known| known.id == entry.id) {
                let message = format!("duplicate id of a finding: `{id}`");
                problems.push(source.at(id, 1, code::DUPLICATE, message));
            }
            let found = projects.named(entry.project.as_str(), entry.version.as_str());
            let (project, version) = match found {
                Ok(found) => found,
                Err(message) => {
                    problems.push(source.at(id, 0, code::REFERENCE, message));
                    continue;
                }
            };
            let json = json!({
                "id": entry.id,
                "external_id": entry.external_id,
                "finding_type": entry.finding_type,
                "severity": entry.severity,
                "status": entry.status,
                "source": entry.source,
                "package_purl": entry.package_purl,
                "is_in_kev": entry.is_in_kev,
                "first_seen_at": entry.first_seen_at,
                "last_seen_at": entry.last_seen_at,
                "project_name": project.name,
                "project_version_name": version.name,
                "artifact_ids": entry.artifact_ids,
            });
            all.push(Finding {
                id: entry.id,
                organization: project.organization,
                json: finish(&FINDING, json, &source, identity, problems),
                effective_status: entry.effective_status,
                assessments: entry.assessments,
            });
        }
    }
    all
}
