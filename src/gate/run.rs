//! A run: every policy over every input, in parallel, reported in the order given.
//!
//! Owns the threads, what is in memory at a time, and the bounds on what reports keep. At most a
//! few documents a thread are in memory, however many there are.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use regorus::Value;

use super::conclude::{self, Circumstances};
use super::documents::{self, DocumentOptions};
use super::graph::Collector;
use super::inputs::{Document, Documents, Place};
use super::load::{Check, Gate};
use super::model::{
    AnsweredBy, Call, Input, Ledger, Outcome, Rules, Run, Tool, Totals, VERSION, Verdict,
};
use super::verdict;
use super::waivers::Waivers;
use crate::evaluate::{EvaluateOptions, Evaluated, Print, Recording};
use crate::{Error, ErrorKind};

/// Calls that the reports of one run keep; sums count all.
const MAX_CALLS: usize = 100_000;

/// Evaluations at a time that wait for the service.
const WAITING: usize = 16;

/// How a run is done.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOptions {
    /// How each evaluation is done; its timeout is for one input.
    pub evaluate: EvaluateOptions,
    /// Who answers calls, for reports.
    pub answered_by: AnsweredBy,
    /// What fails besides violations.
    pub rules: Rules,
    /// How documents are handed to policies.
    pub documents: DocumentOptions,
    /// What is waived.
    pub waivers: Waivers,
    /// Whether the first input that doesn't pass ends the run.
    pub fail_fast: bool,
    /// Whether every answer is kept for a recording.
    pub record: bool,
    /// What wrote the report.
    pub tool: Tool,
}

impl RunOptions {
    /// Options with the defaults.
    pub fn new(evaluate: EvaluateOptions, answered_by: AnsweredBy, tool: Tool) -> Self {
        Self {
            evaluate,
            answered_by,
            rules: Rules::default(),
            documents: DocumentOptions::default(),
            waivers: Waivers::default(),
            fail_fast: false,
            record: false,
            tool,
        }
    }
}

/// Hears of a run while it goes on; on one thread.
pub trait Observer {
    /// An input was read.
    fn began(&mut self, _name: &str) {}
    /// A policy printed something.
    fn printed(&mut self, _input: &str, _print: &Print) {}
    /// An input is done.
    fn ended(&mut self, _input: &Input) {}
}

/// A document that is being evaluated.
struct Work {
    index: usize,
    name: String,
    digest: Option<String>,
    subjects: Vec<super::model::Subject>,
    value: Option<Value>,
    started: OnceLock<Instant>,
}

/// What one policy made of one document.
struct Done {
    index: usize,
    check: usize,
    verdict: Verdict,
    evaluated: Option<Box<Evaluated>>,
    took: Duration,
}

enum Event {
    Began(usize, Box<Input>, bool),
    Done(Box<Done>),
    /// The run was stopped before this came to anything.
    Dropped(usize),
}

impl Gate {
    /// Evaluates every policy over every document. Without places there is one evaluation without
    /// an input.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] when a thread can't be started or an answer can't be recorded.
    /// Everything that goes wrong with an input is in the model.
    pub fn run(
        &self,
        places: Vec<Place>,
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<(Run, Recording), Error> {
        let (started, clock) = (chrono::Utc::now(), Instant::now());
        let nothing = places.is_empty();
        let documents: Box<dyn Iterator<Item = Document> + Send> = if nothing {
            Box::new(std::iter::once(Document::none()))
        } else {
            Box::new(Documents::new(places, options.documents.clone()))
        };
        let mut gathered = Gathered::new(self, options);
        let stop = AtomicBool::new(false);
        let workers = self.workers();
        let (to_workers, jobs) = mpsc::sync_channel::<(Arc<Work>, usize)>(workers);
        let jobs = Mutex::new(jobs);
        let (events, heard) = mpsc::channel();
        std::thread::scope(|scope| {
            // Dropped on every way out, or the workers would wait for ever.
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
            let read = move || self.read(documents, &to_workers, &events, stopped);
            thread().spawn_scoped(scope, read).map_err(failed)?;
            gathered.listen(&heard, &stop, observer)
        })?;
        let mut run = gathered.run;
        run.inputs = gathered.finished.into_values().collect();
        run.started = started.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        run.duration_ms = millis(clock.elapsed());
        if nothing {
            run.notes.push("there is no input: each policy was asked once without one".to_owned());
        }
        if options.documents.attestation {
            run.notes.push("signatures of attestations are not checked here".to_owned());
        }
        conclude::run(&mut run);
        for waiver in run.waivers.iter().filter(|waiver| waiver.matched == 0) {
            let what = waiver.finding.as_ref().or(waiver.policy.as_ref());
            let what = what.map_or("", String::as_str);
            run.notes
                .push(format!("the waiver for `{what}` and `{}` matched nothing", waiver.subject));
        }
        Ok((run, gathered.recording))
    }

    fn workers(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if self.asks { cores.max(WAITING) } else { cores }
    }

    /// Reads documents ahead of the workers, never many.
    fn read(
        &self,
        documents: impl Iterator<Item = Document>,
        to_workers: &SyncSender<(Arc<Work>, usize)>,
        events: &Sender<Event>,
        stop: &AtomicBool,
    ) {
        for (index, document) in documents.enumerate() {
            let stopped = stop.load(Ordering::Relaxed);
            let (value, error) = match document.value {
                Ok(value) => (value, None),
                Err(error) => (None, Some(conclude::failure(&error, None))),
            };
            let readable = error.is_none() && !stopped;
            let input = Input {
                name: document.name.clone(),
                digest: document.digest.clone(),
                subjects: document.subjects.clone(),
                predicate_type: document.predicate_type,
                outcome: Outcome::NoVerdict,
                error,
                verdicts: Vec::new(),
                ledger: Ledger::default(),
                graph: super::model::Graph::default(),
                duration_ms: 0,
            };
            let began = Event::Began(index, Box::new(input), readable);
            if events.send(began).is_err() {
                return;
            }
            if stopped {
                let _ = events.send(Event::Dropped(index));
                continue;
            }
            let work = Arc::new(Work {
                index,
                name: document.name,
                digest: document.digest,
                subjects: document.subjects,
                value,
                started: OnceLock::new(),
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
        stop: &AtomicBool,
        options: &RunOptions,
    ) {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((work, index)) = job else { return };
            let event = match self.checks.get(index) {
                Some(check) if !stop.load(Ordering::Relaxed) => {
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

    fn evaluate(&self, work: &Work, index: usize, check: &Check, options: &RunOptions) -> Done {
        let began = Instant::now();
        let name = &check.asked.name;
        let mut how = options.evaluate.clone();
        let started = *work.started.get_or_init(Instant::now);
        how.budget.timeout = how.budget.timeout.saturating_sub(started.elapsed());
        let value = documents::finish(work.value.clone(), &check.arguments, &options.documents);
        let (verdict, evaluated) = match value {
            Err(error) => (conclude::no_verdict(name, &error, None), None),
            Ok(value) => {
                let evaluated = check.policies.evaluate(&check.asked.query, value.as_ref(), &how);
                let said = match &evaluated.result {
                    Ok(output) => verdict::read(&check.asked.parts, output),
                    Err(error) => Err(error.clone()),
                };
                let verdict = match (said, self.policies.get(index)) {
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
        Done { index: work.index, check: index, verdict, evaluated, took: began.elapsed() }
    }
}

/// An input whose policies are not all done.
struct Open {
    input: Input,
    verdicts: Vec<Option<Verdict>>,
    calls: Vec<(usize, Vec<Call>)>,
    graph: Collector,
    left: usize,
    began: Instant,
    dropped: bool,
}

/// What is gathered, on one thread.
struct Gathered<'a> {
    gate: &'a Gate,
    options: &'a RunOptions,
    run: Run,
    recording: Recording,
    /// Inputs from the first that isn't done on.
    open: VecDeque<Option<Open>>,
    first: usize,
    finished: std::collections::BTreeMap<usize, Input>,
    kept: usize,
    discover: String,
    prompt: String,
}

impl<'a> Gathered<'a> {
    fn new(gate: &'a Gate, options: &'a RunOptions) -> Self {
        let run = Run {
            schema_version: VERSION,
            tool: options.tool.clone(),
            started: String::new(),
            duration_ms: 0,
            answers: options.answered_by,
            ai: false,
            outcome: Outcome::NoVerdict,
            exit: 2,
            reasons: Vec::new(),
            rules: options.rules.clone(),
            policies: gate.policies.clone(),
            sources: gate.sources.clone(),
            inputs: Vec::new(),
            waivers: options.waivers.shown(),
            totals: Totals::default(),
            notes: Vec::new(),
        };
        Self {
            gate,
            options,
            run,
            recording: Recording::new(),
            open: VecDeque::new(),
            first: 0,
            finished: std::collections::BTreeMap::new(),
            kept: 0,
            discover: gate.product.function("discover"),
            prompt: gate.product.function("evidence_prompt"),
        }
    }

    fn listen(
        &mut self,
        heard: &Receiver<Event>,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        for event in heard {
            let index = match event {
                Event::Began(index, input, readable) => {
                    observer.began(&input.name);
                    let left = if readable { self.gate.checks.len() } else { 0 };
                    let unread = !readable && input.error.is_none();
                    self.open.push_back(Some(Open {
                        input: *input,
                        verdicts: vec![None; self.gate.checks.len()],
                        calls: Vec::new(),
                        graph: Collector::default(),
                        left: left + usize::from(unread),
                        began: Instant::now(),
                        dropped: false,
                    }));
                    index
                }
                Event::Done(done) => {
                    let index = done.index;
                    self.take(*done, observer)?;
                    index
                }
                Event::Dropped(index) => {
                    if let Some(open) = self.slot(index) {
                        open.left = open.left.saturating_sub(1);
                        open.dropped = true;
                    }
                    index
                }
            };
            self.close(index, stop, observer);
        }
        Ok(())
    }

    fn slot(&mut self, index: usize) -> Option<&mut Open> {
        self.open.get_mut(index.checked_sub(self.first)?)?.as_mut()
    }

    fn take(&mut self, done: Done, observer: &mut dyn Observer) -> Result<(), Error> {
        let mut calls = Vec::new();
        let mut passes = 0;
        if let Some(evaluated) = &done.evaluated {
            passes = evaluated.ledger.passes;
            for entry in &evaluated.ledger.calls {
                self.run.totals.calls += 1;
                self.run.totals.attempts += u64::from(entry.attempts);
                self.run.totals.bytes += entry.bytes;
                self.run.ai |= entry.function == self.prompt && entry.needed;
                if self.kept + calls.len() < MAX_CALLS {
                    calls.push(call(&done.verdict.policy, entry));
                }
            }
            if self.options.record {
                self.recording.merge(evaluated.recording()?);
            }
        }
        self.kept += calls.len();
        let discover = self.discover.clone();
        let Some(open) = self.slot(done.index) else { return Ok(()) };
        if let Some(evaluated) = &done.evaluated {
            for print in &evaluated.prints {
                observer.printed(&open.input.name, print);
            }
            for (function, _, answer) in evaluated.answered() {
                if function == discover {
                    open.graph.add(answer);
                }
            }
            let all = evaluated.ledger.calls.len();
            open.input.ledger.left_out += (all - calls.len()) as u64;
        }
        open.input.ledger.passes = open.input.ledger.passes.max(passes);
        open.calls.push((done.check, calls));
        if let Some(slot) = open.verdicts.get_mut(done.check) {
            *slot = Some(done.verdict);
        }
        open.input.duration_ms = open.input.duration_ms.max(millis(done.took));
        open.left = open.left.saturating_sub(1);
        Ok(())
    }

    /// Closes an input that is done.
    fn close(&mut self, index: usize, stop: &AtomicBool, observer: &mut dyn Observer) {
        if self.slot(index).is_none_or(|open| open.left > 0) {
            return;
        }
        let slot = index.checked_sub(self.first).and_then(|at| self.open.get_mut(at));
        let Some(mut open) = slot.and_then(Option::take) else { return };
        while matches!(self.open.front(), Some(None)) {
            self.open.pop_front();
            self.first += 1;
        }
        if open.dropped {
            self.run.totals.not_evaluated += 1;
            return;
        }
        open.calls.sort_by_key(|(check, _)| *check);
        open.input.ledger.calls = open.calls.into_iter().flat_map(|(_, calls)| calls).collect();
        open.input.verdicts = open.verdicts.into_iter().flatten().collect();
        open.input.duration_ms = millis(open.began.elapsed()).max(open.input.duration_ms);
        let failing = open.input.verdicts.iter().flat_map(Verdict::failing);
        let named = failing.filter_map(|v| v.fields.get("digest")?.as_str());
        open.input.graph = open.graph.finish(named);
        conclude::input(&mut open.input, &self.options.rules);
        if self.options.fail_fast && open.input.outcome != Outcome::Passed {
            stop.store(true, Ordering::Relaxed);
        }
        observer.ended(&open.input);
        self.finished.insert(index, open.input);
    }
}

fn call(policy: &str, entry: &crate::evaluate::Entry) -> Call {
    Call {
        policy: policy.to_owned(),
        function: entry.function.clone(),
        arguments: entry.arguments.clone(),
        pass: entry.pass,
        needed: entry.needed,
        origin: format!("{:?}", entry.origin).to_lowercase(),
        outcome: entry.outcome.to_owned(),
        cut: entry.cut,
        attempts: entry.attempts,
        bytes: entry.bytes,
        latency_us: u64::try_from(entry.latency.as_micros()).unwrap_or(u64::MAX),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
