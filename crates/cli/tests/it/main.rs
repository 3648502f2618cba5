//! Tests through the command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
// Texts are assembled here in the most readable way.
#![allow(clippy::format_push_string, clippy::format_collect, clippy::needless_for_each)]
#![allow(clippy::doc_markdown, clippy::explicit_auto_deref, clippy::single_match_else)]

use rego_platform::rego;

mod api;
mod bounds;
mod bundles;
mod check;
mod cli;
#[path = "../../../../tests/compare/mod.rs"]
mod compare;
mod diff;
#[allow(dead_code)]
#[path = "../../../emulator/tests/it/support.rs"]
mod emulator;
mod engines;
mod explain;
mod fmt;
mod gate;
#[allow(dead_code)]
mod hostile;
mod lsp;
mod readme;
mod remote;
mod repl;
mod report;
#[allow(dead_code)]
mod requests;
mod serve;
mod session;
mod settings;
#[allow(dead_code)]
#[path = "../../../../tests/it/support.rs"]
mod support;
mod testcmd;
mod timeout;
mod vendor;

/// The repository, in which the tests run the command.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
