//! One exchange of gRPC: a request of this crate, its answer as frames.
//!
//! Owns what is observed of it beside its message: the failure of the connection, whether the
//! service's status came, and where the answer ended. The library takes an answer without a status
//! for a whole one.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Task, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::super::transport::{Failed, GRPC, Reply, Request, failed};
use super::super::{Client, Context, Endpoint, Token, answer, protocol};
use crate::text::shorten;
use crate::{Error, ErrorKind};

const HINT: &str =
    "is it the control plane's gRPC address, and is everything between able to pass gRPC on?";

/// What was observed of an exchange.
#[derive(Default)]
pub struct Seen {
    /// The failure of the exchange, if it has one.
    pub failed: Option<Failed>,
    /// Whether the service's status, if it came, is a success.
    pub status: Option<bool>,
    /// Set at the end of the answer.
    pub ended: bool,
    /// The number of bytes of the answer.
    pub bytes: u64,
}

#[derive(Default)]
pub struct Exchange(pub Mutex<Seen>);

impl Exchange {
    fn note(&self, note: impl FnOnce(&mut Seen)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn status(&self, headers: &HeaderMap) {
        if let Some(status) = headers.get("grpc-status") {
            self.note(|seen| seen.status = Some(status == "0"));
        }
    }
}

/// An exchange that failed; its failure is in [`Seen`].
#[derive(Debug, thiserror::Error)]
#[error("the exchange failed")]
pub struct Broken;

/// Sends one request.
pub struct Channel<'a> {
    pub client: &'a Client,
    pub context: &'a Context,
    pub endpoint: Endpoint,
    pub token: &'a Token,
    pub url: Url,
    pub exchange: Arc<Exchange>,
}

type Sending<'a> =
    Pin<Box<dyn Future<Output = Result<http::Response<Frames>, Broken>> + Send + 'a>>;

impl<'a> tonic::client::GrpcService<tonic::body::Body> for Channel<'a> {
    type ResponseBody = Frames;
    type Error = Broken;
    type Future = Sending<'a>;

    fn poll_ready(&mut self, _: &mut Task<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Sending<'a> {
        let (client, context) = (self.client, self.context);
        let (endpoint, token) = (self.endpoint, self.token);
        let (url, exchange) = (self.url.clone(), Arc::clone(&self.exchange));
        Box::pin(async move {
            let sent = async {
                let body = request.into_body().collect().await.map_err(|status| {
                    protocol(format!("the request can't be written: {}", status.message()))
                })?;
                let request = Request {
                    method: Method::POST,
                    url,
                    body: Some(body.to_bytes()),
                    accept: GRPC,
                    content_type: GRPC,
                    authorization: Some(token.header()?),
                    organization: client.organization(token),
                    template: Some(endpoint.path),
                    trace: context.trace.clone(),
                    deadline: context.deadline,
                };
                let reply = client.exchange(context, request).await?;
                not_grpc(&reply).map_or(Ok(reply), Err)
            };
            match sent.await {
                Ok(reply) => {
                    exchange.status(&reply.headers);
                    let (headers, origin, body, permit) = reply.into_parts();
                    let frames = Frames { body, origin, exchange, _permit: permit };
                    let mut response = http::Response::new(frames);
                    *response.headers_mut() = headers;
                    Ok(response)
                }
                Err(mut failed) => {
                    if failed.error.hint().is_none() {
                        failed.error = failed.error.with_hint(HINT);
                    }
                    exchange.note(|seen| seen.failed = Some(failed));
                    Err(Broken)
                }
            }
        })
    }
}

/// Returns the failure of an answer that isn't gRPC: it comes from something between, or from another
/// service.
fn not_grpc(reply: &Reply) -> Option<Failed> {
    let media_type = reply.headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let what = if reply.status != StatusCode::OK {
        format!("the status {}", reply.status.as_u16())
    } else if media_type.starts_with(GRPC.as_bytes()) {
        return None;
    } else {
        format!("`{}`", shorten(&String::from_utf8_lossy(media_type), 80))
    };
    let retryable = answer::is_retryable(reply.status);
    let kind = if retryable { ErrorKind::Unavailable } else { ErrorKind::Protocol };
    let message = format!("{} answered with {what} instead of gRPC", reply.origin());
    Some(Failed { retryable, ..Failed::permanent(Error::new(kind, message).with_hint(HINT)) })
}

/// The frames of an answer.
pub struct Frames {
    body: reqwest::Body,
    origin: String,
    exchange: Arc<Exchange>,
    /// The slot among the requests in flight.
    _permit: OwnedSemaphorePermit,
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(task));
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if let Some(trailers) = frame.trailers_ref() {
                    self.exchange.status(trailers);
                }
                let length = frame.data_ref().map_or(0, Bytes::len) as u64;
                self.exchange.note(|seen| seen.bytes += length);
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                let failed = failed(error, &self.origin, None);
                self.exchange.note(|seen| seen.failed = Some(failed));
                Some(Err(Broken))
            }
            None => {
                self.exchange.note(|seen| seen.ended = true);
                None
            }
        })
    }
}
