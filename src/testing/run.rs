//! Running tests: several at a time, each by itself.
//!
//! Owns the threads, the verdict on a rule's value, and the cases of tables. Why a test failed is
//! found out by `explain`, after all tests ran.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::rego::Value;

use super::find::Shape;
use super::probe::{Probe, Probed};
use super::suite::{Member, Suite};
use super::{Case, Failure, Outcome, Run, TestResult, coverage, explain, source};
use crate::evaluate::load::on_large_stack;
use crate::evaluate::{Answers, EvaluateOptions, Evaluated, Recording, Replay};
use crate::text::shorten;
use crate::{Error, ErrorKind};

/// How tests are run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunOptions {
    /// How each test is evaluated; the time is each test's.
    pub evaluate: EvaluateOptions,
    /// How many tests run at a time.
    pub parallel: NonZeroUsize,
    /// Whether to find out why tests failed.
    pub explain: bool,
}

impl RunOptions {
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
    pub fn run(&self, options: &RunOptions) -> Result<Run, Error> {
        let tables = Tables::load(self)?;
        let next = AtomicUsize::new(0);
        let done: Mutex<BTreeMap<usize, Ran>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..options.parallel.get().min(self.members.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(member) = self.members.get(index) else { break };
                        let ran = self.one(index, member, &tables, &options.evaluate);
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

    fn finish(&self, done: BTreeMap<usize, Ran>, options: &RunOptions) -> Result<Run, Error> {
        let mut recording = Recording::new();
        let mut lines = BTreeMap::new();
        let mut results = Vec::with_capacity(done.len());
        for (member, ran) in self.members.iter().zip(done.into_values()) {
            let (mut prints, mut cut) = (Vec::new(), Vec::new());
            if let Some(evaluated) = ran.evaluated {
                recording.merge(evaluated.recording()?);
                cut.extend(evaluated.ledger.cut().cloned());
                coverage::add(&mut lines, evaluated.lines);
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
        let coverage = options
            .evaluate
            .coverage
            .then(|| coverage::report(&self.sources.modules, self.load.rego_v0, &lines))
            .transpose()?;
        Ok(Run { results, coverage, recording })
    }

    fn one(
        &self,
        index: usize,
        member: &Member,
        tables: &Tables,
        options: &EvaluateOptions,
    ) -> Ran {
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
                let reference = member.reference(&member.given);
                // The interpreter doesn't find a rule with several keys by its name alone.
                let query = match member.found.shape {
                    Shape::Table(_) => format!("[cases | cases := {reference}]"),
                    _ => reference,
                };
                let query = match self.policies.query(&query) {
                    Ok(query) => query,
                    Err(error) => return ran(Outcome::Error { error, position: None }),
                };
                let started = Instant::now();
                let mut evaluated = self.policies.evaluate(&query, None, options);
                let duration = started.elapsed();
                let (outcome, cases, failed) =
                    self.verdict(index, member, tables, &mut evaluated, options);
                Ran { outcome, cases, failed, duration, evaluated: Some(evaluated) }
            }
        }
    }

    fn verdict(
        &self,
        index: usize,
        member: &Member,
        tables: &Tables,
        evaluated: &mut Evaluated,
        options: &EvaluateOptions,
    ) -> (Outcome, Vec<Case>, Option<Vec<Value>>) {
        let value = match &evaluated.result {
            Ok(answer) => answer.value().cloned(),
            Err(error) => {
                let error = self.in_authors_words(error.clone(), member);
                let position = evaluated.failed_at.clone().map(|p| self.authors_line(p));
                return (Outcome::Error { error, position }, Vec::new(), None);
            }
        };
        let fail = |reason| Outcome::Failed(Failure { reason, cause: None });
        if let Shape::Table(depth) = member.found.shape {
            let named =
                replaying(evaluated, options).and_then(|options| tables.named(index, &options));
            let named = match named {
                Ok(named) => named,
                Err(error) => {
                    return (Outcome::Error { error, position: None }, Vec::new(), None);
                }
            };
            let object = value.as_ref().and_then(|v| v.as_array().ok()).and_then(|v| v.first());
            let cases = cases(object, &named, depth);
            return if cases.is_empty() {
                (fail(Some("the table has no case".to_owned())), cases, None)
            } else if cases.iter().all(|case| case.passed) {
                (Outcome::Passed, cases, None)
            } else {
                let failed = named.into_iter().find(|keys| !holds(object, keys));
                (fail(None), cases, failed)
            };
        }
        let outcome = match value {
            Some(Value::Bool(true)) => Outcome::Passed,
            None | Some(Value::Bool(false)) => fail(None),
            Some(other) => {
                let shown = shorten(&serde_json::to_string(&other).unwrap_or_default(), 200);
                fail(Some(format!("the value is `{shown}`, and a test passes only with `true`")))
            }
        };
        (outcome, Vec::new(), None)
    }
}

/// Options under which everything that `evaluated` was told is answered again, and nothing is
/// asked.
pub(super) fn replaying(
    evaluated: &Evaluated,
    options: &EvaluateOptions,
) -> Result<EvaluateOptions, Error> {
    let replay = Replay::new(evaluated.recording()?);
    let mut replaying = EvaluateOptions::new(Answers::Replay(Arc::new(replay)));
    replaying.budget = options.budget.clone();
    replaying.strict_builtin_errors = options.strict_builtin_errors;
    replaying.not_found = options.not_found;
    Ok(replaying)
}

/// The cases that a table's body names, whether or not it reaches its end for them.
struct Tables {
    probed: Option<Probed>,
    /// The probes of a test: the first that wasn't refused is the one.
    probes: BTreeMap<usize, Vec<usize>>,
}

impl Tables {
    fn load(suite: &Suite) -> Result<Self, Error> {
        let mut probes = Vec::new();
        let mut of = BTreeMap::new();
        on_large_stack(|| -> Result<(), Error> {
            for (member, test) in suite.members.iter().enumerate() {
                if !matches!(test.found.shape, Shape::Table(_)) {
                    continue;
                }
                let Some(module) = suite.sources.modules.get(test.found.module) else { continue };
                let terms = source::parsed(module, suite.load.rego_v0, |syntax, text| {
                    let rule = syntax.policy.get(test.found.rule);
                    rule.map(|rule| explain::case_terms(rule, text)).unwrap_or_default()
                })?;
                let first = probes.len();
                probes.extend(terms.into_iter().map(|term| Probe { member, term }));
                of.insert(member, (first..probes.len()).collect());
            }
            Ok(())
        })??;
        let probed = if probes.is_empty() { None } else { Some(Probed::load(suite, &probes)?) };
        Ok(Self { probed, probes: of })
    }

    /// The keys of each case, outermost first.
    fn named(&self, index: usize, options: &EvaluateOptions) -> Result<Vec<Vec<Value>>, Error> {
        let unknown = || {
            Error::new(ErrorKind::Policy, "the cases of the table can't be found out")
                .with_hint("bind the case's name with `some name, case in cases`")
        };
        let probed = self.probed.as_ref().ok_or_else(unknown)?;
        let mut accepted =
            self.probes.get(&index).into_iter().flatten().filter(|probe| probed.has(**probe));
        let probe = accepted.next().ok_or_else(unknown)?;
        let value = probed.value(*probe, options).ok_or_else(unknown)?;
        let Value::Set(rows) = value else { return Err(unknown()) };
        rows.iter()
            .map(|row| match row {
                Value::Array(keys) => Ok(keys.iter().cloned().collect()),
                _ => Err(unknown()),
            })
            .collect()
    }
}

/// Whether a case's value is `true`.
fn holds(object: Option<&Value>, keys: &[Value]) -> bool {
    let step = |value: Option<&Value>, key: &Value| -> Option<Value> {
        value?.as_object().ok()?.get(key).cloned()
    };
    let found = keys.iter().fold(object.cloned(), |value, key| step(value.as_ref(), key));
    found == Some(Value::from(true))
}

/// A case's name: a string as it is, anything else as JSON.
pub(super) fn name(key: &Value) -> String {
    match key {
        Value::String(text) => text.to_string(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// The cases of a table: those that have a result, and those that were named only.
fn cases(value: Option<&Value>, named: &[Vec<Value>], depth: usize) -> Vec<Case> {
    let object = match value {
        Some(Value::Object(object)) => Some(object),
        _ => None,
    };
    let mut below: BTreeMap<Value, Vec<Vec<Value>>> = BTreeMap::new();
    for keys in named {
        if let Some((first, rest)) = keys.split_first() {
            below.entry(first.clone()).or_default().push(rest.to_vec());
        }
    }
    for key in object.into_iter().flat_map(|object| object.keys()) {
        below.entry(key.clone()).or_default();
    }
    below
        .into_iter()
        .map(|(key, named)| {
            let value = object.and_then(|object| object.get(&key));
            let name = name(&key);
            let cases = if depth > 1 { cases(value, &named, depth - 1) } else { Vec::new() };
            let passed = match depth {
                0 | 1 => value == Some(&Value::from(true)),
                _ => !cases.is_empty() && cases.iter().all(|case| case.passed),
            };
            Case { name, passed, cases }
        })
        .collect()
}
