//! Reads the inputs of a run in order, and creates their jobs.

use std::sync::{Arc, OnceLock};

use super::memory::MemoryShare;
use super::options::RunOptions;
use super::worker::{Event, Job, QueuedInput, Stop};
use crate::input::{Input, Inputs};
use crate::policy::Gate;
use crate::report::model::{self, Failure, Ledger, Outcome};

/// The unread inputs of a run.
pub(super) struct JobReader<'a> {
    gate: &'a Gate,
    options: &'a RunOptions,
    stop: &'a Stop,
    inputs: Inputs,
    /// The last input, before its preparation.
    current: Option<Input>,
    index: usize,
    is_stopped: bool,
    /// `true` if every input of the run is an image.
    images: bool,
}

impl<'a> JobReader<'a> {
    pub fn new(
        (inputs, images): (Inputs, bool),
        (gate, options): (&'a Gate, &'a RunOptions),
        stop: &'a Stop,
    ) -> Self {
        let (current, index, is_stopped) = (None, 0, false);
        Self { gate, options, stop, inputs, current, index, is_stopped, images }
    }

    /// Reads the next input and returns its size; `None` at the end, or when the run was stopped. One that is
    /// still there is read already.
    pub fn read(&mut self) -> Option<usize> {
        if self.stop.is_before(self.index) || self.options.is_cancelled() {
            self.is_stopped = true;
            return None;
        }
        if self.current.is_none() {
            self.current = self.inputs.next();
        }
        self.current.as_ref().map(|input| input.bytes)
    }

    /// Returns the event with the number of unread inputs of a stopped run.
    pub fn left(&self) -> Option<Event> {
        let left = || self.inputs.left() + usize::from(self.current.is_some());
        self.is_stopped.then(|| Event::Left(left()))
    }

    /// Returns the event and the job of the last input.
    pub fn job(&mut self, memory: MemoryShare) -> (Vec<Event>, Option<Job>) {
        let Some(mut input) = self.current.take() else { return (Vec::new(), None) };
        let (gate, options) = (self.gate, self.options);
        let index = self.index;
        self.index += 1;
        let mut checks = gate.checks_for(&input, options);
        let error = input.error().map(|error| Failure::new(&error, options.hint));
        if error.is_some() {
            checks.clear();
            if options.fail_fast {
                self.stop.after(index);
            }
        }
        let shown = model::Input {
            name: input.name.clone(),
            digest: input.digest.clone(),
            subjects: input.subjects.clone(),
            predicate_type: input.predicate_type.take(),
            signers: input.signers.clone().unwrap_or_default(),
            evidence: input.evidence.take(),
            outcome: Outcome::NoVerdict,
            error,
            verdicts: Vec::new(),
            ledger: Ledger::default(),
            duration_ms: 0,
            place: options.shard.map(|_| input.source),
        };
        let events = vec![Event::Began(index, Box::new(shown), checks.len())];
        if checks.is_empty() {
            return (events, None);
        }
        let input = Arc::new(QueuedInput {
            index,
            input,
            started: OnceLock::new(),
            closed: self.images,
            _memory: memory,
        });
        (events, Some(Job { input, checks }))
    }
}

impl Gate {
    /// Returns the policies for an input.
    fn checks_for(&self, input: &Input, options: &RunOptions) -> Vec<usize> {
        let (file, kind) = (input.file.as_deref(), input.kind);
        let is_for = |check| self.is_for(check, &options.documents.metadata, file, kind);
        let all = self.checks.iter().enumerate();
        all.filter_map(|(index, check)| is_for(check).then_some(index)).collect()
    }
}
