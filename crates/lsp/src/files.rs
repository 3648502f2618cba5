//! The texts of the workspace: as the editor has them, or else as the disk has them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;

use lsp_types::Uri;
use rego::BaseVersion;
use rego_platform::Error;
use rego_platform::sources::{Ignore, ModuleSource, ReadOptions, Sources};
use url::Url;

use crate::names::{Names, Used};
use crate::text::Text;

/// A policy file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub text: Arc<Text>,
    /// What it declares and refers to, as of the last text that could be parsed.
    pub names: Arc<Names>,
    /// `true` if the text can't be parsed.
    pub is_broken: bool,
    /// The editor's version of the text; `None` if it isn't open.
    pub version: Option<i32>,
}

impl File {
    fn new(content: String, version: Option<i32>, rego: BaseVersion, known: Option<&Self>) -> Self {
        let text = Arc::new(Text::new(content));
        let names = Names::of(&text, rego);
        let is_broken = names.is_none();
        let known = || known.map(|file| Arc::clone(&file.names)).unwrap_or_default();
        Self { text, names: names.unwrap_or_else(known), is_broken, version }
    }
}

/// The policies of the workspace, by their paths. A copy costs little, and stays as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    all: BTreeMap<PathBuf, File>,
    /// What was read from the disk.
    on_disk: Arc<Sources>,
    /// The version of Rego that texts are in, unless a bundle names another.
    rego: BaseVersion,
}

/// Returns the path of a file's address.
pub(crate) fn path(uri: &Uri) -> Option<PathBuf> {
    Url::from_str(uri.as_str()).ok()?.to_file_path().ok()
}

/// Returns the address of a file.
pub(crate) fn uri(path: &Path) -> Option<Uri> {
    Uri::from_str(Url::from_file_path(path).ok()?.as_str()).ok()
}

impl Files {
    pub fn new(rego: BaseVersion) -> Self {
        Self { rego, ..Self::default() }
    }

    pub fn rego(&self, path: &Path) -> BaseVersion {
        let named = self.on_disk.versions.get(&*path.to_string_lossy());
        named.map_or(self.rego, |version| (*version).into())
    }

    /// Reads the disk. Texts that are open stay as the editor has them.
    pub fn read(&mut self, paths: &[PathBuf], ignore: &Ignore) -> Result<(), Error> {
        let mut how = ReadOptions::default();
        how.ignore = Some(ignore);
        how.skip_verify = true;
        let arguments = paths.iter().map(|path| path.display().to_string());
        self.on_disk = Arc::new(Sources::read_with(arguments.collect::<Vec<_>>(), how)?);
        let mut old = std::mem::take(&mut self.all);
        for module in &self.on_disk.modules {
            let path = PathBuf::from(&module.path);
            let known = old.remove(&path);
            let is_same = |file: &File| file.version.is_some() || file.text.content == module.text;
            let file = match known {
                Some(file) if is_same(&file) => file,
                known => File::new(module.text.clone(), None, self.rego(&path), known.as_ref()),
            };
            self.all.insert(path, file);
        }
        // New files that aren't saved, and those of other folders.
        self.all.extend(old.into_iter().filter(|(_, file)| file.version.is_some()));
        Ok(())
    }

    /// Takes the text of an open file.
    pub fn open(&mut self, path: PathBuf, version: i32, content: String) {
        let file = File::new(content, Some(version), self.rego(&path), self.all.get(&path));
        self.all.insert(path, file);
    }

    /// Forgets the text of a file that was closed.
    pub fn close(&mut self, path: &Path) {
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

    pub fn get(&self, path: &Path) -> Option<&File> {
        self.all.get(path)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Path, &File)> {
        self.all.iter().map(|(path, file)| (path.as_path(), file))
    }

    /// Returns what is compiled together: all policies, or those of some paths, and the data.
    pub fn sources(&self, paths: Option<&BTreeSet<&Path>>) -> Sources {
        let wanted = self.iter().filter(|(path, _)| paths.is_none_or(|all| all.contains(path)));
        let module = |(path, file): (&Path, &File)| {
            ModuleSource::new(path.display().to_string(), &file.text.content)
        };
        let mut sources = Sources::default();
        sources.modules = wanted.map(module).collect();
        sources.data.clone_from(&self.on_disk.data);
        sources.versions.clone_from(&self.on_disk.versions);
        sources
    }

    /// Returns the files of some paths and all that they refer to, directly or through others: no other
    /// text matters to what their rules mean.
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
