//! Completing the inventory at the end of a run.
//!
//! Owns determining which options had an effect, and which packages could have called the service
//! and never did.

use super::model::{OptionEffect, Outcome, Run, Status};
use super::reports::facts;

/// Completes the inventory of a finished run.
pub(super) fn settle(run: &mut Run, undefined: u64, swallowed: u64, requests: u64) {
    let skipped = run.inputs.iter().filter(|input| {
        input.outcome == Outcome::Passed
            && input.verdicts.iter().all(|v| matches!(v.status, Status::Skipped | Status::Ignored))
    });
    let skipped = skipped.count() as u64;
    let (waived, below) = (run.totals.waived, run.totals.below_threshold);
    let inputs = run.totals.inputs;
    for option in &mut run.inventory.options {
        let times = match option.name.as_str() {
            "--waivers" => waived,
            "--fail-on" => below,
            "--allow-skipped" => skipped,
            "--not-found" => undefined,
            "--no-strict-builtin-errors" => swallowed,
            "--allow-host" => requests,
            "--unverified" if run.inventory.unverified => inputs,
            _ => continue,
        };
        option.times = times;
        if times > 0 {
            option.effect = OptionEffect::TookEffect;
        }
    }
    let notes: Vec<String> = run
        .inventory
        .never_called()
        .map(|(package, sites)| facts::never_reached(package, &sites))
        .collect();
    run.notes.extend(notes);
}
