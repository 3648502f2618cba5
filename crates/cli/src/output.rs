//! Printing: results go to standard output, everything else to standard error.
//!
//! Owns colour, escaping and closed pipes. Each subcommand owns the form of its results.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use rego_platform::evaluate::Recording;
use rego_platform::sources::Ignore;
use rego_platform::{Diagnostic, Error};
use rego_platform_client::text::{begins_command, escape, escape_for_log, escape_path};

use super::unfinished::Unfinished;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Prints warnings and notes, unless `--quiet` turns them off.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reporter {
    quiet: bool,
}

impl Reporter {
    pub const fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Prints a warning about something that doesn't stop the command.
    pub fn warning(self, message: &str) {
        if !self.quiet {
            labelled(WARNING, "warning", message);
        }
    }

    /// Prints an error that doesn't stop the command, with its hint.
    #[cfg(feature = "artifact-store")]
    pub fn fault(self, fault: &Error) {
        self.warning(&fault.report());
        if let Some(hint) = crate::hint::hint(fault).filter(|_| !self.quiet) {
            labelled(HINT, "help", &hint);
        }
    }

    /// Prints a note for each pattern of `--ignore` that ignored nothing.
    pub fn note_unmatched(self, ignore: &Ignore) {
        for pattern in ignore.unmatched() {
            self.note(&format!("pattern ignored nothing: `--ignore {}`", escape(&pattern)));
        }
    }

    /// Prints a note, such as a summary.
    pub fn note(self, message: &str) {
        if !self.quiet {
            to_stderr(&format!("{}\n", escape_for_log(message)));
        }
    }
}

/// Prints an error, with its sources and its hint.
pub(super) fn error(error: &Error) {
    let diagnostics = error.diagnostics();
    if diagnostics.is_empty() {
        labelled(ERROR, "error", &error.report());
    }
    for diagnostic in diagnostics {
        to_stderr(&styled(&crate::hint::with_option(diagnostic.clone())));
    }
    if let Some(hint) = crate::hint::hint(error) {
        labelled(HINT, "help", &hint);
    }
}

/// Prints an error that isn't an [`Error`].
pub(super) fn plain_error(message: &str) {
    labelled(ERROR, "error", message);
}

/// Prints a note, even with `--quiet`.
pub(super) fn plain_note(message: &str) {
    to_stderr(&format!("{}\n", escape_for_log(message)));
}

/// Prints a diagnostic as a result.
pub(super) fn finding(diagnostic: &Diagnostic) -> Result<(), Error> {
    written(anstream::stdout().lock().write_all(styled(diagnostic).as_bytes()))
}

fn styled(diagnostic: &Diagnostic) -> String {
    let text = escape_for_log(&diagnostic.render());
    let (label, rest) = text.split_at(text.find([':', '[']).unwrap_or_default());
    let style = if label == "warning" { WARNING } else { ERROR };
    format!("{style}{label}{style:#}{rest}\n")
}

/// Prints the output of a policy's `print`, each line with the statement's position, so that none
/// can pass for a line of the command's own.
pub(super) fn print(position: &str, message: &str) {
    let position = escape(position);
    let mut text = String::new();
    for line in escape_for_log(message).split('\n') {
        let _ = writeln!(text, "{position}: {line}");
    }
    to_stderr(&text);
}

/// Prints the one line about a panic. The panic's message isn't shown: it may contain anything.
pub(super) fn bug(position: &str) {
    let position = if position.is_empty() { String::new() } else { format!(" ({position})") };
    labelled(
        ERROR,
        "error",
        &format!("this is a bug in rego-platform{position}; please report it"),
    );
}

fn labelled(style: Style, label: &str, text: &str) {
    let text = escape_for_log(text);
    to_stderr(&format!("{style}{label}:{style:#} {text}\n"));
}

/// A failure of standard error can't be reported anywhere, and is ignored.
fn to_stderr(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// Writes a result. A closed pipe isn't an error: the exit status is the verdict's.
pub(super) fn to_stdout(bytes: &[u8]) -> Result<(), Error> {
    to_stdout_with(|out| out.write_all(bytes))
}

/// Writes a result with `write`.
pub(super) fn to_stdout_with(
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), Error> {
    let mut out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
    written(write(&mut out).and_then(|()| out.flush()))
}

fn written(done: io::Result<()>) -> Result<(), Error> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::internal("the result can't be written to standard output")
                .with_source(error))
        }
        _ => Ok(()),
    }
}

/// Returns `true` if results go to a terminal.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns JSON as results are printed: over several lines, safe to show on a terminal.
pub(super) fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    let mut out = Vec::new();
    json_to(&mut out, value).map_err(|error| {
        Error::internal("the result can't be written as JSON").with_source(error)
    })?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Writes JSON as results are printed, without holding it in memory.
pub(super) fn json_to<W: io::Write>(out: W, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(Escaped(out), value).map_err(Into::into)
}

/// Writes JSON with escapes for the characters that JSON allows and terminals interpret. Each piece that is
/// written is whole characters.
struct Escaped<W>(W);

impl<W: io::Write> io::Write for Escaped<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(piece).map_err(io::Error::other)?;
        self.0.write_all(escape_json(text).as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escapes what terminals and CI systems interpret in JSON, or in a part of a string of it. The
/// result means the same; line breaks and tabs, which are layout, are kept.
pub(super) fn escape_json(text: &str) -> std::borrow::Cow<'_, str> {
    if text.bytes().all(|b| (b' '..0x7f).contains(&b) && b != b'#' || b == b'\n') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 1);
    let mut command = false;
    for (at, c) in text.char_indices() {
        // A command for a CI system is broken after its first character.
        let breaks = std::mem::replace(&mut command, c == '#' && begins_command(&text[at..]));
        if !breaks && is_safe(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out.into()
}

fn is_safe(c: char) -> bool {
    let mut buffer = [0; 4];
    let text = c.encode_utf8(&mut buffer);
    matches!(c, '\n' | '\t')
        || (c.is_ascii() && !c.is_control())
        || (!c.is_ascii() && escape(text) == *text)
}

/// Writes a file atomically. A link is replaced, never followed: it may lead to another user's
/// file.
pub(super) fn to_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    to_file_with(path, |out| out.write_all(bytes))
}

/// Writes a file atomically, with `write`.
pub(super) fn to_file_with(
    path: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), Error> {
    // The permissions of any new file.
    atomically(path, 0o666, write).map_err(|error| unwritable("", path, error))
}

/// Writes a recording atomically, for its owner only.
pub(super) fn recording(path: &Path, recording: &Recording) -> Result<(), Error> {
    atomically(path, 0o600, |out| recording.write(out))
        .map_err(|error| unwritable("the recording ", path, error))
}

fn unwritable(what: &str, path: &Path, error: io::Error) -> Error {
    let message = format!("{what}`{}` can't be written", escape_path(path));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.exists()) {
        Some(folder) => {
            let message = format!("{message}: the folder `{}` doesn't exist", escape_path(folder));
            Error::configuration(message).with_hint("create it first")
        }
        None => Error::configuration(message).with_source(error),
    }
}

fn atomically(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Err(io::Error::other("it isn't a regular file")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = Unfinished::beside(path, mode)?;
    let mut out = io::BufWriter::with_capacity(64 << 10, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.replace(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn json_on_a_terminal_is_escaped_and_means_the_same() {
        let value = serde_json::json!({"a": "\u{9b}31m\u{202e}é\u{1b}\n\u{7f}😀"});
        let text = json(&value).unwrap();
        assert!(text.contains("\\u009b31m\\u202eé\\u001b\\n\\u007f😀"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn files_are_replaced_atomically() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        to_file(&path, b"one").unwrap();
        to_file(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            let other = dir.path().join("other");
            std::fs::write(&other, b"other").unwrap();
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(&other, &link).unwrap();
            to_file(&link, b"new").unwrap();
            assert_eq!(std::fs::read(&other).unwrap(), b"other");
            assert_eq!(std::fs::read(&link).unwrap(), b"new");
            assert!(!std::fs::symlink_metadata(&link).unwrap().is_symlink());
        }
        assert!(to_file(dir.path(), b"x").is_err());
        assert!(to_file(&dir.path().join("no/such"), b"x").is_err());
    }
}
