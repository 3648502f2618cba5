//! The end of a run from outside: SIGINT, SIGTERM or SIGHUP.
//!
//! Owns the effect of a signal at each point of a run. Before inputs are evaluated, every report is
//! written as "no verdict" and the command ends; afterwards the evaluations are cancelled, and the
//! run itself writes the reports of what is done. A second signal ends the command at once.
//!
//! Signals are handled from the start of the process, before the command line is parsed: an older
//! report that says "passed" must not outlast a run that was to replace it.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rego_platform::evaluate::Cancellation;
use rego_platform::{Error, ErrorKind};
use rego_platform_gate::model::{Failure, Run};

use super::outputs::{self, Reports};
use crate::signals::{self, Signals};
use crate::{Exit, hint, output, unfinished};

/// The time for a cancelled run to end: a wait for the service ends at once, a built-in function at
/// its next check of the clock.
const GRACE: Duration = Duration::from_secs(10);

/// The progress of a run.
#[derive(Default)]
enum Phase {
    /// The command line is being parsed.
    #[default]
    Starting,
    /// Another subcommand runs.
    Elsewhere,
    /// Policies are being loaded, and the service's addresses looked up. The function creates the
    /// reports.
    Preparing(Box<dyn Fn() -> Reports + Send>),
    /// The same, while policies are evaluated.
    Evaluating(Box<dyn Fn() -> Reports + Send>),
    /// The verdict is final, and reports are being written.
    Writing,
}

/// The state of a run that a signal depends on.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    phase: Arc<Mutex<Phase>>,
    cancellation: Cancellation,
}

impl Interrupt {
    /// Returns `true` if arguments may be a call of this subcommand.
    pub fn concerns(arguments: &[OsString]) -> bool {
        arguments.iter().skip(1).any(|argument| argument == "gate")
    }

    /// Starts handling signals. Until the `arguments` are parsed, a plain scan of them finds the
    /// reports of the run.
    pub fn listen(arguments: Vec<OsString>) -> Result<Self, Error> {
        let interrupt = Self::default();
        let mut signals = Signals::listen()?;
        let own = interrupt.clone();
        signals::thread(move || {
            let Ok(signal) = signals.next() else { return };
            let mut phase = own.phase();
            if matches!(*phase, Phase::Evaluating(_) | Phase::Writing) {
                if matches!(*phase, Phase::Evaluating(_)) {
                    own.cancellation.cancel();
                    output::plain_note("interrupted: reporting what is finished");
                }
                drop(phase);
                signals.within(GRACE);
                phase = own.phase();
            }
            // From here on the phase can't change: the reports aren't written twice.
            unfinished::end();
            let reports = match &*phase {
                Phase::Starting => outputs::scan(&arguments),
                Phase::Preparing(reports) | Phase::Evaluating(reports) => Some(reports()),
                Phase::Elsewhere => None,
                Phase::Writing => std::process::exit(i32::from(Exit::NoVerdict.code())),
            };
            let error = interrupted(signal);
            output::error(&error);
            if let Some(mut reports) = reports {
                let run =
                    Run::without_verdict(super::tool(), Failure::new(&error, hint::of_failure));
                reports.without_verdict(&run, &error);
            }
            std::process::exit(i32::from(Exit::NoVerdict.code()))
        })?;
        Ok(interrupt)
    }

    /// Returns what cancels the evaluations.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Notes that another subcommand runs, which has no reports.
    pub fn elsewhere(&self) {
        *self.phase() = Phase::Elsewhere;
    }

    /// Notes which reports the run has.
    pub(super) fn preparing(&self, reports: impl Fn() -> Reports + Send + 'static) {
        *self.phase() = Phase::Preparing(Box::new(reports));
    }

    pub fn evaluating(&self) {
        let mut phase = self.phase();
        *phase = match std::mem::take(&mut *phase) {
            Phase::Preparing(reports) => Phase::Evaluating(reports),
            other => other,
        };
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
