//! How an evaluation fails: OPA's codes and wording, the author's place, the host's own error.

use std::fmt;
use std::sync::Arc;

use crate::rego::syntax::tree::Span;

/// OPA's kinds of evaluation errors, and ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// `eval_internal_error`: what shouldn't be reached.
    Internal,
    /// `eval_cancel_error`: cancelled, or out of time.
    Cancel,
    /// `eval_conflict_error`: one document, two values.
    Conflict,
    /// `eval_type_error`: a built-in function got an argument of a wrong type.
    Type,
    /// `eval_builtin_error`: a built-in function failed.
    Builtin,
    /// `eval_with_merge_error`: data and its replacement don't fit.
    WithMerge,
    /// `eval_limit_error`: over one of our limits.
    Limit,
    /// `eval_unsupported_error`: what OPA would evaluate and we don't.
    Unsupported,
    /// `eval_host_error`: a host function ended the evaluation.
    Host,
}

impl ErrorCode {
    /// Its name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Internal => "eval_internal_error",
            Self::Cancel => "eval_cancel_error",
            Self::Conflict => "eval_conflict_error",
            Self::Type => "eval_type_error",
            Self::Builtin => "eval_builtin_error",
            Self::WithMerge => "eval_with_merge_error",
            Self::Limit => "eval_limit_error",
            Self::Unsupported => "eval_unsupported_error",
            Self::Host => "eval_host_error",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why an evaluation has no result. Its place is printed by
/// [`Program::display_error`](crate::rego::program::Program::display_error).
#[derive(Debug, Clone)]
pub struct EvalError {
    /// Its kind.
    pub code: ErrorCode,
    /// What happened, in OPA's words where OPA has some.
    pub message: String,
    /// The author's place.
    pub span: Option<Span>,
    /// The host's own error, where that ended the evaluation.
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    /// The values that a conflict is between, and the definitions that gave them; also part of the
    /// message that an outcome has.
    pub conflicts: Vec<(Span, String)>,
    /// There are more of them.
    pub more_conflicts: bool,
}

impl EvalError {
    /// Without a host's error.
    pub fn new(code: ErrorCode, span: Option<Span>, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            span,
            source: None,
            conflicts: Vec::new(),
            more_conflicts: false,
        }
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for EvalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
