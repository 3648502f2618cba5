//! Entries on disk that wait to be uploaded, in chunks: files of lines, the oldest first.
//!
//! Owns the bound on the folder, and that nothing is lost when the process ends, unless the bound is
//! exceeded: then the oldest chunk is dropped, and it is said how much that was.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rego_platform::text::escape;
use rego_platform::{Error, ErrorKind};

/// A chunk that is complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    number: u64,
    bytes: u64,
    entries: u64,
}

/// A folder of chunks, of one process at a time.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    /// The size at which a chunk is complete.
    chunk: u64,
    /// The most bytes of all chunks.
    most: u64,
    state: Mutex<State>,
    lock: File,
}

#[derive(Debug, Default)]
struct State {
    /// The chunk that is written to.
    current: Option<(File, Chunk)>,
    complete: VecDeque<Chunk>,
    /// The number of the chunk that is being uploaded.
    uploading: Option<u64>,
    /// The number of the next chunk.
    next: u64,
    dropped: u64,
    /// Set once the folder may be another process's.
    closed: bool,
}

impl State {
    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.complete.iter().chain(self.current.as_ref().map(|(_, chunk)| chunk))
    }

    fn complete(&mut self) {
        if let Some((_, chunk)) = self.current.take() {
            self.complete.push_back(chunk);
        }
    }
}

impl Spool {
    /// Opens a folder, with the entries that an earlier process left there.
    pub fn open(folder: PathBuf, chunk: u64, most: u64) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            let shown = escape(&folder.display().to_string());
            let error = error.to_string();
            Error::new(ErrorKind::Configuration, format!("the spool `{shown}` can't be used"))
                .with_source(error)
        };
        private_folder(&folder).map_err(failed)?;
        let lock = private().open(folder.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                let error = io::Error::other("another process uses it");
                return Err(failed(error).with_hint("each server needs a spool of its own"));
            }
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        let complete = left(&folder).map_err(failed)?;
        let next = complete.back().map_or(1, |chunk| chunk.number.saturating_add(1));
        let state = State { complete, next, ..State::default() };
        Ok(Self { folder, chunk, most, state: Mutex::new(state), lock })
    }

    /// Adds lines, whole or not at all. Returns the number of older entries that were dropped for them.
    pub fn add(&self, lines: &[u8]) -> io::Result<u64> {
        let mut state = self.state();
        if state.closed {
            return Err(io::Error::other("the server has stopped"));
        }
        if state.current.is_none() {
            let chunk = Chunk { number: state.next, bytes: 0, entries: 0 };
            let file = private().create_new(true).open(self.path(chunk))?;
            state.next = state.next.saturating_add(1);
            state.current = Some((file, chunk));
        }
        let Some((file, chunk)) = &mut state.current else { return Ok(0) };
        if let Err(error) = file.write_all(lines) {
            // Half an entry must not be in the way of those that follow.
            let _ = file.set_len(chunk.bytes);
            return Err(error);
        }
        chunk.bytes += lines.len() as u64;
        chunk.entries += count(lines);
        if chunk.bytes >= self.chunk {
            state.complete();
        }
        Ok(self.bound(&mut state))
    }

    /// Drops the oldest chunks until the others are within the bound; the newest stays in any case.
    fn bound(&self, state: &mut State) -> u64 {
        let mut dropped = 0;
        while state.chunks().map(|chunk| chunk.bytes).sum::<u64>() > self.most {
            let is_used = |chunk: &Chunk| Some(chunk.number) == state.uploading;
            let Some(oldest) = state.complete.iter().position(|chunk| !is_used(chunk)) else {
                break;
            };
            if oldest + 1 == state.chunks().count() {
                break;
            }
            let Some(chunk) = state.complete.remove(oldest) else { break };
            let _ = fs::remove_file(self.path(chunk));
            dropped += chunk.entries;
        }
        state.dropped += dropped;
        dropped
    }

    /// Returns the oldest complete chunk, to be uploaded; if there is none and `all` are wanted, the one that
    /// is written to, which it completes.
    pub fn oldest(&self, all: bool) -> Option<Chunk> {
        let mut state = self.state();
        if state.complete.is_empty() && all {
            state.complete();
        }
        let oldest = state.complete.front().copied();
        state.uploading = oldest.map(|chunk| chunk.number);
        oldest
    }

    /// Returns the lines of a chunk.
    pub fn lines(&self, chunk: Chunk) -> io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        File::open(self.path(chunk))?.read_to_end(&mut lines)?;
        Ok(lines)
    }

    /// Removes a chunk that was uploaded, without the entries that were `refused` for good.
    pub fn uploaded(&self, chunk: Chunk, refused: u64) -> io::Result<()> {
        let mut state = self.state();
        state.uploading = None;
        state.complete.retain(|other| other.number != chunk.number);
        state.dropped += refused;
        fs::remove_file(self.path(chunk))
    }

    /// Leaves the folder to other processes.
    pub fn close(&self) {
        self.state().closed = true;
        let _ = self.lock.unlock();
    }

    /// The number of entries that wait, and of those that were dropped.
    pub fn counts(&self) -> (u64, u64) {
        let state = self.state();
        (state.chunks().map(|chunk| chunk.entries).sum(), state.dropped)
    }

    pub fn shown(&self) -> String {
        escape(&self.folder.display().to_string())
    }

    fn path(&self, chunk: Chunk) -> PathBuf {
        self.folder.join(name(chunk.number))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chunk {
    pub fn entries(self) -> u64 {
        self.entries
    }
}

/// The name of a chunk's file.
fn name(number: u64) -> String {
    format!("{number:020}.jsonl")
}

/// The number of lines.
fn count(lines: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', lines).count() as u64
}

/// Returns the chunks in a folder. What an earlier process was writing when it ended is cut off: that decision
/// wasn't given.
fn left(folder: &Path) -> io::Result<VecDeque<Chunk>> {
    let mut chunks = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let number: Option<u64> = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        // Other files are somebody else's.
        let Some(number) = number.filter(|number| path.ends_with(name(*number))) else { continue };
        let lines = fs::read(&path)?;
        let whole = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        if whole == 0 {
            fs::remove_file(&path)?;
            continue;
        }
        if whole < lines.len() {
            File::options().write(true).open(&path)?.set_len(whole as u64)?;
        }
        chunks.push(Chunk { number, bytes: whole as u64, entries: count(&lines) });
    }
    chunks.sort_by_key(|chunk| chunk.number);
    Ok(chunks.into())
}

/// Returns how a file is opened for adding to it; a new one can be read by its owner only.
pub(super) fn private() -> fs::OpenOptions {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
