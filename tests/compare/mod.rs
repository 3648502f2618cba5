//! What else than the language is compared: regorus' answers with this crate's, and bundles with the
//! command `opa`. The cases are those of the language crate.
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

pub mod bundles;
#[path = "../../crates/rego/tests/generate/case.rs"]
pub mod case;
#[path = "../../crates/rego/tests/generate/case_file.rs"]
pub mod case_file;
pub mod differences;
#[path = "../../crates/rego/tests/generate/random.rs"]
pub mod random;
#[path = "../../crates/rego/tests/generate/subject.rs"]
pub mod subject;
