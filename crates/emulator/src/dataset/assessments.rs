//! `assessments.yaml`: revisions of assessments, each of a project version.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::ASSESSMENT_REVISION;
use super::files::{Folder, Problems, code};
use super::identity::Identity;
use super::projects::Projects;
use super::records::finish;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssessmentEntry {
    id: Id,
    assessment_id: Id,
    project: Name,
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

pub(super) fn load(
    folder: &Folder,
    identity: &Identity,
    projects: &Projects,
    problems: &mut Problems,
) -> Vec<Assessment> {
    let mut all: Vec<Assessment> = Vec::new();
    for (source, entries) in folder.topic::<Vec<AssessmentEntry>>("assessments", problems) {
        for entry in entries {
            let id = entry.id.as_str();
            if all.iter().any(|known| known.id == entry.id) {
                let message = format!("duplicate id of a revision: `{id}`");
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
            let json = entry.json(&version.id);
            all.push(Assessment {
                id: entry.id,
                organization: project.organization,
                json: finish(&ASSESSMENT_REVISION, json, &source, identity, problems),
            });
        }
    }
    all
}

impl AssessmentEntry {
    fn json(&self, version: &Id) -> Value {
        json!({
            "id": self.id,
            "assessment_id": self.assessment_id,
            "project_version_id": version,
            "revision": self.revision,
            "note": self.note,
            "review_note": self.review_note,
            "justification_code": self.justification_code,
            "scope": self.scope,
            "status": self.status,
            "approval_status": self.approval_status,
            "created_at": self.created_at,
            "reviewed_at": self.reviewed_at,
            "reviewer": self.reviewer,
            "created_by": self.created_by,
            "products": self.products,
            "confidence_score": self.confidence_score,
            "auto_remediable": self.auto_remediable,
            "confidence_breakdown": self.confidence_breakdown,
        })
    }
}
