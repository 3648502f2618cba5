//! A run: evaluates every policy over every input in parallel, and reports in the order of the
//! inputs.
//!
//! Owns the threads and the bound on memory: at most a few documents per thread, however many there
//! are. A single evaluation belongs to `work`, collecting the results to `gathered`.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::account;
use super::conclude;
use super::gathered::{Limited, RunCollector, Unseen};
use super::inputs::{Documents, InputSource};
use super::load::Gate;
use super::missing_fields::Sighting;
use super::model::{Failure, Graph, Input, Ledger, Outcome, Run};
use super::options::{RunObserver, RunOptions};
use super::reports::facts;
use super::work::{Event, MemoryBound, Stop, Work, millis};
use crate::builtins::known_fields::STATUSES;
use crate::evaluate::{Cancellation, Recording};
use crate::text::escape;
use crate::{Error, ErrorKind, Setting};

/// The number of concurrent evaluations if policies wait for the service.
const WAITING: usize = 16;

/// The most fields that no input has which are noted.
const MAX_FIELDS: usize = 10;

/// The most warnings about policies that are noted.
const MAX_WARNINGS: usize = 50;

fn is_cancelled(options: &RunOptions) -> bool {
    options.evaluate.cancellation.as_ref().is_some_and(Cancellation::is_cancelled)
}

/// Returns `true` if an input has no verdict because the run was cancelled.
fn is_incomplete(run: &Run) -> bool {
    let cancelled = |failure: &Option<Failure>| {
        failure.as_ref().is_some_and(|failure| failure.kind == ErrorKind::Cancelled.code())
    };
    run.totals.not_evaluated > 0
        || run.inputs.iter().any(|input| {
            cancelled(&input.error) || input.verdicts.iter().any(|v| cancelled(&v.error))
        })
}

impl Gate {
    /// Evaluates every policy over every document. Without sources, each policy is evaluated once
    /// without an input; see [`RunOptions::without_input`].
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when there are no sources and a policy looks at `input`,
    /// [`ErrorKind::Internal`] when a thread can't be started.
    /// A problem with an input is part of the model instead.
    pub fn run(
        &self,
        places: Vec<InputSource>,
        options: &RunOptions,
        observer: &mut dyn RunObserver,
    ) -> Result<(Run, Option<Recording>), Error> {
        let (started, clock) = (chrono::Utc::now(), Instant::now());
        let nothing = places.is_empty();
        if nothing && !options.without_input {
            self.refuse_no_input()?;
        }
        let documents = Documents::new(
            places,
            options.documents.clone(),
            options.evaluate.budget.timeout,
            options.evaluate.cancellation.clone(),
        );
        let envelopes = documents.envelopes();
        let mut gathered = RunCollector::new(self, options);
        let stop = Stop::default();
        let workers = self.workers();
        let (to_workers, jobs) = mpsc::sync_channel::<(Arc<Work>, usize)>(workers);
        let jobs = Mutex::new(jobs);
        let (events, heard) = mpsc::channel();
        std::thread::scope(|scope| {
            // Moved into the scope so that they are dropped on every exit; otherwise the workers
            // would wait forever.
            let (to_workers, events) = (to_workers, events);
            let thread = || std::thread::Builder::new().name("gate".to_owned());
            let failed = |error: std::io::Error| {
                Error::new(ErrorKind::Internal, "a thread can't be started").with_source(error)
            };
            for _ in 0..workers {
                let (jobs, events, stop) = (&jobs, events.clone(), &stop);
                let work = move || self.work(jobs, &events, stop, options);
                thread().spawn_scoped(scope, work).map_err(failed)?;
            }
            let stopped = &stop;
            let read = move || self.read(documents, &to_workers, &events, stopped, options);
            thread().spawn_scoped(scope, read).map_err(failed)?;
            gathered.listen(&heard, &stop, observer);
            Ok::<_, Error>(())
        })?;
        let mut run = gathered.run;
        // Inputs behind the first that didn't pass may have been evaluated at the same time.
        let behind = gathered.finished.split_off(&stop.last().saturating_add(1));
        run.totals.not_evaluated += behind.len() as u64;
        run.inputs = gathered.finished.into_values().collect();
        run.started = started.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        run.duration_ms = millis(clock.elapsed());
        let (undefined, swallowed) = (gathered.undefined, gathered.swallowed);
        let requests = gathered.requests;
        run.notes.clone_from(&self.left_out);
        run.notes.extend(self.warnings.iter().take(MAX_WARNINGS).map(facts::finding));
        let more = self.warnings.len().saturating_sub(MAX_WARNINGS);
        if more > 0 {
            run.notes.push(format!("there are {more} more warnings about the policies"));
        }
        if is_cancelled(options) && is_incomplete(&run) {
            run.failure = Some(Failure {
                kind: ErrorKind::Cancelled.code().to_owned(),
                message: "the run was interrupted before every input had its verdict".to_owned(),
                ..Failure::default()
            });
        }
        if let Err(error) = &gathered.recording
            && run.failure.is_none()
        {
            run.failure = Some(Failure::from(error));
        }
        if nothing {
            run.notes
                .push("no input was given: each policy was evaluated once without one".to_owned());
        }
        if !options.documents.combine {
            let named = self.checks.iter().filter(|check| check.context.names_contents);
            run.notes.extend(named.map(|check| {
                format!(
                    "the policy `{}` reads `input[_].contents`, which inputs have if they are \
                     combined; {}",
                    check.package.name,
                    crate::report::option(Setting::Combine)
                )
            }));
        }
        // In a folder of several kinds of documents, a policy has nothing to do with some of them.
        for (index, unseen) in gathered.unseen.iter().filter(|(_, it)| it.inputs == it.of) {
            let Some(check) = self.checks.get(*index) else { continue };
            let context = &check.context;
            let combined = options.documents.combine;
            let fields = if combined { &context.contents_fields } else { &context.fields };
            run.notes.push(unseen_note(&check.package.name, fields, unseen));
        }
        run.notes.extend(self.missing_fields(&gathered.sightings, &gathered.unseen, &run));
        run.notes.extend(envelope_note(envelopes.load(Ordering::Relaxed)));
        run.notes.extend(skipped_note(gathered.skipped));
        run.notes.extend(status_notes(&gathered.unknown_statuses));
        run.notes.extend(limited_notes(&gathered.limited));
        if options.documents.attestation {
            run.notes.push(
                "the signatures of the attestations weren't checked: whoever wrote them chose what \
                 they say and what they are about"
                    .to_owned(),
            );
        }
        conclude::run(&mut run);
        account::settle(&mut run, undefined, swallowed, requests);
        for waiver in run.waivers.iter().filter(|waiver| waiver.matched == 0) {
            let policy = waiver.policy.as_ref().map(|name| format!("policy `{name}`"));
            let finding = waiver.finding.as_ref().map(|id| format!("finding `{id}`"));
            let of: Vec<_> = policy.into_iter().chain(finding).collect();
            let (of, subject) = (of.join(", "), &waiver.subject);
            run.notes.push(format!("the waiver for {of} and `{subject}` matched nothing"));
        }
        Ok((run, gathered.recording.ok()))
    }

    /// Returns the notes about fields that policies read and no input has.
    fn missing_fields(
        &self,
        sightings: &BTreeMap<usize, Vec<Sighting>>,
        unseen: &BTreeMap<usize, Unseen>,
        run: &Run,
    ) -> Vec<String> {
        let uncalled: Vec<&str> =
            run.inventory.never_called().map(|(package, _)| package.name.as_str()).collect();
        let mut notes = Vec::new();
        for (index, check) in self.checks.iter().enumerate() {
            let Some(seen) = sightings.get(&index) else { continue };
            let name = &check.package.name;
            // Another note says that it found nothing, or asked nothing, at all.
            let is_noted = uncalled.contains(&name.as_str())
                || unseen.get(&index).is_some_and(|unseen| unseen.inputs == unseen.of);
            notes.extend(check.fields.notes(name, seen, is_noted));
        }
        let more = notes.len().saturating_sub(MAX_FIELDS);
        notes.truncate(MAX_FIELDS);
        if more > 0 {
            notes.push(format!("no input has {more} more fields that policies read"));
        }
        notes
    }

    fn workers(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if self.waits { cores.max(WAITING) } else { cores }
    }

    /// Reads documents a little ahead of the workers, until the end or until the run is stopped.
    fn read(
        &self,
        mut documents: Documents,
        to_workers: &SyncSender<(Arc<Work>, usize)>,
        events: &Sender<Event>,
        stop: &Stop,
        options: &RunOptions,
    ) {
        let memory = MemoryBound::default();
        for index in 0.. {
            if stop.is_before(index) || is_cancelled(options) {
                let _ = events.send(Event::Left(documents.left()));
                return;
            }
            let Some(document) = documents.next() else { return };
            let (value, error) = match document.value {
                Ok(value) => (value, None),
                Err(error) => (None, Some(conclude::failure(&error, None))),
            };
            let readable = error.is_none();
            if !readable && options.fail_fast {
                stop.after(index);
            }
            let input = Input {
                name: document.name.clone(),
                digest: document.digest.clone(),
                subjects: document.subjects.clone(),
                predicate_type: document.predicate_type,
                outcome: Outcome::NoVerdict,
                error,
                verdicts: Vec::new(),
                ledger: Ledger::default(),
                graph: Graph::default(),
                duration_ms: 0,
            };
            if events.send(Event::Began(index, Box::new(input), readable)).is_err() {
                return;
            }
            let work = Arc::new(Work {
                index,
                name: document.name,
                digest: document.digest,
                subjects: document.subjects,
                value,
                reading: document.reading,
                started: OnceLock::new(),
                _memory: memory.take(document.bytes),
            });
            for check in (0..self.checks.len()).filter(|_| readable) {
                if to_workers.send((Arc::clone(&work), check)).is_err() {
                    return;
                }
            }
        }
    }

    fn work(
        &self,
        jobs: &Mutex<Receiver<(Arc<Work>, usize)>>,
        events: &Sender<Event>,
        stop: &Stop,
        options: &RunOptions,
    ) {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((work, index)) = job else { return };
            let event = match self.checks.get(index) {
                Some(check) if !stop.is_before(work.index) => {
                    Event::Done(Box::new(self.evaluate(&work, index, check, options)))
                }
                _ => Event::Dropped(work.index),
            };
            drop(work);
            if events.send(event).is_err() {
                return;
            }
        }
    }
}

/// Returns the note about inputs that passed without any of the fields that a policy looks at:
/// probably documents of another kind.
fn unseen_note(policy: &str, fields: &[String], unseen: &Unseen) -> String {
    const SHOWN: usize = 5;
    let shown = fields.iter().take(SHOWN).map(|name| format!("`{}`", escape(name)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = if fields.len() > SHOWN { ", …" } else { "" };
    let first = escape(&unseen.first);
    let what = match unseen.inputs {
        1 => format!("`{first}` has"),
        inputs => format!("{inputs} inputs (such as `{first}`) have"),
    };
    format!(
        "{what} none of the fields that the policy `{}` looks at ({shown}{more}), and passed: is it \
         the right kind of document?",
        escape(policy)
    )
}

/// Returns the note about AI analyses that didn't take place: a policy that doesn't look at
/// `skipped` passes.
fn skipped_note(count: u64) -> Option<String> {
    let what = match count {
        0 => return None,
        1 => "an AI analysis was skipped".to_owned(),
        count => format!("{count} AI analyses were skipped"),
    };
    Some(format!(
        "{what}: an empty result means that nothing was analysed; check that the policy looks at `skipped`"
    ))
}

/// Returns the notes about answers of which the verdicts don't know all.
fn limited_notes(limited: &Limited) -> Vec<String> {
    let counted = |count, one: &str, many: &str| match count {
        0 => None,
        1 => Some(one.to_owned()),
        count => Some(format!("{count} {many}")),
    };
    let cut = counted(limited.cut, "a list was", "lists were")
        .map(|what| format!("{what} cut at the policies' own `limit`: the rest wasn't looked at"));
    let base64 = counted(limited.base64, "an artifact isn't", "artifacts aren't").map(|what| {
        format!("{what} UTF-8, and given as base64, in which a search for text finds nothing")
    });
    let unchecked = counted(limited.unchecked, "a field", "fields").map(|what| {
        format!("{what} of a question to the service couldn't be compared: the answer lacks it")
    });
    /// The most doubts that have a note.
    const SHOWN: usize = 10;
    let doubts = limited.doubts.iter().take(SHOWN).map(|((function, doubt), count)| match count {
        1 => format!("an answer of `{function}` has {doubt}"),
        count => format!("{count} answers of `{function}` have {doubt}"),
    });
    [cut, base64, unchecked].into_iter().flatten().chain(doubts).collect()
}

/// Returns the notes about results without a known status or kind: a policy that looks for `fail` or
/// `SARIF` finds nothing in them.
fn status_notes(unknown: &BTreeMap<(&str, String), u64>) -> Vec<String> {
    /// Each status that isn't known has a note of its own, up to this many.
    const SHOWN: usize = 10;
    let known = STATUSES.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let note = |((field, status), count): (&(&str, String), &u64)| {
        let is_kind = *field == "kind";
        let rows = match (count, is_kind) {
            (1, false) => "an evaluation".to_owned(),
            (count, false) => format!("{count} evaluations"),
            (1, true) => "a digest or piece of evidence".to_owned(),
            (count, true) => format!("{count} digests or pieces of evidence"),
        };
        let how = match status.as_str() {
            "" => format!("without a `{field}`"),
            status => format!("with the unknown `{field}` `{status}`"),
        };
        if is_kind {
            return format!(
                "the service sent {rows} {how}, which a policy that looks for a known kind passes over"
            );
        }
        format!(
            "the service sent {rows} {how}, which a policy that looks for `fail` passes over; known \
             statuses are {known}"
        )
    };
    unknown.iter().take(SHOWN).map(note).collect()
}

/// Returns the note about inputs that are envelopes: a policy that looks for the statement in one
/// finds nothing, which may be a pass.
fn envelope_note(count: u64) -> Option<String> {
    let what = match count {
        0 => return None,
        1 => "an input is an envelope".to_owned(),
        count => format!("{count} inputs are envelopes"),
    };
    let option = crate::report::option(Setting::Envelopes);
    Some(format!("{what}: policies see no statement in it; {option}"))
}
