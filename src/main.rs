//! The command `rego-platform`; its code is the library's `cli`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    rego_platform::cli::run(std::env::args_os())
}
