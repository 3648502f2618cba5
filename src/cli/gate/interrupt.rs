//! The end of a run from outside: SIGINT or SIGTERM.
//!
//! Owns what a signal does at which point of a run. Before inputs are evaluated, every report says
//! "no verdict" and the command ends; afterwards the evaluations are cancelled, and the run itself
//! writes the reports of what is done. Whoever sends a second signal doesn't want to wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::outputs::Reports;
use crate::cli::signals::Signals;
use crate::cli::{Exit, output};
use crate::evaluate::Cancellation;
use crate::gate::model::{Failure, Run};
use crate::{Error, ErrorKind};

/// How long a run may take to come to its end once it is cancelled: what waits for the service ends
/// at once, a built-in function at its next look at the clock.
const GRACE: Duration = Duration::from_secs(10);

/// How far a run has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Policies are loaded, the service's addresses looked for.
    #[default]
    Preparing,
    Evaluating,
    /// The verdict stands, and reports are being written.
    Writing,
}

/// A run as whoever interrupts it sees it.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupt {
    phase: Arc<Mutex<Phase>>,
    cancellation: Cancellation,
}

impl Interrupt {
    /// Listens to signals from now on. `reports` makes what writes the reports of a run that came
    /// to nothing, and `lost` what they then say.
    pub fn listen(
        reports: impl Fn() -> Reports + Send + 'static,
        lost: impl Fn(Failure) -> Run + Send + 'static,
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
                    output::plain_note("interrupted: what is done so far is being reported");
                }
                drop(phase);
                signals.within(GRACE);
                phase = own.phase();
            }
            // From here on the phase stays as it is: the reports aren't written twice.
            if *phase != Phase::Writing {
                let error = interrupted(signal);
                output::error(&error);
                reports().without_verdict(&lost(Failure::from(&error)));
            }
            std::process::exit(i32::from(Exit::NoVerdict.code()))
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(listens).map_err(|error| {
            Error::new(ErrorKind::Internal, "a thread can't be started").with_source(error)
        })?;
        Ok(interrupt)
    }

    /// What cancels the evaluations.
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
