//! What happens to each request before and after it is answered.

use std::time::Instant;

use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::answer::Refusal;
use crate::app::App;

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

/// Gives a request a place in the queue until it is answered or its client is gone, or refuses it.
pub(super) async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let body = length(&request, app.bounds.body);
    let Some(_place) = app.queue.take(body) else {
        app.metrics.refused();
        let message = "too many requests are being evaluated; try again later";
        let status = StatusCode::TOO_MANY_REQUESTS;
        let mut response = Refusal::new(status, "too_many_requests", message).into_response();
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        return response;
    };
    next.run(request).await
}

/// Returns the number of bytes that a body may have: one whose length isn't known, or that is compressed, as
/// many as any.
fn length(request: &Request, most: usize) -> usize {
    let is_plain = !request.headers().contains_key(header::CONTENT_ENCODING);
    let exact = request.body().size_hint().exact().filter(|_| is_plain);
    exact.map_or(most, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX).min(most))
}

/// Counts a request and its time.
pub(super) async fn measure(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (path, method) = (request.uri().clone(), request.method().clone());
    let response = next.run(request).await;
    app.metrics.answered(path.path(), &method, response.status().as_u16(), began.elapsed());
    response
}
