//! `GHAS_*`: lists of GitHub's alerts.

use super::{missing, typed};
use crate::file::File;
use crate::material::{Material, NotOfKind};

pub(super) const TYPES: &str = include_str!("../types/github.txt");

/// Reads alerts of code scanning.
pub(crate) fn read_code(file: &File<'_>) -> Result<Material, NotOfKind> {
    alerts(file, "[Alert]", "tool")
}

/// Reads alerts of secret scanning.
pub(crate) fn read_secret(file: &File<'_>) -> Result<Material, NotOfKind> {
    alerts(file, "[SecretScanningAlert]", "secret_type")
}

/// Reads alerts about dependencies.
pub(crate) fn read_dependency(file: &File<'_>) -> Result<Material, NotOfKind> {
    alerts(file, "[DependabotAlert]", "dependency")
}

/// Reads a list, which may be empty. The member tells alerts of one sort from others: the first alert has it.
fn alerts(file: &File<'_>, of: &str, member: &str) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, of)?;
    let all = document.root().elements().unwrap_or_default();
    match all.first().map(|first| first.member(member)) {
        Some(None) => Err(missing(&format!("[0].{member}"))),
        Some(Some(value)) if value.is_null() => Err(missing(&format!("[0].{member}"))),
        _ => Ok(material),
    }
}
