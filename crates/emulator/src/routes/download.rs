//! `GET /download/{digest}`, and the content store that it redirects to.
//!
//! The store is another origin and accepts only a short-lived ticket in the URL. It refuses
//! `Authorization`: a client that sends it would give its token to a third party. Over gRPC, the ticket
//! is the token (`grpc`).

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::super::auth::Access;
use super::super::refusal::{Address, Refusal};
use super::super::scalars::Digest;
use super::super::state::{Shared, url};
use super::{Answer, Form, Pages, Parameter, Route, RouteRequest};

pub(super) static REDIRECT: Route = Route {
    api: Address::ControlPlane,
    path: "/download/{digest}",
    operation: "DownloadService_Download",
    summary: "Redirects to an artifact's content, on another origin and for a short time.",
    section: "4.7",
    access: Access::Paid,
    query: &[],
    pages: Pages::None,
    body: None,
    answer: Answer::Found,
    handle: redirect,
};

pub(super) static CONTENT: Route = Route {
    api: Address::Store,
    path: "/content/{digest}",
    operation: "Store_Content",
    summary: "Returns content.",
    section: "4.7",
    access: Access::Anyone,
    query: &[Parameter::new("ticket", Form::Text, "proof of a redirect by the control plane")],
    pages: Pages::None,
    body: None,
    answer: Answer::Bytes,
    handle: content,
};

/// On the control plane: redirects to the content.
fn redirect(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let (shared, caller) = (request.shared, request.caller()?.index);
    let location = location(shared, caller, request.path("digest"), request.headers)?;
    Ok((StatusCode::FOUND, [(header::LOCATION, location)]).into_response())
}

/// Returns the signed URL of the content that a caller's organization asks for.
pub(super) fn location(
    shared: &Shared,
    organization: usize,
    digest: &str,
    headers: &HeaderMap,
) -> Result<String, Refusal> {
    let ticket = ticket(shared, organization, digest)?;
    let store = store_url(shared.addresses.store, headers);
    Ok(format!("{store}/content/{digest}?ticket={ticket}"))
}

/// Returns the content store's ticket for what a caller's organization asks for.
pub(super) fn ticket(
    shared: &Shared,
    organization: usize,
    digest: &str,
) -> Result<String, Refusal> {
    let digest = Digest::parse(digest)
        .filter(|digest| digest.sha256_hex().is_some())
        .ok_or_else(|| Refusal::bad_request(format!("`{digest}` is not a sha256 digest")))?;
    let nodes = shared.dataset.graph.visible(&digest, organization);
    if nodes.is_empty() {
        return Err(Refusal::not_found(format!("artifact with digest `{digest}` not found")));
    }
    let stored = shared.dataset.artifacts.contains_key(&digest);
    if !stored || !nodes.iter().any(|node| node.downloadable) {
        return Err(Refusal::forbidden(format!("artifact `{digest}` is not downloadable")));
    }
    Ok(shared.tickets.write(&digest))
}

/// Returns the store's URL for the caller: if the emulator listens on all addresses, only the
/// caller knows the host's name.
fn store_url(store: SocketAddr, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    match host {
        Some(host) if store.ip().is_unspecified() => {
            let name = host.rsplit_once(':').map_or(host, |(name, port)| {
                if port.bytes().all(|b| b.is_ascii_digit()) { name } else { host }
            });
            format!("http://{name}:{}", store.port())
        }
        _ => url(store),
    }
}

/// On the content store: returns the bytes.
fn content(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    if request.headers.contains_key(header::AUTHORIZATION) {
        return Err(Refusal::bad_request("only one authentication mechanism is allowed"));
    }
    let missing = || Refusal::not_found("no such content");
    let digest = Digest::parse(request.path("digest")).ok_or_else(missing)?;
    let ticket = request.query.one("ticket")?;
    let ticket = ticket.ok_or_else(|| Refusal::unauthenticated("the link has no ticket"))?;
    request.shared.tickets.check(&digest, ticket)?;
    let artifact = request.shared.dataset.artifacts.get(&digest).ok_or_else(missing)?;
    let mut response = Response::new(Body::from(artifact.bytes.clone()));
    if let Ok(value) = HeaderValue::from_str(&artifact.content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    let name: String = artifact.name.chars().filter(|c| !matches!(c, '"' | '\\')).collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}
