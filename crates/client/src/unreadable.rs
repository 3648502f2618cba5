//! Files that can't be read.
//!
//! Owns the wording of their errors, and the search for the file that a mistyped path probably
//! means.

use std::io::ErrorKind as Io;
use std::path::{Component, Path, PathBuf};

use crate::text::{escape, nearest};
use crate::{Error, ErrorKind};

/// The largest number of entries of a folder that are compared with a mistyped name.
const MAX_ENTRIES: usize = 10_000;

/// Returns the error for a file that can't be read. `what` describes it, such as `the input`; it
/// may be empty.
pub fn unreadable(what: &str, path: &Path, error: std::io::Error) -> Error {
    let (why, hint) = reason(path, &error);
    let space = if what.is_empty() { "" } else { " " };
    let shown = escape(&path.display().to_string());
    let unreadable = Error::new(ErrorKind::Configuration, format!("{what}{space}`{shown}` {why}"));
    let unreadable = match hint {
        Some(hint) => unreadable.with_hint(hint),
        None => unreadable,
    };
    if is_worded(&error) { unreadable } else { unreadable.with_source(error) }
}

/// Returns the end of a sentence about a file that can't be read, and a hint.
pub fn reason(path: &Path, error: &std::io::Error) -> (&'static str, Option<String>) {
    match error.kind() {
        Io::NotFound if path == Path::new("-") => {
            ("isn't supported here; elsewhere it means standard input", None)
        }
        Io::NotFound => {
            let similar = similar(path).map(|path| escape(&path.display().to_string()));
            ("doesn't exist", similar.map(|path| format!("did you mean `{path}`?")))
        }
        Io::IsADirectory => ("is a folder", None),
        Io::PermissionDenied => ("can't be read: permission denied", None),
        _ => ("can't be read", None),
    }
}

/// Returns `true` if [`reason`] gives all known details of an error.
pub fn is_worded(error: &std::io::Error) -> bool {
    matches!(error.kind(), Io::NotFound | Io::PermissionDenied | Io::IsADirectory)
}

/// Returns the existing path that differs from a mistyped one by a few letters of one name.
fn similar(path: &Path) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    let mut components = path.components();
    for component in components.by_ref() {
        let next = found.join(component);
        if next.symlink_metadata().is_ok() {
            found = next;
            continue;
        }
        let Component::Normal(name) = component else { return None };
        let folder = if found.as_os_str().is_empty() { Path::new(".") } else { &found };
        let entries = std::fs::read_dir(folder).ok()?.take(MAX_ENTRIES).filter_map(Result::ok);
        let names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let near = nearest(name.to_str()?, names.iter().map(String::as_str))?;
        // Collected anew: joining an empty rest would append a separator.
        let whole: PathBuf = found.join(near).components().chain(components).collect();
        return whole.exists().then_some(whole);
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_mistyped_path_leads_to_the_nearest_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("policies")).unwrap();
        std::fs::write(dir.path().join("policies/release.rego"), "").unwrap();
        for (given, expected) in [
            ("polices", Some("policies")),
            ("polices/release.rego", Some("policies/release.rego")),
            ("policies/relaese.rego", Some("policies/release.rego")),
            ("polices/other.rego", None),
            ("polices/relaese.rego", None),
            ("inputs", None),
        ] {
            let similar = similar(&dir.path().join(given));
            assert_eq!(similar, expected.map(|path| dir.path().join(path)), "{given}");
        }
    }

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
