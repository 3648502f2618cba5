//! Threads for asynchronous work: one per platform for requests, one per set of policies for the host's
//! asynchronous functions, one for the timers of all evaluations.
//!
//! Owns a runtime on a thread of its own, so that blocking callers work from plain threads and from
//! inside any other runtime. It is started at the first use.

use std::cell::Cell;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;
use std::sync::mpsc;

use futures_util::FutureExt as _;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::Error;

thread_local! {
    /// Set on the threads of runtimes.
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// A running thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    // Dropping the sender ends the thread; a runtime dropped on a caller's thread could panic
    // there, if that thread belongs to another runtime.
    _stop: oneshot::Sender<()>,
}

impl Runtime {
    /// Returns the runtime of the timers of evaluations. Nothing else runs on it, so that they are in
    /// time whatever code of the host blocks another thread.
    pub fn clock() -> Result<&'static Self, Error> {
        static CLOCK: LazyRuntime = LazyRuntime::new("rego-platform-clock", false);
        CLOCK.get()
    }

    fn named(name: &str) -> Result<Self, Error> {
        let broken =
            |e: std::io::Error| Error::internal("can't start the I/O thread").with_source(e);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(broken)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                WAITS.set(true);
                let _ = runtime.block_on(stopped);
                runtime.shutdown_background();
            })
            .map_err(broken)?;
        Ok(Self { handle, _stop: stop })
    }

    /// Runs a future on the thread and waits for it; refused on the library's own threads.
    pub fn block_on<T, F>(&self, future: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        refuse_blocking()?;
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let _ = sender.send(AssertUnwindSafe(future).catch_unwind().await);
        });
        let gone = || {
            let message = "no result of a call: the I/O thread has ended";
            Error::internal(message)
        };
        receiver.recv().map_err(|_| gone())?.map_err(|_| panicked("the call"))
    }

    pub const fn handle(&self) -> &Handle {
        &self.handle
    }
}

/// A runtime that is started on first use. A failure, such as too many open files, isn't kept: the
/// next use tries again.
///
/// A forked process has the memory of its parent and none of its threads: a runtime of the parent never answers
/// there. One that only waits is started again in the child. One with connections isn't, since parent and child would
/// write to the same ones: its use in the child is an error.
#[derive(Debug)]
pub struct LazyRuntime {
    name: &'static str,
    /// `true` if the runtime has connections.
    connects: bool,
    started: OnceLock<Box<Started>>,
}

/// A running runtime, or one of the process that this process was forked from.
#[derive(Debug)]
struct Started {
    runtime: Runtime,
    process: u32,
    /// The runtime of a forked process.
    forked: OnceLock<Box<Self>>,
}

impl LazyRuntime {
    /// The runtime of a platform's requests, or of the requests that policies make themselves.
    pub const fn of_requests() -> Self {
        Self::new("rego-platform-io", true)
    }

    /// The runtime of the host's asynchronous code: the functions that policies were loaded with,
    /// and responders. Where it blocks its thread, it delays itself, and no request and no time
    /// limit.
    pub const fn of_host() -> Self {
        Self::new("rego-platform-host", false)
    }

    const fn new(name: &'static str, connects: bool) -> Self {
        Self { name, connects, started: OnceLock::new() }
    }

    /// Returns the runtime of this process.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) in a forked process, for a runtime with connections
    /// that its parent has used; [`ErrorKind::Internal`](crate::ErrorKind::Internal) if no thread can be started.
    pub fn get(&self) -> Result<&Runtime, Error> {
        self.of_process(std::process::id())
    }

    fn of_process(&self, process: u32) -> Result<&Runtime, Error> {
        let mut place = &self.started;
        while let Some(started) = place.get() {
            if started.process == process {
                return Ok(&started.runtime);
            }
            if self.connects {
                let message =
                    "unsupported fork: the process forked after the platform's first request";
                let hint = "create the platform in the child, or fork before its first request";
                return Err(Error::configuration(message).with_hint(hint));
            }
            place = &started.forked;
        }
        // Of two that start at the same time, one is dropped and ends.
        let runtime = Runtime::named(self.name)?;
        let started = Started { runtime, process, forked: OnceLock::new() };
        Ok(&place.get_or_init(|| Box::new(started)).runtime)
    }
}

/// Refuses to block a thread that others wait for, which could be a deadlock.
///
/// # Errors
/// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) inside a token provider and inside an asynchronous function, and in
/// the destructor of a thread-local value.
pub fn refuse_blocking() -> Result<(), Error> {
    if Handle::try_current().is_err_and(|error| error.is_thread_local_destroyed()) {
        let message = "unsupported call from the destructor of a thread-local value";
        return Err(Error::configuration(message));
    }
    if !WAITS.get() {
        return Ok(());
    }
    let message = "blocking call in a token provider or an asynchronous function";
    Err(Error::configuration(message).with_hint("await the asynchronous call"))
}

/// Returns the error for code that panicked. The panic's message isn't part of it: it may contain
/// anything.
pub fn panicked(what: &str) -> Error {
    Error::internal(format!("{what} panicked"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_forked_process_has_a_runtime_of_its_own_or_none() {
        let clock = LazyRuntime::of_host();
        let (parent, child) = (clock.of_process(1).unwrap(), clock.of_process(2).unwrap());
        assert!(!std::ptr::eq(parent, child));
        assert!(std::ptr::eq(child, clock.of_process(2).unwrap()));
        assert!(std::ptr::eq(parent, clock.of_process(1).unwrap()));

        let requests = LazyRuntime::of_requests();
        requests.of_process(1).unwrap();
        let error = requests.of_process(2).unwrap_err();
        assert!(error.to_string().contains("forked after"), "{error}");
        assert!(requests.of_process(1).is_ok());
        // Unused before, it starts in the child.
        LazyRuntime::of_requests().of_process(2).unwrap();
    }
}
