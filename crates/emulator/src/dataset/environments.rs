//! `environments.yaml`: the environments in which versions run.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::ENVIRONMENT;
use super::files::{Folder, Problems, code};
use super::identity::{Identity, owner};
use super::records::finish;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvironmentEntry {
    id: Id,
    organization: Name,
    name: Name,
    #[serde(default)]
    description: String,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    r#type: Option<Name>,
}

#[derive(Clone)]
pub(crate) struct Environment {
    id: Id,
    pub organization: usize,
    pub name: String,
    pub description: String,
    pub json: Value,
}

pub(super) fn load(
    folder: &Folder,
    identity: &Identity,
    problems: &mut Problems,
) -> Vec<Environment> {
    let mut all: Vec<Environment> = Vec::new();
    for (source, entries) in folder.topic::<Vec<EnvironmentEntry>>("environments", problems) {
        for entry in entries {
            let Some(organization) = owner(&source, identity, &entry.organization, problems) else {
                continue;
            };
            if all.iter().any(|known| known.id == entry.id) {
                let id = entry.id.as_str();
                let message = format!("duplicate id of an environment: `{id}`");
                problems.push(source.at(id, 1, code::DUPLICATE, message));
            }
            let json = json!({
                "id": entry.id,
                "name": entry.name,
                "description": entry.description,
                "organization_id": identity.organizations.get(organization).map(|o| &o.id),
                "created_at": entry.created_at,
                "updated_at": entry.updated_at,
                "type": entry.r#type,
            });
            all.push(Environment {
                id: entry.id,
                organization,
                name: entry.name.as_str().to_owned(),
                description: entry.description,
                json: finish(&ENVIRONMENT, json, &source, identity, problems),
            });
        }
    }
    all
}
