//! The end of a run from outside: SIGINT or SIGTERM.
//!
//! Owns the effect of a signal at each point of a run. Before inputs are evaluated, every report is
//! written as "no verdict" and the command ends; afterwards the evaluations are cancelled, and the
//! run itself writes the reports of what is done. A second signal ends the command at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::outputs::Reports;
use crate::cli::signals::Signals;
use crate::cli::{Exit, output};
use crate::evaluate::Cancellation;
use crate::gate::model::{Failure, Run};
use crate::{Error, ErrorKind};

/// The time for a cancelled run to end: a wait for the service ends at once, a built-in function at
/// its next check of the clock.
const GRACE: Duration = Duration::from_secs(10);

/// The progress of a run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Policies are being loaded, and the service's addresses looked up.
    #[default]
    Preparing,
    Evaluating,
    /// The verdict is final, and reports are being written.
    Writing,
}

/// The state of a run that a signal depends on.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupt {
    phase: Arc<Mutex<Phase>>,
    cancellation: Cancellation,
}

impl Interrupt {
    /// Starts handling signals. `reports` creates the reports of a run that a signal ends, and
    /// `without_verdict` the run that they show.
    pub fn listen(
        reports: impl Fn() -> Reports + Send + 'static,
        without_verdict: impl Fn(Failure) -> Run + Send + 'static,
    ) -> Result<Self, Error> {
        let interrupt = Self::default();
        let mut signals = Signals::listen()?;
        let own = interrupt.clone();
        let listens = move || {
            let Ok(signal) = signals.next() else { return };
            let mut phase = own.phase();
            if *phase != Phase::Preparing {
                if *phase == Phase::Evaluating {
                    own.cancellation.cancel();
                    output::plain_note("interrupted: reporting what is finished");
                }
                drop(phase);
                signals.within(GRACE);
                phase = own.phase();
            }
            // From here on the phase can't change: the reports aren't written twice.
            if *phase != Phase::Writing {
                let error = interrupted(signal);
                output::error(&error);
                reports().without_verdict(&without_verdict(Failure::from(&error)));
            }
            std::process::exit(i32::from(Exit::NoVerdict.code()))
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(listens).map_err(|error| {
            Error::new(ErrorKind::Internal, "a thread can't be started").with_source(error)
        })?;
        Ok(interrupt)
    }

    /// Returns what cancels the evaluations.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    pub fn evaluating(&self) {
        *self.phase() = Phase::Evaluating;
    }

    pub fn writing(&self) {
        *self.phase() = Phase::Writing;
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn interrupted(signal: &str) -> Error {
    Error::new(ErrorKind::Cancelled, format!("the run was interrupted ({signal})"))
}
