//! `frameworks.yaml` and `compliance.yaml`: requirements, and how project versions meet them.

use serde::Deserialize;

use super::files::{Folder, Problems, Source, code};
use super::projects::Projects;
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
                problems.push(source.at(name, 1, code::DUPLICATE, message));
            }
            frameworks.push(entry);
        }
    }
    let mut evaluations = Vec::new();
    for (source, entries) in folder.topic::<Vec<File>>("compliance", problems) {
        for entry in &entries {
            resolve(&source, entry, projects, &frameworks, &mut evaluations, problems);
        }
    }
    Compliance { frameworks: frameworks.into_iter().map(|f| f.id).collect(), evaluations }
}

fn resolve(
    source: &Source,
    entry: &File,
    projects: &Projects,
    frameworks: &[Framework],
    evaluations: &mut Vec<Evaluation>,
    problems: &mut Problems,
) {
    let version = match projects.named(entry.project.as_str(), entry.version.as_str()) {
        Ok((_, version)) => version,
        Err(message) => {
            let value = if message.contains("version") { &entry.version } else { &entry.project };
            problems.push(source.at(value.as_str(), 0, code::REFERENCE, message));
            return;
        }
    };
    let name = entry.framework.as_str();
    let Some(framework) = frameworks.iter().find(|known| known.name.as_str() == name) else {
        let message = format!("there is no framework `{name}` in `frameworks.yaml`");
        problems.push(source.at(name, 0, code::REFERENCE, message));
        return;
    };
    for result in &entry.results {
        let name = result.requirement.as_str();
        let known = framework.requirements.iter().find(|known| known.name.as_str() == name);
        let Some(requirement) = known else {
            let framework = framework.name.as_str();
            let message = format!("the framework `{framework}` has no requirement `{name}`");
            problems.push(source.at(name, 0, code::REFERENCE, message));
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
