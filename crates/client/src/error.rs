//! The error of calls to the service and of evaluations, and its kinds.
//!
//! Owns the vocabulary of failure: [`ErrorKind`] for a host to match on, the message and the hint
//! for a person. The mapping from the service's answers to kinds is in `client::answer`.
//!
//! Messages are lowercase, without a full stop, with the user's own input in backticks. `Display`
//! says the cause; [`Error::report`] adds the sources that say more.

use crate::Setting;
use crate::text::{escape, escape_for_log};
use std::sync::Arc;

/// Defines the kinds from one table: the documentation, the constructor of errors, the name and the code of
/// each.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident, $constructor:ident, $name:literal, $code:literal;)*) => {
        /// The kind of a failure, for decisions of a host.
        ///
        /// The HTTP status decides the kind of a service's error (interface section 7); the client and the
        /// evaluation decide the others.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// Returns the kind's stable name, as reports and recordings spell it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Returns the kind's stable name as one word, as diagnostics use it.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$kind => $code,)* }
            }
        }

        /// One constructor for each kind.
        impl Error {
            $(
                #[doc = concat!("Creates an error of the kind `", $name, "`.")]
                pub fn $constructor(message: impl Into<String>) -> Self {
                    Self::new(ErrorKind::$kind, message)
                }
            )*
        }
    };
}

kinds! {
    /// An argument of a function is wrong, found before sending or by the service (400).
    InvalidArgument, invalid_argument, "invalid argument", "invalid-argument";
    /// No token, an expired token, or one that the service refuses (401, redirect to a login page).
    Unauthenticated, unauthenticated, "unauthenticated", "unauthenticated";
    /// The token lacks a permission (403); a missing paid plan looks the same.
    PermissionDenied, permission_denied, "permission denied", "permission-denied";
    /// There is no such resource at the service (404).
    NotFound, not_found, "not found", "not-found";
    /// Too many requests, even after every retry (429).
    RateLimited, rate_limited, "rate limited", "rate-limited";
    /// The service can't be reached or fails (5xx, broken connections), even after every retry.
    Unavailable, unavailable, "unavailable", "unavailable";
    /// A call or an evaluation exceeded its time limit.
    TimedOut, timed_out, "timed out", "timed-out";
    /// The host cancelled the evaluation, or dropped its future.
    Cancelled, cancelled, "cancelled", "cancelled";
    /// Content doesn't hash to the digest that was requested.
    Tampered, tampered, "tampered", "tampered";
    /// A body, a list, a budget or a value is larger than its limit.
    TooLarge, too_large, "too large", "too-large";
    /// A response doesn't have the documented form.
    Protocol, protocol, "protocol", "protocol";
    /// An asynchronous operation ended as failed or cancelled.
    OperationFailed, operation_failed, "operation failed", "operation-failed";
    /// The client's configuration is wrong: URLs, certificates, options.
    Configuration, configuration, "configuration", "configuration";
    /// The policy itself is wrong: it doesn't load, or its evaluation ends with an error.
    Policy, policy_failed, "policy", "policy";
    /// A call without a response in this evaluation: an unmocked call in a test, or a call that a recording
    /// lacks.
    NotAnswered, not_answered, "not answered", "not-answered";
    /// A function of the host failed; [`source`](std::error::Error::source) is its error.
    Host, host_failed, "host", "host";
    /// A bug in the interpreter or this crate.
    Internal, internal, "internal", "internal";
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
/// `Debug` is what a person reads when `main` returns it: the diagnostics with their lines of source, or the message
/// with its sources, and the hint.
#[derive(Clone)]
pub struct Error(Box<Details>);

#[derive(Debug, Clone)]
struct Details {
    kind: ErrorKind,
    /// The message, a lowercase fragment without the function's name.
    message: String,
    hint: Option<String>,
    limit: Option<Limit>,
    setting: Option<Setting>,
    /// The place of the failure: the function whose call failed, or positions in the policies.
    function: Option<Arc<str>>,
    diagnostics: Arc<[crate::Diagnostic]>,
    source: Option<Source>,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(function) = self.function() {
            write!(f, "{function}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.diagnostics().is_empty() {
            write!(f, "{}: {}", self.kind(), self.report())?;
        } else {
            write!(f, "{}", self.kind())?;
            for found in self.diagnostics() {
                write!(f, "\n{}", escape_for_log(&found.render()))?;
            }
        }
        match self.hint() {
            Some(hint) => write!(f, "\n  = help: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    /// The error itself, not the `Arc` around it, so that a host can downcast it.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl Error {
    /// Creates an error of `kind`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            message: message.into(),
            hint: None,
            limit: None,
            setting: None,
            function: None,
            diagnostics: Arc::default(),
            source: None,
        }))
    }

    /// Creates the error of a host function from the host's error, which gives the message and becomes its
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
        let error = error.into();
        Self::host_failed(error.to_string()).with_source(error)
    }

    /// Creates an error of the policies from diagnostics, each with a position in the author's text.
    pub fn policy(diagnostics: Vec<crate::Diagnostic>) -> Self {
        let message = match diagnostics.as_slice() {
            [] => "invalid policy".to_owned(),
            [one] => one.headline(),
            [first, rest @ ..] => format!("{} (and {} more)", first.headline(), rest.len()),
        };
        let mut error = Self::policy_failed(message);
        error.0.diagnostics = diagnostics.into();
        error
    }

    /// Creates the error of an unusable file, from a finding in it.
    #[doc(hidden)]
    pub fn found_in(name: &str, found: &crate::Diagnostic) -> Self {
        let place = match &found.position {
            Some(at) => format!("{name}:{}:{}", at.line, at.column),
            None => name.to_owned(),
        };
        Self::configuration(format!("{}: {}", escape(&place), escape(&found.message)))
            .with_optional_hint(found.hint.clone())
    }

    /// Creates an error such as `the evaluation timed out after 5s`.
    pub fn timed_out_after(what: &str, time: std::time::Duration) -> Self {
        Self::timed_out(format!("{what} timed out after {:?}", rounded(time)))
    }

    /// Returns the kind, for a host to match on.
    pub const fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message, without the function and the sources.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the hint: the next step, if there is one.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the limit that was reached, if any. The host names its option.
    pub const fn limit(&self) -> Option<Limit> {
        self.0.limit
    }

    /// Returns the setting that would have prevented the failure, if any. The host names its option.
    pub const fn setting(&self) -> Option<Setting> {
        self.0.setting
    }

    /// Returns the full name of the function whose call failed, such as `platform.discover`.
    pub fn function(&self) -> Option<&str> {
        self.0.function.as_deref()
    }

    /// Returns the diagnostics of an error in the policies; empty for every other error.
    pub fn diagnostics(&self) -> &[crate::Diagnostic] {
        &self.0.diagnostics
    }

    /// Sets the hint: the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the hint, if there is one.
    #[doc(hidden)]
    #[must_use]
    pub fn with_optional_hint(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }

    /// Sets the limit that was reached.
    #[must_use]
    pub fn at_limit(mut self, reached: Limit) -> Self {
        self.0.limit = Some(reached);
        self
    }

    /// Sets the setting that would have prevented the failure.
    #[must_use]
    pub fn by_setting(mut self, setting: impl Into<Option<Setting>>) -> Self {
        self.0.setting = setting.into();
        self
    }

    /// Sets the underlying error.
    #[must_use]
    pub fn with_source(
        mut self,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(Arc::from(error.into()));
        self
    }

    /// Sets the function whose call failed, unless one is set already.
    #[must_use]
    pub fn in_call(mut self, name: impl Into<Arc<str>>) -> Self {
        self.0.function.get_or_insert_with(|| name.into());
        self
    }

    /// Adds the origin of the failing value to the message, such as "option `--token`".
    #[doc(hidden)]
    #[must_use]
    pub fn from_origin(self, origin: &impl std::fmt::Display) -> Self {
        let named = Self::new(self.kind(), format!("{} (from {origin})", self.report()));
        let Details { hint, setting, .. } = *self.0;
        Self(Box::new(Details { hint, setting, ..*named.0 }))
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
}

/// Rounds a duration to three digits.
fn rounded(time: std::time::Duration) -> std::time::Duration {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let unit = 10_u64.saturating_pow(micros.max(1).ilog10().saturating_sub(2));
    std::time::Duration::from_micros(micros.saturating_add(unit / 2) / unit * unit)
}
