//! Requests of policies: `http.send`.
//!
//! Owns sending them, within limits, and only to hosts that are allowed by name. It knows nothing
//! of the service and holds no token. What a request says was read by the language side
//! ([`crate::rego::builtins::HttpRequest`]).

mod allow;
mod cache;
mod connect;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use tokio::time::Instant;

pub use allow::{AllowedHost, AllowedHosts, NoHost};
pub use cache::HttpCache;
use cache::{CACHEABLE, Found};

use crate::rego::builtins::{Code, Error, HttpRequest, HttpResponse};
use crate::rego::value::{Set, Value};

/// Where requests may go, and what they may cost.
#[derive(Debug, Clone)]
pub struct Options {
    /// The hosts that may be asked.
    pub allowed: AllowedHosts,
    /// Bytes of one body.
    pub most_body: u64,
    /// Bytes of all bodies of an evaluation.
    pub most_bytes: u64,
    /// Requests of an evaluation, redirects and repetitions included.
    pub most_requests: u64,
    /// How long a request may take that doesn't say.
    pub timeout: Duration,
    /// The proxy for https, if there is one.
    pub proxy: Option<String>,
    /// Hosts that are asked without it, as in `NO_PROXY`.
    pub no_proxy: Option<String>,
    /// PEM texts of authorities that are trusted besides the system's.
    pub ca_certificates: Vec<Vec<u8>>,
    /// Responses of other evaluations, where they may be used.
    pub cache: Option<Arc<HttpCache>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allowed: AllowedHosts::none(),
            most_body: 8 << 20,
            most_bytes: 64 << 20,
            most_requests: 1000,
            timeout: Duration::from_secs(5),
            proxy: None,
            no_proxy: None,
            ca_certificates: Vec::new(),
            cache: None,
        }
    }
}

/// Redirects that are followed in a row.
const MOST_REDIRECTS: usize = 10;
/// The first and the longest pause between repetitions.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The request itself is wrong, or goes where it may not.
    Request(String),
    /// The network, the server or the time.
    Network(String),
    /// It may not be sent at all: the evaluation ends.
    Refused(String),
    /// A bound of the evaluation is reached: it ends.
    Limit(String),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Request(message) => {
                Self { code: Code::Type, message: message.into(), halt: false }
            }
            Failure::Network(message) => Self::failed(message),
            Failure::Refused(message) => Self::halt(Code::Builtin, message),
            Failure::Limit(message) => Self::halt(Code::Limit, message),
        }
    }
}

/// The requests of one evaluation: equal ones are sent once.
#[derive(Debug)]
pub struct Session {
    options: Arc<Options>,
    requests: AtomicU64,
    bytes: AtomicU64,
    /// Responses and failures by their requests.
    answers: Mutex<HashMap<String, Result<HttpResponse, Failure>>>,
}

/// What the requests of an evaluation cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requests that were sent, redirects and repetitions included.
    pub requests: u64,
    /// Bytes of bodies that came.
    pub bytes: u64,
}

impl Session {
    /// An evaluation's requests.
    pub fn new(options: Arc<Options>) -> Self {
        Self {
            options,
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            answers: Mutex::default(),
        }
    }

    /// What was sent so far.
    pub fn cost(&self) -> Cost {
        Cost {
            requests: self.requests.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<String, Result<HttpResponse, Failure>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, or gives what an equal one was answered. `now` is the evaluation's time;
    /// nobody waits longer than until `deadline`.
    ///
    /// # Errors
    /// The request may not be sent, or there is no response.
    pub async fn send(
        &self,
        request: &HttpRequest,
        now: SystemTime,
        deadline: Instant,
    ) -> Result<HttpResponse, Error> {
        if self.options.allowed.is_empty() {
            let message = "http.send is off: allow the hosts that it may ask";
            return Err(Error::halt(Code::Builtin, message));
        }
        let key = request.key.to_json();
        if let Some(answer) = self.answers().get(&key) {
            return answer.clone().map_err(Error::from);
        }
        let answer = self.ask(request, &key, now, deadline).await;
        let keep = match &answer {
            Ok(response) => request.cache || CACHEABLE.contains(&response.status),
            Err(failure) => matches!(failure, Failure::Request(_) | Failure::Network(_)),
        };
        if keep {
            self.answers().insert(key, answer.clone());
        }
        answer.map_err(Error::from)
    }

    /// Through the responses of other evaluations, if the request asks for it.
    async fn ask(
        &self,
        request: &HttpRequest,
        key: &str,
        now: SystemTime,
        deadline: Instant,
    ) -> Result<HttpResponse, Failure> {
        // Where a policy may not go now, it gets no kept response either.
        let url = self.url(&request.url)?;
        let cache = self.options.cache.as_deref().filter(|_| request.cache);
        let Some(cache) = cache else { return self.retry(request, url, deadline).await };
        match cache.find(key, now) {
            Found::Fresh(response) => return Ok(response),
            Found::Nothing => {}
            Found::Stale(mut kept) => {
                let revalidated = self.revalidate(request, &kept, url.clone(), deadline).await;
                cache.forget(key);
                match revalidated? {
                    Some(response) if response.status == 304 => {
                        for (name, _) in &response.headers {
                            kept.headers.retain(|(it, _)| !it.eq_ignore_ascii_case(name));
                        }
                        kept.headers.extend(response.headers);
                        cache.keep(key, request, &kept, now);
                        return Ok(kept);
                    }
                    Some(response) => {
                        cache.keep(key, request, &response, now);
                        return Ok(response);
                    }
                    None => {}
                }
            }
        }
        let response = self.retry(request, url, deadline).await?;
        cache.keep(key, request, &response, now);
        Ok(response)
    }

    /// Asks whether a response is still right: that it is (304), or a new one.
    async fn revalidate(
        &self,
        request: &HttpRequest,
        kept: &HttpResponse,
        url: Url,
        deadline: Instant,
    ) -> Result<Option<HttpResponse>, Failure> {
        let mut asking = request.clone();
        for (name, from) in [("If-None-Match", "etag"), ("If-Modified-Since", "last-modified")] {
            if let Some(value) = kept.header(from).filter(|value| !value.is_empty()) {
                asking.headers.retain(|(it, _)| it != name);
                asking.headers.push((name.to_owned(), value));
            }
        }
        if asking.headers.len() == request.headers.len() {
            return Ok(None);
        }
        let response = self.retry(&asking, url, deadline).await?;
        Ok(Some(response).filter(|response| matches!(response.status, 200 | 304)))
    }

    /// Sends it, and again after failures of the network, as often as it says.
    async fn retry(
        &self,
        request: &HttpRequest,
        url: Url,
        deadline: Instant,
    ) -> Result<HttpResponse, Failure> {
        let mut pause = PAUSES.0;
        let mut left = request.retries;
        loop {
            let failure = match self.exchange(request, url.clone(), deadline).await {
                Err(failure @ Failure::Network(_)) if left > 0 => failure,
                answer => return answer,
            };
            // A pause beyond the deadline helps nobody.
            if Instant::now() + pause >= deadline {
                return Err(failure);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
            left -= 1;
        }
    }

    /// One request with its redirects, within its time.
    async fn exchange(
        &self,
        request: &HttpRequest,
        url: Url,
        deadline: Instant,
    ) -> Result<HttpResponse, Failure> {
        let own = match request.timeout {
            None => Some(self.options.timeout),
            Some(nanoseconds) => u64::try_from(nanoseconds)
                .ok()
                .filter(|nanoseconds| *nanoseconds > 0)
                .map(Duration::from_nanos),
        };
        let until = own.map_or(deadline, |own| deadline.min(Instant::now() + own));
        match tokio::time::timeout_at(until, self.follow(request, url)).await {
            Ok(answer) => answer,
            Err(_) => {
                let (method, url) = (operation(&request.method), &request.url);
                Err(Failure::Network(format!("{method} {url}: request timed out")))
            }
        }
    }

    async fn follow(&self, request: &HttpRequest, mut url: Url) -> Result<HttpResponse, Failure> {
        let method = if request.method.is_empty() { "GET" } else { &request.method };
        let mut method = Method::from_bytes(method.as_bytes())
            .map_err(|_| Failure::Request(format!("net/http: invalid method {method:?}")))?;
        let mut headers = headers(&request.headers)?;
        let mut body = Some(request.body.as_slice());
        for _ in 0..=MOST_REDIRECTS {
            let response =
                self.hop(request, method.clone(), &url, headers.clone(), body).await?;
            let status = response.status();
            let next = response
                .headers()
                .get(reqwest::header::LOCATION)
                .filter(|_| request.redirect && is_redirect(status))
                .map(|place| place.to_str().unwrap_or_default().to_owned());
            let Some(next) = next else { return self.read(response, &request.url).await };
            let next = url.join(&next).map_err(|error| {
                Failure::Network(format!("failed to parse Location header {next:?}: {error}"))
            })?;
            if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
                body = None;
                if method != Method::HEAD {
                    method = Method::GET;
                }
            }
            if next.host() != url.host() {
                // What is meant for one host only.
                for name in ["authorization", "www-authenticate", "cookie", "cookie2", "host"] {
                    headers.remove(name);
                }
            }
            url = self.check(next).map_err(|failure| match failure {
                Failure::Request(message) => Failure::Network(message),
                other => other,
            })?;
        }
        Err(Failure::Network(format!("stopped after {MOST_REDIRECTS} redirects")))
    }

    /// One request, sent; its response's body is still to be read.
    async fn hop(
        &self,
        request: &HttpRequest,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Option<&[u8]>,
    ) -> Result<reqwest::Response, Failure> {
        let sent = self.requests.fetch_add(1, Ordering::Relaxed);
        if sent >= self.options.most_requests {
            let most = self.options.most_requests;
            return Err(Failure::Limit(format!("more than {most} requests in one evaluation")));
        }
        let addresses = self.addresses(url).await?;
        let mut target = url.clone();
        let name = request.tls.server_name.as_str();
        if !name.is_empty() && url.scheme() == "https" {
            rename(&mut target, name, &mut headers)?;
        }
        let client = connect::client(&self.options, &request.tls, &target, &addresses)?;
        let mut builder = client.request(method.clone(), target).headers(headers);
        if let Some(body) = body {
            builder = builder.body(body.to_vec());
        }
        builder.send().await.map_err(|error| network(operation(method.as_str()), url, error))
    }

    async fn read(&self, mut response: reqwest::Response, url: &str) -> Result<HttpResponse, Failure> {
        let status = response.status();
        let too_large = |most: u64, what: &str| {
            Failure::Limit(format!("the answer to {url} is larger than the limit of {most} bytes{what}"))
        };
        let headers = response.headers().iter();
        let headers =
            headers.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
        let mut body = Vec::new();
        loop {
            let chunk = response.chunk().await.map_err(|error| {
                Failure::Network(format!("the body broke off: {}", innermost(&error)))
            })?;
            let Some(chunk) = chunk else { break };
            let length = chunk.len() as u64;
            if body.len() as u64 + length > self.options.most_body {
                return Err(too_large(self.options.most_body, ""));
            }
            let total = self.bytes.fetch_add(length, Ordering::Relaxed) + length;
            if total > self.options.most_bytes {
                return Err(too_large(self.options.most_bytes, " of an evaluation"));
            }
            body.extend_from_slice(&chunk);
        }
        let reason = status.canonical_reason().unwrap_or_default();
        Ok(HttpResponse {
            status: status.as_u16(),
            status_text: format!("{} {reason}", status.as_u16()),
            headers,
            body,
        })
    }

    /// A URL that may be asked.
    fn url(&self, text: &str) -> Result<Url, Failure> {
        let url = Url::parse(text).map_err(|error| {
            Failure::Request(format!("parse {text:?}: {error}"))
        })?;
        self.check(url)
    }

    fn check(&self, url: Url) -> Result<Url, Failure> {
        let scheme = url.scheme();
        if !matches!(scheme, "http" | "https") {
            let message = format!("unsupported protocol scheme {scheme:?}");
            return Err(Failure::Request(message));
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(Failure::Request("http: no Host in request URL".to_owned()));
        };
        if self.options.allowed.grant(&host, port).is_none() {
            return Err(Failure::Request(format!("disallowed host: {host}")));
        }
        Ok(url)
    }

    /// The addresses of a URL's host that may be connected to; none are needed where the proxy
    /// looks them up.
    async fn addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, Failure> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(Failure::Request("http: no Host in request URL".to_owned()));
        };
        let allowed = &self.options.allowed;
        let grant = allowed
            .grant(&host, port)
            .ok_or_else(|| Failure::Request(format!("disallowed host: {host}")))?;
        let found: Vec<SocketAddr> = match host {
            url::Host::Ipv4(address) => vec![(address, port).into()],
            url::Host::Ipv6(address) => vec![(address, port).into()],
            url::Host::Domain(_) if connect::is_proxied(&self.options, url) => return Ok(Vec::new()),
            url::Host::Domain(name) => look_up(name, port).await?,
        };
        let reached: Vec<SocketAddr> =
            found.into_iter().filter(|it| allowed.reaches(grant, it.ip(), port)).collect();
        if reached.is_empty() {
            let message = format!("disallowed host: {host} stands for addresses that may not be reached");
            return Err(Failure::Request(message));
        }
        Ok(reached)
    }

    /// The addresses of a name, for `net.lookup_ip_addr`: of a name that may be asked, those that
    /// may be reached.
    ///
    /// # Errors
    /// The name may not be looked up, or isn't known.
    pub async fn look_up(&self, name: &str) -> Result<Value, Error> {
        if self.options.allowed.is_empty() {
            let message = "net.lookup_ip_addr is off: allow the hosts that it may look up";
            return Err(Error::halt(Code::Builtin, message));
        }
        let unknown = || Error::failed(format!("disallowed host: {name}"));
        let host = url::Host::parse(name).map_err(|_| unknown())?;
        let host = match &host {
            url::Host::Domain(name) => url::Host::Domain(name.as_str()),
            url::Host::Ipv4(address) => url::Host::Ipv4(*address),
            url::Host::Ipv6(address) => url::Host::Ipv6(*address),
        };
        let grant = self.options.allowed.knows(&host).ok_or_else(unknown)?;
        let found = match host {
            url::Host::Domain(name) => look_up(name, 0).await?,
            url::Host::Ipv4(address) => vec![(address, 0).into()],
            url::Host::Ipv6(address) => vec![(address, 0).into()],
        };
        let reached = found.iter().map(SocketAddr::ip);
        let reached = reached.filter(|it| self.options.allowed.reaches(grant, *it, 0));
        Ok(Value::from(reached.map(|it| Value::from(it.to_string())).collect::<Set>()))
    }
}

async fn look_up(name: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    let found = tokio::net::lookup_host((name, port)).await;
    let found = found.map_err(|error| Failure::Network(format!("lookup {name}: {error}")))?;
    Ok(found.collect())
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// A method as failures call it: `Get`.
fn operation(method: &str) -> String {
    let mut name = method.to_ascii_lowercase();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}

/// What a broken exchange means.
fn network(operation: String, url: &Url, error: reqwest::Error) -> Failure {
    if error.is_builder() {
        return Failure::Request(innermost(&error));
    }
    Failure::Network(format!("{operation} \"{url}\": {}", innermost(&error)))
}

/// The innermost cause: the layers between only repeat each other.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn headers(given: &[(String, String)]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let wrong = |what: &str| Failure::Network(format!("net/http: invalid header field {what}"));
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| wrong(&format!("name {name:?}")))?;
        let value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| wrong(&format!("value for {:?}", name.as_str())))?;
        // How the body ends is ours to say.
        if !matches!(name.as_str(), "content-length" | "transfer-encoding" | "connection") {
            headers.insert(name, value);
        }
    }
    Ok(headers)
}

/// Makes a URL one of another server name, at the same addresses, asked for the same host.
fn rename(url: &mut Url, name: &str, headers: &mut HeaderMap) -> Result<(), Failure> {
    let wrong = || Failure::Request(format!("`{name}` can't be the server's name"));
    if !headers.contains_key(reqwest::header::HOST) {
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        headers.insert(reqwest::header::HOST, HeaderValue::try_from(host).map_err(|_| wrong())?);
    }
    match url::Host::parse(name) {
        Ok(url::Host::Domain(_)) => url.set_host(Some(name)).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests;
