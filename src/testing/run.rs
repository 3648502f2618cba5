//! Running tests, several at a time and independently of each other.
//!
//! Owns the threads, the outcome of a rule's value, and the cases of tables. Failures are explained
//! by `explain` after all tests have run.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::rego::Value;

use super::cases::{self, cases};
use super::coverage::Reached;
use super::find::TestShape;
use super::suite::{Member, Suite, TestRun};
use super::{Case, Failure, Run, TestOutcome, TestResult, coverage, explain};
use crate::Error;
use crate::evaluate::{
    CoverageTracer, Covered, EvaluateOptions, Evaluated, Query, Recording, Shortcut,
};
use crate::explain::replaying;
use crate::text::shorten;

/// Options for running tests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TestOptions {
    /// The options for evaluating each test; the time limit is per test.
    pub evaluate: EvaluateOptions,
    /// The number of tests that run at the same time.
    pub parallel: NonZeroUsize,
    /// Set to find out why tests failed.
    pub explain: bool,
}

impl TestOptions {
    /// Creates options that run one test per core and explain failures.
    pub fn new(evaluate: EvaluateOptions) -> Self {
        let parallel = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { evaluate, parallel, explain: true }
    }
}

impl Suite {
    /// Runs the tests.
    ///
    /// # Errors
    /// When a thread ends without a result, or the answers can't be recorded. The error of a single
    /// test is its outcome.
    pub fn run(&self, options: &TestOptions) -> Result<Run, Error> {
        let next = AtomicUsize::new(0);
        let done: Mutex<BTreeMap<usize, TestRun>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..options.parallel.get().min(self.members.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(member) = self.members.get(index) else { break };
                        let ran = self.run_test(member, &options.evaluate);
                        done.lock().insert(index, ran);
                    }
                });
            }
        });
        let mut done = done.into_inner();
        if options.explain {
            explain::failures(self, &mut done, &options.evaluate);
        }
        self.finish(done, options)
    }

    fn finish(&self, done: BTreeMap<usize, TestRun>, options: &TestOptions) -> Result<Run, Error> {
        let mut recording = Ok(Recording::new());
        let mut reached = Reached::default();
        let mut results = Vec::with_capacity(done.len());
        for (member, ran) in self.members.iter().zip(done.into_values()) {
            let (mut prints, mut cut, mut builtin_errors) = (Vec::new(), Vec::new(), 0);
            if let Some(evaluated) = ran.evaluated {
                recording = recording.and_then(|mut all: Recording| {
                    all.merge(evaluated.recording()?)?;
                    Ok(all)
                });
                cut.extend(evaluated.ledger.cut().cloned());
                builtin_errors = evaluated.builtin_errors();
                reached.spans.add(evaluated.covered);
                prints = evaluated.prints;
            }
            reached.without_index.add(ran.without_index);
            reached.without_exits.add(ran.without_exits);
            results.push(TestResult {
                test: member.test.clone(),
                outcome: ran.outcome,
                cases: ran.cases,
                duration: ran.duration,
                prints,
                cut,
                builtin_errors,
            });
        }
        if results.len() != self.members.len() {
            return Err(Error::internal("a test's thread ended without a result"));
        }
        let coverage =
            options.evaluate.coverage.then(|| coverage::report(self.policies.program(), &reached));
        Ok(Run { results, coverage, recording })
    }

    fn run_test(&self, member: &Member, options: &EvaluateOptions) -> TestRun {
        let ran = |outcome| TestRun {
            outcome,
            cases: Vec::new(),
            failed: None,
            duration: Duration::ZERO,
            evaluated: None,
            without_index: Covered::default(),
            without_exits: Covered::default(),
        };
        let failed = |reason: &str| {
            ran(TestOutcome::Failed(Failure { reason: Some(reason.to_owned()), cause: None }))
        };
        if member.found.is_skipped() {
            return ran(TestOutcome::Skipped);
        }
        match member.found.shape {
            TestShape::Part => {
                failed("unexpected value of a test: expected `true`, found a set or an object")
            }
            TestShape::Function => {
                let error = Error::policy_failed("a test takes no arguments")
                    .with_hint("give the function a name that doesn't begin with `test_`");
                ran(TestOutcome::Error { error, position: Some(member.test.position.clone()) })
            }
            TestShape::Plain | TestShape::Table => {
                let query = self.policies.query_path(&member.path());
                let started = Instant::now();
                let evaluated = self.policies.evaluate(&query, None, options);
                let duration = started.elapsed();
                let (outcome, cases, failed) = outcome(member, &evaluated);
                let without =
                    |shortcut| self.covered_without(shortcut, &query, &evaluated, options);
                let without_index = without(Shortcut::Index);
                let without_exits = without(Shortcut::EarlyExit);
                let evaluated = Some(evaluated);
                TestRun {
                    outcome,
                    cases,
                    failed,
                    duration,
                    evaluated,
                    without_index,
                    without_exits,
                }
            }
        }
    }
}

impl Suite {
    /// Evaluates a test again for its coverage, without a shortcut and without any request: a call
    /// that the test itself didn't need ends the evaluation.
    fn covered_without(
        &self,
        shortcut: Shortcut,
        query: &Query,
        evaluated: &Evaluated,
        options: &EvaluateOptions,
    ) -> Covered {
        if !options.coverage || evaluated.result.is_err() {
            return Covered::default();
        }
        let Ok(options) = replaying(evaluated, options) else { return Covered::default() };
        let tracer = CoverageTracer::without(shortcut);
        self.policies.evaluate_watched(query, None, &options, &tracer);
        tracer.into_covered()
    }
}

/// Returns the outcome for a test's value, with the cases of a table and the keys of the first
/// failed one.
fn outcome(member: &Member, evaluated: &Evaluated) -> (TestOutcome, Vec<Case>, Option<Vec<Value>>) {
    let value = match &evaluated.result {
        Ok(answer) => answer.value(),
        Err(error) => {
            let position = evaluated.failed_at.clone();
            return (TestOutcome::Error { error: error.clone(), position }, Vec::new(), None);
        }
    };
    let fail = |reason| TestOutcome::Failed(Failure { reason, cause: None });
    if let TestShape::Table = member.found.shape {
        let named = &evaluated.cases;
        let all = cases(value, named);
        return if all.is_empty() {
            (fail(Some("the table has no cases".to_owned())), all, None)
        } else if all.iter().all(|case| case.passed) {
            (TestOutcome::Passed, all, None)
        } else {
            let failed = named.iter().find(|keys| !cases::holds(value, keys));
            (fail(None), all, failed.cloned())
        };
    }
    let outcome = match value {
        Some(Value::Bool(true)) => TestOutcome::Passed,
        None | Some(Value::Bool(false)) => fail(None),
        Some(other) => {
            let shown = shorten(&other.to_json(), 200);
            fail(Some(format!("unexpected value of the test: expected `true`, found `{shown}`")))
        }
    };
    (outcome, Vec::new(), None)
}
