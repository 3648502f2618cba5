//! JSON text to values and back.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::Value;

/// What may be read.
#[derive(Debug, Clone, Copy)]
pub struct JsonLimits {
    /// Levels of nesting.
    pub depth: usize,
}

/// Text that isn't JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON: {message} at line {line}, column {column}")]
pub struct JsonError {
    /// What is wrong.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}
