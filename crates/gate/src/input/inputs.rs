//! Reading inputs from their sources, one at a time.
//!
//! Owns their names and digests, and the time that reading takes. Finding files belongs to `find`,
//! splitting a stream into inputs to `split`, and preparing an input for a policy to `prepare`.

use std::collections::VecDeque;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rego_platform::evaluate::Cancellation;
use rego_platform::rego::Value;
use rego_platform::rego::value::Object;
use rego_platform::{Error, Limit};
use rego_platform_materials::File as MaterialFile;
use sha2::{Digest as _, Sha256};

use super::image::Image;
use super::kinds::{self, Expected, InputKinds, RawMaterial, ReadMaterial};
use super::material::ATTESTATION;
use super::metadata::Facts;
use super::parser::{Parsed, Parser};
use super::prepare::{self, DocumentOptions};
use super::source::InputSource;
use super::split::{InputSplitter, InputText, MAX_BYTES};
use super::streams::Deadline;
use crate::digest;
use crate::report::model::{Evidence, Signer, Subject};

/// The value and the metadata of an input as a material of its kind; no value in a run without inputs.
type Read = (Option<Value>, Option<Arc<Facts>>);

/// The content of an input.
#[derive(Debug)]
enum InputContent {
    /// The text of an input, parsed by the worker that evaluates it.
    Text(InputText),
    /// The bytes of a file, read as its kind by the worker that evaluates it.
    Raw(RawMaterial),
    Value(Read),
    /// The error of reading or parsing the input.
    Unreadable(Error),
}

/// An input that was read, or the error of reading it.
#[derive(Debug)]
pub(crate) struct Input {
    pub name: String,
    /// The name of its file or stream.
    pub file: Option<String>,
    /// The index of its source among those given.
    pub source: u64,
    pub digest: Option<String>,
    pub subjects: Vec<Subject>,
    pub predicate_type: Option<String>,
    /// The kind, if it is known.
    pub kind: Option<&'static str>,
    /// The signers; `None` if signatures weren't checked.
    pub signers: Option<Vec<Signer>>,
    /// The accepted artifacts attached to the input, if it is an image.
    pub evidence: Option<Vec<Evidence>>,
    content: Mutex<InputContent>,
    /// The time that reading the input took.
    pub reading: Duration,
    /// The size of its text in bytes.
    pub bytes: usize,
}

impl Input {
    fn new(name: String, content: InputContent) -> Self {
        Self {
            name,
            file: None,
            source: 0,
            digest: None,
            subjects: Vec::new(),
            predicate_type: None,
            kind: None,
            signers: None,
            evidence: None,
            content: Mutex::new(content),
            reading: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Creates the only input of a run without inputs.
    fn none() -> Self {
        Self::new("(no input)".to_owned(), InputContent::Value((None, None)))
    }

    fn unreadable(name: String, error: Error) -> Self {
        Self::new(name, InputContent::Unreadable(error))
    }

    fn of_image(image: Image) -> Self {
        let facts = image.facts.map(Arc::new);
        let content = match image.value {
            Ok(value) => InputContent::Value((Some(value), facts)),
            Err(error) => InputContent::Unreadable(error),
        };
        Self {
            kind: Some(kinds::IMAGE),
            digest: Some(image.digest),
            subjects: vec![image.subject],
            evidence: Some(image.evidence),
            bytes: image.bytes,
            ..Self::new(image.name, content)
        }
    }

    /// Creates the input from a parsed text, or a file read as a kind.
    fn of_parsed(name: String, parsed: Result<Parsed, Error>, facts: Option<Facts>) -> Self {
        match parsed {
            Ok(Parsed { value, subjects, predicate_type, signers }) => Self {
                subjects,
                predicate_type,
                signers,
                ..Self::new(name, InputContent::Value((Some(value), facts.map(Arc::new))))
            },
            Err(error) => Self::unreadable(name, error),
        }
    }

    /// Returns the input with the file, digest and size of its text.
    fn with_text(self, file: &str, digest: String, bytes: usize) -> Self {
        Self { file: Some(file.to_owned()), digest: Some(digest), bytes, ..self }
    }

    fn with_error(self, error: Error) -> Self {
        Self { content: Mutex::new(InputContent::Unreadable(error)), ..self }
    }

    /// Returns the value and the metadata of the input as a material of its kind. A text is parsed once.
    pub fn value(&self) -> Result<Read, Error> {
        let mut content = self.content.lock();
        let read = match std::mem::replace(&mut *content, InputContent::Value((None, None))) {
            InputContent::Text(text) => {
                let file = self.file.as_deref().unwrap_or_default();
                prepare::parse(&text, file).map(|parsed| (Some(parsed.value), None))
            }
            InputContent::Raw(raw) => raw
                .read()
                .map(|ReadMaterial { facts, parsed }| (Some(parsed.value), Some(Arc::new(facts)))),
            InputContent::Value(read) => Ok(read),
            InputContent::Unreadable(error) => Err(error),
        };
        *content = match &read {
            Ok(read) => InputContent::Value(read.clone()),
            Err(error) => InputContent::Unreadable(error.clone()),
        };
        read
    }

    /// Returns the error of reading the input, if any.
    pub fn error(&self) -> Option<Error> {
        match &*self.content.lock() {
            InputContent::Unreadable(error) => Some(error.clone()),
            _ => None,
        }
    }
}

/// The meaning of several JSON values in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonLines {
    /// One input per value, for Rego policies.
    Inputs,
    /// The elements of one input, for policy documents.
    Elements,
    /// Ambiguous: the run has policies of both kinds.
    Either,
}

/// An iterator over the inputs of all sources.
pub(crate) struct Inputs {
    /// The sources to open, with their indexes.
    sources: VecDeque<(u64, InputSource)>,
    /// The index of the source that was opened last.
    source: u64,
    options: DocumentOptions,
    lines: JsonLines,
    kinds: InputKinds,
    current: Option<(String, InputSplitter, usize)>,
    /// The queued inputs of the last source.
    read: VecDeque<Input>,
    /// `true` if no source was given: the run has one input without a value.
    nothing: bool,
    done: bool,
    /// The time limit for reading one input.
    timeout: Duration,
    deadline: Deadline,
}

impl Inputs {
    /// Creates an iterator over the inputs of `sources`; without any, there is one input without a value.
    pub fn new(
        sources: Option<Vec<(u64, InputSource)>>,
        options: DocumentOptions,
        (lines, kinds): (JsonLines, InputKinds),
        timeout: Duration,
        cancellation: Option<Cancellation>,
    ) -> Self {
        // Statements are an input each.
        let lines = if options.attestation.is_some() { JsonLines::Inputs } else { lines };
        Self {
            nothing: sources.is_none(),
            sources: sources.unwrap_or_default().into(),
            source: 0,
            options,
            lines,
            kinds,
            current: None,
            read: VecDeque::new(),
            done: false,
            timeout,
            deadline: Deadline::new(cancellation),
        }
    }

    /// Returns the number of remaining inputs. A file or stream that wasn't read counts as one.
    pub fn left(&self) -> usize {
        if self.options.combine {
            return usize::from(!self.done);
        }
        // The rest of a file that is partly read.
        let open = self.current.as_ref().is_some_and(|(_, splitter, _)| !splitter.is_over());
        self.sources.len() + self.read.len() + usize::from(open) + usize::from(self.nothing)
    }

    fn one(&mut self) -> Option<Input> {
        if let Some(input) = self.read.pop_front() {
            return Some(input);
        }
        loop {
            let (name, splitter, count) = match &mut self.current {
                Some(current) => current,
                None => match self.open_next()? {
                    Ok((name, splitter)) => self.current.insert((name, splitter, 0)),
                    Err(input) => return Some(*input),
                },
            };
            *count += 1;
            match splitter.next() {
                Ok(Some(text)) if self.lines != JsonLines::Inputs && is_of_lines(&text, name) => {
                    let (name, splitter, _) = self.current.take()?;
                    return Some(self.elements(name, splitter, text));
                }
                Ok(Some(text)) if self.options.is_an_input(&text) => {
                    let file = name.clone();
                    let name = if text.only { file.clone() } else { format!("{file}#{count}") };
                    let (digest, bytes) = (text.digest.clone(), text.bytes.len());
                    let input = Input::new(name, InputContent::Text(text));
                    return Some(input.with_text(&file, digest, bytes));
                }
                Ok(Some(text)) => {
                    let all = prepare::parse_each(&text, name, &self.options);
                    let file = name.clone();
                    let bytes = text.bytes.len().div_ceil(all.len().max(1));
                    let only = text.only && all.len() == 1;
                    for (index, parsed) in all.into_iter().enumerate() {
                        *count += usize::from(index > 0);
                        let name = if only { file.clone() } else { format!("{file}#{count}") };
                        let input = Input::of_parsed(name, parsed, None);
                        self.read.push_back(input.with_text(&file, text.digest.clone(), bytes));
                    }
                    return self.read.pop_front();
                }
                Ok(None) if *count == 1 => {
                    let (name, splitter, _) = self.current.take()?;
                    let error = Error::invalid_argument("the document is empty");
                    let file = name.clone();
                    let input = Input::unreadable(name, error);
                    return Some(input.with_text(&file, splitter.digest(), 0));
                }
                Ok(None) => self.current = None,
                Err(error) => {
                    let name = std::mem::take(name);
                    self.current = None;
                    return Some(Input::unreadable(name, self.unreadable(error)));
                }
            }
        }
    }

    /// Opens the next source to be split. One that isn't split, or can't be opened, is returned as its input.
    fn open_next(&mut self) -> Option<Result<(String, InputSplitter), Box<Input>>> {
        let (index, source) = self.sources.pop_front()?;
        self.source = index;
        let name = source.name().into_owned();
        let unsplit = |input| Some(Err(Box::new(input)));
        let source = match source {
            InputSource::Image(image) => return unsplit(Input::of_image(*image)),
            source => source,
        };
        let expected = self.kinds.expected(&name);
        let is_folder = matches!(source, InputSource::Folder(_));
        if is_folder || !matches!(expected, Expected::Any) {
            return unsplit(self.material(name, source, expected));
        }
        let parser = self.options.parser().or_else(|| source.parser());
        if parser.is_none() && matches!(source, InputSource::File(_)) {
            let message = "the extension of the input names no parser";
            let error = Error::invalid_argument(message);
            return unsplit(Input::unreadable(name, error));
        }
        match source.open(&self.deadline) {
            Ok(stream) => Some(Ok((name, InputSplitter::new(stream, parser)))),
            Err(error) => unsplit(Input::unreadable(name, not_read(error))),
        }
    }

    /// Reads a file to its end, or a folder, as a kind.
    fn material(&self, name: String, source: InputSource, expected: Expected) -> Input {
        if let InputSource::Folder(path) = source {
            let file = MaterialFile::folder(kinds::base_name(&name), &path);
            return self.read_material(&file, expected, &name);
        }
        let mut bytes = Vec::new();
        let stream = source.open(&self.deadline);
        let read =
            stream.and_then(|stream| stream.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
        let error = match read {
            Err(error) => Some(self.unreadable(error)),
            Ok(_) if bytes.len() > MAX_BYTES => Some(too_large("the input")),
            Ok(_) => None,
        };
        if let Some(error) = error {
            return Input { file: Some(name.clone()), ..Input::unreadable(name, error) };
        }
        let (digest, size) = (digest::sha256(&bytes), bytes.len());
        let input = match expected {
            Expected::Of(kind) if kind.name != ATTESTATION => {
                let content = InputContent::Raw(RawMaterial::new(kind, &name, bytes));
                Input { kind: Some(kind.name), ..Input::new(name.clone(), content) }
            }
            expected => {
                let file = MaterialFile::new(kinds::base_name(&name), &bytes);
                self.read_material(&file, expected, &name)
            }
        };
        let digest = input.digest.clone().unwrap_or(digest);
        input.with_text(&name, digest, size)
    }

    /// Reads a file or folder as the expected kind, or as the only kind that accepts it.
    fn read_material(&self, file: &MaterialFile<'_>, expected: Expected, name: &str) -> Input {
        let read = match expected {
            Expected::Of(kind) => {
                kinds::read(kind, file, self.kinds.signatures.as_ref()).map(|read| (kind, read))
            }
            _ => self.kinds.detect(file),
        };
        let input = match read {
            Ok((kind, ReadMaterial { facts, parsed })) => {
                let digest = facts.digest.as_ref().map(|digest| format!("sha256:{digest}"));
                let input = Input::of_parsed(name.to_owned(), Ok(parsed), Some(facts));
                Input { kind: Some(kind.name), digest, ..input }
            }
            Err(error) => Input::unreadable(name.to_owned(), error),
        };
        Input { file: Some(name.to_owned()), ..input }
    }

    fn unreadable(&self, error: std::io::Error) -> Error {
        if self.deadline.is_cancelled() {
            return Error::cancelled("run interrupted");
        }
        let timed_out = error.kind() == std::io::ErrorKind::TimedOut;
        let error = not_read(error);
        if timed_out { error.at_limit(Limit::Timeout) } else { error }
    }

    /// Reads all values of a JSON Lines file as one input.
    fn elements(&self, name: String, mut splitter: InputSplitter, first: InputText) -> Input {
        let (mut list, mut bytes) = (Vec::new(), 0);
        let mut next = if self.lines == JsonLines::Either {
            let message = "ambiguous JSON lines: policy documents take the lines as one input, Rego policies as an input each";
            Err(Error::invalid_argument(message)
                .with_hint("evaluate the policy documents in a separate run"))
        } else {
            Ok(Some(first))
        };
        while let Ok(Some(text)) = next {
            bytes += text.bytes.len();
            next = if bytes > MAX_BYTES {
                Err(too_large("the JSON values of a file"))
            } else {
                prepare::parse(&text, &name).and_then(|parsed| {
                    list.push(parsed.value);
                    splitter.next().map_err(|error| self.unreadable(error))
                })
            };
        }
        let digest = next.is_ok().then(|| splitter.digest());
        let file = Some(name.clone());
        let parsed = next.map(|_| Parsed::of(Value::from(list)));
        Input { file, digest, bytes, ..Input::of_parsed(name, parsed, None) }
    }

    /// Reads all inputs and combines them into one.
    fn combined(&mut self) -> Input {
        let mut all = Input::none();
        let mut hash = Sha256::new();
        let mut list = Vec::new();
        // What is said about named subjects isn't said about an input without any.
        let mut every_subject = true;
        while let Some(input) = self.one() {
            all.bytes += input.bytes;
            if all.bytes > MAX_BYTES {
                return input.with_error(too_large("the combined inputs"));
            }
            let value = match input.value() {
                Ok((value, _)) => value.unwrap_or(Value::Null),
                Err(error) => return input.with_error(error),
            };
            // A line break in a name must not begin the line of another input.
            let name = input.name.replace('\\', "\\\\").replace('\n', "\\n");
            hash.update(format!("{} {name}\n", input.digest.unwrap_or_default()));
            let entry =
                [(Value::from("path"), Value::from(input.name)), (Value::from("contents"), value)];
            list.push(Value::from(Object::from(entry)));
            every_subject &= !input.subjects.is_empty();
            all.subjects.extend(input.subjects);
            if let Some(evidence) = input.evidence {
                all.evidence.get_or_insert_default().extend(evidence);
            }
        }
        if !every_subject {
            all.subjects.clear();
        }
        all.name = format!("(combined: {})", list.len());
        all.digest = Some(digest::finished(hash));
        all.content = Mutex::new(InputContent::Value((Some(Value::from(list)), None)));
        all
    }
}

/// Returns `true` for a value of a file with several values, or with the extension of JSON Lines.
fn is_of_lines(text: &InputText, name: &str) -> bool {
    let extension = Path::new(name).extension();
    let is_lines = |of: &str| extension.is_some_and(|own| own.eq_ignore_ascii_case(of));
    text.parser == Parser::Json && (!text.only || ["jsonl", "ndjson"].into_iter().any(is_lines))
}

fn not_read(error: std::io::Error) -> Error {
    Error::invalid_argument("can't read the input").with_source(error)
}

fn too_large(what: &str) -> Error {
    let limit = rego_platform_client::text::size(MAX_BYTES as u64);
    Error::too_large(format!("{what} exceeded the limit of {limit}"))
}

impl Iterator for Inputs {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        if std::mem::take(&mut self.nothing) {
            // Without inputs there is nothing to combine.
            self.done = true;
            return Some(Input::none());
        }
        let began = Instant::now();
        self.deadline.set(began.checked_add(self.timeout));
        let input = if self.options.combine {
            (!std::mem::replace(&mut self.done, true)).then(|| self.combined())
        } else {
            self.one()
        };
        let (reading, source) = (began.elapsed(), self.source);
        input.map(|input| Input { source, reading, ..input })
    }
}
