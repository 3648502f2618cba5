//! `/health`: whether the server answers, and whether its policies are current.

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use rego_platform::Value;
use rego_platform::evaluate::QueryOutput;

use super::data::path;
use crate::answer::{Refusal, json, object};
use crate::app::App;
use crate::decide::Asking;
use crate::parameters::Parameters;

fn state(error: Option<String>, most: usize) -> Result<Response, Refusal> {
    let status = if error.is_some() { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
    json(status, &object([("error", error.map(Value::from))]), false, most)
}

/// Responds whether the server is healthy, without details: no token is required.
pub(super) async fn get(
    State(app): State<App>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    let of_bundles = parameters.is_set("bundles") || parameters.is_set("bundle");
    let is_stale = || app.policies.last_load().failure.is_some();
    let cannot_log = || app.decision_log.as_ref().is_some_and(|log| log.failure().is_some());
    let error = if of_bundles && is_stale() {
        Some("one or more bundles are not activated: reloading the policies failed")
    } else if parameters.is_set("plugins") && (is_stale() || cannot_log()) {
        Some("one or more plugins are not up")
    } else {
        None
    };
    state(error.map(str::to_owned), app.bounds.answer)
}

/// Answers what `data.system.health` says.
pub(super) async fn policy(asking: Asking, uri: Uri) -> Result<Response, Refusal> {
    let Asking { app, set, .. } = &asking;
    let below = path(&uri, "/health");
    let whole = format!("system/health/{below}");
    let is_current = app.policies.last_load().failure.is_none();
    let plugin = if is_current { "OK" } else { "ERROR" };
    let input = object([
        ("plugin_state", Some(object([("bundle", Some(plugin.into()))]))),
        ("plugins_ready", Some(true.into())),
    ]);
    let (query, _) = set.document(&whole)?;
    let shown = query.text().to_owned();
    // It isn't a decision, and isn't logged as one.
    let evaluated = set.policies.evaluate_async(query, Some(input), asking.options()).await;
    let error = match evaluated.result.as_ref().map(QueryOutput::value) {
        Ok(Some(Value::Bool(true))) => None,
        Ok(Some(_)) => Some(format!("health check ({shown}) returned unexpected value")),
        Ok(None) => Some(format!("health check ({shown}) was undefined")),
        Err(error) => Some(format!("health check ({shown}) failed: {}", error.report())),
    };
    state(error, app.bounds.answer)
}
