//! Counts and times of requests, evaluations and calls, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::decision_log::Uploads;
use axum::http::Method;
use parking_lot::Mutex;
use rego_platform::{CallEvent, EvaluationEvent, Observer};

/// The upper bounds of the histogram's buckets, in seconds; those of OPA.
const BUCKETS: [f64; 10] = [1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 1e-2, 1e-1, 1.0];

/// The names of handlers, each for the addresses that begin with it.
const HANDLERS: [&str; 13] = [
    "v0/data",
    "v1/admission",
    "v1/batch/call",
    "v1/batch/data",
    "v1/call",
    "v1/compile",
    "v1/config",
    "v1/data",
    "v1/gate",
    "v1/policies",
    "v1/provider",
    "v1/query",
    "v1/status",
];

#[derive(Debug, Default)]
struct Histogram {
    counts: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

/// Counts and times since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, &'static str, u16), Histogram>>,
    refused: AtomicU64,
    swallowed: AtomicU64,
    evaluations: AtomicU64,
    failed_evaluations: AtomicU64,
    calls: AtomicU64,
    failed_calls: AtomicU64,
}

/// The values at the time of reading the metrics.
pub(crate) struct Gauges {
    pub queued: usize,
    pub activated: i64,
    pub is_loaded: bool,
    pub uploads: Option<Uploads>,
}

fn handler(path: &str) -> &'static str {
    match path.strip_prefix('/').unwrap_or(path) {
        "" => "index",
        "health" => "health",
        "metrics" => "metrics",
        rest if rest.starts_with("health/") => "health",
        rest => HANDLERS.into_iter().find(|name| rest.starts_with(name)).unwrap_or("catchall"),
    }
}

fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "other",
    }
}

impl Metrics {
    /// Counts a request that was answered.
    pub fn answered(&self, path: &str, asked: &Method, status: u16, took: Duration) {
        let seconds = took.as_secs_f64();
        let key = (handler(path), method(asked), status);
        let mut requests = self.requests.lock();
        let histogram = requests.entry(key).or_default();
        histogram.count += 1;
        histogram.sum += seconds;
        for (count, bound) in histogram.counts.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= bound);
        }
    }

    /// Counts a request that got no place in the queue.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts errors of built-in functions that were undefined in a decision.
    pub fn swallowed(&self, errors: u64) {
        self.swallowed.fetch_add(errors, Ordering::Relaxed);
    }

    /// Returns the text that Prometheus reads.
    pub fn text(&self, now: &Gauges) -> String {
        let mut out = String::new();
        let name = "http_request_duration_seconds";
        let _ = writeln!(out, "# HELP {name} The time that requests took, in seconds.");
        let _ = writeln!(out, "# TYPE {name} histogram");
        let requests = self.requests.lock();
        for ((handler, method, code), histogram) in &*requests {
            let labels = format!("code=\"{code}\",handler=\"{handler}\",method=\"{method}\"");
            for (count, bound) in histogram.counts.iter().zip(BUCKETS) {
                let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
            }
            let Histogram { count, sum, .. } = histogram;
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(out, "{name}_sum{{{labels}}} {sum}");
            let _ = writeln!(out, "{name}_count{{{labels}}} {count}");
        }
        drop(requests);
        let mut single = |name: &str, help: &str, kind: &str, value: &dyn std::fmt::Display| {
            let name = format!("rego_platform_{name}");
            let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        };
        let counters = [
            ("evaluations_total", "Evaluations.", &self.evaluations),
            ("evaluations_failed_total", "Evaluations without a result.", &self.failed_evaluations),
            (
                "builtin_errors_total",
                "Errors of built-in functions that were undefined in a decision.",
                &self.swallowed,
            ),
            ("calls_total", "Calls of the service that were sent.", &self.calls),
            ("calls_failed_total", "Calls of the service that failed.", &self.failed_calls),
            (
                "requests_refused_total",
                "Requests that were refused because the queue was full.",
                &self.refused,
            ),
        ];
        for (name, help, value) in counters {
            single(name, help, "counter", &value.load(Ordering::Relaxed));
        }
        if let Some(Uploads { uploaded, waiting, dropped, failed }) = now.uploads {
            let name = |what: &str| format!("decision_log_{what}");
            let counter = "counter";
            single(&name("uploaded_total"), "Decisions that were uploaded.", counter, &uploaded);
            single(&name("dropped_total"), "Decisions that were dropped.", counter, &dropped);
            single(&name("uploads_failed_total"), "Uploads that failed.", counter, &failed);
            single(&name("waiting"), "Decisions that are queued for upload.", "gauge", &waiting);
        }
        let queued = "Requests that are running or queued.";
        single("requests_queued", queued, "gauge", &now.queued);
        let activated = "When the policies were loaded, in seconds since 1970.";
        single("policies_activated_seconds", activated, "gauge", &now.activated);
        let loaded = "1 if the last load of policies succeeded.";
        single("policies_loaded", loaded, "gauge", &u8::from(now.is_loaded));
        out
    }
}

impl Observer for Metrics {
    fn evaluation(&self, evaluation: &EvaluationEvent<'_>) {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        self.failed_evaluations.fetch_add(u64::from(evaluation.error.is_some()), Ordering::Relaxed);
    }

    fn call(&self, call: &CallEvent<'_>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.failed_calls.fetch_add(u64::from(call.error.is_some()), Ordering::Relaxed);
    }
}
