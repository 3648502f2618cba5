//! Policies: loads Rego, bundles and the vendor's policy documents and groups, and determines the packages
//! with verdicts, the calls and data that their rules reach, and their inputs.

pub(crate) mod annotations;
mod documents;
mod finding_types;
mod input_data;
mod load;
pub(crate) mod materials;
mod packages;
mod parameters;
mod reach;
pub(crate) mod vulnerability;

pub use documents::PolicyInputs;
pub(crate) use finding_types::FindingType;
pub use input_data::query_about_file;
pub(crate) use load::Check;
pub use load::{EmbeddedText, Gate, GateOptions, Material, document_options, with_modules};
#[cfg(test)]
pub(crate) use packages::verdict_packages;
pub(crate) use packages::{VerdictPackage, VerdictRule};
pub use parameters::Parameter;
#[cfg(test)]
pub(crate) use reach::Reach;
