//! The end of a run from outside: SIGINT, SIGTERM or SIGHUP.
//!
//! Reports are "not finished" until they are written, so a signal only has to end the command. While the settings
//! are read, it replaces the reports of an earlier run before that. Once inputs are
//! evaluated, the evaluations are cancelled first, and the run writes the reports of what is finished. A second
//! signal ends the command at once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rego_platform::Error;
use rego_platform::evaluate::Cancellation;

use crate::signals::{self, Signals};
use crate::{Exit, output, unfinished};

/// The time for a cancelled run to end: a request to the service ends at once, a built-in function at
/// its next check of the clock.
const GRACE: Duration = Duration::from_secs(10);

/// The state of a run that a signal depends on.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    is_evaluating: Arc<AtomicBool>,
    pub(crate) starting: Arc<Mutex<()>>,
    /// Replaces the reports of an earlier run, if this one hasn't got that far.
    pub(crate) first: Arc<Mutex<Option<FirstReports>>>,
    cancellation: Cancellation,
}

type FirstReports = Box<dyn FnOnce() + Send>;

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").finish_non_exhaustive()
    }
}

impl Interrupt {
    /// Starts handling signals.
    pub fn listen(&self) -> Result<(), Error> {
        let mut signals = Signals::listen()?;
        let own = self.clone();
        signals::thread(move || {
            let Ok(signal) = signals.next() else { return };
            drop(own.starting.lock());
            if let Some(replace) = own.first.lock().take() {
                replace();
            }
            if own.is_evaluating.load(Ordering::Relaxed) {
                own.cancellation.cancel();
                output::plain_note("interrupted: reporting what is finished");
                signals.within(GRACE);
            }
            unfinished::end();
            let message = format!("the run was interrupted ({signal})");
            output::error(&Error::cancelled(message));
            std::process::exit(i32::from(Exit::NoVerdict.code()))
        })
    }

    /// Returns what cancels the evaluations.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Records that evaluations begin.
    pub fn evaluating(&self) {
        self.is_evaluating.store(true, Ordering::Relaxed);
    }
}
