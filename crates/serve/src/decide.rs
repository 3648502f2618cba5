//! One decision: an evaluation without a thread of its own, its times, and its place in the log.
//!
//! Owns the rule that an evaluation without a result is an error, and that a decision which can't be logged
//! isn't given.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use chrono::Utc;
use rego_platform::evaluate::{EvaluateOptions, QueryOutput, Recording};
use rego_platform::{TraceParent, Value};
use uuid::Uuid;

use super::answer::Refusal;
use super::app::App;
use super::decision_log::{Event, Subject, bindings};
use super::parameters::{Parameters, timeout};
use super::policy_set::{PolicySet, Prepared};

/// The address of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub SocketAddr);

/// A request: who asks, and when it came.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub app: App,
    /// The policies when it came.
    pub set: Arc<PolicySet>,
    peer: Option<SocketAddr>,
    trace: Option<TraceParent>,
    number: u64,
    began: Instant,
    /// The time that the client waits.
    timeout: Option<Duration>,
}

impl FromRequestParts<App> for Asking {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let mut parents = parts.headers.get_all("traceparent").iter();
        let only = parents.next().filter(|_| parents.next().is_none());
        let parent = only.and_then(|value| value.to_str().ok());
        let trace = parent.and_then(|text| TraceParent::new(text).ok());
        let parameters = Parameters::of(&parts.uri);
        let timeout = parameters.last("timeout").map(timeout).transpose()?;
        let (app, set, number) = (app.clone(), app.policies.current(), app.number());
        Ok(Self { app, set, peer, trace, number, began: Instant::now(), timeout })
    }
}

/// A request without its body.
pub(crate) struct Asked {
    pub asking: Asking,
    pub parameters: Parameters,
    pub uri: Uri,
}

impl FromRequestParts<App> for Asked {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let asking = Asking::from_request_parts(parts, app).await?;
        let parameters = Parameters::from_request_parts(parts, app).await?;
        Ok(Self { asking, parameters, uri: parts.uri.clone() })
    }
}

impl Asking {
    /// Returns the time limit of all evaluations of this request.
    pub fn limit(&self) -> Duration {
        let most = self.app.evaluate.budget.timeout;
        self.timeout.map_or(most, |timeout| timeout.min(most))
    }

    /// Returns the same request of a client that waits for this time, or for what `change` makes of its own.
    pub fn waiting(mut self, change: impl FnOnce(Option<Duration>) -> Option<Duration>) -> Self {
        self.timeout = change(self.timeout);
        self
    }

    /// Returns the same request without a client that waits.
    pub fn without_limit(&self) -> Self {
        Self { timeout: None, ..self.clone() }
    }

    /// Returns the options of an evaluation for this request, which ends in the request's time.
    pub fn options(&self) -> EvaluateOptions {
        let app = &self.app;
        let mut options = app.evaluate.clone();
        options.budget.timeout = self.limit().saturating_sub(self.began.elapsed());
        options.pool = Some(app.pool.clone());
        options.memory = Some(app.memory.clone());
        options.observer = Some(app.metrics.clone());
        options.trace.clone_from(&self.trace);
        options
    }

    /// Returns the times that a decision for this request took so far, in nanoseconds.
    pub fn metrics(&self, parsing: Duration, evaluating: Duration) -> [(&'static str, Value); 3] {
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX).into();
        [
            ("timer_rego_input_parse_ns", nanos(parsing)),
            ("timer_rego_query_eval_ns", nanos(evaluating)),
            ("timer_server_handler_ns", nanos(self.began.elapsed())),
        ]
    }

    /// Returns an entry of the log for a decision of this request, so far without what was decided.
    pub fn event(&self, id: String, subject: Subject) -> Event {
        Event {
            labels: self.app.labels(),
            revision: self.set.revision.clone(),
            id,
            batch: None,
            subject,
            input: None,
            outcome: Ok(None),
            recording: Ok(Recording::new()),
            peer: self.peer,
            at: Utc::now(),
            metrics: Value::new_object(),
            request: self.number,
        }
    }

    /// Returns a new identity if decisions are logged: without a log it would name nothing.
    pub fn identity(&self) -> Option<String> {
        self.app.decision_log.as_ref().map(|_| Uuid::new_v4().to_string())
    }

    /// Writes a decision to the log, if there is one. One that can't be written isn't given.
    pub async fn log(&self, event: Event) -> Result<(), Refusal> {
        let Some(log) = &self.app.decision_log else { return Ok(()) };
        log.write(&self.set, &self.options(), event).await.map_err(|error| {
            self.app.journal.failed(&error);
            Refusal::internal(format!("decision_logs: {}", error.report()))
        })
    }
}

/// A question to decide.
#[derive(Debug)]
pub(crate) struct Question {
    pub subject: Subject,
    pub prepared: Prepared,
    pub input: Option<Value>,
    /// The time it took to parse the input.
    pub parsing: Duration,
    pub is_strict: bool,
    /// The identity of the batch that it belongs to.
    pub batch: Option<String>,
}

/// The answer to a question.
#[derive(Debug)]
pub(crate) struct Decision {
    pub output: QueryOutput,
    /// The decision's identifier in the log, if there is one.
    pub id: Option<Value>,
    pub metrics: Value,
}

/// A question without an answer.
#[derive(Debug)]
pub(crate) struct Undecided {
    pub refusal: Refusal,
    /// The decision's identifier in the log, if there is one.
    pub id: Option<Value>,
}

impl From<Undecided> for Refusal {
    fn from(undecided: Undecided) -> Self {
        undecided.refusal
    }
}

/// Evaluates a question. Dropping the future cancels the evaluation.
pub(crate) async fn decide(asking: &Asking, question: Question) -> Result<Decision, Undecided> {
    let Asking { app, set, .. } = asking;
    let Question { subject, prepared: (query, was_prepared), input, parsing, .. } = question;
    let id = asking.identity();
    let mut options = asking.options();
    options.strict_builtin_errors |= question.is_strict;
    let began = Instant::now();
    let evaluated = set.policies.evaluate_async(query, input.clone(), options).await;
    let hit = ("counter_server_query_cache_hit", Value::from(i64::from(was_prepared)));
    let metrics: Value =
        asking.metrics(parsing, began.elapsed()).into_iter().chain([hit]).collect();
    app.metrics.swallowed(evaluated.builtin_errors());
    for print in &evaluated.prints {
        app.journal.printed(print);
    }
    let recording = id.as_ref().map(|_| evaluated.recording());
    let place = evaluated.failed_at;
    let result = evaluated.result.map_err(|error| Refusal::of_evaluation(&error, place.as_ref()));
    let logged = id.clone().map(Value::from);
    if let (Some(id), Some(recording)) = (id, recording) {
        let answer = |output: &QueryOutput| match subject {
            Subject::Query(_) => Some(bindings(output)),
            Subject::Document(_) | Subject::Route(_) => output.value().cloned(),
        };
        let outcome = result.as_ref().map(answer).map_err(Refusal::value);
        let event = Event {
            batch: question.batch,
            input,
            outcome,
            recording,
            metrics: metrics.clone(),
            ..asking.event(id, subject)
        };
        if let Err(refusal) = asking.log(event).await {
            return Err(Undecided { refusal, id: logged });
        }
    }
    match result {
        Ok(output) => Ok(Decision { output, id: logged, metrics }),
        Err(refusal) => Err(Undecided { refusal, id: logged }),
    }
}
