//! Finding and reading the files that arguments name.
//!
//! Owns walking folders and reading files, within limits and without following a loop of symbolic
//! links.

use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::account::{Account, Ignore};
use super::walk::{NotWalked, Walk};
use super::{Fetched, ReadOptions, SourceLimits};
use crate::text::size;
use crate::{Diagnostic, unreadable};

/// The way in which an argument names a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BundleArgument {
    /// A bundle among the paths of policies and data.
    AsData,
    AsBundle,
}

/// The kind of a file, by its extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rego,
    Json,
    Yaml,
    Bundle(BundleArgument),
}

/// A file to read, with the path of its data.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) prefix: Vec<String>,
    pub(super) kind: Kind,
    /// `true` if it was reached through a symbolic link in a folder: no argument names it.
    pub(super) linked: bool,
    /// The index of the argument, and of the account, that it belongs to.
    pub(super) argument: usize,
    /// `true` if the argument names policies, and this isn't read as data.
    pub(super) no_data: bool,
    /// The file's content, if it was fetched: then it isn't on the disk.
    pub(super) content: Option<Bytes>,
}

/// The files that arguments name.
pub(super) struct Files<'a> {
    pub(super) list: Vec<File>,
    pub(super) accounts: Vec<Account>,
    limits: SourceLimits,
    /// The files to leave out.
    ignore: Option<&'a Ignore>,
    found: &'a mut Vec<Diagnostic>,
    walk: Walk,
    /// `true` while below a symbolic link.
    linked: bool,
    /// `true` while arguments name policies, without data.
    no_data: bool,
}

fn problem(code: &'static str, path: &Path, why: &str) -> Diagnostic {
    Diagnostic::error(code, format!("`{}` {why}", path.display()))
}

/// Returns `true` if a file has the extension of bundles.
fn is_bundle_name(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    [".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
}

fn io_problem(path: &Path, error: &std::io::Error) -> Diagnostic {
    if let Some((scheme, _)) = path.to_str().and_then(|path| path.split_once("://")) {
        let why = format!("can't be read: `{scheme}://` isn't supported");
        return problem("unreadable", path, &why).with_hint("pull it into a folder first");
    }
    problem("unreadable", path, &unreadable::described(path, error))
}

fn kind(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "rego" => Some(Kind::Rego),
        "json" => Some(Kind::Json),
        "yaml" | "yml" => Some(Kind::Yaml),
        _ => None,
    }
}

impl<'a> Files<'a> {
    pub(super) fn new(options: &ReadOptions<'a>, found: &'a mut Vec<Diagnostic>) -> Self {
        let &ReadOptions { limits, ignore, .. } = options;
        let (list, accounts, walk) = (Vec::new(), Vec::new(), Walk::default());
        Self { list, accounts, limits, ignore, found, walk, linked: false, no_data: false }
    }

    /// Begins the account of an argument, to which all files added from now on belong.
    pub(super) fn begin(&mut self, argument: &str) {
        self.accounts.push(Account::new(argument));
    }

    /// Reads no data of the arguments that begin from now on.
    pub(super) fn without_data(&mut self) {
        self.no_data = true;
    }

    fn leave(&mut self, path: &Path, reason: impl Into<String>) {
        if let Some(account) = self.accounts.last_mut() {
            account.leave(path, reason);
        }
    }

    /// Adds the file or folder at a path that an argument names.
    pub(super) fn add(&mut self, path: &Path, prefix: &[String]) {
        match std::fs::metadata(path) {
            Err(error) => self.found.push(io_problem(path, &error)),
            Ok(meta) if meta.is_dir() => self.folder(path, prefix),
            Ok(meta) => match kind(path) {
                // A pipe may never end.
                Some(_) if !meta.is_file() => {
                    self.found.push(problem("unreadable", path, "isn't a regular file"));
                }
                Some(kind) => self.push(path, prefix, kind, None),
                None if is_bundle_name(path) => {
                    self.push(path, prefix, Kind::Bundle(BundleArgument::AsData), None);
                }
                None => self.found.push(
                    problem("unknown-file", path, "is neither Rego nor JSON nor YAML")
                        .with_hint("rename it to end in .rego, .json, .yaml, .yml or .tar.gz"),
                ),
            },
        }
    }

    pub(super) fn add_bundle(&mut self, path: &str) {
        let path = path.strip_prefix("file://").unwrap_or(path);
        self.push(Path::new(path), &[], Kind::Bundle(BundleArgument::AsBundle), None);
    }

    /// Adds what was fetched: the bundle, or the files as those of a folder.
    pub(super) fn add_fetched(
        &mut self,
        fetched: &Fetched,
        prefix: &[String],
        asked: BundleArgument,
    ) {
        if let Some(account) = self.accounts.last_mut() {
            account.digest = Some(fetched.digest().to_owned());
            account.signers.extend(fetched.signers().iter().cloned());
        }
        if let Some(archive) = fetched.archive() {
            let path = Path::new(fetched.address());
            return self.push(path, prefix, Kind::Bundle(asked), Some(archive.clone()));
        }
        for (name, bytes) in fetched.named() {
            let path = format!("{}/{name}", fetched.address());
            let path = Path::new(&path);
            let root = fetched.address();
            if let Some(reason) = self.ignore.and_then(|ignore| ignore.reason_within(root, path)) {
                self.leave(path, reason);
                continue;
            }
            let folders = name.rsplit_once('/').map_or("", |(folders, _)| folders).split('/');
            let below = folders.filter(|name| !name.is_empty()).map(str::to_owned);
            let prefix: Vec<String> = prefix.iter().cloned().chain(below).collect();
            match kind(path) {
                Some(kind) => self.push(path, &prefix, kind, Some(bytes.clone())),
                None => self.leave(path, OTHER),
            }
        }
    }

    fn push(&mut self, path: &Path, prefix: &[String], kind: Kind, content: Option<Bytes>) {
        if self.list.len() == self.limits.files {
            let why = format!("is one file too many: at most {} are loaded", self.limits.files);
            self.found.push(problem("too-large", path, &why));
        }
        if self.list.len() <= self.limits.files {
            let (path, prefix) = (path.to_owned(), prefix.to_vec());
            let argument = self.accounts.len().saturating_sub(1);
            let (linked, no_data) = (self.linked, self.no_data);
            self.list.push(File { path, prefix, kind, linked, argument, no_data, content });
            // The files of a bundle are counted when it is read.
            if let Some(account) = self.accounts.last_mut()
                && !matches!(kind, Kind::Bundle(_))
            {
                account.taken += 1;
            }
        }
    }

    fn folder(&mut self, path: &Path, prefix: &[String]) {
        let entries = match self.walk.enter(path) {
            Ok(entries) => entries,
            Err(NotWalked::Unreadable(error)) => return self.found.push(io_problem(path, &error)),
            Err(NotWalked::Loop) => {
                return self.found.push(problem("folder-loop", path, NotWalked::LOOP));
            }
        };
        for entry in entries {
            let outside = self.linked;
            self.linked |= entry.file_type().is_ok_and(|kind| kind.is_symlink());
            self.entry(&entry.path(), prefix);
            self.linked = outside;
        }
        self.walk.leave();
    }

    fn entry(&mut self, path: &Path, prefix: &[String]) {
        if let Some(reason) = self.ignore.and_then(|ignore| ignore.reason(path)) {
            return self.leave(path, reason);
        }
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            // A file that wouldn't be read needn't be readable: an editor's dangling lock, say.
            Err(_) if kind(path).is_none() => return self.leave(path, OTHER),
            Err(error) => return self.found.push(io_problem(path, &error)),
        };
        if meta.is_file() {
            match kind(path) {
                Some(kind) => self.push(path, prefix, kind, None),
                None => self.unnamed(path, prefix),
            }
        } else if meta.is_dir() {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                let why = "has a name that isn't UTF-8, which data can't have as a path";
                return self.found.push(problem("unreadable", path, why));
            };
            let mut prefix = prefix.to_vec();
            prefix.push(name.to_owned());
            self.folder(path, &prefix);
        } else if kind(path).is_some() {
            self.found.push(problem("unreadable", path, "isn't a regular file"));
        } else {
            self.leave(path, "it isn't a regular file");
        }
    }

    /// Accounts for a file in a folder whose extension isn't one of those that are read.
    fn unnamed(&mut self, path: &Path, prefix: &[String]) {
        // The one name, in these letters, by which OPA knows a bundle in a folder.
        if path.to_string_lossy().ends_with(".tar.gz") {
            return self.push(path, prefix, Kind::Bundle(BundleArgument::AsData), None);
        }
        self.leave(path, OTHER);
    }
}

/// The reason for which data is left out.
pub(super) const NO_DATA: &str = "it is data, and its argument names policies";

/// The reason for which a file in a folder is left out.
const OTHER: &str = "its extension isn't one of policies or data";

/// Returns `true` if a text begins like a module: after comments comes `package`.
pub(super) fn is_module(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.and_then(|line| line.strip_prefix("package")).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == '#')
    })
}

/// Reports a problem with a file behind a symbolic link without showing any of its content:
/// policies come from repositories, their links may point anywhere, and messages end up in public
/// logs.
pub(super) fn withheld(path: &Path, found: &Diagnostic) -> Diagnostic {
    let why = match &found.position {
        Some(at) => format!("doesn't match its name, at line {}, column {}", at.line, at.column),
        None => "doesn't match its name".to_owned(),
    };
    problem(found.code, path, &why)
        .with_hint("nothing of it is shown, since it was reached through a link")
}

/// Reads a file as text, unless its content is there already, and adds its size to `total`.
pub(super) fn read(
    path: &Path,
    content: Option<&Bytes>,
    total: &mut u64,
    limits: SourceLimits,
) -> Result<String, Diagnostic> {
    let bytes = match content {
        Some(content) => content.to_vec(),
        None => {
            let mut bytes = Vec::new();
            std::fs::File::open(path)
                .and_then(|file| file.take(limits.file_bytes + 1).read_to_end(&mut bytes))
                .map_err(|error| io_problem(path, &error))?;
            bytes
        }
    };
    let length = bytes.len() as u64;
    if length > limits.file_bytes {
        let why = format!("is larger than {}", size(limits.file_bytes));
        return Err(problem("too-large", path, &why));
    }
    *total += length;
    if *total > limits.total_bytes {
        let why = format!("makes the files larger than {} together", size(limits.total_bytes));
        return Err(problem("too-large", path, &why));
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        problem("unreadable", path, &format!("isn't text: byte {} isn't UTF-8", offset + 1))
            .with_hint("save it as UTF-8")
    })
}
