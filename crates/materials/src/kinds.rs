//! A file for each kind or family of kinds.

pub(crate) mod api;
pub(crate) mod attestation;
pub(crate) mod cobertura;
pub(crate) mod csaf;
pub(crate) mod cyclonedx;
pub(crate) mod evidence;
pub(crate) mod ghas;
pub(crate) mod graphql;
pub(crate) mod helm;
pub(crate) mod image;
pub(crate) mod jacoco;
pub(crate) mod junit;
pub(crate) mod openvex;
pub(crate) mod platform;
pub(crate) mod sarif;
pub(crate) mod scans;
pub(crate) mod secrets;
pub(crate) mod spdx;
pub(crate) mod zap;

use crate::file::File;
use crate::json::{self, Document};
use crate::material::{Material, NotOfKind};
use crate::types::Types;

/// All tables of types.
#[cfg(test)]
pub(crate) const TABLES: [&str; 7] = [
    attestation::TYPES,
    ghas::TYPES,
    openvex::TYPES,
    platform::TYPES,
    sarif::TYPES,
    scans::TYPES,
    spdx::TYPES,
];

/// Reads a file that holds one JSON value of a type.
fn typed<'a>(
    file: &File<'a>,
    table: &'static str,
    of: &str,
) -> Result<(Document<'a>, Material), NotOfKind> {
    let document = json::only(file.bytes)?;
    Types::new(table).check(document.root(), of)?;
    let material = Material::new(file, json::input(document.value.clone()));
    Ok((document, material))
}

/// Returns the error for a member that is missing, empty or null.
fn missing(name: &str) -> NotOfKind {
    NotOfKind::new(format!("missing member `{name}`"))
}
