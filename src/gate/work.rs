//! The evaluation of one policy over one document, and its verdict.
//!
//! Owns the messages between the threads of a run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::rego::Value;

use super::conclude::{self, VerdictContext};
use super::documents;
use super::load::{Check, Gate};
use super::missing_fields::Sighting;
use super::model::{Input, Status, Subject, Verdict};
use super::options::RunOptions;
use super::reach::Site;
use super::split::MAX_BYTES;
use super::verdict;
use crate::evaluate::Evaluated;
use crate::explain::Explanation;
use crate::text::escape;
use crate::{Error, ErrorKind, Setting};

/// A document that is being evaluated.
pub(super) struct Work {
    pub index: usize,
    pub name: String,
    pub digest: Option<String>,
    pub subjects: Vec<Subject>,
    pub value: Option<Value>,
    /// The time it took to read, which counts against its time limit.
    pub reading: Duration,
    pub started: OnceLock<Instant>,
    /// Its share of the memory for documents.
    pub _memory: MemoryShare,
}

/// A bound on the text of all documents in memory, however many are evaluated at once. A document
/// waits until there is room; one larger than the bound waits until it is the only one.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryBound(Arc<(Mutex<usize>, Condvar)>);

/// A document's share of the memory, returned when it is dropped.
#[derive(Debug)]
pub(super) struct MemoryShare {
    bound: MemoryBound,
    bytes: usize,
}

impl MemoryBound {
    /// Waits until there is room for `bytes` more.
    pub fn take(&self, bytes: usize) -> MemoryShare {
        let (taken, changed) = &*self.0;
        let taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |taken: &mut usize| *taken > 0 && taken.saturating_add(bytes) > MAX_BYTES;
        let mut taken = changed.wait_while(taken, full).unwrap_or_else(PoisonError::into_inner);
        *taken += bytes;
        MemoryShare { bound: self.clone(), bytes }
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        let (taken, changed) = &*self.bound.0;
        *taken.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        changed.notify_all();
    }
}

/// The first input that didn't pass, behind which a run with `--fail-fast` evaluates nothing. Those
/// before it are evaluated, whichever is done first: one of them may be the first.
#[derive(Debug)]
pub(super) struct Stop(AtomicUsize);

impl Default for Stop {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl Stop {
    /// Ends the run behind an input.
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

/// The result of one policy for one document.
pub(super) struct CheckResult {
    pub index: usize,
    pub check: usize,
    pub verdict: Verdict,
    pub evaluated: Option<Box<Evaluated>>,
    pub explanation: Option<Explanation>,
    /// Set if the policy passed, and the input has none of the fields that it looks at.
    pub unseen: bool,
    /// What the input has of each field that the policy reads; empty if it gave no verdict.
    pub sightings: Vec<Sighting>,
    pub took: Duration,
}

pub(super) enum Event {
    /// An input was read; the flag is `false` if it is unreadable, so that no policy is evaluated
    /// with it.
    Began(usize, Box<Input>, bool),
    Done(Box<CheckResult>),
    /// The run was stopped before a policy was evaluated with this input.
    Dropped(usize),
    /// The run was stopped before this number of inputs was read.
    Left(usize),
}

impl Gate {
    /// Evaluates one policy over one document.
    pub(super) fn evaluate(
        &self,
        work: &Work,
        index: usize,
        check: &Check,
        options: &RunOptions,
    ) -> CheckResult {
        let began = Instant::now();
        let name = &check.package.name;
        let mut how = options.evaluate.clone();
        let started = *work.started.get_or_init(Instant::now);
        let spent = started.elapsed().saturating_add(work.reading);
        how.budget.timeout = how.budget.timeout.saturating_sub(spent);
        let value = documents::finish(work.value.clone(), &check.context, &options.documents);
        let mut explanation = None;
        let seen = value.as_ref().ok().and_then(|value| value.as_ref());
        let sightings = seen.map(|input| check.fields.sightings(input)).unwrap_or_default();
        let (mut verdict, evaluated) = match value {
            Err(error) => (conclude::no_verdict(name, &error, None), None),
            Ok(value) => {
                let evaluated = check.policies.evaluate(&check.package.query, value.as_ref(), &how);
                if options.explain {
                    let query = &check.package.query;
                    let found = check.policies.explain(query, value.as_ref(), &evaluated, &how);
                    explanation = found.ok();
                }
                let raw = match &evaluated.result {
                    Ok(output) => {
                        let described = self.policies.get(index).map_or(&[][..], |it| &it.rules);
                        verdict::read(&check.package.rules, described, output)
                    }
                    Err(error) => Err(error.clone()),
                };
                let calls = evaluated.ledger.asked_of_service();
                let required = match &raw {
                    Ok(raw) if options.require_calls && !raw.skipped && !raw.ignored => {
                        require_calls(check, calls, &sightings)
                    }
                    _ => Ok(()),
                };
                let verdict =
                    match (raw.and_then(|raw| required.map(|()| raw)), self.policies.get(index)) {
                        (Ok(raw), Some(policy)) => conclude::verdict(
                            raw,
                            &VerdictContext {
                                package: &check.package,
                                policy,
                                rules: &options.rules,
                                waivers: &options.waivers,
                                input: &work.name,
                                input_digest: work.digest.as_deref(),
                                subjects: &work.subjects,
                            },
                        ),
                        (Ok(_), None) => {
                            let error = Error::new(ErrorKind::Internal, "a policy isn't described");
                            conclude::no_verdict(name, &error, None)
                        }
                        (Err(error), _) => {
                            conclude::no_verdict(name, &error, evaluated.failed_at.clone())
                        }
                    };
                (verdict, Some(Box::new(evaluated)))
            }
        };
        let passed = verdict.status == Status::Passed && verdict.violations.is_empty();
        let combined = options.documents.combine;
        let sees_nothing = |input| check.context.sees_nothing_of(input, combined);
        let unseen = passed && work.value.as_ref().is_some_and(sees_nothing);
        let judged = matches!(verdict.status, Status::Passed | Status::Failed);
        let took = began.elapsed();
        verdict.duration_ms = millis(took);
        CheckResult {
            index: work.index,
            check: index,
            verdict,
            evaluated,
            explanation,
            unseen,
            sightings: if judged { sightings } else { Vec::new() },
            took,
        }
    }
}

/// Refuses the verdict of a policy that made no call, or couldn't make one for lack of a field,
/// although calls are required.
fn require_calls(check: &Check, calls: usize, sightings: &[Sighting]) -> Result<(), Error> {
    if !check.sites.iter().any(Site::asks_service) {
        return Ok(());
    }
    if calls == 0 {
        return Err(without_calls(check));
    }
    let Some(field) = check.fields.unasked(sightings) else { return Ok(()) };
    let at = &field.position;
    let message = format!(
        "the input has no `{}`, so the call of the service at {}:{} isn't made, and it is required",
        escape(&field.name()),
        at.file,
        at.line
    );
    Err(Error::new(ErrorKind::Policy, message)
        .with_hint("test for a field that may be missing, as in `not input.image`"))
}

/// Returns the error for a policy that made no call although one is required.
fn without_calls(check: &Check) -> Error {
    let error = Error::new(
        ErrorKind::Policy,
        "the policy must call the service for each input, and made no call for this one",
    )
    .by_setting(Setting::RequiredCalls);
    match check.sites.iter().find(|site| site.asks_service()) {
        Some(site) => error.with_hint(format!(
            "`{}` at {}:{} was never reached: check that the input has the values that its rule needs",
            site.function, site.position.file, site.position.line
        )),
        None => error,
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
