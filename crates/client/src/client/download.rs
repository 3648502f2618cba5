//! Downloads by digest: routes to the content store, and verification of the bytes.
//!
//! Owns the only redirect that is followed. The token goes to the control plane alone, never to the
//! store; content that doesn't hash to its digest never leaves this module.

#[cfg(feature = "grpc")]
use std::sync::atomic::Ordering;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use url::Url;

#[cfg(feature = "grpc")]
use super::grpc::Location;
use super::kept::Wanted;
use super::transport::{JSON, Reply, Request};
use super::{ApiRequest, Client, Content, Context, DOWNLOAD, RequestedForm, Token, TokenKind};
use crate::http::origin::{is_exposed, is_loopback, origin};
use crate::http::redirect::{self, Hop, is_redirect};
use crate::http::retry::Failed;
use crate::{Error, ErrorKind, setting};

/// The number of redirects in a row, with the control plane's.
const MAX_REDIRECTS: usize = 3;

/// The longest URL that is followed; the HTTP library's own limit is 64 KiB.
const MAX_TARGET_BYTES: usize = 60 << 10;

/// Downloads the content of `digest` (`sha256:<64 hex>`, checked by the caller).
pub async fn download(
    client: &Client,
    context: &Context,
    digest: &str,
    form: RequestedForm,
) -> Result<Content, Error> {
    let wanted = Wanted { digest, form, cap: client.settings.max_artifact_bytes };
    client
        .retry_policy(context, true)
        .run(|| async move {
            match fetch(client, context, wanted).await {
                // A signed URL is valid for a short time: a new one is requested once.
                Err(failed) if failed.refused => fetch(client, context, wanted).await,
                other => other,
            }
        })
        .await
}

async fn fetch(client: &Client, context: &Context, wanted: Wanted<'_>) -> Result<Content, Failed> {
    #[cfg(feature = "grpc")]
    if let Some(from) = client.settings.endpoints.grpc() {
        let store = client.settings.endpoints.store();
        if let Some(store) = store.filter(|_| client.lacks_urls.load(Ordering::Relaxed)) {
            return stored(client, context, wanted, store).await;
        }
        let insecure = client.settings.insecure;
        return match (super::grpc::location(client, context, wanted.digest).await?, store) {
            // What an operator has configured as plain HTTP isn't followed from TLS.
            (Location::Url(location, _), Some(store))
                if is_downgrade(from, &location, insecure) =>
            {
                client.lacks_urls.store(true, Ordering::Relaxed);
                stored(client, context, wanted, store).await
            }
            (Location::Url(location, token), _) => {
                let to = Redirect { from, location: &location, token: Some(&token) };
                redirected(client, context, wanted, to).await
            }
            (Location::Unimplemented(_), Some(store)) => {
                client.lacks_urls.store(true, Ordering::Relaxed);
                stored(client, context, wanted, store).await
            }
            (Location::Unimplemented(refusal), None) => {
                let error = lacks_store(client, refusal.error);
                Err(Failed { error, ..refusal })
            }
        };
    }
    let call = ApiRequest::get(DOWNLOAD, Some(wanted.digest.to_owned()));
    let (reply, token) = client.open(context, &call).await?;
    let reply = match reply.status {
        StatusCode::OK => reply,
        status if is_redirect(status) && !is_login(&reply) => {
            let product = &client.settings.product;
            let from = client.settings.endpoints.url(DOWNLOAD, &[wanted.digest], product)?;
            let location = location(&reply)?.to_owned();
            // An open answer counts as in flight: the next request may need its slot.
            drop(reply);
            let to = Redirect { from: &from, location: &location, token: token.as_ref() };
            return redirected(client, context, wanted, to).await;
        }
        status => {
            let refusal = client.refusal(&call, reply, token.as_ref()).await;
            let product = &client.settings.product;
            let token = token.filter(|token| token.kind(product) == TokenKind::Api);
            let Some(token) = token.filter(|_| status == StatusCode::FORBIDDEN) else {
                return Err(refusal);
            };
            // The service refuses API tokens here, and only here.
            let location =
                super::grpc_web::download_url(client, context, wanted.digest, &token).await;
            let Some(location) = location else { return Err(refusal) };
            let from = client.settings.endpoints.url(DOWNLOAD, &[wanted.digest], product)?;
            let to = Redirect { from: &from, location: &location, token: Some(&token) };
            return redirected(client, context, wanted, to).await;
        }
    };
    client.settings.kept.collect(context, wanted, reply.body(wanted.cap)).await
}

/// The control plane's redirect to content.
struct Redirect<'a> {
    from: &'a Url,
    location: &'a str,
    token: Option<&'a Token>,
}

/// Returns the content of the control plane's redirect, which also proves that this token may read it.
async fn redirected(
    client: &Client,
    context: &Context,
    wanted: Wanted<'_>,
    to: Redirect<'_>,
) -> Result<Content, Failed> {
    let Redirect { from, location, token } = to;
    if token.is_some_and(|token| token.occurs_in(location.as_bytes())) {
        return Err(Error::protocol("redirect of the download to a URL with the token").into());
    }
    let to = target(from, location, client)?;
    if let Some(content) = client.settings.kept.find(context, wanted).await? {
        return Ok(content);
    }
    let reply = follow(client, context, to).await?;
    client.settings.kept.collect(context, wanted, reply.body(wanted.cap)).await
}

/// Returns the content from the content store's gRPC address, where the control plane has no signed
/// URLs.
#[cfg(feature = "grpc")]
async fn stored(
    client: &Client,
    context: &Context,
    wanted: Wanted<'_>,
    store: &Url,
) -> Result<Content, Failed> {
    // The service's statement that its own token may have the content.
    let token = super::grpc::store_token(client, context, wanted.digest).await?;
    if let Some(content) = client.settings.kept.find(context, wanted).await? {
        return Ok(content);
    }
    let content = super::grpc::read(client, context, store, wanted.digest, token).await?;
    client.settings.kept.collect(context, wanted, content).await
}

fn is_login(reply: &Reply) -> bool {
    let location = redirect::location(&reply.headers).unwrap_or_default();
    location.split(['?', '#']).next().unwrap_or_default().contains("/auth/login")
}

/// Follows the redirects of a download, without a token, to the response of the content store.
async fn follow(client: &Client, context: &Context, to: Url) -> Result<Reply, Failed> {
    let mut hop = Hop::get(to, HeaderMap::new(), MAX_REDIRECTS - 1);
    loop {
        let request = Request {
            method: hop.method.clone(),
            url: hop.url.clone(),
            body: None,
            accept: JSON,
            content_type: JSON,
            authorization: None,
            organization: None,
            template: None,
            trace: None,
            deadline: context.deadline,
        };
        let reply = client.exchange(context, request).await?;
        match reply.status {
            StatusCode::OK => return Ok(reply),
            status if is_redirect(status) => {
                let to = target(&hop.url, location(&reply)?, client)?;
                hop.follow(status, to).map_err(|_| {
                    let message = format!("too many redirects: the limit is {MAX_REDIRECTS}");
                    Error::protocol(message)
                })?;
            }
            status => return Err(store_error(status, &reply, &hop.url)),
        }
    }
}

/// Returns the location of a redirect.
fn location(reply: &Reply) -> Result<&str, Error> {
    redirect::location(&reply.headers)
        .ok_or_else(|| Error::protocol("redirect of the download without `location`"))
}

/// Adds the hint to set the content store's gRPC address.
#[cfg(feature = "grpc")]
fn lacks_store(client: &Client, error: Error) -> Error {
    let variable = client.settings.product.env("ARTIFACT_CAS_API");
    let hint = format!("set `{variable}` to the content store's gRPC address");
    error.with_hint(hint).by_setting(setting::CONTENT_STORE)
}

/// Returns `true` for a redirect from TLS to plain HTTP, which is followed only to this machine, and only where
/// plain HTTP is allowed.
fn is_downgrade(from: &Url, location: &str, insecure: bool) -> bool {
    let to = from.join(location).ok();
    let plain = to.filter(|to| from.scheme() == "https" && to.scheme() == "http");
    plain.is_some_and(|to| !(insecure && is_loopback(&to)))
}

/// Returns the error of a redirect from TLS to plain HTTP, with a hint.
fn downgrade(from: &Url, to: &Url, client: &Client) -> Error {
    let error = Error::protocol("redirect of the download from https to plain HTTP");
    if is_loopback(to) {
        return error.with_hint("serve content over https").by_setting(setting::PLAIN_HTTP);
    }
    #[cfg(feature = "grpc")]
    if client.settings.endpoints.grpc() == Some(from) {
        return lacks_store(client, error);
    }
    let product = &client.settings.product;
    let [control_plane, store] =
        ["CONTROL_PLANE_API", "ARTIFACT_CAS_API"].map(|name| product.env(name));
    let from = origin(from);
    error.with_hint(format!(
        "give {from} an https address for downloads, or use gRPC: set `{control_plane}` and `{store}` in place \
         of the HTTP address"
    ))
}

/// Returns the target of a redirect, if it is allowed.
fn target(from: &Url, location: &str, client: &Client) -> Result<Url, Error> {
    let insecure = client.settings.insecure;
    // The error of a URL that can't be parsed doesn't repeat it: it may be signed.
    let to = from
        .join(location)
        .map_err(|_| Error::protocol("redirect of the download to an invalid URL"))?;
    if to.as_str().len() > MAX_TARGET_BYTES {
        return Err(Error::protocol("redirect of the download to a URL that is too long"));
    }
    if !matches!(to.scheme(), "http" | "https") || !to.has_host() {
        return Err(Error::protocol("redirect of the download to an unsupported scheme"));
    }
    if !to.username().is_empty() || to.password().is_some() {
        return Err(Error::protocol(
            "redirect of the download to a URL with a user name or password",
        ));
    }
    if is_downgrade(from, location, insecure) {
        return Err(downgrade(from, &to, client));
    }
    if !insecure && is_exposed(&to) {
        return Err(Error::protocol("redirect of the download to plain HTTP"));
    }
    Ok(to)
}

fn store_error(status: StatusCode, reply: &Reply, url: &Url) -> Failed {
    let message =
        format!("unexpected status of the content store {}: {}", origin(url), status.as_u16());
    let kind = match status.as_u16() {
        429 => ErrorKind::RateLimited,
        // The service has said that the content exists, so its absence is the store's failure: a
        // host that turns "not found" into undefined must not do so at the store's word.
        _ => ErrorKind::Unavailable,
    };
    let refused = matches!(status.as_u16(), 401 | 403);
    Failed { refused, ..Failed::of_status(Error::new(kind, message), status, &reply.headers) }
}
