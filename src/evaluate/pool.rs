//! The threads that passes of async evaluations run on.
//!
//! Owns the bound on their number. A pass holds a thread while it runs; an evaluation that waits
//! for the service holds none.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::{Condvar, Mutex};

use crate::Error;

/// The time for which an idle thread waits for work before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// The stack of a thread, in bytes, whatever the process' default is. Deep evaluations grow it.
const STACK: usize = 4 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// A bounded pool of threads for evaluations. Clones are cheap and share the threads.
///
/// Evaluations that wait for the service hold no thread. [`EvaluateOptions`] without a pool use one
/// that the whole process shares, with a thread per core.
///
/// [`EvaluateOptions`]: super::EvaluateOptions
#[derive(Debug, Clone)]
pub struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: NonZeroUsize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// The process that has the threads: a forked one has none of its parent's.
    process: u32,
}

impl State {
    /// Returns the state for a process.
    fn of_process(&mut self, process: u32) -> &mut Self {
        if self.process != process {
            // The jobs are the parent's: what they hold may be locked by its threads.
            std::mem::forget(std::mem::take(&mut self.queue));
            *self = Self { process, ..Self::default() };
        }
        self
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("queued", &self.queue.len())
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// Creates a pool of at most `threads` threads, which are started as they are needed.
    pub fn new(threads: NonZeroUsize) -> Self {
        let state = Mutex::default();
        Self(Arc::new(Shared { most: threads, state, work: Condvar::new() }))
    }

    /// Returns the pool that the process shares.
    pub(crate) fn shared() -> Self {
        static POOL: OnceLock<Pool> = OnceLock::new();
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        POOL.get_or_init(|| Self::new(cores())).clone()
    }

    /// Runs `job` on one of the threads and waits for its result; `None` if `ended` was ready
    /// before a thread was, or `overdue` before the job was done. A job keeps its own time; one that doesn't
    /// keeps its thread, too.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
        (ended, overdue): (impl Future<Output = ()>, impl Future<Output = ()>),
    ) -> Result<Option<T>, Error> {
        let (sender, mut receiver) = tokio::sync::oneshot::channel();
        let turn = Arc::new(Turn::default());
        let (span, own) = (tracing::Span::current(), Arc::clone(&turn));
        self.add(Box::new(move || {
            // The caller may have dropped its future.
            if !sender.is_closed() && own.take() {
                let _ = sender.send(span.in_scope(job));
            }
        }))?;
        let (mut ended, mut overdue) = (pin!(ended), pin!(overdue));
        poll_fn(|cx| {
            if let Poll::Ready(done) = receiver.poll_unpin(cx) {
                return Poll::Ready(done.map(Some).map_err(|_| {
                    let message = "the evaluation's thread ended without a result";
                    Error::internal(message)
                }));
            }
            let is_over = !turn.is_taken() && ended.as_mut().poll(cx).is_ready();
            let is_over = is_over && turn.take() || overdue.as_mut().poll(cx).is_ready();
            if is_over { Poll::Ready(Ok(None)) } else { Poll::Pending }
        })
        .await
    }

    fn add(&self, job: Job) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        state.of_process(std::process::id()).queue.push_back(job);
        if state.idle >= state.queue.len() || state.threads >= self.0.most.get() {
            drop(state);
            self.0.work.notify_one();
            return Ok(());
        }
        state.threads += 1;
        let first = state.threads == 1;
        drop(state);
        let shared = Arc::clone(&self.0);
        let thread = thread::Builder::new().name("rego-evaluation".to_owned()).stack_size(STACK);
        if let Err(error) = thread.spawn(move || shared.serve()) {
            self.0.state.lock().threads -= 1;
            if first {
                self.0.state.lock().queue.clear();
                let message = "can't start a thread to evaluate on";
                return Err(Error::internal(message).with_source(error));
            }
        }
        Ok(())
    }
}

/// A job's turn, which either a thread takes or the caller that no longer waits.
#[derive(Debug, Default)]
struct Turn(AtomicBool);

impl Turn {
    /// Returns `true` for the first to take it.
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    fn is_taken(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Shared {
    fn serve(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                drop(state);
                // A panic in one job must not end a thread that other jobs are queued for.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
                state = self.state.lock();
                continue;
            }
            state.idle += 1;
            let timeout = self.work.wait_for(&mut state, IDLE);
            state.idle -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::future::{pending, ready};

    use super::super::blocking::block_on;
    use super::*;

    #[test]
    fn a_pool_starts_no_more_threads_than_its_bound() {
        let pool = Pool::new(NonZeroUsize::new(2).unwrap());
        let jobs: Vec<_> = (0..50).map(|n| pool.run(move || n, (pending(), pending()))).collect();
        let all = block_on(futures_util::future::join_all(jobs));
        assert!(all.into_iter().zip(0..).all(|(done, n)| done.unwrap() == Some(n)));
        assert!(pool.0.state.lock().threads <= 2);
    }

    #[test]
    fn a_forked_process_starts_threads_of_its_own() {
        let pool = Pool::new(NonZeroUsize::MIN);
        assert_eq!(block_on(pool.run(|| 1, (pending(), pending()))).unwrap(), Some(1));
        // As in a child of the process that has the thread.
        let parent = State { threads: 1, idle: 1, process: u32::MAX, ..State::default() };
        let child = Pool::new(NonZeroUsize::MIN);
        *child.0.state.lock() = parent;
        assert_eq!(block_on(child.run(|| 2, (pending(), pending()))).unwrap(), Some(2));
    }

    #[test]
    fn a_job_that_panics_does_not_end_its_thread() {
        let pool = Pool::new(NonZeroUsize::MIN);
        let panics =
            pool.run(|| std::panic::resume_unwind(Box::new("gone")), (pending(), pending()));
        assert!(block_on(panics).map(|_: Option<()>| ()).is_err());
        assert_eq!(block_on(pool.run(|| 1, (pending(), pending()))).unwrap(), Some(1));
    }

    #[test]
    fn a_job_that_waits_for_a_thread_ends_with_its_caller() {
        let pool = Pool::new(NonZeroUsize::MIN);
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let busy = pool.run(move || gone.recv().is_ok(), (pending(), pending()));
        let mut busy = pin!(busy);
        assert!((&mut busy).now_or_never().is_none());
        assert_eq!(block_on(pool.run(|| 1, (ready(()), pending()))).unwrap(), None);
        go.send(()).unwrap();
        assert_eq!(block_on(busy).unwrap(), Some(true));
        assert_eq!(block_on(pool.run(|| 2, (pending(), pending()))).unwrap(), Some(2));
    }
}
