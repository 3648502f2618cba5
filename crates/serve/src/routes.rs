//! The interface: which address is answered where, and what holds for all of them.

mod admission;
mod batch;
mod call;
mod data;
mod gate;
mod guard;
mod health;
mod policies;
mod provider;
mod query;
mod status;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};

use super::answer::Refusal;
use super::app::App;

/// Returns the interface.
pub(crate) fn router(app: &App) -> Router {
    // The secret was compared before.
    let secret = if app.access.webhook_secret.is_some() { "/{secret}" } else { "" };
    let evaluating = Router::new()
        .route(&format!("{}{secret}", admission::ROUTE), only(post(admission::post), "POST"))
        .route(&format!("{}{secret}", provider::ROUTE), only(post(provider::post), "POST"))
        .route("/", only(post(data::default_decision), "POST"))
        .with_document("/v0/data", || only(post(data::post_v0), "POST"))
        .with_document("/v1/data", || read_only(get(data::get_v1).post(data::post_v1), "GET, POST"))
        .route("/v1/batch/call", only(post(call::post_many), "POST"))
        .with_document("/v1/batch/data", || only(post(batch::post), "POST"))
        .route("/v1/query", only(get(query::get).post(query::post), "GET, POST"))
        .route("/v1/call/{function}", only(post(call::post), "POST"))
        .route(gate::ROUTE, only(post(gate::post), "POST"))
        .route("/health/{*path}", only(get(health::policy), "GET"))
        .route("/v1/policies/{*id}", read_only(get(policies::one), "GET"))
        .route_layer(from_fn_with_state(app.clone(), guard::admit));
    Router::new()
        .merge(evaluating)
        .with_document("/v1/compile", || get(compile).post(compile))
        .route("/v1/policies", only(get(policies::list), "GET"))
        .route("/health", only(get(health::get), "GET"))
        .route("/v1/status", only(get(status::status), "GET"))
        .route("/v1/config", only(get(status::config), "GET"))
        .route("/metrics", only(get(status::metrics), "GET"))
        .fallback(missing)
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(app.clone(), guard::check))
        .layer(from_fn(provider::respond_always))
        .layer(from_fn_with_state(app.clone(), guard::measure))
        .with_state(app.clone())
}

/// Returns an address without the slashes at its end, which mean nothing, as in OPA.
pub(crate) fn trimmed(uri: Uri) -> Uri {
    let path = uri.path().trim_end_matches('/');
    if path.is_empty() || path.len() == uri.path().len() {
        return uri;
    }
    let whole = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = whole.parse().ok();
    Uri::from_parts(parts).unwrap_or(uri)
}

/// Addresses with a document's path at their end, which may be empty.
trait WithDocument {
    fn with_document(self, at: &str, handlers: impl Fn() -> MethodRouter<App>) -> Self;
}

impl WithDocument for Router<App> {
    fn with_document(self, at: &str, handlers: impl Fn() -> MethodRouter<App>) -> Self {
        self.route(at, handlers()).route(&format!("{at}/{{*path}}"), handlers())
    }
}

/// Refuses other methods than those that are there.
fn only(handlers: MethodRouter<App>, allowed: &'static str) -> MethodRouter<App> {
    handlers.fallback(move || async move { method_not_allowed(allowed, "method not supported") })
}

/// Refuses the methods that change policies and data.
fn read_only(handlers: MethodRouter<App>, allowed: &'static str) -> MethodRouter<App> {
    handlers.fallback(move || async move {
        let message = "policies and data can't be changed over HTTP: they are read from files";
        method_not_allowed(allowed, message)
    })
}

fn method_not_allowed(allowed: &'static str, message: &str) -> Response {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let mut response = Refusal::new(status, "invalid_operation", message).into_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

async fn compile() -> Refusal {
    let message = "partial evaluation isn't supported: use `/v1/data` or `/v1/query`";
    Refusal::new(StatusCode::NOT_IMPLEMENTED, "invalid_operation", message)
}

async fn missing() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "resource_not_found", "unknown address")
}
