//! The thread on which all requests of a platform run.
//!
//! Owns one runtime on a thread of its own, so that blocking callers work from plain threads and
//! from inside any other runtime. It is started at the first call.

use std::future::Future;
use std::sync::mpsc;
use std::thread::ThreadId;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::{Error, ErrorKind};

/// A running I/O thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Runtime {
    handle: Handle,
    thread: ThreadId,
    // Dropping the sender ends the thread; a runtime dropped on a caller's thread could panic
    // there, if that thread belongs to another runtime.
    _stop: oneshot::Sender<()>,
}

impl Runtime {
    pub fn start() -> Result<Self, Error> {
        let broken = |e: std::io::Error| {
            Error::new(ErrorKind::Internal, "the I/O thread can't be started").with_source(e)
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(broken)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("rego-platform-io".to_owned())
            .spawn(move || {
                let _ = runtime.block_on(stopped);
                runtime.shutdown_background();
            })
            .map_err(broken)?;
        Ok(Self { handle, thread: thread.thread().id(), _stop: stop })
    }

    /// Runs a future on the I/O thread and waits for it; refused on the I/O thread itself.
    pub fn block_on<T, F>(&self, future: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        // A token provider runs on the I/O thread; it would wait for itself.
        if std::thread::current().id() == self.thread {
            let message = "a blocking call was made from inside a token provider";
            return Err(Error::new(ErrorKind::Configuration, message));
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let _ = sender.send(future.await);
        });
        receiver.recv().map_err(|_| {
            Error::new(
                ErrorKind::Internal,
                "a call ended without an answer: the I/O thread is gone",
            )
        })
    }

    pub const fn handle(&self) -> &Handle {
        &self.handle
    }
}
