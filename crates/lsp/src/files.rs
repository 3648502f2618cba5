//! Texts of the workspace, from the editor or else from the disk.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::Position;
use rego::BaseVersion;
use rego_platform::load::LoadOptions;
use rego_platform::sources::{Ignore, ModuleSource, ReadOptions, Sources, document, is_policy};
use rego_platform::{Diagnostic, Error};

use crate::documents::{Document, PolicyDocuments};
use crate::file::{File, Open};
use crate::names::Used;
use crate::text::Text;

/// A position in a file, with the files and the options that are visible from it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub files: &'a Files,
    pub load: &'a LoadOptions,
    pub path: &'a Path,
    pub position: Position,
}

/// The maximum number of files that are left out because they can't be read.
const MOST_LEFT_OUT: usize = 50;

/// The policies of the workspace, by their paths. A copy costs little, and stays as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    all: BTreeMap<PathBuf, File>,
    documents: BTreeMap<PathBuf, Document>,
    /// The sources on the disk.
    on_disk: Arc<Sources>,
    /// The texts of policy documents on the disk.
    documents_on_disk: Arc<BTreeMap<String, String>>,
    /// The functions for policy documents; without them, these are data.
    reader: Option<Arc<PolicyDocuments>>,
    /// The version of Rego that texts are in, unless a bundle names another.
    rego: BaseVersion,
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let own = path.extension().unwrap_or_default();
    extensions.iter().any(|extension| own.eq_ignore_ascii_case(extension))
}

/// Returns the package of a text from its first `package` line, even if the text can't be parsed.
fn package_of(file: &File) -> &str {
    let mut lines = file.text.content.lines().map(str::trim);
    lines.find_map(|line| line.strip_prefix("package ")).unwrap_or_default().trim()
}

impl Files {
    pub fn new(rego: BaseVersion, reader: Option<PolicyDocuments>) -> Self {
        Self { rego, reader: reader.map(Arc::new), ..Self::default() }
    }

    pub fn rego(&self, path: &Path) -> BaseVersion {
        let named = self.on_disk.versions.get(&*path.to_string_lossy());
        named.map_or(self.rego, |version| (*version).into())
    }

    /// Reads the disk. Texts that are open stay as the editor has them.
    pub fn read(&mut self, paths: &[PathBuf], ignore: &Ignore) -> Result<(), Error> {
        let arguments: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        let (mut left_out, mut failed) = (BTreeSet::new(), Ok(()));
        let mut gathered = loop {
            let without = ignore.clone().with_written(left_out.iter().map(PathBuf::as_path));
            let mut how = ReadOptions::default();
            how.ignore = Some(&without);
            how.skip_verify = true;
            let error = match Sources::gather(arguments.clone(), how) {
                Ok(gathered) => break gathered,
                Err(error) => error,
            };
            // A file that can't be read doesn't hide the others.
            let place = error.diagnostics().iter().find_map(|found| found.position.as_ref());
            let path = place.map(|at| PathBuf::from(&at.file));
            let is_new = path.is_some_and(|path| path.is_file() && left_out.insert(path));
            if !is_new || left_out.len() > MOST_LEFT_OUT {
                return Err(error);
            }
            failed = failed.and(Err(error));
        };
        if self.reader.is_some() {
            let documents = std::mem::take(&mut gathered.policy_documents);
            gathered.files.data.retain(|source| !documents.contains_key(&source.path));
            self.documents_on_disk = Arc::new(documents);
        }
        self.on_disk = Arc::new(gathered.sources()?);
        self.read_documents();
        let mut old = std::mem::take(&mut self.all);
        for module in &self.on_disk.modules {
            let path = PathBuf::from(&module.path);
            let known = old.remove(&path);
            let is_same = |file: &File| file.open.is_some() || file.text.content == module.text;
            let file = match known {
                Some(file) if is_same(&file) => file,
                known => File::new(module.text.clone(), None, self.rego(&path), known.as_ref()),
            };
            self.all.insert(path, file);
        }
        // New files that aren't saved, and those of other folders.
        self.all.extend(old.into_iter().filter(|(_, file)| file.open.is_some()));
        failed
    }

    fn read_documents(&mut self) {
        let mut old = std::mem::take(&mut self.documents);
        for (path, text) in self.documents_on_disk.iter() {
            let path = PathBuf::from(path);
            let known = old.remove(&path);
            let is_same = |known: &Document| known.open.is_some() || known.text.content == *text;
            let document = match known {
                Some(document) if is_same(&document) => Some(document),
                known => self.document((&path, true), text.clone(), None, known.as_ref()),
            };
            self.documents.extend(document.map(|document| (path, document)));
        }
        self.documents.extend(old.into_iter().filter(|(_, document)| document.open.is_some()));
    }

    /// Reads a policy document; `None` if the file isn't one. With `was_document`, it is one also where its YAML is
    /// broken.
    fn document(
        &self,
        (path, was_document): (&Path, bool),
        content: String,
        open: Option<Open>,
        known: Option<&Document>,
    ) -> Option<Document> {
        let name = path.display().to_string();
        let value = document(&name, &content, !has_extension(path, &["json"]));
        if !value.map_or(was_document, |value| is_policy(&value)) {
            return None;
        }
        let found = (self.reader.as_ref()?.modules)(&name, &content);
        Some(Document::new(content, found, open, self.rego, known))
    }

    /// Sets the text of an open file, and the editor's spelling of its address.
    pub fn open(&mut self, path: PathBuf, uri: &str, version: i32, content: String) {
        let open = Some((version, uri.into()));
        if has_extension(&path, &["yaml", "yml", "json"]) {
            let known = self.documents.remove(&path);
            let document = self.document((&path, known.is_some()), content, open, known.as_ref());
            self.documents.extend(document.map(|document| (path, document)));
            return;
        }
        let file = File::new(content, open, self.rego(&path), self.all.get(&path));
        self.all.insert(path, file);
    }

    /// Removes the text of a closed file.
    pub fn close(&mut self, path: &Path) {
        if self.documents.remove(path).is_some() {
            let text = self.documents_on_disk.get(&*path.to_string_lossy()).cloned();
            let document = text.and_then(|text| self.document((path, true), text, None, None));
            self.documents.extend(document.map(|document| (path.to_owned(), document)));
            return;
        }
        let module = |module: &&ModuleSource| Path::new(&module.path) == path;
        match self.on_disk.modules.iter().find(module) {
            Some(module) => {
                let file = File::new(module.text.clone(), None, self.rego(path), None);
                self.all.insert(path.to_owned(), file);
            }
            None => {
                self.all.remove(path);
            }
        }
    }

    /// Returns the packages of the files among these that never could be parsed, as their first lines have them;
    /// `None` if all files can be parsed now.
    pub fn broken(&self, paths: Option<&BTreeSet<&Path>>) -> Option<Vec<&str>> {
        let wanted = self.iter().filter(|(path, _)| paths.is_none_or(|all| all.contains(path)));
        let broken: Vec<&File> =
            wanted.map(|(_, file)| file).filter(|file| file.is_broken).collect();
        if broken.is_empty() {
            return None;
        }
        let unknown = broken.into_iter().filter(|file| file.last.is_none());
        Some(unknown.map(package_of).collect())
    }

    pub fn get(&self, path: &Path) -> Option<&File> {
        self.all.get(path)
    }

    /// Returns the Rego files.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &File)> {
        self.all.iter().map(|(path, file)| (path.as_path(), file))
    }

    pub fn documents(&self) -> impl Iterator<Item = (&Path, &Document)> {
        self.documents.iter().map(|(path, document)| (path.as_path(), document))
    }

    /// Returns a Rego file, or the modules of a policy document.
    pub fn modules(&self, path: &Path) -> Vec<&File> {
        let embedded = self.documents.get(path).into_iter().flat_map(|document| &document.modules);
        self.get(path).into_iter().chain(embedded).collect()
    }

    /// Returns `true` if a finding is about a name in the package of a policy document's module.
    pub fn is_of_document(&self, finding: &Diagnostic) -> bool {
        let Some(at) = &finding.position else { return false };
        let Some(file) = self.get(Path::new(&*at.file)) else { return false };
        let offset = file.text.offset(file.text.range_of(at).start);
        let name = file.names.at(offset).and_then(Used::path).unwrap_or_default();
        let mut modules = self.documents.values().flat_map(|document| &document.modules);
        modules.any(|module| {
            let package = &module.names.package;
            !package.is_empty() && name.starts_with(package)
        })
    }

    /// Returns the text of a file, and its state in the editor.
    pub fn text(&self, path: &Path) -> Option<(&Arc<Text>, Option<&Open>)> {
        let document =
            || Some((&self.documents.get(path)?.text, self.documents.get(path)?.open.as_ref()));
        self.get(path).map(|file| (&file.text, file.open.as_ref())).or_else(document)
    }

    /// Returns the files that a line of a file (counted from 0) can refer to, and the options for loading them. A
    /// module of a policy document is evaluated alone.
    pub fn visible_from<'a>(
        &'a self,
        path: &Path,
        line: u32,
        load: &'a LoadOptions,
    ) -> (Cow<'a, Self>, &'a LoadOptions) {
        let (Some(document), Some(reader)) = (self.documents.get(path), &self.reader) else {
            return (Cow::Borrowed(self), load);
        };
        let mut alone = Self::new(self.rego, None);
        alone.all.extend(document.module_at(line).map(|file| (path.to_owned(), file.clone())));
        (Cow::Owned(alone), &reader.load)
    }

    /// Returns the sources to compile together: all policies, or those of some paths, and the data.
    pub fn sources(&self, paths: Option<&BTreeSet<&Path>>) -> Sources {
        self.texts(paths, |file| Some(&file.text))
    }

    /// Returns the sources with the last parsable texts of broken files, without files that never could be
    /// parsed.
    pub fn unbroken(&self, paths: Option<&BTreeSet<&Path>>) -> Sources {
        self.texts(paths, |file| file.last.as_ref())
    }

    fn texts<'a>(
        &'a self,
        paths: Option<&BTreeSet<&Path>>,
        text: impl Fn(&'a File) -> Option<&'a Arc<Text>>,
    ) -> Sources {
        let wanted = self.iter().filter(|(path, _)| paths.is_none_or(|all| all.contains(path)));
        let module = |(path, file): (&Path, &'a File)| {
            let text = file.loaded(text(file)?.content.clone());
            Some(ModuleSource::new(path.display().to_string(), text))
        };
        let mut sources = Sources::default();
        sources.modules = wanted.filter_map(module).collect();
        sources.data.clone_from(&self.on_disk.data);
        sources.versions.clone_from(&self.on_disk.versions);
        sources
    }

    /// Returns the files of some paths and their dependencies, which together determine the meaning of their
    /// rules.
    pub fn needed<'a>(&'a self, of: impl Iterator<Item = &'a Path>) -> BTreeSet<&'a Path> {
        let mut packages: BTreeMap<&[String], Vec<&Path>> = BTreeMap::new();
        for (path, file) in self.iter() {
            packages.entry(&file.names.package).or_default().push(path);
        }
        let mut needed: BTreeSet<&Path> = of.filter(|path| self.all.contains_key(*path)).collect();
        let mut open: Vec<&Path> = needed.iter().copied().collect();
        let mut followed: BTreeSet<&[String]> = BTreeSet::new();
        while let Some(file) = open.pop().and_then(|path| self.get(path)) {
            let used = file.names.used.iter().filter_map(Used::path);
            for path in used.chain([file.names.package.as_slice()]) {
                if !followed.insert(path) {
                    continue;
                }
                let above = (0..path.len()).filter_map(|length| packages.get(path.get(..length)?));
                let below =
                    packages.range(path..).take_while(|(package, _)| package.starts_with(path));
                for path in above.chain(below.map(|(_, paths)| paths)).flatten() {
                    if needed.insert(path) {
                        open.push(path);
                    }
                }
            }
        }
        needed
    }
}
