//! Tests through real HTTP and through the command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod auth;
mod check;
mod cli;
mod differential;
mod emulator;
mod engines;
mod functions;
mod gate;
mod hostile;
mod passes;
mod policies;
mod readme;
mod soak;
mod support;
mod testcmd;
