//! The signals that ask a command to end: SIGINT, SIGTERM and SIGHUP, or Ctrl-C on other systems.
//!
//! Owns handling them. Each subcommand decides what ends and what is still written. SIGHUP stays
//! ignored if it was at the start, as under `nohup`: the command outlasts its terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rego_platform::Error;

/// The time in which signals count as one.
const SAME: Duration = Duration::from_millis(300);

static HANDLED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if signals still end the process by themselves.
pub(super) fn are_default() -> bool {
    !HANDLED.load(Ordering::Relaxed)
}

/// Starts the thread that waits for signals.
pub(super) fn thread(wait: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let started = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
    started
        .map(|_| ())
        .map_err(|error| Error::internal("a thread can't be started").with_source(error))
}

/// The signals, handled from the creation of this value on.
pub(super) struct Signals {
    runtime: tokio::runtime::Runtime,
    #[cfg(unix)]
    signals: Vec<(tokio::signal::unix::Signal, &'static str)>,
}

impl Signals {
    pub fn listen() -> Result<Self, Error> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
        #[cfg(unix)]
        let signals = {
            use tokio::signal::unix::{SignalKind, signal};
            let _inside = runtime.enter();
            let mut kinds =
                vec![(SignalKind::interrupt(), "SIGINT"), (SignalKind::terminate(), "SIGTERM")];
            if !is_hangup_ignored() {
                kinds.push((SignalKind::hangup(), "SIGHUP"));
            }
            let listen = |(kind, name)| Ok((signal(kind)?, name));
            kinds.into_iter().map(listen).collect::<std::io::Result<_>>().map_err(broken)?
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
        Ok(self.runtime.block_on(any(&mut self.signals)))
    }

    /// Waits for the next signal and returns its name.
    #[cfg(not(unix))]
    pub fn next(&mut self) -> Result<&'static str, Error> {
        self.runtime.block_on(tokio::signal::ctrl_c()).map_err(broken)?;
        Ok("Ctrl-C")
    }

    /// Waits for a further signal, for `time` at most. Returns `true` if there was one. Those that
    /// come with the last one are the same: `timeout`, shells and CI systems send a signal to the
    /// process and then to its group.
    pub fn within(&mut self, time: Duration) -> bool {
        let start = Instant::now();
        while self.wait(SAME.saturating_sub(start.elapsed())) {}
        self.wait(time.saturating_sub(start.elapsed()))
    }

    /// Waits for a signal, for `time` at most. Returns `true` if there was one.
    fn wait(&mut self, time: Duration) -> bool {
        #[cfg(unix)]
        let done = {
            let signals = &mut self.signals;
            self.runtime.block_on(async { tokio::time::timeout(time, any(signals)).await })
        };
        #[cfg(not(unix))]
        let done = self
            .runtime
            .block_on(async { tokio::time::timeout(time, tokio::signal::ctrl_c()).await });
        done.is_ok()
    }
}

/// Waits for one of the signals and returns its name.
#[cfg(unix)]
async fn any(signals: &mut [(tokio::signal::unix::Signal, &'static str)]) -> &'static str {
    std::future::poll_fn(|context| {
        let mut all = signals.iter_mut();
        let came =
            all.find_map(|(signal, name)| signal.poll_recv(context).is_ready().then_some(*name));
        came.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
    })
    .await
}

/// Returns `true` if the process was started with SIGHUP ignored, or if that isn't known: where
/// nothing states it, SIGHUP keeps its effect.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is number 1, the lowest bit.
    mask.is_none_or(|mask| mask & 1 == 1)
}

fn broken(error: std::io::Error) -> Error {
    Error::internal("signals can't be listened to").with_source(error)
}
