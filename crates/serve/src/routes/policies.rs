//! The policies' texts: `/v1/policies`.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use rego_platform::Value;

use crate::answer::{Refusal, json, object};
use crate::app::App;
use crate::parameters::Parameters;

fn texts(app: &App) -> Vec<(String, Value)> {
    let (sources, _) = app.policies.current().policies.sources();
    let module = |path: String, text: String| {
        let policy = object([("id", Some(path.as_str().into())), ("raw", Some(text.into()))]);
        (path, policy)
    };
    sources.modules.into_iter().map(|source| module(source.path, source.text)).collect()
}

/// Refuses the name of a policy that isn't there.
fn missing(id: &str) -> Refusal {
    let message =
        format!("storage_not_found_error: policy id \"{}\"", rego_platform::text::escape(id));
    Refusal::new(StatusCode::NOT_FOUND, "resource_not_found", message)
}

pub(super) async fn list(
    State(app): State<App>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    let all: Value = texts(&app).into_iter().map(|(_, policy)| policy).collect();
    let answer = object([("result", Some(all))]);
    json(StatusCode::OK, &answer, parameters.is_pretty(), app.bounds.answer)
}

pub(super) async fn one(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    let policy = texts(&app).into_iter().find(|(path, _)| *path == id);
    let (_, policy) = policy.ok_or_else(|| missing(&id))?;
    let answer = object([("result", Some(policy))]);
    json(StatusCode::OK, &answer, parameters.is_pretty(), app.bounds.answer)
}
