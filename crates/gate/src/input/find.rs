//! Finding the inputs that `-i` names: a file or pipe, the files of a folder, or the matches of a
//! glob.
//!
//! Owns the account of them: the extension decides about each file, which is read, refused, or left out
//! for a reason that reports show.

use std::collections::HashSet;
use std::fs::DirEntry;
use std::path::{Component, Path, PathBuf};

use rego_platform::Error;
use rego_platform::sources::glob::{NameGlob, is_glob};
use rego_platform::sources::walk::{NotWalked, Walk, entries};
use rego_platform::sources::{Account, Ignore};
use rego_platform_client::text::escape;
use rego_platform_client::unreadable::unreadable;

use super::parser::{Parser, conversion_of};
use super::source::InputSource;
use crate::setting;

/// Returns the inputs of an argument, and an account of all files found. Without a `parser`, a file's
/// extension has to name one.
///
/// # Errors
/// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) when there is no input, since a gate without its inputs would pass,
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
        walk: Walk::default(),
        visited: HashSet::new(),
        sources: Vec::new(),
        account: Account::new(&shown),
    };
    let is_glob = is_glob(&shown);
    let meta = std::fs::metadata(argument);
    match meta {
        Ok(meta) if meta.is_dir() => search.folder(argument)?,
        Ok(meta) if meta.is_file() => search.named(argument)?,
        Ok(_) => search.take(InputSource::Pipe(argument.to_owned())),
        Err(_) if is_glob => {}
        Err(error) => return Err(unreadable("the input", argument, error)),
    }
    // A path that exists is that path; the files that it also matches as a glob aren't hidden by it.
    if is_glob {
        let exists = !search.sources.is_empty();
        search.visited.insert(argument.to_owned());
        let matches = expand(argument)?;
        if matches.is_empty() && !exists {
            return Err(Error::configuration(format!(
                "no file matches the glob: `{}`",
                escape(&shown)
            )));
        }
        for path in matches {
            search.visit(&path, true)?;
        }
    }
    if search.sources.is_empty() {
        return Err(Error::configuration(format!("no input in `{}`", escape(&shown)))
            .with_hint(
                "name the files to read: in a folder, only files with a known extension are inputs",
            )
            .by_setting(setting::INPUTS));
    }
    Ok((search.sources, search.account))
}

struct Search<'a> {
    ignore: &'a Ignore,
    parser: Option<Parser>,
    walk: Walk,
    /// The paths that were visited: `**` matches a folder, and also what is in it.
    visited: HashSet<PathBuf>,
    sources: Vec<InputSource>,
    account: Account,
}

impl Search<'_> {
    fn take(&mut self, source: InputSource) {
        self.account.taken += 1;
        self.sources.push(source);
    }

    /// Adds a file named by an argument, or matched by a glob.
    fn named(&mut self, path: &Path) -> Result<(), Error> {
        let shown = escape(&path.to_string_lossy());
        if self.parser.or_else(|| Parser::of(path)).is_none() {
            let message = format!("no parser for the extension of the input: `{shown}`");
            return Err(match conversion_of(path) {
                Some(convert) => Error::configuration(message).with_hint(convert),
                None => Error::configuration(message).by_setting(setting::PARSER),
            });
        }
        self.take(InputSource::File(path.to_owned()));
        Ok(())
    }

    /// Handles a path in a folder, or a path that a glob `matched`.
    fn visit(&mut self, path: &Path, matched: bool) -> Result<(), Error> {
        if !self.visited.insert(path.to_owned()) {
            return Ok(());
        }
        if let Some(reason) = self.ignore.reason(path) {
            self.account.leave(path, reason);
            return Ok(());
        }
        let meta = std::fs::metadata(or_here(path)).ok();
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
        Err(Error::configuration(format!("not a regular file: `{shown}`"))
            .by_setting(setting::INPUTS))
    }

    /// Adds the inputs of a folder and its subfolders, sorted by name.
    fn folder(&mut self, path: &Path) -> Result<(), Error> {
        let folder = or_here(path);
        for entry in self.walk.enter(folder).map_err(|why| not_walked(folder, why))? {
            self.visit(&path.join(entry.file_name()), false)?;
        }
        self.walk.leave();
        Ok(())
    }
}

fn not_walked(path: &Path, why: NotWalked) -> Error {
    match why {
        NotWalked::Unreadable(error) => unreadable("", path, error),
        NotWalked::Loop => Error::configuration(format!(
            "`{}` {}",
            escape(&path.to_string_lossy()),
            NotWalked::LOOP
        )),
    }
}

/// Returns the matches of a glob, sorted by name. A name in it that exists is that name, and what it matches as a
/// glob comes as well. Names that aren't UTF-8 are matched lossily.
#[doc(hidden)]
pub fn expand(argument: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = vec![PathBuf::new()];
    let mut before = String::new();
    for component in argument.components() {
        let name = component.as_os_str().to_string_lossy();
        let is_first = found.iter().all(|path| path.as_os_str().is_empty());
        let mut next: Vec<PathBuf> = found.iter().map(|path| path.join(component)).collect();
        if !is_first || is_glob(&name) {
            next.retain(|path| path.symlink_metadata().is_ok());
        }
        if matches!(component, Component::Normal(_)) && is_glob(&name) {
            found.retain(|path| or_here(path).is_dir());
            match NameGlob::new(&name) {
                // Each folder once, however many `**` follow each other.
                Ok(NameGlob::Any) if before == "**" => next = found,
                Ok(NameGlob::Any) => {
                    for path in found {
                        folders(path, &mut Walk::default(), &mut next)?;
                    }
                }
                Ok(glob) => {
                    for path in found {
                        let folder = or_here(&path);
                        let entries =
                            entries(folder).map_err(|error| unreadable("", folder, error))?;
                        let names = entries.iter().map(DirEntry::file_name);
                        let matches = names.filter(|name| glob.matches(&name.to_string_lossy()));
                        next.extend(matches.map(|name| path.join(name)));
                    }
                }
                Err(_) if !next.is_empty() => {}
                Err(why) => {
                    let shown = escape(&argument.to_string_lossy());
                    return Err(
                        Error::configuration(format!("invalid glob `{shown}`")).with_source(why)
                    );
                }
            }
        }
        found = next;
        // More than one way may lead to a path.
        found.sort();
        found.dedup();
        before = name.into_owned();
    }
    Ok(found)
}

fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Collects a folder and all folders below it.
fn folders(path: PathBuf, walk: &mut Walk, into: &mut Vec<PathBuf>) -> Result<(), Error> {
    let folder = or_here(&path);
    let entries = walk.enter(folder).map_err(|why| not_walked(folder, why))?;
    let below = entries.iter().map(|entry| path.join(entry.file_name()));
    let below: Vec<_> = below.filter(|path| path.is_dir()).collect();
    into.push(path);
    for folder in below {
        folders(folder, walk, into)?;
    }
    walk.leave();
    Ok(())
}
