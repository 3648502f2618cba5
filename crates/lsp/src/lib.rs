//! A language server for Rego policies: findings of `check`, names with their documentation, and formatting,
//! for any editor with the language server protocol.
//!
//! Data flows one way: `server` takes a message, `files` has the texts (of the disk, or as the editor has
//! them), `names` what a text declares and refers to, and a file for each kind of request gives the answer.
//! Findings come from [`rego_platform::check`], on threads of their own: the last state of the texts counts.
//!
//! *Architecture invariant:* nothing here asks the service or writes a file.

#![forbid(unsafe_code)]

mod actions;
mod addresses;
mod completion;
mod definition;
mod documents;
mod file;
mod files;
mod findings;
mod hover;
mod lenses;
mod names;
mod rename;
mod server;
mod stdio;
mod symbols;
mod text;

pub use documents::PolicyDocuments;
pub use file::EmbeddedModule;
pub use server::{Options, serve, serve_stdio};
