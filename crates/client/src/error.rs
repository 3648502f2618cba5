//! The error of calls to the service and of evaluations, and its kinds.
//!
//! Owns the vocabulary of failure: [`ErrorKind`] for a host to match on, the message and the hint
//! for a person. The mapping from the service's answers to kinds is in `client::answer`.
//!
//! Messages are lowercase, without a full stop, with the user's own input in backticks. `Display`
//! never repeats the source: print the chain with [`Error::report`].

use crate::Setting;
use std::sync::Arc;

/// The kind of a failure, coarse enough to act on.
///
/// The HTTP status decides the kind of a service's error (interface section 7); the client and the
/// evaluation decide the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument of a function is wrong, found before sending or by the service (400).
    InvalidArgument,
    /// No token, an expired token, or one that the service refuses (401, redirect to a login page).
    Unauthenticated,
    /// The token lacks a permission (403); a missing paid plan looks the same.
    PermissionDenied,
    /// There is no such resource at the service (404).
    NotFound,
    /// Too many requests, even after every retry (429).
    RateLimited,
    /// The service can't be reached or fails (5xx, broken connections), even after every retry.
    Unavailable,
    /// A call or an evaluation exceeded its time limit.
    TimedOut,
    /// The host cancelled the evaluation, or dropped its future.
    Cancelled,
    /// Content doesn't hash to the digest that was requested.
    Tampered,
    /// A body, a list, a budget or a value is larger than its limit.
    TooLarge,
    /// An answer doesn't have the documented form.
    Protocol,
    /// An asynchronous operation ended as failed or cancelled.
    OperationFailed,
    /// The client's configuration is wrong: URLs, certificates, options.
    Configuration,
    /// The policy itself is wrong: it doesn't load, or its evaluation ends with an error.
    Policy,
    /// A function was called that has no answer in this evaluation: an unmocked call in a test, or
    /// one that a recording doesn't have.
    NotAnswered,
    /// A function of the host's own failed; [`source`](std::error::Error::source) is its error.
    Host,
    /// The interpreter or this crate is broken; never the caller's fault.
    Internal,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::InvalidArgument,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::NotFound,
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
        Self::Host,
        Self::Internal,
    ];

    /// Returns the kind's stable name, as reports and recordings spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid argument",
            Self::Unauthenticated => "unauthenticated",
            Self::PermissionDenied => "permission denied",
            Self::NotFound => "not found",
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
            Self::Host => "host",
            Self::Internal => "internal",
        }
    }

    /// Returns the kind's stable name as one word, as diagnostics use it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid-argument",
            Self::Unauthenticated => "unauthenticated",
            Self::PermissionDenied => "permission-denied",
            Self::NotFound => "not-found",
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
            Self::Host => "host",
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
    /// `Budget::timeout`, or
    /// `PlatformBuilder::call_timeout` for a call
    Timeout,
    /// `Budget::passes`
    Passes,
    /// `Budget::calls`
    Calls,
    /// `Budget::bytes`
    Bytes,
    /// `Budget::memory`
    Memory,
    /// `PlatformBuilder::max_answer_bytes`, and
    /// `max_artifact_bytes`
    AnswerBytes,
}

type Source = Arc<dyn std::error::Error + Send + Sync + 'static>;

/// A failure, cheap to clone.
///
/// Never contains a token or a signed URL.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// A call of one of the functions failed.
    #[non_exhaustive]
    Call {
        /// The function's full name, such as `platform.discover`.
        function: Arc<str>,
        /// What failed, as a lowercase fragment without the function's name.
        message: String,
        /// The kind, for a host to match on.
        kind: ErrorKind,
        /// The next step, as a sentence fragment.
        hint: Option<String>,
        /// The limit that was reached, if the failure is one of a limit.
        limit: Option<Limit>,
        /// The setting that would have prevented it, if there is one.
        setting: Option<Setting>,
        /// The underlying error.
        source: Option<Source>,
    },
    /// Any failure that isn't one call's.
    #[non_exhaustive]
    Other {
        /// What failed, as a lowercase fragment.
        message: String,
        /// The kind, for a host to match on.
        kind: ErrorKind,
        /// The next step, as a sentence fragment.
        hint: Option<String>,
        /// The limit that was reached, if the failure is one of a limit.
        limit: Option<Limit>,
        /// The setting that would have prevented it, if there is one.
        setting: Option<Setting>,
        /// The underlying error.
        source: Option<Source>,
    },
    /// Policies that don't load, or an evaluation that failed because of the policy itself; each
    /// diagnostic has a position in the author's text.
    Policy(Arc<[crate::Diagnostic]>),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Call { function, message, .. } => write!(f, "{function}: {message}"),
            Self::Other { message, .. } => f.write_str(message),
            Self::Policy(diagnostics) => f.write_str(&summary(diagnostics)),
        }
    }
}

impl std::error::Error for Error {
    /// The error itself, not the `Arc` around it, so that a host can downcast it.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Call { source, .. } | Self::Other { source, .. } => {
                source.as_deref().map(|source| source as _)
            }
            Self::Policy(_) => None,
        }
    }
}

fn summary(diagnostics: &[crate::Diagnostic]) -> String {
    match diagnostics {
        [] => "the policy is wrong".to_owned(),
        [one] => one.headline(),
        [first, rest @ ..] => format!("{} (and {} more)", first.headline(), rest.len()),
    }
}

impl Error {
    /// Creates an error of `kind` that belongs to no particular call.
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

    /// Creates the error of a host function from the host's own, which stays its
    /// [`source`](std::error::Error::source).
    ///
    /// ```
    /// use std::error::Error as _;
    /// use std::num::ParseIntError;
    ///
    /// use rego_platform_client::{Error, ErrorKind};
    ///
    /// let error = "web".parse::<u16>().map_err(Error::host).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Host);
    /// assert!(error.source().unwrap().downcast_ref::<ParseIntError>().is_some());
    /// ```
    pub fn host(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Host, "the host's function failed").with_source(error)
    }

    /// Creates an error from diagnostics with positions.
    pub fn policy(diagnostics: Vec<crate::Diagnostic>) -> Self {
        Self::Policy(diagnostics.into())
    }

    /// Returns the kind, for a host to match on.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Call { kind, .. } | Self::Other { kind, .. } => *kind,
            Self::Policy(_) => ErrorKind::Policy,
        }
    }

    /// Returns the hint: the next step, if there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Call { hint, .. } | Self::Other { hint, .. } => hint.as_deref(),
            Self::Policy(_) => None,
        }
    }

    /// Returns the limit that was reached, if the failure is one of a limit: the host words how to
    /// raise it.
    pub const fn limit(&self) -> Option<Limit> {
        match self {
            Self::Call { limit, .. } | Self::Other { limit, .. } => *limit,
            Self::Policy(_) => None,
        }
    }

    /// Returns the setting that would have prevented the failure, if there is one: the host words
    /// how to change it.
    pub const fn setting(&self) -> Option<Setting> {
        match self {
            Self::Call { setting, .. } | Self::Other { setting, .. } => *setting,
            Self::Policy(_) => None,
        }
    }

    /// Sets the setting that would have prevented the failure.
    #[must_use]
    pub fn by_setting(mut self, decides: Setting) -> Self {
        if let Self::Call { setting, .. } | Self::Other { setting, .. } = &mut self {
            *setting = Some(decides);
        }
        self
    }

    /// Sets the limit that was reached.
    #[must_use]
    pub fn at_limit(mut self, reached: Limit) -> Self {
        if let Self::Call { limit, .. } | Self::Other { limit, .. } = &mut self {
            *limit = Some(reached);
        }
        self
    }

    /// Returns the full name of the function whose call failed, such as `platform.discover`.
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::Call { function, .. } => Some(function),
            _ => None,
        }
    }

    /// Returns the diagnostics of an error in the policies; empty for every other error.
    pub fn diagnostics(&self) -> &[crate::Diagnostic] {
        match self {
            Self::Policy(diagnostics) => diagnostics,
            _ => &[],
        }
    }

    /// Sets the hint: the next step.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Call { hint, .. } | Self::Other { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// Sets the underlying error.
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

    /// Sets the function whose call failed, unless one is set already.
    #[must_use]
    pub fn in_call(self, name: impl Into<Arc<str>>) -> Self {
        match self {
            Self::Other { message, kind, hint, limit, setting, source } => {
                Self::Call { function: name.into(), message, kind, hint, limit, setting, source }
            }
            other => other,
        }
    }

    /// Returns the message followed by its sources on one line, each once.
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

    /// Adds to the message where the value came from that it is about, such as "option `--token`".
    #[doc(hidden)]
    #[must_use]
    pub fn from_origin(self, origin: &impl std::fmt::Display) -> Self {
        let mut named = Self::new(self.kind(), format!("{} (from {origin})", self.report()));
        if let Self::Other { hint, setting, .. } = &mut named {
            *hint = self.hint().map(str::to_owned);
            *setting = self.setting();
        }
        named
    }

    /// Creates an error such as `the evaluation timed out after 5s`.
    pub fn timed_out(what: &str, after: std::time::Duration) -> Self {
        Self::new(ErrorKind::TimedOut, format!("{what} timed out after {:?}", rounded(after)))
    }
}

/// Rounds a duration to three digits: the exact rest of a given time tells nothing.
fn rounded(time: std::time::Duration) -> std::time::Duration {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let unit = 10_u64.saturating_pow(micros.max(1).ilog10().saturating_sub(2));
    std::time::Duration::from_micros(micros.saturating_add(unit / 2) / unit * unit)
}
