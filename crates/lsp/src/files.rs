//! The texts of the workspace: as the editor has them, or else as the disk has them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;

use lsp_types::Uri;
use rego_platform::Error;
use rego_platform::sources::{Ignore, ModuleSource, ReadOptions, Sources};
use url::Url;

use crate::names::Names;
use crate::text::Text;

/// A policy file.
#[derive(Debug)]
pub(crate) struct File {
    pub text: Arc<Text>,
    /// What it declares and refers to, as of the last text that could be parsed.
    pub names: Arc<Names>,
    /// The editor's version of the text; `None` if it isn't open.
    pub version: Option<i32>,
}

/// The policies of the workspace, by their paths.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// What is read.
    paths: Vec<PathBuf>,
    ignore: Ignore,
    all: BTreeMap<PathBuf, File>,
    /// What was read from the disk.
    on_disk: Sources,
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
    pub fn new(paths: Vec<PathBuf>, ignore: Ignore) -> Self {
        Self { paths, ignore, ..Self::default() }
    }

    /// Reads the disk. Texts that are open stay as the editor has them.
    pub fn read(&mut self) -> Result<(), Error> {
        let mut how = ReadOptions::default();
        how.ignore = Some(&self.ignore);
        how.skip_verify = true;
        let arguments = self.paths.iter().map(|path| path.display().to_string());
        self.on_disk = Sources::read_with(arguments.collect::<Vec<_>>(), how)?;
        let mut old = std::mem::take(&mut self.all);
        for module in &self.on_disk.modules {
            let path = PathBuf::from(&module.path);
            let known = old.remove(&path);
            let is_same = |file: &File| file.version.is_some() || file.text.content == module.text;
            let file = match known {
                Some(file) if is_same(&file) => file,
                known => {
                    let text = Arc::new(Text::new(module.text.clone()));
                    let names = Names::of(&text).or(known.map(|file| file.names));
                    File { text, names: names.unwrap_or_default(), version: None }
                }
            };
            self.all.insert(path, file);
        }
        // New files that aren't saved, and those of other folders.
        self.all.extend(old.into_iter().filter(|(_, file)| file.version.is_some()));
        Ok(())
    }

    /// Takes the text of an open file.
    pub fn open(&mut self, path: PathBuf, version: i32, content: String) {
        let text = Arc::new(Text::new(content));
        let known = self.all.get(&path).map(|file| Arc::clone(&file.names));
        let names = Names::of(&text).or(known).unwrap_or_default();
        self.all.insert(path, File { text, names, version: Some(version) });
    }

    /// Forgets the text of a file that was closed.
    pub fn close(&mut self, path: &Path) {
        let module = |module: &&ModuleSource| Path::new(&module.path) == path;
        match self.on_disk.modules.iter().find(module) {
            Some(module) => {
                let text = Arc::new(Text::new(module.text.clone()));
                let names = Names::of(&text).unwrap_or_default();
                self.all.insert(path.to_owned(), File { text, names, version: None });
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

    /// Returns everything that is checked together.
    pub fn sources(&self) -> Sources {
        let module = |(path, file): (&PathBuf, &File)| {
            ModuleSource::new(path.display().to_string(), &file.text.content)
        };
        let mut sources = self.on_disk.clone();
        sources.modules = self.all.iter().map(module).collect();
        sources
    }

    /// Returns the texts by the paths that findings have.
    pub fn texts(&self) -> HashMap<String, (PathBuf, Arc<Text>)> {
        let text = |(path, file): (&PathBuf, &File)| {
            (path.display().to_string(), (path.clone(), Arc::clone(&file.text)))
        };
        self.all.iter().map(text).collect()
    }
}
