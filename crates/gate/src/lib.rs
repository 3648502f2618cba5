//! Gates: policies that give one verdict over one or many inputs.
//!
//! Owns verdicts, inputs, waivers, and the model of a run's result ([`model`]), from which reports
//! are written ([`reports`]). Evaluating policies belongs to
//! [`rego_platform`](https://docs.rs/rego-platform); options and the destinations of reports belong to the
//! host, which is the command or a program.
//!
//! Items that are hidden here serve the command, and may change with any version.

#![forbid(unsafe_code)]

mod digest;
mod input;
mod pattern;
mod policy;
mod provenance;
mod report;
mod run;
pub mod setting;
mod verdict;

pub use input::{
    Artifact, DocumentOptions, Image, InputSource, InputValues, Metadata, Parser, PlatformImage,
    YamlVersion, find,
};
#[doc(hidden)]
pub use input::{argument, conversion_for, conversion_of, expand, parse_all};
#[doc(hidden)]
pub use policy::{
    EmbeddedText, Material, Parameter, document_options, query_about_file, with_modules,
};
pub use policy::{Gate, GateOptions, PolicyInputs};
#[cfg(feature = "keyless")]
pub use provenance::{Identities, TrustRoot};
pub use provenance::{LayerSignature, Shard, Signatures};
#[cfg(feature = "signatures")]
pub use provenance::{SignKey, VerifyKeys};
pub use report::{difference, formats as reports, model};
#[doc(hidden)]
pub use report::{repository, sarif};
pub use run::{RunObserver, RunOptions, merge};
pub use verdict::{Hint, Pass, Unproven, WAIVERS_SCHEMA, Waivers, ambiguous_scalar};
