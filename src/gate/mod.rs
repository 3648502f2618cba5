//! Gates: policies that give one verdict over one or many inputs.
//!
//! Owns verdicts, inputs, waivers, and the model of a run's result ([`model`]), from which reports
//! are written ([`report`]). Evaluating policies belongs to [`crate::evaluate`]; options and the
//! destinations of reports belong to the command.

mod account;
mod conclude;
mod describe;
mod documents;
mod find;
mod gathered;
mod graph;
mod input_use;
mod inputs;
mod load;
mod metadata;
mod missing_fields;
pub mod model;
mod names;
mod options;
mod packages;
mod policy_yaml;
mod reach;
pub mod report;
pub mod reports;
mod run;
mod split;
mod streams;
mod verdict;
mod waivers;
mod work;

pub(crate) use documents::argument;
pub use documents::{DocumentOptions, Metadata};
pub(crate) use find::expand;
pub use find::find;
pub use inputs::InputSource;
pub(crate) use load::Material;
pub use load::{Gate, GateOptions};
pub use options::{ListedCalls, RunObserver, RunOptions};
pub use waivers::Waivers;
