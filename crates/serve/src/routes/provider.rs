//! The provider of external data for Gatekeeper: `/v1/provider`.
//!
//! Owns the rule that each response has Gatekeeper's form and the status 200, whatever went wrong: the templates of
//! constraints look at `errors` and `system_error`, and take anything else for no error.

use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use rego_platform::Value;
use rego_platform_gate::model::Outcome;

use super::admission::{TOGETHER, margin};
use crate::answer::{Reason, Refusal, json, object};
use crate::body::Members;
use crate::decide::{Asked, Asking};
use crate::decision_log::{Event, Subject};
use crate::image_verdict::decide;
use crate::images::{ImageDecision, ImageReference, Judged, recorded};

/// The path of the route, and of its entries in the log.
pub(super) const ROUTE: &str = crate::access::PROVIDER;

const VERSION: &str = "externaldata.gatekeeper.sh/v1beta1";
const REQUEST: &str = "ProviderRequest";
const RESPONSE: &str = "ProviderResponse";

/// The time in which a request without `timeout` is answered: Gatekeeper's own webhook has 3 s.
const TIME: Duration = Duration::from_millis(2500);

/// The most keys of a request.
const MOST: usize = 1000;

/// Answers with an item for each key, a reference of an image: its value is the reference if the gate passes for
/// the image, and its error says why not otherwise.
pub(super) async fn post(asked: Asked, body: Members) -> Result<Response, Refusal> {
    let Asked { asking, parameters, .. } = asked;
    let text = |name: &str| body.get(name).as_ref().and_then(Value::as_str).map(str::to_owned);
    if text("apiVersion").as_deref() != Some(VERSION) || text("kind").as_deref() != Some(REQUEST) {
        let message = format!("the body isn't a request: expected `{REQUEST}` of `{VERSION}`");
        return Err(Refusal::invalid(message));
    }
    let request = body.get("request").unwrap_or_default();
    let keys = keys(&request)?;
    let asking = asking
        .waiting(|timeout| Some(timeout.map_or(TIME, |time| time.saturating_sub(margin(time)))));
    let (began, id) = (Instant::now(), asking.identity());
    let judged = judge_all(&asking, keys).await;
    let items: Value = judged.iter().map(|(key, judged)| item(key, &judged.decision)).collect();
    let response = object([("idempotent", Some(true.into())), ("items", Some(items))]);
    if let Some(id) = id {
        let event = Event {
            input: Some(request),
            outcome: Ok(Some(response.clone())),
            recording: Ok(recorded(judged.iter().map(|(_, judged)| judged))),
            metrics: asking.metrics(body.parsing, began.elapsed()).into_iter().collect(),
            ..asking.event(id, Subject::Route(ROUTE))
        };
        asking.log(event).await?;
    }
    json(StatusCode::OK, &wrapped(response), parameters.is_pretty(), asking.app.bounds.answer)
}

fn keys(request: &Value) -> Result<Vec<String>, Refusal> {
    let wrong = || Refusal::invalid("`request.keys` isn't an array of strings");
    let keys = request.get_str("keys").and_then(Value::as_array).ok_or_else(wrong)?;
    if keys.len() > MOST {
        let message = format!("too many keys: {}, expected {MOST} at most", keys.len());
        return Err(Refusal::invalid(message));
    }
    let text = |key: &Value| key.as_str().map(str::to_owned).ok_or_else(wrong);
    keys.iter().map(text).collect()
}

async fn judge_all(asking: &Asking, keys: Vec<String>) -> Vec<(String, Judged)> {
    let decide_each = keys.into_iter().map(|key| async move {
        let judged = match ImageReference::parse(&key) {
            Ok(image) => decide(asking, &image, None).await,
            Err(reason) => ImageDecision::undecided(reason).into(),
        };
        (key, judged)
    });
    stream::iter(decide_each).buffered(TOGETHER).collect().await
}

fn item(key: &str, decision: &ImageDecision) -> Value {
    let error = match decision.outcome {
        Outcome::Passed => None,
        Outcome::Failed => Some(decision.reasons.join("; ")),
        Outcome::NoVerdict => Some(format!("no verdict: {}", decision.reasons.join("; "))),
    };
    // Of an item with an empty error, Gatekeeper reads the value.
    let error = error.map(|text| if text.is_empty() { "not allowed".to_owned() } else { text });
    object([
        ("key", Some(key.into())),
        ("value", error.is_none().then(|| key.into())),
        ("error", error.map(Value::from)),
    ])
}

fn wrapped(response: Value) -> Value {
    object([
        ("apiVersion", Some(VERSION.into())),
        ("kind", Some(RESPONSE.into())),
        ("response", Some(response)),
    ])
}

/// Converts the error of a request to the form that Gatekeeper reads.
pub(super) async fn respond_always(request: Request, next: Next) -> Response {
    let rest = request.uri().path().strip_prefix(ROUTE);
    let is_own = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let response = next.run(request).await;
    if !is_own || response.status() == StatusCode::OK {
        return response;
    }
    let reason = response.extensions().get::<Reason>().map(|Reason(reason)| reason.clone());
    let reason = reason.unwrap_or_else(|| format!("status {}", response.status()));
    let answer = wrapped(object([("systemError", Some(reason.into()))]));
    let json = json(StatusCode::OK, &answer, false, usize::MAX);
    json.unwrap_or_else(IntoResponse::into_response)
}
