//! A request with its retries, redirects and body.
//!
//! Owns the bytes that are sent and received, and their limits. `allow` decides where a hop may go,
//! `connect` connects it. Only failures of the network are retried, as in OPA.

use std::io::Read as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::super::connection::{Cause, caused_by};
use super::super::redirect::{Hop, is_redirect};
use super::super::retry::{Failed, Policy};
use super::cache::CacheLookup;
use super::connect::{OutOfReach, Target};
use super::{Failure, Http, out_of_time};
use crate::Error;
use crate::call::Context;
use crate::observe::{Attempt, TRACEPARENT};
use rego::internal::builtins::{HttpRequest, HttpResponse};

/// The number of redirects that are followed in a row.
const MAX_REDIRECTS: usize = 10;

/// The first and the longest pause between retries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_mins(1));

/// The deadline of a request, for its redirects and the last one's body too.
struct Until<'r> {
    request: &'r HttpRequest,
    /// The first URL.
    url: &'r Url,
    at: Instant,
    /// `true` if the deadline is the request's own and not the evaluation's.
    is_own: bool,
}

impl Until<'_> {
    async fn bound<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::time::timeout_at(self.at, work).await.map_err(|_| {
            if !self.is_own {
                return Failure::Halt(out_of_time());
            }
            let (method, url) =
                (operation(&self.request.method), display_url(self.request, self.url));
            Failure::TimedOut(format!("{method} {url}: request timed out"))
        })
    }
}

impl Http {
    /// Returns the response to a request, cached if the request allows that.
    pub(super) async fn respond(
        &self,
        request: &HttpRequest,
        context: &Context,
    ) -> Result<HttpResponse, Failure> {
        // A host that isn't allowed now has no stored responses either.
        let url = self.url(&request.url)?;
        if !request.cache {
            return self.retry(request, &url, context).await;
        }
        let (key, cache) = (request.key.to_json(), &self.0.cache);
        let now = SystemTime::now();
        match cache.find(&key, now) {
            CacheLookup::Fresh(response) => return Ok(response),
            CacheLookup::Nothing => {}
            CacheLookup::Stale(mut kept) => {
                let revalidated = self.revalidate(request, &kept, &url, context).await;
                cache.forget(&key);
                match revalidated? {
                    Some(response) if response.status == 304 => {
                        for (name, _) in &response.headers {
                            kept.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
                        }
                        kept.headers.extend(response.headers);
                        cache.keep(&key, request, &kept, now);
                        return Ok(kept);
                    }
                    Some(response) => {
                        cache.keep(&key, request, &response, now);
                        return Ok(response);
                    }
                    None => {}
                }
            }
        }
        let response = self.retry(request, &url, context).await?;
        cache.keep(&key, request, &response, now);
        Ok(response)
    }

    /// Asks the server whether a stored response is still current. Returns a 304 or a new response,
    /// or `None` if the stored one can't be revalidated.
    async fn revalidate(
        &self,
        request: &HttpRequest,
        kept: &HttpResponse,
        url: &Url,
        context: &Context,
    ) -> Result<Option<HttpResponse>, Failure> {
        let mut asking = request.clone();
        let mut asks = false;
        for (name, from) in [("If-None-Match", "etag"), ("If-Modified-Since", "last-modified")] {
            if let Some(value) = kept.header(from).filter(|value| !value.is_empty()) {
                asking.headers.retain(|(other, _)| other != name);
                asking.headers.push((name.to_owned(), value));
                asks = true;
            }
        }
        if !asks {
            return Ok(None);
        }
        let response = self.retry(&asking, url, context).await?;
        Ok(Some(response).filter(|response| matches!(response.status, 200 | 304)))
    }

    /// Sends a request, and retries it after network failures as often as it allows.
    async fn retry(
        &self,
        request: &HttpRequest,
        url: &Url,
        context: &Context,
    ) -> Result<HttpResponse, Failure> {
        let policy = Policy {
            retries: usize::try_from(request.retries).unwrap_or(usize::MAX),
            first_pause: PAUSES.0,
            longest_pause: PAUSES.1,
            deadline: context.deadline,
            idempotent: true,
            waits_for_rate_limit: false,
        };
        let deadline = Instant::from_std(context.deadline);
        let attempt = || async move {
            self.exchange(request, url, context, deadline).await.map_err(|failure| match failure {
                Failure::Network(_) | Failure::TimedOut(_) => Failed::transient(failure),
                other => Failed::permanent(other),
            })
        };
        policy.run(attempt).await
    }

    /// Sends one request and follows its redirects, within its time limit.
    async fn exchange(
        &self,
        request: &HttpRequest,
        url: &Url,
        context: &Context,
        deadline: Instant,
    ) -> Result<HttpResponse, Failure> {
        let permit = tokio::time::timeout_at(deadline, self.0.permits.acquire()).await;
        let _permit = permit.map_err(|_| Failure::Halt(out_of_time()))?;
        let own = match request.timeout {
            None => Some(self.0.options.timeout),
            // As in OPA, zero and less are no limit.
            Some(nanoseconds) => u64::try_from(nanoseconds)
                .ok()
                .filter(|nanoseconds| *nanoseconds > 0)
                .map(Duration::from_nanos),
        };
        let own = own.and_then(|own| Instant::now().checked_add(own)).filter(|own| *own < deadline);
        let until = Until { request, url, at: own.unwrap_or(deadline), is_own: own.is_some() };
        self.follow(request, url.clone(), context, &until).await
    }

    async fn follow(
        &self,
        request: &HttpRequest,
        url: Url,
        context: &Context,
        until: &Until<'_>,
    ) -> Result<HttpResponse, Failure> {
        let method = if request.method.is_empty() { "GET" } else { &request.method };
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| Failure::Request(format!("net/http: invalid method {method:?}")))?;
        let headers = headers(&request.headers).map_err(|what| {
            let (method, url) = (operation(method.as_str()), display_url(request, &url));
            Failure::Network(format!("{method} \"{url}\": {what}"))
        })?;
        let body = Some(request.body.as_slice());
        let mut hop = Hop { method, url, headers, body, redirects: MAX_REDIRECTS };
        loop {
            let asked_for = hop.headers.contains_key(header::ACCEPT_ENCODING)
                || hop.headers.contains_key(header::RANGE)
                || hop.method == Method::HEAD;
            let mut sent = hop.clone();
            if !asked_for {
                sent.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
            }
            let response = self.hop(request, sent, context, until).await?;
            let status = response.status();
            let next = response
                .headers()
                .get(header::LOCATION)
                .filter(|_| request.redirect && is_redirect(status))
                .map(|place| String::from_utf8_lossy(place.as_bytes()).into_owned());
            let Some(next) = next else {
                return until.bound(self.read(response, &hop.url, context, !asked_for)).await?;
            };
            let to = |hop: &Hop<'_>, what: String| {
                Failure::Network(format!("{} {next:?}: {what}", operation(hop.method.as_str())))
            };
            let target = hop
                .url
                .join(&next)
                .map_err(|error| to(&hop, format!("failed to parse Location header: {error}")))?;
            hop.follow(status, target).map_err(|_| {
                Failure::Network(format!("stopped after {MAX_REDIRECTS} redirects"))
            })?;
            // The server chose the URL, not the policy.
            self.check(&hop.url).map_err(|failure| match failure {
                Failure::Request(message) | Failure::Disallowed(message) => to(&hop, message),
                other => other,
            })?;
        }
    }

    /// Sends one request; the body of its response is still to be read.
    async fn hop(
        &self,
        request: &HttpRequest,
        hop: Hop<'_>,
        context: &Context,
        until: &Until<'_>,
    ) -> Result<reqwest::Response, Failure> {
        let Hop { method, url, mut headers, body, .. } = hop;
        let target = self.target(&url)?;
        let mut asked = url.clone();
        let name = request.tls.server_name.as_str();
        if !name.is_empty() && url.scheme() == "https" {
            set_server_name(&mut asked, name, &mut headers)?;
        }
        let client = self.0.clients.get(&self.0.options, &request.tls, &asked, &target)?;
        context.attempts.fetch_add(1, Ordering::Relaxed);
        let address = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default();
        // A path may be a secret, as those of many webhooks are.
        let attempt = Attempt {
            method: method.as_str(),
            address,
            port,
            template: None,
            path: None,
            name: "",
        };
        let attempting = attempt.begin();
        let sending = async {
            self.trace(&mut headers, context);
            let mut builder = client.request(method.clone(), asked).headers(headers);
            let bodiless = matches!(method, Method::GET | Method::HEAD);
            if let Some(body) = body.filter(|body| !body.is_empty() || !bodiless) {
                builder = builder.body(body.to_vec());
            }
            let sent = until.bound(builder.send()).await?;
            sent.map_err(|error| network(method.as_str(), &display_url(request, &url), &error))
        };
        let response = sending.instrument(attempting.span.clone()).await;
        let status = response.as_ref().map(|response| response.status().as_u16());
        attempting.end(&context.observer, status.map_err(Failure::kind));
        response
    }

    /// Adds the headers of the host's trace that the policy doesn't set itself.
    fn trace(&self, headers: &mut HeaderMap, context: &Context) {
        let mut added = HeaderMap::new();
        if let Some(trace) = &context.trace {
            added.insert(TRACEPARENT, trace.header());
        }
        if let Some(propagate) = &self.0.options.propagator {
            propagate(&mut added);
            added.remove(header::AUTHORIZATION);
        }
        for (name, value) in &added {
            headers.entry(name).or_insert_with(|| value.clone());
        }
    }

    async fn read(
        &self,
        mut response: reqwest::Response,
        url: &Url,
        context: &Context,
        ours: bool,
    ) -> Result<HttpResponse, Failure> {
        let status = response.status();
        let reason = response.extensions().get::<hyper::ext::ReasonPhrase>();
        let reason = reason.map_or_else(
            || status.canonical_reason().unwrap_or_default().to_owned(),
            |reason| String::from_utf8_lossy(reason.as_bytes()).into_owned(),
        );
        let headers = response.headers().iter();
        let mut headers: Vec<(String, Vec<u8>)> = headers
            .filter(|(name, _)| *name != header::TRANSFER_ENCODING)
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect();
        let mut read = BodyBytes { context, bytes: 0, max: self.0.options.max_body_bytes };
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| Failure::Network(format!("incomplete body: {}", Cause::of(&error))))?
        {
            read.take(chunk.len(), body.len(), url)?;
            body.extend_from_slice(&chunk);
        }
        let encoding = response.headers().get(header::CONTENT_ENCODING);
        let packed =
            encoding.is_some_and(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"gzip"));
        if ours && packed && !body.is_empty() {
            body = inflate(&body, &mut read, url)?;
            headers.retain(|(name, _)| name != "content-encoding" && name != "content-length");
        }
        read.keep();
        let status_text = format!("{} {reason}", status.as_u16());
        Ok(HttpResponse { status: status.as_u16(), status_text, headers, body })
    }

    /// Parses a URL and checks that it is allowed.
    fn url(&self, text: &str) -> Result<Url, Failure> {
        let url = Url::parse(text)
            .map_err(|error| Failure::Request(format!("parse {text:?}: {error}")))?;
        self.check(&url).map(|()| url)
    }

    fn check(&self, url: &Url) -> Result<(), Failure> {
        let scheme = url.scheme();
        if !matches!(scheme, "http" | "https") {
            let message = format!(
                "Get \"{}\": unsupported protocol scheme {scheme:?}",
                without_password(url)
            );
            return Err(Failure::Network(message));
        }
        self.target(url).map(drop)
    }

    /// Returns the target of a URL, if it is allowed.
    fn target(&self, url: &Url) -> Result<Target, Failure> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(Failure::Request("http: no Host in request URL".to_owned()));
        };
        let host = host.to_owned();
        match self.0.options.allowed.grant(&host, port) {
            Some(grant) => Ok(Target { host, port, grant }),
            None => Err(Failure::Disallowed(format!("disallowed host: {host}"))),
        }
    }
}

/// The bytes of a response in the evaluation's allowance, returned unless the response is used.
struct BodyBytes<'c> {
    context: &'c Context,
    bytes: u64,
    max: u64,
}

impl BodyBytes<'_> {
    /// Counts more bytes of a body that has `length` already.
    fn take(&mut self, more: usize, length: usize, url: &Url) -> Result<(), Failure> {
        let more = more as u64;
        if (length as u64).saturating_add(more) > self.max {
            let message = format!(
                "response of {} exceeds the limit of {}",
                without_password(url),
                crate::text::size(self.max)
            );
            return Err(Failure::Halt(Error::too_large(message)));
        }
        if let Some(allowance) = &self.context.allowance
            && !allowance.take(more)
        {
            return Err(Failure::Halt(allowance.used_up()));
        }
        self.bytes += more;
        Ok(())
    }

    fn keep(mut self) {
        self.context.bytes.fetch_add(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for BodyBytes<'_> {
    fn drop(&mut self) {
        if let Some(allowance) = &self.context.allowance {
            allowance.give_back(self.bytes);
        }
    }
}

/// Decompresses a body that this crate requested compressed.
fn inflate(body: &[u8], read: &mut BodyBytes<'_>, url: &Url) -> Result<Vec<u8>, Failure> {
    let mut reader = flate2::read::MultiGzDecoder::new(body);
    let mut plain = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count =
            reader.read(&mut buffer).map_err(|error| Failure::Request(format!("gzip: {error}")))?;
        let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else {
            return Ok(plain);
        };
        read.take(count, plain.len(), url)?;
        plain.extend_from_slice(chunk);
    }
}

/// Returns the spelling of a method in error messages: `Get`.
fn operation(method: &str) -> String {
    let method = if method.is_empty() { "GET" } else { method };
    let mut name = method.to_ascii_lowercase();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}

/// Returns a URL for an error message, without its password.
fn without_password(url: &Url) -> String {
    let mut url = url.clone();
    if url.password().is_some() {
        let _ = url.set_password(Some("xxxxx"));
    }
    url.into()
}

/// Returns the URL for an error message: as written in the policy, or the target of a redirect.
fn display_url(request: &HttpRequest, url: &Url) -> String {
    let own = Url::parse(&request.url).is_ok_and(|own| own == *url);
    if own && url.password().is_none() { request.url.clone() } else { without_password(url) }
}

/// Classifies a broken exchange.
fn network(method: &str, url: &str, error: &reqwest::Error) -> Failure {
    if let Some(out) = caused_by::<OutOfReach>(error) {
        return Failure::Disallowed(out.to_string());
    }
    let cause = Cause::of(error);
    if error.is_builder() {
        return Failure::Request(cause.to_string());
    }
    Failure::Network(format!("{} \"{url}\": {cause}", operation(method)))
}

fn headers(given: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let invalid = |what: &str| format!("net/http: invalid header field {what}");
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| invalid(&format!("name {name:?}")))?;
        let value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| invalid(&format!("value for {:?}", name.as_str())))?;
        // The HTTP client decides how the body is framed.
        if !matches!(name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::CONNECTION)
        {
            headers.insert(name, value);
        }
    }
    Ok(headers)
}

/// Replaces a URL's host by the server's name for TLS; the `Host` header keeps the host.
fn set_server_name(url: &mut Url, name: &str, headers: &mut HeaderMap) -> Result<(), Failure> {
    let invalid = || Failure::Request(format!("invalid server name `{name}`"));
    if !headers.contains_key(header::HOST) {
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        headers.insert(header::HOST, HeaderValue::try_from(host).map_err(|_| invalid())?);
    }
    // An address would not be resolved, and so not be checked.
    match url::Host::parse(name) {
        Ok(url::Host::Domain(_)) => url.set_host(Some(name)).map_err(|_| invalid()),
        _ => Err(invalid()),
    }
}
