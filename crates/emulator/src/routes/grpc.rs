//! The control plane and the content store over gRPC: the same data as over HTTP.
//!
//! Owns the methods of the control plane, and the messages, which are this crate's own: a client with a
//! wrong field number finds nothing here.

mod messages;
mod store;

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use prost::Message as _;
use serde_json::Value;
use tonic::Status;
use tonic::server::UnaryService;
use url::form_urlencoded;

use super::super::auth::{Access, Caller};
use super::super::dataset::{Node, Paging};
use super::super::query::Query;
use super::super::refusal::Refusal;
use super::super::state::Shared;
use super::{discover, download};
use messages::{
    Cursor, DOWNLOADER, Discovered, Download, Downloadable, Infoz, InfozRequest, Next, Referrer,
    Request as Discover, Ticket, TicketRequest, TicketResponse, Time, Url,
};

pub(super) use store::store;

/// The largest page of references.
const MAX_LIMIT: i32 = 100;

/// The router of the control plane's gRPC address.
pub(in super::super) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/controlplane.v1.ReferrerService/DiscoverPrivate",
            post(|state, request| serve(state, request, discovered)),
        )
        .route(
            "/controlplane.v1.CASRedirectService/GetDownloadURL",
            post(|state, request| serve(state, request, download_url)),
        )
        .route(
            "/controlplane.v1.CASCredentialsService/Get",
            post(|state, request| serve(state, request, ticket)),
        )
        .route(
            "/controlplane.v1.StatusService/Infoz",
            post(|state, request| serve(state, request, infoz)),
        )
}

/// The same method for gRPC-Web, at the control plane's HTTP address.
pub(super) fn web() -> Router<Arc<Shared>> {
    Router::new().route(
        "/controlplane.v1.CASRedirectService/GetDownloadURL",
        post(|State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes| async move {
            let frame = |flag: u8, content: &[u8]| {
                let length = u32::try_from(content.len()).unwrap_or_default().to_be_bytes();
                [&[flag], &length[..], content].concat()
            };
            let request = body.get(5..).and_then(|message| Download::decode(message).ok());
            let answer = download_url(&shared, &headers, request.unwrap_or_default());
            let body = match answer {
                Ok(url) => {
                    [frame(0, &url.encode_to_vec()), frame(0x80, b"grpc-status: 0\r\n")].concat()
                }
                Err(refusal) => {
                    let code = refusal.status().code() as i32;
                    frame(0x80, format!("grpc-status: {code}\r\n").as_bytes())
                }
            };
            ([(header::CONTENT_TYPE, "application/grpc-web+proto")], body)
        }),
    )
}

/// A method: from the headers and the message of a request to a response.
type Method<M, R> = fn(&Shared, &HeaderMap, M) -> Result<R, Refusal>;

async fn serve<M, R>(
    State(shared): State<Arc<Shared>>,
    request: Request,
    method: Method<M, R>,
) -> Response
where
    M: prost::Message + Default + 'static,
    R: prost::Message + 'static,
{
    let headers = request.headers().clone();
    let codec = tonic_prost::ProstCodec::<R, M>::default();
    let mut grpc = tonic::server::Grpc::new(codec);
    grpc.unary(Unary { shared, headers, method }, request).await.map(Body::new)
}

struct Unary<M, R> {
    shared: Arc<Shared>,
    headers: HeaderMap,
    method: Method<M, R>,
}

impl<M: Send + 'static, R: Send + 'static> UnaryService<M> for Unary<M, R> {
    type Response = R;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<R>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<M>) -> Self::Future {
        let answer = (self.method)(&self.shared, &self.headers, request.into_inner());
        Box::pin(std::future::ready(answer.map(tonic::Response::new).map_err(Refusal::status)))
    }
}

fn caller<'a>(
    shared: &'a Shared,
    headers: &HeaderMap,
    access: Access,
) -> Result<Caller<'a>, Refusal> {
    let caller = shared.tokens.caller(&shared.dataset, headers)?;
    caller.require(access)?;
    Ok(caller)
}

fn discovered(
    shared: &Shared,
    headers: &HeaderMap,
    message: Discover,
) -> Result<Discovered, Refusal> {
    let caller = caller(shared, headers, Access::Token)?.index;
    let kind = Some(message.kind.as_str()).filter(|kind| !kind.is_empty());
    let node = discover::find(&shared.dataset.graph, caller, &message.digest, kind)?;
    let Cursor { cursor, limit } = message.pagination.unwrap_or_default();
    let mut query = form_urlencoded::Serializer::new(String::new());
    if !cursor.is_empty() {
        query.append_pair("pagination.cursor", &cursor);
    }
    if !(0..=MAX_LIMIT).contains(&limit) {
        let message = format!("`pagination.limit` isn't between 1 and {MAX_LIMIT}");
        return Err(Refusal::bad_request(message));
    }
    if limit > 0 {
        query.append_pair("pagination.limit", &limit.to_string());
    }
    let keys = ["pagination.cursor", "pagination.limit"];
    let query = Query::parse(Some(&query.finish()), &keys)?;
    let search = format!("gRPC {caller} {} {}", node.digest, node.kind.as_str());
    let rows = shared.dataset.graph.references(node);
    let page = shared.limits.cut(Paging::Cursor, rows, &query, &search)?;
    let next_cursor =
        page.pagination.get("next_cursor").and_then(Value::as_str).unwrap_or_default().to_owned();
    let references = page.rows.into_iter().map(referrer).collect();
    Ok(Discovered {
        result: Some(Referrer { references, ..referrer(node) }),
        pagination: Some(Next { next_cursor }),
    })
}

fn referrer(node: &Node) -> Referrer {
    let time = node.created_at.0;
    Referrer {
        digest: node.digest.as_str().to_owned(),
        kind: node.kind.as_str().to_owned(),
        downloadable: node.downloadable,
        references: Vec::new(),
        created_at: Some(Time {
            seconds: time.timestamp(),
            nanos: i32::try_from(time.timestamp_subsec_nanos()).unwrap_or_default(),
        }),
        metadata: node.metadata.clone(),
        annotations: node.annotations.clone(),
    }
}

fn download_url(
    shared: &Shared,
    headers: &HeaderMap,
    message: Download,
) -> Result<Downloadable, Refusal> {
    let caller = caller(shared, headers, Access::Paid)?.index;
    let url = download::location(shared, caller, &message.digest, headers)?;
    Ok(Downloadable { result: Some(Url { url }) })
}

fn ticket(
    shared: &Shared,
    headers: &HeaderMap,
    message: TicketRequest,
) -> Result<TicketResponse, Refusal> {
    let caller = caller(shared, headers, Access::Paid)?.index;
    if message.role != DOWNLOADER {
        return Err(Refusal::bad_request("only the role `DOWNLOADER` is available"));
    }
    let token = download::ticket(shared, caller, &message.digest)?;
    Ok(TicketResponse { result: Some(Ticket { token }) })
}

#[allow(clippy::unnecessary_wraps, reason = "it is a method like the others")]
fn infoz(shared: &Shared, _: &HeaderMap, _: InfozRequest) -> Result<Infoz, Refusal> {
    let infoz = &shared.dataset.service.infoz;
    Ok(Infoz { login_url: infoz.login_url.clone(), version: infoz.version.clone() })
}
