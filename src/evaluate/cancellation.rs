//! Ending an evaluation from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::task::AtomicWaker;

use crate::{Error, ErrorKind};

/// Ends the evaluations that were given it: those that run stop soon, those that wait for the
/// service stop at once, and requests that nothing else waits for are dropped.
///
/// ```
/// use rego_platform::evaluate::Cancellation;
///
/// let cancellation = Cancellation::new();
/// assert!(!cancellation.is_cancelled());
/// cancellation.clone().cancel();
/// assert!(cancellation.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: AtomicBool,
    waiting: std::sync::Mutex<Vec<Arc<AtomicWaker>>>,
}

impl Cancellation {
    /// Not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels; it can't be taken back.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        for waker in self.lock().drain(..) {
            waker.wake();
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Wakes `waker` when this is cancelled, or now if it is.
    pub(super) fn wakes(&self, waker: &Arc<AtomicWaker>) {
        self.lock().push(Arc::clone(waker));
        if self.is_cancelled() {
            waker.wake();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<AtomicWaker>>> {
        self.0.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The error of an evaluation that was cancelled.
pub(super) fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the evaluation was cancelled")
}
