//! Evaluation errors: OPA's codes and wording, the position in the policy, the host's own error.

use std::fmt;
use std::sync::Arc;

use crate::syntax::tree::Span;

/// The kinds of evaluation errors: OPA's and ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// `eval_internal_error`: a state that shouldn't be reached.
    Internal,
    /// `eval_cancel_error`: cancelled or timed out.
    Cancel,
    /// `eval_conflict_error`: one document would have two values.
    Conflict,
    /// `eval_type_error`: a built-in function got an argument of a wrong type.
    Type,
    /// `eval_builtin_error`: a built-in function failed.
    Builtin,
    /// `eval_with_merge_error`: data and its replacement can't be merged.
    WithMerge,
    /// `eval_limit_error`: over one of our limits.
    Limit,
    /// `eval_unsupported_error`: something that OPA evaluates and this engine doesn't.
    Unsupported,
    /// `eval_host_error`: a host function ended the evaluation.
    Host,
}

impl ErrorCode {
    /// The code's name in messages.
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

/// The reason for which an evaluation has no result.
/// [`Program::display_error`](crate::Program::display_error) prints it with its
/// position.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EvalError {
    /// The kind of the error.
    pub code: ErrorCode,
    /// The message, in OPA's words where OPA has one for the case.
    pub message: String,
    /// The position in the policy.
    pub span: Option<Span>,
    /// The host's own error, if that ended the evaluation.
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    /// The conflicting values and the definitions that gave them. The message of an `Outcome` lists
    /// them as well.
    pub conflicts: Vec<(Span, String)>,
    /// `true` if the list of conflicts isn't complete.
    pub more_conflicts: bool,
}

impl EvalError {
    /// Makes an error without a source or conflicts.
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
