//! Inputs: finds, reads, splits and parses what a caller names, and unwraps attestations and images.
//!
//! Knows nothing of policies: what these get of an input is decided by the [`PolicyContext`] that is handed in.

mod attestation;
mod find;
mod image;
mod inputs;
pub(crate) mod kinds;
mod material;
mod metadata;
mod parser;
mod prepare;
mod source;
mod split;
mod streams;
mod values;

pub use find::{expand, find};
pub(crate) use image::closed_members;
pub use image::{Artifact, Image, PlatformImage};
pub(crate) use inputs::{Input, Inputs, JsonLines};
pub(crate) use kinds::{Expected, InputKinds};
pub(crate) use material::{ATTESTATION, Material, missing};
pub use metadata::Metadata;
pub(crate) use metadata::{CLAIMS, Facts, MetadataReader, Origin, signers_value};
pub use parser::{Parser, conversion_for, conversion_of};
pub(crate) use prepare::{ARGUMENTS, PolicyContext, finish};
pub use prepare::{DocumentOptions, YamlVersion, argument, parse_all};
pub use source::InputSource;
pub(crate) use split::MAX_BYTES;
pub use values::InputValues;
