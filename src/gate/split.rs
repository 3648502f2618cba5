//! The documents of a file or stream, one after another.
//!
//! Owns telling them apart without reading more than one into memory: JSON values that follow one
//! another (JSON Lines among them) and YAML documents. What the bytes mean is `documents`'.

use std::io::{self, BufRead, Read};

use sha2::{Digest as _, Sha256};

/// The largest document.
pub(super) const MAX_BYTES: usize = 256 << 20;

/// The most values of a JSON document, as of YAML: a value takes far more memory than the two bytes
/// that it may be written in.
pub(super) const MAX_VALUES: usize = 10_000_000;

/// How a stream's documents are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Yaml,
}

/// A document's bytes.
#[derive(Debug)]
pub(super) struct Piece {
    pub bytes: Vec<u8>,
    /// Its first line in the stream, from 1.
    pub line: usize,
    pub form: Form,
    /// `sha256:` of the whole stream where this is all there is, else of these bytes.
    pub digest: String,
    /// True if this is the only document of the stream.
    pub only: bool,
}

pub(super) type Stream = Box<dyn BufRead + Send>;

/// Takes a stream apart.
pub(super) struct Pieces {
    stream: Hashing,
    form: Option<Form>,
    line: usize,
    first: bool,
    /// The start of the next YAML document.
    ahead: Vec<u8>,
    over: bool,
}

impl Pieces {
    /// `form` is what the stream's name says, if it says anything.
    pub fn new(stream: Stream, form: Option<Form>) -> Self {
        let stream = Hashing { stream, hash: Sha256::new() };
        Self { stream, form, line: 1, first: true, ahead: Vec::new(), over: false }
    }

    /// The next document; an empty stream has none.
    pub fn next(&mut self) -> io::Result<Option<Piece>> {
        if self.over {
            return Ok(None);
        }
        let next = self.read();
        self.over |= !matches!(next, Ok(Some(_)));
        next
    }

    /// True if it is known that nothing follows.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn read(&mut self) -> io::Result<Option<Piece>> {
        let form = if let Some(form) = self.form {
            form
        } else {
            let form = match self.skip_space()? {
                Some(b'{' | b'[' | b'"') => Form::Json,
                _ => Form::Yaml,
            };
            *self.form.insert(form)
        };
        let piece = match form {
            Form::Json => self.json()?,
            Form::Yaml => self.yaml()?,
        };
        let Some((bytes, line, last)) = piece else { return Ok(None) };
        let only = last && std::mem::take(&mut self.first);
        self.first = false;
        self.over = last;
        let digest =
            if only { self.stream.hash.clone().finalize() } else { Sha256::digest(&bytes) };
        Ok(Some(Piece { bytes, line, form, digest: hex(&digest), only }))
    }

    /// The next byte that is no white space, which stays.
    fn skip_space(&mut self) -> io::Result<Option<u8>> {
        loop {
            let buffer = self.stream.fill_buf()?;
            let Some(&first) = buffer.first() else { return Ok(None) };
            // A byte order mark counts as white space at the start only.
            let mark = self.line == 1 && self.first && [0xef, 0xbb, 0xbf].contains(&first);
            if !first.is_ascii_whitespace() && !mark {
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
        let mut scan = Scan::default();
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
                    "a document holds more than {MAX_VALUES} values"
                )));
            }
            if end.is_some() {
                break;
            }
        }
        let last = self.skip_space()?.is_none();
        Ok(Some((bytes, start, last)))
    }

    fn yaml(&mut self) -> io::Result<Option<(Vec<u8>, usize, bool)>> {
        let mut bytes = std::mem::take(&mut self.ahead);
        let mut start = self.line - usize::from(!bytes.is_empty());
        loop {
            let mut line = Vec::new();
            let limit = (MAX_BYTES - bytes.len().min(MAX_BYTES)) as u64 + 1;
            self.stream.by_ref().take(limit).read_until(b'\n', &mut line)?;
            bounded(bytes.len() + line.len())?;
            if line.is_empty() {
                return Ok(has_content(&bytes).then_some((bytes, start, true)));
            }
            self.line += 1;
            let begins = marks(&line, b"---");
            if (begins || marks(&line, b"...")) && has_content(&bytes) {
                if begins {
                    self.ahead = line;
                }
                return Ok(Some((bytes, start, false)));
            }
            if begins {
                // Directives and comments before a document belong to it, an empty document before
                // it doesn't.
                if bytes.split(|byte| *byte == b'\n').any(|line| marks(line, b"---")) {
                    bytes.clear();
                }
                if bytes.is_empty() {
                    start = self.line - 1;
                }
            } else if marks(&line, b"...") {
                bytes.clear();
                continue;
            }
            bytes.extend_from_slice(&line);
        }
    }
}

fn bounded(length: usize) -> io::Result<()> {
    if length > MAX_BYTES {
        return Err(io::Error::other(format!("a document is larger than {MAX_BYTES} bytes")));
    }
    Ok(())
}

fn marks(line: &[u8], marker: &[u8]) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// True if there is more than comments, directives and markers.
fn has_content(bytes: &[u8]) -> bool {
    bytes.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| {
        let line = if marks(line, b"---") { line.get(3..).unwrap_or_default() } else { line };
        let line = line.trim_ascii();
        !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"%")
    })
}

/// Finds the end of a JSON value.
#[derive(Default)]
struct Scan {
    depth: usize,
    /// The number of values that were seen, keys among them, by what stands between them.
    values: usize,
    /// In a string, and whether the next byte is escaped.
    text: Option<bool>,
    begun: bool,
    done: bool,
}

impl Scan {
    /// True if the value ended before `byte`.
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

/// `sha256:…`.
pub(super) fn hex(digest: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("sha256:");
    for byte in digest {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Hashes what is consumed.
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

    fn pieces(text: &str, form: Option<Form>) -> Vec<(String, usize, bool)> {
        // A buffer of three bytes, so that every boundary is met.
        let stream = Box::new(io::BufReader::with_capacity(3, io::Cursor::new(text.to_owned())));
        let mut pieces = Pieces::new(stream, form);
        let mut found = Vec::new();
        while let Some(piece) = pieces.next().unwrap() {
            if piece.only {
                assert_eq!(piece.digest, hex(&Sha256::digest(text.as_bytes())));
            }
            found.push((String::from_utf8(piece.bytes).unwrap(), piece.line, piece.only));
        }
        found
    }

    fn texts(text: &str, form: Option<Form>) -> Vec<String> {
        pieces(text, form).into_iter().map(|(text, ..)| text).collect()
    }

    #[test]
    fn json_values_follow_one_another() {
        let lines = "{\"a\": \"}\\\"{\"}\n\n[1, {\"b\": []}] \"x\" 12 true\n{";
        let expected = ["{\"a\": \"}\\\"{\"}", "[1, {\"b\": []}]", "\"x\"", "12", "true", "{"];
        assert_eq!(texts(lines, Some(Form::Json)), expected);
        assert_eq!(pieces("\n {\n} \n", None), [("{\n}".to_owned(), 2, true)]);
        assert_eq!(pieces("{}\n{}", None)[1].1, 2);
        assert_eq!(texts("{} x", None), ["{}", "x"]);
        assert_eq!(texts("\u{feff}{}", None), ["{}"]);
        assert!(texts(" \n", Some(Form::Json)).is_empty());
    }

    #[test]
    fn documents_are_bounded_in_values() {
        let endless = io::repeat(b'[').take(MAX_VALUES as u64 * 3);
        let mut pieces = Pieces::new(Box::new(io::BufReader::new(endless)), None);
        let error = pieces.next().unwrap_err().to_string();
        assert!(error.contains("more than 10000000 values"), "{error}");
        assert!(pieces.next().unwrap().is_none());
    }

    #[test]
    fn yaml_documents_have_markers() {
        assert_eq!(pieces("a: 1\nb: 2\n", None), [("a: 1\nb: 2\n".to_owned(), 1, true)]);
        let two = "# c\n---\na: 1\n--- # x\nb: |\n  --- no\n...\n---\n";
        let found = texts(two, Some(Form::Yaml));
        assert_eq!(found, ["# c\n---\na: 1\n", "--- # x\nb: |\n  --- no\n"]);
        assert!(texts("# nothing\n---\n", Some(Form::Yaml)).is_empty());
        assert_eq!(texts("---\na: 1\n---\n\n---\nb: 2", Some(Form::Yaml)).len(), 2);
        let empty = pieces("%YAML 1.2\n--- # nothing\n---\na: 1\n", Some(Form::Yaml));
        assert_eq!(empty, [("---\na: 1\n".to_owned(), 3, true)]);
    }
}
