//! Tests through real HTTP and through the command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
// Texts are assembled here in the most readable way.
#![allow(clippy::format_push_string, clippy::format_collect, clippy::needless_for_each)]
#![allow(clippy::doc_markdown, clippy::explicit_auto_deref, clippy::single_match_else)]

use rego_platform::rego;

mod api;
mod auth;
mod bundles;
mod check;
mod cli;
mod dependencies;
mod embedding;
mod emulator;
mod explain;
mod fmt;
mod functions;
mod gate;
#[path = "../generate/mod.rs"]
mod generate;
mod generated;
mod hostile;
mod interpreter;
mod lowerings;
mod passes;
mod policies;
mod readme;
mod repl;
mod requests;
mod session;
mod soak;
mod support;
mod testcmd;
