//! Policies as a gate: one verdict over one or many inputs.
//!
//! Owns what a verdict is, where inputs come from, waivers, and the model of what came of a run
//! ([`model`]), from which reports are written ([`report`]). How policies are evaluated belongs to
//! [`crate::evaluate`], options and the places that reports go to, to the command.

pub mod model;
pub mod report;
pub mod reports;
