//! Policy documents, policy groups, and contracts.
//!
//! Owns their formats: what they declare, the modules and documents to which they refer, and the arguments
//! that they give. Loading their policies belongs to `load`, the inputs for which these are to `materials`.

mod attachment;
mod columns;
mod contract;
mod fetch;
mod fields;
mod file;
mod group;
mod inputs;
mod modules;
mod policy;
mod runtime;
mod template;

use rego_platform::Error;
use rego_platform::sources::{document, is_policy};

pub(crate) use attachment::Attached;
pub(crate) use contract::parse as parse_contract;
pub(crate) use fields::{refuse_version, typed_as};
pub(crate) use file::DocumentFile;
pub(crate) use group::PolicyGroup;
pub(crate) use group::parse as parse_group;
pub(crate) use modules::Elsewhere;
pub(crate) use policy::parse as parse_policy;
pub(crate) use policy::{PolicyDocument, PolicyEntry};
pub use runtime::PolicyInputs;

/// Returns the embedded modules of a policy document or a group; `None` for other files.
pub(super) fn embedded_texts(
    file: DocumentFile<'_>,
) -> Result<Option<Vec<file::Located<String>>>, Error> {
    let Ok(value) = document(file.path, file.text, true) else { return Ok(None) };
    if !is_policy(&value) {
        return Ok(None);
    }
    match value.get_str("kind").and_then(|kind| kind.as_str()) {
        Some("PolicyGroup") => group::embedded(file).map(Some),
        _ => typed_as::<policy::PolicyYaml>(file, "policy document")
            .map(|document| Some(document.embedded().collect())),
    }
}
