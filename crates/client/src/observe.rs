//! Events for a host's traces and metrics.
//!
//! Owns the observer trait, the contents of each event, and that each is reported exactly once,
//! whether it ends with an answer, a failure or a dropped future. Names are OpenTelemetry's where
//! it has one.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{HeaderName, HeaderValue};
use tracing::Span;
use tracing::field::Empty;

use crate::{Error, ErrorKind};

/// Is notified of the end of evaluations, calls and requests, for counts and times.
///
/// It is called on the thread where something ended, between other work: count, and return. A panic
/// is caught and logged. For
/// spans, subscribe to `tracing` (`rego_platform` documents their names).
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use rego_platform_client::{CallEvent, Observer};
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
    /// Called when an evaluation has ended.
    fn evaluation(&self, evaluation: &EvaluationEvent<'_>) {
        let _ = evaluation;
    }

    /// Called when a call that was sent has ended. Calls answered from elsewhere are in the ledger
    /// only.
    fn call(&self, call: &CallEvent<'_>) {
        let _ = call;
    }

    /// Called when a request to the service, or one of `http.send`, was answered or has failed.
    fn request(&self, request: &RequestEvent<'_>) {
        let _ = request;
    }

    /// Called when `net.lookup_ip_addr` has looked up a name, or has failed to.
    fn lookup(&self, lookup: &LookupEvent<'_>) {
        let _ = lookup;
    }
}

/// An evaluation that ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EvaluationEvent<'a> {
    /// The query, as its author wrote it (`rego.query`).
    pub query: &'a str,
    /// The time that it took, with all waits.
    pub duration: Duration,
    /// The number of its passes (`rego.passes`).
    pub passes: u32,
    /// The number of different calls that its result depends on (`rego.calls`).
    pub calls: usize,
    /// The error that ended it (`error.type`); [`ErrorKind::Cancelled`] if its future was dropped.
    pub error: Option<ErrorKind>,
}

/// A call of a function that was sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallEvent<'a> {
    /// The function's full name, such as `platform.discover` (`rego.function`).
    pub function: &'a str,
    /// The time from sending to the complete response.
    pub duration: Duration,
    /// The number of its requests, with pages and retries.
    pub requests: u32,
    /// The number of bytes in the responses.
    pub bytes: u64,
    /// The error that ended it (`error.type`); [`ErrorKind::Cancelled`] if no evaluation waited for
    /// it any more.
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
    /// `url.template`, such as `/discover/{digest}`. `None` for the content store, whose paths may be signed,
    /// and for `http.send`, whose paths may be secrets.
    pub template: Option<&'a str>,
    /// `http.response.status_code`
    pub status: Option<u16>,
    /// The time until the response began, in seconds in `http.client.request.duration`.
    pub duration: Duration,
    /// The error, if no answer began.
    pub error: Option<ErrorKind>,
}

/// A look-up of a name: `dns.lookup.duration`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LookupEvent<'a> {
    /// `dns.question.name`
    pub name: &'a str,
    /// Until the response.
    pub duration: Duration,
    /// The reason for the missing answer (`error.type`).
    pub error: Option<ErrorKind>,
}

impl RequestEvent<'_> {
    /// `error.type`: the status of a refusal, or the kind of an error without a response.
    pub fn error_type(&self) -> Option<String> {
        match (self.status, self.error) {
            (Some(status), _) if status >= 400 => Some(status.to_string()),
            (_, error) => error.map(|kind| kind.code().to_owned()),
        }
    }
}

pub type Observers = Option<Arc<dyn Observer>>;

pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A position in the caller's trace: W3C's `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent(HeaderValue);

impl TraceParent {
    /// Takes the value of a `traceparent` header.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when it isn't one; the specification says to continue without
    /// it.
    pub fn new(text: &str) -> Result<Self, Error> {
        let hex = |part: &str, length| {
            part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let some = |part: &str| part.bytes().any(|b| b != b'0');
        let known = match *text.split('-').collect::<Vec<_>>() {
            // Later versions may append more fields.
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
            .ok_or_else(|| Error::invalid_argument("invalid value of a `traceparent`"))
    }

    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

/// Notifies an observer. A panic in it ends here: the work that it hears of must not fail, or wait for a
/// response that never comes, because of it.
fn notify(observer: &Observers, event: impl FnOnce(&dyn Observer)) {
    let Some(observer) = observer else { return };
    if catch_unwind(AssertUnwindSafe(|| event(&**observer))).is_err() {
        tracing::error!("the observer panicked");
    }
}

/// Records the end of an evaluation or call in its span.
fn record_end(span: &Span, error: Option<ErrorKind>) {
    if let Some(kind) = error {
        span.record("error.type", kind.code());
        span.record("otel.status_code", "ERROR");
    }
}

/// A request before it is sent.
pub struct Attempt<'a> {
    pub method: &'a str,
    pub address: &'a str,
    pub port: Option<u16>,
    pub template: Option<&'a str>,
    /// The path, unless it may be signed or a policy's secret.
    pub path: Option<&'a str>,
    /// The part of the span's name after the method, if there is no template.
    pub name: &'a str,
}

/// A request in progress: its span, and the report of its end.
pub struct AttemptSpan<'a> {
    pub span: Span,
    attempt: Attempt<'a>,
    started: Instant,
}

impl<'a> Attempt<'a> {
    pub fn begin(self) -> AttemptSpan<'a> {
        let name = format!("{} {}", self.method, self.template.unwrap_or(self.name));
        let span = tracing::debug_span!(
            "attempt",
            url.path = %self.path.unwrap_or("…"),
            http.request.method = self.method,
            url.template = self.template,
            server.address = self.address,
            server.port = self.port,
            otel.name = name.trim_end(),
            otel.kind = "client",
            http.response.status_code = Empty,
            "error.type" = Empty,
            otel.status_code = Empty,
        );
        AttemptSpan { span, attempt: self, started: Instant::now() }
    }
}

impl AttemptSpan<'_> {
    /// Reports the status of the response that began, or why none did.
    pub fn end(self, observer: &Observers, outcome: Result<u16, ErrorKind>) {
        let Attempt { method, address, port, template, .. } = self.attempt;
        let event = RequestEvent {
            method,
            address,
            port,
            template,
            status: outcome.ok(),
            duration: self.started.elapsed(),
            error: outcome.err(),
        };
        if let Some(status) = event.status {
            self.span.record("http.response.status_code", status);
        }
        if let Some(error) = event.error_type() {
            self.span.record("error.type", error);
            self.span.record("otel.status_code", "ERROR");
        }
        notify(observer, |observer| observer.request(&event));
    }
}

/// A look-up of a name in progress: its span, and the report of its end.
pub struct LookupSpan<'a> {
    pub span: Span,
    name: &'a str,
    started: Instant,
}

impl<'a> LookupSpan<'a> {
    pub fn begin(name: &'a str) -> Self {
        let span = tracing::debug_span!(
            "attempt",
            dns.question.name = name,
            otel.name = format!("DNS {name}"),
            otel.kind = "client",
            "error.type" = Empty,
            otel.status_code = Empty,
        );
        Self { span, name, started: Instant::now() }
    }

    pub fn end(self, observer: &Observers, error: Option<ErrorKind>) {
        record_end(&self.span, error);
        let (name, duration) = (self.name, self.started.elapsed());
        notify(observer, |observer| observer.lookup(&LookupEvent { name, duration, error }));
    }
}

/// An evaluation in progress: its span, and the report of its end.
pub struct EvaluationSpan {
    pub span: Span,
    observer: Observers,
    query: Arc<str>,
    started: Instant,
    ended: bool,
}

impl EvaluationSpan {
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
        self.report(passes, calls, error);
    }

    fn report(&mut self, passes: u32, calls: usize, error: Option<ErrorKind>) {
        self.ended = true;
        self.span.record("rego.passes", passes);
        self.span.record("rego.calls", calls);
        record_end(&self.span, error);
        let (query, duration) = (&self.query, self.started.elapsed());
        let event = EvaluationEvent { query, duration, passes, calls, error };
        notify(&self.observer, |observer| observer.evaluation(&event));
    }
}

impl Drop for EvaluationSpan {
    fn drop(&mut self) {
        if !self.ended {
            self.report(0, 0, Some(ErrorKind::Cancelled));
        }
    }
}

/// A call in progress: its span, and the report of its end.
pub struct CallSpan {
    pub span: Span,
    observer: Observers,
    function: Arc<str>,
    started: Instant,
    ended: bool,
}

impl CallSpan {
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
        self.report(requests, bytes, error);
    }

    fn report(&mut self, requests: u32, bytes: u64, error: Option<ErrorKind>) {
        self.ended = true;
        record_end(&self.span, error);
        let (function, duration) = (&self.function, self.started.elapsed());
        let event = CallEvent { function, duration, requests, bytes, error };
        notify(&self.observer, |observer| observer.call(&event));
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        if !self.ended {
            self.report(0, 0, Some(ErrorKind::Cancelled));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TraceParent;

    #[test]
    fn a_traceparent_has_the_form_that_w3c_specifies() {
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
