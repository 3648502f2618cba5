//! Reading inputs from files, pipes and standard input, one document at a time.
//!
//! Owns their names and digests, and the time that reading takes. Finding files belongs to `find`,
//! splitting a stream into documents to `split`, and preparing a document for a policy to
//! `documents`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rego_platform::evaluate::Cancellation;
use rego_platform::rego::Value;
use rego_platform::rego::value::Object;
use rego_platform::{Error, ErrorKind, Limit};
use rego_platform_materials::File as MaterialFile;
use sha2::{Digest as _, Sha256};

use super::documents::{self, DocumentOptions};
use super::image::Image;
use super::kinds::{self, Expected, InputKinds, RawMaterial, ReadMaterial};
use super::material::ATTESTATION;
use super::metadata::Facts;
use super::parser::{Parsed, Parser};
use super::split::{DocumentSplitter, MAX_BYTES, RawDocument, Stream};
use super::streams::{Deadline, TimedStream};
use crate::digest;
use crate::report::model::{Evidence, Signer, Subject};

/// A source of input documents.
#[non_exhaustive]
pub enum InputSource {
    /// A regular file, read to its end.
    File(PathBuf),
    /// Another file that can be read and may never end, such as a pipe.
    Pipe(PathBuf),
    /// A stream, such as standard input, with its name in reports.
    Stream(String, Box<dyn std::io::BufRead + Send>),
    /// A document that is in memory, as JSON unless the run has another parser, with its name in reports.
    Document(String, Bytes),
    /// An image, with what its registry has about it.
    Image(Box<Image>),
    /// A folder that is one input: the layout of an image.
    Folder(PathBuf),
}

impl InputSource {
    /// Returns its name, as reports show it.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::File(path) | Self::Pipe(path) | Self::Folder(path) => path.to_string_lossy(),
            Self::Stream(name, _) | Self::Document(name, _) => name.into(),
            Self::Image(image) => (&image.name).into(),
        }
    }

    /// Returns the name of its file or stream; an image has none.
    pub(crate) fn file(&self) -> Option<Cow<'_, str>> {
        (!matches!(self, Self::Image(_))).then(|| self.name())
    }
}

impl std::fmt::Debug for InputSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Pipe(path) => f.debug_tuple("Pipe").field(path).finish(),
            Self::Stream(name, _) => f.debug_tuple("Stream").field(name).finish(),
            Self::Document(name, _) => f.debug_tuple("Document").field(name).finish(),
            Self::Image(image) => f.debug_tuple("Image").field(image).finish(),
            Self::Folder(path) => f.debug_tuple("Folder").field(path).finish(),
        }
    }
}

/// What a document holds.
#[derive(Debug)]
pub(crate) enum Content {
    /// A text that is parsed where it is evaluated.
    Text(RawDocument),
    /// The content of a file that is read as its kind where it is evaluated.
    Raw(RawMaterial),
    /// Its value, and what is known of it as a material of its kind; no value in a run without inputs.
    Value(Option<Value>, Option<Arc<Facts>>),
    /// The error of reading or parsing it.
    Unreadable(Error),
}

impl Content {
    /// Returns the value, and what is known of it as a material; a text of the given file or stream is parsed
    /// for it.
    pub fn value(self, file: &str) -> Result<(Option<Value>, Option<Arc<Facts>>), Error> {
        match self {
            Self::Text(raw) => {
                documents::parse(&raw, file).map(|parsed| (Some(parsed.value), None))
            }
            Self::Raw(raw) => raw
                .read()
                .map(|ReadMaterial { facts, parsed }| (Some(parsed.value), Some(Arc::new(facts)))),
            Self::Value(value, facts) => Ok((value, facts)),
            Self::Unreadable(error) => Err(error),
        }
    }
}

/// A document that was read, or couldn't be.
#[derive(Debug)]
pub(crate) struct Document {
    pub name: String,
    /// The name of its file or stream.
    pub file: Option<String>,
    /// The place of its file or stream among those given, from 0.
    pub place: u64,
    pub digest: Option<String>,
    pub subjects: Vec<Subject>,
    pub predicate_type: Option<String>,
    /// Its kind, if that is known.
    pub kind: Option<&'static str>,
    /// Who signed it; `None` if that wasn't checked.
    pub signers: Option<Vec<Signer>>,
    /// What counts among the artifacts about it, if it is an image.
    pub evidence: Option<Vec<Evidence>>,
    pub content: Content,
    /// The time it took to read.
    pub reading: Duration,
    /// The size of its text in bytes.
    pub bytes: usize,
}

impl Document {
    /// Returns the only document of a run without inputs.
    pub fn none() -> Self {
        Self::new("(no input)".to_owned(), Content::Value(None, None))
    }

    fn of_image(image: Image) -> Self {
        let facts = image.facts.map(Arc::new);
        let document = match image.value {
            Ok(value) => Self::new(image.name, Content::Value(Some(value), facts)),
            Err(error) => Self::failed(image.name, error),
        };
        Self {
            kind: Some(kinds::IMAGE),
            digest: Some(image.digest),
            subjects: vec![image.subject],
            evidence: Some(image.evidence),
            bytes: image.bytes,
            ..document
        }
    }

    /// Returns the document that is the text of a file.
    fn of_text(name: String, file: &str, raw: RawDocument) -> Self {
        Self {
            file: Some(file.to_owned()),
            digest: Some(raw.digest.clone()),
            bytes: raw.bytes.len(),
            ..Self::new(name, Content::Text(raw))
        }
    }

    /// Returns one of the documents that were parsed from a text.
    fn of_parsed(
        name: String,
        file: &str,
        (raw, of): (&RawDocument, usize),
        parsed: Result<Parsed, Error>,
    ) -> Self {
        let document = match parsed {
            Ok(parsed) => Self {
                subjects: parsed.subjects,
                predicate_type: parsed.predicate_type,
                signers: parsed.signers,
                ..Self::new(name, Content::Value(Some(parsed.value), None))
            },
            Err(error) => Self::failed(name, error),
        };
        Self {
            file: Some(file.to_owned()),
            digest: Some(raw.digest.clone()),
            bytes: raw.bytes.len().div_ceil(of.max(1)),
            ..document
        }
    }

    /// Returns the document that was read from a file as a kind.
    fn of_material(name: String, kind: &'static str, read: ReadMaterial) -> Self {
        let ReadMaterial { facts, parsed } = read;
        let digest = facts.digest.as_ref().map(|digest| format!("sha256:{digest}"));
        Self {
            kind: Some(kind),
            digest,
            subjects: parsed.subjects,
            predicate_type: parsed.predicate_type,
            signers: parsed.signers,
            ..Self::new(name, Content::Value(Some(parsed.value), Some(Arc::new(facts))))
        }
    }

    fn of_value(name: String, value: Result<Value, Error>) -> Self {
        match value {
            Ok(value) => Self::new(name, Content::Value(Some(value), None)),
            Err(error) => Self::failed(name, error),
        }
    }

    fn failed(name: String, error: Error) -> Self {
        Self::new(name, Content::Unreadable(error))
    }

    fn new(name: String, content: Content) -> Self {
        Self {
            name,
            file: None,
            place: 0,
            digest: None,
            subjects: Vec::new(),
            predicate_type: None,
            kind: None,
            signers: None,
            evidence: None,
            content,
            reading: Duration::ZERO,
            bytes: 0,
        }
    }
}

/// What several JSON values in a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonLines {
    /// An input each, for plain policies.
    Inputs,
    /// The elements of one input, for policy documents.
    Elements,
    /// Not one of them, since the run has policies of both kinds.
    Either,
}

/// An iterator over the documents of all sources.
pub(crate) struct Documents {
    places: VecDeque<(u64, InputSource)>,
    /// The place of the file that was opened last.
    place: u64,
    options: DocumentOptions,
    lines: JsonLines,
    kinds: InputKinds,
    current: Option<(String, DocumentSplitter, usize)>,
    /// The rest of what was read last, if it was more than one.
    read: VecDeque<Document>,
    /// Set if no source was given: then there is one document without an input.
    nothing: bool,
    done: bool,
    /// The time limit for reading one document.
    timeout: Duration,
    deadline: Deadline,
}

impl Documents {
    pub fn new(
        (places, nothing): (Vec<(u64, InputSource)>, bool),
        options: DocumentOptions,
        (lines, kinds): (JsonLines, InputKinds),
        timeout: Duration,
        cancellation: Option<Cancellation>,
    ) -> Self {
        let deadline = Deadline::new(cancellation);
        let places = places.into();
        // Statements are an input each.
        let lines = if options.attestation.is_some() { JsonLines::Inputs } else { lines };
        Self {
            places,
            place: 0,
            options,
            lines,
            kinds,
            current: None,
            read: VecDeque::new(),
            nothing,
            done: false,
            timeout,
            deadline,
        }
    }

    /// Returns the number of inputs that are left, as far as that is known without reading: a file
    /// or stream counts as one.
    pub fn left(&self) -> usize {
        if self.options.combine {
            return usize::from(!self.done);
        }
        // The rest of a file that is partly read.
        let open = self.current.as_ref().is_some_and(|(_, splitter, _)| !splitter.is_over());
        self.places.len() + self.read.len() + usize::from(open) + usize::from(self.nothing)
    }

    fn one(&mut self) -> Option<Document> {
        if let Some(document) = self.read.pop_front() {
            return Some(document);
        }
        loop {
            let (name, splitter, count) = match &mut self.current {
                Some(current) => current,
                None => {
                    let (number, place) = self.places.pop_front()?;
                    self.place = number;
                    let is_folder = matches!(place, InputSource::Folder(_));
                    if let Some(file) = place.file() {
                        match self.kinds.expected(&file) {
                            Expected::Any if !is_folder => {}
                            expected => return Some(self.material(place, expected)),
                        }
                    }
                    match open(place, self.options.parser(), &self.deadline) {
                        Ok((name, splitter)) => self.current.insert((name, splitter, 0)),
                        Err(document) => return Some(*document),
                    }
                }
            };
            *count += 1;
            let wrong = |message| Error::new(ErrorKind::InvalidArgument, message);
            match splitter.next() {
                Ok(Some(raw)) if self.lines != JsonLines::Inputs && is_of_lines(&raw, name) => {
                    let (name, splitter, _) = self.current.take()?;
                    return Some(self.elements(name, splitter, raw));
                }
                Ok(Some(raw)) if self.options.is_an_input(&raw) => {
                    let file = name.clone();
                    let name = if raw.only { file.clone() } else { format!("{file}#{count}") };
                    return Some(Document::of_text(name, &file, raw));
                }
                Ok(Some(raw)) => {
                    let all = documents::parse_each(&raw, name, &self.options);
                    let file = name.clone();
                    let of = all.len();
                    let only = raw.only && of == 1;
                    for (index, parsed) in all.into_iter().enumerate() {
                        *count += usize::from(index > 0);
                        let name = if only { file.clone() } else { format!("{file}#{count}") };
                        self.read.push_back(Document::of_parsed(name, &file, (&raw, of), parsed));
                    }
                    return self.read.pop_front();
                }
                Ok(None) if *count == 1 => {
                    let (name, splitter, _) = self.current.take()?;
                    let error = wrong("the document is empty");
                    let (file, digest) = (Some(name.clone()), Some(splitter.digest()));
                    let document = Document::failed(name, error);
                    return Some(Document { file, digest, ..document });
                }
                Ok(None) => self.current = None,
                Err(error) => {
                    let name = std::mem::take(name);
                    self.current = None;
                    return Some(Document::failed(name, self.unreadable(error)));
                }
            }
        }
    }

    /// Reads a file to its end, or a folder, as a kind.
    fn material(&self, place: InputSource, expected: Expected) -> Document {
        let (name, stream) = match place {
            InputSource::Folder(path) => {
                let name = path.to_string_lossy().into_owned();
                let file = MaterialFile::folder(kinds::base_name(&name), &path);
                return self.read(&file, expected, &name);
            }
            place => match open_stream(place, &self.deadline) {
                Ok(opened) => opened,
                Err(document) => return *document,
            },
        };
        let mut bytes = Vec::new();
        let read =
            stream.and_then(|stream| stream.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
        let error = match read {
            Err(error) => Some(self.unreadable(error)),
            Ok(_) if bytes.len() > MAX_BYTES => Some(too_large("the input's bytes")),
            Ok(_) => None,
        };
        if let Some(error) = error {
            return Document { file: Some(name.clone()), ..Document::failed(name, error) };
        }
        let (digest, size) = (digest::sha256(&bytes), bytes.len());
        let document = match expected {
            Expected::Of(kind) if kind.name != ATTESTATION => {
                let content = Content::Raw(RawMaterial::new(kind, &name, bytes));
                Document { kind: Some(kind.name), ..Document::new(name.clone(), content) }
            }
            expected => {
                let file = MaterialFile::new(kinds::base_name(&name), &bytes);
                self.read(&file, expected, &name)
            }
        };
        let digest = document.digest.clone().or(Some(digest));
        Document { file: Some(name), digest, bytes: size, ..document }
    }

    /// Reads a file or folder as the kind that is expected, or as the one that accepts it.
    fn read(&self, file: &MaterialFile<'_>, expected: Expected, name: &str) -> Document {
        let read = match expected {
            Expected::Of(kind) => {
                kinds::read(kind, file, self.kinds.signatures.as_ref()).map(|read| (kind, read))
            }
            _ => self.kinds.detect(file),
        };
        let document = match read {
            Ok((kind, read)) => Document::of_material(name.to_owned(), kind.name, read),
            Err(error) => Document::failed(name.to_owned(), error),
        };
        Document { file: Some(name.to_owned()), ..document }
    }

    fn unreadable(&self, error: std::io::Error) -> Error {
        if self.deadline.is_cancelled() {
            return Error::new(ErrorKind::Cancelled, "the run was interrupted");
        }
        let timed_out = error.kind() == std::io::ErrorKind::TimedOut;
        let error =
            Error::new(ErrorKind::InvalidArgument, "the input can't be read").with_source(error);
        if timed_out { error.at_limit(Limit::Timeout) } else { error }
    }

    /// Reads all values of a file of JSON lines, which are one input.
    fn elements(
        &self,
        name: String,
        mut splitter: DocumentSplitter,
        first: RawDocument,
    ) -> Document {
        let (mut list, mut bytes) = (Vec::new(), 0);
        let mut next = if self.lines == JsonLines::Either {
            let message = "it has several JSON values, which are one input for policy documents, and an input \
                           each for other policies";
            Err(Error::new(ErrorKind::InvalidArgument, message)
                .with_hint("evaluate the policy documents in a run of their own"))
        } else {
            Ok(Some(first))
        };
        while let Ok(Some(raw)) = next {
            bytes += raw.bytes.len();
            next = if bytes > MAX_BYTES {
                Err(too_large("the JSON values of a file"))
            } else {
                documents::parse(&raw, &name).and_then(|parsed| {
                    list.push(parsed.value);
                    splitter.next().map_err(|error| self.unreadable(error))
                })
            };
        }
        let digest = next.is_ok().then(|| splitter.digest());
        let value = next.map(|_| Value::from(list));
        Document { file: Some(name.clone()), digest, bytes, ..Document::of_value(name, value) }
    }

    /// Reads all documents and combines them into one.
    fn combined(&mut self) -> Document {
        let mut all = Document::none();
        let mut hash = Sha256::new();
        let mut list = Vec::new();
        // What is said about named subjects isn't said about a document without any.
        let mut every_subject = true;
        while let Some(document) = self.one() {
            all.bytes += document.bytes;
            if all.bytes > MAX_BYTES {
                let content = Content::Unreadable(too_large("the combined inputs"));
                return Document { content, ..document };
            }
            let file = document.file.as_deref().unwrap_or_default();
            let value = match document.content.value(file) {
                Ok((value, _)) => value.unwrap_or(Value::Null),
                Err(error) => {
                    let content = Content::Unreadable(error);
                    return Document { content, ..document };
                }
            };
            // A line break in a name must not begin the line of another document.
            let name = document.name.replace('\\', "\\\\").replace('\n', "\\n");
            hash.update(format!("{} {name}\n", document.digest.unwrap_or_default()));
            let entry = [
                (Value::from("path"), Value::from(document.name)),
                (Value::from("contents"), value),
            ];
            list.push(Value::from(Object::from(entry)));
            every_subject &= !document.subjects.is_empty();
            all.subjects.extend(document.subjects);
            if let Some(evidence) = document.evidence {
                all.evidence.get_or_insert_default().extend(evidence);
            }
        }
        if !every_subject {
            all.subjects.clear();
        }
        all.name = format!("(combined: {})", list.len());
        all.digest = Some(digest::finished(hash));
        all.content = Content::Value(Some(Value::from(list)), None);
        all
    }
}

/// Returns `true` for a value of a file that has several, or that is JSON Lines by its extension.
fn is_of_lines(raw: &RawDocument, name: &str) -> bool {
    let extension = Path::new(name).extension();
    let is_lines = |of: &str| extension.is_some_and(|own| own.eq_ignore_ascii_case(of));
    raw.parser == Parser::Json && (!raw.only || ["jsonl", "ndjson"].into_iter().any(is_lines))
}

fn too_large(what: &str) -> Error {
    let limit = rego_platform_client::text::size(MAX_BYTES as u64);
    Error::new(ErrorKind::TooLarge, format!("{what} are larger than {limit}"))
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
        let (reading, place) = (began.elapsed(), self.place);
        document.map(|document| Document { place, reading, ..document })
    }
}

/// Opens a source to be split. Images, and sources that can't be opened, are returned as their document.
fn open(
    place: InputSource,
    parser: Option<Parser>,
    deadline: &Deadline,
) -> Result<(String, DocumentSplitter), Box<Document>> {
    let parser = parser.or_else(|| match &place {
        InputSource::File(path) | InputSource::Pipe(path) => Parser::of(path),
        InputSource::Document(..) => Some(Parser::Json),
        _ => None,
    });
    if parser.is_none() && matches!(place, InputSource::File(_)) {
        let message = "the extension of the input names no parser";
        let error = Error::new(ErrorKind::InvalidArgument, message);
        return Err(Box::new(Document::failed(place.name().into_owned(), error)));
    }
    let (name, stream) = open_stream(place, deadline)?;
    match stream {
        Ok(stream) => Ok((name, DocumentSplitter::new(stream, parser))),
        Err(error) => Err(Box::new(Document::failed(name, not_opened(error)))),
    }
}

fn not_opened(error: std::io::Error) -> Error {
    Error::new(ErrorKind::InvalidArgument, "the input can't be read").with_source(error)
}

/// Opens a source. An image is returned as its document.
fn open_stream(
    place: InputSource,
    deadline: &Deadline,
) -> Result<(String, std::io::Result<Stream>), Box<Document>> {
    let name = place.name().into_owned();
    let timed = |timed: std::io::Result<TimedStream>| {
        timed.map(|timed| Box::new(BufReader::new(timed)) as Stream)
    };
    let stream = match place {
        InputSource::Image(image) => return Err(Box::new(Document::of_image(*image))),
        InputSource::Stream(_, stream) => timed(TimedStream::new(|| Ok(stream), deadline.clone())),
        InputSource::Document(_, bytes) => Ok(Box::new(Cursor::new(bytes)) as Stream),
        InputSource::Pipe(path) => {
            timed(TimedStream::new(move || File::open(path), deadline.clone()))
        }
        InputSource::Folder(_) => Err(std::io::Error::other("it isn't a regular file")),
        InputSource::File(path) => {
            let open = || {
                // A file that was replaced by a pipe after it was found could block forever.
                if !std::fs::metadata(&path)?.is_file() {
                    return Err(std::io::Error::other("it isn't a regular file"));
                }
                let file = File::open(&path)?;
                Ok(Box::new(BufReader::with_capacity(64 << 10, file)) as Stream)
            };
            open()
        }
    };
    Ok((name, stream))
}
