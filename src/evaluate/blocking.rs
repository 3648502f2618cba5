//! Blocking on a future from any thread, inside or outside an async runtime.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark {
    thread: Thread,
    /// The thread's token alone isn't enough: what runs within the future may park too, and take it.
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs `future` on this thread, which sleeps while the future is pending. The progress that the
/// future waits for must be made on other threads.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&unpark));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => {
                while !unpark.woken.swap(false, Ordering::Acquire) {
                    thread::park();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_completed_by_another_thread_is_waited_for() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let other = thread::spawn(move || sender.send(7));
        assert_eq!(block_on(receiver), Ok(7));
        assert!(other.join().is_ok_and(|sent| sent.is_ok()));
    }

    #[test]
    fn waiting_within_the_future_takes_no_wake_up_from_it() {
        let (outer, waits) = tokio::sync::oneshot::channel();
        let (inner, nested) = tokio::sync::oneshot::channel();
        let other = thread::spawn(move || {
            let _ = outer.send(7);
            let _ = inner.send(8);
        });
        let mut nested = Some(nested);
        let mut waits = pin!(waits);
        let both = std::future::poll_fn(|context| {
            let polled = waits.as_mut().poll(context);
            if let Some(nested) = nested.take() {
                assert_eq!(block_on(nested), Ok(8));
                // The token of the thread, which the wake-up of the outer future may have set.
                thread::park_timeout(std::time::Duration::from_millis(1));
            }
            polled
        });
        assert_eq!(block_on(both), Ok(7));
        assert!(other.join().is_ok());
    }
}
