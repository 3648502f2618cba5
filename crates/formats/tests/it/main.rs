//! The formats as their users see them: one test binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod damaged;
mod shapes;

// Its name in the fuzz targets, which share a file with `damaged`.
extern crate rego as rego_platform_rego;
