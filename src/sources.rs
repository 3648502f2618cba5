//! The sources of policies: modules and data.
//!
//! Owns reading files and folders as `opa eval -d` does: Rego, JSON and YAML files, with folders as
//! the path of their data. Everything that can't be read is refused by name. The text of modules
//! isn't looked at here but in [`super::load`]. Embedders with texts in memory fill [`Sources`]
//! themselves.

#![allow(clippy::result_large_err, reason = "an error ends the load: its size costs nothing")]

pub(crate) mod account;
mod documents;
mod files;
pub(crate) mod json;
mod merge;
mod schemas;
mod yaml;

use std::path::{Component, PathBuf};

use crate::rego::Value;

pub use account::{Account, Ignore, LeftOut};
#[cfg(feature = "cli")]
pub(crate) use files::is_bundle_name;
pub use schemas::SchemaSet;
pub(crate) use schemas::remote_hint;

use crate::{Diagnostic, Error};

/// The text of one module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSource {
    /// The name shown in positions.
    pub path: String,
    /// The Rego text.
    pub text: String,
}

/// One data document, placed at the root of `data`.
#[derive(Debug, Clone)]
pub struct DataSource {
    /// The name shown in messages.
    pub path: String,
    /// The document.
    pub value: Value,
}

/// The modules and data that are loaded together.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The modules.
    pub modules: Vec<ModuleSource>,
    /// The data documents.
    pub data: Vec<DataSource>,
}

/// A number in a data document whose loaded value differs from the number as written.
#[derive(Debug, Clone)]
pub struct InexactNumber {
    /// Its path below `data`, indices of arrays included.
    pub path: Vec<String>,
    /// The finding to report if a policy uses it.
    pub diagnostic: Diagnostic,
}

/// The result of reading files and accounting for each of them.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The modules and data that were read.
    pub sources: Sources,
    /// An account of the files of each argument.
    pub accounts: Vec<Account>,
    /// Numbers that are an error if a policy looks at them.
    pub inexact: Vec<InexactNumber>,
}

/// Limits on the files that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLimits {
    /// The size of the largest file.
    pub file_bytes: u64,
    /// The size of all files together.
    pub total_bytes: u64,
    /// The number of files.
    pub files: usize,
}

impl Default for SourceLimits {
    fn default() -> Self {
        Self { file_bytes: 256 << 20, total_bytes: 1 << 30, files: 100_000 }
    }
}

impl Sources {
    /// Creates sources of one module and no data.
    pub fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        let module = ModuleSource { path: path.into(), text: text.into() };
        Self { modules: vec![module], data: Vec::new() }
    }

    /// Reads files and folders. Each argument is a path, or `a.b:path` to put data under
    /// `data.a.b`.
    ///
    /// Within a folder, `.rego`, `.json`, `.yaml` and `.yml` files are read, hidden ones too; the
    /// folders below the given one become the data's path. A file named directly must have one of
    /// these extensions.
    ///
    /// # Errors
    /// [`Error::Policy`] with everything that can't be read.
    pub fn read<S: AsRef<str>>(
        arguments: impl IntoIterator<Item = S>,
        limits: SourceLimits,
    ) -> Result<Self, Error> {
        let gathered = Self::gather(arguments, limits, None)?;
        let found: Vec<Diagnostic> =
            gathered.inexact.into_iter().map(|number| number.diagnostic).collect();
        if found.is_empty() { Ok(gathered.sources) } else { Err(Error::policy(found)) }
    }

    /// Reads files and folders as [`read`](Self::read) does, and accounts for each file. With
    /// `ignore`, the files that it matches are left out, and a file in a folder that isn't read
    /// because of its name, although its content is Rego, JSON or YAML, is an error.
    ///
    /// # Errors
    /// [`Error::Policy`] with everything that can't be read, or that can't be accounted for.
    pub fn gather<S: AsRef<str>>(
        arguments: impl IntoIterator<Item = S>,
        limits: SourceLimits,
        ignore: Option<&Ignore>,
    ) -> Result<Gathered, Error> {
        let mut found = Vec::new();
        let mut files = files::Files::new(limits, ignore, &mut found);
        for argument in arguments {
            let (prefix, path) = split(argument.as_ref());
            files.begin(argument.as_ref());
            files.add(&path, &prefix);
        }
        let (mut list, accounts) = (files.list, files.accounts);
        // As in OPA, a file that is named twice is loaded once.
        let mut seen = std::collections::HashSet::new();
        list.retain(|file| {
            let path: PathBuf =
                file.path.components().filter(|it| *it != Component::CurDir).collect();
            let prefix =
                if file.kind == files::Kind::Rego { Vec::new() } else { file.prefix.clone() };
            seen.insert((path, prefix))
        });
        let mut gathered = Gathered { accounts, ..Gathered::default() };
        let mut total = 0;
        for file in list {
            match files::read(&file.path, &mut total, limits) {
                Ok(text) => gathered.take(file, text, &mut found),
                Err(diagnostic) => found.push(diagnostic),
            }
        }
        if found.is_empty() { Ok(gathered) } else { Err(Error::policy(found)) }
    }
}

impl Gathered {
    fn take(&mut self, file: files::File, text: String, found: &mut Vec<Diagnostic>) {
        let name = file.path.to_string_lossy().into_owned();
        if file.kind == files::Kind::Rego {
            if file.linked && !account::is_module(&text) {
                let wrong = Diagnostic::error("parse-error", "no module");
                return found.push(files::withheld(&file.path, &wrong));
            }
            self.sources.modules.push(ModuleSource { path: name, text });
            return;
        }
        match documents::parse(&name, &text, file.kind, file.prefix.is_empty()) {
            Ok(data) => {
                for number in &data.inexact {
                    let own = number.path.iter();
                    let path = file.prefix.iter().chain(own).cloned().collect();
                    let diagnostic = if file.linked {
                        let wrong = Diagnostic::error("data-error", number.message.clone());
                        files::withheld(&file.path, &wrong)
                    } else {
                        documents::of_number(&name, &text, number)
                    };
                    self.inexact.push(InexactNumber { path, diagnostic });
                }
                if data.further > 0
                    && let Some(account) = self.accounts.get_mut(file.argument)
                {
                    let more = data.further;
                    account.leave(&file.path, format!("{more} further documents: one is read"));
                }
                let value = file.prefix.into_iter().rev().fold(data.value, |value, key| {
                    let object: std::collections::BTreeMap<Value, Value> =
                        [(Value::from(key), value)].into();
                    Value::from(object)
                });
                self.sources.data.push(DataSource { path: name, value });
            }
            Err(wrong) if file.linked => found.push(files::withheld(&file.path, &wrong)),
            Err(diagnostic) => found.push(diagnostic),
        }
    }
}

/// Merges all documents into one, as OPA does.
pub(crate) fn merged(data: &[DataSource], found: &mut Vec<Diagnostic>) -> Value {
    merge::merge(data, found)
}

/// Reads a document of any type, such as an input, as strictly as data: a text that two parsers
/// read differently is refused.
///
/// # Errors
/// Returns the problem with its position.
pub(crate) fn document(name: &str, text: &str, is_yaml: bool) -> Result<Value, Diagnostic> {
    documents::any(name, text, is_yaml)
}

/// Splits `a.b:path` into the data's path and the file's, unless the whole argument is an existing
/// path.
pub(crate) fn split(argument: &str) -> (Vec<String>, PathBuf) {
    let plain = argument.strip_prefix("file://").unwrap_or(argument);
    if plain.len() == argument.len()
        && !std::path::Path::new(plain).exists()
        && let Some((prefix, path)) = plain.split_once(':')
        && !prefix.is_empty()
        && !path.starts_with("//")
    {
        return (prefix.split('.').map(str::to_owned).collect(), PathBuf::from(path));
    }
    (Vec::new(), PathBuf::from(plain))
}

#[cfg(test)]
mod tests;
