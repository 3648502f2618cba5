//! `organizations.yaml` and `users.yaml`: the callers, and their organizations.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::scalars::{Id, Name, Timestamp};
use super::fields::compact;
use super::files::{Folder, Source, code};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Organization {
    pub id: Id,
    pub name: Name,
    plan: Plan,
    /// `true` if the AI feature is on; if it is off, every analysis is skipped.
    pub ai: bool,
}

impl Organization {
    /// Returns `true` if it can use the functions for paid plans.
    pub fn is_paid(&self) -> bool {
        self.plan == Plan::Paid
    }
}

/// An organization's plan.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Plan {
    Free,
    Paid,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentityYaml {
    users: Vec<User>,
    tokens: Vec<Token>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct User {
    id: Id,
    email: Name,
    first_name: Option<String>,
    last_name: Option<String>,
    created_at: Option<Timestamp>,
    #[serde(default)]
    instance_admin: bool,
    intercom_hash: Option<String>,
    #[serde(skip_serializing)]
    organizations: Vec<Name>,
    #[serde(skip_serializing)]
    default_organization: Name,
}

/// Not a tagged enum, within which the parser would lose the lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    name: Name,
    kind: KindName,
    /// For a user token.
    user: Option<Name>,
    /// For an API token.
    id: Option<Id>,
    /// For an API token.
    organization: Option<Name>,
    expires_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum KindName {
    User,
    Api,
}

/// The owner of a token.
#[derive(Clone)]
pub(crate) enum TokenKind {
    /// A person, who may choose among their organizations.
    User { user: Id, organizations: Vec<usize> },
    /// An automation, bound to its organization.
    Api { token: Id },
}

/// A token of the data set, before it is encoded as a JWT.
#[derive(Clone)]
pub(crate) struct Credential {
    pub name: Name,
    pub kind: TokenKind,
    /// The API token's organization or the user's default one.
    pub organization: usize,
    pub expires_at: Option<Timestamp>,
}

/// Organizations and tokens.
#[derive(Clone, Default)]
pub(crate) struct Identity {
    pub organizations: Vec<Organization>,
    pub credentials: Vec<Credential>,
    /// Each user's id, email, and JSON.
    users: Vec<(Id, Name, Value)>,
}

impl Identity {
    /// Returns an organization's index, by its name.
    pub fn organization(&self, name: &str) -> Option<usize> {
        self.organizations.iter().position(|organization| organization.name.as_str() == name)
    }

    /// Returns a user's JSON.
    pub fn user(&self, id: &Id) -> Option<Value> {
        self.users.iter().find(|(known, ..)| known == id).map(|(.., user)| user.clone())
    }

    /// Returns a user's JSON, by email.
    pub(super) fn user_by_email(&self, email: &str) -> Option<Value> {
        let mut users = self.users.iter();
        users.find(|(_, known, _)| known.as_str() == email).map(|(.., user)| user.clone())
    }

    /// Returns a token, by its name.
    pub fn credential(&self, name: &str) -> Option<&Credential> {
        self.credentials.iter().find(|credential| credential.name.as_str() == name)
    }
}

pub(super) fn load(folder: &Folder) -> Identity {
    let mut identity = Identity::default();
    let before = folder.count();
    for (source, organizations) in folder.topic::<Vec<Organization>>("organizations") {
        for organization in organizations {
            let name = organization.name.as_str();
            if identity.organization(name).is_some() {
                duplicate(&source, "organization", name);
            }
            identity.organizations.push(organization);
        }
    }
    if identity.organizations.is_empty() && folder.count() == before {
        let path = std::path::Path::new("organizations.yaml");
        let message = "no organization in the data set".to_owned();
        folder.report(path, code::CONTENT, message);
    }
    for (source, file) in folder.topic::<IdentityYaml>("users") {
        for user in &file.users {
            let twin = identity.user(&user.id).is_some();
            if twin || identity.user_by_email(user.email.as_str()).is_some() {
                let message = format!("duplicate user `{}`", user.email.as_str());
                source.report(user.email.as_str(), 1, code::DUPLICATE, message);
            }
            identity.users.push((user.id.clone(), user.email.clone(), user.json()));
        }
        for token in &file.tokens {
            if let Some(credential) = credential(&source, &file.users, token, &identity) {
                let name = credential.name.as_str();
                if identity.credential(name).is_some() {
                    duplicate(&source, "token", name);
                }
                identity.credentials.push(credential);
            }
        }
    }
    identity
}

impl User {
    fn json(&self) -> Value {
        compact(json!(self))
    }
}

fn duplicate(source: &Source, what: &str, name: &str) {
    let message = format!("duplicate {what} `{name}`");
    source.report(&format!("name: {name}"), 1, code::DUPLICATE, message);
}

fn credential(
    source: &Source,
    users: &[User],
    token: &Token,
    identity: &Identity,
) -> Option<Credential> {
    let mut organization = |name: &Name| {
        let name = name.as_str();
        let found = identity.organization(name);
        if found.is_none() {
            let message = format!("unknown organization `{name}`: not in `organizations.yaml`");
            source.report(name, 0, code::REFERENCE, message);
        }
        found
    };
    let (kind, organization) = match (&token.kind, &token.user, &token.id, &token.organization) {
        (KindName::Api, None, Some(id), Some(bound)) => {
            (TokenKind::Api { token: id.clone() }, organization(bound)?)
        }
        (KindName::User, Some(email), None, None) if token.expires_at.is_some() => {
            let Some(user) = users.iter().find(|known| known.email == *email) else {
                let message = format!("unknown user `{}`", email.as_str());
                let needle = format!("user: {}", email.as_str());
                source.report(&needle, 0, code::REFERENCE, message);
                return None;
            };
            let default = organization(&user.default_organization)?;
            let organizations: Vec<usize> =
                user.organizations.iter().filter_map(&mut organization).collect();
            if !organizations.contains(&default) {
                let message = "default organization without a membership of the user".to_owned();
                let needle = format!("email: {}", user.email.as_str());
                source.report(&needle, 0, code::REFERENCE, message);
            }
            (TokenKind::User { user: user.id.clone(), organizations }, default)
        }
        _ => {
            let message = "invalid members of a token: expected `user` and `expires_at` for `user`, `id` and `organization` for `api`";
            let needle = format!("name: {}", token.name.as_str());
            source.report(&needle, 0, code::CONTENT, message.to_owned());
            return None;
        }
    };
    Some(Credential { name: token.name.clone(), kind, organization, expires_at: token.expires_at })
}

/// Returns the organization that an entry names.
pub(super) fn owner(source: &Source, identity: &Identity, name: &Name) -> Option<usize> {
    let found = identity.organization(name.as_str());
    if found.is_none() {
        let name = name.as_str();
        let message = format!("unknown organization `{name}`: not in `organizations.yaml`");
        let needle = format!("organization: {name}");
        source.report(&needle, 0, code::REFERENCE, message);
    }
    found
}
