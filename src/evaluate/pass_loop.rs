//! The loop that runs the passes of an evaluation.
//!
//! Owns when passes end, how much time each gets, and when calls are sent one at a time. How a pass
//! treats a call belongs to `batch`.
//!
//! A speculative pass keeps running: the calls that it still reaches are the guesses that the next
//! fetch sends along. So a pass that can become speculative gets a slice of the time from the
//! start. An exact pass that runs out of its slice is run again with a longer one; a pass that
//! loops where an answer is missing is followed by an exact pass that blocks on its calls.
//! Discarded passes take at most a quarter of the evaluation's time, plus the last slice.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::Instrument as _;

use super::batch::Pass;
use super::environment::Environment;
use super::scope::{Calls, Scope};
use super::session::Session;
use crate::flight::Key;
use crate::{Error, Limit};

/// The initial time limit of a pass whose guesses could loop; shorter where the evaluation itself
/// has little time.
const SLICE: Duration = Duration::from_secs(2);

/// The number of consecutive passes with one new call each after which the next passes get credit
/// for blocking calls: `every` stops at its first unknown call, so further passes gain nothing.
const SINGLES: u32 = 3;

/// The first credit, and the factor by which it grows while passes keep finding one new call each.
/// A long chain then takes few passes, and few calls are sent alone once it ends.
const CREDIT: u64 = 4;

/// With fewer guesses than this, a pass that used up its time for guesses wasn't worth it.
const FEW: usize = 16;

/// The outcome of the last pass of an evaluation.
pub(crate) struct FinalPass<T> {
    pub result: Result<T, Error>,
    /// The calls that the result depends on, with the number of uses of each.
    pub used: HashMap<Key, u64>,
    pub passes: u32,
}

/// The place where an evaluation may wait for calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitMode {
    /// Within a pass, blocking the thread that evaluates.
    WithinPass,
    /// Only between passes: no thread is held while a call is on its way.
    BetweenPasses,
}

/// The outcome of one pass, which may be an error.
pub(crate) trait PassOutcome {
    /// The error, if the pass ended with one.
    fn failure(&self) -> Option<&Error>;
}

/// Evaluates in passes until one notes no call. `can_call` is set if the evaluation can make calls;
/// `run` makes one pass under a scope, on whatever engine.
pub(crate) async fn run_passes<T: PassOutcome, R: Future<Output = Result<T, Error>>>(
    session: &Arc<Session>,
    environment: &Arc<Environment>,
    can_call: bool,
    waits: WaitMode,
    mut run: impl FnMut(Scope) -> R,
) -> FinalPass<T> {
    let mut plan = PassPlan::new(session, can_call, waits);
    loop {
        plan.passes += 1;
        let blocking = plan.credit == u64::MAX;
        let span = tracing::debug_span!("pass", number = plan.passes, blocking);
        let started = Instant::now();
        let until = plan.until(session, started);
        let guess_until = started + until.saturating_duration_since(started) / 4 * 3;
        let pass = Arc::new(Pass::new(Arc::clone(session), plan.passes, plan.credit, guess_until));
        let result = if let Some(error) = plan.refuse(session) {
            Err(error)
        } else {
            let calls: Arc<dyn Calls> = Arc::clone(&pass) as Arc<dyn Calls>;
            let timeout = session.budget.timeout;
            run(Scope::new(calls, Arc::clone(environment), until, timeout)).instrument(span).await
        };
        let late = Instant::now() >= until || pass.is_late();
        let notes = pass.take_notes();
        let Some(first) = notes.first else {
            if result.as_ref().is_ok_and(|done| done.failure().is_some())
                && plan.was_cut_short(session, late)
            {
                continue;
            }
            return FinalPass { result, used: notes.used, passes: plan.passes };
        };
        // The result of a speculative pass is useless and may be large.
        drop(result);
        let discarded = DiscardedPass {
            took: started.elapsed(),
            guessed: notes.first_at.map(|at| at.elapsed()).unwrap_or_default(),
            ran_out: Instant::now() >= until,
            late,
            guesses: notes.guesses.len(),
        };
        plan.learn(session, &discarded);
        if let Err(error) = session.fetch(&first, &notes.guesses, plan.passes).await {
            return FinalPass { result: Err(error), used: notes.used, passes: plan.passes };
        }
    }
}

/// The state from which the next pass is planned.
struct PassPlan {
    /// The number of unknown calls that a pass may block on; all of them if it is `u64::MAX`.
    credit: u64,
    /// Consecutive passes that brought the evaluation only one call further.
    singles: u32,
    /// The number of guesses of the previous pass, and of the guesses that had turned out right by
    /// its end.
    guesses: usize,
    right: usize,
    /// The time limit of a pass that can become speculative.
    slice: Duration,
    /// The time spent on discarded passes.
    spent: Duration,
    passes: u32,
    /// Passes that brought the evaluation only one call further while blocking within a pass isn't
    /// possible; they don't count against the limit on passes.
    steps: u32,
    waits: WaitMode,
}

impl PassPlan {
    fn new(session: &Session, can_call: bool, waits: WaitMode) -> Self {
        let blocks = waits == WaitMode::WithinPass && session.budget.one_at_a_time;
        Self {
            steps: 0,
            waits,
            credit: if blocks || !can_call { u64::MAX } else { 0 },
            singles: 0,
            guesses: 0,
            right: 0,
            slice: SLICE.min(session.budget.timeout / 8),
            spent: Duration::ZERO,
            passes: 0,
        }
    }

    fn refuse(&self, session: &Session) -> Option<Error> {
        if Instant::now() >= session.deadline {
            return Some(session.out_of_time());
        }
        let limit = session.budget.passes;
        (self.passes - self.steps > limit).then(|| {
            Error::too_large(format!("too many passes of the evaluation: the limit is {limit}"))
                .at_limit(Limit::Passes)
        })
    }

    /// The time at which a pass that starts now must end.
    fn until(&self, session: &Session, now: Instant) -> Instant {
        match self.credit {
            u64::MAX => session.deadline,
            0 => session.deadline.min(now + self.slice),
            // Blocking calls take their time too.
            _ => session.deadline.min(now + self.slice * 4),
        }
    }

    /// Returns `true` if an exact pass ended only because its slice did, and arranges for it to be
    /// run again with more time.
    fn was_cut_short(&mut self, session: &Session, late: bool) -> bool {
        let cut = late && self.credit < u64::MAX && Instant::now() < session.deadline;
        if cut {
            self.extend(session);
            self.passes -= 1;
        }
        cut
    }

    /// Lengthens the slice, or stops guessing where that would take too much of the time.
    fn extend(&mut self, session: &Session) {
        let left = session.deadline.saturating_duration_since(Instant::now());
        if self.slice * 16 <= left || self.waits == WaitMode::BetweenPasses {
            self.slice = (self.slice * 4).min(left);
        } else {
            self.credit = u64::MAX;
        }
    }

    /// Adjusts credit and slice after a speculative pass.
    fn learn(&mut self, session: &Session, pass: &DiscardedPass) {
        self.spent += pass.took;
        let right = session.right_guesses();
        let all_wrong = self.guesses > 0 && right == self.right;
        (self.guesses, self.right) = (pass.guesses, right);
        if pass.guesses == 0 || all_wrong {
            self.singles += 1;
            if self.singles >= SINGLES {
                match self.waits {
                    WaitMode::WithinPass => {
                        self.credit = self.credit.saturating_mul(CREDIT).max(CREDIT);
                    }
                    // A long chain of calls isn't an error; the deadline bounds it.
                    WaitMode::BetweenPasses => self.steps += 1,
                }
            }
        } else {
            self.singles = 0;
            self.credit = 0;
        }
        if pass.ran_out && pass.guessed > self.slice / 2 && self.waits == WaitMode::WithinPass {
            // It loops while an answer is missing: the next pass would loop again.
            self.credit = u64::MAX;
        } else if pass.ran_out || (pass.late && pass.guesses < FEW) {
            self.extend(session);
        }
        if self.spent > session.budget.timeout / 4 && self.waits == WaitMode::WithinPass {
            self.credit = u64::MAX;
        }
    }
}

/// The facts about a speculative pass that decide how to continue.
struct DiscardedPass {
    took: Duration,
    /// The time that the pass took after its first recorded call.
    guessed: Duration,
    ran_out: bool,
    late: bool,
    guesses: usize,
}
