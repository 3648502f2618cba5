//! A splitter of files and streams into inputs.
//!
//! Owns finding their boundaries without holding more than one in memory: consecutive JSON values
//! (such as JSON Lines) and YAML documents; a text of another format is one. The meaning of the bytes belongs to `prepare`.

use std::io::{self, BufRead, Read};

use sha2::{Digest as _, Sha256};

use super::parser::{MAX_VALUES, Parser};
use crate::digest;

/// The maximum size of an input, in bytes.
pub(crate) const MAX_BYTES: usize = 256 << 20;

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of an input.
#[derive(Debug)]
pub(crate) struct InputText {
    pub bytes: Vec<u8>,
    /// The first line in the stream, from 1.
    pub line: usize,
    pub parser: Parser,
    /// `sha256:` of the entire stream if this is the only document, otherwise of these bytes.
    pub digest: String,
    /// `true` if this is the only document of the stream.
    pub only: bool,
}

pub(crate) type Stream = Box<dyn BufRead + Send>;

/// Splits a stream into documents.
pub(crate) struct InputSplitter {
    stream: Hashing,
    parser: Option<Parser>,
    line: usize,
    first: bool,
    /// `true` once the start was checked for a byte order mark.
    marked: bool,
    /// The first line of the next YAML document.
    lookahead: Vec<u8>,
    /// `true` if a YAML document began.
    begun: bool,
    over: bool,
}

impl InputSplitter {
    /// Creates a splitter. Without a `parser`, the first character distinguishes JSON and YAML.
    pub fn new(stream: Stream, parser: Option<Parser>) -> Self {
        let stream = Hashing { stream, hash: Sha256::new() };
        Self {
            stream,
            parser,
            line: 1,
            first: true,
            marked: false,
            lookahead: Vec::new(),
            begun: false,
            over: false,
        }
    }

    /// Returns the next document; an empty stream has none.
    pub fn next(&mut self) -> io::Result<Option<InputText>> {
        if self.over {
            return Ok(None);
        }
        // Its bytes would be split at line breaks that aren't ones.
        let is_first = self.first && self.line == 1 && self.lookahead.is_empty();
        if is_first && matches!(self.stream.fill_buf()?, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            self.over = true;
            return Err(io::Error::other("unsupported encoding UTF-16: save it as UTF-8"));
        }
        let next = self.read();
        self.over |= !matches!(next, Ok(Some(_)));
        next
    }

    /// Returns the digest of the bytes read so far.
    pub fn digest(&self) -> String {
        digest::finished(self.stream.hash.clone())
    }

    /// Returns `true` if no document follows for certain.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn read(&mut self) -> io::Result<Option<InputText>> {
        let parser = if let Some(parser) = self.parser {
            parser
        } else {
            let parser = match self.skip_space()? {
                Some(b'{' | b'[' | b'"') => Parser::Json,
                _ => Parser::Yaml,
            };
            *self.parser.insert(parser)
        };
        let document = match parser {
            Parser::Json => self.json()?,
            Parser::Yaml => self.yaml()?,
            #[cfg(feature = "formats")]
            Parser::Format(_) => self.whole()?,
        };
        let Some((bytes, line, last)) = document else { return Ok(None) };
        let only = last && std::mem::take(&mut self.first);
        self.first = false;
        self.over = last;
        let digest = if only { self.digest() } else { digest::sha256(&bytes) };
        Ok(Some(InputText { bytes, line, parser, digest, only }))
    }

    /// Skips white space and returns the next byte without consuming it.
    fn skip_space(&mut self) -> io::Result<Option<u8>> {
        loop {
            let buffer = self.stream.fill_buf()?;
            let Some(&first) = buffer.first() else { return Ok(None) };
            if self.first && !std::mem::replace(&mut self.marked, true) && buffer.starts_with(MARK)
            {
                self.stream.consume(MARK.len());
                continue;
            }
            if !first.is_ascii_whitespace() {
                return Ok(Some(first));
            }
            self.line += usize::from(first == b'\n');
            self.stream.consume(1);
        }
    }

    fn json(&mut self) -> io::Result<Option<(Vec<u8>, usize, bool)>> {
        if self.skip_space()?.is_none() {
            return Ok(None);
        }
        let start = self.line;
        let mut scan = JsonScanner::default();
        let mut bytes = Vec::new();
        loop {
            let buffer = self.stream.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            let end = buffer.iter().position(|byte| scan.ends_before(*byte));
            let taken = end.unwrap_or(buffer.len());
            let part = buffer.get(..taken).unwrap_or_default();
            self.line += memchr::memchr_iter(b'\n', part).count();
            bytes.extend_from_slice(part);
            self.stream.consume(taken);
            bounded(bytes.len())?;
            if scan.values > MAX_VALUES {
                return Err(io::Error::other(format!(
                    "too many values in a document: the limit is {MAX_VALUES}"
                )));
            }
            if end.is_some() {
                break;
            }
        }
        let last = self.skip_space()?.is_none();
        Ok(Some((bytes, start, last)))
    }

    #[cfg(feature = "formats")]
    fn whole(&mut self) -> io::Result<Option<(Vec<u8>, usize, bool)>> {
        let mut bytes = Vec::new();
        self.stream.by_ref().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        bounded(bytes.len())?;
        // The format says what an empty text is.
        Ok(Some((bytes, 1, true)))
    }

    fn yaml(&mut self) -> io::Result<Option<(Vec<u8>, usize, bool)>> {
        let mut bytes = std::mem::take(&mut self.lookahead);
        let mut start = self.line - usize::from(!bytes.is_empty());
        loop {
            let mut line = Vec::new();
            let limit = (MAX_BYTES - bytes.len().min(MAX_BYTES)) as u64 + 1;
            self.stream.by_ref().take(limit).read_until(b'\n', &mut line)?;
            bounded(bytes.len() + line.len())?;
            if line.is_empty() {
                return Ok(has_content(&bytes, true).then_some((bytes, start, true)));
            }
            // Readers differ in whether it is part of the first key behind it.
            if self.line > 1 && line.starts_with(MARK) {
                let line = self.line;
                let message = format!("unexpected byte order mark in line {line}: remove it");
                return Err(io::Error::other(message));
            }
            self.line += 1;
            let (begins, ends) = (marks(&line, b"---"), marks(&line, b"..."));
            if (begins || ends) && has_content(&bytes, false) {
                self.lookahead = line;
                self.begun = true;
                return Ok(Some((bytes, start, false)));
            }
            if begins {
                // Directives and comments before a document belong to it; an empty document before
                // it doesn't, nor does the end of one.
                if self.begun {
                    let is_mark = |line: &[u8]| marks(line, b"---") || marks(line, b"...");
                    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
                    let kept = lines.iter().rposition(|line| is_mark(line)).map_or(0, |at| at + 1);
                    bytes = lines.split_off(kept).concat();
                }
                self.begun = true;
                if bytes.is_empty() {
                    start = self.line - 1;
                }
            } else if ends && self.begun {
                // What follows without a `---` isn't a document: the end stays, so that reading it
                // says so.
                bytes.clear();
                start = self.line - 1;
            }
            bytes.extend_from_slice(&line);
        }
    }
}

fn bounded(length: usize) -> io::Result<()> {
    if length > MAX_BYTES {
        return Err(io::Error::other(format!(
            "document too large: the limit is {}",
            rego_platform_client::text::size(MAX_BYTES as u64)
        )));
    }
    Ok(())
}

fn marks(line: &[u8], marker: &[u8]) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// Returns `true` if the bytes have more than comments, markers and directives. Directives precede a document
/// that begins with `---`, so at the end they count as content.
fn has_content(bytes: &[u8], at_end: bool) -> bool {
    let mut is_before = !at_end;
    bytes.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| {
        let (begins, ends) = (marks(line, b"---"), marks(line, b"..."));
        is_before = if begins { false } else { is_before || ends && !at_end };
        let content = if begins { line.get(3..).unwrap_or_default() } else { line }.trim_ascii();
        let is_directive = is_before && line.starts_with(b"%");
        !content.is_empty() && !content.starts_with(b"#") && !is_directive && !ends
    })
}

/// A scanner for the end of a JSON value.
#[derive(Default)]
struct JsonScanner {
    depth: usize,
    /// The number of values seen so far, including keys, counted by brackets and separators.
    values: usize,
    /// `Some` within a string, with whether the next byte is escaped.
    text: Option<bool>,
    begun: bool,
    done: bool,
}

impl JsonScanner {
    /// Advances by `byte`. Returns `true` if the value ended before it.
    fn ends_before(&mut self, byte: u8) -> bool {
        if self.done {
            return true;
        }
        if let Some(escaped) = self.text {
            self.text = Some(!escaped && byte == b'\\');
            if !escaped && byte == b'"' {
                self.text = None;
                self.done = self.depth == 0;
            }
            return false;
        }
        match byte {
            b'"' => self.text = Some(false),
            b'{' | b'[' => {
                self.depth += 1;
                self.values += 1;
            }
            b',' | b':' => self.values += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.done = self.depth == 0;
            }
            _ if self.depth == 0 && self.begun && byte.is_ascii_whitespace() => return true,
            _ => {}
        }
        self.begun = true;
        false
    }
}

/// A reader that hashes the consumed bytes.
struct Hashing {
    stream: Stream,
    hash: Sha256,
}

impl Read for Hashing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(into)?;
        self.hash.update(into.get(..length).unwrap_or_default());
        Ok(length)
    }
}

impl BufRead for Hashing {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.stream.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        if let Ok(buffer) = self.stream.fill_buf() {
            self.hash.update(buffer.get(..length).unwrap_or_default());
        }
        self.stream.consume(length);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn split(text: &str, parser: Option<Parser>) -> Vec<(String, usize, bool)> {
        // A buffer of three bytes, so that documents cross its boundaries.
        let stream = Box::new(io::BufReader::with_capacity(3, io::Cursor::new(text.to_owned())));
        let mut splitter = InputSplitter::new(stream, parser);
        let mut found = Vec::new();
        while let Some(document) = splitter.next().unwrap() {
            if document.only {
                assert_eq!(document.digest, digest::sha256(text.as_bytes()));
            }
            found.push((String::from_utf8(document.bytes).unwrap(), document.line, document.only));
        }
        found
    }

    fn texts(text: &str, parser: Option<Parser>) -> Vec<String> {
        split(text, parser).into_iter().map(|(text, ..)| text).collect()
    }

    #[test]
    fn consecutive_json_values_are_split() {
        let lines = "{\"a\": \"}\\\"{\"}\n\n[1, {\"b\": []}] \"x\" 12 true\n{";
        let expected = ["{\"a\": \"}\\\"{\"}", "[1, {\"b\": []}]", "\"x\"", "12", "true", "{"];
        assert_eq!(texts(lines, Some(Parser::Json)), expected);
        assert_eq!(split("\n {\n} \n", None), [("{\n}".to_owned(), 2, true)]);
        assert_eq!(split("{}\n{}", None)[1].1, 2);
        assert_eq!(texts("{} x", None), ["{}", "x"]);
        assert_eq!(texts("\u{feff}{}", None), ["{}"]);
        assert!(texts(" \n", Some(Parser::Json)).is_empty());
    }

    #[test]
    fn the_number_of_values_in_a_document_is_bounded() {
        let endless = io::repeat(b'[').take(MAX_VALUES as u64 * 3);
        let mut splitter = InputSplitter::new(Box::new(io::BufReader::new(endless)), None);
        let error = splitter.next().unwrap_err().to_string();
        assert!(error.contains("too many values in a document: the limit is 10000000"), "{error}");
        assert!(splitter.next().unwrap().is_none());
    }

    #[test]
    fn a_byte_order_mark_stands_at_the_start_once() {
        let first = |text: &[u8], parser| {
            let stream = Box::new(io::Cursor::new(text.to_vec()));
            let mut splitter = InputSplitter::new(stream, Some(parser));
            let mut next = || splitter.next().map(|document| document.map(|one| one.bytes));
            (next(), next())
        };
        let text = "\u{feff}\u{feff}{}".as_bytes();
        assert_eq!(first(text, Parser::Json).0.unwrap().unwrap(), "\u{feff}{}".as_bytes());
        assert_eq!(first(b"\xef{}", Parser::Json).0.unwrap().unwrap(), b"\xef{}");
        let later = first("a: 1\n---\n\u{feff}b: 1\n".as_bytes(), Parser::Yaml);
        let error = later.0.and(later.1).unwrap_err().to_string();
        assert_eq!(error, "unexpected byte order mark in line 3: remove it");
    }

    #[test]
    fn yaml_documents_are_split_at_markers() {
        assert_eq!(split("a: 1\nb: 2\n", None), [("a: 1\nb: 2\n".to_owned(), 1, true)]);
        let two = "# c\n---\na: 1\n--- # x\nb: |\n  --- no\n...\n---\n";
        let found = texts(two, Some(Parser::Yaml));
        assert_eq!(found, ["# c\n---\na: 1\n", "--- # x\nb: |\n  --- no\n"]);
        assert!(texts("# nothing\n---\n", Some(Parser::Yaml)).is_empty());
        assert_eq!(texts("---\na: 1\n---\n\n---\nb: 2", Some(Parser::Yaml)).len(), 2);
        let empty = split("%YAML 1.2\n--- # nothing\n---\na: 1\n", Some(Parser::Yaml));
        assert_eq!(empty, [("---\na: 1\n".to_owned(), 3, true)]);
        // What isn't a document stays as it is, to be refused.
        for (text, expected) in [
            ("a: 1\n...\nb: 2", ["a: 1\n", "...\nb: 2"].as_slice()),
            ("a: 1\n...\n# c\n---\nb: 2", &["a: 1\n", "# c\n---\nb: 2"]),
            ("a: 1\n...\n%YAML 1.1\n---\nb: 2", &["a: 1\n", "%YAML 1.1\n---\nb: 2"]),
            ("---\n...\n---\na: 1", &["---\na: 1"]),
            ("...\na: 1", &["...\na: 1"]),
            ("...\n---\na: 1", &["...\n---\na: 1"]),
            ("a: 1\n...\n...\n", &["a: 1\n"]),
            // A directive stands in the first column, before a document.
            ("a: 1\n---\n  %b: 1\n", &["a: 1\n", "---\n  %b: 1\n"]),
            ("a: 1\n---\n%b: 1\n---\nc: 1", &["a: 1\n", "---\n%b: 1\n", "---\nc: 1"]),
            ("%YAML 1.2\n", &["%YAML 1.2\n"]),
        ] {
            assert_eq!(texts(text, Some(Parser::Yaml)), expected, "{text:?}");
        }
    }
}
