//! Gates: policies that give one verdict over one or many inputs.
//!
//! Owns verdicts, inputs, waivers, and the model of a run's result ([`model`]), from which reports
//! are written ([`report`]). Evaluating policies belongs to
//! [`rego_platform`](https://docs.rs/rego-platform); options and the destinations of reports belong to the
//! host, which is the command or a program.
//!
//! Items that are hidden here serve the command, and may change with any version.

#![forbid(unsafe_code)]

mod account;
mod attestation;
mod beside_input;
mod conclude;
mod describe;
pub mod difference;
mod documents;
mod find;
mod findings;
mod gathered;
mod image;
mod inputs;
mod kinds;
mod load;
mod materials;
mod memory;
mod metadata;
pub mod model;
mod options;
mod packages;
mod parse;
mod parser;
mod parts;
mod paths;
mod pattern;
mod policy_documents;
mod reach;
mod reader;
mod ready;
pub mod report;
pub mod reports;
mod run;
#[doc(hidden)]
pub mod sarif;
pub mod setting;
mod shard;
mod signature;
mod split;
mod streams;
mod tally;
mod unjudged;
mod values;
mod verdict;
mod vulnerability;
mod waivers;
mod work;

#[doc(hidden)]
pub use beside_input::query_about_file;
pub use documents::{DocumentOptions, YamlVersion};
#[doc(hidden)]
pub use documents::{argument, parse_all};
#[doc(hidden)]
pub use find::expand;
pub use find::find;
pub use image::{Artifact, Image};
pub use inputs::InputSource;
#[doc(hidden)]
pub use load::{EmbeddedText, Material, document_options, with_modules};
pub use load::{Gate, GateOptions};
pub use metadata::Metadata;
pub use options::{Hint, RunObserver, RunOptions};
pub use parser::Parser;
#[doc(hidden)]
pub use parser::{conversion_for, conversion_of};
pub use parts::merge;
#[doc(hidden)]
pub use paths::repository;
pub use policy_documents::PolicyInputs;
pub use shard::Shard;
#[cfg(feature = "keyless")]
pub use signature::{Identities, TrustRoot};
pub use signature::{LayerSignature, Signatures};
#[cfg(feature = "signatures")]
pub use signature::{SignKey, VerifyKeys};
pub use values::InputValues;
pub use waivers::{WAIVERS_SCHEMA, Waivers};
