//! Material kinds: detection of a file's kind, and its input and annotations for policies.
//!
//! [`Kind`] is the table of kinds. A kind reads a [`File`] to a [`Material`], or says why the file isn't of the
//! kind. Signatures aren't verified here.

#![forbid(unsafe_code)]

mod archive;
mod file;
mod json;
mod kind;
mod kinds;
mod material;
mod number;
mod reference;
mod schema;
mod text;
mod types;
mod xml;

pub use file::File;
pub use kind::Kind;
pub use kinds::attestation::RUN_PREDICATE;
pub use material::{Content, Material, Name, NotOfKind};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
