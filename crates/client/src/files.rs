//! Reads files named by options, variables and other files.
//!
//! Owns the bounds: a size, and the time for what isn't a regular file. A pipe, such as that of `<(command)`, may
//! never end.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::text::{escape_path, size};
use crate::unreadable::unreadable;
use crate::{Error, Limit};

/// Reads a file of at most `max` bytes; a pipe must end within `timeout`. `what` describes it, such as `the
/// waivers`.
///
/// # Errors
/// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration), with the path, when the file can't be read or exceeds a bound.
pub fn read(what: &str, path: &Path, max: u64, timeout: Duration) -> Result<Vec<u8>, Error> {
    let failed = |error: io::Error| unreadable(what, path, error);
    if is_regular(path).map_err(failed)? {
        return bounded(path, max).map_err(failed);
    }
    let (sender, done) = sync_channel(1);
    let own = path.to_owned();
    // Even opening a pipe blocks until it has a writer. The thread ends with the process.
    std::thread::Builder::new()
        .name("file".to_owned())
        .spawn(move || sender.send(bounded(&own, max)))
        .map_err(failed)?;
    match done.recv_timeout(timeout) {
        Ok(read) => read.map_err(failed),
        Err(RecvTimeoutError::Disconnected) => Err(failed(io::Error::other("read failed"))),
        Err(RecvTimeoutError::Timeout) => {
            let shown = escape_path(path);
            let message = format!("{what} `{shown}` timed out after {timeout:?}");
            Err(Error::configuration(message)
                .at_limit(Limit::Timeout)
                .with_hint("check whether the program that writes the file is still running"))
        }
    }
}

/// Returns `true` for a regular file, or a folder, which can't be read.
///
/// # Errors
/// Those of the file system.
pub fn is_regular(path: &Path) -> io::Result<bool> {
    std::fs::metadata(path).map(|meta| meta.is_file() || meta.is_dir())
}

/// Reads a file of at most `max` bytes.
///
/// # Errors
/// Those of the file system, and one for a larger file.
pub fn bounded(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("file too large: the limit is {}", size(max))));
    }
    Ok(bytes)
}
