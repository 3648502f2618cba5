//! An artifact's content from the content store over gRPC.
//!
//! Owns the stream and its bounds. The store gets the token that it is given, and none of the host's
//! headers.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::uri::PathAndQuery;
use tonic::Streaming;
use url::Url;

use super::super::transport::{cut, out_of_time, too_large};
use super::super::{Client, Context, Token};
use super::channel::{Channel, Exchange};
use super::messages::{Chunk, ReadRequest};
use super::{MAX_MESSAGE, request, status};
use crate::Error;
use crate::http::body::Source;
use crate::http::origin::origin;
use crate::http::retry::Failed;

const READ: &str = "/google.bytestream.ByteStream/Read";

/// Content while it arrives.
pub struct Stored {
    chunks: Streaming<Chunk>,
    exchange: Arc<Exchange>,
    origin: String,
    token: Token,
    deadline: Instant,
    cap: u64,
    total: u64,
}

/// Asks the content store at `address` for the content of `digest` (`sha256:<64 hex>`), with the
/// store's own token.
pub async fn read(
    client: &Client,
    context: &Context,
    address: &Url,
    digest: &str,
    token: Token,
) -> Result<Stored, Failed> {
    let name = digest
        .strip_prefix("sha256:")
        .ok_or_else(|| Error::protocol("invalid digest: expected sha256"))?;
    let message = ReadRequest { resource_name: name.to_owned() };
    let request = request(context, address, READ, Some(&token))?;
    let origin = origin(&request.url);
    let (channel, exchange) = Channel::new(client, context, request);
    let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(MAX_MESSAGE);
    let codec = tonic_prost::ProstCodec::<ReadRequest, Chunk>::default();
    let path = PathAndQuery::from_static(READ);
    let call = grpc.server_streaming(tonic::Request::new(message), path, codec);
    let deadline = context.deadline;
    let Ok(result) = tokio::time::timeout_at(deadline.into(), call).await else {
        return Err(out_of_time(&origin).into());
    };
    let chunks = match result {
        Ok(response) => response.into_inner(),
        Err(status) => {
            let refusal = |status: &_| status::store_refusal(&origin, status, &token);
            return Err(exchange.failure(&status, &origin, refusal).failed);
        }
    };
    let cap = client.settings.max_artifact_bytes;
    Ok(Stored { chunks, exchange, origin, token, deadline, cap, total: 0 })
}

impl Source for Stored {
    fn announced(&self) -> Option<u64> {
        None
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Failed> {
        let Self { chunks, exchange, origin, token, .. } = self;
        let chunk = tokio::time::timeout_at(self.deadline.into(), chunks.message());
        match chunk.await {
            Err(_) => Err(out_of_time(origin).into()),
            Ok(Ok(Some(chunk))) => {
                self.total = self.total.saturating_add(chunk.data.len() as u64);
                if self.total <= self.cap {
                    Ok(Some(chunk.data))
                } else {
                    Err(too_large(origin, self.cap))
                }
            }
            // The library takes a stream without a status for a whole one.
            Ok(Ok(None)) if exchange.succeeded() => Ok(None),
            Ok(Ok(None)) => Err(cut(origin, self.total)),
            Ok(Err(status)) => {
                let refusal = |status: &_| status::store_refusal(origin, status, token);
                Err(exchange.failure(&status, origin, refusal).failed)
            }
        }
    }
}
