//! Errors in policies, with their positions.
//!
//! Owns the texts of a load ([`Sources`]), positions in them ([`Span`]) and the errors that refer to them ([`Problem`]), in OPA's
//! codes and style: `policy.rego:3: rego_parse_error: …`.

use std::fmt;
use std::sync::Arc;

/// A file of a load; an index into its list of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// The position of a node in the text: byte offsets, exclusive at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file of the position.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

/// The texts of a load. A [`FileId`] is an index into them.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<Source>,
}

/// A text and its line index.
#[derive(Debug, Clone)]
pub struct Source {
    path: Arc<str>,
    text: Arc<str>,
    /// The offset of the first byte of each line.
    lines: Vec<u32>,
    /// The number of characters before each block of [`BLOCK`] bytes; empty if all are ASCII.
    blocks: Vec<u32>,
}

/// A position in a text as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position<'a> {
    /// The path of the file; empty for a query.
    pub path: &'a str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in code points.
    pub column: u32,
}

impl Sources {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text. Lines beyond 4 GiB aren't indexed.
    pub fn add(&mut self, path: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(Source::new(path, text));
        id
    }

    /// Returns the text with an id.
    pub fn get(&self, file: FileId) -> Option<&Source> {
        self.files.get(usize::try_from(file.0).ok()?)
    }

    /// All texts with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Source)> {
        (0..).map(FileId).zip(&self.files)
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns `true` if there are no texts.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The position at which a span begins.
    pub fn position(&self, span: Span) -> Position<'_> {
        self.get(span.file).map_or(Position { path: "", line: 1, column: 1 }, |source| {
            let (line, column) = source.line_column(span.start);
            Position { path: source.path(), line, column }
        })
    }

    /// The text of a span, as the author wrote it.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).and_then(|source| source.slice(span)).unwrap_or_default()
    }
}

/// The number of bytes whose characters are counted together: lines can be long, and have many
/// positions.
const BLOCK: usize = 256;

/// Counts the bytes that begin a character.
fn characters_in(bytes: &[u8]) -> u32 {
    let count = bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn blocks(text: &str) -> Vec<u32> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut before = 0_u32;
    let mut blocks = vec![0];
    for block in text.as_bytes().chunks(BLOCK) {
        before = before.saturating_add(characters_in(block));
        blocks.push(before);
    }
    blocks
}

impl Source {
    /// Indexes the lines of a text.
    pub fn new(path: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        let lines = std::iter::once(0).chain(ends.filter_map(|end| u32::try_from(end + 1).ok()));
        Self { path: path.into(), lines: lines.collect(), blocks: blocks(&text), text }
    }

    /// The path of the file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The whole text.
    pub fn all(&self) -> &Arc<str> {
        &self.text
    }

    /// A part of the text.
    pub fn slice(&self, span: Span) -> Option<&str> {
        self.text.get(usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?)
    }

    /// The line and the column of a byte, both from 1; columns count code points.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let count = self.lines.partition_point(|line| *line <= offset);
        let start =
            count.checked_sub(1).and_then(|index| self.lines.get(index)).copied().unwrap_or(0);
        let column = self.characters(offset).saturating_sub(self.characters(start)) + 1;
        (u32::try_from(count).unwrap_or(u32::MAX).max(1), column)
    }

    /// The number of characters before a byte.
    fn characters(&self, offset: u32) -> u32 {
        let at = usize::try_from(offset).unwrap_or(usize::MAX).min(self.text.len());
        let Some(before) = self.blocks.get(at / BLOCK) else {
            return u32::try_from(at).unwrap_or(u32::MAX);
        };
        let rest = self.text.as_bytes().get(at / BLOCK * BLOCK..at).unwrap_or_default();
        before.saturating_add(characters_in(rest))
    }

    /// A line, from 1, without its line break.
    pub fn line(&self, line: u32) -> Option<&str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = usize::try_from(*self.lines.get(index)?).ok()?;
        let end = match self.lines.get(index + 1) {
            Some(next) => usize::try_from(*next).ok()?.checked_sub(1)?,
            None => self.text.len(),
        };
        self.text.get(start..end).map(|line| line.strip_suffix('\r').unwrap_or(line))
    }
}

/// The kinds of load errors: OPA's and ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ProblemCode {
    /// The text isn't valid Rego.
    Parse,
    /// A compile stage rejects the policy.
    Compile,
    /// Types don't match.
    Type,
    /// A variable is unsafe: it has no value where it's used.
    UnsafeVar,
    /// Rules depend on themselves.
    Recursion,
    /// OPA accepts it, and this engine doesn't.
    Unsupported,
    /// One of our limits is exceeded.
    Limit,
}

impl ProblemCode {
    /// The code's name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parse => "rego_parse_error",
            Self::Compile => "rego_compile_error",
            Self::Type => "rego_type_error",
            Self::UnsafeVar => "rego_unsafe_var_error",
            Self::Recursion => "rego_recursion_error",
            Self::Unsupported => "rego_unsupported_error",
            Self::Limit => "rego_limit_error",
        }
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error in a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The error class of OPA.
    pub code: ProblemCode,
    /// The text that it is about.
    pub span: Span,
    /// The message, in OPA's words where OPA has one for the case.
    pub message: String,
    /// Further lines of the message, such as the types that were found and expected.
    pub details: Vec<String>,
    /// The author's probable intention, and the text to write instead.
    pub hints: Vec<String>,
    /// `true` if the text is valid in Rego v0; a hint then contains the syntax of v1.
    pub valid_in_v0: bool,
}

/// The problems of a load. As an error, it's never empty.
pub type Problems = Vec<Problem>;

impl Problem {
    /// Creates a problem without details or hints.
    pub fn new(code: ProblemCode, span: Span, message: impl Into<String>) -> Self {
        let (details, hints) = (Vec::new(), Vec::new());
        Self { code, span, message: message.into(), details, hints, valid_in_v0: false }
    }

    /// `rego_parse_error`
    pub fn parse(span: Span, message: impl Into<String>) -> Self {
        Self::new(ProblemCode::Parse, span, message)
    }

    /// `rego_compile_error`
    pub fn compile(span: Span, message: impl Into<String>) -> Self {
        Self::new(ProblemCode::Compile, span, message)
    }

    /// `rego_type_error`
    pub fn types(span: Span, message: impl Into<String>) -> Self {
        Self::new(ProblemCode::Type, span, message)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Marks the text as valid in Rego v0.
    #[must_use]
    pub fn valid_in_v0(mut self) -> Self {
        self.valid_in_v0 = true;
        self
    }

    /// Adds a detail line.
    #[must_use]
    pub fn detail(mut self, line: impl Into<String>) -> Self {
        self.details.push(line.into());
        self
    }

    /// Formats the problem with its position: `policy.rego:3: rego_parse_error: …`, or `3:7:
    /// rego_parse_error: …` if the text has no path.
    pub fn display<'a>(&'a self, sources: &'a Sources) -> impl fmt::Display + 'a {
        Located { problem: self, sources }
    }
}

/// Formats the problem without its position.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        for line in &self.details {
            write!(f, "\n\t{line}")?;
        }
        for hint in &self.hints {
            write!(f, "\n\thint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

struct Located<'a> {
    problem: &'a Problem,
    sources: &'a Sources,
}

impl fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { path, line, column } = self.sources.position(self.problem.span);
        if path.is_empty() {
            write!(f, "{line}:{column}: {}", self.problem)
        } else {
            write!(f, "{path}:{line}: {}", self.problem)
        }
    }
}

/// Sorts problems in OPA's order: by position, then by message.
pub fn sort_by_position(problems: &mut [Problem], sources: &Sources) {
    problems.sort_by(|a, b| {
        let place = |problem: &Problem| sources.position(problem.span);
        place(a).cmp(&place(b)).then_with(|| a.message.cmp(&b.message))
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn a_problem_shows_its_position_as_opa_does() {
        let mut sources = Sources::new();
        let file = sources.add("a.rego", "package a\n\né x\n");
        let query = sources.add("", "é x");
        let span = |file, start| Span { file, start, end: start + 1 };
        let problem = Problem::parse(span(file, 14), "unexpected").hint("write it");
        let text = problem.display(&sources).to_string();
        assert_eq!(text, "a.rego:3: rego_parse_error: unexpected\n\thint: write it");
        let problem = Problem::parse(span(query, 3), "unexpected");
        assert_eq!(problem.display(&sources).to_string(), "1:3: rego_parse_error: unexpected");
        assert_eq!(sources.get(file).unwrap().line(3), Some("é x"));
    }

    /// Counting from the start of the line for each position would not end.
    #[test]
    fn columns_in_a_long_line_are_found_without_reading_it() {
        let line = format!("{}é", "aé".repeat(5_000_000));
        let source = Source::new("a.rego", format!("x\n{line}\ny"));
        for index in 0..200_000_u32 {
            let character = index * 25;
            assert_eq!(source.line_column(2 + character * 3), (2, character * 2 + 1));
        }
        let plain = Source::new("a.rego", format!("x\n{}\ny", "a".repeat(10_000_000)));
        for index in 0..200_000_u32 {
            assert_eq!(plain.line_column(2 + index), (2, index + 1));
        }
        assert_eq!(plain.line_column(u32::MAX).0, 3);
    }
}
