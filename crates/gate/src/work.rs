//! The evaluation of one policy over one document, and its verdict.
//!
//! Owns the messages between the threads of a run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rego_platform::evaluate::Evaluated;
use rego_platform::explain::Explanation;
use rego_platform::rego::Value;
use rego_platform::rego::internal::yaml::{Legacy, legacy};
use rego_platform::{Error, ErrorKind};

use super::conclude::{self, VerdictContext};
use super::documents::{self, YamlVersion};
use super::inputs::Content;
use super::load::{Check, Gate};
use super::memory::MemoryShare;
use super::metadata::Origin;
use super::model::{Failure, Input, Signer, Status, Subject, Verdict};
use super::options::RunOptions;
use super::verdict::{self, RawVerdict};

/// A document that is being evaluated.
pub(super) struct Work {
    pub index: usize,
    pub name: String,
    /// The name of its file.
    pub file: Option<String>,
    pub digest: Option<String>,
    pub subjects: Vec<Subject>,
    /// Who signed it; `None` if that wasn't checked.
    pub signers: Option<Vec<Signer>>,
    pub content: Mutex<Content>,
    /// The time it took to read, which counts against its time limit.
    pub reading: Duration,
    pub started: OnceLock<Instant>,
    /// Its share of the memory for documents.
    pub _memory: MemoryShare,
}

impl Work {
    /// Returns its value, which is parsed once, and as YAML 1.1 reads it, if no version is chosen and that differs.
    fn value(&self, yaml: Option<YamlVersion>) -> Result<(Option<Value>, Option<Legacy>), Error> {
        let value = self.parsed()?;
        let legacy = value.as_ref().filter(|_| yaml != Some(YamlVersion::V1_2)).and_then(legacy);
        Ok(match legacy {
            Some(legacy) if yaml.is_some() => (Some(legacy.value), None),
            legacy => (value, legacy),
        })
    }

    fn parsed(&self) -> Result<Option<Value>, Error> {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let held = std::mem::replace(&mut *content, Content::Value(None));
        let value = held.value(self.file.as_deref().unwrap_or_default());
        *content = match &value {
            Ok(value) => Content::Value(value.clone()),
            Err(error) => Content::Unreadable(error.clone()),
        };
        value
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

/// Some of the policies, to be evaluated over one document.
pub(super) struct Job {
    pub work: Arc<Work>,
    pub checks: Vec<usize>,
}

/// The result of one policy for one document.
pub(super) struct CheckResult {
    pub index: usize,
    pub check: usize,
    pub verdict: Verdict,
    pub evaluated: Option<Box<Evaluated>>,
    pub explanation: Option<Explanation>,
    /// Set if the policy passed and reached references to fields of the input, of which none found
    /// anything.
    pub read_nothing: bool,
    /// The time since the first of the input's policies began.
    pub since: Duration,
}

pub(super) enum Event {
    /// An input was read, with which this number of policies is evaluated: none if it is unreadable.
    Began(usize, Box<Input>, usize),
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
    /// Returns the verdicts of an input that passed before.
    pub(super) fn reused(&self, index: usize, checks: Vec<usize>) -> Event {
        let passed = |check: usize| {
            let name = self.checks.get(check)?.package.name.clone();
            Some(CheckResult {
                index,
                check,
                verdict: Verdict::of(name, Status::Passed),
                evaluated: None,
                explanation: None,
                read_nothing: false,
                since: Duration::ZERO,
            })
        };
        Event::Done(checks.into_iter().filter_map(passed).collect())
    }

    /// Evaluates policies over one document until the run is stopped, and returns the results.
    pub(super) fn evaluate_all(
        &self,
        Job { work, checks }: Job,
        stop: &Stop,
        options: &RunOptions,
    ) -> Vec<Event> {
        let (document, count) = (work.index, checks.len());
        if stop.is_before(document) {
            return vec![Event::Dropped(document, count)];
        }
        work.started.get_or_init(Instant::now);
        let (value, legacy) = match work.value(options.documents.yaml) {
            Ok(value) => value,
            Err(error) => {
                let failure = conclude::failure(&error, None, options.hint);
                return vec![Event::Unreadable(document, Box::new(failure), count)];
            }
        };
        let results: Vec<_> = checks
            .into_iter()
            .filter_map(|index| Some((index, self.checks.get(index)?)))
            .take_while(|_| !stop.is_before(document))
            .map(|(index, check)| {
                let mut done = self.evaluate((&work, value.clone()), index, check, options);
                if let Some(legacy) = &legacy {
                    self.read_again((&work, legacy), check, options, &mut done);
                }
                done
            })
            .collect();
        let dropped = count - results.len();
        let mut events = vec![Event::Done(results)];
        if dropped > 0 {
            events.push(Event::Dropped(document, dropped));
        }
        events
    }

    /// Evaluates a policy over a document as YAML 1.1 reads it: a verdict that differs is none.
    fn read_again(
        &self,
        (work, legacy): (&Work, &Legacy),
        check: &Check,
        options: &RunOptions,
        done: &mut CheckResult,
    ) {
        if done.verdict.status == Status::NoVerdict {
            return;
        }
        let again = self.evaluate((work, Some(legacy.value.clone())), done.check, check, options);
        if again.verdict.status != done.verdict.status {
            let error = conclude::two_readings(legacy);
            done.verdict = conclude::no_verdict(&check.package.name, &error, None, options.hint);
        }
    }

    /// Evaluates one policy over one document.
    fn evaluate(
        &self,
        (work, value): (&Work, Option<Value>),
        index: usize,
        check: &Check,
        options: &RunOptions,
    ) -> CheckResult {
        let began = Instant::now();
        let name = &check.package.name;
        let mut how = options.evaluate.clone();
        how.reached = true;
        let started = *work.started.get_or_init(Instant::now);
        let spent = started.elapsed().saturating_add(work.reading);
        how.budget.timeout = how.budget.timeout.saturating_sub(spent);
        let origin = Origin {
            file: work.file.as_deref(),
            digest: work.digest.as_deref(),
            kind: self.kind_of(&options.documents.metadata, work.file.as_deref()),
            signers: work.signers.as_deref(),
        };
        let value = documents::finish(value, &check.context, &options.documents, origin);
        let mut explanation = None;
        let (mut verdict, evaluated) = match value
            .and_then(|value| Ok((value, check.query(origin, options.documents.combine)?)))
        {
            Err(error) => (conclude::no_verdict(name, &error, None, options.hint), None),
            Ok((value, query)) => {
                let evaluated = check.policies.evaluate(&query, value.as_ref(), &how);
                if options.explain {
                    let found = check.policies.explain(&query, value.as_ref(), &evaluated, &how);
                    explanation = found.ok();
                }
                let raw = match &evaluated.result {
                    Ok(output) => {
                        let described =
                            self.policies.get(index).map_or(&[][..], |policy| &policy.rules);
                        verdict::read(&check.package, described, output).and_then(bounded)
                    }
                    Err(error) => Err(error.clone()),
                };
                let verdict = match (raw, self.policies.get(index)) {
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
                        conclude::no_verdict(name, &error, None, options.hint)
                    }
                    (Err(error), _) => conclude::no_verdict(
                        name,
                        &error,
                        evaluated.failed_at.clone(),
                        options.hint,
                    ),
                };
                let verdict = match conclude::cannot_pass(&evaluated.reached) {
                    Some((error, at)) if verdict.status == Status::Passed => {
                        conclude::no_verdict(name, &error, Some(at), options.hint)
                    }
                    _ => verdict,
                };
                (verdict, Some(Box::new(evaluated)))
            }
        };
        let read_nothing = verdict.status == Status::Passed
            && evaluated.as_ref().is_some_and(|evaluated| evaluated.reached.read_nothing);
        verdict.duration_ms = millis(began.elapsed());
        CheckResult {
            index: work.index,
            check: index,
            verdict,
            evaluated,
            explanation,
            read_nothing,
            since: started.elapsed(),
        }
    }
}

/// The most violations and warnings of a policy for one input.
const MAX_ITEMS: usize = 100_000;

/// The most bytes of their messages.
const MAX_MESSAGES: usize = 64 << 20;

/// Refuses a verdict that no report could show.
fn bounded(raw: RawVerdict) -> Result<RawVerdict, Error> {
    let bytes: usize = {
        let messages = raw.items.iter().map(|item| item.message.len());
        messages.chain(raw.exceptions.iter().map(String::len)).sum()
    };
    let message = if raw.exceptions.len() > MAX_ITEMS {
        format!("the policy gives more than {MAX_ITEMS} exceptions")
    } else if raw.items.len() > MAX_ITEMS {
        format!("the policy gives more than {MAX_ITEMS} violations and warnings")
    } else if bytes > MAX_MESSAGES {
        let limit = rego_platform_client::text::size(MAX_MESSAGES as u64);
        format!("the policy's violations and warnings have more than {limit} of text")
    } else {
        return Ok(raw);
    };
    Err(Error::new(ErrorKind::TooLarge, message))
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
