//! Policy tests: rules named `test_*`, found, run and explained.
//!
//! Owns what is a test, when it passes, and why it failed. Evaluating belongs to
//! [`crate::evaluate`], how results are shown to whoever asked for them.
//!
//! As in OPA, each definition of a rule named `test_*` is a test of its own, the second of a name
//! being called `test_x#01`; a test passes when its value is `true`; a rule `test_x[case]` has a
//! result for each case, and a case that its body names but doesn't reach the end for has failed.
//! Names that begin with `todo_test_` are skipped. Unlike in OPA, a table without a single case
//! has failed: it tested nothing.

mod cases;
mod coverage;
mod explain;
mod find;
mod run;
mod suite;

use std::time::Duration;

pub use crate::explain::Operand;
pub use coverage::{CoverageReport, FileCoverage, Place, Range};
pub use run::TestOptions;
pub use suite::{Suite, Test};

use crate::evaluate::{Entry, Print, Recording};
use crate::{Error, Position};

/// What came of a test.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// Its value is `true`.
    Passed,
    /// It has no value, or another one.
    Failed(Failure),
    /// Its name says that it is to be skipped.
    Skipped,
    /// Something went wrong: there is no verdict.
    Error {
        /// What went wrong.
        error: Error,
        /// Where the evaluation stopped, if the error itself doesn't say.
        position: Option<Position>,
    },
}

/// A case of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The key: a string as it is, anything else as JSON.
    pub name: String,
    /// True if it passed, and everything within it.
    pub passed: bool,
    /// The cases within it, when the rule has several keys.
    pub cases: Vec<Case>,
}

/// Why a test failed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Failure {
    /// In a sentence, when there is more to say than that it isn't true.
    pub reason: Option<String>,
    /// The expression at which the test ended.
    pub cause: Option<Cause>,
}

/// The expression at which a test ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Cause {
    /// The keys of the table's first case that failed, each as a case's name.
    pub case: Vec<String>,
    /// Where it is.
    pub position: Position,
    /// What is the matter with it, such as `is false`.
    pub verdict: String,
    /// What its operands were.
    pub operands: Vec<Operand>,
}

/// What running a test left.
#[derive(Debug)]
#[non_exhaustive]
pub struct TestResult {
    /// The test.
    pub test: Test,
    /// What came of it.
    pub outcome: Outcome,
    /// The cases of a table.
    pub cases: Vec<Case>,
    /// How long it took.
    pub duration: Duration,
    /// What it printed, and nothing else.
    pub prints: Vec<Print>,
    /// The calls whose list was cut at the policy's own `limit`.
    pub cut: Vec<Entry>,
}

/// What running a suite left.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// The tests, in the order of the suite.
    pub results: Vec<TestResult>,
    /// Which lines were evaluated, when that was asked for.
    pub coverage: Option<CoverageReport>,
    /// Everything that a replay of the whole run needs.
    pub recording: Recording,
}

/// The number of tests there are of each outcome; of a table, each case counts, as in OPA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Tests that were skipped.
    pub skipped: usize,
    /// Tests without a verdict.
    pub errors: usize,
}

impl Counts {
    /// All of them.
    pub fn all(self) -> usize {
        self.passed + self.failed + self.skipped + self.errors
    }

    fn cases(&mut self, cases: &[Case]) {
        for case in cases {
            match case.cases.as_slice() {
                [] if case.passed => self.passed += 1,
                [] => self.failed += 1,
                within => self.cases(within),
            }
        }
    }
}

impl Run {
    /// The number of tests there are of each outcome.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for result in &self.results {
            match result.outcome {
                Outcome::Passed | Outcome::Failed(_) if !result.cases.is_empty() => {
                    counts.cases(&result.cases);
                }
                Outcome::Passed => counts.passed += 1,
                Outcome::Failed(_) => counts.failed += 1,
                Outcome::Skipped => counts.skipped += 1,
                Outcome::Error { .. } => counts.errors += 1,
            }
        }
        counts
    }
}
