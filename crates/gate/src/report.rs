//! Reports: the model of a run's result, and a file for each format that is written from it.

pub mod difference;
pub mod formats;
pub mod model;
mod paths;
pub mod sarif;

pub use paths::repository;
pub(crate) use paths::spellings;
