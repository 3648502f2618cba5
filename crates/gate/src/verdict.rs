//! Verdicts: what a rule's values mean, severities, waivers, VEX, notes and the outcome.

pub(crate) mod inconclusive;
pub(crate) mod notes;
pub(crate) mod outcome;
pub(crate) mod rule_values;
mod waivers;

pub use outcome::Hint;
pub(crate) use outcome::{NOTES, VerdictContext};
pub(crate) use rule_values::RawVerdict;
pub use waivers::{WAIVERS_SCHEMA, Waivers};
