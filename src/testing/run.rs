//! Running tests: several at a time, each by itself.
//!
//! Owns the threads, the verdict on a rule's value, and the cases of tables. Why a test failed is
//! found out by `explain`, after all tests ran.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::rego::Value;

use super::cases::{self, cases};
use super::find::Shape;
use super::suite::{Member, Suite};
use super::{Case, Failure, Outcome, Run, TestResult, coverage, explain};
use crate::evaluate::{Covered, EvaluateOptions, Evaluated, Recording};
use crate::text::shorten;
use crate::{Error, ErrorKind};

/// How tests are run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TestOptions {
    /// How each test is evaluated; the time is each test's.
    pub evaluate: EvaluateOptions,
    /// The number of tests that run at a time.
    pub parallel: NonZeroUsize,
    /// Whether to find out why tests failed.
    pub explain: bool,
}

impl TestOptions {
    /// One test for each core at a time, and failures explained.
    pub fn new(evaluate: EvaluateOptions) -> Self {
        let parallel = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { evaluate, parallel, explain: true }
    }
}

/// What one test left, before failures are explained.
pub(super) struct Ran {
    pub outcome: Outcome,
    pub cases: Vec<Case>,
    /// The keys of the first case that failed.
    pub failed: Option<Vec<Value>>,
    pub duration: Duration,
    /// What was evaluated, unless nothing was.
    pub evaluated: Option<Evaluated>,
}

impl Suite {
    /// Runs the tests.
    ///
    /// # Errors
    /// When nothing can be said about any test; a test that goes wrong is an outcome.
    pub fn run(&self, options: &TestOptions) -> Result<Run, Error> {
        let next = AtomicUsize::new(0);
        let done: Mutex<BTreeMap<usize, Ran>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..options.parallel.get().min(self.members.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(member) = self.members.get(index) else { break };
                        let ran = self.one(member, &options.evaluate);
                        done.lock().unwrap_or_else(PoisonError::into_inner).insert(index, ran);
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        if options.explain {
            explain::failures(self, &mut done, &options.evaluate);
        }
        self.finish(done, options)
    }

    fn finish(&self, done: BTreeMap<usize, Ran>, options: &TestOptions) -> Result<Run, Error> {
        let mut recording = Recording::new();
        let mut lines = Covered::default();
        let mut results = Vec::with_capacity(done.len());
        for (member, ran) in self.members.iter().zip(done.into_values()) {
            let (mut prints, mut cut) = (Vec::new(), Vec::new());
            if let Some(evaluated) = ran.evaluated {
                recording.merge(evaluated.recording()?);
                cut.extend(evaluated.ledger.cut().cloned());
                lines.add(evaluated.covered);
                prints = evaluated.prints;
            }
            results.push(TestResult {
                test: member.test.clone(),
                outcome: ran.outcome,
                cases: ran.cases,
                duration: ran.duration,
                prints,
                cut,
            });
        }
        if results.len() != self.members.len() {
            return Err(Error::new(ErrorKind::Internal, "a test's thread ended without a result"));
        }
        let coverage =
            options.evaluate.coverage.then(|| coverage::report(self.policies.program(), lines));
        Ok(Run { results, coverage, recording })
    }

    fn one(&self, member: &Member, options: &EvaluateOptions) -> Ran {
        let ran = |outcome| Ran {
            outcome,
            cases: Vec::new(),
            failed: None,
            duration: Duration::ZERO,
            evaluated: None,
        };
        let failed = |reason: &str| {
            ran(Outcome::Failed(Failure { reason: Some(reason.to_owned()), cause: None }))
        };
        if member.found.is_skipped() {
            return ran(Outcome::Skipped);
        }
        match member.found.shape {
            Shape::Part => failed("a test's value is `true`, not an object or a set"),
            Shape::Function => {
                let error = Error::new(ErrorKind::Policy, "a test takes no arguments")
                    .with_hint("give the function a name that doesn't begin with `test_`");
                ran(Outcome::Error { error, position: Some(member.test.position.clone()) })
            }
            Shape::Plain | Shape::Table(_) => {
                let query = self.policies.query_path(&member.path());
                let started = Instant::now();
                let evaluated = self.policies.evaluate(&query, None, options);
                let duration = started.elapsed();
                let (outcome, cases, failed) = verdict(member, &evaluated);
                Ran { outcome, cases, failed, duration, evaluated: Some(evaluated) }
            }
        }
    }
}

/// What a test's value says, with the cases of a table and the keys of the first that failed.
fn verdict(member: &Member, evaluated: &Evaluated) -> (Outcome, Vec<Case>, Option<Vec<Value>>) {
    let value = match &evaluated.result {
        Ok(answer) => answer.value(),
        Err(error) => {
            let position = evaluated.failed_at.clone();
            return (Outcome::Error { error: error.clone(), position }, Vec::new(), None);
        }
    };
    let fail = |reason| Outcome::Failed(Failure { reason, cause: None });
    if let Some(depth) = cases::depth(member.found.shape) {
        let named = &evaluated.cases;
        let all = cases(value, named, depth);
        return if all.is_empty() {
            (fail(Some("the table has no cases".to_owned())), all, None)
        } else if all.iter().all(|case| case.passed) {
            (Outcome::Passed, all, None)
        } else {
            let failed = named.iter().find(|keys| !cases::holds(value, keys));
            (fail(None), all, failed.cloned())
        };
    }
    let outcome = match value {
        Some(Value::Bool(true)) => Outcome::Passed,
        None | Some(Value::Bool(false)) => fail(None),
        Some(other) => {
            let shown = shorten(&other.to_json(), 200);
            fail(Some(format!("the value is `{shown}`, and a test passes only with `true`")))
        }
    };
    (outcome, Vec::new(), None)
}
