//! Fields that policy documents and groups have in common.

use rego_platform::Error;
use rego_platform::sources::typed;
use rego_platform_client::text::escape;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::place::Place;

/// Reads a file into a type; `what` it is.
pub(crate) fn typed_as<T: DeserializeOwned>(file: Place<'_>, what: &str) -> Result<T, Error> {
    typed(file.path, file.text).map_err(|mut found| {
        found.message = format!("not a valid {what}: {}", found.message);
        Error::policy(vec![found])
    })
}

pub(crate) fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let version = String::deserialize(deserializer)?;
    if version.ends_with("/v1") {
        return Ok(());
    }
    let version = escape(&version);
    Err(D::Error::custom(format!("the version `{version}` is unknown: it ends in `/v1`")))
}

pub(crate) fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() { Err(D::Error::custom("it is empty")) } else { Ok(text) }
}

pub(crate) fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let kind = Option::<String>::deserialize(deserializer)?;
    if kind.as_deref().is_some_and(|kind| kind.trim().is_empty()) {
        return Err(D::Error::custom("the kind is empty: without one, the policy is for all"));
    }
    if kind.as_deref().is_some_and(|kind| kind.contains("{{")) {
        return Err(D::Error::custom("the kind is a template: write the kind"));
    }
    Ok(kind)
}
