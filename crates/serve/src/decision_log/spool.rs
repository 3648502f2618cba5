//! Entries on disk that wait to be uploaded, in chunks: files of lines, the oldest first.
//!
//! Owns the bound on the folder, and that nothing is lost when the process ends, unless the bound is
//! exceeded: then the oldest chunk is dropped, and it is said how much that was.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rego_platform::Error;
use rego_platform::text::escape;
use rego_platform_client::text::escape_path;

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
        // A link's name may end as a folder's.
        let folder: PathBuf = folder.components().collect();
        let failed = |unfit: Unfit| {
            let shown = escape_path(&folder);
            let message = format!("the spool `{shown}` can't be used");
            let error = Error::configuration(message).with_source(unfit.why);
            unfit.hint.into_iter().fold(error, Error::with_hint)
        };
        let lock = locked(&folder).map_err(failed)?;
        let complete = left(&folder).map_err(failed)?;
        let next = complete.back().map_or(1, |chunk| chunk.number.saturating_add(1));
        let state = State { complete, next, ..State::default() };
        Ok(Self { folder, chunk, most, state: Mutex::new(state), lock })
    }

    /// Adds lines, whole or not at all. Returns the number of older entries that were dropped for them.
    pub fn add(&self, lines: &[u8]) -> io::Result<u64> {
        let mut state = self.state.lock();
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
        let mut state = self.state.lock();
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
        let mut state = self.state.lock();
        state.uploading = None;
        state.complete.retain(|other| other.number != chunk.number);
        state.dropped += refused;
        fs::remove_file(self.path(chunk))
    }

    /// Leaves the folder to other processes.
    pub fn close(&self) {
        self.state.lock().closed = true;
        let _ = self.lock.unlock();
    }

    /// The number of entries that wait, and of those that were dropped.
    pub fn counts(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.chunks().map(|chunk| chunk.entries).sum(), state.dropped)
    }

    pub fn shown(&self) -> String {
        escape_path(&self.folder)
    }

    fn path(&self, chunk: Chunk) -> PathBuf {
        self.folder.join(name(chunk.number))
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
fn left(folder: &Path) -> Result<VecDeque<Chunk>, Unfit> {
    let mut chunks = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let number: Option<u64> = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        // Other files are somebody else's.
        let Some(number) = number.filter(|number| path.ends_with(name(*number))) else { continue };
        refuse_special(&path)?;
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

/// The reason for which a folder can't be used, and the hint.
struct Unfit {
    why: String,
    hint: Option<&'static str>,
}

impl Unfit {
    fn new(why: impl Into<String>, hint: &'static str) -> Self {
        Self { why: why.into(), hint: Some(hint) }
    }
}

impl From<io::Error> for Unfit {
    fn from(error: io::Error) -> Self {
        Self { why: error.to_string(), hint: None }
    }
}

/// Creates a folder, unless it is there, and takes it for this process.
fn locked(folder: &Path) -> Result<File, Unfit> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    refuse_shared(folder)?;
    let path = folder.join("lock");
    refuse_special(&path)?;
    let lock = private().open(path)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => {
            Err(Unfit::new("another process uses it", "give each server its own folder"))
        }
        Err(fs::TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Refuses a folder that is elsewhere than it seems, or in which somebody else could put files or links: entries
/// would be written where they lead to.
fn refuse_shared(folder: &Path) -> Result<(), Unfit> {
    let metadata = fs::symlink_metadata(folder)?;
    if metadata.is_symlink() {
        return Err(Unfit::new("it is a link", "name the folder that it leads to"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let hint = "name a folder in it that doesn't exist yet, or make it yours alone (`chown`, `chmod go-w`)";
        if metadata.mode() & 0o022 != 0 {
            return Err(Unfit::new("other users may write to it", hint));
        }
        // What this process creates has its owner.
        let probe = folder.join(format!(".{}", uuid::Uuid::new_v4()));
        let owner = private().create_new(true).open(&probe)?.metadata()?.uid();
        fs::remove_file(probe)?;
        if metadata.uid() != owner {
            return Err(Unfit::new("it belongs to another user", hint));
        }
    }
    Ok(())
}

/// Refuses what is there under the name of a file without being one.
fn refuse_special(path: &Path) -> Result<(), Unfit> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        let name = escape(&path.file_name().unwrap_or_default().to_string_lossy());
        let why = format!("`{name}` in it isn't a regular file");
        return Err(Unfit::new(why, "remove that, or name another folder"));
    }
    Ok(())
}
