//! `frameworks.yaml` and `compliance.yaml`: requirements, and how project versions meet them.

use serde::Deserialize;

use super::files::{Folder, Problem, Problems, Source, code};
use super::projects::{Projects, Version};
use super::scalars::{Id, Name, Timestamp};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Framework {
    id: Id,
    name: Name,
    requirements: Vec<Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    id: Id,
    version_id: Id,
    revision: u32,
    name: Name,
    display_name: String,
    description: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
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
}

/// How a project version meets a requirement.
pub(in crate::emulator) struct Evaluation {
    pub requirement_id: Id,
    pub requirement_version_id: Id,
    pub requirement_revision: u32,
    pub name: String,
    pub display_name: String,
    pub description: String,
    pub project_version_id: Id,
    pub framework_id: Id,
    pub status: String,
    pub created_at: Timestamp,
}

/// All evaluations, and the frameworks there are.
#[derive(Default)]
pub(in crate::emulator) struct Compliance {
    pub frameworks: Vec<Id>,
    pub evaluations: Vec<Evaluation>,
}

pub(super) fn load(folder: &Folder, projects: &Projects, problems: &mut Problems) -> Compliance {
    let mut frameworks: Vec<Framework> = Vec::new();
    for (source, entries) in folder.topic::<Vec<Framework>>("frameworks", problems) {
        for entry in entries {
            let name = entry.name.as_str();
            if frameworks.iter().any(|known| known.name.as_str() == name || known.id == entry.id) {
                let message = format!("the framework `{name}` is declared twice");
                problems.push(source.at(&format!("name: {name}"), 1, code::DUPLICATE, message));
            }
            frameworks.push(entry);
        }
    }
    let mut evaluations = Vec::new();
    for (source, entries) in folder.topic::<Vec<File>>("compliance", problems) {
        for (index, entry) in entries.iter().enumerate() {
            let version = match version(&source, entry, entries.split_at(index).0, projects) {
                Ok(version) => version,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            resolve(&source, entry, version, &frameworks, &mut evaluations, problems);
        }
    }
    Compliance { frameworks: frameworks.into_iter().map(|f| f.id).collect(), evaluations }
}

/// The version that an entry is about.
fn version<'a>(
    source: &Source,
    entry: &File,
    before: &[File],
    projects: &'a Projects,
) -> Result<&'a Version, Problem> {
    let name = entry.version.as_str();
    let found = projects.named(entry.project.as_str(), name);
    found.map(|(_, version)| version).map_err(|message| {
        // Several entries may name the same version: it is this one's line that is meant.
        let same = before.iter().filter(|other| other.version == entry.version).count();
        source.at(&format!("version: {name}"), same, code::REFERENCE, message)
    })
}

fn resolve(
    source: &Source,
    entry: &File,
    version: &Version,
    frameworks: &[Framework],
    evaluations: &mut Vec<Evaluation>,
    problems: &mut Problems,
) {
    let name = entry.framework.as_str();
    let Some(framework) = frameworks.iter().find(|known| known.name.as_str() == name) else {
        let message = format!("there is no framework `{name}` in `frameworks.yaml`");
        problems.push(source.at(&format!("framework: {name}"), 0, code::REFERENCE, message));
        return;
    };
    for result in &entry.results {
        let name = result.requirement.as_str();
        let known = framework.requirements.iter().find(|known| known.name.as_str() == name);
        let Some(requirement) = known else {
            let framework = framework.name.as_str();
            let message = format!("the framework `{framework}` has no requirement `{name}`");
            problems.push(source.at(&format!("requirement: {name}"), 0, code::REFERENCE, message));
            continue;
        };
        let twin = evaluations.iter().any(|known: &Evaluation| {
            known.requirement_id == requirement.id && known.project_version_id == version.id
        });
        if twin {
            let message = format!("`{name}` is evaluated twice for this version");
            problems.push(source.at(name, 1, code::DUPLICATE, message));
        }
        evaluations.push(Evaluation {
            requirement_id: requirement.id.clone(),
            requirement_version_id: requirement.version_id.clone(),
            requirement_revision: requirement.revision,
            name: name.to_owned(),
            display_name: requirement.display_name.clone(),
            description: requirement.description.clone(),
            project_version_id: version.id.clone(),
            framework_id: framework.id.clone(),
            status: result.status.as_str().to_owned(),
            created_at: entry.created_at,
        });
    }
}
