//! Ctrl-C during a line: it stops the query, and the session goes on.
//!
//! Owns the effect of signals on a session at a terminal. While a line is typed, the editor reads
//! Ctrl-C as a key.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rego_platform::Error;
use rego_platform::evaluate::Cancellation;

use crate::signals::{self, Signals};
use crate::{Exit, output, unfinished};

/// The time that a line has to stop, after which another Ctrl-C ends the session: loading policies
/// can't be cancelled.
const GRACE: Duration = Duration::from_secs(1);

/// The line that is being executed.
#[derive(Default)]
struct Line {
    cancellation: Cancellation,
    cancelled: Option<Instant>,
}

/// Handles signals for the rest of the command.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<Mutex<Option<Line>>>);

impl Interrupt {
    pub fn listen() -> Result<Self, Error> {
        let interrupt = Self::default();
        let mut signals = Signals::listen()?;
        let own = interrupt.clone();
        let listens = move || {
            while let Ok(signal) = signals.next() {
                if matches!(signal, "SIGTERM" | "SIGHUP") || !own.stop() {
                    unfinished::end();
                    output::plain_note(&format!("interrupted ({signal})"));
                    std::process::exit(i32::from(Exit::NoVerdict.code()));
                }
            }
        };
        signals::thread(listens)?;
        Ok(interrupt)
    }

    /// Executes a line with the handle that cancels its evaluations.
    pub fn during<T>(&self, execute: impl FnOnce(Cancellation) -> T) -> T {
        let cancellation = self.0.lock().insert(Line::default()).cancellation.clone();
        let done = execute(cancellation);
        *self.0.lock() = None;
        done
    }

    /// Stops the line. Returns `false` if it was to stop before, and hasn't.
    fn stop(&self) -> bool {
        let mut line = self.0.lock();
        // Nothing is stopped between two lines.
        let Some(line) = line.as_mut() else { return true };
        line.cancellation.cancel();
        line.cancelled.get_or_insert_with(Instant::now).elapsed() < GRACE
    }
}
