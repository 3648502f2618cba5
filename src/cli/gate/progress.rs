//! What a run says of itself while it goes on: a bar on a terminal, nothing in a log but what
//! policies print.
//!
//! Owns standard error during a run.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::Platform;
use crate::cli::explain::{self, Explain};
use crate::cli::output::{self, Reporter};
use crate::evaluate::Print;
use crate::explain::Explanation;
use crate::gate::Observer;
use crate::gate::model::{Input, Outcome};
use crate::text::{escape, shorten};

/// In a log, a line for every so many inputs.
const EVERY: u64 = 1_000;

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    reporter: Reporter,
    platform: Option<Platform>,
    explain: Option<Explain>,
    done: [u64; 3],
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
        Self { bar, reporter, platform, explain: None, done: [0; 3] }
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

    fn sums(&self) -> String {
        let [passed, failed, none] = self.done;
        let calls = self.platform.as_ref().map_or(0, Platform::calls_in_flight);
        format!(
            "{passed} passed, {failed} failed, {none} without a verdict, {calls} calls in flight"
        )
    }
}

impl Observer for Progress {
    fn began(&mut self, name: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: {}", self.sums(), shorten(name, 60)));
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
        if let Some(count) = self.done.get_mut(index) {
            *count += 1;
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
        let all: u64 = self.done.iter().sum();
        match &self.bar {
            Some(bar) => bar.set_message(self.sums()),
            None if all.is_multiple_of(EVERY) => self.reporter.note(&self.sums()),
            None => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
