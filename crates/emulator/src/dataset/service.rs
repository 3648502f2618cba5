//! `service.yaml`: the service itself, its limits and its defaults.

use std::num::NonZeroU32;

use serde::Deserialize;

use super::super::scalars::Name;
use super::files::{Folder, Source, code};
use super::identity::Identity;

/// The paging style of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Paging {
    /// By an opaque cursor, with which each page leads to the next.
    #[default]
    Cursor,
    /// By the offset of the first item and a page size (interface 2.1).
    Page,
}

/// `service.yaml`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Service {
    pub infoz: Infoz,
    /// The key of the tokens' signatures; changing it changes every token.
    pub signing_key: String,
    /// The token that is used if none is named.
    pub default_token: Name,
    pub max_page_size: NonZeroU32,
    pub default_page_size: NonZeroU32,
    #[serde(default)]
    pub paging: Pagings,
}

/// The paging style of each list.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Pagings {
    pub evidence: Paging,
    pub compliance: Paging,
}

/// The response of `/infoz` (interface 1.6).
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Infoz {
    #[serde(rename = "loginURL")]
    pub login_url: String,
    pub version: String,
    #[serde(rename = "chartVersion")]
    pub chart_version: String,
}

/// The parsed file, with its source for later checks.
pub(super) struct Loaded {
    pub value: Service,
    source: Source,
}

pub(super) fn load(folder: &Folder) -> Option<Loaded> {
    let before = folder.count();
    let loaded = folder.file::<Service>("service.yaml");
    if loaded.is_none() && folder.count() == before {
        let path = std::path::Path::new("service.yaml");
        let message = "no `service.yaml` in the data set".to_owned();
        folder.report(path, code::PATH, message);
    }
    loaded.map(|(source, value)| Loaded { value, source })
}

impl Loaded {
    /// Checks that the default token exists, and that there is a signing key.
    pub fn check(&self, identity: &Identity) {
        let name = self.value.default_token.as_str();
        if identity.credential(name).is_none() {
            let message = format!("unknown token `{name}`: not in `users.yaml`");
            self.source.report(&format!("default_token: {name}"), 0, code::REFERENCE, message);
        }
        if self.value.signing_key.is_empty() {
            let message = "empty signing key".to_owned();
            self.source.report("signing_key", 0, code::CONTENT, message);
        }
    }
}
