//! Completing the inventory at the end of a run.
//!
//! Owns determining which options had an effect.

use super::conclude;
use super::model::{Outcome, Relaxation, Run, Tally};

/// Completes the inventory of a finished run.
pub(super) fn settle(run: &mut Run, tally: &Tally) {
    let passed = run.inputs.iter().filter(|input| input.outcome == Outcome::Passed);
    let skipped = passed.filter(|input| conclude::is_skipped(input)).count() as u64;
    let (waived, below) = (run.totals.waived, run.totals.below_threshold);
    let failed = u64::from(run.rules.no_fail && run.totals.failed > 0);
    for (relaxation, times) in [
        (Relaxation::Waivers, waived),
        (Relaxation::FailOn, below),
        (Relaxation::AllowSkipped, skipped),
        (Relaxation::NotFound, tally.undefined),
        (Relaxation::LenientBuiltins, tally.swallowed),
        (Relaxation::AllowedHosts, tally.requests),
        (Relaxation::NoFail, failed),
    ] {
        run.inventory.note_effect(relaxation, times);
    }
}
