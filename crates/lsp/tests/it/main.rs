//! The server, with an editor in the same process.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod completion;
mod documents;
mod editor;
mod lenses;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../../../rego/tests/generate/random.rs"]
mod random;
mod rename;
mod settled;
