//! Evaluation that can't take the process with it: a large stack, a deadline, caught panics.
//!
//! Owns the threads on which evaluations run, what happens when one panics or doesn't come back,
//! and the limits that regorus itself enforces (its timer; with the feature `cli` its memory
//! limit). It doesn't know what is evaluated.
//!
//! What bounds an evaluation:
//! - **Stack.** A worker reserves [`STACK`] bytes of address space; pages are used as they are
//!   touched. What regorus recurses over is bounded by the loader (no call cycles, bounded depth
//!   of source and of calls), so the reserve is never used up: [`CALL_DEPTH`] calls fit in it.
//! - **Time.** regorus looks at its timer between steps, every function and built-in at the
//!   deadline of its scope. What neither interrupts (comparing two huge values) is abandoned:
//!   the caller gets its error, the thread ends when it ends, and at most [`ABANDONED`] of them
//!   may be under way before new evaluations are refused.
//! - **Memory.** Built-ins are bounded by [`super::scope::Limits`]. What comprehensions and rules
//!   build is bounded by time alone, some 300 MB for each second of the deadline, unless the
//!   process sets a limit with `set_memory_limit` (feature `cli`).

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::num::{NonZeroU32, NonZeroUsize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, LimitError};

use super::scope::{self, Scope};
use crate::{Error, ErrorKind, text};

/// Address space that a worker reserves for its stack, where the platform gives as much.
pub(crate) const STACK: usize = if cfg!(target_pointer_width = "64") { 1 << 30 } else { 64 << 20 };

/// Calls of functions and rules inside one another that fit on a worker's stack, with room to
/// spare in a build without optimization too. The loader refuses what could go deeper.
#[cfg(test)]
pub(crate) const CALL_DEPTH: usize = 10_000;

/// Evaluations past their deadline that may be under way at a time.
pub(crate) const ABANDONED: usize = 16;

/// How long after its deadline an evaluation is waited for: regorus and the built-ins usually
/// notice by themselves and give a better error.
const GRACE: Duration = Duration::from_millis(250);

/// Workers that wait for the next evaluation; more of them end when they are done.
const IDLE: usize = 8;

/// A worker that ran for longer ends: it may have touched much of its stack.
const FRESH: Duration = Duration::from_millis(200);

/// Steps of regorus between two looks at its timer.
const CHECK_INTERVAL: NonZeroU32 = NonZeroU32::new(16).unwrap();

/// How long each side looks for the other before it sleeps: waking a thread takes 10 µs, as long
/// as a small policy.
const SPIN: Duration = Duration::from_micros(40);

/// How long a caller looks while there is a core for it and for its worker.
const SPIN_FREE: Duration = Duration::from_micros(500);

/// What a worker does, and gives back what tells the caller of it.
type Job = Box<dyn FnOnce() -> Reply + Send>;
type Reply = Box<dyn FnOnce()>;

static WORKERS: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
static SPINNING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PANICKED_AT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Evaluates with a clone of `template` under `scope`, and throws the clone away: after a panic an
/// engine keeps mocks and inputs that are over.
///
/// The clone is made where it is used; memory that one thread takes and another gives back is slow.
///
/// The result stands only if nothing failed under `scope`, whatever regorus made of the failure.
pub(crate) fn evaluate<T: Send + 'static>(
    scope: &Arc<Scope>,
    template: &Arc<Engine>,
    job: impl FnOnce(&mut Engine) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let inner = Arc::clone(scope);
    let template = Arc::clone(template);
    run(scope, move || {
        let mut engine = Engine::clone(&template);
        if let Some(deadline) = inner.deadline() {
            let limit = deadline.saturating_duration_since(Instant::now());
            engine.set_execution_timer_config(ExecutionTimerConfig {
                limit,
                check_interval: CHECK_INTERVAL,
            });
        }
        let result = job(&mut engine);
        match inner.failure() {
            Some(failure) => Err(failure.clone()),
            None => result,
        }
    })
}

/// Runs `job` on a worker with `scope` as its scope; on a worker already, runs it right here.
pub(crate) fn run<T: Send + 'static>(
    scope: &Arc<Scope>,
    job: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    scope.check()?;
    quiet_caught_panics();
    let inner = Arc::clone(scope);
    let job = move || caught(move || scope::with(inner, job));
    if IS_WORKER.get() {
        return job();
    }
    if UNDER_WAY.load(Ordering::Relaxed) >= ABANDONED {
        return Err(Error::new(
            ErrorKind::Internal,
            format!("{ABANDONED} evaluations are past their deadline and can't be interrupted"),
        )
        .with_hint("restart the process, and find the policy that hangs"));
    }
    let state = Arc::new(AtomicU8::new(RUNNING));
    let (reply, answer) = mpsc::sync_channel(1);
    send(envelope(job, reply, Arc::clone(&state)))?;
    wait(scope, &answer, &state)
}

const RUNNING: u8 = 0;
const DONE: u8 = 1;
const LEFT: u8 = 2;

fn envelope<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, Error> + Send + 'static,
    reply: SyncSender<Result<T, Error>>,
    state: Arc<AtomicU8>,
) -> Job {
    Box::new(move || {
        let result = job();
        if state.swap(DONE, Ordering::AcqRel) == LEFT {
            UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
        }
        // Nobody waits for the answer of an abandoned evaluation.
        Box::new(move || drop(reply.send(result)))
    })
}

fn wait<T>(
    scope: &Scope,
    answer: &Receiver<Result<T, Error>>,
    state: &AtomicU8,
) -> Result<T, Error> {
    let lost =
        || Error::new(ErrorKind::Internal, "the evaluation's thread ended without an answer");
    // While cores are free, looking costs nobody anything.
    let waiting = Waiting::new();
    let patience = if waiting.others_fit() { SPIN_FREE } else { SPIN };
    if let Some(result) = spin(answer, patience) {
        return result;
    }
    drop(waiting);
    let Some(deadline) = scope.deadline() else {
        return answer.recv().unwrap_or_else(|_| Err(lost()));
    };
    let patience = deadline.saturating_duration_since(Instant::now()).saturating_add(GRACE);
    match answer.recv_timeout(patience) {
        Ok(result) => result,
        Err(RecvTimeoutError::Disconnected) => Err(lost()),
        Err(RecvTimeoutError::Timeout) => {
            UNDER_WAY.fetch_add(1, Ordering::Relaxed);
            if state.compare_exchange(RUNNING, LEFT, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // It ended in this very moment.
                UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
                return answer.recv().unwrap_or_else(|_| Err(lost()));
            }
            scope.cancel();
            Err(scope.fail(scope.out_of_time()))
        }
    }
}

fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// One of those who look for an answer without sleeping.
struct Waiting(usize);

impl Waiting {
    fn new() -> Self {
        Self(SPINNING.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Whether each of them, and each of their workers, has a core.
    fn others_fit(&self) -> bool {
        self.0 * 2 <= cores()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        SPINNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What comes soon, without sleeping.
fn spin<T>(from: &Receiver<T>, patience: Duration) -> Option<T> {
    if cores() < 2 {
        return None;
    }
    let started = Instant::now();
    loop {
        for _ in 0..32 {
            match from.try_recv() {
                Ok(thing) => return Some(thing),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        if started.elapsed() > patience {
            return None;
        }
    }
}

/// Hands `job` to a worker that waits, or to a new one.
fn send(mut job: Job) -> Result<(), Error> {
    while let Some(worker) = lock(&WORKERS).pop() {
        match worker.send(job) {
            Ok(()) => return Ok(()),
            Err(mpsc::SendError(back)) => job = back,
        }
    }
    let (worker, jobs) = mpsc::channel::<Job>();
    // Sent before the thread is there, so that a thread that can't start loses nothing.
    let this = worker.clone();
    worker.send(job).map_err(|_| Error::new(ErrorKind::Internal, "no worker takes the job"))?;
    spawn(jobs, this)
}

/// Starts a worker, with less stack where the system refuses the whole reserve.
fn spawn(jobs: Receiver<Job>, this: Sender<Job>) -> Result<(), Error> {
    let seat = Arc::new(Mutex::new(Some((jobs, this))));
    let mut last = None;
    for stack in [STACK, STACK / 4, STACK / 16] {
        let seat = Arc::clone(&seat);
        let body = move || {
            let taken = lock(&seat).take();
            if let Some((jobs, this)) = taken {
                work(&jobs, &this);
            }
        };
        match thread::Builder::new()
            .name("rego-evaluation".to_owned())
            .stack_size(stack)
            .spawn(body)
        {
            Ok(_) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    let error = Error::new(ErrorKind::Internal, "can't start a thread to evaluate on");
    Err(last.map_or_else(|| error.clone(), |source| error.clone().with_source(source)))
}

fn work(jobs: &Receiver<Job>, this: &Sender<Job>) {
    IS_WORKER.set(true);
    while let Some(job) = spin(jobs, SPIN).or_else(|| jobs.recv().ok()) {
        let started = Instant::now();
        let reply = job();
        let mut workers = lock(&WORKERS);
        let stays = workers.len() < IDLE && started.elapsed() <= FRESH;
        if stays {
            workers.push(this.clone());
        }
        drop(workers);
        // Only now: who evaluates again at once finds this worker, still awake, and needs no other.
        reply();
        if !stays {
            break;
        }
    }
    #[cfg(feature = "cli")]
    regorus::flush_thread_memory_counters();
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of `job`, or the panic that ended it as an error.
pub(super) fn caught<T>(job: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let outer = CATCHING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(job));
    CATCHING.set(outer);
    result.unwrap_or_else(|payload| Err(panicked(&*payload)))
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    let place = PANICKED_AT.take().map(|at| format!(" ({at})")).unwrap_or_default();
    let message = text::shorten(message, 200);
    Error::new(ErrorKind::Internal, format!("the interpreter panicked: {message}{place}"))
        .with_hint("report this with the policy that causes it")
}

/// Keeps the host's panic hook from printing panics that become errors here. Every other panic
/// goes to the hook that was there before.
fn quiet_caught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let host = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                // File names of dependencies begin with a path of the machine that built them.
                let place = info.location().map(|at| {
                    let file = at.file().rsplit(['/', '\\']).next().unwrap_or_default();
                    format!("{file}:{}", at.line())
                });
                PANICKED_AT.set(place);
            } else {
                host(info);
            }
        }));
    });
}

/// The limit that `error`, made by regorus, is about, as our error.
///
/// regorus passes errors through functions as text, so the text is looked at too; a policy that
/// fakes it changes the kind of its own failure and nothing else.
pub(crate) fn limit(scope: Option<&Scope>, error: &anyhow::Error) -> Option<Error> {
    let said = error.to_string();
    let memory = |limit: &str| {
        Error::new(ErrorKind::TooLarge, format!("the evaluation needs more memory than {limit}"))
            .with_hint("simplify the policy, or allow it more memory")
    };
    match error.downcast_ref::<LimitError>() {
        Some(LimitError::MemoryLimitExceeded { limit, .. }) => {
            return Some(memory(&format!("{limit} bytes")));
        }
        Some(LimitError::RegexSizeLimitExceeded { limit }) => {
            let message = format!("a regular expression compiles to more than {limit} bytes");
            return Some(Error::new(ErrorKind::TooLarge, message));
        }
        Some(LimitError::TimeLimitExceeded { .. }) | None => {}
    }
    if said.contains("execution exceeded memory limit") {
        return Some(memory("the limit"));
    }
    let timed_out = said.contains("execution exceeded time limit");
    timed_out
        .then(|| scope.map_or_else(|| Error::new(ErrorKind::TimedOut, said), Scope::out_of_time))
}

/// Bounds the memory of the whole process while regorus evaluates; `None` lifts the limit.
///
/// For a command, which does nothing else. The limit is regorus' own, is global, and is looked at
/// between steps: an evaluation that is over it ends with [`ErrorKind::TooLarge`].
#[cfg(feature = "cli")]
pub(crate) fn set_memory_limit(bytes: Option<u64>) {
    regorus::set_global_memory_limit(bytes);
}

#[cfg(test)]
#[path = "contain_tests.rs"]
mod tests;
