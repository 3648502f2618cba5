//! Files that are being written: temporary until they are complete.
//!
//! Owns their removal when a signal ends the command. A command that handles signals itself calls
//! [`end`] before it exits; for the others, the first file starts a handler.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::ThreadId;

use parking_lot::{Mutex, MutexGuard};
use rego_platform::Error;
use tempfile::NamedTempFile;

use super::Exit;
use super::signals::{self, Signals};

/// The unfinished files.
struct State {
    open: Vec<PathBuf>,
    /// The thread that ends the command: no other may create or finish a file.
    ended_by: Option<ThreadId>,
}

static STATE: Mutex<State> = Mutex::new(State { open: Vec::new(), ended_by: None });

/// Locks the state; if another thread ends the command, waits for that.
fn state() -> MutexGuard<'static, State> {
    let own = std::thread::current().id();
    loop {
        let state = STATE.lock();
        if state.ended_by.is_none_or(|ended_by| ended_by == own) {
            return state;
        }
        drop(state);
        std::thread::park();
    }
}

/// Removes all unfinished files. From then on only the calling thread, which is to end the command,
/// can write files: nothing replaces what it writes.
pub(super) fn end() {
    let mut state = state();
    state.ended_by = Some(std::thread::current().id());
    for path in state.open.drain(..) {
        // One that can't be removed remains, as it would after a signal that can't be handled.
        let _ = std::fs::remove_file(path);
    }
}

/// A file that replaces another one once it is complete, and is removed otherwise.
#[derive(Debug)]
pub(super) struct Unfinished {
    file: NamedTempFile,
    path: PathBuf,
}

impl Unfinished {
    /// Creates a file in the folder of the one that it is to replace, with permissions `mode`, of
    /// which the process's umask is subtracted.
    pub fn beside(path: &Path, mode: u32) -> io::Result<Self> {
        if signals::are_default() {
            handle().map_err(io::Error::other)?;
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(std::fs::Permissions::from_mode(mode));
        }
        #[cfg(not(unix))]
        let _ = mode;
        let mut state = state();
        // An error about the temporary name, which isn't one that was given, would puzzle.
        std::fs::metadata(folder)?;
        let file = builder.prefix(".rego-platform-").tempfile_in(folder);
        let file = file.map_err(|error| io::Error::from(error.kind()))?;
        state.open.push(file.path().to_owned());
        drop(state);
        Ok(Self { path: file.path().to_owned(), file })
    }

    /// Returns the file.
    pub fn as_file(&self) -> &std::fs::File {
        self.file.as_file()
    }

    /// Replaces the file at `path`. A link is replaced, never followed.
    pub fn replace(self, path: &Path) -> io::Result<()> {
        let mut state = state();
        let done = self.file.persist(path);
        state.open.retain(|open| *open != self.path);
        done.map(|_| ()).map_err(|error| error.error)
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Handles signals for a command without a handler of its own.
fn handle() -> Result<(), Error> {
    let mut signals = Signals::listen()?;
    signals::thread(move || {
        if let Ok(signal) = signals.next() {
            end();
            let _ = writeln!(io::stderr(), "interrupted ({signal})");
            std::process::exit(i32::from(Exit::NoVerdict.code()))
        }
    })
}
