//! Preparing the documents of a run, one after the other: which policies are evaluated with each.

use std::sync::{Arc, Mutex, OnceLock};

use super::memory::MemoryShare;
use super::options::RunOptions;
use super::worker::{Event, Job, Stop, Work};
use crate::input::{Content, Document, Documents};
use crate::policy::Gate;
use crate::report::model::{Input, Ledger, Outcome};
use crate::verdict::outcome;

/// The documents of a run that weren't read yet.
pub(crate) struct Reader<'a> {
    gate: &'a Gate,
    options: &'a RunOptions,
    stop: &'a Stop,
    documents: Documents,
    /// The document that was read last, and isn't prepared yet.
    current: Option<Document>,
    index: usize,
    is_stopped: bool,
    /// `true` if every input of the run is an image.
    images: bool,
}

impl<'a> Reader<'a> {
    pub fn new(
        (documents, images): (Documents, bool),
        (gate, options): (&'a Gate, &'a RunOptions),
        stop: &'a Stop,
    ) -> Self {
        let (current, index, is_stopped) = (None, 0, false);
        Self { gate, options, stop, documents, current, index, is_stopped, images }
    }

    /// Reads the next document and returns the size of its text; there is none at the end, or when the run
    /// is stopped. One that is still there is read already.
    pub fn read(&mut self) -> Option<usize> {
        if self.stop.is_before(self.index) || self.options.is_cancelled() {
            self.is_stopped = true;
            return None;
        }
        if self.current.is_none() {
            self.current = self.documents.next();
        }
        self.current.as_ref().map(|document| document.bytes)
    }

    /// Returns the number of inputs that weren't read because the run was stopped.
    pub fn left(&self) -> Option<Event> {
        let left = || self.documents.left() + usize::from(self.current.is_some());
        self.is_stopped.then(|| Event::Left(left()))
    }

    /// Returns what is known of the document that was read, and what is to be done with it.
    pub fn job(&mut self, memory: MemoryShare) -> (Vec<Event>, Option<Job>) {
        let Some(document) = self.current.take() else { return (Vec::new(), None) };
        let (gate, options) = (self.gate, self.options);
        let index = self.index;
        self.index += 1;
        let mut checks = gate.checks_for(&document, options);
        let error = match &document.content {
            Content::Unreadable(error) => Some(outcome::failure(error, None, options.hint)),
            _ => None,
        };
        if error.is_some() {
            checks.clear();
            if options.fail_fast {
                self.stop.after(index);
            }
        }
        let input = Input {
            name: document.name.clone(),
            digest: document.digest.clone(),
            subjects: document.subjects.clone(),
            predicate_type: document.predicate_type,
            signers: document.signers.clone().unwrap_or_default(),
            evidence: document.evidence,
            outcome: Outcome::NoVerdict,
            error,
            verdicts: Vec::new(),
            ledger: Ledger::default(),
            duration_ms: 0,
            place: options.shard.map(|_| document.place),
        };
        let events = vec![Event::Began(index, Box::new(input), checks.len())];
        if checks.is_empty() {
            return (events, None);
        }
        let work = Arc::new(Work {
            index,
            name: document.name,
            file: document.file,
            digest: document.digest,
            subjects: document.subjects,
            signers: document.signers,
            kind: document.kind,
            content: Mutex::new(document.content),
            reading: document.reading,
            started: OnceLock::new(),
            closed: self.images,
            _memory: memory,
        });
        (events, Some(Job { work, checks }))
    }
}

impl Gate {
    /// Returns the policies that are evaluated with a document.
    fn checks_for(&self, document: &Document, options: &RunOptions) -> Vec<usize> {
        let (file, kind) = (document.file.as_deref(), document.kind);
        let is_for = |check| self.is_for(check, &options.documents.metadata, file, kind);
        let all = self.checks.iter().enumerate();
        all.filter_map(|(index, check)| is_for(check).then_some(index)).collect()
    }
}
