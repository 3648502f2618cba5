//! The progress of a run: a bar on a terminal, a line every ten seconds in a log; and the output of
//! policies' `print`.
//!
//! Owns standard error during a run.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;
use rego_platform::Platform;
use rego_platform::evaluate::Print;
use rego_platform::explain::Explanation;
use rego_platform_client::text::{escape, shorten};
use rego_platform_gate::RunObserver;
use rego_platform_gate::model::{Input, Outcome};

use crate::explain::{self, Explain};
use crate::output::{self, Reporter};

/// The time between two lines in a log.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    sums: Arc<Sums>,
    explain: Option<Explain>,
    /// The sender whose drop ends the thread that writes lines.
    _lines: Option<mpsc::Sender<()>>,
}

/// The counts of a run's progress.
struct Sums {
    platform: Option<Platform>,
    done: [AtomicU64; 3],
    /// The input that was started last.
    last: Mutex<String>,
}

impl std::fmt::Display for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [passed, failed, none] = self.done.each_ref().map(|sum| sum.load(Ordering::Relaxed));
        let calls = self.platform.as_ref().map_or(0, Platform::calls_in_flight);
        write!(
            f,
            "{passed} passed, {failed} failed, {none} without a verdict, {calls} calls in flight"
        )?;
        let last = self.last.lock();
        if last.is_empty() { Ok(()) } else { write!(f, "; last started: {last}") }
    }
}

impl Progress {
    pub fn new(reporter: Reporter, platform: Option<Platform>, wanted: bool) -> Self {
        let bar = (wanted && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let sums = Sums { platform, done: <[AtomicU64; 3]>::default(), last: Mutex::default() };
        let sums = Arc::new(sums);
        let lines = (wanted && bar.is_none())
            .then(|| lines(Arc::clone(&sums), LINE_INTERVAL, move |text| reporter.note(text)));
        Self { bar, sums, explain: None, _lines: lines }
    }

    /// Sets the kind of explanations that are shown for each policy.
    pub fn explaining(mut self, explain: Option<Explain>) -> Self {
        self.explain = explain;
        self
    }

    /// Removes the bar.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Starts a thread that writes a line every `every`, until the returned sender is dropped.
fn lines(
    sums: Arc<Sums>,
    every: Duration,
    write: impl Fn(&str) + Send + 'static,
) -> mpsc::Sender<()> {
    let (ends, ended) = mpsc::channel();
    let began = Instant::now();
    // The run continues without the thread.
    let _ = std::thread::Builder::new().name("progress".to_owned()).spawn(move || {
        while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let seconds = began.elapsed().as_secs();
            write(&format!("after {seconds} s: {sums}"));
        }
    });
    ends
}

impl RunObserver for Progress {
    fn began(&mut self, name: &str) {
        *self.sums.last.lock() = shorten(name, 60);
        if let Some(bar) = &self.bar {
            bar.set_message(self.sums.to_string());
        }
    }

    fn printed(&mut self, input: &str, print: &Print) {
        let place = format!("{input}: {}:{}", print.file, print.line);
        let show = || output::print(&place, &print.message);
        match &self.bar {
            Some(bar) => bar.suspend(show),
            None => show(),
        }
    }

    fn explained(&mut self, input: &str, explanation: &Explanation) {
        let Some(what) = self.explain else { return };
        let show = || explain::show(explanation, what, &format!("{}: ", escape(input)));
        match &self.bar {
            Some(bar) => bar.suspend(show),
            None => show(),
        }
    }

    fn ended(&mut self, input: &Input) {
        let index = match input.outcome {
            Outcome::Passed => 0,
            Outcome::Failed => 1,
            Outcome::NoVerdict => 2,
        };
        if let Some(count) = self.sums.done.get(index) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(bar) = &self.bar {
            bar.set_message(self.sums.to_string());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_log_gets_lines_until_the_run_ends() {
        let sums =
            Sums { platform: None, done: <[AtomicU64; 3]>::default(), last: Mutex::default() };
        let sums = Arc::new(sums);
        let (write, written) = mpsc::channel();
        let every = Duration::from_millis(1);
        let running = lines(Arc::clone(&sums), every, move |text| {
            let _ = write.send(text.to_owned());
        });
        let first = written.recv().unwrap();
        let start = "0 passed, 0 failed, 0 without a verdict, 0 calls in flight";
        assert!(first.starts_with("after ") && first.ends_with(start), "{first}");
        sums.done.last().unwrap().fetch_add(3, Ordering::Relaxed);
        "b.json".clone_into(&mut sums.last.lock());
        let end = ", 3 without a verdict, 0 calls in flight; last started: b.json";
        assert!(written.iter().any(|text| text.ends_with(end)));
        drop(running);
        // The thread ends, and with it the channel.
        assert!(written.iter().all(|text| text.ends_with(end)));
    }
}
