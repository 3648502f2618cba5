//! Reading inputs from files, pipes and standard input, one document at a time.
//!
//! Owns their names and digests, and the time that reading takes. Finding files belongs to `find`,
//! splitting a stream into documents to `split`, and preparing a document for a policy to
//! `documents`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::rego::Value;
use sha2::{Digest as _, Sha256};

use super::documents::{self, DocumentOptions};
use super::model::Subject;
use super::split::{DocumentSplitter, MAX_BYTES, Stream, Syntax, hex};
use super::streams::{Deadline, TimedStream};
use crate::evaluate::Cancellation;
use crate::{Error, ErrorKind, Limit};

/// A source of input documents.
pub enum InputSource {
    /// A file.
    File(PathBuf),
    /// Another file that can be read and may never end, such as a pipe.
    Pipe(PathBuf),
    /// A stream, such as standard input, with its name in reports.
    Stream(String, Box<dyn std::io::BufRead + Send>),
}

impl std::fmt::Debug for InputSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Pipe(path) => f.debug_tuple("Pipe").field(path).finish(),
            Self::Stream(name, _) => f.debug_tuple("Stream").field(name).finish(),
        }
    }
}

/// A document, or the error of reading it.
#[derive(Debug)]
pub(super) struct Document {
    pub name: String,
    pub digest: Option<String>,
    pub subjects: Vec<Subject>,
    pub predicate_type: Option<String>,
    pub value: Result<Option<Value>, Error>,
    /// The time it took to read.
    pub reading: Duration,
    /// The size of its text in bytes.
    pub bytes: usize,
}

impl Document {
    /// Returns the only document of a run without inputs.
    pub fn none() -> Self {
        Self { name: "(no input)".to_owned(), value: Ok(None), ..Self::failed(String::new(), None) }
    }

    fn failed(name: String, error: Option<Error>) -> Self {
        let value = error.map_or(Ok(None), Err);
        Self {
            name,
            digest: None,
            subjects: Vec::new(),
            predicate_type: None,
            value,
            reading: Duration::ZERO,
            bytes: 0,
        }
    }
}

fn syntax(path: &Path) -> Option<Syntax> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "json" | "jsonl" | "ndjson" | "sarif" => Some(Syntax::Json),
        "yaml" | "yml" => Some(Syntax::Yaml),
        _ => None,
    }
}

/// An iterator over the documents of all sources.
pub(super) struct Documents {
    places: VecDeque<InputSource>,
    options: DocumentOptions,
    current: Option<(String, DocumentSplitter, usize)>,
    /// Set if there is no source: then there is one document without an input.
    nothing: bool,
    done: bool,
    /// The time limit for reading one document.
    timeout: Duration,
    deadline: Deadline,
    /// The number of documents that are envelopes, and passed to policies as they are.
    envelopes: Arc<AtomicU64>,
}

impl Documents {
    pub fn new(
        places: Vec<InputSource>,
        options: DocumentOptions,
        timeout: Duration,
        cancellation: Option<Cancellation>,
    ) -> Self {
        let nothing = places.is_empty();
        let deadline = Deadline::new(cancellation);
        let places = places.into();
        let envelopes = Arc::default();
        Self { places, options, current: None, nothing, done: false, timeout, deadline, envelopes }
    }

    /// Returns the counter of documents that are envelopes whose statement no policy sees.
    pub fn envelopes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.envelopes)
    }

    /// Returns the number of inputs that are left, as far as that is known without reading: a file
    /// or stream counts as one.
    pub fn left(&self) -> usize {
        if self.options.combine {
            return usize::from(!self.done);
        }
        // The rest of a file that is partly read.
        let open = self.current.as_ref().is_some_and(|(_, splitter, _)| !splitter.is_over());
        self.places.len() + usize::from(open) + usize::from(self.nothing)
    }

    fn one(&mut self) -> Option<Document> {
        loop {
            let (name, splitter, count) = match &mut self.current {
                Some(current) => current,
                None => match open(self.places.pop_front()?, &self.deadline) {
                    Ok((name, splitter)) => self.current.insert((name, splitter, 0)),
                    Err(document) => return Some(*document),
                },
            };
            *count += 1;
            let wrong = |message| Error::new(ErrorKind::InvalidArgument, message);
            match splitter.next() {
                Ok(Some(raw)) => {
                    let parsed = documents::parse(&raw, name, &self.options);
                    let name = if raw.only { name.clone() } else { format!("{name}#{count}") };
                    let mut document = Document::failed(name, None);
                    document.digest = Some(raw.digest);
                    document.bytes = raw.bytes.len();
                    match parsed {
                        Ok(parsed) => {
                            let wrapped = !self.options.attestation
                                && documents::holds_envelope(&parsed.value);
                            self.envelopes.fetch_add(u64::from(wrapped), Ordering::Relaxed);
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
                    let error = if self.deadline.is_cancelled() {
                        Error::new(ErrorKind::Cancelled, "the run was interrupted")
                    } else {
                        let timed_out = error.kind() == std::io::ErrorKind::TimedOut;
                        let error = wrong("the input can't be read").with_source(error);
                        if timed_out { error.at_limit(Limit::Timeout) } else { error }
                    };
                    return Some(Document::failed(name, Some(error)));
                }
            }
        }
    }

    /// Reads all documents and combines them into one.
    fn combined(&mut self) -> Document {
        let mut all = Document::failed(String::new(), None);
        let mut hash = Sha256::new();
        let mut list = Vec::new();
        // What is said about named subjects isn't said about a document without any.
        let mut every_subject = true;
        while let Some(document) = self.one() {
            all.bytes += document.bytes;
            if all.bytes > MAX_BYTES {
                let error = Error::new(
                    ErrorKind::TooLarge,
                    format!(
                        "the combined inputs are larger than {}",
                        crate::text::size(MAX_BYTES as u64)
                    ),
                );
                return Document { value: Err(error), ..document };
            }
            let value = match document.value {
                Ok(value) => value.unwrap_or(Value::Null),
                Err(error) => return Document { value: Err(error), ..document },
            };
            // A line break in a name must not begin the line of another document.
            let name = document.name.replace('\\', "\\\\").replace('\n', "\\n");
            hash.update(format!("{} {name}\n", document.digest.unwrap_or_default()));
            let entry = [
                (Value::from("path"), Value::from(document.name)),
                (Value::from("contents"), value),
            ];
            list.push(Value::from(std::collections::BTreeMap::from(entry)));
            every_subject &= !document.subjects.is_empty();
            all.subjects.extend(document.subjects);
        }
        if !every_subject {
            all.subjects.clear();
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
            // Nothing is combined of nothing.
            self.done = true;
            return Some(Document::none());
        }
        let began = Instant::now();
        self.deadline.set(began.checked_add(self.timeout));
        let document = if self.options.combine {
            (!std::mem::replace(&mut self.done, true)).then(|| self.combined())
        } else {
            self.one()
        };
        document.map(|document| Document { reading: began.elapsed(), ..document })
    }
}

fn open(
    place: InputSource,
    deadline: &Deadline,
) -> Result<(String, DocumentSplitter), Box<Document>> {
    let failed = |name: String, error: std::io::Error| {
        let error =
            Error::new(ErrorKind::InvalidArgument, "the input can't be read").with_source(error);
        Box::new(Document::failed(name, Some(error)))
    };
    let (name, syntax, stream) = match place {
        InputSource::Stream(name, stream) => {
            let timed = TimedStream::new(|| Ok(stream), deadline.clone());
            (name, None, timed.map(|timed| Box::new(BufReader::new(timed)) as Stream))
        }
        InputSource::Pipe(path) => {
            let (name, syntax) = (path.to_string_lossy().into_owned(), syntax(&path));
            let timed = TimedStream::new(move || File::open(path), deadline.clone());
            (name, syntax, timed.map(|timed| Box::new(BufReader::new(timed)) as Stream))
        }
        InputSource::File(path) => {
            let name = path.to_string_lossy().into_owned();
            let open = || {
                // A file that was replaced by a pipe after it was found could block forever.
                if !std::fs::metadata(&path)?.is_file() {
                    return Err(std::io::Error::other("it isn't a regular file"));
                }
                let file = File::open(&path)?;
                Ok(Box::new(BufReader::with_capacity(64 << 10, file)) as Stream)
            };
            (name, syntax(&path), open())
        }
    };
    match stream {
        Ok(stream) => Ok((name, DocumentSplitter::new(stream, syntax))),
        Err(error) => Err(failed(name, error)),
    }
}
