//! Status of the server: `/v1/status`, `/v1/config`, `/metrics`. None of it is secret.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rego_platform::Value;

use super::data::DEFAULT;
use crate::answer::{Refusal, json, object};
use crate::app::App;
use crate::decision_log::{DecisionLog, Uploads};
use crate::metrics::Gauges;
use crate::parameters::Parameters;
use crate::policy_set::{POLICIES, timestamp};

fn plugin(failure: Option<String>) -> Value {
    let state = if failure.is_some() { "ERROR" } else { "OK" };
    object([("state", Some(state.into())), ("message", failure.map(Value::from))])
}

pub(super) async fn status(
    State(app): State<App>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    let (set, last) = (app.policies.current(), app.policies.last_load());
    let failure = last.failure.as_ref().map(rego_platform::Error::report);
    let policies = object([
        ("name", Some(POLICIES.into())),
        ("active_revision", Some(set.revision.as_str().into())),
        ("last_successful_activation", Some(timestamp(set.activated))),
        ("last_request", Some(timestamp(last.at))),
        ("code", failure.as_ref().map(|_| "bundle_error".into())),
        ("message", failure.clone().map(Value::from)),
    ]);
    let log = app.decision_log.as_ref().map(|log| {
        let failure = log.failure().or_else(|| log.upload_failure());
        let mut state = plugin(failure);
        if let (Some(uploads), Some(members)) = (log.uploads(), state.as_object_mut()) {
            let Uploads { uploaded, waiting, dropped, .. } = uploads;
            for (name, count) in
                [("uploaded", uploaded), ("waiting", waiting), ("dropped", dropped)]
            {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                members.insert(name.into(), count.into());
            }
        }
        state
    });
    let result = object([
        ("labels", Some(app.labels())),
        ("bundles", Some(object([(POLICIES, Some(policies))]))),
        ("plugins", Some(object([("bundle", Some(plugin(failure))), ("decision_logs", log)]))),
    ]);
    let answer = object([("result", Some(result))]);
    json(StatusCode::OK, &answer, parameters.is_pretty(), app.bounds.answer)
}

pub(super) async fn config(
    State(app): State<App>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    let result = object([
        ("default_decision", Some(format!("/{DEFAULT}").into())),
        ("labels", Some(app.labels())),
    ]);
    let answer = object([("result", Some(result))]);
    json(StatusCode::OK, &answer, parameters.is_pretty(), app.bounds.answer)
}

pub(super) async fn metrics(State(app): State<App>) -> Response {
    let now = Gauges {
        queued: app.queue.taken(),
        activated: app.policies.current().activated.timestamp(),
        is_loaded: app.policies.last_load().failure.is_none(),
        uploads: app.decision_log.as_ref().and_then(DecisionLog::uploads),
    };
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, text)], app.metrics.text(&now)).into_response()
}
