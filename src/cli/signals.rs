//! The signals that ask a command to end: SIGINT and SIGTERM, or Ctrl-C on other systems.
//!
//! Owns handling them. Each subcommand decides what ends and what is still written.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, ErrorKind};

static HANDLED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if signals still end the process by themselves.
pub(super) fn are_default() -> bool {
    !HANDLED.load(Ordering::Relaxed)
}

/// Starts the thread that waits for signals.
pub(super) fn thread(wait: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let started = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
    started.map(|_| ()).map_err(|error| {
        Error::new(ErrorKind::Internal, "a thread can't be started").with_source(error)
    })
}

/// The signals, handled from the creation of this value on.
pub(super) struct Signals {
    runtime: tokio::runtime::Runtime,
    #[cfg(unix)]
    signals: [(tokio::signal::unix::Signal, &'static str); 2],
}

impl Signals {
    pub fn listen() -> Result<Self, Error> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
        #[cfg(unix)]
        let signals = {
            use tokio::signal::unix::{SignalKind, signal};
            let _inside = runtime.enter();
            [
                (signal(SignalKind::interrupt()).map_err(broken)?, "SIGINT"),
                (signal(SignalKind::terminate()).map_err(broken)?, "SIGTERM"),
            ]
        };
        HANDLED.store(true, Ordering::Relaxed);
        Ok(Self {
            runtime,
            #[cfg(unix)]
            signals,
        })
    }

    /// Waits for the next signal and returns its name.
    #[cfg(unix)]
    #[allow(clippy::unnecessary_wraps, reason = "waiting can fail on other systems")]
    pub fn next(&mut self) -> Result<&'static str, Error> {
        let [(interrupt, first), (terminate, second)] = &mut self.signals;
        Ok(self.runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => *first,
                _ = terminate.recv() => *second,
            }
        }))
    }

    /// Waits for the next signal and returns its name.
    #[cfg(not(unix))]
    pub fn next(&mut self) -> Result<&'static str, Error> {
        self.runtime.block_on(tokio::signal::ctrl_c()).map_err(broken)?;
        Ok("Ctrl-C")
    }

    /// Waits for the next signal, for `time` at most. Returns `true` if there was one.
    pub fn within(&mut self, time: std::time::Duration) -> bool {
        #[cfg(unix)]
        let done = {
            let [(interrupt, _), (terminate, _)] = &mut self.signals;
            self.runtime.block_on(async {
                tokio::time::timeout(time, async {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                    }
                })
                .await
            })
        };
        #[cfg(not(unix))]
        let done = self
            .runtime
            .block_on(async { tokio::time::timeout(time, tokio::signal::ctrl_c()).await });
        done.is_ok()
    }
}

fn broken(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Internal, "signals can't be listened to").with_source(error)
}
