//! `compliance.yaml`: evaluations of project versions against requirements.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::PROJECT_EVALUATION;
use super::files::{Folder, Source, code};
use super::frameworks::{Framework, Requirement};
use super::identity::Identity;
use super::projects::{Project, Projects, Version};
use super::records::finish;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComplianceYaml {
    project: Name,
    version: Name,
    framework: Name,
    created_at: Timestamp,
    results: Vec<ResultEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultEntry {
    requirement: Name,
    status: Name,
    #[serde(default)]
    not_applicable: bool,
    automation_level: Option<Name>,
    /// The id of the exception for which it isn't met.
    exception: Option<Id>,
    manual_evidence: Option<Value>,
    expired_tests: Option<Value>,
    #[serde(rename = "override")]
    overridden: Option<Value>,
    policies: Option<Value>,
}

/// The evaluation of a project version against a requirement.
#[derive(Clone)]
pub(crate) struct Evaluation {
    pub requirement: Arc<Requirement>,
    pub project_version_id: Id,
    pub framework_id: Id,
    pub status: String,
    pub not_applicable: bool,
    pub created_at: Timestamp,
    /// The `ProjectEvaluation` in a product's compliance.
    pub detail: Value,
}

pub(super) fn load(
    folder: &Folder,
    identity: &Identity,
    projects: &Projects,
    frameworks: &[Framework],
) -> Vec<Evaluation> {
    let mut evaluations = Vec::new();
    for (source, entries) in folder.topic::<Vec<ComplianceYaml>>("compliance") {
        for (index, entry) in entries.iter().enumerate() {
            // Several entries may name the same version: the position is this one's line.
            let before = entries.iter().take(index);
            let same = before.filter(|other| other.version == entry.version).count();
            let needle = format!("version: {}", entry.version.as_str());
            let place = (&source, needle.as_str(), same);
            let found = projects.entry(place, &entry.project, &entry.version);
            let Some(found) = found else { continue };
            let context = Context { source: &source, identity, frameworks };
            context.resolve(entry, found, &mut evaluations);
        }
    }
    evaluations
}

/// The tables that an entry's names are looked up in.
struct Context<'a> {
    source: &'a Source,
    identity: &'a Identity,
    frameworks: &'a [Framework],
}

impl Context<'_> {
    fn resolve(
        &self,
        entry: &ComplianceYaml,
        (project, version): (&Project, &Version),
        evaluations: &mut Vec<Evaluation>,
    ) {
        let name = entry.framework.as_str();
        let source = self.source;
        let mut visible = self.frameworks.iter().filter(|one| one.visible(project.organization));
        let Some(framework) = visible.find(|known| known.name == name) else {
            let message = format!("unknown framework `{name}`: not in `frameworks.yaml`");
            source.report(&format!("framework: {name}"), 0, code::REFERENCE, message);
            return;
        };
        for result in &entry.results {
            let name = result.requirement.as_str();
            let Some(requirement) = framework.named(name) else {
                let message =
                    format!("unknown requirement of the framework `{}`: `{name}`", framework.name);
                let needle = format!("requirement: {name}");
                source.report(&needle, 0, code::REFERENCE, message);
                continue;
            };
            let twin = evaluations.iter().any(|known: &Evaluation| {
                known.requirement.id == requirement.id && known.project_version_id == version.id
            });
            if twin {
                let message = format!("duplicate evaluation of `{name}` for this version");
                source.report(name, 1, code::DUPLICATE, message);
            }
            let detail = detail(result, entry.created_at, project, version);
            evaluations.push(Evaluation {
                requirement: requirement.clone(),
                project_version_id: version.id.clone(),
                framework_id: framework.id.clone(),
                status: result.status.as_str().to_owned(),
                not_applicable: result.not_applicable,
                created_at: entry.created_at,
                detail: finish(&PROJECT_EVALUATION, detail, source, self.identity),
            });
        }
    }
}

fn detail(result: &ResultEntry, time: Timestamp, project: &Project, version: &Version) -> Value {
    json!({
        "project_id": project.id,
        "project_name": project.name,
        "project_version_id": version.id,
        "requirement_exception_id": result.exception,
        "status": result.status,
        "created_at": time,
        "not_applicable": result.not_applicable,
        "automation_level": result.automation_level,
        "manual_evidence_submissions": result.manual_evidence,
        "expired_tests": result.expired_tests,
        "override": result.overridden,
        "policies": result.policies,
    })
}
