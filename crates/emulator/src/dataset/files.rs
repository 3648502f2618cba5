//! The data set's folder: reads of its files, restricted to the folder, and searches for lines.
//!
//! Owns containment (no path, link or name leads out of the folder) and the positions of problems.
//! Knows nothing about the contents of files.

use std::cell::RefCell;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rego::internal::yaml::{self, Mark, YamlError};
use serde::de::DeserializeOwned;

use super::super::scalars::Id;
use crate::Error;

pub(super) use crate::error::Problem;

/// Stable codes of a data set's diagnostics.
pub(super) mod code {
    pub const PATH: &str = "dataset-path";
    pub const SYNTAX: &str = "dataset-syntax";
    pub const REFERENCE: &str = "dataset-reference";
    pub const DUPLICATE: &str = "dataset-duplicate";
    pub const CONTENT: &str = "dataset-content";
}

/// The data set's folder.
pub(super) struct Folder {
    /// The path as the caller gave it, for messages.
    shown: PathBuf,
    /// The path without links, for the containment check.
    root: PathBuf,
    problems: Problems,
}

/// A data file's name and text.
pub(super) struct Source {
    file: String,
    text: String,
    problems: Problems,
}

/// All problems of a data set, which its folder and its files share.
type Problems = Rc<RefCell<Vec<Problem>>>;

impl Folder {
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let path = || dir.to_path_buf();
        let root =
            dir.canonicalize().map_err(|source| Error::Unreadable { path: path(), source })?;
        if !root.is_dir() {
            return Err(Error::NotAFolder { path: path() });
        }
        Ok(Self { shown: dir.to_path_buf(), root, problems: Problems::default() })
    }

    /// Adds a problem.
    pub fn push(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    /// Reports a problem of a file as a whole.
    pub fn report(&self, path: &Path, code: &'static str, message: String) {
        self.push(self.problem(path, code, message));
    }

    /// The number of problems so far.
    pub fn count(&self) -> usize {
        self.problems.borrow().len()
    }

    /// Returns an error if there is any problem.
    pub fn check(&self) -> Result<(), Error> {
        match self.problems.take() {
            none if none.is_empty() => Ok(()),
            problems => Err(Error::Dataset(problems)),
        }
    }

    fn source(&self, path: &Path, text: String) -> Source {
        Source { file: self.name(path), text, problems: Rc::clone(&self.problems) }
    }

    /// Returns the name of a file for messages.
    fn name(&self, path: &Path) -> String {
        rego::internal::text::escape(&self.shown.join(path).display().to_string())
    }

    /// Creates a problem of a file as a whole, positioned at the file's first line.
    pub fn problem(&self, path: &Path, code: &'static str, message: String) -> Problem {
        self.source(path, String::new()).at_line(1, code, message)
    }

    /// Returns the real path of a file in the folder; `None` if there is no such file.
    fn resolve(&self, path: &Path) -> Result<Option<PathBuf>, Problem> {
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(self.problem(path, code::PATH, "path outside of the data set".into()));
        }
        let full = self.root.join(path);
        match full.canonicalize() {
            Ok(real) if real.starts_with(&self.root) => Ok(Some(real)),
            Ok(_) => {
                let message = "link to a file outside of the data set".to_owned();
                let problem = self.problem(path, code::PATH, message);
                Err(problem.with_hint("copy the file into the data set"))
            }
            // A broken link is an error; a missing file isn't.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !full.is_symlink() => Ok(None),
            Err(e) => Err(self.problem(path, code::PATH, format!("can't open the file: {e}"))),
        }
    }

    /// Reads a file's bytes; `None` if there is no such file.
    pub fn bytes(&self, path: &Path) -> Result<Option<Vec<u8>>, Problem> {
        let Some(real) = self.resolve(path)? else { return Ok(None) };
        // Opening a pipe or a device would block or never end.
        if !real.is_file() {
            return Err(self.problem(path, code::PATH, "not a file".into()));
        }
        std::fs::read(real)
            .map(Some)
            .map_err(|e| self.problem(path, code::PATH, format!("can't read the file: {e}")))
    }

    /// Returns `true` if a name is a folder, or a link to one.
    pub fn is_dir(&self, name: &str) -> bool {
        self.root.join(name).is_dir()
    }

    /// Lists the names in a folder of the data set, sorted, without hidden ones.
    pub fn list(&self, path: &Path) -> Result<Vec<String>, Problem> {
        let real = if path.as_os_str().is_empty() {
            Some(self.root.clone())
        } else {
            self.resolve(path)?.filter(|real| real.is_dir())
        };
        let Some(real) = real else { return Ok(Vec::new()) };
        let failed = |e: std::io::Error| {
            self.problem(path, code::PATH, format!("can't list the folder: {e}"))
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(real).map_err(failed)? {
            match entry.map_err(failed)?.file_name().into_string() {
                Ok(name) if name.starts_with('.') => {}
                Ok(name) => names.push(name),
                Err(name) => {
                    let name = Path::new(&name);
                    return Err(self.problem(name, code::PATH, "invalid UTF-8 in the name".into()));
                }
            }
        }
        names.sort();
        Ok(names)
    }

    /// Parses the files of a topic: `topic.yaml`, then those in the folder `topic`.
    pub fn topic<T: DeserializeOwned>(&self, name: &str) -> Vec<(Source, T)> {
        let mut paths = vec![PathBuf::from(format!("{name}.yaml"))];
        match self.list(Path::new(name)) {
            Ok(names) => paths.extend(names.into_iter().map(|file| Path::new(name).join(file))),
            Err(problem) => self.push(problem),
        }
        let mut out = Vec::new();
        for path in paths {
            match self.parse(&path) {
                Ok(Some(parsed)) => out.push(parsed),
                Ok(None) => {}
                Err(problem) => self.push(problem),
            }
        }
        out
    }

    /// Parses a topic that is a single file.
    pub fn file<T: DeserializeOwned>(&self, name: &str) -> Option<(Source, T)> {
        self.parse(Path::new(name)).unwrap_or_else(|problem| {
            self.push(problem);
            None
        })
    }

    fn parse<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<(Source, T)>, Problem> {
        if path.extension().is_none_or(|extension| extension != "yaml") {
            let problem = self.problem(path, code::PATH, "unexpected file in the data set".into());
            return Err(problem.with_hint("use a name that ends in `.yaml`"));
        }
        let Some(bytes) = self.bytes(path)? else { return Ok(None) };
        let text = String::from_utf8(bytes)
            .map_err(|_| self.problem(path, code::SYNTAX, "invalid UTF-8".into()))?;
        let source = self.source(path, text);
        let parsed = yaml::from_str(&source.text).map_err(|error| source.syntax(&error))?;
        Ok(Some((source, parsed)))
    }
}

impl Source {
    /// Creates a problem at a line, from 1.
    pub fn at_line(&self, line: usize, code: &'static str, message: String) -> Problem {
        let text = self.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let indent = text.chars().take_while(|c| c.is_whitespace()).count();
        self.at_column(line, indent + 1, code, message)
    }

    fn at_column(
        &self,
        line: usize,
        column: usize,
        code: &'static str,
        message: String,
    ) -> Problem {
        let text = self.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let rest = text.trim_end().chars().count().saturating_sub(column - 1).max(1);
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Problem {
            code,
            message,
            hint: None,
            file: self.file.clone(),
            line: number(line),
            column: number(column),
            length: number(rest),
            text: text.into(),
        }
    }

    /// Creates a problem at the `nth` (from 0) line that contains `needle`, a value or `key:
    /// value`.
    ///
    /// The parser keeps no positions of values, so the text is searched. If the key isn't written
    /// in this form (quoted, or in another order), only the value is searched for.
    pub fn at(&self, needle: &str, nth: usize, code: &'static str, message: String) -> Problem {
        let mut lines = self.lines_with(needle);
        if let Some((_, value)) = needle.split_once(": ").filter(|_| lines.is_empty()) {
            lines = self.lines_with(value);
        }
        let line = lines.get(nth).or_else(|| lines.first()).copied().unwrap_or(1);
        self.at_line(line, code, message)
    }

    /// Reports a problem at the `nth` line that contains `needle`, as [`at`](Self::at) does.
    pub fn report(&self, needle: &str, nth: usize, code: &'static str, message: String) {
        self.problems.borrow_mut().push(self.at(needle, nth, code, message));
    }

    /// Reports an id that an earlier entry has, too.
    pub fn check_id(&self, is_twin: bool, what: &str, id: &Id) {
        if is_twin {
            let id = id.as_str();
            self.report(id, 1, code::DUPLICATE, format!("duplicate id of {what}: `{id}`"));
        }
    }

    fn lines_with(&self, needle: &str) -> Vec<usize> {
        let lines = self.text.lines().enumerate();
        lines
            .filter(|(_, line)| !line.trim_start().starts_with('#') && contains_word(line, needle))
            .map(|(index, _)| index + 1)
            .collect()
    }

    fn syntax(&self, error: &YamlError) -> Problem {
        let Mark { line, column, .. } = error.at;
        self.at_column(line + 1, column + 1, code::SYNTAX, error.message.clone())
    }
}

fn contains_word(line: &str, value: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    line.match_indices(value).any(|(start, _)| {
        let before = line.get(..start).and_then(|head| head.chars().next_back());
        let after = line.get(start + value.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(word) && !after.is_some_and(word)
    })
}
