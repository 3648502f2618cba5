//! Where inputs come from: files, folders, globs and standard input, one document at a time.
//!
//! Owns finding them and their names and digests. How a stream falls into documents is `split`'s,
//! what a document is to a policy `documents`'.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::rego::Value;
use sha2::{Digest as _, Sha256};

use super::documents::{self, DocumentOptions};
use super::model::Subject;
use super::split::{Form, Pieces, Stream, hex};
use crate::text::escape;
use crate::{Error, ErrorKind};

/// Deepest nesting of folders.
const MAX_FOLDERS: usize = 64;

/// Where documents are.
pub enum Place {
    /// A file.
    File(PathBuf),
    /// A stream, such as standard input, with the name that reports show.
    Stream(String, Box<dyn std::io::BufRead + Send>),
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Stream(name, _) => f.debug_tuple("Stream").field(name).finish(),
        }
    }
}

/// A document, or what is wrong with it.
#[derive(Debug)]
pub(super) struct Document {
    pub name: String,
    pub digest: Option<String>,
    pub subjects: Vec<Subject>,
    pub predicate_type: Option<String>,
    pub value: Result<Option<Value>, Error>,
}

impl Document {
    /// The one document of a run without inputs.
    pub fn none() -> Self {
        Self { name: "(no input)".to_owned(), value: Ok(None), ..Self::failed(String::new(), None) }
    }

    fn failed(name: String, error: Option<Error>) -> Self {
        let value = error.map_or(Ok(None), Err);
        Self { name, digest: None, subjects: Vec::new(), predicate_type: None, value }
    }
}

/// The files that an argument names: itself, what is in the folder, or what the glob matches.
///
/// # Errors
/// [`ErrorKind::Configuration`] where there is nothing: a gate without its inputs would pass.
pub fn find(argument: &str) -> Result<Vec<Place>, Error> {
    let wrong = |message: String| Error::new(ErrorKind::Configuration, message);
    let path = Path::new(argument);
    let shown = escape(argument);
    let unreadable = |error: std::io::Error| {
        Error::new(ErrorKind::Configuration, format!("the input `{shown}` can't be read"))
            .with_source(error)
    };
    let mut files = Vec::new();
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            folder(path, &mut Vec::new(), &mut files).map_err(unreadable)?;
            if files.is_empty() {
                return Err(wrong(format!("the folder `{shown}` holds no input")).with_hint(
                    "in a folder, files named .json, .jsonl, .ndjson, .yaml and .yml count",
                ));
            }
        }
        Ok(_) => files.push(path.to_owned()),
        Err(_) if argument.contains(['*', '?', '[']) => {
            let found = glob::glob(argument)
                .map_err(|e| wrong(format!("`{shown}` is no glob")).with_source(e.to_string()))?;
            for path in found {
                let path = path.map_err(|error| unreadable(error.into()))?;
                if !path.is_dir() {
                    files.push(path);
                }
            }
            if files.is_empty() {
                return Err(wrong(format!("nothing matches the glob `{shown}`"))
                    .with_hint("a gate without its inputs would pass"));
            }
        }
        Err(error) => return Err(unreadable(error)),
    }
    Ok(files.into_iter().map(Place::File).collect())
}

fn form(path: &Path) -> Option<Form> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "json" | "jsonl" | "ndjson" => Some(Form::Json),
        "yaml" | "yml" => Some(Form::Yaml),
        _ => None,
    }
}

/// The documents of a folder and the folders in it, by name.
fn folder(path: &Path, open: &mut Vec<PathBuf>, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let real = std::fs::canonicalize(path)?;
    if open.contains(&real) || open.len() >= MAX_FOLDERS {
        let shown = path.display();
        return Err(std::io::Error::other(format!(
            "`{shown}` is a folder within itself, through a link, or nested too deeply"
        )));
    }
    open.push(real);
    let mut entries = std::fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => folder(&path, open, files)?,
            // A file that can't be read is found out when it is opened, and has no verdict.
            _ if form(&path).is_some() => files.push(path),
            _ => {}
        }
    }
    open.pop();
    Ok(())
}

/// The documents of all places, one at a time.
pub(super) struct Documents {
    places: VecDeque<Place>,
    options: DocumentOptions,
    current: Option<(String, Pieces, usize)>,
    /// There is no place, and one document that is no input.
    nothing: bool,
    done: bool,
}

impl Documents {
    pub fn new(places: Vec<Place>, options: DocumentOptions) -> Self {
        let nothing = places.is_empty();
        Self { places: places.into(), options, current: None, nothing, done: false }
    }

    /// How many inputs are left, as far as is known without reading: a file or stream counts as
    /// one.
    pub fn left(&self) -> usize {
        if self.options.combine {
            return usize::from(!self.done);
        }
        let open = self.current.as_ref().is_some_and(|(_, pieces, _)| !pieces.is_over());
        self.places.len() + usize::from(open) + usize::from(self.nothing)
    }

    fn one(&mut self) -> Option<Document> {
        loop {
            let (name, pieces, count) = match &mut self.current {
                Some(current) => current,
                None => match open(self.places.pop_front()?) {
                    Ok((name, pieces)) => self.current.insert((name, pieces, 0)),
                    Err(document) => return Some(*document),
                },
            };
            *count += 1;
            let wrong = |message| Error::new(ErrorKind::InvalidArgument, message);
            match pieces.next() {
                Ok(Some(piece)) => {
                    let parsed = documents::parse(&piece, name, &self.options);
                    let name = if piece.only { name.clone() } else { format!("{name}#{count}") };
                    let mut document = Document::failed(name, None);
                    document.digest = Some(piece.digest);
                    match parsed {
                        Ok(parsed) => {
                            document.subjects = parsed.subjects;
                            document.predicate_type = parsed.predicate_type;
                            document.value = Ok(Some(parsed.value));
                        }
                        Err(error) => document.value = Err(error),
                    }
                    return Some(document);
                }
                Ok(None) if *count == 1 => {
                    let name = std::mem::take(name);
                    self.current = None;
                    return Some(Document::failed(name, Some(wrong("the document is empty"))));
                }
                Ok(None) => self.current = None,
                Err(error) => {
                    let name = std::mem::take(name);
                    self.current = None;
                    let error = wrong("the input can't be read").with_source(error);
                    return Some(Document::failed(name, Some(error)));
                }
            }
        }
    }

    /// All of them as one.
    fn combined(&mut self) -> Document {
        let mut all = Document::failed(String::new(), None);
        let mut hash = Sha256::new();
        let mut list = Vec::new();
        while let Some(document) = self.one() {
            let value = match document.value {
                Ok(value) => value.unwrap_or(Value::Null),
                Err(error) => return Document { value: Err(error), ..document },
            };
            hash.update(format!("{} {}\n", document.digest.unwrap_or_default(), document.name));
            let entry = [
                (Value::from("path"), Value::from(document.name)),
                (Value::from("contents"), value),
            ];
            list.push(Value::from(std::collections::BTreeMap::from(entry)));
            all.subjects.extend(document.subjects);
        }
        all.name = format!("(combined: {})", list.len());
        all.digest = Some(hex(&hash.finalize()));
        all.value = Ok(Some(Value::from(list)));
        all
    }
}

impl Iterator for Documents {
    type Item = Document;

    fn next(&mut self) -> Option<Document> {
        if std::mem::take(&mut self.nothing) {
            return Some(Document::none());
        }
        if self.options.combine {
            return (!std::mem::replace(&mut self.done, true)).then(|| self.combined());
        }
        self.one()
    }
}

fn open(place: Place) -> Result<(String, Pieces), Box<Document>> {
    match place {
        Place::Stream(name, stream) => Ok((name, Pieces::new(stream, None))),
        Place::File(path) => {
            let name = path.to_string_lossy().into_owned();
            let open = || {
                let file = File::open(&path)?;
                if file.metadata()?.is_dir() {
                    return Err(std::io::Error::other("it is a folder"));
                }
                Ok(file)
            };
            match open() {
                Ok(file) => {
                    let stream: Stream = Box::new(BufReader::with_capacity(64 << 10, file));
                    Ok((name, Pieces::new(stream, form(&path))))
                }
                Err(error) => {
                    let error = Error::new(ErrorKind::InvalidArgument, "the input can't be read")
                        .with_source(error);
                    Err(Box::new(Document::failed(name, Some(error))))
                }
            }
        }
    }
}
