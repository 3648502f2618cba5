//! The passes of an evaluation, one after the other.
//!
//! Owns when passes end, how much time each gets, and when calls travel alone. What a pass does
//! with a call is `batch`'s.
//!
//! A pass goes on once it has become inexact, since what it asks for then is what it is for; so a
//! pass in which that can happen gets a slice of the time from the beginning. An exact pass that needs more is run again
//! with more; one that loops where an answer is missing is followed by an exact pass with blocking
//! calls. What is thrown away is a quarter of the evaluation's time at most, and the last slice.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::Instrument as _;

use super::batch::Pass;
use super::scope::{Calls, Environment, Scope};
use super::session::Session;
use crate::flight::Key;
use crate::{Error, ErrorKind, Limit};

/// How long a pass may take in which guesses could loop, to begin with; less where an evaluation
/// has little time.
const SLICE: Duration = Duration::from_secs(2);

/// After so many passes in a row that each found one new call, the next passes get credit for
/// blocking calls: `every` stops at its first unknown call, so nothing is gained by passes.
const SINGLES: u32 = 3;

/// The first credit, and how it grows while passes go on finding one new call: there are few
/// passes however long such a chain is, and few calls travel alone once it ends.
const CREDIT: u64 = 4;

/// So few guesses aren't worth a pass that ran into its time for guesses.
const FEW: usize = 16;

/// The last pass of an evaluation.
pub(crate) struct Last<T> {
    pub result: Result<T, Error>,
    /// The calls that the result depends on, with their number.
    pub used: HashMap<Key, u64>,
    pub passes: u32,
}

/// True if a pass may wait for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// On the thread that evaluates.
    Within,
    /// Between passes alone: no thread is held while the service is waited for.
    Between,
}

/// Evaluates in passes until one notes nothing. `asks` says whether there can be calls; `run`
/// makes one pass under a scope, `failed` says whether it ended with an error.
pub(crate) async fn drive<T, R: Future<Output = Result<T, Error>>>(
    session: &Arc<Session>,
    environment: &Arc<Environment>,
    asks: bool,
    waits: Waits,
    run: impl Fn(Scope) -> R,
    failed: impl Fn(&T) -> bool,
) -> Last<T> {
    let mut driver = Driver::new(session, asks, waits);
    loop {
        driver.passes += 1;
        let blocking = driver.credit == u64::MAX;
        let span = tracing::debug_span!("pass", number = driver.passes, blocking);
        let started = Instant::now();
        let until = driver.until(session, started);
        let guess_until = started + until.saturating_duration_since(started) / 4 * 3;
        let pass =
            Arc::new(Pass::new(Arc::clone(session), driver.passes, driver.credit, guess_until));
        let result = if let Some(error) = driver.refuse(session) {
            Err(error)
        } else {
            let calls: Arc<dyn Calls> = Arc::clone(&pass) as Arc<dyn Calls>;
            let timeout = session.budget.timeout;
            run(Scope::new(calls, Arc::clone(environment), until, timeout)).instrument(span).await
        };
        let late = Instant::now() >= until || pass.is_late();
        let notes = pass.take_notes();
        let Some(first) = notes.first else {
            if result.as_ref().is_ok_and(&failed) && driver.was_cut_short(session, late) {
                continue;
            }
            return Last { result, used: notes.used, passes: driver.passes };
        };
        // The result may be large; it is worth nothing.
        drop(result);
        let thrown_away = ThrownAway {
            took: started.elapsed(),
            guessed: notes.first_at.map(|at| at.elapsed()).unwrap_or_default(),
            ran_out: Instant::now() >= until,
            late,
            guesses: notes.guesses.len(),
        };
        driver.learn(session, &thrown_away);
        if let Err(error) = session.fetch(&first, &notes.guesses, driver.passes).await {
            return Last { result: Err(error), used: notes.used, passes: driver.passes };
        }
    }
}

/// Where the passes of an evaluation stand.
struct Driver {
    /// The number of unknown calls of a pass that may block; all of them where it is `u64::MAX`.
    credit: u64,
    /// Passes in a row that brought the evaluation one call further.
    singles: u32,
    /// The guesses of the pass before, and how many had turned out right until its end.
    guesses: usize,
    right: usize,
    /// How long a pass may take that can be inexact.
    slice: Duration,
    /// What was spent on passes that were thrown away.
    spent: Duration,
    passes: u32,
    /// Passes that brought the evaluation only one call further, where calls can't be waited for
    /// within a pass.
    steps: u32,
    waits: Waits,
}

impl Driver {
    fn new(session: &Session, asks: bool, waits: Waits) -> Self {
        let blocks = waits == Waits::Within && session.budget.one_at_a_time;
        Self {
            steps: 0,
            waits,
            credit: if blocks || !asks { u64::MAX } else { 0 },
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
            Error::new(
                ErrorKind::TooLarge,
                format!("the evaluation takes more than {limit} passes, its limit"),
            )
            .at_limit(Limit::Passes)
        })
    }

    /// When a pass ends that starts now.
    fn until(&self, session: &Session, now: Instant) -> Instant {
        match self.credit {
            u64::MAX => session.deadline,
            0 => session.deadline.min(now + self.slice),
            // Blocking calls take their time too.
            _ => session.deadline.min(now + self.slice * 4),
        }
    }

    /// True if an exact pass ended because its slice did: it is run again with more time.
    fn was_cut_short(&mut self, session: &Session, late: bool) -> bool {
        let cut = late && self.credit < u64::MAX && Instant::now() < session.deadline;
        if cut {
            self.extend(session);
            self.passes -= 1;
        }
        cut
    }

    /// A longer slice, or no more guesses where that would take too much of the time.
    fn extend(&mut self, session: &Session) {
        let left = session.deadline.saturating_duration_since(Instant::now());
        if self.slice * 16 <= left || self.waits == Waits::Between {
            self.slice = (self.slice * 4).min(left);
        } else {
            self.credit = u64::MAX;
        }
    }

    /// After an inexact pass: how the next ones go on.
    fn learn(&mut self, session: &Session, pass: &ThrownAway) {
        self.spent += pass.took;
        let right = session.right_guesses();
        let all_wrong = self.guesses > 0 && right == self.right;
        (self.guesses, self.right) = (pass.guesses, right);
        if pass.guesses == 0 || all_wrong {
            self.singles += 1;
            if self.singles >= SINGLES {
                match self.waits {
                    Waits::Within => self.credit = self.credit.saturating_mul(CREDIT).max(CREDIT),
                    // A chain of calls is as long as it is; the deadline bounds it.
                    Waits::Between => self.steps += 1,
                }
            }
        } else {
            self.singles = 0;
            self.credit = 0;
        }
        if pass.ran_out && pass.guessed > self.slice / 2 && self.waits == Waits::Within {
            // It loops where an answer is missing: the next pass would do so again.
            self.credit = u64::MAX;
        } else if pass.ran_out || (pass.late && pass.guesses < FEW) {
            self.extend(session);
        }
        if self.spent > session.budget.timeout / 4 && self.waits == Waits::Within {
            self.credit = u64::MAX;
        }
    }
}

/// What an inexact pass teaches.
struct ThrownAway {
    took: Duration,
    /// How long it went on after its first noted call.
    guessed: Duration,
    ran_out: bool,
    late: bool,
    guesses: usize,
}
