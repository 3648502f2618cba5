//! `evidence.yaml`: the evidence that projects sent, by project, version and workflow.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::scalars::{Digest, Id, Kind, Name, Timestamp};
use super::files::{Folder, Source, code};
use super::graph::Graph;
use super::projects::Projects;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EvidenceYaml {
    project: Name,
    version: Name,
    workflow: Name,
    workflow_run_id: Id,
    subject_name: Name,
    created_at: Timestamp,
    materials: Vec<MaterialEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MaterialEntry {
    id: Id,
    name: Name,
    digest: Digest,
    kind: Kind,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// An item of evidence, with its names resolved.
#[derive(Clone)]
pub(crate) struct Evidence {
    pub id: Id,
    pub name: String,
    pub digest: Digest,
    pub kind: Kind,
    pub subject_name: String,
    pub subject_version: String,
    pub annotations: BTreeMap<String, String>,
    pub organization: usize,
    pub workflow_id: Id,
    pub workflow_name: String,
    pub workflow_run_id: Id,
    pub project_id: Id,
    pub project_name: String,
    pub project_version_id: Id,
    pub products: Vec<Id>,
    pub product_versions: Vec<Id>,
    pub created_at: Timestamp,
}

/// Loads the evidence, newest first.
pub(super) fn load(folder: &Folder, projects: &Projects, graph: &Graph) -> Vec<Evidence> {
    let mut all: Vec<Evidence> = Vec::new();
    for (source, runs) in folder.topic::<Vec<EvidenceYaml>>("evidence") {
        for run in runs {
            for evidence in resolve(&source, projects, run) {
                let is_twin = all.iter().any(|known| known.id == evidence.id);
                source.check_id(is_twin, "evidence", &evidence.id);
                if !graph.sees(&evidence.digest, evidence.organization) {
                    let message =
                        format!("no node of the graph with the digest `{}`", evidence.digest);
                    let digest = evidence.digest.as_str();
                    source.report(digest, 0, code::REFERENCE, message);
                }
                all.push(evidence);
            }
        }
    }
    all.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| a.id.cmp(&b.id)));
    all
}

/// Returns the evidence that one run of a workflow sent.
fn resolve(source: &Source, projects: &Projects, run: EvidenceYaml) -> Vec<Evidence> {
    let run_id = run.workflow_run_id;
    // The run's id is the only text of the entry that is in no other.
    let found = projects.entry((source, run_id.as_str(), 0), &run.project, &run.version);
    let Some((project, version)) = found else { return Vec::new() };
    let Some(workflow) = project.workflows.iter().find(|known| known.name == run.workflow) else {
        let (project, workflow) = (&project.name, run.workflow.as_str());
        let message = format!("unknown workflow of the project `{project}`: `{workflow}`");
        source.report(&format!("workflow: {workflow}"), 0, code::REFERENCE, message);
        return Vec::new();
    };
    let evidence = |entry: MaterialEntry| Evidence {
        id: entry.id,
        name: entry.name.as_str().to_owned(),
        digest: entry.digest,
        kind: entry.kind,
        subject_name: run.subject_name.as_str().to_owned(),
        subject_version: version.name.clone(),
        annotations: entry.annotations,
        organization: project.organization,
        workflow_id: workflow.id.clone(),
        workflow_name: workflow.name.as_str().to_owned(),
        workflow_run_id: run_id.clone(),
        project_id: project.id.clone(),
        project_name: project.name.clone(),
        project_version_id: version.id.clone(),
        products: version.products.clone(),
        product_versions: version.product_versions.clone(),
        created_at: run.created_at,
    };
    run.materials.into_iter().map(evidence).collect()
}
