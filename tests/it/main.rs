//! Tests of the library, through real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
// Texts are assembled here in the most readable way.
#![allow(clippy::format_push_string, clippy::format_collect, clippy::needless_for_each)]
#![allow(clippy::doc_markdown, clippy::explicit_auto_deref, clippy::single_match_else)]

use rego_platform::rego;

mod api;
mod auth;
#[path = "../compare/mod.rs"]
mod compare;
mod damaged;
mod dependencies;
mod embedding;
#[allow(dead_code)]
#[path = "../../crates/emulator/tests/it/support.rs"]
mod emulator;
mod engine;
mod functions;
mod host;
mod hostile;
mod interpreter;
mod passes;
mod policies;
mod requests;
mod soak;
mod support;
