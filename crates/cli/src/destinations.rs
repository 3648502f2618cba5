//! The files that a command writes.
//!
//! Owns the decision on whether a path may be written. It is made before anything is: a report in
//! the place of a policy, a device or another report would be a run that can't be repeated, and one
//! in the place of an input would be a run without that input.
//!
//! A path that is written may not be an input, by its canonical path: neither one that is named, nor one that
//! is read in a folder or as the match of a pattern, whether it exists yet or not.

use std::path::{Path, PathBuf};

use rego_platform::Error;
use rego_platform::sources::glob::is_glob;
use rego_platform::sources::walk::Walk;
use rego_platform::sources::{Ignore, split};
use rego_platform_client::text::escape_path;
use rego_platform_gate::{Parser, expand};

/// The files, folders and globs that a command reads.
#[derive(Debug, Default)]
pub(super) struct Reads<'a> {
    /// Policies and inputs. In their folders, the content of a file with an unknown name decides
    /// whether it is read.
    pub given: Vec<&'a Path>,
    /// The paths of other options. In their folders, any file may be read.
    pub others: Vec<PathBuf>,
}

/// The endings of files that are policies, whatever a report would write into them; data and inputs have
/// those of parsers.
const POLICIES: [&str; 3] = [".rego", ".gz", ".tgz"];

/// The most links that lead from one to the next.
const MAX_LINKS: usize = 40;

/// Refuses destinations that aren't regular files, that are the same file, or that the command
/// reads, of which it leaves out what `ignore` matches.
pub(super) fn check(written: &[&Path], read: &Reads<'_>, ignore: &Ignore) -> Result<(), Error> {
    judge(written, read, ignore).into_iter().collect()
}

/// Checks each destination as [`check`] does; of destinations in the same file, the first is accepted.
pub(super) fn judge(
    written: &[&Path],
    read: &Reads<'_>,
    ignore: &Ignore,
) -> Vec<Result<(), Error>> {
    let mut taken: Vec<PathBuf> = Vec::new();
    let named: Vec<PathBuf> = read.given.iter().flat_map(|path| named(path)).collect();
    let matched: Vec<PathBuf> = named.iter().flat_map(|path| matched(path)).collect();
    let mut one = |path: &&Path| {
        refuse_special(path)?;
        let own = identity(path);
        if taken.contains(&own) {
            return refused(path, "would be written twice", "write each report to its own file");
        }
        let file = File { own: &own, link: &identity_of_link(path) };
        let exists = path.symlink_metadata().is_ok();
        let is_read = |read: &PathBuf, whole: bool| {
            file.is_in(read, whole, ignore)
                || !exists && would_be_read(&own, &identity(read), ignore)
        };
        let mut all = named.iter().chain(&matched);
        if all.clone().chain(&read.others).any(|read| file.is(read))
            || all.any(|read| is_read(read, false))
            || read.others.iter().any(|read| is_read(read, true))
        {
            let hint = "write it outside the folders that are read";
            return refused(path, "would be read and written", hint);
        }
        // A policy document may name it.
        if exists
            && path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("rego"))
        {
            let hint = "write the report to another file";
            return refused(path, "is a policy and would be overwritten", hint);
        }
        taken.push(own);
        Ok(())
    };
    written.iter().map(&mut one).collect()
}

/// Returns `true` if the next run would read what is written, in a folder that is `read`.
fn would_be_read(own: &Path, read: &Path, ignore: &Ignore) -> bool {
    own.starts_with(read) && is_taken(own) && ignore.reason(own).is_none()
}

/// A destination that exists: the file, and the link to it if it is one.
struct File<'a> {
    own: &'a Path,
    link: &'a Path,
}

impl File<'_> {
    /// Returns `true` if a path is this file, or leads to it.
    fn is(&self, path: &Path) -> bool {
        let (real, link) = (identity(path), identity_of_link(path));
        [&*real, &*link].iter().any(|name| *name == self.own || *name == self.link)
            || is_same(&real, self.own)
    }

    /// Returns `true` if this file would be read with the folder at `path`. Folders are walked as
    /// readers do: through links, and without what is ignored.
    fn is_in(&self, path: &Path, whole: bool, ignore: &Ignore) -> bool {
        let ignore = if whole { &Ignore::default() } else { ignore };
        self.is_below(path, whole, ignore, &mut Walk::default())
    }

    fn is_below(&self, folder: &Path, whole: bool, ignore: &Ignore, walk: &mut Walk) -> bool {
        let Ok(entries) = walk.enter(folder) else { return false };
        let found = entries.iter().any(|entry| {
            let path = entry.path();
            if ignore.reason(&path).is_some() {
                return false;
            }
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let is_folder = if is_link { path.is_dir() } else { is_folder(entry) };
            if is_folder {
                return self.is_below(&path, whole, ignore, walk);
            }
            (is_link || self.has_name_of(&path)) && self.is(&path) && (whole || is_taken(&path))
        });
        walk.leave();
        found
    }

    /// Returns `true` unless a path, which isn't a link, can't be this file because of its name. On
    /// some systems, case doesn't matter.
    fn has_name_of(&self, path: &Path) -> bool {
        let lower =
            |path: &Path| path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        lower(path) == lower(self.own) || lower(path) == lower(self.link)
    }
}

fn is_folder(entry: &std::fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Returns `true` if a file in a folder is read rather than left out.
fn is_taken(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    POLICIES.iter().any(|ending| name.ends_with(ending)) || Parser::of(path).is_some()
}

/// Returns `true` if two paths are the same file although their names differ, as on a file system
/// that ignores case.
#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let of = |path: &Path| path.symlink_metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    of(one).is_some_and(|file| of(other) == Some(file))
}

#[cfg(not(unix))]
fn is_same(_: &Path, _: &Path) -> bool {
    false
}

/// Refuses a destination that leads to anything but a regular file: a device, a pipe and a folder
/// would be replaced by the report, or couldn't be.
fn refuse_special(path: &Path) -> Result<(), Error> {
    if leads_to_device(path) {
        return refused(
            path,
            "can't be written: it leads to a device or a pipe",
            "give it a file; to pass a report to a command, write `--output FORMAT=- | COMMAND`",
        );
    }
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() => {
            refused(path, "can't be written: it isn't a regular file", "give it a file")
        }
        _ => Ok(()),
    }
}

/// Returns `true` if a path is in the folder of devices or that of processes, or a link that leads
/// there: `/dev/stdout` may lead on to a regular file, but isn't a name for it.
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

/// Returns the paths that an argument names.
fn named(path: &Path) -> Vec<PathBuf> {
    // `-d` takes `a.b:PATH` for data below `data.a.b`.
    let plain = path.to_str().map(|text| split(text).1).filter(|plain| plain != path);
    std::iter::once(path.to_owned()).chain(plain).collect()
}

/// Returns the paths that a pattern matches.
fn matched(pattern: &Path) -> Vec<PathBuf> {
    if !is_glob(&pattern.to_string_lossy()) {
        return Vec::new();
    }
    // A pattern that can't be expanded is an error before anything is read.
    expand(pattern).unwrap_or_default()
}

/// Returns the one path of a file, which needn't exist: a link to nothing is followed as well.
fn identity(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(real) = std::fs::canonicalize(&at) {
            return real;
        }
        let own = identity_of_link(&at);
        let Ok(next) = std::fs::read_link(&at) else { return own };
        at = own.parent().unwrap_or(Path::new("/")).join(next);
    }
    identity_of_link(path)
}

/// Returns the one path of a file, or of a link itself.
pub(super) fn identity_of_link(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match (std::fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn refused(path: &Path, why: &str, hint: &str) -> Result<(), Error> {
    Err(Error::configuration(format!("`{}` {why}", escape_path(path))).with_hint(hint))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn refused(written: &[&str], read: &[&str]) -> Option<String> {
        let written: Vec<_> = written.iter().map(Path::new).collect();
        let read = Reads { given: read.iter().map(Path::new).collect(), others: Vec::new() };
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
        for name in ["in/new.json", "in/a.json"] {
            is(refused(&[&at(name)], &[&at("in")]), "read and written");
        }
        for name in ["in/left.json", "in/page.html"] {
            assert_eq!(refused(&[&at(name)], &[&at("in")]), None);
        }
        is(refused(&[&at("in")], &[]), "regular file");
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
