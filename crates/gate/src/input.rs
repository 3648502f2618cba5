//! Inputs: finds, reads, splits and parses what a caller names, and unwraps attestations and images.
//!
//! Knows nothing of policies: what these get of an input is decided by the [`PolicyContext`] that is handed in.

mod attestation;
pub(crate) mod documents;
mod find;
mod image;
mod inputs;
pub(crate) mod kinds;
mod material;
mod metadata;
mod parser;
mod split;
mod streams;
mod values;

pub(crate) use documents::{ARGUMENTS, PolicyContext};
pub use documents::{DocumentOptions, YamlVersion, argument, parse_all};
pub use find::{expand, find};
pub use image::{Artifact, Image};
pub use inputs::InputSource;
pub(crate) use inputs::{Content, Document, Documents, JsonLines};
pub(crate) use kinds::{Expected, InputKinds};
pub(crate) use material::{ATTESTATION, Material, missing};
pub use metadata::Metadata;
pub(crate) use metadata::{Facts, Origin, Reader, signers_value};
pub use parser::{Parser, conversion_for, conversion_of};
pub(crate) use split::MAX_BYTES;
pub use values::InputValues;
