//! Reading YAML as OPA does, through go-yaml 3: documents of YAML 1.1, with the booleans of 1.2.
//!
//! Owns the meaning of every YAML text that a policy can see: data and input files,
//! `yaml.unmarshal`, and `# METADATA` blocks. There is only this reader, so that none of them can
//! differ from OPA on its own. A text becomes tokens (`tokens`, `scalars`, `names`), these become
//! nodes (`nodes`), and these become a value, as JSON represents them ([`read`]), the fields of a block
//! ([`fields`]), or a type of the host's ([`from_str`]). A caller sets limits, and is told of work and of floats.
//!
//! Intended differences from OPA: bytes that aren't UTF-8 never get here, and a second byte
//! order mark at the beginning, which makes go-yaml lose characters, is an error.

mod chars;
mod decode;
mod fields;
mod legacy;
mod located;
mod nodes;
mod properties;
mod scalar;
mod scalars;
mod timestamp;
mod tokens;
mod typed;

use crate::value::Value;

pub use chars::Mark;
pub use fields::{FieldType, fields};
pub(crate) use legacy::is_word;
pub use legacy::{Legacy, boolean, legacy};
pub use located::Located;
pub(crate) use scalar::Scalar;
pub use typed::{boolean_word, from_str};

/// The circumstances in which a text is read.
pub trait Host {
    /// Accounts for work, in bytes; `false` ends the reading.
    fn charge(&mut self, _work: u64) -> bool {
        true
    }

    /// Called for a number that is stored as a double, with its text and position.
    fn float(&mut self, _text: &str, _at: Mark) {}

    /// Returns `true` if what YAML 1.1 takes for booleans is to be known by its strings (`legacy`).
    fn knows_booleans(&self) -> bool {
        false
    }

    /// Returns `true` if a key that appears twice is an error. OPA takes the last one.
    fn wants_unique_keys(&self) -> bool {
        false
    }
}

/// Limits on a text.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The deepest nesting.
    pub depth: usize,
    /// The maximum number of values, counting those that aliases repeat.
    pub values: usize,
}

impl Limits {
    /// The limits on a file. `serde_json` has the same one on nesting.
    pub const FILE: Self = Self { depth: 128, values: 10_000_000 };
}

/// A problem, with its position.
#[derive(Debug)]
pub struct YamlError {
    /// The problem.
    pub message: String,
    /// The position of the error.
    pub at: Mark,
    /// `true` if the host ended the reading.
    pub stopped: bool,
    /// The beginning of what is being read.
    context: Option<Mark>,
    origin: Origin,
}

/// The stage that finds a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Within a token.
    Token,
    /// In the order of tokens.
    Order,
    /// A type that differs from the one that is needed.
    Type,
    /// Any other problem of values.
    Value,
}

impl YamlError {
    fn new(at: Mark, message: impl Into<String>) -> Self {
        Self { message: message.into(), at, stopped: false, context: None, origin: Origin::Order }
    }

    fn stopped(at: Mark) -> Self {
        Self { stopped: true, ..Self::new(at, "the reading was ended") }
    }

    /// Returns `true` if the text isn't YAML; otherwise, it has no JSON equivalent.
    pub fn is_syntactic(&self) -> bool {
        matches!(self.origin, Origin::Token | Origin::Order)
    }

    /// Returns the line that go-yaml gives, from 1: that of the construct, and not always exact.
    pub(crate) fn line(&self) -> Option<usize> {
        let line = self.context.map(|at| at.line).filter(|line| *line > 0).unwrap_or(self.at.line);
        match self.origin {
            Origin::Token => (line > 0).then_some(line + 1),
            Origin::Order => (line > 0).then_some(line),
            Origin::Type => Some(line + 1),
            Origin::Value => None,
        }
    }
}

/// The first document of a text.
#[derive(Debug)]
pub struct FirstDocument {
    /// The value; `None` if the text contains no document.
    pub value: Option<Value>,
    /// The number of further documents that aren't empty.
    pub further: usize,
}

/// Reads the first document of a text; the further ones must be valid too.
///
/// # Errors
/// Returns an error if the text isn't YAML, or has no JSON equivalent.
pub fn read(text: &str, host: &mut dyn Host, limits: Limits) -> Result<FirstDocument, YamlError> {
    let text = checked(text)?;
    let mut parser = nodes::Parser::new(text, host, limits);
    let root = parser.document()?;
    let mut further = 0;
    while let Some(next) = parser.document()? {
        // An empty one holds nothing, such as the one after a last `---`.
        further += usize::from(!parser.is_empty(next));
    }
    let (nodes, host) = parser.finish();
    let value = root.map(|root| decode::Decoder::new(&nodes, host, limits).document(root));
    Ok(FirstDocument { value: value.transpose()?, further })
}

/// Reads every document of a text.
///
/// # Errors
/// As [`read`], and for a value of a further document.
pub fn read_all(text: &str, host: &mut dyn Host, limits: Limits) -> Result<Vec<Value>, YamlError> {
    let mut parser = nodes::Parser::new(checked(text)?, host, limits);
    let mut roots = Vec::new();
    while let Some(root) = parser.document()? {
        roots.push(root);
    }
    let (nodes, host) = parser.finish();
    let decoded = roots
        .into_iter()
        .map(|root| decode::Decoder::new(&nodes, &mut *host, limits).document(root));
    decoded.collect()
}

/// Returns a text without a byte order mark, unless it contains control characters.
fn checked(text: &str) -> Result<&str, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.starts_with('\u{feff}') {
        return Err(YamlError::new(Mark::default(), "the text begins with two byte order marks"));
    }
    let wrong = |c: char| !matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    let Some(at) = text.find(wrong) else { return Ok(text) };
    let at = Mark::of_byte(text, at);
    let origin = Origin::Value;
    Err(YamlError { origin, ..YamlError::new(at, "control characters are not allowed") })
}
