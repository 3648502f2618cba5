//! Destinations of decisions: a file, which may be moved away, standard output, or a spool from which they are
//! uploaded.
//!
//! Owns the thread that writes. Lines that come together are written together.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use rego_platform::Error;
use rego_platform_client::text::escape_path;
use tokio::sync::{mpsc, oneshot};

use super::spool::private;
use super::upload::{Upload, Uploader};
use crate::journal::Journal;

/// The most lines that wait to be written.
const WAITING: usize = 1024;

/// The destination of the decision log.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LogDestination {
    /// A file, to which lines are added. One that was moved away or removed is begun again.
    File(PathBuf),
    /// Standard output.
    Stdout,
    /// A server that takes OPA's log of decisions.
    Upload(Box<Upload>),
}

/// The number of bytes that are read at a time to find the end of the last whole line.
const BLOCK: usize = 64 << 10;

type Done = oneshot::Sender<Result<(), String>>;

/// The open end of a log.
#[derive(Debug)]
pub(super) struct LogFile {
    lines: mpsc::Sender<(String, Done)>,
    name: String,
    failure: Arc<Mutex<Option<String>>>,
    pub uploader: Option<Uploader>,
}

impl LogFile {
    pub fn open(destination: LogDestination, journal: Arc<dyn Journal>) -> Result<Self, Error> {
        let name = match &destination {
            LogDestination::File(path) => escape_path(path),
            LogDestination::Stdout => "<stdout>".to_owned(),
            LogDestination::Upload(upload) => escape_path(&upload.spool),
        };
        let mut uploader = None;
        let failed = |error: io::Error| {
            let message = format!("the log of decisions `{name}` can't be opened");
            Error::configuration(message).with_source(error)
        };
        let mut target = match destination {
            LogDestination::File(path) => {
                let file = append(&path).map_err(failed)?;
                Target::File { path, file }
            }
            LogDestination::Stdout => Target::Stdout,
            LogDestination::Upload(upload) => {
                let uploader = uploader.insert(Uploader::start(*upload, journal)?);
                Target::Spool(Box::new(uploader.adding()))
            }
        };
        let (lines, mut waiting) = mpsc::channel::<(String, Done)>(WAITING);
        let failure = Arc::<Mutex<Option<String>>>::default();
        let noted = Arc::clone(&failure);
        let write = move || {
            while let Some((mut text, done)) = waiting.blocking_recv() {
                let mut all = vec![done];
                while let Ok((line, done)) = waiting.try_recv() {
                    text.push_str(&line);
                    all.push(done);
                }
                let written = target.write(text.as_bytes()).map_err(|error| error.to_string());
                *noted.lock() = written.clone().err();
                for done in all {
                    let _ = done.send(written.clone());
                }
            }
        };
        let thread = thread::Builder::new().name("decision-log".to_owned());
        thread.spawn(write).map_err(failed)?;
        Ok(Self { lines, name, failure, uploader })
    }

    /// Writes a line. Returns once it is written.
    pub async fn write(&self, line: String) -> Result<(), Error> {
        let failed = |why: &str| {
            let message = format!("the log of decisions `{}` can't be written", self.name);
            Error::internal(message).with_source(why)
        };
        let (done, written) = oneshot::channel();
        let ended = "its thread has ended";
        self.lines.send((line, done)).await.map_err(|_| failed(ended))?;
        written.await.map_err(|_| failed(ended))?.map_err(|why| failed(&why))
    }

    /// Returns why the last lines weren't written.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }
}

enum Target {
    File { path: PathBuf, file: File },
    Stdout,
    Spool(Box<dyn Fn(&[u8]) -> io::Result<()> + Send>),
}

impl Target {
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        match self {
            Self::File { path, file } => {
                if is_gone(path, file) {
                    *file = append(path)?;
                }
                cut_off(path, file)?;
                file.write_all(text)
            }
            Self::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(text)?;
                out.flush()
            }
            Self::Spool(add) => add(text),
        }
    }
}

/// Removes half a line at the end of a log: what was being written as the disk became full or a process ended. That
/// decision wasn't given.
fn cut_off(path: &Path, file: &File) -> io::Result<()> {
    let meta = file.metadata()?;
    let mut length = meta.len();
    if !meta.is_file() || length == 0 {
        return Ok(());
    }
    let mut read = File::open(path)?;
    let mut block = vec![0; BLOCK];
    let mut whole = length;
    while length > 0 {
        let size = usize::try_from(length).unwrap_or(usize::MAX).min(BLOCK);
        length -= size as u64;
        let block = block.get_mut(..size).unwrap_or_default();
        read.seek(SeekFrom::Start(length))?;
        read.read_exact(block)?;
        if let Some(last) = memchr::memrchr(b'\n', block) {
            whole = length + last as u64 + 1;
            break;
        }
        whole = length;
    }
    if whole < meta.len() { file.set_len(whole) } else { Ok(()) }
}

fn append(path: &Path) -> io::Result<File> {
    private().open(path)
}

/// Returns `true` if `path` isn't the open file any more.
#[cfg(unix)]
fn is_gone(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(there), Ok(open)) = (std::fs::metadata(path), file.metadata()) else { return true };
    (there.dev(), there.ino()) != (open.dev(), open.ino())
}

/// Returns `true` if `path` isn't the open file any more.
#[cfg(not(unix))]
fn is_gone(path: &Path, _: &File) -> bool {
    !path.exists()
}
