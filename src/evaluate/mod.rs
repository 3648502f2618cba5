//! Evaluation of policies: what OPA would answer, or an error with its reason.

pub(crate) mod bounded;
pub(crate) mod contain;
pub mod load;
pub(crate) mod output;
pub(crate) mod query;
pub(crate) mod scope;
pub mod sources;
