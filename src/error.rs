//! The error of every call to the service and of every evaluation, and its kind.
//!
//! Owns the vocabulary of failure: what a host can match on ([`ErrorKind`]) and what a person
//! reads (the message and, where there is one, the next step). It does not decide which answer of
//! the service is which kind; that is the client's (`client::answer`).
//!
//! Messages are lowercase, without a full stop, with the user's own input in backticks. `Display`
//! never repeats the source: print the chain with [`Error::report`].

use crate::Setting;
use std::sync::Arc;

/// What went wrong, coarse enough to act on.
///
/// The HTTP status decides the kind of a service's error (interface section 7); the rest is
/// found out by the client or by the evaluation itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument of a function is wrong, found before sending or by the service (400).
    InvalidArgument,
    /// No token, an expired token, or one that the service refuses (401, redirect to a login page).
    Unauthenticated,
    /// The token may not do this (403); also what a missing paid plan looks like.
    PermissionDenied,
    /// The service knows no such resource (404).
    NotFound,
    /// A digest is known under several kinds and none was chosen (400 of `discover`).
    Ambiguous,
    /// Too many requests, still after every retry (429).
    RateLimited,
    /// The service can't be reached or fails (5xx, broken connections), still after every retry.
    Unavailable,
    /// A call or an evaluation took longer than it may.
    TimedOut,
    /// The host cancelled the evaluation, or dropped its future.
    Cancelled,
    /// Content doesn't hash to the digest it was asked for by.
    Tampered,
    /// A body, a list, a budget or a value is larger than its limit.
    TooLarge,
    /// An answer that isn't what the interface documents.
    Protocol,
    /// An asynchronous operation ended as failed or cancelled.
    OperationFailed,
    /// The client is set up wrongly: URLs, certificates, configuration.
    Configuration,
    /// The policy itself is wrong: it doesn't load, or its evaluation ends with an error.
    Policy,
    /// A function was called that this evaluation has no answer for: an unmocked call in a test,
    /// or one that a recording doesn't know.
    NotAnswered,
    /// The interpreter or this crate broke; never the caller's fault.
    Internal,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::InvalidArgument,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::NotFound,
        Self::Ambiguous,
        Self::RateLimited,
        Self::Unavailable,
        Self::TimedOut,
        Self::Cancelled,
        Self::Tampered,
        Self::TooLarge,
        Self::Protocol,
        Self::OperationFailed,
        Self::Configuration,
        Self::Policy,
        Self::NotAnswered,
        Self::Internal,
    ];

    /// The stable name of the kind, as reports and recordings spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid argument",
            Self::Unauthenticated => "unauthenticated",
            Self::PermissionDenied => "permission denied",
            Self::NotFound => "not found",
            Self::Ambiguous => "ambiguous",
            Self::RateLimited => "rate limited",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed out",
            Self::Cancelled => "cancelled",
            Self::Tampered => "tampered",
            Self::TooLarge => "too large",
            Self::Protocol => "protocol",
            Self::OperationFailed => "operation failed",
            Self::Configuration => "configuration",
            Self::Policy => "policy",
            Self::NotAnswered => "not answered",
            Self::Internal => "internal",
        }
    }

    /// The stable name of the kind in one word, as diagnostics have it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid-argument",
            Self::Unauthenticated => "unauthenticated",
            Self::PermissionDenied => "permission-denied",
            Self::NotFound => "not-found",
            Self::Ambiguous => "ambiguous",
            Self::RateLimited => "rate-limited",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed-out",
            Self::Cancelled => "cancelled",
            Self::Tampered => "tampered",
            Self::TooLarge => "too-large",
            Self::Protocol => "protocol",
            Self::OperationFailed => "operation-failed",
            Self::Configuration => "configuration",
            Self::Policy => "policy",
            Self::NotAnswered => "not-answered",
            Self::Internal => "internal",
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A limit of an evaluation that a host can raise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// [`Budget::timeout`](crate::evaluate::Budget::timeout), or that of a call,
    /// [`PlatformBuilder::call_timeout`](crate::PlatformBuilder::call_timeout)
    Timeout,
    /// [`Budget::passes`](crate::evaluate::Budget::passes)
    Passes,
    /// [`Budget::calls`](crate::evaluate::Budget::calls)
    Calls,
    /// [`Budget::bytes`](crate::evaluate::Budget::bytes)
    Bytes,
    /// [`Budget::memory`](crate::evaluate::Budget::memory)
    Memory,
    /// [`PlatformBuilder::max_answer_bytes`](crate::PlatformBuilder::max_answer_bytes), and
    /// [`max_artifact_bytes`](crate::PlatformBuilder::max_artifact_bytes)
    AnswerBytes,
}

type Source = Arc<dyn std::error::Error + Send + Sync + 'static>;

/// A failure, cheap to clone so that it can stay with an evaluation ("sticky").
///
/// Never holds a token or a signed URL.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call of one of the functions failed.
    #[error("{function}: {message}")]
    Call {
        /// The function's full name, such as `platform.discover`.
        function: Arc<str>,
        /// What happened.
        message: String,
        /// What went wrong, for a host to match on.
        kind: ErrorKind,
        /// What to do next, a sentence fragment.
        hint: Option<String>,
        /// The limit that was reached, if that is what happened.
        limit: Option<Limit>,
        /// The setting that decides about it, if there is one.
        setting: Option<Setting>,
        /// The underlying error.
        source: Option<Source>,
    },
    /// Anything that isn't one call's failure.
    #[error("{message}")]
    Other {
        /// What happened.
        message: String,
        /// What went wrong, for a host to match on.
        kind: ErrorKind,
        /// What to do next, a sentence fragment.
        hint: Option<String>,
        /// The limit that was reached, if that is what happened.
        limit: Option<Limit>,
        /// The setting that decides about it, if there is one.
        setting: Option<Setting>,
        /// The underlying error.
        source: Option<Source>,
    },
    /// Policies that don't load, or an evaluation that the policy itself made fail; each
    /// diagnostic has a position in the author's text.
    #[error("{}", summary(.0))]
    Policy(Arc<[crate::Diagnostic]>),
}

fn summary(diagnostics: &[crate::Diagnostic]) -> String {
    match diagnostics {
        [] => "the policy is wrong".to_owned(),
        [one] => one.headline(),
        [first, rest @ ..] => format!("{} (and {} more)", first.headline(), rest.len()),
    }
}

impl Error {
    /// An error of `kind` that belongs to no particular call.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Other {
            message: message.into(),
            kind,
            hint: None,
            limit: None,
            setting: None,
            source: None,
        }
    }

    /// An error made of diagnostics with positions.
    pub fn policy(diagnostics: Vec<crate::Diagnostic>) -> Self {
        Self::Policy(diagnostics.into())
    }

    /// What went wrong, for a host to match on.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Call { kind, .. } | Self::Other { kind, .. } => *kind,
            Self::Policy(_) => ErrorKind::Policy,
        }
    }

    /// What to do next, if there is something to say.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Call { hint, .. } | Self::Other { hint, .. } => hint.as_deref(),
            Self::Policy(_) => None,
        }
    }

    /// The limit that was reached, if that is what happened: a host words how to raise it.
    pub const fn limit(&self) -> Option<Limit> {
        match self {
            Self::Call { limit, .. } | Self::Other { limit, .. } => *limit,
            Self::Policy(_) => None,
        }
    }

    /// The setting that decides about what failed, if there is one: a host words how to change it.
    pub const fn setting(&self) -> Option<Setting> {
        match self {
            Self::Call { setting, .. } | Self::Other { setting, .. } => *setting,
            Self::Policy(_) => None,
        }
    }

    /// Says which setting decides about it.
    #[must_use]
    pub(crate) fn by_setting(mut self, decides: Setting) -> Self {
        if let Self::Call { setting, .. } | Self::Other { setting, .. } = &mut self {
            *setting = Some(decides);
        }
        self
    }

    /// Says which limit was reached.
    #[must_use]
    pub(crate) fn at_limit(mut self, reached: Limit) -> Self {
        if let Self::Call { limit, .. } | Self::Other { limit, .. } = &mut self {
            *limit = Some(reached);
        }
        self
    }

    /// The full name of the function whose call failed, such as `platform.discover`.
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::Call { function, .. } => Some(function),
            _ => None,
        }
    }

    /// The diagnostics of an error in the policies; empty for every other error.
    pub fn diagnostics(&self) -> &[crate::Diagnostic] {
        match self {
            Self::Policy(diagnostics) => diagnostics,
            _ => &[],
        }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Call { hint, .. } | Self::Other { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn with_source(
        mut self,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        if let Self::Call { source, .. } | Self::Other { source, .. } = &mut self {
            *source = Some(Arc::from(error.into()));
        }
        self
    }

    /// Says which function's call this is the failure of, unless that is known already.
    #[must_use]
    pub fn in_call(self, name: impl Into<Arc<str>>) -> Self {
        match self {
            Self::Other { message, kind, hint, limit, setting, source } => {
                Self::Call { function: name.into(), message, kind, hint, limit, setting, source }
            }
            other => other,
        }
    }

    /// The message with every source behind it, each once, on one line.
    pub fn report(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            let next = error.to_string();
            if !next.is_empty() && !text.ends_with(&next) {
                text.push_str(": ");
                text.push_str(&next);
            }
            source = error.source();
        }
        text
    }

    /// `the evaluation timed out after 5s` and the like.
    pub(crate) fn timed_out(what: &str, after: std::time::Duration) -> Self {
        Self::new(ErrorKind::TimedOut, format!("{what} timed out after {:?}", rounded(after)))
    }
}

/// A duration in three digits: what is left of a time that was given isn't worth more.
fn rounded(time: std::time::Duration) -> std::time::Duration {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let unit = 10_u64.saturating_pow(micros.max(1).ilog10().saturating_sub(2));
    std::time::Duration::from_micros(micros.saturating_add(unit / 2) / unit * unit)
}
