//! The command `rego-platform`, for the script that the package installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with its arguments, the program's name first. Returns the exit status.
#[pyfunction]
pub(crate) fn run_command(python: Python<'_>, arguments: Vec<OsString>) -> u8 {
    python.detach(|| rego_platform_cli::main(arguments))
}
