//! Completion of the inventory at the end of a run.
//!
//! Owns determining which options had an effect.

use crate::report::model::{Effect, Outcome, Relaxation, Run, Tally};

/// Completes the inventory of a finished run.
pub(crate) fn settle(run: &mut Run, tally: &Tally) {
    let passed = run.inputs.iter().filter(|input| input.outcome == Outcome::Passed);
    let skipped = passed.filter(|input| input.is_skipped()).count() as u64;
    let (waived, below) = (run.totals.waived, run.totals.below_threshold);
    let stated = set_aside(run);
    let failed = u64::from(run.rules.no_fail && run.totals.failed > 0);
    for (relaxation, times) in [
        (Relaxation::Waivers, waived.saturating_sub(stated)),
        (Relaxation::Vex, stated),
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

/// Returns the number of violations suppressed by VEX statements.
fn set_aside(run: &Run) -> u64 {
    let waived = run.violations().filter(|(.., found)| found.effect == Effect::Waived);
    let by = waived.filter_map(|(.., found)| run.waivers.get(found.waiver?));
    by.filter(|waiver| waiver.vex.is_some()).count() as u64
}
