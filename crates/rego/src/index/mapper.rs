//! The delimiters of `glob.match`, at which patterns and strings are split.

use std::sync::Arc;

/// The characters at which a string is split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapper(pub(super) Arc<str>);

impl Mapper {
    /// Splits a text at its unescaped delimiters.
    pub(super) fn split(&self, text: &str) -> Vec<Arc<str>> {
        split_escaped(text, &self.0)
            .into_iter()
            .map(|part| String::from_utf8_lossy(part).into())
            .collect()
    }
}

/// Splits a text at the characters of `delimiters` that aren't escaped by a backslash.
pub(super) fn split_escaped<'t>(text: &'t str, delimiters: &str) -> Vec<&'t [u8]> {
    let bytes = text.as_bytes();
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'\\' || escaped {
            escaped = !escaped;
        } else if delimiters.contains(char::from(*byte)) {
            parts.extend(bytes.get(start..at));
            start = at + 1;
        }
    }
    parts.extend(bytes.get(start..));
    parts
}
