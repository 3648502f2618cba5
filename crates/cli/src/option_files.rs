//! Reading the files that options name.
//!
//! Owns the time that this may take: a pipe, such as that of `<(command)`, may never end. It is read
//! once, whatever its content is needed for.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use rego_platform::{Error, ErrorKind, Limit};
use rego_platform_client::text::{escape, hex, size};
use rego_platform_client::unreadable::unreadable;
use rego_platform_gate::model::Source;
use sha2::{Digest as _, Sha256};

/// The largest recording, in bytes.
pub(super) const MAX_RECORDING: u64 = 4 << 30;

/// Reads a file of at most `max` bytes; a pipe must end within `timeout`. `what` describes it,
/// such as `the waivers`.
pub(super) fn read(what: &str, path: &Path, max: u64, timeout: Duration) -> Result<Vec<u8>, Error> {
    let failed = |error: io::Error| unreadable(what, path, error);
    if is_regular(path).map_err(failed)? {
        return all(path, max).map_err(failed);
    }
    let (sender, done) = sync_channel(1);
    let own = path.to_owned();
    // Even opening a pipe blocks until it has a writer. The thread ends with the process.
    std::thread::Builder::new()
        .name("file".to_owned())
        .spawn(move || sender.send(all(&own, max)))
        .map_err(failed)?;
    match done.recv_timeout(timeout) {
        Ok(read) => read.map_err(failed),
        Err(RecvTimeoutError::Disconnected) => Err(failed(io::Error::other("reading it failed"))),
        Err(RecvTimeoutError::Timeout) => {
            let (shown, time) =
                (escape(&path.display().to_string()), humantime::format_duration(timeout));
            let message = format!("{what} `{shown}` didn't end within {time}");
            Err(Error::new(ErrorKind::Configuration, message)
                .at_limit(Limit::Timeout)
                .with_hint("is the program that writes it still running?"))
        }
    }
}

/// Returns `true` for a regular file, or a folder, which can't be read.
pub(super) fn is_regular(path: &Path) -> io::Result<bool> {
    std::fs::metadata(path).map(|meta| meta.is_file() || meta.is_dir())
}

fn all(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("it is larger than {}", size(max))));
    }
    Ok(bytes)
}

/// Describes a file with this text, as reports do.
pub(super) fn source(path: &Path, text: &[u8]) -> Source {
    let digest = format!("sha256:{}", hex(&Sha256::digest(text)));
    Source::new(path.display().to_string(), digest)
}

/// Reads a file of JSON.
pub(super) fn json(path: &Path) -> Result<serde_json::Value, Error> {
    let shown = escape(&path.display().to_string());
    let failed = |what: &str| Error::new(ErrorKind::Configuration, format!("`{shown}` {what}"));
    let bytes = std::fs::read(path).map_err(|error| unreadable("", path, error))?;
    serde_json::from_slice(&bytes).map_err(|e| failed("isn't valid JSON").with_source(e))
}

/// Returns the error for a file whose content is wrong; `what` states what it can't be used for.
pub(super) fn in_file(path: &Path, what: &str, error: Error) -> Error {
    let shown = escape(&path.display().to_string());
    let hint = error.hint().unwrap_or_default().to_owned();
    Error::new(error.kind(), format!("`{shown}` {what}")).with_source(error).with_hint(hint)
}
