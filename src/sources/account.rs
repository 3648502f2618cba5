//! The account of the files that arguments name.
//!
//! Owns the account itself and the patterns that leave files out.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::glob::Glob;
use crate::Error;
use crate::text::escape;

/// An account of the files that one argument names: how many were read, and which weren't.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The argument as it was given.
    pub argument: String,
    /// The digest that pins it, if it was fetched from a remote address.
    pub digest: Option<String>,
    /// The signers, if they were checked: the names of keys, or identities.
    pub signers: BTreeSet<String>,
    /// The number of files that were read.
    pub taken: u64,
    /// Files, and parts of files, that weren't read.
    pub left_out: Vec<LeftOut>,
}

/// A file, folder or part of a file that was found and not read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The path, as messages show it.
    pub path: String,
    /// The reason for which it wasn't read.
    pub reason: String,
}

impl Account {
    #[doc(hidden)]
    pub fn new(argument: &str) -> Self {
        Self { argument: argument.to_owned(), ..Self::default() }
    }

    #[doc(hidden)]
    pub fn leave(&mut self, path: &Path, reason: impl Into<String>) {
        let path = path.to_string_lossy().into_owned();
        self.left_out.push(LeftOut { path, reason: reason.into() });
    }
}

/// Patterns of files and folders to leave out.
#[derive(Debug, Clone, Default)]
pub struct Ignore {
    patterns: Vec<Pattern>,
    /// The canonical paths of the files that the run writes.
    written: Vec<PathBuf>,
}

/// A pattern of files and folders.
#[derive(Debug, Clone)]
struct Pattern {
    glob: Glob,
    /// Set if it ends in `/`.
    folders_only: bool,
    /// Set once a path was left out because of it; shared by all copies.
    matched: Arc<AtomicBool>,
}

impl Ignore {
    /// Parses patterns. See [`Glob`]; a pattern matches a path that ends in it, and one that ends in `/` only
    /// matches folders.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for an invalid pattern.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let mut found = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let wrong = |why: &dyn Display| {
                let message = format!("`{}` isn't a valid pattern: {why}", escape(pattern));
                Error::configuration(message)
            };
            let trimmed = pattern.trim_end_matches('/');
            if trimmed.is_empty() {
                return Err(wrong(&"it is empty"));
            }
            let glob = Glob::unless_path(trimmed).map_err(|error| wrong(&error))?.at_the_end();
            let folders_only = trimmed.len() < pattern.len();
            found.push(Pattern { glob, folders_only, matched: Arc::default() });
        }
        Ok(Self { patterns: found, written: Vec::new() })
    }

    /// Leaves out files that the run writes as well, if they exist.
    #[doc(hidden)]
    #[must_use]
    pub fn with_written<'p>(mut self, paths: impl IntoIterator<Item = &'p Path>) -> Self {
        self.written.extend(paths.into_iter().filter_map(|path| path.canonicalize().ok()));
        self
    }

    /// Returns `true` if a path is a file that the run writes, or a link to one.
    #[doc(hidden)]
    pub fn is_written(&self, path: &Path) -> bool {
        let is = |own: &PathBuf| path.canonicalize().is_ok_and(|path| path == *own);
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let named = |own: &PathBuf| name(own) == name(path);
        let is_link = || path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        !self.written.is_empty()
            && (self.written.iter().any(named) || is_link())
            && self.written.iter().any(is)
    }

    /// Returns the reason for which a path is left out, if it is.
    #[doc(hidden)]
    pub fn reason(&self, path: &Path) -> Option<String> {
        if self.is_written(path) {
            return Some("this run writes it".to_owned());
        }
        self.pattern(path, || path.is_dir())
    }

    /// Returns the reason for which a file that isn't on the disk is left out, if it is: within `root`, an
    /// archive or a source from elsewhere. Whatever has the same path on the disk doesn't matter.
    pub(super) fn reason_within(&self, root: &str, file: &Path) -> Option<String> {
        let folders = file.ancestors().skip(1).take_while(|folder| *folder != Path::new(root));
        let folders: Vec<_> = folders.collect();
        let of_folder = folders.iter().rev().find_map(|folder| self.pattern(folder, || true));
        of_folder.or_else(|| self.pattern(file, || false))
    }

    /// Returns the patterns that have ignored nothing so far.
    #[doc(hidden)]
    pub fn unmatched(&self) -> impl Iterator<Item = String> {
        let unmatched = self.patterns.iter().filter(|p| !p.matched.load(Ordering::Relaxed));
        let slash = |pattern: &Pattern| if pattern.folders_only { "/" } else { "" };
        unmatched.map(move |pattern| format!("{}{}", pattern.glob.as_str(), slash(pattern)))
    }

    fn pattern(&self, path: &Path, is_folder: impl Fn() -> bool) -> Option<String> {
        let pattern = self.patterns.iter().find(|pattern| {
            pattern.glob.matches(&path.to_string_lossy()) && (!pattern.folders_only || is_folder())
        })?;
        pattern.matched.store(true, Ordering::Relaxed);
        Some(format!("the pattern `{}` ignores it", escape(pattern.glob.as_str())))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn patterns_match_the_end_of_a_path() {
        let ignored = |pattern: &str, path: &str| {
            Ignore::new([pattern]).unwrap().reason(Path::new(path)).is_some()
        };
        for (pattern, path) in [
            ("*.sarif", "a/b/c.sarif"),
            ("b/*.json", "a/b/c.json"),
            ("a/**/d.json", "x/a/b/c/d.json"),
            ("a/**/d.json", "a/d.json"),
            ("[ab]?.json", "a1.json"),
            ("[!a].json", "b.json"),
            ("{a,b}.json", "/x/b.json"),
        ] {
            assert!(ignored(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.sarif", "a.sarif.json"),
            ("b/*.json", "a/bb/c.json"),
            ("*.json", "a.json/b"),
            ("[!a].json", "a.json"),
        ] {
            assert!(!ignored(pattern, path), "{pattern} {path}");
        }
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join(".v"), dir.path().join(".e.rego"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&file, "").unwrap();
        let folders = Ignore::new([".*/"]).unwrap();
        assert!(folders.reason(&folder).is_some() && folders.reason(&file).is_none());
        assert!(Ignore::new([""]).is_err() && Ignore::new(["[a"]).is_err());
    }
}
