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
use crate::policy_set::parts;

/// What has become of a change.
enum Written {
    Done,
    /// It is there already, and the client wants it only if it isn't.
    Present,
}

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
) -> Result<Written, Response> {
    let app = app.clone();
    let written = tokio::task::spawn_blocking(move || {
        app.policies.write(code, |sources| match change(sources)? {
            Written::Done => Ok((true, Written::Done)),
            Written::Present => Ok((false, Written::Present)),
        })
    });
    let written = written.await.unwrap_or_else(|_| Err(Refusal::internal("it can't be changed")));
    written.map_err(Refusal::into_response)
}

/// Changes the data, which is one document.
async fn write_data(
    app: &App,
    change: impl FnOnce(&mut Value) -> Result<Written, Refusal> + Send + 'static,
) -> Response {
    let written = write(app, INVALID, |sources| {
        let mut data = sources.data.pop().map_or_else(Value::new_object, |source| source.value);
        let written = change(&mut data)?;
        sources.data = vec![DataSource::new("the data", data)];
        Ok(written)
    });
    match written.await {
        Ok(Written::Done) => StatusCode::NO_CONTENT.into_response(),
        Ok(Written::Present) => StatusCode::NOT_MODIFIED.into_response(),
        Err(response) => response,
    }
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
    Ok(write_data(&app, move |data| {
        if only_new && is_there(data, &path) {
            return Ok(Written::Present);
        }
        if !is_there(data, &path) {
            make_parents(data, &path)?;
        }
        Change { operation: Operation::Add, path, value }.apply(data)?;
        Ok(Written::Done)
    })
    .await)
}

fn is_there(data: &Value, path: &[String]) -> bool {
    let below = |value: &Value, part: &String| match value {
        Value::Array(items) => part.parse().ok().and_then(|index: usize| items.get(index)).cloned(),
        _ => value.get_str(part).cloned(),
    };
    let mut parts = path.iter();
    parts.try_fold(data.clone(), |value, part| below(&value, part)).is_some()
}

pub(super) async fn patch_data(
    State(app): State<App>,
    _: Writable,
    uri: Uri,
    body: Document,
) -> Result<Response, Refusal> {
    let path = at(&uri)?;
    let changes = Change::list(&path, &body.value.unwrap_or_default())?;
    Ok(write_data(&app, move |data| {
        changes.into_iter().try_for_each(|change| change.apply(data))?;
        Ok(Written::Done)
    })
    .await)
}

pub(super) async fn delete_data(
    State(app): State<App>,
    _: Writable,
    uri: Uri,
) -> Result<Response, Refusal> {
    let path = at(&uri)?;
    Ok(write_data(&app, move |data| {
        Change { operation: Operation::Remove, path, value: Value::Null }.apply(data)?;
        Ok(Written::Done)
    })
    .await)
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
    done(&app, &parameters, written.await)
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
    done(&app, &parameters, written.await)
}

fn done(
    app: &App,
    parameters: &Parameters,
    written: Result<Written, Response>,
) -> Result<Response, Refusal> {
    match written {
        Ok(_) => {
            let nothing = Value::new_object();
            json(StatusCode::OK, &nothing, parameters.is_pretty(), app.bounds.answer)
        }
        Err(response) => Ok(response),
    }
}
