//! A run: evaluates every policy over every input in parallel, and reports in the order of the
//! inputs.
//!
//! Owns the threads and the bound on memory: at most a few documents per thread, however many there
//! are. A single evaluation belongs to `work`, collecting the results to `gathered`.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use rego_platform::evaluate::{Cancellation, Recording};
use rego_platform::rego::Value;
use rego_platform::{Error, ErrorKind};

use super::conclude;
use super::documents::LINES;
use super::gathered::RunCollector;
use super::inputs::{Documents, InputSource, JsonLines};
use super::load::Gate;
use super::metadata::Metadata;
use super::model::{Failure, Input, Ledger, Outcome, Part, Run};
use super::options::{RunObserver, RunOptions};
use super::parts;
use super::reports::facts;
use super::reuse::Reused;
use super::tally;
use super::work::{Event, Job, MemoryBound, Stop, Work, millis};

/// The number of concurrent evaluations if policies wait for the service.
const WAITING: usize = 16;

/// The number of jobs that lie ready for each thread, so that none waits for the next document.
const READY: usize = 8;

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
        self.refuse_own_judge(&places, &options.inventory)?;
        self.refuse_unread_annotations(&options.documents.metadata)?;
        let files: Vec<_> = if nothing || options.documents.combine {
            vec![None]
        } else {
            places.iter().map(InputSource::file).collect()
        };
        let of_images: Vec<String> = places.iter().filter_map(note).collect();
        self.refuse_materials(&files, &options.documents.metadata)?;
        let mut places: Vec<_> = (0..).zip(places).collect();
        let part =
            options.shard.map(|shard| parts::keep(shard, &mut places, options)).transpose()?;
        let documents = Documents::new(
            (places, nothing),
            options.documents.clone(),
            self.json_lines(),
            options.evaluate.budget.timeout,
            options.evaluate.cancellation.clone(),
        );
        let mut gathered = RunCollector::new(self, options);
        let reused = Reused::new(self, options);
        let stop = Stop::default();
        let workers = self.workers();
        let (to_workers, jobs) = mpsc::sync_channel(workers.saturating_mul(READY));
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
            let reused = &reused;
            let read =
                move || self.read(documents, (&to_workers, &events), stopped, (options, reused));
            thread().spawn_scoped(scope, read).map_err(failed)?;
            gathered.listen(&heard, &stop, observer);
            Ok::<_, Error>(())
        })?;
        let tally = gathered.tally();
        let mut run = gathered.run;
        // Inputs behind the first that didn't pass may have been evaluated at the same time.
        let behind = gathered.finished.split_off(&stop.last().saturating_add(1));
        run.totals.not_evaluated += behind.len() as u64;
        run.inputs = gathered.finished.into_values().collect();
        let mut counts = BTreeMap::new();
        for statement in run.inputs.iter().filter_map(|input| input.reused.clone()) {
            *counts.entry(statement).or_default() += 1;
        }
        run.inventory.accepted = reused.account(&counts);
        run.inventory.basis = reused.own_basis(&counts);
        run.started = started.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        run.duration_ms = millis(clock.elapsed());
        run.notes.clone_from(&self.notes);
        run.notes.extend(of_images);
        self.note_unasked(&files, &options.documents.metadata, &mut run);
        run.notes.extend(self.warnings.iter().take(MAX_WARNINGS).map(facts::finding));
        let more = self.warnings.len().saturating_sub(MAX_WARNINGS);
        if more > 0 {
            run.notes.push(format!("there are {more} more warnings about the policies"));
        }
        if let Some(part) = part {
            let common_notes = run.notes.len() as u64;
            run.part = Some(Part { common_notes, tally: tally.clone(), ..part });
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
            run.failure = Some(Failure::new(error, options.hint));
        }
        tally::finish(&mut run, &tally, options.hint);
        Ok((run, gathered.recording.ok()))
    }

    /// Returns what several JSON values in a file are for these policies.
    fn json_lines(&self) -> JsonLines {
        let mut of_documents = self.checks.iter().map(|check| check.context.metadata.document);
        match of_documents.next() {
            Some(first) if of_documents.any(|other| other != first) => JsonLines::Either,
            Some(true) => JsonLines::Elements,
            _ => JsonLines::Inputs,
        }
    }

    /// Returns `true` if an empty file is a report without any findings: by its kind, and for policy
    /// documents alone.
    fn is_list_when_empty(
        &self,
        checks: &[usize],
        metadata: &Metadata,
        file: Option<&str>,
    ) -> bool {
        let mut checks = checks.iter().filter_map(|check| self.checks.get(*check));
        self.kind_of(metadata, file) == Some(LINES)
            && checks.all(|check| check.context.metadata.document)
    }

    fn workers(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if self.waits { cores.max(WAITING) } else { cores }
    }

    /// The number of policies in a job. Those that wait for the service do so at the same time; of
    /// the others, each thread gets its part at once.
    fn job_size(&self, workers: usize) -> usize {
        if self.waits { 1 } else { self.checks.len().div_ceil(workers).max(1) }
    }

    /// Reads documents a little ahead of the workers, until the end or until the run is stopped.
    fn read(
        &self,
        mut documents: Documents,
        (to_workers, events): (&SyncSender<Job>, &Sender<Event>),
        stop: &Stop,
        (options, reused): (&RunOptions, &Reused<'_>),
    ) {
        let memory = MemoryBound::default();
        let size = self.job_size(self.workers());
        for index in 0.. {
            if stop.is_before(index) || is_cancelled(options) {
                let _ = events.send(Event::Left(documents.left()));
                return;
            }
            let Some(mut document) = documents.next() else { return };
            let metadata = &options.documents.metadata;
            let file = document.file.as_deref();
            let mut checks: Vec<_> = (0..self.checks.len())
                .filter(|check| {
                    let check = self.checks.get(*check);
                    check.is_some_and(|check| self.is_for(check, metadata, file))
                })
                .collect();
            if document.is_empty && self.is_list_when_empty(&checks, metadata, file) {
                document.value = Ok(Some(Value::from(Vec::new())));
            }
            let (value, error) = match document.value {
                Ok(value) => (value, None),
                Err(error) => (None, Some(conclude::failure(&error, None, options.hint))),
            };
            if error.is_some() {
                checks.clear();
                if options.fail_fast {
                    stop.after(index);
                }
            }
            let may_reuse = error.is_none() && document.evidence.is_none() && !checks.is_empty();
            let earlier =
                may_reuse.then(|| reused.find(&document.name, document.digest.as_deref()));
            let earlier = earlier.flatten();
            let input = Input {
                name: document.name.clone(),
                digest: document.digest.clone(),
                subjects: document.subjects.clone(),
                predicate_type: document.predicate_type,
                signers: document.signers.clone().unwrap_or_default(),
                evidence: document.evidence,
                outcome: Outcome::NoVerdict,
                reused: earlier.map(str::to_owned),
                error,
                verdicts: Vec::new(),
                ledger: Ledger::default(),
                duration_ms: 0,
                place: options.shard.map(|_| document.place),
            };
            if events.send(Event::Began(index, Box::new(input), checks.len())).is_err() {
                return;
            }
            if earlier.is_some() {
                if events.send(self.reused(index, checks)).is_err() {
                    return;
                }
                continue;
            }
            let work = Arc::new(Work {
                index,
                name: document.name,
                file: document.file,
                digest: document.digest,
                subjects: document.subjects,
                signers: document.signers,
                value,
                reading: document.reading,
                started: OnceLock::new(),
                _memory: memory.take(document.bytes),
            });
            for part in checks.chunks(size) {
                let (work, checks) = (Arc::clone(&work), part.to_vec());
                if to_workers.send(Job { work, checks }).is_err() {
                    return;
                }
            }
        }
    }

    fn work(
        &self,
        jobs: &Mutex<Receiver<Job>>,
        events: &Sender<Event>,
        stop: &Stop,
        options: &RunOptions,
    ) {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(Job { work, checks }) = job else { return };
            let (document, count) = (work.index, checks.len());
            let results: Vec<_> = checks
                .into_iter()
                .filter_map(|index| Some((index, self.checks.get(index)?)))
                .take_while(|_| !stop.is_before(document))
                .map(|(index, check)| self.evaluate(&work, index, check, options))
                .collect();
            drop(work);
            let dropped = count - results.len();
            if events.send(Event::Done(results)).is_err()
                || dropped > 0 && events.send(Event::Dropped(document, dropped)).is_err()
            {
                return;
            }
        }
    }
}

/// Returns the note about artifacts of an image that don't count.
fn note(place: &InputSource) -> Option<String> {
    match place {
        InputSource::Image(image) => image.note().map(str::to_owned),
        _ => None,
    }
}
