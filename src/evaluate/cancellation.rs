//! Cancelling an evaluation from outside.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use crate::Error;

/// A handle that cancels the evaluations it was passed to. A running evaluation stops soon, one
/// that waits for the service at once, and requests that nothing else waits for are dropped.
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
    /// A handle whose cancellation also cancels this one.
    parent: Option<Cancellation>,
    waiting: Mutex<Vec<Weak<AtomicWaker>>>,
}

impl Cancellation {
    /// Creates a handle that isn't cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the evaluations, irrevocably.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        for waker in self.0.waiting.lock().drain(..) {
            if let Some(waker) = waker.upgrade() {
                waker.wake();
            }
        }
    }

    /// Returns `true` once it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        let parent = || self.0.parent.as_ref().is_some_and(Self::is_cancelled);
        self.0.cancelled.load(Ordering::Acquire) || parent()
    }

    /// Returns a handle that is cancelled together with this one, or on its own.
    pub(super) fn child(&self) -> Self {
        Self(Arc::new(Inner { parent: Some(self.clone()), ..Inner::default() }))
    }

    /// Wakes `waker` on cancellation, or now if this is cancelled already.
    pub(super) fn wakes(&self, waker: &Arc<AtomicWaker>) {
        let mut waiting = self.0.waiting.lock();
        if waiting.len() == waiting.capacity() {
            // Drop the wakers of evaluations that are over.
            waiting.retain(|waker| waker.strong_count() > 0);
        }
        waiting.push(Arc::downgrade(waker));
        drop(waiting);
        if let Some(parent) = &self.0.parent {
            parent.wakes(waker);
        }
        if self.is_cancelled() {
            waker.wake();
        }
    }
}

/// Cancels when it is dropped.
#[derive(Debug)]
#[doc(hidden)]
pub struct CancelOnDrop(pub Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Returns the error of a cancelled evaluation.
pub(super) fn cancelled() -> Error {
    Error::cancelled("the evaluation was cancelled")
}
