//! The sources of policies: modules and data.
//!
//! Owns reading files and folders as `opa eval -d` does: Rego, JSON and YAML files, with folders as
//! the path of their data, and bundles. Everything that can't be read is refused by name. The text of modules
//! isn't looked at here but in [`super::load`]. Embedders with texts in memory fill [`Sources`]
//! themselves.

#![allow(clippy::result_large_err, reason = "an error ends the load: its size costs nothing")]

pub(crate) mod account;
mod bundle;
mod documents;
mod fetched;
mod files;
#[doc(hidden)]
pub mod glob;
#[doc(hidden)]
pub mod json;
mod merge;
mod schemas;
#[doc(hidden)]
pub mod walk;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Component, PathBuf};

use serde::de::DeserializeOwned;

use crate::rego::Value;
use crate::rego::syntax::BaseVersion;
use crate::rego::value::Object;

pub use account::{Account, Ignore, LeftOut};
#[doc(hidden)]
pub use bundle::{Bundle, BundleKeys};
pub use fetched::Fetched;
pub use schemas::SchemaSet;
pub(crate) use schemas::remote_hint;

use crate::{Diagnostic, Error, Position};

/// The text of one module.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleSource {
    /// The name shown in positions.
    pub path: String,
    /// The Rego text.
    pub text: String,
}

impl ModuleSource {
    /// Creates the source of a module.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}

/// One data document, placed at the root of `data`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DataSource {
    /// The name shown in messages.
    pub path: String,
    /// The document.
    pub value: Value,
}

impl DataSource {
    /// Creates the source of a document.
    pub fn new(path: impl Into<String>, value: Value) -> Self {
        Self { path: path.into(), value }
    }
}

/// The syntax that a module is parsed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegoVersion {
    /// The one before OPA 1.0.
    V0,
    /// OPA 1.0's.
    V1,
    /// The one that `import rego.v2` selects.
    V2,
}

impl RegoVersion {
    /// Returns the number that bundles have for it.
    fn number(self) -> i64 {
        match self {
            Self::V0 => 0,
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

impl From<RegoVersion> for BaseVersion {
    fn from(version: RegoVersion) -> Self {
        match version {
            RegoVersion::V0 => Self::V0,
            RegoVersion::V1 => Self::V1,
            RegoVersion::V2 => Self::V2,
        }
    }
}

/// The modules and data that are loaded together.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Sources {
    /// The Rego files.
    pub modules: Vec<ModuleSource>,
    /// The data documents.
    pub data: Vec<DataSource>,
    /// The versions of modules, by their path, whatever the option for the others is: the manifests
    /// of bundles name them.
    pub versions: BTreeMap<String, RegoVersion>,
}

/// The options for reading files.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ReadOptions<'a> {
    /// The limits on files.
    pub limits: SourceLimits,
    /// The files to leave out.
    pub ignore: Option<&'a Ignore>,
    /// Bundles to read in addition: archives, whatever their names, and folders.
    pub bundles: &'a [String],
    /// Paths, as the arguments are, of which policies are read and no data: Rego, policy documents and bundles.
    pub policies: &'a [String],
    /// Set to read signed bundles without verifying their signatures.
    pub skip_verify: bool,
    /// Keys, one of which must have signed each bundle; without them, a signed bundle is an error, unless
    /// `skip_verify` is set.
    pub bundle_keys: Option<&'a BundleKeys>,
    /// The contents that were fetched for arguments that are addresses. These arguments aren't read as paths.
    pub fetched: &'a [Fetched],
}

impl<'a> ReadOptions<'a> {
    /// Returns what was fetched for an argument, with the place of its data. What is on the disk doesn't
    /// matter.
    fn fetched_for(&self, argument: &str) -> Option<(Vec<String>, &'a Fetched)> {
        self.fetched.iter().find_map(|fetched| {
            let before = argument.strip_suffix(fetched.address())?;
            if before.is_empty() {
                return Some((Vec::new(), fetched));
            }
            let prefix = before.strip_suffix(':')?;
            Some((prefix.split('.').map(str::to_owned).collect(), fetched))
        })
    }
}

/// The result of reading files and accounting for each of them.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Gathered {
    /// The modules and data that were read, without those of bundles.
    #[doc(hidden)]
    pub files: Sources,
    /// The bundles that were read.
    #[doc(hidden)]
    pub bundles: Vec<Bundle>,
    /// An account of the files of each argument.
    pub accounts: Vec<Account>,
    /// The texts of the policy documents among the data.
    #[doc(hidden)]
    pub policy_documents: BTreeMap<String, String>,
}

/// Limits on the files that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Creates sources of modules and data.
    pub fn new(
        modules: impl IntoIterator<Item = ModuleSource>,
        data: impl IntoIterator<Item = DataSource>,
    ) -> Self {
        let (modules, data) = (modules.into_iter().collect(), data.into_iter().collect());
        Self { modules, data, ..Self::default() }
    }

    /// Creates sources of one module and no data.
    pub fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new([ModuleSource::new(path, text)], [])
    }

    /// Reads files and folders. Each argument is a path, or `a.b:path` to put data under
    /// `data.a.b`.
    ///
    /// Within a folder, `.rego`, `.json`, `.yaml` and `.yml` files are read, hidden ones too, and
    /// bundles (`.tar.gz`); the folders below the given one become the data's path. A file named
    /// directly must have one of these extensions, or `.tgz`. Signatures of bundles aren't verified.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with everything that can't be read.
    pub fn read<S: AsRef<str>>(
        arguments: impl IntoIterator<Item = S>,
        limits: SourceLimits,
    ) -> Result<Self, Error> {
        let options = ReadOptions { limits, skip_verify: true, ..ReadOptions::default() };
        Self::read_with(arguments, options)
    }

    /// Reads files, folders and bundles with these options; see [`read`](Self::read).
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with everything that can't be read.
    pub fn read_with<S: AsRef<str>>(
        arguments: impl IntoIterator<Item = S>,
        options: ReadOptions<'_>,
    ) -> Result<Self, Error> {
        Self::gather(arguments, options)?.sources()
    }

    /// Reads files, folders and bundles as [`read_with`](Self::read_with) does, and accounts for
    /// each file.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with everything that can't be read, or that can't be accounted for.
    pub fn gather<S: AsRef<str>>(
        arguments: impl IntoIterator<Item = S>,
        options: ReadOptions<'_>,
    ) -> Result<Gathered, Error> {
        let mut found = Vec::new();
        let mut files = files::Files::new(&options, &mut found);
        let add = |files: &mut files::Files<'_>, argument: &str| {
            files.begin(argument);
            if let Some((prefix, fetched)) = options.fetched_for(argument) {
                return files.add_fetched(fetched, &prefix, files::BundleArgument::AsData);
            }
            let (prefix, path) = split(argument);
            files.add(&path, &prefix);
        };
        for argument in arguments {
            add(&mut files, argument.as_ref());
        }
        for path in options.bundles {
            files.begin(path);
            match options.fetched_for(path) {
                Some((prefix, fetched)) => {
                    files.add_fetched(fetched, &prefix, files::BundleArgument::AsBundle);
                }
                None => files.add_bundle(path),
            }
        }
        files.without_data();
        for argument in options.policies {
            add(&mut files, argument);
        }
        let (mut list, accounts) = (files.list, files.accounts);
        // As in OPA, a file that is named twice is loaded once.
        let mut seen = std::collections::HashSet::new();
        list.retain(|file| {
            let path: PathBuf = file
                .path
                .components()
                .filter(|component| *component != Component::CurDir)
                .collect();
            let prefix =
                if file.kind == files::Kind::Rego { Vec::new() } else { file.prefix.clone() };
            seen.insert((
                path,
                prefix,
                file.kind == files::Kind::Bundle(files::BundleArgument::AsBundle),
                file.content.is_some(),
            ))
        });
        let mut gathered = Gathered { accounts, ..Gathered::default() };
        let mut total = 0;
        for file in list {
            if let files::Kind::Bundle(asked) = file.kind {
                gathered.take_bundle(&file, asked, &options, &mut found);
                continue;
            }
            match files::read(&file.path, file.content.as_ref(), &mut total, options.limits) {
                Ok(text) => gathered.take(file, text, &mut found),
                Err(diagnostic) => found.push(diagnostic),
            }
        }
        found.extend(bundle::check_apart(&gathered.bundles).err());
        if found.is_empty() { Ok(gathered) } else { Err(Error::policy(found)) }
    }
}

impl Gathered {
    /// Takes the policy documents out of the data, and returns their texts.
    #[doc(hidden)]
    pub fn take_policy_documents(&mut self) -> BTreeMap<String, String> {
        let texts = std::mem::take(&mut self.policy_documents);
        self.files.data.retain(|source| !texts.contains_key(&source.path));
        texts
    }

    /// Returns the modules and data, with those of bundles and their manifests.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) for data that a bundle would replace.
    pub fn sources(self) -> Result<Sources, Error> {
        bundle::check_beside(&self.bundles, &self.files.data)
            .map_err(|wrong| Error::policy(vec![wrong]))?;
        let mut sources = self.files;
        let manifests: Vec<DataSource> = bundle::manifests(&self.bundles).collect();
        for bundle in self.bundles {
            sources.modules.extend(bundle.modules);
            sources.versions.extend(bundle.versions);
            sources.data.extend(bundle.data);
        }
        sources.data.extend(manifests);
        Ok(sources)
    }

    fn take_bundle(
        &mut self,
        file: &files::File,
        asked: files::BundleArgument,
        options: &ReadOptions<'_>,
        found: &mut Vec<Diagnostic>,
    ) {
        let Some(account) = self.accounts.get_mut(file.argument) else { return };
        let path = file.path.to_string_lossy();
        match bundle::read((&path, file.content.as_deref()), &file.prefix, asked, options, account)
        {
            Ok(bundle) => self.bundles.push(bundle),
            Err(_) if file.linked => {
                let wrong = Diagnostic::error("bundle", "no bundle");
                found.push(files::withheld(&file.path, &wrong));
            }
            Err(diagnostic) => found.push(diagnostic),
        }
    }

    fn take(&mut self, file: files::File, text: String, found: &mut Vec<Diagnostic>) {
        let name = file.path.to_string_lossy().into_owned();
        if file.kind == files::Kind::Rego {
            if file.linked && !files::is_module(&text) {
                let wrong = Diagnostic::error("parse-error", "no module");
                return found.push(files::withheld(&file.path, &wrong));
            }
            self.files.modules.push(ModuleSource { path: name, text });
            return;
        }
        let is_root = file.prefix.is_empty() && !file.no_data;
        match documents::parse(&name, &text, file.kind, is_root) {
            Ok(data) if file.no_data && !documents::is_policy(&data.value) => {
                if let Some(account) = self.accounts.get_mut(file.argument) {
                    account.taken = account.taken.saturating_sub(1);
                    account.leave(&file.path, files::NO_DATA);
                }
            }
            Ok(data) => {
                if data.further > 0
                    && let Some(account) = self.accounts.get_mut(file.argument)
                {
                    let more = data.further;
                    account.leave(&file.path, format!("{more} further documents: one is read"));
                }
                if documents::is_policy(&data.value) {
                    self.policy_documents.insert(name.clone(), text);
                }
                let value = file.prefix.into_iter().rev().fold(data.value, |value, key| {
                    let object: Object = [(Value::from(key), value)].into();
                    Value::from(object)
                });
                self.files.data.push(DataSource { path: name, value });
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
#[doc(hidden)]
pub fn document(name: &str, text: &str, is_yaml: bool) -> Result<Value, Diagnostic> {
    documents::any(name, text, is_yaml)
}

/// Reads the only document of a YAML text into a type.
///
/// # Errors
/// Returns the problem with its position.
#[doc(hidden)]
pub fn typed<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Diagnostic> {
    documents::typed(name, text)
}

/// Returns `true` for what says that it is a policy document or a group of them.
#[doc(hidden)]
pub fn is_policy(value: &Value) -> bool {
    documents::is_policy(value)
}

/// Returns `true` for a contract, in its newer or its older form.
#[doc(hidden)]
pub fn is_contract(value: &Value) -> bool {
    documents::is_contract(value)
}

/// Refuses plain scalars that YAML 1.1 reads as booleans and YAML 1.2 as strings.
///
/// # Errors
/// Returns the problem with its position.
#[doc(hidden)]
pub fn refuse_boolean_words(name: &str, text: &str) -> Result<(), Diagnostic> {
    documents::refuse_boolean_words(name, text)
}

/// Returns the position of a value that [`typed`] has read as a `Located`.
#[doc(hidden)]
pub fn place(name: &str, text: &str, line: usize, column: usize) -> Position {
    documents::place(name, text, line, column)
}

/// Splits `a.b:path` into the data's path and the file's, unless the whole argument is an existing
/// path.
#[doc(hidden)]
pub fn split(argument: &str) -> (Vec<String>, PathBuf) {
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
