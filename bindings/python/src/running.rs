//! Futures of the library, waited for from Python: by a thread that notices signals, or by an event loop.

use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rego_platform::Error;
use rego_platform::evaluate::{CancelOnDrop, Cancellation, Pool};
use rego_platform_client::runtime::LazyRuntime;

use crate::error::raised;

/// The time between two looks for signals, such as that of Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(20);

/// The thread on which futures are polled for event loops, and what blocks is started.
static RUNTIME: LazyRuntime = LazyRuntime::of_host();

/// The last step of an operation, with Python's lock: it makes the result an object or raises the error.
pub(crate) type Finish = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// An operation. Dropping it cancels it.
pub(crate) type Operation = Pin<Box<dyn Future<Output = Finish> + Send>>;

/// The threads of the library that are in Python's code, or about to be.
static ATTACHED: AtomicUsize = AtomicUsize::new(0);

/// Set once Python shuts down.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Runs code with Python's lock on a thread of the library; `None` once Python shuts down.
pub(crate) fn attached<T>(code: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    /// The process in which the thread is counted.
    struct Leave(u32);
    impl Drop for Leave {
        fn drop(&mut self) {
            // The code may fork, and a child counts anew.
            if self.0 == std::process::id() {
                ATTACHED.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
    ATTACHED.fetch_add(1, Ordering::SeqCst);
    let _leave = Leave(std::process::id());
    if ENDED.load(Ordering::SeqCst) { None } else { Python::try_attach(code) }
}

/// Waits for the functions of Python that run on threads of the library: a thread that asks for the lock of a Python
/// that is gone would end the process with an error.
#[pyfunction]
pub(crate) fn shut_down(py: Python<'_>) -> PyResult<()> {
    ENDED.store(true, Ordering::SeqCst);
    while ATTACHED.load(Ordering::SeqCst) > 0 {
        py.detach(|| thread::sleep(SIGNALS));
        py.check_signals()?;
    }
    Ok(())
}

/// Forgets the threads of the parent, which a forked process doesn't have.
#[pyfunction]
pub(crate) fn forked() {
    ATTACHED.store(0, Ordering::SeqCst);
}

/// Returns `true` on the thread that runs Python's signal handlers.
pub(crate) fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}

/// Waits for an operation, or starts it for an event loop if there is a function that wakes it.
pub(crate) fn run(
    py: Python<'_>,
    operation: Operation,
    wake: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    match wake {
        None => wait(py, operation)?(py),
        Some(wake) => Ok(Py::new(py, Task::start(py, operation, wake)?)?.into_any()),
    }
}

struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Waits for an operation on this thread. The error of a signal's handler, such as `KeyboardInterrupt`, ends it.
fn wait(py: Python<'_>, operation: Operation) -> PyResult<Finish> {
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(true) });
    let waker = Waker::from(Arc::clone(&unpark));
    let mut operation = pin!(operation);
    let mut poll = || {
        let next = Instant::now() + SIGNALS;
        loop {
            if unpark.woken.swap(false, Ordering::Acquire)
                && let Poll::Ready(finish) =
                    operation.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Some(finish);
            }
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            if !unpark.woken.load(Ordering::Acquire) {
                thread::park_timeout(left);
            }
        }
    };
    loop {
        if let Some(finish) = py.detach(&mut poll) {
            return Ok(finish);
        }
        py.check_signals()?;
    }
}

/// An operation that an event loop waits for.
#[pyclass(frozen, module = "rego_platform")]
pub(crate) struct Task {
    finish: Arc<Mutex<Option<Finish>>>,
    running: tokio::task::AbortHandle,
}

/// Wakes the event loop when it is dropped: the operation has a result, was cancelled, or panicked.
struct WakeOnDrop(Py<PyAny>);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        // While Python shuts down, no loop waits.
        attached(|py| {
            if let Err(error) = self.0.call0(py) {
                error.write_unraisable(py, Some(self.0.bind(py)));
            }
        });
    }
}

impl Task {
    fn start(py: Python<'_>, operation: Operation, wake: Py<PyAny>) -> PyResult<Self> {
        let finish = Arc::new(Mutex::new(None));
        let (place, wake) = (Arc::clone(&finish), WakeOnDrop(wake));
        let handle = RUNTIME.get().map_err(|error| raised(py, &error))?.handle();
        let running = handle.spawn(async move {
            let wake = wake;
            let finish = operation.await;
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(finish);
            drop(wake);
        });
        Ok(Self { finish, running: running.abort_handle() })
    }
}

#[pymethods]
impl Task {
    /// Cancels the operation, if it hasn't ended.
    fn cancel(&self) {
        self.running.abort();
    }

    /// Returns the result of the ended operation, once.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let finish = self.finish.lock().unwrap_or_else(PoisonError::into_inner).take();
        match finish {
            Some(finish) => finish(py),
            None => Err(raised(py, &Error::internal("the operation ended without a result"))),
        }
    }
}

/// Runs blocking code on a thread of its own. `cancellation` ends it if the caller doesn't wait any longer.
pub(crate) async fn blocking<T: Send + 'static>(
    cancellation: Cancellation,
    code: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let _cancel = CancelOnDrop(cancellation);
    let done = RUNTIME.get()?.handle().spawn_blocking(code).await;
    done.unwrap_or_else(|error| Err(Error::internal("the operation panicked").with_source(error)))
}

/// The threads that evaluate, in this process or in the one from which it was forked.
struct Threads {
    pool: Pool,
    process: u32,
    /// The pool of a forked process, which has none of its parent's threads.
    forked: OnceLock<Box<Self>>,
}

/// Returns the pool of this process, with a thread for each core.
pub(crate) fn pool() -> Pool {
    static FIRST: OnceLock<Box<Threads>> = OnceLock::new();
    let process = std::process::id();
    let mut place = &FIRST;
    loop {
        let threads = place.get_or_init(|| {
            let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
            Box::new(Threads { pool: Pool::new(cores), process, forked: OnceLock::new() })
        });
        if threads.process == process {
            return threads.pool.clone();
        }
        place = &threads.forked;
    }
}
