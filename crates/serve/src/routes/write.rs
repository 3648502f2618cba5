//! Changes of policies and data in memory, where the server is writable: `PUT`, `PATCH` and `DELETE` of
//! `/v1/data/{path}` and `/v1/policies/{id}`.
//!
//! Owns that a change holds as a whole or not at all.

use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use rego_platform::Value;
use rego_platform::evaluate::sources::{DataSource, ModuleSource, Sources};

use super::data::path;
use super::method_not_allowed;
use crate::answer::{Refusal, json};
use crate::app::App;
use crate::body::{Document, Text};
use crate::change::{Change, Operation, make_parents};
use crate::parameters::Parameters;
use crate::policy_set::{Written, parts};

/// A request to a server whose policies can be changed.
pub(super) struct Writable;

impl FromRequestParts<App> for Writable {
    type Rejection = Response;

    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Self, Response> {
        if app.policies.is_writable() {
            return Ok(Self);
        }
        let message = "policies and data come from files, and can't be changed over HTTP";
        Err(method_not_allowed("GET, POST", message))
    }
}

/// The code of a refusal.
const INVALID: &str = "invalid_parameter";

/// Changes the sources and compiles them, away from the threads that answer.
async fn write(
    app: &App,
    code: &'static str,
    change: impl FnOnce(&mut Sources) -> Result<Written, Refusal> + Send + 'static,
) -> Result<Written, Refusal> {
    let app = app.clone();
    let written = tokio::task::spawn_blocking(move || app.policies.write(code, change)).await;
    written.map_err(|_| Refusal::internal("it can't be changed"))?
}

/// Changes the data, which is one document.
async fn write_data(
    app: &App,
    change: impl FnOnce(&mut Value) -> Result<Written, Refusal> + Send + 'static,
) -> Result<Response, Refusal> {
    let written = write(app, INVALID, |sources| {
        let mut data = sources.data.pop().map_or_else(Value::new_object, |source| source.value);
        let written = change(&mut data)?;
        sources.data = vec![DataSource::new("the data", data)];
        Ok(written)
    });
    let status = match written.await? {
        Written::Done => StatusCode::NO_CONTENT,
        Written::Present => StatusCode::NOT_MODIFIED,
    };
    Ok(status.into_response())
}

fn at(uri: &Uri) -> Result<Vec<String>, Refusal> {
    parts(path(uri, "/v1/data"))
}

pub(super) async fn put_data(
    State(app): State<App>,
    _: Writable,
    uri: Uri,
    headers: HeaderMap,
    body: Document,
) -> Result<Response, Refusal> {
    let path = at(&uri)?;
    let value = body.value.ok_or_else(|| Refusal::invalid("the body is empty"))?;
    let only_new = headers.get(header::IF_NONE_MATCH).is_some_and(|value| value == "*");
    write_data(&app, move |data| {
        let is_there = is_there(data, &path);
        if is_there && only_new {
            return Ok(Written::Present);
        }
        if !is_there {
            make_parents(data, &path)?;
        }
        Change { operation: Operation::Add, path, value }.apply(data)?;
        Ok(Written::Done)
    })
    .await
}

fn is_there(data: &Value, path: &[String]) -> bool {
    let mut parts = path.iter();
    let found = parts.try_fold(data, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => value.get_str(part),
    });
    found.is_some()
}

pub(super) async fn patch_data(
    State(app): State<App>,
    _: Writable,
    uri: Uri,
    body: Document,
) -> Result<Response, Refusal> {
    let path = at(&uri)?;
    let changes = Change::list(&path, &body.value.unwrap_or_default())?;
    write_data(&app, move |data| {
        changes.into_iter().try_for_each(|change| change.apply(data))?;
        Ok(Written::Done)
    })
    .await
}

pub(super) async fn delete_data(
    State(app): State<App>,
    _: Writable,
    uri: Uri,
) -> Result<Response, Refusal> {
    let path = at(&uri)?;
    write_data(&app, move |data| {
        Change { operation: Operation::Remove, path, value: Value::Null }.apply(data)?;
        Ok(Written::Done)
    })
    .await
}

pub(super) async fn put_policy(
    State(app): State<App>,
    _: Writable,
    Path(id): Path<String>,
    parameters: Parameters,
    body: Text,
) -> Result<Response, Refusal> {
    let Text(text) = body;
    let written = write(&app, INVALID, move |sources| {
        let module = ModuleSource::new(id, text);
        // Its syntax is that of the server's policies, not that of the text before.
        sources.versions.remove(&module.path);
        match sources.modules.iter_mut().find(|other| other.path == module.path) {
            Some(other) => *other = module,
            None => sources.modules.push(module),
        }
        Ok(Written::Done)
    });
    written.await?;
    nothing(&app, &parameters)
}

pub(super) async fn delete_policy(
    State(app): State<App>,
    _: Writable,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    // As OPA: what others need can't be removed.
    let written = write(&app, "invalid_operation", move |sources| {
        let before = sources.modules.len();
        sources.modules.retain(|module| module.path != id);
        if sources.modules.len() == before {
            return Err(super::policies::missing(&id));
        }
        sources.versions.remove(&id);
        Ok(Written::Done)
    });
    written.await?;
    nothing(&app, &parameters)
}

/// Answers a change of policies.
fn nothing(app: &App, parameters: &Parameters) -> Result<Response, Refusal> {
    json(StatusCode::OK, &Value::new_object(), parameters.is_pretty(), app.bounds.answer)
}
