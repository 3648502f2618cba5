//! The language against OPA's stored answers, and the form that the machine runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
// Texts are assembled here in the most readable way.
#![allow(clippy::format_collect)]

use rego_platform_rego::{self as rego, value};

mod damaged;
#[path = "../generate/mod.rs"]
mod generate;
mod generated;
mod growth;
mod lowerings;
