//! What a host is told for its traces and metrics.
//!
//! Owns the trait, what each event says, and that each is said once, whatever ends it: an answer, a
//! failure, a future that is dropped. Names are OpenTelemetry's where it has one.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::HeaderValue;
use tracing::Span;
use tracing::field::Empty;

use crate::{Error, ErrorKind};

/// Is told what came of evaluations, calls and requests: for counts and times.
///
/// It is called on the thread where something ended, between other work: count, and return. For
/// spans, subscribe to `tracing` ([what they are called](crate#traces-and-metrics)).
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use rego_platform::{CallEvent, Observer};
///
/// #[derive(Debug, Default)]
/// struct Failures(AtomicU64);
///
/// impl Observer for Failures {
///     fn call(&self, call: &CallEvent<'_>) {
///         self.0.fetch_add(u64::from(call.error.is_some()), Ordering::Relaxed);
///     }
/// }
/// ```
pub trait Observer: Send + Sync + fmt::Debug {
    /// An evaluation ended.
    fn evaluation(&self, evaluation: &EvaluationEvent<'_>) {
        let _ = evaluation;
    }

    /// A call that was sent ended; those that found their answer elsewhere are the ledger's.
    fn call(&self, call: &CallEvent<'_>) {
        let _ = call;
    }

    /// A request was answered, or failed.
    fn request(&self, request: &RequestEvent<'_>) {
        let _ = request;
    }
}

/// An evaluation that ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EvaluationEvent<'a> {
    /// The query, as its author wrote it (`rego.query`).
    pub query: &'a str,
    /// How long it took, with all that it waited for.
    pub duration: Duration,
    /// The number of passes it took (`rego.passes`).
    pub passes: u32,
    /// The different calls that its result depends on (`rego.calls`).
    pub calls: usize,
    /// Why it gave no result (`error.type`); [`ErrorKind::Cancelled`] where its future was dropped.
    pub error: Option<ErrorKind>,
}

/// A call of a function that was sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallEvent<'a> {
    /// The function's full name, such as `platform.discover` (`rego.function`).
    pub function: &'a str,
    /// From sending to the complete answer.
    pub duration: Duration,
    /// Requests that it took, with pages and repetitions.
    pub requests: u32,
    /// Bytes of the answers.
    pub bytes: u64,
    /// Why there is no answer (`error.type`); [`ErrorKind::Cancelled`] where the wait for it was given up
    /// any more.
    pub error: Option<ErrorKind>,
}

/// A request of a call: `http.client.request.duration`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequestEvent<'a> {
    /// `http.request.method`
    pub method: &'a str,
    /// `server.address`
    pub address: &'a str,
    /// `server.port`
    pub port: Option<u16>,
    /// `url.template`, such as `/discover/{digest}`; nothing at the content store, whose paths may
    /// be signed.
    pub template: Option<&'a str>,
    /// `http.response.status_code`
    pub status: Option<u16>,
    /// Until the answer began, in seconds in `http.client.request.duration`.
    pub duration: Duration,
    /// Why no answer began.
    pub error: Option<ErrorKind>,
}

impl RequestEvent<'_> {
    /// `error.type`: the status of a refusal, or what went wrong before there was one.
    pub fn error_type(&self) -> Option<String> {
        match (self.status, self.error) {
            (Some(status), _) if status >= 400 => Some(status.to_string()),
            (_, error) => error.map(|kind| kind.code().to_owned()),
        }
    }
}

pub(crate) type Observers = Option<Arc<dyn Observer>>;

/// Where a request belongs in the caller's trace: W3C's `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent(HeaderValue);

impl TraceParent {
    /// Takes the value of a `traceparent` header.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when it isn't one; the specification says to go on without.
    pub fn new(text: &str) -> Result<Self, Error> {
        let hex = |part: &str, length| {
            part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let some = |part: &str| part.bytes().any(|b| b != b'0');
        let known = match *text.split('-').collect::<Vec<_>>() {
            // Later versions may append more.
            [version, trace, parent, flags, ref rest @ ..] => {
                hex(version, 2)
                    && version != "ff"
                    && (version != "00" || rest.is_empty())
                    && hex(trace, 32)
                    && some(trace)
                    && hex(parent, 16)
                    && some(parent)
                    && hex(flags, 2)
            }
            _ => false,
        };
        HeaderValue::from_str(text)
            .ok()
            .filter(|_| known && text.len() <= 512)
            .map(Self)
            .ok_or_else(|| {
                Error::new(ErrorKind::InvalidArgument, "this isn't the value of a `traceparent`")
            })
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

/// What an end is told as, to an observer and to the span.
fn note(span: &Span, error: Option<ErrorKind>) {
    if let Some(kind) = error {
        span.record("error.type", kind.code());
        span.record("otel.status_code", "ERROR");
    }
}

/// An evaluation under way: its span, and its end.
pub(crate) struct Evaluating {
    pub span: Span,
    observer: Observers,
    query: Arc<str>,
    started: Instant,
    ended: bool,
}

impl Evaluating {
    pub fn begin(query: &Arc<str>, observer: Observers) -> Self {
        let span = tracing::debug_span!(
            "evaluation",
            rego.query = &**query,
            rego.passes = Empty,
            rego.calls = Empty,
            "error.type" = Empty,
            otel.status_code = Empty,
        );
        Self { span, observer, query: Arc::clone(query), started: Instant::now(), ended: false }
    }

    pub fn end(mut self, passes: u32, calls: usize, error: Option<ErrorKind>) {
        self.tell(passes, calls, error);
    }

    fn tell(&mut self, passes: u32, calls: usize, error: Option<ErrorKind>) {
        self.ended = true;
        self.span.record("rego.passes", passes);
        self.span.record("rego.calls", calls);
        note(&self.span, error);
        if let Some(observer) = &self.observer {
            let duration = self.started.elapsed();
            let query = &self.query;
            observer.evaluation(&EvaluationEvent { query, duration, passes, calls, error });
        }
    }
}

impl Drop for Evaluating {
    fn drop(&mut self) {
        if !self.ended {
            self.tell(0, 0, Some(ErrorKind::Cancelled));
        }
    }
}

/// A call under way: its span, and its end.
pub(crate) struct Calling {
    pub span: Span,
    observer: Observers,
    function: Arc<str>,
    started: Instant,
    ended: bool,
}

impl Calling {
    pub fn begin(function: &Arc<str>, observer: &Observers) -> Self {
        let span = tracing::debug_span!(
            "call",
            rego.function = &**function,
            otel.name = &**function,
            "error.type" = Empty,
            otel.status_code = Empty,
        );
        let (function, started) = (Arc::clone(function), Instant::now());
        Self { span, observer: observer.clone(), function, started, ended: false }
    }

    pub fn end(mut self, requests: u32, bytes: u64, error: Option<ErrorKind>) {
        self.tell(requests, bytes, error);
    }

    fn tell(&mut self, requests: u32, bytes: u64, error: Option<ErrorKind>) {
        self.ended = true;
        note(&self.span, error);
        if let Some(observer) = &self.observer {
            let duration = self.started.elapsed();
            let function = &self.function;
            observer.call(&CallEvent { function, duration, requests, bytes, error });
        }
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        if !self.ended {
            self.tell(0, 0, Some(ErrorKind::Cancelled));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TraceParent;

    #[test]
    fn a_traceparent_is_what_w3c_says() {
        for good in [
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        ] {
            assert!(TraceParent::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-a\r\nb: c",
        ] {
            assert!(TraceParent::new(bad).is_err(), "{bad}");
        }
    }
}
