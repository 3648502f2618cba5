//! Folders of git repositories, fetched with the program `git`.
//!
//! Owns how that is called: with fixed arguments, in a folder of its own, with nothing of the caller's
//! environment but what its network and its credentials need. Nothing is checked out: files are read from
//! git's objects, so no hook, filter, link or submodule has a say. Nothing that it prints is shown.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use bytes::Bytes;
use rego_platform_client::text::escape;
use rego_platform_client::{Error, ErrorKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::address::Repository;
use crate::artifact::{Content, File, Limits, is_inside};
use crate::digest::Digest;

/// The environment variables passed to `git`: program, configuration, credentials and network.
const ENVIRONMENT: [&str; 15] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USERPROFILE",
    "SYSTEMROOT",
    "TMPDIR",
    "GIT_ASKPASS",
    "GIT_SSL_CAINFO",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "ALL_PROXY",
];

/// The settings that override the caller's configuration.
const SETTINGS: [&str; 8] = [
    "protocol.allow=never",
    "http.followRedirects=false",
    "http.sslVerify=true",
    "core.hooksPath=/dev/null",
    "fetch.recurseSubmodules=false",
    "credential.interactive=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// The reference of fetched commits in the folder.
const FETCHED: &str = "refs/fetched";

/// The size of the largest list of files.
const MAX_LIST: u64 = 64 << 20;

/// The number of bytes that `git` prints around each file.
const AROUND: u64 = 128;

/// A file of a commit.
struct TreeFile {
    object: String,
    size: u64,
    name: String,
}

/// The program in a temporary folder, for one repository.
struct Git<'a> {
    folder: &'a Path,
    repository: &'a Repository,
}

/// Fetches a folder of a repository, at the commit `pinned` if given. Returns its commit too; `None` if that
/// is `known`.
pub(crate) async fn fetch(
    repository: &Repository,
    pinned: Option<&Digest>,
    known: Option<&Digest>,
    limits: &Limits,
) -> Result<Option<(Digest, Content)>, Error> {
    let folder = tempfile::tempdir().map_err(|error| {
        Error::configuration("can't create a folder for `git`").with_source(error)
    })?;
    let git = Git { folder: folder.path(), repository };
    let commit = git.commit(pinned).await?;
    if known == Some(&commit) {
        return Ok(None);
    }
    let entries = git.list(&commit).await?;
    limits.check(&repository.to_string(), entries.iter().map(|entry| entry.size))?;
    let files = git.files(entries).await?;
    Ok(Some((commit, Content::Files(files))))
}

impl Git<'_> {
    /// Fetches a commit, and returns it.
    async fn commit(&self, pinned: Option<&Digest>) -> Result<Digest, Error> {
        let wanted = pinned.or(self.repository.commit());
        let what = wanted.map_or_else(|| self.repository.reference(), Digest::hex);
        let refspec = format!("{what}:{FETCHED}");
        self.run(&["init", "--quiet", "--bare", "--template=", "."], &[], 0).await?;
        let url = self.repository.url().as_str();
        let fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"];
        self.run(&[&fetch[..], &["--", url, &refspec]].concat(), &[], 0).await.map_err(
            |error| {
                if error.kind() == ErrorKind::Configuration {
                    return error;
                }
                let message = format!("`git` can't fetch `{}`", escape(what));
                self.failed(
                    &message,
                    &format!("run `git fetch {} {what}` for the reason", escape(url)),
                )
            },
        )?;
        let name = format!("{FETCHED}^{{commit}}");
        let found =
            self.run(&["rev-parse", "--verify", "--end-of-options", &name], &[], 128).await?;
        let found =
            std::str::from_utf8(&found).ok().and_then(|text| Digest::of_commit(text.trim()));
        let found = found.ok_or_else(|| self.unreadable())?;
        match wanted {
            Some(wanted) if *wanted != found => {
                let message = format!("has `{found}` for `{wanted}`");
                Err(self.failed(&message, "write the commit, not the object of a tag"))
            }
            _ => Ok(found),
        }
    }

    /// Lists the files of the folder.
    async fn list(&self, commit: &Digest) -> Result<Vec<TreeFile>, Error> {
        let tree = format!("{}:{}", commit.hex(), self.repository.folder());
        let list = ["ls-tree", "-r", "-z", "--long", "--full-tree", &tree];
        let list = self.run(&list, &[], MAX_LIST).await.map_err(|error| match error.kind() {
            ErrorKind::Protocol => {
                let message = format!("has no folder `{}`", self.repository.folder());
                self.failed(&message, "check the folder and the commit")
            }
            _ => error,
        })?;
        let mut entries = Vec::new();
        let mut names = BTreeSet::new();
        for line in list.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let entry = std::str::from_utf8(line).ok().and_then(read_entry);
            let (mode, entry) = entry.ok_or_else(|| self.unreadable())?;
            let shown = escape(&entry.name);
            if !matches!(mode, "100644" | "100755") {
                return Err(self.failed(
                    &format!("has a link or a submodule: `{shown}`"),
                    "name a folder without links and submodules",
                ));
            }
            if !is_inside(&entry.name) || !names.insert(entry.name.clone()) {
                let message = format!("has a path outside of its folder: `{shown}`");
                return Err(self.failed(&message, "rename the file in the repository"));
            }
            entries.push(entry);
        }
        if entries.is_empty() {
            return Err(self.failed("has no files", "check the folder"));
        }
        Ok(entries)
    }

    /// Reads the files.
    async fn files(&self, entries: Vec<TreeFile>) -> Result<Vec<File>, Error> {
        let ids: String = entries.iter().flat_map(|entry| [&*entry.object, "\n"]).collect();
        let most = entries.iter().map(|entry| entry.size + AROUND).sum();
        let all = Bytes::from(self.run(&["cat-file", "--batch"], ids.as_bytes(), most).await?);
        let mut at = 0;
        let mut files = Vec::with_capacity(entries.len());
        for TreeFile { object, size, name } in entries {
            let head = format!("{object} blob {size}\n");
            let begin = at + head.len();
            let end = usize::try_from(size).ok().and_then(|size| begin.checked_add(size));
            let end = end.ok_or_else(|| self.unreadable())?;
            let is_there = all.get(at..begin) == Some(head.as_bytes())
                && all.get(end..=end) == Some(b"\n".as_slice());
            if !is_there {
                return Err(self.unreadable());
            }
            files.push(File { name, bytes: all.slice(begin..end) });
            at = end + 1;
        }
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(files)
    }

    /// Runs `git`. Returns what it prints, at most `limit` bytes.
    async fn run(&self, arguments: &[&str], input: &[u8], limit: u64) -> Result<Vec<u8>, Error> {
        let mut command = Command::new("git");
        command
            .env_clear()
            .envs(ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        for (name, value) in
            [("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")]
        {
            command.env(name, value);
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let url = self.repository.url();
        command.args(["-c", &format!("protocol.{}.allow=always", url.scheme())]);
        // A setting for an address has precedence over one without.
        command.args(["-c", &format!("http.{url}.sslVerify=true")]);
        command.args(["-c", &format!("http.{url}.followRedirects=false")]);
        command.args(arguments).current_dir(self.folder).env("GIT_DIR", self.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let absent = |error: std::io::Error| {
            Error::configuration("can't run the program `git`")
                .with_source(error)
                .with_hint("install `git` 2.31 or newer")
        };
        let mut child = command.kill_on_drop(true).spawn().map_err(absent)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // If it ends before it has read all of it, its status says so.
                let _ = stdin.write_all(input).await;
            }
        };
        let mut out = Vec::new();
        let read = async {
            match stdout {
                Some(stdout) => stdout.take(limit + 1).read_to_end(&mut out).await,
                None => Ok(0),
            }
        };
        let ((), read) = tokio::join!(write, read);
        read.map_err(|_| self.unreadable())?;
        if out.len() as u64 > limit {
            return Err(self.unreadable());
        }
        match child.wait().await {
            Ok(status) if status.success() => Ok(out),
            _ => Err(self.unreadable()),
        }
    }

    fn failed(&self, what: &str, hint: &str) -> Error {
        let message = format!("`{}`: {what}", escape(&self.repository.to_string()));
        Error::unavailable(message).with_hint(hint)
    }

    /// Returns the error for unexpected output of `git`.
    fn unreadable(&self) -> Error {
        let message = format!("`git` can't read `{}`", escape(&self.repository.to_string()));
        Error::protocol(message).with_hint("check the address, and that `git` is 2.31 or newer")
    }
}

/// Reads a line of `git ls-tree --long`. Returns the mode too.
fn read_entry(line: &str) -> Option<(&str, TreeFile)> {
    let (about, name) = line.split_once('\t')?;
    let mut words = about.split_ascii_whitespace();
    let (mode, _kind, object, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
    // A submodule has none.
    let size = if size == "-" { 0 } else { size.parse().ok()? };
    Some((mode, TreeFile { object: object.to_owned(), size, name: name.to_owned() }))
}
