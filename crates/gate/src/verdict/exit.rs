//! The exit status that follows from the outcome of a run.

use crate::report::model::{Exit, Failure, Outcome, Rules, Run};

impl Exit {
    /// Returns the status for the outcome of a run with these rules.
    pub const fn of(outcome: Outcome, rules: &Rules) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed if rules.no_fail => Self::Passed,
            Outcome::Failed => Self::Failed,
            Outcome::NoVerdict => Self::NoVerdict,
        }
    }
}

impl Run {
    /// Ends the run without a verdict, for example because an output can't be written. What it found stays.
    pub fn fail(&mut self, failure: Failure) {
        self.reasons.insert(0, failure.message.clone());
        self.failure.get_or_insert(failure);
        self.conclude(Outcome::NoVerdict);
    }

    /// Sets the outcome, and the exit status for it.
    pub(crate) fn conclude(&mut self, outcome: Outcome) {
        self.outcome = outcome;
        self.exit = Exit::of(outcome, &self.rules);
    }
}
