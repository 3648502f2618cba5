//! The files that a command writes.
//!
//! Owns the decision on whether a path may be written. It is made before anything is: a report in
//! the place of a policy, a device or another report would be a run that can't be repeated.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::gate::expand;
use crate::sources::{Ignore, split};
use crate::text::escape;
use crate::{Error, ErrorKind};

/// A file that a command is told to write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Destination<'a> {
    pub path: &'a Path,
    pub content: Content,
}

/// What is written into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// What isn't read in a folder of policies or inputs.
    Other,
    /// JSON, which would be.
    Data,
    /// A recording. It is written at the end, and may lie among the tests that it is for.
    Recording,
}

impl<'a> Destination<'a> {
    pub const fn data(path: &'a Path) -> Self {
        Self { path, content: Content::Data }
    }

    pub const fn recording(path: &'a Path) -> Self {
        Self { path, content: Content::Recording }
    }
}

/// The endings of files that are policies or data, whatever a report would write into them.
const READ: [&str; 7] = [".rego", ".json", ".yaml", ".yml", ".jsonl", ".gz", ".tgz"];

/// The most links that lead from one to the next.
const MAX_LINKS: usize = 40;

/// Refuses destinations that aren't regular files, that are the same file, or that the command
/// reads: `read` are the files, folders and globs that it was given, of which it leaves out what
/// `ignore` matches.
pub(super) fn check(
    written: &[Destination<'_>],
    read: &[&Path],
    ignore: &Ignore,
) -> Result<(), Error> {
    judge(written, read, ignore).into_iter().collect()
}

/// As [`check`], for each destination: of those that are the same file, the first is accepted.
pub(super) fn judge(
    written: &[Destination<'_>],
    read: &[&Path],
    ignore: &Ignore,
) -> Vec<Result<(), Error>> {
    let mut taken: Vec<PathBuf> = Vec::new();
    let read: Vec<PathBuf> = read.iter().flat_map(|path| expanded(path)).collect();
    let one = |destination: &Destination<'_>| {
        let path = destination.path;
        refuse_special(path)?;
        let own = identity(path);
        if taken.contains(&own) {
            return Err(wrong(format!("`{}` would be written twice", shown(path)))
                .with_hint("give each report a file of its own"));
        }
        if read.iter().any(|read| is_read(destination, &own, read, ignore)) {
            let hint = "give it a file of its own, outside the folders that are read";
            return Err(
                wrong(format!("`{}` would be read and written", shown(path))).with_hint(hint)
            );
        }
        taken.push(own);
        Ok(())
    };
    written.iter().map(one).collect()
}

/// Returns `true` if a destination is `read`, or would be read as a part of it.
fn is_read(destination: &Destination<'_>, own: &Path, read: &Path, ignore: &Ignore) -> bool {
    if own == read {
        return true;
    }
    let Some(name) = own.file_name().filter(|_| own.starts_with(read)) else { return false };
    let name = name.to_string_lossy().to_lowercase();
    let named = READ.iter().any(|ending| name.ends_with(ending));
    let counts = match destination.content {
        Content::Other => named,
        // The run leaves out what it writes, so only something else in its place would be lost.
        Content::Data | Content::Recording => named && own.exists() && !is_written(own),
    };
    counts && ignore.reason(own).is_none()
}

/// Returns `true` if a file begins as recordings, reports and statements do.
fn is_written(path: &Path) -> bool {
    let mut start = Vec::new();
    let file = std::fs::File::open(path).map(|file| file.take(4 << 10));
    let read = file.and_then(|mut file| file.read_to_end(&mut start));
    let start = String::from_utf8_lossy(&start);
    let marks = ["\"nd_builtin_cache\"", "\"rego-platform", "\"predicateType\""];
    read.is_ok() && marks.iter().any(|mark| start.contains(mark))
}

/// Refuses a destination that leads to anything but a regular file: a device, a pipe and a folder
/// would be replaced by the report, or couldn't be.
fn refuse_special(path: &Path) -> Result<(), Error> {
    let refuse = |why: &str, hint: &str| {
        Err(wrong(format!("`{}` can't be written: {why}", shown(path))).with_hint(hint))
    };
    if leads_to_device(path) {
        return refuse(
            "it leads to a device or a pipe",
            "give it a file; to pass a report to a command, write `--output FORMAT=- | COMMAND`",
        );
    }
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() => refuse("it isn't a regular file", "give it a file"),
        _ => Ok(()),
    }
}

/// Returns `true` if a path is in the folder of devices or that of processes, or a link that leads
/// there: `/dev/stdout` may lead on to a regular file, but is no name for it.
fn leads_to_device(path: &Path) -> bool {
    let mut at = path.to_owned();
    for _ in 0..MAX_LINKS {
        let own = identity_of_link(&at);
        let folder = own.parent().unwrap_or(Path::new("/"));
        if folder == Path::new("/dev") || folder.starts_with("/dev/fd") || own.starts_with("/proc")
        {
            return true;
        }
        let Ok(next) = std::fs::read_link(&at) else { return false };
        at = folder.join(next);
    }
    true
}

/// Returns the files that an argument names: itself, or those that its pattern matches.
fn expanded(path: &Path) -> Vec<PathBuf> {
    // `-d` takes `a.b:PATH` for data below `data.a.b`.
    let plain = path.to_str().map(|text| split(text).1);
    let mut found = vec![identity(path)];
    found.extend(plain.map(|path| identity(&path)));
    if path.to_string_lossy().contains(['*', '?', '[']) {
        // A pattern that can't be expanded is an error before anything is read.
        found.extend(expand(path).unwrap_or_default().iter().map(|path| identity(path)));
    }
    found
}

/// Returns the one path of a file, which needn't exist.
fn identity(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| identity_of_link(path))
}

/// Returns the one path of a file, or of a link itself.
fn identity_of_link(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match (std::fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn shown(path: &Path) -> String {
    escape(&path.display().to_string())
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn refused(written: &[&str], read: &[&str]) -> Option<String> {
        let written: Vec<_> =
            written.iter().map(|path| Destination::data(Path::new(*path))).collect();
        let read: Vec<_> = read.iter().map(Path::new).collect();
        let ignore = Ignore::new(["left.json"]).unwrap();
        check(&written, &read, &ignore).err().map(|error| error.to_string())
    }

    #[test]
    fn a_destination_is_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        std::fs::create_dir(at("in")).unwrap();
        for name in ["p.rego", "in/a.json"] {
            std::fs::write(at(name), "x").unwrap();
        }
        let is = |found: Option<String>, text: &str| assert!(found.unwrap().contains(text));
        assert_eq!(refused(&[&at("new"), &at("p.txt")], &[&at("p.rego"), &at("in")]), None);
        is(refused(&[&at("new"), &at("in/../new")], &[]), "twice");
        is(refused(&[&at("in/../p.rego")], &[&at("p.rego")]), "read and written");
        is(refused(&[&at("p.rego")], &[&at("*.rego")]), "read and written");
        assert_eq!(refused(&[&at("in/new.json")], &[&at("in")]), None);
        is(refused(&[&at("in/a.json")], &[&at("in")]), "read and written");
        std::fs::write(at("in/r.json"), "{\"tool\": {\"name\": \"rego-platform\"}}").unwrap();
        assert_eq!(refused(&[&at("in/r.json")], &[&at("in")]), None);
        assert_eq!(refused(&[&at("in/left.json")], &[&at("in")]), None);
        is(refused(&[&at("in")], &[]), "regular file");
        let page = at("in/page.html");
        let html = Destination { path: Path::new(&page), content: Content::Other };
        let input = at("in");
        assert!(check(&[html], &[Path::new(&input)], &Ignore::default()).is_ok());
        let record = |name: &str| {
            let path = at(name);
            let recording = Destination::recording(Path::new(&path));
            check(&[recording], &[Path::new(&input)], &Ignore::default())
        };
        assert!(record("in/new.json").is_ok() && record("in/a.json").is_err());
        std::fs::write(at("in/new.json"), "{\"version\": 1, \"nd_builtin_cache\": {}}").unwrap();
        assert!(record("in/new.json").is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_their_target() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(at("p.rego"), "x").unwrap();
        symlink(at("p.rego"), at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        symlink(at("none"), at("dangling")).unwrap();
        symlink("/dev/null", at("null")).unwrap();
        symlink("null", at("null2")).unwrap();
        symlink("/dev/stdout", at("out")).unwrap();
        symlink("round", at("round")).unwrap();
        assert!(refused(&[&at("second")], &[&at("p.rego")]).is_some());
        assert!(refused(&[&at("link"), &at("p.rego")], &[]).is_some());
        assert_eq!(refused(&[&at("link"), &at("dangling")], &[]), None);
        for special in ["null", "null2", "out", "round"] {
            assert!(refused(&[&at(special)], &[]).is_some(), "{special}");
        }
        for special in ["/dev/null", "/dev/full", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            assert!(refused(&[special], &[]).is_some(), "{special}");
        }
        assert_eq!(refused(&["/dev/shm/no-such-file"], &[]), None);
    }
}
