//! Reports: the model of a run's result, and a module for each output format.

pub mod difference;
pub mod formats;
pub mod model;
mod paths;
pub mod sarif;

pub(crate) use paths::absolute;
pub use paths::repository;
