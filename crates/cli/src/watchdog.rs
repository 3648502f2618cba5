//! The end of a command at its deadline, whatever it is doing.
//!
//! The client and the evaluation have their own deadlines and better messages; this is for what doesn't check
//! the clock: searching folders, pipes without a writer, code of the interpreter. A command that goes on for
//! longer than `--timeout`, such as a server, stops the countdown when it has begun.

use std::io::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use parking_lot::Mutex;
use rego_platform::Error;

use super::{Exit, unfinished};

/// The time left for the deadlines with better messages.
const GRACE: Duration = Duration::from_secs(1);

/// The countdown of the command.
static COMMAND: Mutex<Option<Watchdog>> = Mutex::new(None);

/// Ends the process unless it is dropped in time.
pub(super) struct Watchdog {
    _alive: mpsc::Sender<()>,
}

/// Starts the countdown of the command, in place of one that runs.
pub(super) fn begin(timeout: Duration) -> Result<(), Error> {
    let watchdog = start(timeout)?;
    *COMMAND.lock() = Some(watchdog);
    Ok(())
}

/// Starts the countdown again if it runs, for a step that has the whole time.
pub(super) fn again(timeout: Duration) -> Result<(), Error> {
    let runs = COMMAND.lock().is_some();
    if runs { begin(timeout) } else { Ok(()) }
}

/// Stops the countdown of the command.
pub(super) fn stop() {
    *COMMAND.lock() = None;
}

/// Starts the countdown of a part of a command.
pub(super) fn start(timeout: Duration) -> Result<Watchdog, Error> {
    let (alive, gone) = mpsc::channel::<()>();
    std::thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(move || {
            if gone.recv_timeout(timeout.saturating_add(GRACE)) == Err(RecvTimeoutError::Timeout) {
                end(timeout);
            }
        })
        .map_err(|error| Error::internal("the watchdog can't be started").with_source(error))?;
    Ok(Watchdog { _alive: alive })
}

fn end(timeout: Duration) -> ! {
    // On a thread of its own: another thread may hold a lock forever.
    let printer = std::thread::spawn(move || {
        let timeout = humantime::format_duration(timeout);
        let _ = writeln!(
            std::io::stderr(),
            "error: no result after {timeout}\nhelp: `--timeout` raises the limit"
        );
        unfinished::end();
    });
    for _ in 0..20 {
        if printer.is_finished() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    std::process::exit(i32::from(Exit::NoVerdict.code()))
}
