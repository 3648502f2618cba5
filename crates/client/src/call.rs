//! Calls: limits, costs and responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use rego::Value;

use crate::observe::Observers;
use crate::{Error, Limit, TraceParent};

/// The cost of calling a function, beyond a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cost {
    /// One request or a few.
    Request,
    /// The bytes of an artifact.
    Content,
    /// Money: an AI model evaluates. Never sent twice, and never before it is certain to be needed.
    Prompt,
}

/// The answer to a call, as the policy sees it.
#[derive(Debug, Clone)]
pub struct Answer {
    pub value: Value,
    /// `true` if the service had more than the author's `limit`.
    pub cut: bool,
    /// The number of times that a list was read again because it changed during the read.
    pub rereads: u32,
    /// The form of content that was downloaded.
    pub form: Option<ContentForm>,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, cut: false, rereads: 0, form: None }
    }
}

/// The form in which a policy is given content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ContentForm {
    /// The content itself, which is UTF-8.
    Text,
    /// Base64, since the content isn't UTF-8.
    Base64,
}

impl ContentForm {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Base64 => "base64",
        }
    }
}

/// The limits of one call, and what it has used so far.
#[derive(Debug)]
pub struct Context {
    pub deadline: Instant,
    pub attempts: AtomicU32,
    pub bytes: AtomicU64,
    /// The number of bytes left for all calls that share the allowance.
    pub allowance: Option<Arc<Allowance>>,
    /// `true` if the content came from the cache or the artifact store.
    pub kept: AtomicBool,
    /// The position of its requests in the caller's trace.
    pub trace: Option<TraceParent>,
    /// The observer of requests that no platform sends.
    pub observer: Observers,
}

impl Context {
    pub const fn new(deadline: Instant, allowance: Option<Arc<Allowance>>) -> Self {
        Self {
            deadline,
            attempts: AtomicU32::new(0),
            bytes: AtomicU64::new(0),
            allowance,
            kept: AtomicBool::new(false),
            trace: None,
            observer: None,
        }
    }

    /// The number of requests so far, and of bytes in their answers.
    pub fn used(&self) -> (u32, u64) {
        (self.attempts.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Sets the position of its requests in the caller's trace.
    #[must_use]
    pub fn traced(mut self, trace: Option<TraceParent>) -> Self {
        self.trace = trace;
        self
    }

    /// Sets the observer of requests that no platform sends.
    #[must_use]
    pub fn observed(mut self, observer: Observers) -> Self {
        self.observer = observer;
        self
    }

    /// Counts bytes that were read without a source.
    #[cfg(any(feature = "cache", feature = "grpc"))]
    pub(crate) fn count(&self, bytes: u64) -> Result<(), Error> {
        match self.allowance.as_deref() {
            Some(allowance) if !allowance.take(bytes) => return Err(allowance.used_up()),
            _ => {}
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the bytes of unusable content to the allowance.
    #[cfg(feature = "artifact-store")]
    pub(crate) fn uncount(&self, bytes: u64) {
        if let Some(allowance) = &self.allowance {
            allowance.give_back(bytes);
        }
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A byte limit shared by several calls.
#[derive(Debug)]
pub struct Allowance {
    left: AtomicU64,
    total: u64,
}

impl Allowance {
    pub const fn new(bytes: u64) -> Self {
        Self { left: AtomicU64::new(bytes), total: bytes }
    }

    pub fn take(&self, bytes: u64) -> bool {
        self.left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(bytes))
            .is_ok()
    }

    pub fn give_back(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::AcqRel);
    }

    pub fn used_up(&self) -> Error {
        Error::too_large(format!(
            "responses of the evaluation too large: the limit is {}",
            crate::text::size(self.total)
        ))
        .at_limit(Limit::Bytes)
    }
}
