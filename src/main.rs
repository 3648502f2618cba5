//! The command `rego-platform`; its code is the library's `cli`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

// Values are made on one thread and dropped on another, by the million; and musl's own allocator,
// in a static binary, takes many times as long.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rego_platform::cli::run(std::env::args_os())
}
