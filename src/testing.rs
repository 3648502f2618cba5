//! Policy tests: finding, running and explaining rules named `test_*`.
//!
//! Owns the rules for what is a test, when it passes, and why it failed. Evaluating belongs to
//! [`crate::evaluate`], showing results to the caller.
//!
//! As in OPA, each definition of a rule named `test_*` is a separate test; the second one of a name
//! is called `test_x#01`. A test passes if its value is `true`. A rule `test_x[case]` has a result
//! for each case, and a case whose keys its body reaches without getting to the end has failed.
//! Tests whose names begin with `todo_test_` are skipped. Unlike in OPA, a table without any case
//! has failed: it tested nothing.

mod cases;
mod coverage;
mod explain;
mod find;
mod places;
mod run;
mod suite;

use std::time::Duration;

pub use crate::explain::Operand;
pub use coverage::{CoverageKind, CoverageReport, FileCoverage, NotCovered};
pub use places::{Place, Range};
pub use run::TestOptions;
pub use suite::{Suite, Test};

use crate::evaluate::{CallRecord, Print, Recording};
use crate::{Error, Position};

/// The outcome of a test.
#[derive(Debug)]
#[non_exhaustive]
pub enum TestOutcome {
    /// The test's value is `true`.
    Passed,
    /// The test is undefined or has a value other than `true`.
    Failed(Failure),
    /// The test is skipped because of its name.
    Skipped,
    /// The evaluation failed, so the test neither passed nor failed.
    Error {
        /// The error of the evaluation.
        error: Error,
        /// The position at which the evaluation stopped, if the error has none of its own.
        position: Option<Position>,
    },
}

/// A case of a table test.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// The key: a string as it is, any other value as JSON.
    pub name: String,
    /// `true` if it and all cases within it passed.
    pub passed: bool,
    /// The cases within it, if the rule has several keys.
    pub cases: Vec<Case>,
}

/// The reason why a test failed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Failure {
    /// A sentence, unless the value just isn't `true`.
    pub reason: Option<String>,
    /// The expression at which the test failed.
    pub cause: Option<Cause>,
}

/// The expression at which a test failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Cause {
    /// The keys of the first failed case of a table, each as a case's name.
    pub case: Vec<String>,
    /// The position at which the expression begins.
    pub position: Position,
    /// The way in which it failed, such as `is false`.
    pub verdict: String,
    /// The expression's operands with their values.
    pub operands: Vec<Operand>,
}

/// The result of running a test.
#[derive(Debug)]
#[non_exhaustive]
pub struct TestResult {
    /// The rule that was evaluated.
    pub test: Test,
    /// The outcome.
    pub outcome: TestOutcome,
    /// The cases of a table test.
    pub cases: Vec<Case>,
    /// The time it took.
    pub duration: Duration,
    /// The test's own `print` output.
    pub prints: Vec<Print>,
    /// The calls whose list was cut at the policy's own `limit`.
    pub cut: Vec<CallRecord>,
    /// The number of built-in functions' errors that were treated as undefined.
    pub builtin_errors: u64,
}

/// The result of running a suite.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// The tests, in the order of the suite.
    pub results: Vec<TestResult>,
    /// The coverage of the policies, if it was requested.
    pub coverage: Option<CoverageReport>,
    /// A recording of the calls of the whole run; an error if two tests got different outcomes of
    /// the same call, or if a response can't be recorded.
    pub recording: Result<Recording, Error>,
}

/// The number of tests with each outcome; each case of a table counts, as in OPA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The number of tests that passed.
    pub passed: usize,
    /// The number of tests that failed.
    pub failed: usize,
    /// The number of tests that were skipped.
    pub skipped: usize,
    /// The number of tests that ended with an error.
    pub errors: usize,
}

impl Counts {
    /// Returns the number of all tests.
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
    /// Returns the number of tests with each outcome.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for result in &self.results {
            match result.outcome {
                TestOutcome::Passed | TestOutcome::Failed(_) if !result.cases.is_empty() => {
                    counts.cases(&result.cases);
                }
                TestOutcome::Passed => counts.passed += 1,
                TestOutcome::Failed(_) => counts.failed += 1,
                TestOutcome::Skipped => counts.skipped += 1,
                TestOutcome::Error { .. } => counts.errors += 1,
            }
        }
        counts
    }
}
