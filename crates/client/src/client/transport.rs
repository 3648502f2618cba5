//! One exchange with the service: its headers, timeouts and the limit on a body.
//!
//! Owns the HTTP client (built at the first call) and the limits of one attempt. Doesn't retry
//! and knows no pages. A request carries a token only if its caller gave one, for the
//! configured addresses alone.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
#[cfg(feature = "grpc")]
use reqwest::header::TE;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use reqwest::{Method, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::Settings;
use crate::http::body::Source;
use crate::http::connection::{self, failed};
use crate::http::origin::{self, is_loopback};
use crate::http::retry::Failed;
use crate::http::{proxy, tls};
use crate::observe::TRACEPARENT;
use crate::{Error, Limit, TraceParent};

/// The media types of request bodies.
pub const JSON: &str = "application/json";
#[cfg(feature = "grpc")]
pub const GRPC: &str = "application/grpc";

/// One HTTP request.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    pub url: Url,
    pub body: Option<Bytes>,
    /// The value of the `Accept` header.
    pub accept: &'static str,
    /// The value of the `Content-Type` header, if there is a body.
    pub content_type: &'static str,
    /// The credentials; `None` for the content store and for unauthenticated routes.
    pub authorization: Option<HeaderValue>,
    pub organization: Option<(HeaderName, HeaderValue)>,
    /// The path's template at one of the service's own addresses; `None` for the content store,
    /// which gets none of the host's headers.
    pub template: Option<&'static str>,
    /// The position in the caller's trace.
    pub trace: Option<TraceParent>,
    /// The deadline of the wait for the response.
    pub deadline: Instant,
}

/// The start of a response, whose body is still to be read.
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    origin: String,
    response: reqwest::Response,
    deadline: Instant,
    /// The slot among the requests in flight, held until the body is read.
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
pub struct Transport {
    settings: Arc<Settings>,
    client: OnceLock<reqwest::Client>,
    /// The client for gRPC, which is HTTP/2 without negotiation.
    #[cfg(feature = "grpc")]
    grpc: OnceLock<reqwest::Client>,
}

impl Transport {
    pub const fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            client: OnceLock::new(),
            #[cfg(feature = "grpc")]
            grpc: OnceLock::new(),
        }
    }

    fn client(&self, content_type: &str) -> Result<&reqwest::Client, Error> {
        #[cfg(feature = "grpc")]
        let (built, http2) =
            if content_type == GRPC { (&self.grpc, true) } else { (&self.client, false) };
        #[cfg(not(feature = "grpc"))]
        let (built, http2) = (&self.client, {
            let _ = content_type;
            false
        });
        if let Some(client) = built.get() {
            return Ok(client);
        }
        // A failure, such as too many open files, isn't kept: the next call tries again.
        let client = build(&self.settings, http2)?;
        Ok(built.get_or_init(|| client))
    }

    /// Builds the headers of a request: the host's come first and are replaced by this crate's.
    fn headers(&self, request: &Request) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if request.template.is_some() {
            headers.clone_from(&self.settings.headers);
            if let Some(trace) = &request.trace {
                headers.insert(TRACEPARENT, trace.header());
            }
            if let Some(propagate) = &self.settings.propagator {
                propagate(&mut headers);
                headers.remove(AUTHORIZATION);
            }
        }
        if let Some(agent) = &self.settings.user_agent {
            headers.insert(USER_AGENT, agent.clone());
        }
        headers.insert(ACCEPT, HeaderValue::from_static(request.accept));
        if let Some(value) = &request.authorization {
            headers.insert(AUTHORIZATION, value.clone());
        }
        if let Some((name, value)) = &request.organization {
            headers.insert(name, value.clone());
        }
        if request.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(request.content_type));
        }
        #[cfg(feature = "grpc")]
        if request.content_type == GRPC {
            headers.insert(TE, HeaderValue::from_static("trailers"));
            let left = request.deadline.saturating_duration_since(Instant::now()).as_millis();
            // At most eight digits, of milliseconds.
            let left = u32::try_from(left).unwrap_or(u32::MAX).min(99_999_999);
            if let Ok(value) = HeaderValue::try_from(format!("{left}m")) {
                headers.insert("grpc-timeout", value);
            }
        }
        headers
    }

    /// Sends one request and waits for the status and headers of its response.
    pub async fn send(
        &self,
        request: Request,
        permit: OwnedSemaphorePermit,
    ) -> Result<Reply, Failed> {
        let origin = origin::origin(&request.url);
        let proxied = request.url.scheme() == "https" && !is_loopback(&request.url);
        let asked = self.settings.http_client.is_some().then(|| request.url.clone());
        let headers = self.headers(&request);
        let client = self.client(request.content_type)?;
        let mut builder = client.request(request.method, request.url).headers(headers);
        if let Some(body) = request.body {
            builder = builder.body(body);
        }
        let deadline = request.deadline;
        match tokio::time::timeout_at(deadline.into(), builder.send()).await {
            Err(_) => Err(Failed::permanent(out_of_time(&origin))),
            Ok(Err(error)) => {
                // `NO_PROXY` isn't considered.
                let proxy = self.settings.proxy.as_deref().filter(|_| proxied);
                let proxy = proxy.and_then(proxy::host_and_port);
                Err(failed(error, &origin, proxy.as_deref()))
            }
            Ok(Ok(response)) if asked.is_some_and(|asked| asked != *response.url()) => {
                Err(Failed::permanent(followed(&origin)))
            }
            Ok(Ok(mut response)) => Ok(Reply {
                status: response.status(),
                headers: std::mem::take(response.headers_mut()),
                origin: origin::origin(response.url()),
                response,
                deadline,
                _permit: permit,
            }),
        }
    }
}

/// Returns the error of a redirect that the host's client followed: this crate must check the target first.
fn followed(origin: &str) -> Error {
    let message = format!("HTTP client followed a redirect from {origin}");
    Error::configuration(message)
        .with_hint("build the client with `reqwest::redirect::Policy::none()`")
}

pub fn out_of_time(origin: &str) -> Error {
    Error::timed_out(format!("timed out waiting for {origin}")).at_limit(Limit::Timeout)
}

impl Reply {
    /// Returns the body, to be read up to `cap` bytes.
    pub fn body(self, cap: u64) -> Body {
        let announced = self.response.content_length();
        Body { reply: self, announced, cap, total: 0 }
    }

    /// The origin that answered.
    #[cfg(feature = "grpc")]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the headers, the origin, the body with its trailers, and the slot among the requests
    /// in flight.
    #[cfg(feature = "grpc")]
    pub fn into_parts(self) -> (HeaderMap, String, reqwest::Body, OwnedSemaphorePermit) {
        let Self { headers, origin, response, _permit: permit, .. } = self;
        (headers, origin, response.into(), permit)
    }

    /// Reads the start of a body for messages: at most `limit` bytes, for at most `patience`.
    pub async fn start(mut self, limit: usize, patience: Duration) -> Vec<u8> {
        let until = self.deadline.min(Instant::now() + patience);
        let mut body = Vec::new();
        while body.len() < limit {
            match tokio::time::timeout_at(until.into(), self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                _ => break,
            }
        }
        body.truncate(limit);
        body
    }
}

/// A body while it is read.
pub struct Body {
    reply: Reply,
    announced: Option<u64>,
    cap: u64,
    /// The number of bytes read so far.
    total: u64,
}

impl Source for Body {
    fn announced(&self) -> Option<u64> {
        self.announced
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Failed> {
        let Self { reply, announced, cap, total } = self;
        if announced.is_some_and(|length| length > *cap) {
            return Err(too_large(&reply.origin, *cap));
        }
        match tokio::time::timeout_at(reply.deadline.into(), reply.response.chunk()).await {
            Err(_) => Err(Failed::permanent(out_of_time(&reply.origin))),
            Ok(Err(error)) => Err(failed(error, &reply.origin, None)),
            // Over HTTP/2 a stream may be reset "without error" anywhere in its body.
            Ok(Ok(None)) if announced.is_some_and(|length| length != *total) => {
                Err(cut(&reply.origin, *total))
            }
            Ok(Ok(None)) => Ok(None),
            Ok(Ok(Some(chunk))) => {
                *total = total.saturating_add(chunk.len() as u64);
                if *total <= *cap { Ok(Some(chunk)) } else { Err(too_large(&reply.origin, *cap)) }
            }
        }
    }
}

pub fn too_large(origin: &str, cap: u64) -> Failed {
    let limit = crate::text::size(cap);
    let message = format!("response from {origin} too large: the limit is {limit}");
    Failed::permanent(Error::too_large(message).at_limit(Limit::AnswerBytes))
}

pub fn cut(origin: &str, total: u64) -> Failed {
    let message = format!("incomplete response from {origin}: it ended after {total} bytes");
    Failed::transient(Error::unavailable(message))
}

fn build(settings: &Settings, http2: bool) -> Result<reqwest::Client, Error> {
    if let Some(client) = &settings.http_client {
        return Ok(client.clone());
    }
    let provider = tls::crypto_provider(settings.crypto_provider.as_ref())?;
    let is_used = settings.endpoints.addresses().any(|address| address.scheme() == "https");
    let protocols: &[&[u8]] = if http2 { &[tls::HTTP_2] } else { &tls::HTTP_2_OR_1 };
    let tls = tls::system_config(provider, settings.ca_certificates.clone(), is_used, protocols)?;
    let (connect, idle) = (settings.connect_timeout, settings.idle_timeout);
    let mut builder = connection::named_client(tls, connect, idle, proxy(settings)?);
    if http2 {
        builder = builder
            .http2_prior_knowledge()
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(idle);
    }
    connection::build(builder)
}

/// Returns the proxy, if one is set. An invalid address is an error only if the proxy would be
/// used.
fn proxy(settings: &Settings) -> Result<Option<reqwest::Proxy>, Error> {
    let Some(text) = settings.proxy.as_deref() else { return Ok(None) };
    let is_unused = |address: &Url| address.scheme() == "http" || is_loopback(address);
    match proxy::https(text, settings.no_proxy.as_deref().unwrap_or_default()) {
        Err(_) if settings.endpoints.addresses().all(is_unused) => Ok(None),
        proxy => proxy.map(Some),
    }
}

/// The interval of pings on an HTTP/2 connection with open requests.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
