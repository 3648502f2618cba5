//! One HTTP exchange: connection, timeouts, proxy, certificates, the limit on a body.
//!
//! Owns the HTTP client (built at the first call) and the limits of one attempt. Doesn't retry
//! (`retry`) and knows no pages. A request carries a token only if its caller gave one, for the
//! configured addresses alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
#[cfg(feature = "grpc")]
use reqwest::header::TE;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use reqwest::{Method, StatusCode};
use rustls::AlertDescription;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::certificates::{self, SystemVerifier};
use super::endpoints::is_loopback;
use super::{Settings, Source, answer};
use crate::{Error, ErrorKind, Limit, TraceParent, environment, setting};

/// The media types of what is sent.
pub const JSON: &str = "application/json";
#[cfg(feature = "grpc")]
pub const GRPC: &str = "application/grpc";

/// The time for a connection to a server other than the service.
const CONNECT: Duration = Duration::from_secs(5);

/// The time without a byte after which a connection to such a server counts as broken.
const IDLE: Duration = Duration::from_secs(10);

pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A failed attempt, with what the retry loop needs to know about it.
#[derive(Debug)]
pub struct Failed {
    pub error: Error,
    /// `true` if a safe call may be retried.
    pub retryable: bool,
    /// `true` if the request certainly never reached the service.
    pub unsent: bool,
    pub retry_after: Option<Duration>,
    /// `true` if the service refused the credentials of this attempt.
    pub refused: bool,
}

impl Failed {
    pub fn permanent(error: Error) -> Self {
        Self { error, retryable: false, unsent: false, retry_after: None, refused: false }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::permanent(error)
    }
}

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
    /// Its position in the caller's trace.
    pub trace: Option<TraceParent>,
    /// The deadline of the wait for the answer.
    pub deadline: Instant,
}

/// The start of an answer, whose body is still to be read.
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

    /// Sends one request and waits for the status and headers of its answer.
    pub async fn send(
        &self,
        request: Request,
        permit: OwnedSemaphorePermit,
    ) -> Result<Reply, Failed> {
        let origin = answer::origin(&request.url);
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
                let proxy = proxied.then(|| proxy_between(&self.settings)).flatten();
                Err(failed(error, &origin, proxy.as_deref()))
            }
            Ok(Ok(response)) if asked.is_some_and(|asked| asked != *response.url()) => {
                Err(Failed::permanent(followed(&origin)))
            }
            Ok(Ok(mut response)) => Ok(Reply {
                status: response.status(),
                headers: std::mem::take(response.headers_mut()),
                origin: answer::origin(response.url()),
                response,
                deadline,
                _permit: permit,
            }),
        }
    }
}

/// Returns the error of a redirect that the host's own client followed: this crate must check its
/// target first.
fn followed(origin: &str) -> Error {
    let message = format!("the HTTP client followed a redirect from {origin}");
    Error::new(ErrorKind::Configuration, message)
        .with_hint("build it with `reqwest::redirect::Policy::none()`")
}

pub fn out_of_time(origin: &str) -> Error {
    Error::new(ErrorKind::TimedOut, format!("timed out waiting for {origin}"))
        .at_limit(Limit::Timeout)
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

    /// Reads the start of a body that is only shown: at most `limit` bytes, for at most `patience`.
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
    Failed::permanent(
        Error::new(
            ErrorKind::TooLarge,
            format!(
                "the answer from {origin} is larger than the limit of {}",
                crate::text::size(cap)
            ),
        )
        .at_limit(Limit::AnswerBytes),
    )
}

pub fn cut(origin: &str, total: u64) -> Failed {
    let message = format!("the answer from {origin} ended after {total} bytes, which isn't all");
    Failed { retryable: true, ..Failed::permanent(Error::new(ErrorKind::Unavailable, message)) }
}

/// Classifies a broken exchange. The URL is left out of the message: it may be signed.
pub fn failed(error: reqwest::Error, origin: &str, proxy: Option<&str>) -> Failed {
    let error = error.without_url();
    let connect = error.is_connect();
    let mut retryable = true;
    let (mut unsent, mut untrusted) = (false, false);
    let (kind, what) = if error.is_builder() {
        retryable = false;
        (ErrorKind::Configuration, "the request can't be made for".to_owned())
    } else if is_certificate(&error) {
        retryable = false;
        untrusted = true;
        (ErrorKind::Unavailable, "can't trust the certificate of".to_owned())
    } else if connect {
        unsent = true;
        (ErrorKind::Unavailable, "can't connect to".to_owned())
    } else if error.is_timeout() {
        // The attempt already waited for the whole timeout; waiting again is useless.
        retryable = false;
        (ErrorKind::TimedOut, "waited too long for".to_owned())
    } else {
        (ErrorKind::Unavailable, "the connection broke before the answer was complete from".into())
    };
    let mut result = Error::new(kind, format!("{what} {origin}")).with_source(Cause::of(&error));
    if let Some(hint) = other_protocol(&error) {
        // The server won't speak another protocol the next time.
        retryable = false;
        result = result.with_hint(hint);
    } else if untrusted {
        result = result
            .with_hint("name the certificate authority, unless the certificate itself is wrong")
            .by_setting(setting::CERTIFICATE_AUTHORITIES);
    } else if connect {
        result = match proxy {
            Some(proxy) => result.with_hint(format!(
                "the request goes through the proxy `{proxy}`: check it, the address and the network"
            )),
            None => result.with_hint("check the address and the network"),
        };
    }
    Failed { error: result, retryable, unsent, retry_after: None, refused: false }
}

/// The message of the innermost cause: the layers above only repeat each other, and some of them
/// repeat the URL.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Cause(String);

impl Cause {
    pub fn of(error: &reqwest::Error) -> Self {
        let mut cause: &dyn std::error::Error = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        Self(crate::text::shorten(&cause.to_string(), 300))
    }
}

/// Returns a hint if the server speaks another protocol.
pub fn other_protocol(error: &reqwest::Error) -> Option<&'static str> {
    match caused_by(error) {
        Some(rustls::Error::InvalidMessage(_)) => {
            return Some("the server doesn't speak TLS there: is its address `http://`?");
        }
        Some(
            rustls::Error::NoApplicationProtocol
            | rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol),
        ) => return Some("the server doesn't speak HTTP/2 there, which gRPC needs"),
        _ => {}
    }
    let answer = caused_by::<hyper::Error>(error)?;
    answer.is_parse().then_some(
        "what answers there doesn't speak HTTP/1.1: is this the HTTP address, not the gRPC one?",
    )
}

fn is_certificate(error: &reqwest::Error) -> bool {
    matches!(caused_by(error), Some(rustls::Error::InvalidCertificate(_)))
}

/// Returns the outermost cause of this type.
fn caused_by<T: std::error::Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(next) = cause {
        if let Some(found) = next.downcast_ref() {
            return Some(found);
        }
        // I/O errors, in which others are wrapped several deep, hide those from `source`.
        cause = match next.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => next.source(),
        };
    }
    None
}

fn build(settings: &Settings, http2: bool) -> Result<reqwest::Client, Error> {
    if let Some(client) = &settings.http_client {
        return Ok(client.clone());
    }
    let configuration = |message: &str, error: &dyn std::error::Error| {
        Error::new(ErrorKind::Configuration, message).with_source(error.to_string())
    };
    let mut builder = bare_client(tls(settings, http2)?)
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.idle_timeout)
        .resolve_to_addrs("localhost", &LOCALHOST);
    if let Some(proxy) = proxy(settings)? {
        builder = builder.proxy(proxy);
    }
    if http2 {
        builder = builder
            .http2_prior_knowledge()
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(settings.idle_timeout);
    }
    builder.build().map_err(|e| configuration("the HTTP client can't be set up", &e.without_url()))
}

/// What the name `localhost` stands for, whatever a resolver answers.
const LOCALHOST: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0),
];

/// Returns the builder of a client that does nothing by itself: it follows no redirect, sends nothing
/// again, unpacks nothing and uses no proxy.
pub fn bare_client(tls: rustls::ClientConfig) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // Whatever features of the library the host's build enables.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .user_agent(concat!("rego-platform/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
}

/// Returns the proxy, if one is set. An invalid address is an error only if the proxy would be
/// used.
fn proxy(settings: &Settings) -> Result<Option<reqwest::Proxy>, Error> {
    let Some(text) = settings.proxy.as_deref() else { return Ok(None) };
    let is_unused = |address: &Url| address.scheme() == "http" || is_loopback(address);
    match https_proxy(text, settings.no_proxy.as_deref().unwrap_or_default()) {
        Err(_) if settings.endpoints.addresses().all(is_unused) => Ok(None),
        proxy => proxy.map(Some),
    }
}

/// Returns a client for other servers than the service, which trusts further authorities (PEM) and goes
/// through the environment's proxy.
pub fn outside_client(authorities: &[Vec<u8>]) -> Result<reqwest::Client, Error> {
    let authorities: Result<Vec<_>, _> =
        authorities.iter().map(|pem| certificates::authorities(pem)).collect();
    let tls = tls_config(crypto_provider(None)?, authorities?.concat(), false, false)?;
    let mut builder = bare_client(tls)
        .connect_timeout(CONNECT)
        .read_timeout(IDLE)
        .resolve_to_addrs("localhost", &LOCALHOST);
    if let Some(address) = environment::proxy()? {
        let except = environment::no_proxy()?.unwrap_or_default();
        builder = builder.proxy(https_proxy(&address, &except)?);
    }
    builder.build().map_err(|error| {
        Error::new(ErrorKind::Configuration, "the HTTP client can't be set up")
            .with_source(error.without_url().to_string())
    })
}

/// Returns a proxy for https alone, so that it never sees a token, and never for loopback.
fn https_proxy(address: &str, no_proxy: &str) -> Result<reqwest::Proxy, Error> {
    let proxy = proxy_url(address).and_then(|url| reqwest::Proxy::https(url).ok());
    let proxy = proxy.ok_or_else(|| {
        // The text isn't repeated: it may contain a password.
        Error::new(ErrorKind::Configuration, "the address of the proxy isn't a valid URL")
            .with_hint("`HTTPS_PROXY` looks like `http://proxy.example.com:3128`")
    })?;
    Ok(proxy.no_proxy(reqwest::NoProxy::from_string(&format!("{no_proxy},{LOOPBACK}"))))
}

/// Parses the proxy's address, which is often written as `host:port`.
fn proxy_url(text: &str) -> Option<Url> {
    let text = text.trim();
    let url =
        if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("http://{text}")) };
    url.ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Returns the host and port of the proxy between this machine and the service, for a hint.
/// `NO_PROXY` isn't considered.
fn proxy_between(settings: &Settings) -> Option<String> {
    let url = proxy_url(settings.proxy.as_deref()?)?;
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

/// The pause after which an HTTP/2 connection with open requests is asked whether it still is one.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The hosts that are never proxied, in the form of `NO_PROXY`.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1,::ffff:127.0.0.0/104";

/// Returns the provider of cryptography: the host's, the one installed for the process, or ring.
pub fn crypto_provider(given: Option<&Arc<CryptoProvider>>) -> Result<Arc<CryptoProvider>, Error> {
    let given = given.cloned().or_else(|| CryptoProvider::get_default().cloned());
    #[cfg(feature = "ring")]
    let given = given.or_else(|| Some(Arc::new(rustls::crypto::ring::default_provider())));
    given.ok_or_else(|| {
        Error::new(ErrorKind::Configuration, "no TLS provider is installed").with_hint(
            "give one to `PlatformBuilder::crypto_provider`, install one for the process, or turn \
             on the feature `ring`",
        )
    })
}

/// Configures TLS with the system's certificate store and the given authorities; verification is
/// never switched off.
fn tls(settings: &Settings, http2: bool) -> Result<rustls::ClientConfig, Error> {
    let provider = crypto_provider(settings.crypto_provider.as_ref())?;
    let is_used = settings.endpoints.addresses().any(|address| address.scheme() == "https");
    tls_config(provider, settings.ca_certificates.clone(), is_used, http2)
}

/// As `tls`, for any server; the system's store is read at once if it is certain to be used.
fn tls_config(
    provider: Arc<CryptoProvider>,
    authorities: Vec<CertificateDer<'static>>,
    is_used: bool,
    http2: bool,
) -> Result<rustls::ClientConfig, Error> {
    let failed = |error: rustls::Error| {
        Error::new(ErrorKind::Configuration, "TLS can't be set up").with_source(error.to_string())
    };
    let verifier = SystemVerifier::new(Arc::clone(&provider), authorities).map_err(failed)?;
    if is_used {
        verifier.ready().map_err(|e| {
            Error::new(ErrorKind::Configuration, "the certificate store can't be set up")
                .with_source(e.to_string())
        })?;
    }
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    if !http2 {
        config.alpn_protocols.push(b"http/1.1".to_vec());
    }
    Ok(config)
}
