//! Rego policies that query a supply-chain compliance service, for Python.
//!
//! Each class has a file of its own; `convert` has the values, `arrow` the batches. Nothing is decided
//! here: answers are those of `rego_platform`, verdicts those of `rego_platform_gate`. While a policy is
//! evaluated, Python's lock isn't held.

mod arrow;
mod command;
mod convert;
mod error;
mod loading;
mod policies;
mod recording;
mod running;
mod service;

use pyo3::prelude::*;

// What one thread reads, another drops: with the allocator of the C library they wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The compiled part of the package `rego_platform`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<policies::Policies>()?;
    module.add_class::<service::Service>()?;
    module.add_class::<recording::Recording>()?;
    module.add_class::<recording::Evaluation>()?;
    module.add_function(wrap_pyfunction!(running::shut_down, module)?)?;
    module.add_function(wrap_pyfunction!(running::forked, module)?)?;
    module.add_function(wrap_pyfunction!(loading::check_policies, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::verdict_schema, module)?)
}
