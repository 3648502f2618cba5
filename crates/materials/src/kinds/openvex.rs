//! `OPENVEX`: statements about vulnerabilities.

use super::{missing, typed};
use crate::file::File;
use crate::material::{Material, NotOfKind};

pub(super) const TYPES: &str = include_str!("../types/openvex.txt");

/// Reads a document with an id. What its statements say isn't checked.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, "VEX")?;
    if document.root().text_at(&["@id"]).is_empty() {
        return Err(missing("@id"));
    }
    Ok(material)
}
