//! Files that can't be read.
//!
//! Owns the wording of their errors.

use std::io::ErrorKind as Io;
use std::path::Path;

use crate::Error;
use crate::text::escape_path;

/// Returns the error for a file that can't be read. `what` describes it, such as `the input`; it
/// may be empty.
pub fn unreadable(what: &str, path: &Path, error: std::io::Error) -> Error {
    let why = reason(path, &error);
    let space = if what.is_empty() { "" } else { " " };
    let shown = escape_path(path);
    let unreadable = Error::configuration(format!("{what}{space}`{shown}` {why}"));
    if is_worded(&error) { unreadable } else { unreadable.with_source(error) }
}

/// Returns the end of a sentence about a file that can't be read, with all that is known.
pub fn described(path: &Path, error: &std::io::Error) -> String {
    let why = reason(path, error);
    if is_worded(error) { why.to_owned() } else { format!("{why}: {error}") }
}

fn reason(path: &Path, error: &std::io::Error) -> &'static str {
    match error.kind() {
        Io::NotFound if path == Path::new("-") => {
            "isn't supported: standard input can't be read here"
        }
        Io::NotFound => "doesn't exist",
        Io::IsADirectory => "is a folder",
        Io::PermissionDenied => "can't be read: permission denied",
        _ => "can't be read",
    }
}

/// Returns `true` if [`reason`] gives all known details of an error.
fn is_worded(error: &std::io::Error) -> bool {
    matches!(error.kind(), Io::NotFound | Io::PermissionDenied | Io::IsADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_is_known_once() {
        let path = Path::new("no/such");
        let missing = unreadable("the input", path, Io::NotFound.into());
        assert_eq!(missing.to_string(), "the input `no/such` doesn't exist");
        let refused = unreadable("", path, Io::PermissionDenied.into());
        assert_eq!(refused.to_string(), "`no/such` can't be read: permission denied");
        let folder = unreadable("the input", path, Io::IsADirectory.into());
        assert_eq!(folder.to_string(), "the input `no/such` is a folder");
        let other = unreadable("", path, Io::TimedOut.into());
        assert!(other.to_string().starts_with("`no/such` can't be read"), "{other}");
    }
}
