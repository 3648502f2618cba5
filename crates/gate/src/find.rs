//! Finding the inputs that `-i` names: a file or pipe, the files of a folder, or the matches of a
//! glob.
//!
//! Owns the account of them: the extension decides about each file, which is read, refused, or left out
//! for a reason that reports show.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use glob::Pattern;
use rego_platform::sources::{Account, Ignore};
use rego_platform::{Error, ErrorKind};
use rego_platform_client::text::{escape, glob};

use super::inputs::InputSource;
use super::parser::{Parser, conversion_of};
use crate::setting;

/// The deepest nesting of folders.
const MAX_FOLDERS: usize = 64;

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    rego_platform_client::unreadable::unreadable("the input", path, error)
}

/// Returns the inputs that an argument names, and an account of all files found. Without a `parser`,
/// a file's extension has to name one.
///
/// # Errors
/// [`ErrorKind::Configuration`] when there is no input, since a gate without its inputs would pass,
/// and for a named file without a parser.
pub fn find(
    argument: &Path,
    ignore: &Ignore,
    parser: Option<Parser>,
) -> Result<(Vec<InputSource>, Account), Error> {
    let shown = argument.to_string_lossy().into_owned();
    let mut search = Search {
        ignore,
        parser,
        open: Vec::new(),
        visited: HashSet::new(),
        places: Vec::new(),
        account: Account::new(&shown),
    };
    if shown.contains(['*', '?', '[']) {
        let matches = expand(argument)?;
        if matches.is_empty() {
            return Err(wrong(format!("nothing matches the glob `{}`", escape(&shown))).with_hint(
                "to name a file with `*`, `?` or `[` in its name, write `[*]`, `[?]`, `[[]`",
            ));
        }
        for path in matches {
            search.visit(&path, true)?;
        }
    } else {
        let meta = std::fs::metadata(argument).map_err(|error| unreadable(argument, error))?;
        if meta.is_dir() {
            search.folder(argument)?;
        } else if meta.is_file() {
            search.named(argument)?;
        } else {
            search.take(InputSource::Pipe(argument.to_owned()));
        }
    }
    if search.places.is_empty() {
        return Err(wrong(format!("`{}` contains no input", escape(&shown)))
            .with_hint("in a folder, the files with the extension of a parser are inputs")
            .by_setting(setting::INPUTS));
    }
    Ok((search.places, search.account))
}

struct Search<'a> {
    ignore: &'a Ignore,
    parser: Option<Parser>,
    /// The canonical paths of the folders that are being walked.
    open: Vec<PathBuf>,
    /// The paths that were visited: `**` matches a folder, and also what is in it.
    visited: HashSet<PathBuf>,
    places: Vec<InputSource>,
    account: Account,
}

impl Search<'_> {
    fn take(&mut self, place: InputSource) {
        self.account.taken += 1;
        self.places.push(place);
    }

    /// Takes a file that an argument names, or that a glob matches.
    fn named(&mut self, path: &Path) -> Result<(), Error> {
        let shown = escape(&path.to_string_lossy());
        if self.parser.or_else(|| Parser::of(path)).is_none() {
            let message = format!("the extension of the input `{shown}` names no parser");
            return Err(match conversion_of(path) {
                Some(convert) => wrong(message).with_hint(convert),
                None => wrong(message).by_setting(setting::PARSER),
            });
        }
        self.take(InputSource::File(path.to_owned()));
        Ok(())
    }

    /// Handles a path in a folder, or one that a glob `matched`.
    fn visit(&mut self, path: &Path, matched: bool) -> Result<(), Error> {
        if !self.visited.insert(path.to_owned()) {
            return Ok(());
        }
        if let Some(reason) = self.ignore.reason(path) {
            self.account.leave(path, reason);
            return Ok(());
        }
        let meta = std::fs::metadata(path).ok();
        if meta.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return self.folder(path);
        }
        if !matched && Parser::of(path).is_none() {
            self.account.leave(path, "its extension isn't one of inputs");
            return Ok(());
        }
        // An unreadable file is reported when it is opened: it has no verdict.
        if meta.is_none_or(|meta| meta.is_file()) {
            return self.named(path);
        }
        let shown = escape(&path.to_string_lossy());
        Err(wrong(format!("`{shown}` isn't a regular file: it might never end"))
            .by_setting(setting::INPUTS))
    }

    /// Takes the inputs of a folder and its subfolders, by name.
    fn folder(&mut self, path: &Path) -> Result<(), Error> {
        enter(path, &mut self.open)?;
        for path in entries(path)? {
            self.visit(&path, false)?;
        }
        self.open.pop();
        Ok(())
    }
}

/// Returns the entries of a folder, sorted by name.
fn entries(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(path)
        .and_then(|all| all.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>());
    let mut entries = entries.map_err(|error| unreadable(path, error))?;
    entries.sort();
    Ok(entries)
}

/// Returns the matches of a glob, sorted by name. Names that aren't UTF-8 are matched lossily.
#[doc(hidden)]
pub fn expand(argument: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = vec![PathBuf::new()];
    let mut first = true;
    for component in argument.components() {
        let name = component.as_os_str().to_string_lossy();
        if !matches!(component, Component::Normal(_)) || !name.contains(['*', '?', '[']) {
            for path in &mut found {
                path.push(component);
            }
            if !first {
                found.retain(|path| path.symlink_metadata().is_ok());
            }
            first = false;
            continue;
        }
        first = false;
        let mut next = Vec::new();
        if name == "**" {
            for path in &found {
                folders(path, &mut Vec::new(), &mut next)?;
            }
        } else {
            let pattern = Pattern::new(&glob(&name)).map_err(|error| {
                wrong(format!("`{}` isn't a valid glob", escape(&argument.to_string_lossy())))
                    .with_source(error.to_string())
            })?;
            for path in found.iter().filter(|path| is_folder(path)) {
                for entry in entries(or_here(path))? {
                    let Some(name) = entry.file_name() else { continue };
                    if pattern.matches(&name.to_string_lossy()) {
                        next.push(path.join(name));
                    }
                }
            }
        }
        found = next;
    }
    found.dedup();
    Ok(found)
}

fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn is_folder(path: &Path) -> bool {
    or_here(path).is_dir()
}

/// Collects a folder and all folders below it; `open` are the canonical paths of those above.
fn folders(path: &Path, open: &mut Vec<PathBuf>, into: &mut Vec<PathBuf>) -> Result<(), Error> {
    if !is_folder(path) {
        return Ok(());
    }
    into.push(path.to_owned());
    enter(or_here(path), open)?;
    for entry in entries(or_here(path))? {
        let Some(name) = entry.file_name() else { continue };
        folders(&path.join(name), open, into)?;
    }
    open.pop();
    Ok(())
}

/// Adds a folder to the open ones, unless it is one of them or lies too deep.
fn enter(path: &Path, open: &mut Vec<PathBuf>) -> Result<(), Error> {
    let real = std::fs::canonicalize(path).map_err(|error| unreadable(path, error))?;
    if open.contains(&real) || open.len() >= MAX_FOLDERS {
        let shown = escape(&path.to_string_lossy());
        return Err(wrong(format!(
            "`{shown}` is a folder within itself, through a link, or nested too deeply"
        )));
    }
    open.push(real);
    Ok(())
}
