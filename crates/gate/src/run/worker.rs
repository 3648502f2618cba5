//! Evaluation of a policy over an input, and its verdict.
//!
//! Owns the messages between the threads of a run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rego_platform::evaluate::Evaluated;
use rego_platform::explain::Explanation;
use rego_platform::rego::Value;
use rego_platform::rego::internal::yaml::{Legacy, legacy};
use rego_platform::rego::value::interruptible;
use rego_platform::{Error, Limit};

use super::memory::MemoryShare;
use super::options::RunOptions;
use crate::input::{Facts, Input, Origin, YamlVersion, finish};
use crate::policy::{Check, Gate};
use crate::report::model::{self, Failure, Status, Verdict};
use crate::verdict::{VerdictContext, inconclusive, outcome};

/// The value of an input, its metadata as a material, and the differing value of YAML 1.1, if any.
type Reading = (Option<Value>, Option<Arc<Facts>>, Option<Legacy>);

/// An input that is being evaluated.
pub(super) struct QueuedInput {
    pub index: usize,
    pub input: Input,
    pub started: OnceLock<Instant>,
    /// `true` if unknown members are errors: every input of the run is an image.
    pub closed: bool,
    /// The share of the memory for inputs.
    pub _memory: MemoryShare,
}

impl QueuedInput {
    /// Reads its value within the time of an evaluation.
    fn read(&self, options: &RunOptions) -> Result<Reading, Error> {
        let timeout = options.evaluate.budget.timeout;
        let deadline = Instant::now().checked_add(timeout.saturating_sub(self.input.reading));
        let goes_on = move || deadline.is_none_or(|deadline| Instant::now() < deadline);
        interruptible(Arc::new(goes_on), || self.value(options.documents.yaml)).unwrap_or_else(
            || Err(Error::timed_out_after("reading the input", timeout).at_limit(Limit::Timeout)),
        )
    }

    /// Returns the value, the metadata as a material, and the value of YAML 1.1 if it differs and no version
    /// is selected.
    fn value(&self, yaml: Option<YamlVersion>) -> Result<Reading, Error> {
        let (value, facts) = self.input.value()?;
        let legacy = value.as_ref().filter(|_| yaml != Some(YamlVersion::V1_2)).and_then(legacy);
        Ok(match legacy {
            Some(legacy) if yaml.is_some() => (Some(legacy.value), facts, None),
            legacy => (value, facts, legacy),
        })
    }
}

/// The first input that didn't pass, which ends a run with `--fail-fast`. Those before it are evaluated,
/// whichever is done first: one of them may be the first.
#[derive(Debug)]
pub(super) struct Stop(AtomicUsize);

impl Default for Stop {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl Stop {
    /// Ends the run after an input.
    pub fn after(&self, index: usize) {
        self.0.fetch_min(index, Ordering::Relaxed);
    }

    /// Returns the index of the last input that counts.
    pub fn last(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns `true` if the run ends before an input.
    pub fn is_before(&self, index: usize) -> bool {
        index > self.last()
    }
}

/// Policies to evaluate over one input.
pub(super) struct Job {
    pub input: Arc<QueuedInput>,
    pub checks: Vec<usize>,
}

/// The result of one policy for one input.
pub(super) struct CheckResult {
    pub index: usize,
    pub check: usize,
    pub verdict: Verdict,
    pub evaluated: Option<Box<Evaluated>>,
    pub explanation: Option<Explanation>,
    /// `true` if the policy passed and none of its reached references to the input found a value.
    pub read_nothing: bool,
    /// Remarks about a policy that passed.
    pub remarks: Vec<String>,
    /// The time since the first of the input's policies began.
    pub since: Duration,
}

pub(super) enum Event {
    /// An input was read, with the number of policies to evaluate: 0 if it is unreadable.
    Began(usize, Box<model::Input>, usize),
    /// The results of a job.
    Done(Vec<CheckResult>),
    /// The text of an input couldn't be parsed for a number of policies.
    Unreadable(usize, Box<Failure>, usize),
    /// The run was stopped before a number of policies were evaluated with this input.
    Dropped(usize, usize),
    /// The run was stopped before this number of inputs was read.
    Left(usize),
}

impl Gate {
    /// Evaluates policies over one input until the run is stopped, and returns the results.
    pub(super) fn evaluate_all(
        &self,
        Job { input: queued, checks }: Job,
        stop: &Stop,
        options: &RunOptions,
    ) -> Vec<Event> {
        let (index, count) = (queued.index, checks.len());
        if stop.is_before(index) {
            return vec![Event::Dropped(index, count)];
        }
        queued.started.get_or_init(Instant::now);
        let (value, facts, legacy) = match queued.read(options) {
            Ok(read) => read,
            Err(error) => {
                let failure = Failure::new(&error, options.hint);
                return vec![Event::Unreadable(index, Box::new(failure), count)];
            }
        };
        let results: Vec<_> = checks
            .into_iter()
            .filter_map(|at| Some((at, self.checks.get(at)?)))
            .take_while(|_| !stop.is_before(index))
            .map(|(at, check)| {
                let input = (&*queued, value.clone(), facts.as_deref());
                let mut done = self.evaluate(input, at, check, options);
                if let Some(legacy) = &legacy {
                    self.read_again((&queued, legacy, facts.as_deref()), check, options, &mut done);
                }
                done
            })
            .collect();
        let dropped = count - results.len();
        let mut events = vec![Event::Done(results)];
        if dropped > 0 {
            events.push(Event::Dropped(index, dropped));
        }
        events
    }

    /// Evaluates a policy over the YAML 1.1 value of an input. A differing verdict is an error.
    fn read_again(
        &self,
        (queued, legacy, facts): (&QueuedInput, &Legacy, Option<&Facts>),
        check: &Check,
        options: &RunOptions,
        done: &mut CheckResult,
    ) {
        if done.verdict.status == Status::NoVerdict {
            return;
        }
        let again =
            self.evaluate((queued, Some(legacy.value.clone()), facts), done.check, check, options);
        if again.verdict.status != done.verdict.status {
            let error = outcome::two_readings(legacy);
            done.verdict = outcome::no_verdict(&check.package.name, &error, None, options.hint);
        }
    }

    /// Evaluates one policy over one input.
    fn evaluate(
        &self,
        (queued, value, facts): (&QueuedInput, Option<Value>, Option<&Facts>),
        index: usize,
        check: &Check,
        options: &RunOptions,
    ) -> CheckResult {
        let began = Instant::now();
        let (name, input) = (&check.package.name, &queued.input);
        let mut how = options.evaluate.clone();
        how.reached = true;
        let combined = options.documents.combine;
        inconclusive::describe(
            &mut how.input_kind,
            &check.context.metadata,
            (queued.closed, combined),
        );
        let started = *queued.started.get_or_init(Instant::now);
        let spent = started.elapsed().saturating_add(input.reading);
        how.budget.timeout = how.budget.timeout.saturating_sub(spent);
        let origin = Origin {
            file: input.file.as_deref(),
            digest: input.digest.as_deref(),
            kind: input.kind,
            signers: input.signers.as_deref(),
            facts,
        };
        let undescribed = || Error::internal("missing description of a policy");
        let prepared = finish(value, &check.context, &options.documents, origin);
        let prepared = prepared.and_then(|value| {
            let policy = self.policies.get(index).ok_or_else(undescribed)?;
            Ok((value, check.query(origin, combined)?, policy))
        });
        let (mut verdict, remarks, evaluated, explanation) = match prepared {
            Err(error) => {
                (outcome::no_verdict(name, &error, None, options.hint), Vec::new(), None, None)
            }
            Ok((value, query, policy)) => {
                let evaluated = check.policies.evaluate(&query, value.as_ref(), &how);
                let explain =
                    || check.policies.explain(&query, value.as_ref(), &evaluated, &how).ok();
                let explanation = options.explain.then(explain).flatten();
                let context = VerdictContext {
                    package: &check.package,
                    policy,
                    rules: &options.rules,
                    waivers: &options.waivers,
                    input: &input.name,
                    input_digest: input.digest.as_deref(),
                    subjects: &input.subjects,
                    product: &self.product,
                    today: options.today,
                    hint: options.hint,
                };
                let (verdict, remarks) = outcome::judge(&evaluated, &context);
                (verdict, remarks, Some(Box::new(evaluated)), explanation)
            }
        };
        let read_nothing = verdict.status == Status::Passed
            && evaluated.as_ref().is_some_and(|evaluated| evaluated.reached.read_nothing);
        verdict.duration_ms = millis(began.elapsed());
        CheckResult {
            index: queued.index,
            check: index,
            verdict,
            evaluated,
            explanation,
            read_nothing,
            remarks,
            since: started.elapsed(),
        }
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
