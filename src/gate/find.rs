//! Finding the inputs that `-i` names: a file or pipe, the files of a folder, or the matches of a
//! glob.
//!
//! Owns the account of them: each file that an argument names is read, refused, or left out for a
//! reason that reports show.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use glob::Pattern;

use super::inputs::InputSource;
use super::policy_yaml;
use crate::sources::account::{Content, content, is_hidden, is_packed};
use crate::sources::{Account, Ignore};
use crate::text::{escape, glob};
use crate::{Error, ErrorKind, Setting};

/// The deepest nesting of folders.
const MAX_FOLDERS: usize = 64;

/// The size of the largest file that is looked at for a policy document, in bytes.
const MAX_POLICY: u64 = 4 << 20;

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    crate::unreadable::unreadable("the input", path, error)
}

/// Returns the inputs that an argument names, and an account of all files found.
///
/// # Errors
/// [`ErrorKind::Configuration`] when there is no input, since a gate without its inputs would pass,
/// and for files that can't be accounted for.
pub fn find(argument: &Path, ignore: &Ignore) -> Result<(Vec<InputSource>, Account), Error> {
    let shown = argument.to_string_lossy().into_owned();
    let mut search = Search {
        ignore,
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
            refuse_bundle(argument, &search)?;
        } else if meta.is_file() {
            refuse_policy(argument)?;
            search.take(InputSource::File(argument.to_owned()));
        } else {
            search.take(InputSource::Pipe(argument.to_owned()));
        }
    }
    if search.places.is_empty() {
        return Err(wrong(format!("`{}` contains no input", escape(&shown)))
            .with_hint("in a folder, only JSON and YAML files are inputs")
            .by_setting(Setting::Inputs));
    }
    Ok((search.places, search.account))
}

/// Refuses a policy as an input, as the shell makes of `-d policies/*.rego`: only the first of the
/// files would be a policy.
fn refuse_policy(path: &Path) -> Result<(), Error> {
    let is_rego = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("rego"));
    if !is_rego && !is_policy_document(path) {
        return Ok(());
    }
    let shown = escape(&path.to_string_lossy());
    Err(wrong(format!("the input `{shown}` is a policy"))
        .with_hint("give each file of policies an option of its own, or name their folder"))
}

/// Refuses a folder of policies as an input, as the second of `-b one two` is.
fn refuse_bundle(path: &Path, search: &Search<'_>) -> Result<(), Error> {
    let is_data = |place: &InputSource| match place {
        InputSource::File(file) => file.file_stem().is_some_and(|stem| stem == "data"),
        _ => false,
    };
    let has_rego = search.account.left_out.iter().any(|left| left.reason == REGO);
    let is_policies = has_rego && search.places.iter().all(is_data);
    if !is_policies && !path.join(".manifest").is_file() {
        return Ok(());
    }
    let shown = escape(&path.to_string_lossy());
    Err(wrong(format!("the input `{shown}` is a folder of policies and their data"))
        .with_hint("give each bundle or folder of policies an option of its own"))
}

/// The reason for which Rego in a folder of inputs is left out.
const REGO: &str = "it is Rego";

/// Returns `true` for a policy document; larger files are none.
fn is_policy_document(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let small = std::fs::metadata(path).is_ok_and(|meta| meta.len() <= MAX_POLICY);
    matches!(extension.as_str(), "yaml" | "yml" | "json")
        && small
        && std::fs::read_to_string(path).is_ok_and(|text| policy_yaml::has_policies(&text))
}

struct Search<'a> {
    ignore: &'a Ignore,
    /// The canonical paths of the folders that are being walked.
    open: Vec<PathBuf>,
    /// The paths that were visited: `**` matches a folder, and also what is in it.
    visited: HashSet<PathBuf>,
    places: Vec<InputSource>,
    account: Account,
}

/// Returns `true` if a file has one of the extensions of inputs.
fn is_named(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    matches!(extension.as_str(), "json" | "jsonl" | "ndjson" | "yaml" | "yml" | "sarif")
}

impl Search<'_> {
    fn take(&mut self, place: InputSource) {
        self.account.taken += 1;
        self.places.push(place);
    }

    /// Handles a path that no argument names directly. If a glob `matched` it, it is an input
    /// whatever its extension.
    fn visit(&mut self, path: &Path, matched: bool) -> Result<(), Error> {
        if !self.visited.insert(path.to_owned()) {
            return Ok(());
        }
        if let Some(reason) = self.ignore.reason(path) {
            self.account.leave(path, reason);
            return Ok(());
        }
        let refuse = |what: &str| {
            let shown = escape(&path.to_string_lossy());
            Err(wrong(format!("`{shown}` {what}")).by_setting(Setting::Inputs))
        };
        let named = matched || is_named(path);
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            // An unreadable file is reported when it is opened: it has no verdict.
            Err(_) if named => {
                self.take(InputSource::File(path.to_owned()));
                return Ok(());
            }
            Err(_) if is_hidden(path) => {
                self.account.leave(path, "hidden");
                return Ok(());
            }
            Err(error) => return Err(unreadable(path, error).by_setting(Setting::Inputs)),
        };
        if meta.is_dir() {
            return self.folder(path);
        }
        if !meta.is_file() {
            return refuse("isn't a regular file: it might never end");
        }
        if named {
            self.take(InputSource::File(path.to_owned()));
        } else if is_hidden(path) {
            self.account.leave(path, "hidden");
        } else if is_packed(path) {
            return refuse("is compressed or an archive");
        } else {
            match content(path).map_err(|error| unreadable(path, error))? {
                Content::Json | Content::Yaml => self.take(InputSource::File(path.to_owned())),
                Content::Packed => return refuse("is compressed or an archive"),
                Content::Rego => self.account.leave(path, REGO),
                Content::Other => self.account.leave(path, "its content is neither JSON nor YAML"),
            }
        }
        Ok(())
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
pub(crate) fn expand(argument: &Path) -> Result<Vec<PathBuf>, Error> {
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
