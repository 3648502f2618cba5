//! The server, with an editor in the same process.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod completion;
mod editor;
mod lenses;
mod rename;
mod settled;
