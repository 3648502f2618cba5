//! The middleware of every request: the log, then the faults, then the route.
//!
//! Owns the application of a fault to an answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full};

use super::faults::FaultKind;
use super::log::RequestRecord;
use super::refusal::{Address, Refusal, json_response};
use super::socket::ResetFlag;
use super::state::Shared;

/// The largest request body, in bytes.
const MAX_REQUEST: usize = 64 * 1024 * 1024;

/// The time for written bytes to reach the socket before the connection ends.
const FLUSH: Duration = Duration::from_millis(20);

/// The header of every response, including faults: no data set and no fault can remove it.
const EMULATOR: HeaderName = HeaderName::from_static("x-rego-platform-emulator");

/// Serves a request, and marks its response.
pub(super) async fn observe(
    State((shared, api)): State<(Arc<Shared>, Address)>,
    ConnectInfo(reset): ConnectInfo<ResetFlag>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = answered(shared, api, reset, request, next).await;
    response.headers_mut().insert(EMULATOR, HeaderValue::from_static("1"));
    response
}

/// Logs the request and applies the faults, or passes it on.
async fn answered(
    shared: Arc<Shared>,
    api: Address,
    reset: ResetFlag,
    request: Request,
    next: Next,
) -> Response {
    let _in_flight = shared.log.enter();
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_REQUEST).await else {
        let refusal = Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
        return refusal.respond(api);
    };
    let header = |name: &str| parts.headers.get(name);
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    let secret = if api == Address::Store { "?" } else { "\0" };
    shared.log.add(RequestRecord {
        api,
        method: parts.method.to_string(),
        target: target.split(secret).next().unwrap_or_default().to_owned(),
        had_authorization: parts.headers.contains_key(header::AUTHORIZATION),
        organization: header(shared.tokens.organization_header())
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
        header_names: parts.headers.keys().map(|name| name.as_str().to_owned()).collect(),
        body: body.to_vec(),
    });
    // The content store has both.
    let content_type = header("content-type").map_or(&b""[..], HeaderValue::as_bytes);
    let form = if content_type == b"application/grpc" { Address::Grpc } else { api };
    let (delay, fault) = shared.faults.pick(api, parts.method.as_str(), parts.uri.path());
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    match fault {
        Some(FaultKind::Status { status, headers, body }) => refuse(form, status, headers, body),
        Some(FaultKind::Reset) => {
            reset.set();
            Response::new(Body::empty())
        }
        fault => {
            let response = next.run(Request::from_parts(parts, Body::from(body))).await;
            match fault {
                Some(FaultKind::CutBody(at)) => break_off(response, at, false).await,
                Some(FaultKind::StallBody(at)) => break_off(response, at, true).await,
                Some(FaultKind::WrongBytes) => falsify(response).await,
                _ => response,
            }
        }
    }
}

fn refuse(
    api: Address,
    status: u16,
    headers: Vec<(String, String)>,
    body: Option<String>,
) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // A 404 has to name what is missing: clients take any other for a wrong address.
    let message = match status {
        StatusCode::NOT_FOUND => "resource not found (injected fault)",
        _ => "injected fault",
    };
    if let (Address::Grpc, Some(message)) = (api, &body)
        && status != StatusCode::OK
    {
        return Refusal::new(status, message).respond(api);
    }
    let mut response = match (api, &body) {
        // Something else than gRPC answers.
        (Address::Grpc, Some(_)) => json_response(&serde_json::Value::Null),
        _ => Refusal::new(status, message).respond(api),
    };
    if let Some(body) = body {
        *response.body_mut() = Body::from(body);
    }
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// Sends the first `at` bytes under the full `Content-Length`, then ends the connection or stalls.
async fn break_off(response: Response, at: usize, stall: bool) -> Response {
    let (mut parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let sent = bytes.slice(..at.min(bytes.len().saturating_sub(1)));
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len().max(1)));
    let first = futures_util::stream::iter([Ok::<Bytes, std::io::Error>(sent)]);
    let end = futures_util::stream::once(async move {
        if stall {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(FLUSH).await;
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted))
    });
    Response::from_parts(parts, Body::from_stream(first.chain(end)))
}

/// Changes the byte in the middle.
async fn falsify(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let Ok(body) = body.collect().await else { return Response::new(Body::empty()) };
    let trailers = body.trailers().cloned();
    let mut bytes = body.to_bytes().to_vec();
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte = byte.wrapping_add(1);
    }
    let body = Full::from(bytes).with_trailers(std::future::ready(trailers.map(Ok)));
    Response::from_parts(parts, Body::new(body))
}
