//! `environments.yaml`: the environments in which versions run.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::super::schema::ENVIRONMENT;
use super::fields::with;
use super::files::Folder;
use super::identity::{Identity, owner};
use super::records::finish;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvironmentEntry {
    id: Id,
    #[serde(skip_serializing)]
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

pub(super) fn load(folder: &Folder, identity: &Identity) -> Vec<Environment> {
    let mut all: Vec<Environment> = Vec::new();
    for (source, entries) in folder.topic::<Vec<EnvironmentEntry>>("environments") {
        for entry in entries {
            let Some(organization) = owner(&source, identity, &entry.organization) else {
                continue;
            };
            let is_twin = all.iter().any(|known| known.id == entry.id);
            source.check_id(is_twin, "an environment", &entry.id);
            let owner = identity.organizations.get(organization).map(|o| &o.id);
            let json = with(json!(entry), [("organization_id", json!(owner))]);
            all.push(Environment {
                id: entry.id,
                organization,
                name: entry.name.as_str().to_owned(),
                description: entry.description,
                json: finish(&ENVIRONMENT, json, &source, identity),
            });
        }
    }
    all
}
