//! A gRPC exchange: a request of this crate, and its response as frames.
//!
//! Owns what is observed of it beside its message: the failure of the connection, whether the
//! service's status came, and where the answer ended. The library takes an answer without a status
//! for a whole one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::sync::OwnedSemaphorePermit;
use tonic::{Code, Status};

use super::super::transport::{GRPC, Reply, Request, cut};
use super::super::{Client, Context};
use super::status::unreadable;
use crate::http::connection::failed;
use crate::http::retry::Failed;
use crate::text::shorten;
use crate::{Error, ErrorKind};

const HINT: &str = "check the gRPC address, and that every proxy supports gRPC";

/// The observations of an exchange.
#[derive(Default)]
struct Observations {
    /// The failure of the exchange, if it has one.
    failed: Option<Failed>,
    /// `true` if the service's status is a success; `None` without a status.
    status: Option<bool>,
    /// Set at the end of the response.
    ended: bool,
    /// The number of bytes of the response.
    bytes: u64,
}

#[derive(Default)]
pub struct Exchange(Mutex<Observations>);

impl Exchange {
    fn status(&self, headers: &HeaderMap) {
        if let Some(status) = headers.get("grpc-status") {
            self.0.lock().status = Some(status == "0");
        }
    }

    /// Returns `true` if the service's status came and is a success.
    pub fn succeeded(&self) -> bool {
        self.0.lock().status == Some(true)
    }

    /// The number of bytes of the response.
    pub fn bytes(&self) -> u64 {
        self.0.lock().bytes
    }

    /// Returns the failure behind a status of the library: of the connection, the service, or an unreadable
    /// response.
    pub fn failure(
        &self,
        status: &Status,
        origin: &str,
        refusal: impl FnOnce(&Status) -> Failed,
    ) -> Unserved {
        let mut seen = self.0.lock();
        if let Some(failed) = seen.failed.take() {
            return failed.into();
        }
        match seen.status {
            Some(false) => Unserved { failed: refusal(status), code: Some(status.code()) },
            None if seen.ended => cut(origin, seen.bytes).into(),
            _ => unreadable(status, origin).into(),
        }
    }
}

/// A call without a response.
pub struct Unserved {
    pub failed: Failed,
    /// The service's status, if it is the reason.
    code: Option<Code>,
}

impl Unserved {
    /// Returns `true` if the service says that it doesn't have the method.
    pub fn is_unimplemented(&self) -> bool {
        self.code == Some(Code::Unimplemented)
    }
}

impl From<Failed> for Unserved {
    fn from(failed: Failed) -> Self {
        Self { failed, code: None }
    }
}

impl From<Error> for Unserved {
    fn from(error: Error) -> Self {
        Failed::from(error).into()
    }
}

impl From<Unserved> for Failed {
    fn from(unserved: Unserved) -> Self {
        unserved.failed
    }
}

/// An exchange that failed; its failure is in [`Exchange`].
#[derive(Debug, thiserror::Error)]
#[error("the exchange failed")]
pub struct Broken;

/// Sends one request.
pub struct Channel<'a> {
    client: &'a Client,
    context: &'a Context,
    /// The request without its body.
    request: Request,
    exchange: Arc<Exchange>,
}

impl<'a> Channel<'a> {
    /// Returns a channel for a request without a body, and its observations.
    pub fn new(
        client: &'a Client,
        context: &'a Context,
        request: Request,
    ) -> (Self, Arc<Exchange>) {
        let exchange = Arc::<Exchange>::default();
        (Self { client, context, request, exchange: Arc::clone(&exchange) }, exchange)
    }
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
        let (sent, exchange) = (self.request.clone(), Arc::clone(&self.exchange));
        Box::pin(async move {
            let sent = async {
                let body = request.into_body().collect().await.map_err(|status| {
                    Error::protocol(format!("can't write the request: {}", status.message()))
                })?;
                let request = Request { body: Some(body.to_bytes()), ..sent };
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
                    exchange.0.lock().failed = Some(failed);
                    Err(Broken)
                }
            }
        })
    }
}

/// Returns the failure of a response that isn't gRPC, from a proxy or a different service.
fn not_grpc(reply: &Reply) -> Option<Failed> {
    let media_type = reply.headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let what = if reply.status != StatusCode::OK {
        format!("the status {}", reply.status.as_u16())
    } else if media_type.starts_with(GRPC.as_bytes()) {
        return None;
    } else {
        format!("`{}`", shorten(&String::from_utf8_lossy(media_type), 80))
    };
    let failed = Failed::of_status((), reply.status, &reply.headers);
    let kind = if failed.retryable { ErrorKind::Unavailable } else { ErrorKind::Protocol };
    let message = format!("unexpected response of {}: expected gRPC, found {what}", reply.origin());
    Some(failed.map(|()| Error::new(kind, message).with_hint(HINT)))
}

/// The frames of a response.
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
                self.exchange.0.lock().bytes += length;
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                let failed = failed(error, &self.origin, None);
                self.exchange.0.lock().failed = Some(failed);
                Some(Err(Broken))
            }
            None => {
                self.exchange.0.lock().ended = true;
                None
            }
        })
    }
}
