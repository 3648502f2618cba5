//! The texts of the workspace: as the editor has them, or else as the disk has them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rego::BaseVersion;
use rego_platform::Error;
use rego_platform::sources::{Ignore, ModuleSource, ReadOptions, Sources};

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
    /// The last text that could be parsed.
    last: Option<Arc<Text>>,
    /// The editor's version of the text and its spelling of the address; `None` if it isn't open.
    pub open: Option<(i32, Arc<str>)>,
}

impl File {
    fn new(
        content: String,
        open: Option<(i32, Arc<str>)>,
        rego: BaseVersion,
        known: Option<&Self>,
    ) -> Self {
        let text = Arc::new(Text::new(content));
        let names = Names::of(&text, rego);
        let is_broken = names.is_none();
        let last = if is_broken {
            known.and_then(|file| file.last.clone())
        } else {
            Some(Arc::clone(&text))
        };
        let known = || known.map(|file| Arc::clone(&file.names)).unwrap_or_default();
        Self { text, names: names.unwrap_or_else(known), is_broken, last, open }
    }
}

/// The most files that are left out because they can't be read.
const MOST_LEFT_OUT: usize = 50;

/// The policies of the workspace, by their paths. A copy costs little, and stays as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    all: BTreeMap<PathBuf, File>,
    /// What was read from the disk.
    on_disk: Arc<Sources>,
    /// The version of Rego that texts are in, unless a bundle names another.
    rego: BaseVersion,
}

/// Returns the package of a text as its first line of that form has it, also if it can't be parsed.
fn package_of(file: &File) -> &str {
    let mut lines = file.text.content.lines().map(str::trim);
    lines.find_map(|line| line.strip_prefix("package ")).unwrap_or_default().trim()
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
        let arguments: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        let (mut left_out, mut failed) = (BTreeSet::new(), Ok(()));
        let sources = loop {
            let without = ignore.clone().with_written(left_out.iter().map(PathBuf::as_path));
            let mut how = ReadOptions::default();
            how.ignore = Some(&without);
            how.skip_verify = true;
            let error = match Sources::read_with(arguments.clone(), how) {
                Ok(sources) => break sources,
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
        self.on_disk = Arc::new(sources);
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

    /// Takes the text of an open file, and the editor's spelling of its address.
    pub fn open(&mut self, path: PathBuf, uri: &str, version: i32, content: String) {
        let open = Some((version, uri.into()));
        let file = File::new(content, open, self.rego(&path), self.all.get(&path));
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

    pub fn iter(&self) -> impl Iterator<Item = (&Path, &File)> {
        self.all.iter().map(|(path, file)| (path.as_path(), file))
    }

    /// Returns what is compiled together: all policies, or those of some paths, and the data.
    pub fn sources(&self, paths: Option<&BTreeSet<&Path>>) -> Sources {
        self.texts(paths, |file| Some(&file.text))
    }

    /// The same with the last texts of broken files that could be parsed, without those that never could.
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
            Some(ModuleSource::new(path.display().to_string(), &text(file)?.content))
        };
        let mut sources = Sources::default();
        sources.modules = wanted.filter_map(module).collect();
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
