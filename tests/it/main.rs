//! Tests through real HTTP and through the command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod differential;
mod emulator;
mod passes;
mod support;
