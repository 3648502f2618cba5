//! The control plane over gRPC: the same requests, answers and errors as over HTTP.
//!
//! Owns the translation: a request becomes a message, an answer the JSON that the control plane
//! would give over HTTP. Requests are sent like all others, within the same limits; whoever reads the
//! answer doesn't know how it came.

mod channel;
mod messages;
mod status;
mod store;

use chrono::{DateTime, SecondsFormat, Utc};
use http::uri::PathAndQuery;
use reqwest::Method;
use serde_json::{Value, json};
use url::Url;

use super::transport::{GRPC, Request, cut, out_of_time};
use super::{Api, ApiRequest, Client, Context, DISCOVER, DOWNLOAD, Endpoint, INFOZ, Token, answer};
use crate::http::origin::origin;
use crate::http::retry::Failed;
use crate::{Error, ErrorKind};
use channel::{Channel, Unserved};
use messages::{
    CredentialsRequest, CredentialsResponse, DOWNLOADER, DiscoverRequest, DiscoverResponse,
    DownloadUrlRequest, DownloadUrlResponse, InfozRequest, InfozResponse, Item, PageRequest,
    Timestamp,
};

pub use store::read;

/// The largest message, in bytes: what gRPC allows by default.
const MAX_MESSAGE: usize = 4 << 20;

const fn method(of: Endpoint, path: &'static str) -> Endpoint {
    Endpoint { name: of.name, api: Api::ControlPlane, path }
}

const DISCOVER_PRIVATE: Endpoint =
    method(DISCOVER, "/controlplane.v1.ReferrerService/DiscoverPrivate");
const STATUS_INFOZ: Endpoint = method(INFOZ, "/controlplane.v1.StatusService/Infoz");
const GET_DOWNLOAD_URL: Endpoint =
    method(DOWNLOAD, "/controlplane.v1.CASRedirectService/GetDownloadURL");
const GET_CREDENTIALS: Endpoint = method(DOWNLOAD, "/controlplane.v1.CASCredentialsService/Get");

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

/// Returns an item as JSON. References of references aren't sent, so they are left out.
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
        .ok_or_else(|| Error::protocol("invalid time in the service's response"))
}

/// Returns the control plane's description of itself, as JSON.
pub async fn infoz(client: &Client, context: &Context) -> Result<Vec<u8>, Failed> {
    let message = InfozRequest {};
    let response: InfozResponse = unary(client, context, STATUS_INFOZ, None, message).await?;
    let InfozResponse { login_url, version } = response;
    Ok(json!({ "loginURL": login_url, "version": version }).to_string().into_bytes())
}

/// The control plane's response to a request for a content URL.
pub enum Location {
    /// A signed URL, for the token that asked.
    Url(String, Token),
    /// None: the service doesn't have the method, as this failure states.
    Unimplemented(Failed),
}

/// Returns the location of an artifact's content.
pub async fn location(
    client: &Client,
    context: &Context,
    digest: &str,
) -> Result<Location, Failed> {
    let message = DownloadUrlRequest { digest: digest.to_owned() };
    let answer = send(client, context, GET_DOWNLOAD_URL, message).await;
    let (response, token): (DownloadUrlResponse, _) = match answer {
        Ok(answer) => answer,
        Err(unserved) if unserved.is_unimplemented() => {
            return Ok(Location::Unimplemented(unserved.failed));
        }
        Err(unserved) => return Err(unserved.failed),
    };
    let url = response.result.map(|result| result.url).unwrap_or_default();
    if Url::parse(&url).is_err() {
        return Err(Error::protocol("no URL of the content in the service's response").into());
    }
    Ok(Location::Url(url, token))
}

/// Returns the content store's token for an artifact.
pub async fn store_token(
    client: &Client,
    context: &Context,
    digest: &str,
) -> Result<Token, Failed> {
    let message = CredentialsRequest { role: DOWNLOADER, digest: digest.to_owned() };
    let (response, token): (CredentialsResponse, _) =
        send(client, context, GET_CREDENTIALS, message).await?;
    let text = response.result.map(|result| result.token).unwrap_or_default();
    if token.occurs_in(text.as_bytes()) {
        return Err(
            Error::protocol("token of the service in the token for the content store").into()
        );
    }
    Token::new(text).map_err(|_| {
        Error::protocol("no token for the content store in the service's response").into()
    })
}

/// Sends a message with the token. A rejected token is replaced once.
async fn send<M, R>(
    client: &Client,
    context: &Context,
    endpoint: Endpoint,
    message: M,
) -> Result<(R, Token), Unserved>
where
    M: prost::Message + Clone + 'static,
    R: prost::Message + Default + 'static,
{
    let token = client.tokens.get(context.deadline).await?;
    match unary(client, context, endpoint, Some(&token), message.clone()).await {
        Ok(response) => Ok((response, token)),
        Err(unserved) if unserved.failed.error.kind() == ErrorKind::Unauthenticated => {
            let fresh = client.tokens.replace(&token, context.deadline).await;
            let Some(token) = fresh else { return Err(unserved) };
            Ok((unary(client, context, endpoint, Some(&token), message).await?, token))
        }
        Err(unserved) => Err(unserved),
    }
}

async fn unary<M, R>(
    client: &Client,
    context: &Context,
    endpoint: Endpoint,
    token: Option<&Token>,
    message: M,
) -> Result<R, Unserved>
where
    M: prost::Message + 'static,
    R: prost::Message + Default + 'static,
{
    let address =
        client.settings.endpoints.grpc().ok_or_else(|| Error::protocol("no gRPC address"))?;
    let request = Request {
        organization: token.and_then(|token| client.organization(token)),
        template: Some(endpoint.path),
        ..request(context, address, endpoint.path, token)?
    };
    let origin = origin(&request.url);
    let (channel, exchange) = Channel::new(client, context, request);
    let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(MAX_MESSAGE);
    let path = PathAndQuery::from_static(endpoint.path);
    let codec = tonic_prost::ProstCodec::<M, R>::default();
    let call = grpc.unary(tonic::Request::new(message), path, codec);
    let Ok(result) = tokio::time::timeout_at(context.deadline.into(), call).await else {
        return Err(out_of_time(&origin).into());
    };
    match result {
        Ok(response) if exchange.succeeded() => {
            context.count(exchange.bytes())?;
            Ok(response.into_inner())
        }
        // The library takes an answer without a status for a whole one.
        Ok(_) => Err(cut(&origin, exchange.bytes()).into()),
        Err(status) => {
            let organization = token.and_then(|token| client.organization_name(token));
            let question = answer::Question { organization, ..endpoint.into() };
            let refusal = |status: &_| status::refusal(&question, status, token);
            Err(exchange.failure(&status, &origin, refusal))
        }
    }
}

/// Returns a request of a method at an address.
fn request(
    context: &Context,
    address: &Url,
    path: &'static str,
    token: Option<&Token>,
) -> Result<Request, Error> {
    let mut url = address.clone();
    url.set_path(path);
    Ok(Request {
        method: Method::POST,
        url,
        body: None,
        accept: GRPC,
        content_type: GRPC,
        authorization: token.map(Token::header).transpose()?,
        organization: None,
        template: None,
        trace: context.trace.clone(),
        deadline: context.deadline,
    })
}
