//! Errors in a text, with their position.

use rego::Value;
use rego::value::Object;

/// A problem with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// A description of the problem.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Problem {
    /// Creates a problem at a byte of the text.
    pub(crate) fn at(text: &str, byte: usize, message: impl Into<String>) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        Self { message: message.into(), line, column }
    }

    /// Creates a problem of a whole line.
    pub(crate) fn on(line: usize, message: impl Into<String>) -> Self {
        Self { message: message.into(), line, column: 1 }
    }
}

/// Adds a member. A duplicate key is an error.
pub(crate) fn add(object: &mut Object, key: &str, value: Value) -> Result<(), String> {
    match object.insert(Value::from(key), value) {
        None => Ok(()),
        Some(_) => Err(twice(key)),
    }
}

/// Returns the message about a key that appears twice.
pub(crate) fn twice(key: &str) -> String {
    format!("the key `{}` appears twice", beginning(key, 80))
}

/// Returns the beginning of a word for messages.
pub(crate) fn shown(word: &str) -> &str {
    beginning(word, 40)
}

fn beginning(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}
