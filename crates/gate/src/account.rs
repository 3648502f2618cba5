//! Completing the inventory at the end of a run.
//!
//! Owns determining which options had an effect.

use super::model::{Outcome, Relaxation, Run, Status};

/// Completes the inventory of a finished run.
pub(super) fn settle(run: &mut Run, undefined: u64, swallowed: u64, requests: u64) {
    let skipped = run.inputs.iter().filter(|input| {
        input.outcome == Outcome::Passed
            && input.verdicts.iter().all(|v| matches!(v.status, Status::Skipped | Status::Ignored))
    });
    let skipped = skipped.count() as u64;
    let (waived, below) = (run.totals.waived, run.totals.below_threshold);
    let failed = u64::from(run.rules.no_fail && run.totals.failed > 0);
    for (relaxation, times) in [
        (Relaxation::Waivers, waived),
        (Relaxation::FailOn, below),
        (Relaxation::AllowSkipped, skipped),
        (Relaxation::NotFound, undefined),
        (Relaxation::LenientBuiltins, swallowed),
        (Relaxation::AllowedHosts, requests),
        (Relaxation::NoFail, failed),
    ] {
        run.inventory.note_effect(relaxation, times);
    }
}
