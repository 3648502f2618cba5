//! The gate as its users see it: one test binary.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(feature = "signatures")]
mod damaged;
mod embedding;
