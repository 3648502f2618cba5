//! A run: evaluates every policy over every input in parallel, and reports in the order of the
//! inputs.
//!
//! Owns the threads. Their jobs belong to `queue`, reading to `reader`, a single evaluation to `worker`,
//! collecting the results to `collector`.

mod collector;
mod memory;
mod options;
mod queue;
mod reader;
mod shards;
mod worker;

use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use rego_platform::evaluate::Recording;
use rego_platform::{Error, ErrorKind};

use crate::input::{InputSource, Inputs, JsonLines};
use crate::policy::{Gate, materials};
use crate::report::formats::facts;
use crate::report::model::{Failure, Part, Run};
use crate::verdict::notes;
use collector::ResultCollector;
use queue::JobQueue;
use reader::JobReader;
use worker::{Event, Stop, millis};

pub use options::{RunObserver, RunOptions};
pub use shards::merge;

/// The number of concurrent evaluations if policies wait for the service.
const WAITING: usize = 16;

/// The maximum time for which a worker buffers results.
const HANDOVER: Duration = Duration::from_millis(5);

/// The maximum number of noted warnings about policies.
const MAX_WARNINGS: usize = 50;

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
    /// Evaluates every policy over every input. Without sources, each policy is evaluated once
    /// without an input; see [`RunOptions::without_input`].
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when there are no sources and a policy looks at `input`,
    /// [`ErrorKind::Internal`] when a thread can't be started.
    /// A problem with an input is part of the model instead.
    pub fn run(
        &self,
        sources: Vec<InputSource>,
        options: &RunOptions,
        observer: &mut dyn RunObserver,
    ) -> Result<(Run, Option<Recording>), Error> {
        let (started, clock) = (chrono::Utc::now(), Instant::now());
        let nothing = sources.is_empty();
        if nothing && !options.without_input {
            self.refuse_no_input()?;
        }
        self.refuse_own_judge(&sources, &options.inventory)?;
        self.refuse_unread_annotations(&options.documents.metadata)?;
        let files: Vec<_> = if nothing || options.documents.combine {
            vec![None]
        } else {
            sources.iter().map(InputSource::file).collect()
        };
        let images = !nothing && sources.iter().all(|own| matches!(own, InputSource::Image(_)));
        let of_images: Vec<String> = sources.iter().filter_map(note).collect();
        self.refuse_materials(&files, &options.documents.metadata)?;
        let kinds = self.input_kinds(&options.documents)?;
        Self::refuse_signers(&sources, &kinds, &options.documents)?;
        let unasked = self.unasked(&files, &kinds);
        drop(files);
        let mut sources: Vec<_> = (0..).zip(sources).collect();
        let part =
            options.shard.map(|shard| shards::select(shard, &mut sources, options)).transpose()?;
        let inputs = Inputs::new(
            (!nothing).then_some(sources),
            options.documents.clone(),
            (self.json_lines(), kinds),
            options.evaluate.budget.timeout,
            options.evaluate.cancellation.clone(),
        );
        let mut collector = ResultCollector::new(self, options);
        let stop = Stop::default();
        let threads = self.threads();
        let reader = JobReader::new((inputs, images), (self, options), &stop);
        let queue = JobQueue::new(reader, threads, self.waits);
        let (events, received) = mpsc::channel();
        std::thread::scope(|scope| {
            // Moved into the scope so that it is dropped on every exit; otherwise the collector would wait
            // forever.
            let events = events;
            for _ in 0..threads {
                let (queue, events, stop) = (&queue, events.clone(), &stop);
                let work = move || self.work(queue, &events, stop, options);
                let thread = std::thread::Builder::new().name("gate".to_owned());
                thread.spawn_scoped(scope, work).map_err(|error| {
                    stop.after(0);
                    Error::internal("a thread can't be started").with_source(error)
                })?;
            }
            drop(events);
            collector.collect(&received, &stop, observer);
            Ok::<_, Error>(())
        })?;
        let tally = collector.tally();
        let mut run = collector.run;
        // Inputs behind the first that didn't pass may have been evaluated at the same time.
        let behind = collector.finished.split_off(&stop.last().saturating_add(1));
        run.totals.not_evaluated += behind.len() as u64;
        run.inputs = collector.finished.into_values().collect();
        run.started = started.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        run.duration_ms = millis(clock.elapsed());
        run.notes.clone_from(&self.notes);
        run.notes.extend(of_images);
        materials::note_unasked(unasked, &mut run);
        run.notes.extend(self.warnings.iter().take(MAX_WARNINGS).map(facts::finding));
        let more = self.warnings.len().saturating_sub(MAX_WARNINGS);
        if more > 0 {
            run.notes.push(format!("{more} more warnings about the policies"));
        }
        if let Some(part) = part {
            let common_notes = run.notes.len() as u64;
            run.part = Some(Part { common_notes, tally: tally.clone(), ..part });
        }
        if options.is_cancelled() && is_incomplete(&run) {
            run.failure = Some(Failure {
                kind: ErrorKind::Cancelled.code().to_owned(),
                message: "run interrupted before every input had a verdict".to_owned(),
                ..Failure::default()
            });
        }
        if let Err(error) = &collector.recording
            && run.failure.is_none()
        {
            run.failure = Some(Failure::new(error, options.hint));
        }
        notes::finish(&mut run, &tally, options.hint);
        Ok((run, collector.recording.ok()))
    }

    /// Returns the meaning of several JSON values in a file for these policies.
    fn json_lines(&self) -> JsonLines {
        let mut of_documents = self.checks.iter().map(|check| check.context.metadata.document);
        match of_documents.next() {
            Some(first) if of_documents.any(|other| other != first) => JsonLines::Either,
            Some(true) => JsonLines::Elements,
            _ => JsonLines::Inputs,
        }
    }

    /// The number of threads: at least two, so that one evaluates while another waits for a stream.
    fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        cores.max(if self.waits { WAITING } else { 2 })
    }

    /// Evaluates jobs until the queue is empty.
    fn work(
        &self,
        queue: &JobQueue<'_>,
        events: &Sender<Vec<Event>>,
        stop: &Stop,
        options: &RunOptions,
    ) {
        while let Some(jobs) = queue.take(events) {
            let (mut done, mut since) = (Vec::new(), Instant::now());
            for job in jobs {
                done.extend(self.evaluate_all(job, stop, options));
                if since.elapsed() >= HANDOVER {
                    if events.send(std::mem::take(&mut done)).is_err() {
                        return;
                    }
                    since = Instant::now();
                }
            }
            if events.send(done).is_err() {
                return;
            }
        }
    }
}

/// Returns the note about ignored artifacts of an image.
fn note(source: &InputSource) -> Option<String> {
    match source {
        InputSource::Image(image) => image.note().map(str::to_owned),
        _ => None,
    }
}
