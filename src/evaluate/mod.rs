//! Evaluation of policies.

pub mod load;
pub mod sources;
