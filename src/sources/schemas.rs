//! Schemas of documents from outside, read from a file or a folder.
//!
//! Owns reading schemas and naming them. The meaning of a schema belongs to [`crate::rego`].

use std::path::Path;
use std::sync::Arc;

use super::{SourceLimits, document, files, walk};
use crate::Error;
use crate::rego::Schemas;
use crate::text::escape;

/// JSON Schemas of documents from outside; policies are checked against them when they are loaded.
///
/// A file is the schema of `input`. A folder contains the schemas that `# METADATA` annotations
/// name: `a/b.json` is `schema.a.b`. No remote reference is followed: a schema must contain
/// everything that it refers to.
///
/// ```
/// use rego_platform::sources::SchemaSet;
///
/// let schema = r#"{"properties": {"digest": {"type": "string"}}}"#;
/// assert!(SchemaSet::of_input("schema.json", schema).is_ok());
/// assert!(SchemaSet::of_input("schema.json", "{\"type\": \"text\"}").is_err());
/// ```
#[derive(Debug, Clone, Default)]
pub struct SchemaSet(Option<Arc<Schemas>>);

impl SchemaSet {
    /// Creates a set with a schema of `input` for all policies; `name` is its name in errors.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when `text` isn't a schema.
    pub fn of_input(name: &str, text: &str) -> Result<Self, Error> {
        let mut set = Schemas::default();
        insert(&mut set, name, Vec::new(), text)?;
        Ok(Self(Some(Arc::new(set))))
    }

    /// Reads the schema of `input` from a file, or the schemas that annotations name from a folder.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when a file can't be read or isn't a schema.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let mut reader = Reader { set: Schemas::default(), bytes: 0, files: 0 };
        if path.is_dir() {
            reader.folder(path, &mut Vec::new())?;
        } else {
            reader.file(path, Vec::new())?;
        }
        Ok(Self(Some(Arc::new(reader.set))))
    }

    pub(crate) fn schemas(&self) -> Option<Arc<Schemas>> {
        self.0.clone()
    }
}

struct Reader {
    set: Schemas,
    bytes: u64,
    files: usize,
}

impl Reader {
    fn folder(&mut self, folder: &Path, names: &mut Vec<String>) -> Result<(), Error> {
        let refused = |why: &str| {
            let message = format!("the folder of schemas `{}` {why}", escape(&shown(folder)));
            Error::configuration(message)
        };
        let unreadable = |error| refused("can't be read").with_source(error);
        if names.len() > walk::MAX_FOLDERS {
            return Err(
                refused("is nested too deep").with_hint("check for links that lead in a circle")
            );
        }
        for entry in walk::entries(folder).map_err(unreadable)? {
            let path = entry.path();
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
                return Err(refused("has a name that isn't UTF-8"));
            };
            if path.is_dir() {
                let whole = path.file_name().and_then(|name| name.to_str()).unwrap_or(name);
                names.push(whole.to_owned());
                self.folder(&path, names)?;
                names.pop();
            } else {
                let place = names.iter().cloned().chain([name.to_owned()]).collect();
                self.file(&path, place)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, place: Vec<String>) -> Result<(), Error> {
        let limits = SourceLimits::default();
        self.files += 1;
        if self.files > limits.files {
            let message = format!("there are more than {} schemas", limits.files);
            return Err(Error::configuration(message));
        }
        let text = files::read(path, None, &mut self.bytes, limits).map_err(|found| {
            Error::configuration(format!("the schema {}", escape(&found.message)))
                .with_optional_hint(found.hint)
        })?;
        insert(&mut self.set, &shown(path), place, &text)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn insert(set: &mut Schemas, name: &str, place: Vec<String>, text: &str) -> Result<(), Error> {
    let is_yaml = !text.trim_start().starts_with(['{', '[', '"']);
    let value = document(name, text, is_yaml).map_err(|found| Error::found_in(name, &found))?;
    set.insert(place, value).map_err(|why| {
        let message = format!("{}: {}", escape(name), escape(&why));
        Error::configuration(message).with_optional_hint(remote_hint(&why))
    })
}

/// Returns the hint for a schema that refers to another document.
pub(crate) fn remote_hint(why: &str) -> Option<&'static str> {
    let refers = ["remote reference loading disabled", "reference loading from files"];
    refers.iter().any(|text| why.contains(text)).then_some(
        "nothing is fetched: put what it refers to under `definitions` of the schema, and refer to \
         `#/definitions/NAME`",
    )
}
