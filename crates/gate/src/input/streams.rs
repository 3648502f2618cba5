//! Reads of standard input and pipes with a time limit.
//!
//! Owns the thread that reads. It can't be stopped: when the time is up it is abandoned, and ends
//! with the process.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rego_platform::evaluate::Cancellation;

/// The longest wait for a stream before cancellation is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The deadline for reading a document from a stream, reset for each document.
#[derive(Debug, Clone, Default)]
pub(super) struct Deadline {
    until: Arc<Mutex<Option<Instant>>>,
    cancellation: Option<Cancellation>,
}

impl Deadline {
    pub fn new(cancellation: Option<Cancellation>) -> Self {
        Self { cancellation, ..Self::default() }
    }

    pub fn set(&self, until: Option<Instant>) {
        *self.until.lock() = until;
    }

    fn get(&self) -> Option<Instant> {
        *self.until.lock()
    }

    /// Returns `true` if the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.as_ref().is_some_and(Cancellation::is_cancelled)
    }
}

/// A stream whose reads fail at its deadline.
pub(super) struct TimedStream {
    chunks: Receiver<io::Result<Vec<u8>>>,
    current: io::Cursor<Vec<u8>>,
    deadline: Deadline,
}

impl TimedStream {
    /// Opens and reads a stream on a new thread: even opening a pipe blocks until it has a writer.
    pub fn new<R: Read>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
        deadline: Deadline,
    ) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(4);
        std::thread::Builder::new().name("input".to_owned()).spawn(move || {
            let mut stream = match open() {
                Ok(stream) => stream,
                Err(error) => return drop(sender.send(Err(error))),
            };
            loop {
                let mut chunk = vec![0; 64 << 10];
                let read = match stream.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(length) => {
                        chunk.truncate(length);
                        Ok(chunk)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                if sender.send(read).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, current: io::Cursor::new(Vec::new()), deadline })
    }
}

impl Read for TimedStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.current.read(into)?;
            if length > 0 || into.is_empty() {
                return Ok(length);
            }
            if self.deadline.is_cancelled() {
                return Err(io::Error::other("run interrupted"));
            }
            let until = self.deadline.get();
            let left = until.map_or(POLL_INTERVAL, |u| {
                u.saturating_duration_since(Instant::now()).min(POLL_INTERVAL)
            });
            match self.chunks.recv_timeout(left) {
                Ok(chunk) => self.current = io::Cursor::new(chunk?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if until.is_none_or(|u| Instant::now() < u) => {}
                Err(RecvTimeoutError::Timeout) => {
                    let message = "timed out";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, message));
                }
            }
        }
    }
}
