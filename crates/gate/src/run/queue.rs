//! The queue of jobs, and which worker refills it.
//!
//! No worker only reads: the one that finds few jobs queued reads ahead, while the others evaluate what is there.
//! Jobs are taken and results handed over several at a time, since waking a thread takes about as long as a
//! small evaluation.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::memory::MemoryBound;
use super::reader::JobReader;
use super::worker::{Event, Job};

/// The number of queued jobs per worker.
const QUEUED: usize = 256;

/// The size of queued inputs per worker, in bytes, above which reading pauses.
const QUEUED_BYTES: usize = 512 << 10;

/// The interval of sleep for a worker without a job while another worker reads. After that it waits until it
/// is woken, which costs the worker that reads more than an input.
const NAP: Duration = Duration::from_micros(100);
const NAPS: usize = 10;

/// The queue of a run's jobs.
pub(super) struct JobQueue<'a> {
    state: Mutex<State<'a>>,
    changed: Condvar,
    memory: MemoryBound,
    threads: usize,
    /// `true` if policies wait for the service. Each policy is a separate job then, so that they wait
    /// concurrently.
    waits: bool,
}

struct State<'a> {
    jobs: VecDeque<Job>,
    /// The events of reads, sent before the jobs of the inputs.
    events: Vec<Event>,
    /// `None` while a worker reads, and when everything was read.
    reader: Option<JobReader<'a>>,
    is_over: bool,
    /// The number of workers that wait to be woken.
    waiting: usize,
}

impl<'a> JobQueue<'a> {
    pub fn new(reader: JobReader<'a>, threads: usize, waits: bool) -> Self {
        let state = State {
            jobs: VecDeque::new(),
            events: Vec::new(),
            reader: Some(reader),
            is_over: false,
            waiting: 0,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            memory: MemoryBound::default(),
            threads,
            waits,
        }
    }

    /// Returns a worker's next jobs; waits for them, or reads them. There are none at the end.
    pub fn take(&self, events: &Sender<Vec<Event>>) -> Option<Vec<Job>> {
        let mut state = self.state.lock();
        let mut naps = 0;
        loop {
            // Refill at half, while the other workers still have jobs.
            if !self.has(&state, 2)
                && let Some(reader) = state.reader.take()
            {
                drop(state);
                self.read_ahead(reader);
                state = self.state.lock();
            }
            if !state.events.is_empty() {
                // Without a receiver, the run has ended with a panic.
                events.send(std::mem::take(&mut state.events)).ok()?;
            }
            if !state.jobs.is_empty() {
                return Some(self.share(&mut state.jobs));
            }
            if state.is_over {
                return None;
            }
            // The other workers took the jobs that were just read.
            if state.reader.is_some() {
                continue;
            }
            // A read usually takes less time than waking a thread.
            if naps < NAPS {
                naps += 1;
                drop(state);
                std::thread::sleep(NAP);
                state = self.state.lock();
            } else {
                state.waiting += 1;
                self.changed.wait(&mut state);
                state.waiting -= 1;
            }
        }
    }

    /// Returns `true` if the queue is filled to the given part.
    fn has(&self, state: &State<'_>, part: usize) -> bool {
        let enough = |all: usize| all.saturating_mul(self.threads) / part;
        state.jobs.len() >= enough(QUEUED)
            || !state.jobs.is_empty() && self.memory.taken() >= enough(QUEUED_BYTES)
    }

    /// Returns a worker's share of the jobs. It shrinks with the queue, so that no job waits behind a long
    /// one at the end. Of the last inputs it takes a part of the policies.
    fn share(&self, jobs: &mut VecDeque<Job>) -> Vec<Job> {
        let count = if self.waits || jobs.len() < self.threads {
            let part = |all: usize| if self.waits { 1 } else { all.div_ceil(self.threads) };
            if let Some(Job { input, checks }) = jobs.front_mut()
                && part(checks.len()) < checks.len()
            {
                let checks = checks.drain(..part(checks.len())).collect();
                return vec![Job { input: Arc::clone(input), checks }];
            }
            1
        } else {
            jobs.len().div_ceil(self.threads * 2)
        };
        jobs.drain(..count).collect()
    }

    fn read_ahead(&self, reader: JobReader<'a>) {
        let mut reading = Reading { queue: self, reader: Some(reader) };
        while let Some(reader) = &mut reading.reader {
            let Some(bytes) = reader.read() else {
                let left = reader.left();
                reading.reader = None;
                self.state.lock().events.extend(left);
                return;
            };
            // Waiting for memory is safe only without queued jobs: then running jobs alone hold it.
            let memory = match self.memory.try_take(bytes) {
                Some(memory) => memory,
                None if self.state.lock().jobs.is_empty() => self.memory.take(bytes),
                None => return,
            };
            let (events, job) = reader.job(memory);
            let mut state = self.state.lock();
            state.events.extend(events);
            if let Some(job) = job {
                let wakes = state.jobs.is_empty() && state.waiting > 0;
                state.jobs.push_back(job);
                if wakes {
                    self.changed.notify_all();
                }
            }
            if self.has(&state, 1) {
                return;
            }
        }
    }
}

/// A worker's turn to read, returned on drop.
struct Reading<'r, 'a> {
    queue: &'r JobQueue<'a>,
    /// `None` if everything was read.
    reader: Option<JobReader<'a>>,
}

impl Drop for Reading<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.reader = self.reader.take().filter(|_| !std::thread::panicking());
        state.is_over = state.reader.is_none();
        if state.waiting > 0 {
            self.queue.changed.notify_all();
        }
    }
}
