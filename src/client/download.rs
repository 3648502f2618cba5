//! Content by digest: the redirect to the content store, and the proof that the bytes are right.
//!
//! Owns the only redirect that is followed. The token goes to the control plane alone, never to
//! the store; content that doesn't hash to its digest never leaves this module.

use reqwest::header::{CONTENT_LENGTH, HeaderValue, LOCATION};
use reqwest::{Method, StatusCode};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::endpoints::is_loopback;
use super::transport::{Failed, Reply, Request};
use super::{Call, Client, Context, DOWNLOAD, Token, answer, protocol};
use crate::{Error, ErrorKind};

/// Redirects followed from the control plane's answer on.
const MAX_HOPS: usize = 3;

/// The longest URL that is followed; HTTP's own limit here is 64 KiB.
const MAX_TARGET_BYTES: usize = 60 << 10;

/// The content of `digest` (`sha256:<64 hex>`, checked by the caller).
pub(crate) async fn download(
    client: &Client,
    context: &Context,
    digest: &str,
) -> Result<Vec<u8>, Error> {
    client
        .retry_policy(context, true)
        .run(|| async move {
            match fetch(client, context, digest).await {
                // A signed URL lives for a short time: a fresh one is asked for once.
                Err(failed) if failed.refused => fetch(client, context, digest).await,
                other => other,
            }
        })
        .await
}

async fn fetch(client: &Client, context: &Context, digest: &str) -> Result<Vec<u8>, Failed> {
    let cap = client.settings.max_artifact_bytes;
    let call = Call::get(DOWNLOAD, Some(digest.to_owned()));
    let (reply, token) = client.open(context, &call).await?;
    let reply = match reply.status {
        StatusCode::OK => reply,
        status if is_redirect(status) && !is_login(&reply) => {
            if token.is_some_and(|token| repeats(&token, &reply)) {
                return Err(protocol("the download redirects to a URL with the token in it").into());
            }
            let product = &client.settings.product;
            let from = client.settings.endpoints.url(DOWNLOAD, &[digest], product)?;
            // The redirect is the service's word that this token may have the content.
            let to = target(&from, &reply, client.settings.insecure)?;
            // An open answer counts as in flight: the next request may need its place.
            drop(reply);
            if let Some(content) = cached(client, context, digest).await? {
                return Ok(content);
            }
            follow(client, context, to).await?
        }
        _ => return Err(client.refusal(DOWNLOAD, reply, token.as_ref()).await),
    };
    let content = read(context, reply, cap, digest).await?;
    keep(client, content).await
}

/// The content from the cache, where there is one.
#[cfg(feature = "cache")]
async fn cached(
    client: &Client,
    context: &Context,
    digest: &str,
) -> Result<Option<Vec<u8>>, Failed> {
    let Some(cache) = client.settings.cache.clone() else { return Ok(None) };
    let looked = (cache.clone(), digest.to_owned());
    let size = tokio::task::spawn_blocking(move || looked.0.size(&looked.1)).await;
    let cap = usize::try_from(client.settings.max_artifact_bytes).unwrap_or(usize::MAX);
    let Ok(Some(size)) = size.map(|size| size.filter(|size| *size <= cap)) else {
        return Ok(None);
    };
    let (room, digest) = (Vec::with_capacity(size), digest.to_owned());
    let read = tokio::task::spawn_blocking(move || cache.read(&digest, room));
    let Ok(Some(content)) = read.await else { return Ok(None) };
    context.count(content.len() as u64)?;
    context.cached.store(true, std::sync::atomic::Ordering::Relaxed);
    Ok(Some(content))
}

#[cfg(not(feature = "cache"))]
#[allow(clippy::unused_async, reason = "with the feature `cache` it waits for the disk")]
async fn cached(_: &Client, _: &Context, _: &str) -> Result<Option<Vec<u8>>, Failed> {
    Ok(None)
}

/// Keeps verified content for the next time.
#[cfg(feature = "cache")]
async fn keep(client: &Client, content: Vec<u8>) -> Result<Vec<u8>, Failed> {
    let Some(cache) = client.settings.cache.clone() else { return Ok(content) };
    let kept = tokio::task::spawn_blocking(move || {
        cache.write(&content);
        content
    });
    kept.await.map_err(|_| Error::new(ErrorKind::Internal, "the cache's thread is gone").into())
}

#[cfg(not(feature = "cache"))]
#[allow(clippy::unused_async, reason = "with the feature `cache` it waits for the disk")]
async fn keep(_: &Client, content: Vec<u8>) -> Result<Vec<u8>, Failed> {
    Ok(content)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn is_login(reply: &Reply) -> bool {
    let location = reply.headers.get(LOCATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
    location.split(['?', '#']).next().unwrap_or_default().contains("/auth/login")
}

/// True if the service would have us carry our token to the content store.
fn repeats(token: &Token, reply: &Reply) -> bool {
    let location = reply.headers.get(LOCATION).map(HeaderValue::as_bytes).unwrap_or_default();
    token.occurs_in(location)
        || token.occurs_in(&percent_encoding::percent_decode(location).collect::<Vec<_>>())
}

/// Follows the redirects of a download, without a token, to the answer of the content store.
async fn follow(client: &Client, context: &Context, mut to: Url) -> Result<Reply, Failed> {
    for _ in 0..MAX_HOPS {
        let request = Request {
            method: Method::GET,
            url: to.clone(),
            body: None,
            accept: crate::client::JSON,
            authorization: None,
            organization: None,
            template: None,
            trace: None,
            deadline: context.deadline,
        };
        let reply = client.exchange(context, request).await?;
        match reply.status {
            StatusCode::OK => return Ok(reply),
            status if is_redirect(status) => to = target(&to, &reply, client.settings.insecure)?,
            status => return Err(store_error(status, &reply, &to)),
        }
    }
    Err(protocol(format!("the download redirects more than {MAX_HOPS} times")).into())
}

/// Where a redirect leads, if that is allowed.
fn target(from: &Url, reply: &Reply, insecure: bool) -> Result<Url, Error> {
    let location = reply
        .headers
        .get(LOCATION)
        .and_then(|v| v.to_str().ok())
        .ok_or_else(|| protocol("the download redirects to nowhere"))?;
    // The error of a URL that can't be parsed doesn't repeat it: it may be signed.
    let to = from.join(location).map_err(|_| protocol("the download redirects to no URL"))?;
    if to.as_str().len() > MAX_TARGET_BYTES {
        return Err(protocol("the download redirects to a URL that is too long"));
    }
    if !matches!(to.scheme(), "http" | "https") || !to.has_host() {
        return Err(protocol("the download redirects to something other than HTTP"));
    }
    if !to.username().is_empty() || to.password().is_some() {
        return Err(protocol("the download redirects to a URL with a user name or password"));
    }
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(protocol("the download redirects from https to plain HTTP"));
    }
    if to.scheme() == "http" && !insecure && !is_loopback(&to) {
        return Err(protocol("the download redirects to plain HTTP"));
    }
    Ok(to)
}

fn store_error(status: StatusCode, reply: &Reply, url: &Url) -> Failed {
    let origin = answer::origin(url);
    let message = format!("the content store {origin} answered {}", status.as_u16());
    let kind = match status.as_u16() {
        429 => ErrorKind::RateLimited,
        // The service said that it has the content, so its absence is the store's failure: a
        // host that turns "not found" into undefined must not be told so by the store.
        _ => ErrorKind::Unavailable,
    };
    Failed {
        error: Error::new(kind, message),
        retryable: answer::is_retryable(status),
        unsent: false,
        retry_after: answer::retry_after(&reply.headers),
        refused: matches!(status.as_u16(), 401 | 403),
    }
}

/// Reads and hashes the content; nothing is returned that isn't what the digest says.
async fn read(context: &Context, reply: Reply, cap: u64, digest: &str) -> Result<Vec<u8>, Failed> {
    let mut hasher = Sha256::new();
    let mut content = Vec::new();
    let announced = announced(&reply, cap);
    let total = context
        .read(reply, cap, |chunk| {
            hasher.update(chunk);
            make_room(&mut content, chunk.len(), announced);
            content.extend_from_slice(chunk);
        })
        .await?;
    let found = format!("sha256:{}", hex(&hasher.finalize()));
    if found != digest {
        return Err(Error::new(
            ErrorKind::Tampered,
            format!("the content of `{digest}` hashes to `{found}` ({total} bytes)"),
        )
        .with_hint("the content store or the network altered it; nothing of it was used")
        .into());
    }
    Ok(content)
}

/// How long the content will be, as far as the store says.
fn announced(reply: &Reply, cap: u64) -> usize {
    let length = reply.headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok());
    let length: Option<u64> = length.and_then(|length| length.parse().ok());
    length.filter(|length| *length <= cap).and_then(|l| usize::try_from(l).ok()).unwrap_or(0)
}

/// Makes room for all of the content early, since growing by doubling holds it twice at the end.
/// A store that announces much and sends little gets 64 times what it sent at most.
fn make_room(content: &mut Vec<u8>, more: usize, announced: usize) {
    let needed = content.len().saturating_add(more);
    if needed > content.capacity() && announced > needed && announced / 64 <= needed {
        content.reserve_exact(announced - content.len());
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::make_room;

    #[test]
    fn room_is_made_for_what_was_announced_and_not_for_lies() {
        let mut content = Vec::new();
        let chunk = [7; 1000];
        while content.len() < 100_000 {
            make_room(&mut content, chunk.len(), 100_000);
            content.extend_from_slice(&chunk);
        }
        assert_eq!(content.capacity(), 100_000);
        let mut content: Vec<u8> = Vec::new();
        make_room(&mut content, 1000, 1 << 40);
        assert_eq!(content.capacity(), 0);
    }
}
