//! The content store over gRPC: content in parts, for a ticket of the control plane.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use futures_util::Stream;
use tonic::Status;
use tonic::server::ServerStreamingService;

use super::super::super::refusal::Refusal;
use super::super::super::scalars::Digest;
use super::super::super::state::Shared;
use super::messages::{ContentPart, Read};

/// The largest part, in bytes: small, so that most content has several.
const PART: usize = 16 << 10;

/// The router of the content store's methods.
pub(in super::super) fn store() -> Router<Arc<Shared>> {
    Router::new().route("/google.bytestream.ByteStream/Read", post(serve))
}

async fn serve(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let headers = request.headers().clone();
    let codec = tonic_prost::ProstCodec::<ContentPart, Read>::default();
    let mut grpc = tonic::server::Grpc::new(codec);
    grpc.server_streaming(Reading { shared, headers }, request).await.map(Body::new)
}

struct Reading {
    shared: Arc<Shared>,
    headers: HeaderMap,
}

type Parts = Pin<Box<dyn Stream<Item = Result<ContentPart, Status>> + Send>>;

impl ServerStreamingService<Read> for Reading {
    type Response = ContentPart;
    type ResponseStream = Parts;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<Parts>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Read>) -> Self::Future {
        let content = content(&self.shared, &self.headers, &request.into_inner());
        let parts = content.map_err(Refusal::status).map(|mut rest| {
            let parts = std::iter::from_fn(move || {
                let part = rest.split_to(PART.min(rest.len()));
                (!part.is_empty()).then_some(Ok(ContentPart { data: part }))
            });
            tonic::Response::new(Box::pin(futures_util::stream::iter(parts)) as Parts)
        });
        Box::pin(std::future::ready(parts))
    }
}

fn content(shared: &Shared, headers: &HeaderMap, message: &Read) -> Result<Bytes, Refusal> {
    // The real store doesn't distinguish what is missing from other failures.
    let missing = || Refusal::internal("no such content");
    let name = format!("sha256:{}", message.resource_name);
    let digest = Digest::parse(&name).ok_or_else(missing)?;
    let ticket = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let ticket = ticket.and_then(|value| value.strip_prefix("Bearer "));
    let ticket = ticket.ok_or_else(|| Refusal::unauthenticated("there is no token"))?;
    shared.tickets.check(&digest, ticket)?;
    let artifact = shared.dataset.artifacts.get(&digest).ok_or_else(missing)?;
    Ok(artifact.bytes.clone())
}
