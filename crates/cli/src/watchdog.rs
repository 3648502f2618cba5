//! The end of a command at its deadline, whatever the interpreter is doing.
//!
//! The client and the evaluation have their own deadlines and better messages; this is for code
//! that doesn't get to check the clock.

use std::io::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rego_platform::{Error, ErrorKind};

use super::Exit;

/// The time left for the deadlines with better messages.
const GRACE: Duration = Duration::from_secs(1);

/// Ends the process unless it is dropped in time.
pub(super) struct Watchdog {
    _alive: mpsc::Sender<()>,
}

/// Starts the countdown.
pub(super) fn start(timeout: Duration) -> Result<Watchdog, Error> {
    let (alive, gone) = mpsc::channel::<()>();
    std::thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(move || {
            if gone.recv_timeout(timeout.saturating_add(GRACE)) == Err(RecvTimeoutError::Timeout) {
                end(timeout);
            }
        })
        .map_err(|error| {
            Error::new(ErrorKind::Internal, "the watchdog can't be started").with_source(error)
        })?;
    Ok(Watchdog { _alive: alive })
}

fn end(timeout: Duration) -> ! {
    // Printed on a thread of its own: another thread may hold standard error's lock for ever.
    let printer = std::thread::spawn(move || {
        let timeout = humantime::format_duration(timeout);
        let _ = writeln!(
            std::io::stderr(),
            "error: no result after {timeout}\nhelp: `--timeout` gives it more time"
        );
    });
    for _ in 0..20 {
        if printer.is_finished() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    std::process::exit(i32::from(Exit::NoVerdict.code()))
}
