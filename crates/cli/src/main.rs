//! The binary `rego-platform`. The command is in the library, which the Python package runs too.

#![forbid(unsafe_code)]

use std::process::ExitCode;

// Values are made on one thread and dropped on another, by the million; and musl's own allocator,
// in a static binary, takes many times as long.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(rego_platform_cli::main(std::env::args_os().collect()))
}
