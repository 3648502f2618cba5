//! Generated programs, evaluated by OPA and by this crate.
//!
//! Owns the generators (`small`: every small program; `grammar`: random programs from the grammar),
//! the questions to OPA (`oracle`), the same questions to this crate (`subject`), the comparison
//! (`compare`), and the shrinking of differences (`shrink`). Used by the integration tests, which
//! have OPA's answers stored, and by the example `opa`, which asks OPA.
//!
//! The crate that includes this module has `rego` at its root: the language crate.

// Each user needs only a part of it; it is test code.
#![allow(dead_code, missing_docs)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::pedantic
)]

pub mod calls;
pub mod case;
pub mod case_file;
pub mod command;
pub mod compare;
pub mod compliance;
pub mod grammar;
pub mod oracle;
pub mod random;
pub mod report;
pub mod shrink;
pub mod small;
pub mod stages;
pub mod stored;
pub mod subject;
pub mod vectors;
pub mod yaml;
