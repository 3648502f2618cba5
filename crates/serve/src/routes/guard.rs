//! Middleware of each request: limits, access control and metrics.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::answer::Refusal;
use crate::app::App;
use crate::body;

/// Refuses requests of those who may not ask.
pub(super) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(refusal) = app.access.refusal(&request) else { return next.run(request).await };
    let mut response = refusal.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}

/// Waits for the body of a request, gives it a place in the queue until it is answered or its client is gone, or
/// refuses it.
pub(super) async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let answered = answer(&app, request, next).await;
    let mut response = match answered.and_then(|response| app.queue.answer(response)) {
        Ok(response) => return response,
        Err(refusal) => refusal.into_response(),
    };
    let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
    if busy.contains(&response.status()) {
        app.metrics.refused();
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

async fn answer(app: &App, request: Request, next: Next) -> Result<Response, Refusal> {
    let mut body = app.queue.body();
    let request = body::arrived(request, app, &mut body).await?;
    let _place = app.queue.take()?;
    Ok(next.run(request).await)
}

/// Counts a request and its time.
pub(super) async fn measure(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (path, method) = (request.uri().clone(), request.method().clone());
    let response = next.run(request).await;
    app.metrics.answered(path.path(), &method, response.status().as_u16(), began.elapsed());
    response
}
