//! What a run says of itself while it goes on: a bar on a terminal; in a log a line each ten
//! seconds, and what policies print.
//!
//! Owns standard error during a run.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::Platform;
use crate::cli::explain::{self, Explain};
use crate::cli::output::{self, Reporter};
use crate::evaluate::Print;
use crate::explain::Explanation;
use crate::gate::RunObserver;
use crate::gate::model::{Input, Outcome};
use crate::text::{escape, shorten};

/// In a log, a line each time this has passed.
const EVERY: Duration = Duration::from_secs(10);

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    reporter: Reporter,
    sums: Arc<Sums>,
    explain: Option<Explain>,
    /// Ends the thread that writes lines when it is dropped.
    _lines: Option<mpsc::Sender<()>>,
}

/// How far a run has come.
struct Sums {
    platform: Option<Platform>,
    done: [AtomicU64; 3],
    /// The input that was begun last.
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
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_empty() { Ok(()) } else { write!(f, "; last begun: {last}") }
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
        let lines = (wanted && bar.is_none()).then(|| lines(reporter, Arc::clone(&sums), EVERY));
        Self { bar, reporter, sums, explain: None, _lines: lines }
    }

    /// Shows what was found out about each policy.
    pub fn explaining(mut self, explain: Option<Explain>) -> Self {
        self.explain = explain;
        self
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Writes a line each time `every` has passed, until what it returns is dropped.
fn lines(reporter: Reporter, sums: Arc<Sums>, every: Duration) -> mpsc::Sender<()> {
    let (ends, ended) = mpsc::channel();
    let began = Instant::now();
    // Without it the run goes on all the same.
    let _ = std::thread::Builder::new().name("progress".to_owned()).spawn(move || {
        while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let seconds = began.elapsed().as_secs();
            reporter.note(&format!("after {seconds} s: {sums}"));
        }
    });
    ends
}

impl RunObserver for Progress {
    fn began(&mut self, name: &str) {
        *self.sums.last.lock().unwrap_or_else(PoisonError::into_inner) = shorten(name, 60);
        if let Some(bar) = &self.bar {
            bar.set_message(self.sums.to_string());
        }
    }

    fn printed(&mut self, input: &str, print: &Print) {
        let place = format!("{input}: {}:{}", print.file, print.line);
        let say = || output::print(&place, &print.message);
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    fn explained(&mut self, input: &str, explanation: &Explanation) {
        let Some(what) = self.explain else { return };
        let say = || explain::show(explanation, what, &format!("{}: ", escape(input)));
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
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
        if let Some(call) = input.ledger.calls.iter().find(|call| call.cut && call.needed) {
            let message = format!(
                "{}({}): the service had more results than the `limit` of the policy",
                call.function, call.arguments
            );
            let say = || self.reporter.warning(&message);
            match &self.bar {
                Some(bar) => bar.suspend(say),
                None => say(),
            }
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
