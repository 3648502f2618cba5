//! `assessments.yaml`: revisions of assessments, each of a project version.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::ASSESSMENT_REVISION;
use super::fields::with;
use super::files::Folder;
use super::identity::Identity;
use super::projects::Projects;
use super::records::finish;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AssessmentEntry {
    id: Id,
    assessment_id: Id,
    #[serde(skip_serializing)]
    project: Name,
    #[serde(skip_serializing)]
    version: Name,
    revision: u32,
    note: Option<String>,
    review_note: Option<String>,
    justification_code: Option<Name>,
    scope: Option<Name>,
    status: Option<Name>,
    approval_status: Name,
    created_at: Timestamp,
    reviewed_at: Option<Timestamp>,
    reviewer: Option<Name>,
    created_by: Option<Value>,
    products: Option<Value>,
    confidence_score: Option<f64>,
    #[serde(default)]
    auto_remediable: bool,
    confidence_breakdown: Option<Value>,
}

/// A revision of an assessment.
#[derive(Clone)]
pub(crate) struct Assessment {
    pub id: Id,
    pub organization: usize,
    pub json: Value,
}

pub(super) fn load(folder: &Folder, identity: &Identity, projects: &Projects) -> Vec<Assessment> {
    let mut all: Vec<Assessment> = Vec::new();
    for (source, entries) in folder.topic::<Vec<AssessmentEntry>>("assessments") {
        for entry in entries {
            let is_twin = all.iter().any(|known| known.id == entry.id);
            source.check_id(is_twin, "a revision", &entry.id);
            let place = (&source, entry.id.as_str(), 0);
            let found = projects.entry(place, &entry.project, &entry.version);
            let Some((project, version)) = found else { continue };
            let json = with(json!(entry), [("project_version_id", json!(version.id))]);
            all.push(Assessment {
                id: entry.id,
                organization: project.organization,
                json: finish(&ASSESSMENT_REVISION, json, &source, identity),
            });
        }
    }
    all
}
