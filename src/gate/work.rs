//! One document and one policy: the evaluation and its verdict.
//!
//! Owns what travels between the threads of a run.

use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::rego::Value;

use super::conclude::{self, Circumstances};
use super::documents;
use super::load::{Check, Gate};
use super::model::{Input, Subject, Verdict};
use super::reach::Site;
use super::run::RunOptions;
use super::split::MAX_BYTES;
use super::verdict;
use crate::evaluate::Evaluated;
use crate::explain::Explanation;
use crate::{Error, ErrorKind};

/// A document that is being evaluated.
pub(super) struct Work {
    pub index: usize,
    pub name: String,
    pub digest: Option<String>,
    pub subjects: Vec<Subject>,
    pub value: Option<Value>,
    /// How long it took to read, which counts against its time.
    pub reading: Duration,
    pub started: OnceLock<Instant>,
    /// Its part of what may be in memory at a time.
    pub _weight: Weight,
}

/// Bounds the text of all documents that are in memory at a time, however many are asked about at
/// once: a document waits until there is room, and one that fills it alone is the only one.
#[derive(Debug, Clone, Default)]
pub(super) struct Room(Arc<(Mutex<usize>, Condvar)>);

/// A document's part of the room, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Weight {
    room: Room,
    bytes: usize,
}

impl Room {
    /// Waits until `bytes` more fit.
    pub fn take(&self, bytes: usize) -> Weight {
        let (taken, changed) = &*self.0;
        let taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |taken: &mut usize| *taken > 0 && taken.saturating_add(bytes) > MAX_BYTES;
        let mut taken = changed.wait_while(taken, full).unwrap_or_else(PoisonError::into_inner);
        *taken += bytes;
        Weight { room: self.clone(), bytes }
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        let (taken, changed) = &*self.room.0;
        *taken.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        changed.notify_all();
    }
}

/// What one policy made of one document.
pub(super) struct Done {
    pub index: usize,
    pub check: usize,
    pub verdict: Verdict,
    pub evaluated: Option<Box<Evaluated>>,
    pub explanation: Option<Explanation>,
    pub took: Duration,
}

pub(super) enum Event {
    /// An input was read; whether policies are asked about it.
    Began(usize, Box<Input>, bool),
    Done(Box<Done>),
    /// The run was stopped before this came to anything.
    Dropped(usize),
    /// The run was stopped before these were read.
    Left(usize),
}

impl Gate {
    /// Asks one policy about one document.
    pub(super) fn evaluate(
        &self,
        work: &Work,
        index: usize,
        check: &Check,
        options: &RunOptions,
    ) -> Done {
        let began = Instant::now();
        let name = &check.asked.name;
        let mut how = options.evaluate.clone();
        let started = *work.started.get_or_init(Instant::now);
        let spent = started.elapsed().saturating_add(work.reading);
        how.budget.timeout = how.budget.timeout.saturating_sub(spent);
        let value = documents::finish(work.value.clone(), &check.given, &options.documents);
        let mut explanation = None;
        let (verdict, evaluated) = match value {
            Err(error) => (conclude::no_verdict(name, &error, None), None),
            Ok(value) => {
                let evaluated = check.policies.evaluate(&check.asked.query, value.as_ref(), &how);
                if options.explain {
                    let query = &check.asked.query;
                    let found = check.policies.explain(query, value.as_ref(), &evaluated, &how);
                    explanation = found.ok();
                }
                let said = match &evaluated.result {
                    Ok(output) => verdict::read(&check.asked.parts, output),
                    Err(error) => Err(error.clone()),
                };
                let calls = evaluated.ledger.asked_of_service();
                let verdict = match (said, self.policies.get(index)) {
                    (Ok(said), _)
                        if options.require_calls
                            && calls == 0
                            && check.sites.iter().any(Site::asks_service)
                            && !said.skipped
                            && !said.ignored =>
                    {
                        conclude::no_verdict(name, &without_calls(check), None)
                    }
                    (Ok(said), Some(policy)) => conclude::verdict(
                        said,
                        &Circumstances {
                            asked: &check.asked,
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
        let took = began.elapsed();
        Done { index: work.index, check: index, verdict, evaluated, explanation, took }
    }
}

/// A policy that can ask the service had to, and didn't.
fn without_calls(check: &Check) -> Error {
    let error = Error::new(
        ErrorKind::Policy,
        "the policy asked the service nothing about this input, and `--require-calls` wants it to",
    );
    match check.sites.iter().find(|site| site.asks_service()) {
        Some(site) => error.with_hint(format!(
            "`{}` at {}:{} was never reached: is what it is asked with in the input?",
            site.function, site.position.file, site.position.line
        )),
        None => error,
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
