//! Threads with a large stack, and how work is handed to them and back.
//!
//! Owns the threads, who waits how for whom, and the count of those that were given up. It doesn't
//! know what is done on them; [`super::contain`] says what that is and when it is late.
//!
//! A hand-over is on the way of every evaluation, and a small policy takes 20 µs: what is handed
//! over is one allocation, both sides look for each other before they sleep (waking a thread takes
//! 10 µs and more), and what a job leaves behind is freed when nobody waits for it.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind};

/// Address space that a worker reserves for its stack, where the platform gives as much.
pub(super) const STACK: usize = if cfg!(target_pointer_width = "64") { 1 << 30 } else { 64 << 20 };

/// Workers that wait for the next job; more of them end when they are done.
const IDLE: usize = 8;

/// A worker that ran for longer ends: it may have touched much of its stack.
const FRESH: Duration = Duration::from_millis(200);

/// How long each side looks for the other before it sleeps.
const SPIN: Duration = Duration::from_micros(40);

/// How long a caller looks while there is a core for it and for its worker: beside a job that
/// takes longer, waking up takes no time.
const SPIN_FREE: Duration = Duration::from_millis(1);

/// How long a worker looks for the next job while nobody else waits for one.
const SPIN_IDLE: Duration = Duration::from_micros(150);

static WORKERS: Mutex<Vec<Arc<Seat>>> = Mutex::new(Vec::new());
static WAITING: AtomicUsize = AtomicUsize::new(0);
static ABANDONED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is a worker: it does its jobs right here.
pub(super) fn is_worker() -> bool {
    IS_WORKER.get()
}

/// Jobs that were given up and still run.
pub(super) fn abandoned() -> usize {
    ABANDONED.load(Ordering::Relaxed)
}

/// What came of a job.
pub(super) enum Waited<T> {
    Done(T),
    /// The deadline passed. The job goes on, and what it gives is thrown away.
    Late,
    /// The thread ended without an answer.
    Lost,
}

/// Does `job` on a worker and waits for what it gives until `deadline`. The second part of that is
/// dropped on the worker, after the answer.
///
/// # Errors
/// [`ErrorKind::Internal`] when no thread can be started.
pub(super) fn run<T: Send + 'static, L: Send + 'static>(
    job: impl FnOnce() -> (T, L) + Send + 'static,
    deadline: Option<Instant>,
) -> Result<Waited<T>, Error> {
    let waiting = Waiting::new();
    let answer = Arc::new(Answer {
        state: AtomicU8::new(RUNNING),
        result: Mutex::new(None),
        caller: thread::current(),
    });
    let task = Task { job: Some(job), done: None, answer: Arc::clone(&answer) };
    send(Box::new(task))?;
    let patience = if waiting.others_fit() { SPIN_FREE } else { SPIN };
    if spin(patience, || answer.state.load(Ordering::Acquire) == DONE) || answer.sleep(deadline) {
        return Ok(lock(&answer.result).take().map_or(Waited::Lost, Waited::Done));
    }
    Ok(Waited::Late)
}

const RUNNING: u8 = 0;
/// It runs, and who waits for it sleeps.
const ASLEEP: u8 = 1;
const DONE: u8 = 2;
const LEFT: u8 = 3;

/// Where a worker puts what a job gave.
struct Answer<T> {
    state: AtomicU8,
    result: Mutex<Option<T>>,
    caller: Thread,
}

impl<T> Answer<T> {
    fn give(&self, result: Option<T>) {
        *lock(&self.result) = result;
        match self.state.swap(DONE, Ordering::AcqRel) {
            ASLEEP => self.caller.unpark(),
            LEFT => {
                ABANDONED.fetch_sub(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// Whether the answer came before the deadline.
    fn sleep(&self, deadline: Option<Instant>) -> bool {
        let (acquire, release) = (Ordering::Acquire, Ordering::AcqRel);
        if self.state.compare_exchange(RUNNING, ASLEEP, release, acquire).is_err() {
            return true;
        }
        while self.state.load(acquire) != DONE {
            let Some(deadline) = deadline else {
                thread::park();
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                thread::park_timeout(left);
                continue;
            }
            ABANDONED.fetch_add(1, Ordering::Relaxed);
            if self.state.compare_exchange(ASLEEP, LEFT, release, acquire).is_ok() {
                return false;
            }
            // It ended in this very moment.
            ABANDONED.fetch_sub(1, Ordering::Relaxed);
        }
        true
    }
}

/// A job on its way through a worker.
trait Work: Send {
    fn run(&mut self);
    /// Tells who waits; what is dropped later nobody waits for.
    fn reply(&mut self);
}

struct Task<T, L, F> {
    job: Option<F>,
    done: Option<(Option<T>, L)>,
    answer: Arc<Answer<T>>,
}

impl<T: Send, L: Send, F: FnOnce() -> (T, L) + Send> Work for Task<T, L, F> {
    fn run(&mut self) {
        if let Some(job) = self.job.take() {
            let (result, left) = job();
            self.done = Some((Some(result), left));
        }
    }

    fn reply(&mut self) {
        self.answer.give(self.done.as_mut().and_then(|(result, _)| result.take()));
    }
}

impl<T, L, F> Drop for Task<T, L, F> {
    fn drop(&mut self) {
        // No thread did it, or it panicked.
        if self.done.is_none() {
            self.answer.give(None);
        }
    }
}

const EMPTY: u8 = 0;
const WAITS: u8 = 1;
const FULL: u8 = 2;

/// Where a worker finds its next job.
struct Seat {
    state: AtomicU8,
    work: Mutex<Option<Box<dyn Work>>>,
    worker: OnceLock<Thread>,
}

impl Seat {
    fn put(&self, work: Box<dyn Work>) {
        *lock(&self.work) = Some(work);
        if self.state.swap(FULL, Ordering::AcqRel) == WAITS
            && let Some(worker) = self.worker.get()
        {
            worker.unpark();
        }
    }

    fn next(&self) -> Option<Box<dyn Work>> {
        let is_full = || self.state.load(Ordering::Acquire) == FULL;
        let alone = WAITING.load(Ordering::Relaxed) * 2 < cores();
        if !spin(if alone { SPIN_IDLE } else { SPIN }, is_full) {
            let (acquire, release) = (Ordering::Acquire, Ordering::AcqRel);
            // An error says that it is full by now.
            let _ = self.state.compare_exchange(EMPTY, WAITS, release, acquire);
            while !is_full() {
                thread::park();
            }
        }
        let work = lock(&self.work).take();
        self.state.store(EMPTY, Ordering::Release);
        work
    }
}

/// Hands `work` to a worker that waits, or to a new one.
fn send(work: Box<dyn Work>) -> Result<(), Error> {
    let waiting = lock(&WORKERS).pop();
    if let Some(seat) = waiting {
        seat.put(work);
        return Ok(());
    }
    let seat = Arc::new(Seat {
        state: AtomicU8::new(FULL),
        work: Mutex::new(Some(work)),
        worker: OnceLock::new(),
    });
    spawn(&seat)
}

/// Starts a worker, with less stack where the system refuses the whole reserve.
fn spawn(seat: &Arc<Seat>) -> Result<(), Error> {
    let mut last = None;
    for stack in [STACK, STACK / 4, STACK / 16] {
        let seat = Arc::clone(seat);
        let thread = thread::Builder::new().name("rego-evaluation".to_owned()).stack_size(stack);
        match thread.spawn(move || work(&seat)) {
            Ok(_) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    let error = Error::new(ErrorKind::Internal, "can't start a thread to evaluate on");
    Err(last.map_or_else(|| error.clone(), |source| error.clone().with_source(source)))
}

fn work(seat: &Arc<Seat>) {
    IS_WORKER.set(true);
    let _ = seat.worker.set(thread::current());
    while let Some(mut work) = seat.next() {
        let started = Instant::now();
        work.run();
        let mut workers = lock(&WORKERS);
        let stays = workers.len() < IDLE && started.elapsed() <= FRESH;
        if stays {
            workers.push(Arc::clone(seat));
        }
        drop(workers);
        // Only now: who evaluates again at once finds this worker, still awake, and needs no other.
        work.reply();
        drop(work);
        if !stays {
            break;
        }
    }
    #[cfg(feature = "cli")]
    regorus::flush_thread_memory_counters();
}

fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// One of those who wait for a job.
struct Waiting(usize);

impl Waiting {
    fn new() -> Self {
        Self(WAITING.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Whether each of them, and each of their workers, has a core.
    fn others_fit(&self) -> bool {
        self.0 * 2 <= cores()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether something comes soon, without sleeping.
fn spin(patience: Duration, has_come: impl Fn() -> bool) -> bool {
    if cores() < 2 {
        return false;
    }
    let started = Instant::now();
    loop {
        for _ in 0..32 {
            if has_come() {
                return true;
            }
            std::hint::spin_loop();
        }
        if started.elapsed() > patience {
            return false;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

    use std::sync::mpsc;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_job_gives_its_answer_before_what_it_leaves_is_dropped() {
        struct Left(mpsc::Receiver<()>);
        impl Drop for Left {
            fn drop(&mut self) {
                self.0.recv().unwrap();
            }
        }
        let (sender, receiver) = mpsc::channel();
        let waited = run(move || (is_worker(), Left(receiver)), Some(soon())).unwrap();
        assert!(matches!(waited, Waited::Done(true)));
        assert!(!is_worker());
        sender.send(()).unwrap();
    }

    #[test]
    fn a_late_job_is_left_and_a_sleeping_caller_is_woken() {
        let (sender, receiver) = mpsc::channel::<()>();
        let job = move || (receiver.recv().is_err(), ());
        let waited = run(job, Some(Instant::now() + Duration::from_millis(5))).unwrap();
        assert!(matches!(waited, Waited::Late));
        assert!(abandoned() >= 1);
        drop(sender);
        let slow = || (thread::sleep(SPIN_FREE * 20), ());
        assert!(matches!(run(slow, Some(soon())).unwrap(), Waited::Done(())));
        assert!(matches!(run(slow, None).unwrap(), Waited::Done(())));
    }

    #[test]
    fn a_thread_that_ends_without_an_answer_is_noticed() {
        let job = || -> ((), ()) { std::panic::resume_unwind(Box::new("gone")) };
        assert!(matches!(run(job, Some(soon())).unwrap(), Waited::Lost));
        assert!(matches!(run(|| (1, ()), Some(soon())).unwrap(), Waited::Done(1)));
    }
}
