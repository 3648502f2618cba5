//! Verdicts: the meaning of a rule's values, severities, waivers, VEX, notes, the outcome, and clean passes.

mod clean_pass;
mod exit;
pub(crate) mod inconclusive;
pub(crate) mod notes;
pub(crate) mod outcome;
mod rule_values;
mod waivers;

pub use clean_pass::{Pass, Unproven};
pub use outcome::{Hint, ambiguous_scalar};
pub(crate) use outcome::{NOTES, VerdictContext};
pub use waivers::{WAIVERS_SCHEMA, Waivers};
