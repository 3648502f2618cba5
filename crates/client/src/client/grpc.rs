//! The control plane over gRPC: the same requests, answers and errors as over HTTP.
//!
//! Owns the translation: a request becomes a message, an answer the JSON that the control plane
//! would give over HTTP, a status the error of the HTTP status that stands for it. Requests are sent
//! like all others, within the same limits; whoever reads the answer doesn't know how it came.

mod channel;
mod messages;

use std::sync::{Arc, PoisonError};

use chrono::{DateTime, SecondsFormat, Utc};
use http::uri::PathAndQuery;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tonic::{Code, Status};
use url::Url;

use super::transport::{Failed, cut, out_of_time};
use super::{
    Api, ApiRequest, Client, Context, DISCOVER, DOWNLOAD, Endpoint, Token, answer, protocol,
};
use crate::text::shorten;
use crate::{Error, ErrorKind};
use channel::{Channel, Exchange};
use messages::{
    DiscoverRequest, DiscoverResponse, DownloadUrlRequest, DownloadUrlResponse, Item, PageRequest,
    Timestamp,
};

/// The largest message, in bytes: what gRPC allows by default.
const MAX_MESSAGE: usize = 4 << 20;

const DISCOVER_PRIVATE: Endpoint = Endpoint {
    name: DISCOVER.name,
    api: Api::ControlPlane,
    path: "/controlplane.v1.ReferrerService/DiscoverPrivate",
};
const GET_DOWNLOAD_URL: Endpoint = Endpoint {
    name: DOWNLOAD.name,
    api: Api::ControlPlane,
    path: "/controlplane.v1.CASRedirectService/GetDownloadURL",
};

/// Returns the answer to a `discover` request, as JSON.
pub async fn discover(
    client: &Client,
    context: &Context,
    call: &ApiRequest,
) -> Result<(Vec<u8>, Token), Failed> {
    let query = |name: &str| {
        let value = call.query.iter().find(|(key, _)| *key == name);
        value.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let message = DiscoverRequest {
        digest: call.segments.first().cloned().unwrap_or_default(),
        kind: query("kind"),
        pagination: Some(PageRequest {
            cursor: query("pagination.cursor"),
            limit: query("pagination.limit").parse().unwrap_or_default(),
        }),
    };
    let (response, token): (DiscoverResponse, _) =
        send(client, context, DISCOVER_PRIVATE, message).await?;
    let mut envelope = serde_json::Map::new();
    if let Some(mut result) = response.result {
        let references = std::mem::take(&mut result.references);
        let references = references.into_iter().map(object).collect::<Result<Vec<_>, _>>()?;
        let mut root = object(result)?;
        if let Some(root) = root.as_object_mut() {
            root.insert("references".to_owned(), Value::Array(references));
        }
        envelope.insert("result".to_owned(), root);
    }
    if let Some(page) = response.pagination {
        let next = json!({ "next_cursor": page.next_cursor });
        envelope.insert("pagination".to_owned(), next);
    }
    Ok((Value::Object(envelope).to_string().into_bytes(), token))
}

/// Returns an item as JSON, without its references: those of a reference aren't sent.
fn object(item: Item) -> Result<Value, Error> {
    Ok(json!({
        "digest": item.digest,
        "kind": item.kind,
        "downloadable": item.downloadable,
        "created_at": item.created_at.map(rfc3339).transpose()?,
        "metadata": item.metadata,
        "annotations": item.annotations,
    }))
}

fn rfc3339(time: Timestamp) -> Result<String, Error> {
    u32::try_from(time.nanos)
        .ok()
        .and_then(|nanos| DateTime::<Utc>::from_timestamp(time.seconds, nanos))
        .map(|time| time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
        .ok_or_else(|| protocol("the service's answer has a time that doesn't exist"))
}

/// Returns the signed URL of an artifact's content.
pub async fn download_url(
    client: &Client,
    context: &Context,
    digest: &str,
) -> Result<(String, Token), Failed> {
    let message = DownloadUrlRequest { digest: digest.to_owned() };
    let (response, token): (DownloadUrlResponse, _) =
        send(client, context, GET_DOWNLOAD_URL, message).await?;
    let url = response.result.map(|result| result.url).unwrap_or_default();
    if Url::parse(&url).is_err() {
        return Err(protocol("the service's answer has no URL of the content").into());
    }
    Ok((url, token))
}

/// Sends a message with the token; a refused one is replaced once.
async fn send<M, R>(
    client: &Client,
    context: &Context,
    endpoint: Endpoint,
    message: M,
) -> Result<(R, Token), Failed>
where
    M: prost::Message + Clone + 'static,
    R: prost::Message + Default + 'static,
{
    let token = client.tokens.get(context.deadline).await?;
    match unary(client, context, endpoint, &token, message.clone()).await {
        Ok(response) => Ok((response, token)),
        Err(failed) if failed.error.kind() == ErrorKind::Unauthenticated => {
            let fresh = client.tokens.replace(&token, context.deadline).await;
            let Some(token) = fresh else { return Err(failed) };
            Ok((unary(client, context, endpoint, &token, message).await?, token))
        }
        Err(failed) => Err(failed),
    }
}

async fn unary<M, R>(
    client: &Client,
    context: &Context,
    endpoint: Endpoint,
    token: &Token,
    message: M,
) -> Result<R, Failed>
where
    M: prost::Message + 'static,
    R: prost::Message + Default + 'static,
{
    let address = client.settings.endpoints.grpc().ok_or_else(|| protocol("no gRPC address"))?;
    let exchange = Arc::new(Exchange::default());
    let mut url = address.clone();
    url.set_path(endpoint.path);
    let origin = answer::origin(&url);
    let channel =
        Channel { client, context, endpoint, token, url, exchange: Arc::clone(&exchange) };
    let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(MAX_MESSAGE);
    let path = PathAndQuery::from_static(endpoint.path);
    let codec = tonic_prost::ProstCodec::<M, R>::default();
    let call = grpc.unary(tonic::Request::new(message), path, codec);
    let Ok(result) = tokio::time::timeout_at(context.deadline.into(), call).await else {
        return Err(out_of_time(&origin).into());
    };
    let mut seen = exchange.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(failed) = seen.failed.take() {
        return Err(failed);
    }
    context.count(seen.bytes)?;
    match (result, seen.status) {
        (Ok(response), Some(_)) => Ok(response.into_inner()),
        (Err(status), Some(false)) => Err(refusal(endpoint, &status, token)),
        (_, None) if seen.ended => Err(cut(&origin, seen.bytes)),
        (Err(status), _) => Err(unreadable(&status).into()),
        (Ok(_), None) => Err(cut(&origin, seen.bytes)),
    }
}

/// Returns the failure that a status of the service means.
fn refusal(endpoint: Endpoint, status: &Status, token: &Token) -> Failed {
    let repeats = token.occurs_in(status.message().as_bytes());
    let message = if repeats { "" } else { status.message() };
    let body = json!({ "code": status.code() as i32, "message": message }).to_string();
    let http = http_status(status.code());
    let shown = format!("{:?}", status.code());
    let error = answer::refusal(endpoint, http, &shown, body.as_bytes());
    Failed {
        retryable: answer::is_retryable(http) && error.kind() != ErrorKind::Unauthenticated,
        retry_after: answer::retry_after(status.metadata().as_ref()),
        ..Failed::permanent(error)
    }
}

/// Returns the HTTP status that stands for a code.
const fn http_status(code: Code) -> StatusCode {
    match code {
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
            StatusCode::BAD_REQUEST
        }
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::DeadlineExceeded => StatusCode::REQUEST_TIMEOUT,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable | Code::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        Code::Ok | Code::Unknown | Code::Internal | Code::DataLoss => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// Returns the error of an answer that isn't the message that was expected.
fn unreadable(status: &Status) -> Error {
    if status.code() == Code::OutOfRange {
        let message = format!("an answer is larger than {}", crate::text::size(MAX_MESSAGE as u64));
        return Error::new(ErrorKind::TooLarge, message);
    }
    let why = shorten(status.message(), 300);
    protocol(format!("the service's answer can't be read: {why}"))
}
