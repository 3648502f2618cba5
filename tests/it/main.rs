//! Tests through real HTTP and through the command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod cli;
mod differential;
mod emulator;
mod passes;
mod policies;
mod support;
