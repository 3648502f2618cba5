//! Policies' own requests: `http.send` and `net.lookup_ip_addr`.
//!
//! Owns sending them, within limits, and only to hosts that are allowed by name. The language side parses a
//! request ([`HttpRequest`]); the evaluation decides when it is sent, and that an evaluation sees only one
//! answer to it.

mod cache;
mod connect;
mod exchange;
#[cfg(all(test, feature = "ring"))]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::Propagator;
use super::allow::{AllowedHost, AllowedHosts};
use crate::call::{Answer, Context};
use crate::flight::Flights;
use crate::observe::LookupSpan;
use crate::runtime::{LazyRuntime, Runtime};
use crate::{Error, ErrorKind, setting};
use cache::HttpCache;
use rego::internal::builtins::{Bounded, Code, HTTP_SEND, HttpRequest, http_failure};
use rego::value::{Set, Value};

/// The approximate limit on the memory of a decoded body, in bytes: a small body can decode to a huge value.
const MAX_DECODED: u64 = 512 << 20;
const TOO_MUCH_DECODED: &str = "decoded body too large: the limit is 512 MiB";

/// The client of policies' own requests to allowed hosts; cheap to clone.
///
/// ```
/// use rego_platform_client::http::Http;
///
/// let http = Http::builder().allow_host("api.example.com:443".parse()?).build();
/// # let _ = http;
/// # Ok::<(), rego_platform_client::http::NoHost>(())
/// ```
///
/// Evaluations get it in `EvaluateOptions::http`. Its
/// clones share connections, and the responses to requests with `cache`.
#[derive(Debug, Clone)]
pub struct Http(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: Options,
    runtime: LazyRuntime,
    flights: Arc<Flights>,
    permits: Semaphore,
    clients: connect::Clients,
    cache: HttpCache,
}

/// The allowed hosts, and the limits of requests.
#[derive(Clone)]
struct Options {
    allowed: AllowedHosts,
    max_body_bytes: u64,
    timeout: Duration,
    ca_certificates: Vec<Vec<u8>>,
    concurrency: usize,
    propagator: Option<Arc<Propagator>>,
    lookup: connect::Lookup,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

/// Builds an [`Http`]; no host is allowed unless it is added.
#[derive(Debug, Clone)]
#[must_use]
pub struct HttpBuilder(Options);

impl HttpBuilder {
    /// Lets policies send requests to a host, in addition to those allowed so far.
    pub fn allow_host(mut self, host: AllowedHost) -> Self {
        self.0.allowed.add(host);
        self
    }

    /// Trusts the certificates of a PEM file in addition to the system's.
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.0.ca_certificates.push(pem.into());
        self
    }

    /// Sets the time limit of requests that don't set their own; 5 s by default, as in OPA.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout = timeout;
        self
    }

    /// Sets the largest body of a response, in bytes, decompressed; 16 MiB by default.
    pub fn max_body_bytes(mut self, bytes: u64) -> Self {
        self.0.max_body_bytes = bytes;
        self
    }

    /// Sets the largest number of requests in flight at once; 64 by default, at least 1.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.0.concurrency = requests.clamp(1, 10_000);
        self
    }

    /// Adds headers to each request, within its span, such as a host's trace context. The policy's own
    /// headers take precedence, and `authorization` can't be set.
    pub fn propagator(
        mut self,
        propagate: impl Fn(&mut HeaderMap) + Send + Sync + 'static,
    ) -> Self {
        self.0.propagator = Some(Arc::new(propagate));
        self
    }

    /// Builds the [`Http`]; nothing is connected before the first request.
    pub fn build(self) -> Http {
        Http(Arc::new(Inner {
            runtime: LazyRuntime::of_requests(),
            flights: Arc::new(Flights::new(Duration::ZERO)),
            permits: Semaphore::new(self.0.concurrency),
            clients: connect::Clients::default(),
            cache: HttpCache::new(CACHE_BYTES),
            options: self.0,
        }))
    }
}

/// The limit on the responses stored for requests with `cache`, in bytes.
const CACHE_BYTES: u64 = 32 << 20;

/// The reason why there is no response.
#[derive(Debug, Clone)]
enum Failure {
    /// The request is invalid.
    Request(String),
    /// The host isn't allowed.
    Disallowed(String),
    /// The network or the server failed.
    Network(String),
    /// The request exceeded its own time limit.
    TimedOut(String),
    /// A limit of the evaluation was reached, which ends it.
    Halt(Error),
}

impl Failure {
    /// Returns the kind for hosts.
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Request(_) => ErrorKind::InvalidArgument,
            Self::Disallowed(_) => ErrorKind::Configuration,
            Self::Network(_) => ErrorKind::Unavailable,
            Self::TimedOut(_) => ErrorKind::TimedOut,
            Self::Halt(error) => error.kind(),
        }
    }

    /// Returns the error of a call that raises its failures.
    fn into_error(self) -> Error {
        let kind = self.kind();
        match self {
            Self::Disallowed(message) => Error::new(kind, message)
                .with_hint("allow the host if policies may send requests to it")
                .by_setting(setting::ALLOWED_HOSTS),
            Self::Request(message) | Self::Network(message) | Self::TimedOut(message) => {
                Error::new(kind, message)
            }
            Self::Halt(error) => error,
        }
    }

    /// Returns the value for a policy that set `raise_error` to `false`.
    fn into_value(self) -> Result<Value, Error> {
        match self {
            Self::Network(message) | Self::TimedOut(message) => {
                Ok(http_failure("eval_http_send_network_error", &message))
            }
            Self::Request(message) | Self::Disallowed(message) => {
                let message = format!("eval_builtin_error: http.send: {message}");
                Ok(http_failure("eval_http_send_internal_error", &message))
            }
            Self::Halt(error) => Err(error),
        }
    }
}

impl Http {
    /// Returns a builder that allows no host yet.
    pub fn builder() -> HttpBuilder {
        HttpBuilder(Options {
            allowed: AllowedHosts::default(),
            max_body_bytes: 16 << 20,
            timeout: Duration::from_secs(5),
            ca_certificates: Vec::new(),
            concurrency: 64,
            propagator: None,
            lookup: connect::system_lookup(),
        })
    }

    /// Returns the hosts that policies may send requests to; all others are refused.
    pub fn allowed(&self) -> &AllowedHosts {
        &self.0.options.allowed
    }

    #[doc(hidden)]
    pub fn runtime(&self) -> Result<&Runtime, Error> {
        self.0.runtime.get()
    }

    #[doc(hidden)]
    pub fn flights(&self) -> &Arc<Flights> {
        &self.0.flights
    }

    /// Sends a request and returns its response as the policy sees it.
    #[doc(hidden)]
    pub async fn send(&self, request: &HttpRequest, context: &Context) -> Result<Answer, Error> {
        let value = match self.respond(request, context).await {
            Ok(response) => {
                let bounds = Bounded::new(MAX_DECODED, TOO_MUCH_DECODED, Some(context.deadline));
                response.to_value(&bounds, request).map_err(|error| {
                    let kind = match error.code {
                        Code::Cancelled => ErrorKind::TimedOut,
                        _ => ErrorKind::TooLarge,
                    };
                    Error::new(kind, error.message.into_owned())
                })?
            }
            Err(failure) if request.raise => return Err(failure.into_error()),
            Err(failure) => failure.into_value()?,
        };
        Ok(Answer::from(value))
    }

    /// Fetches the body at an address of an allowed host. Statuses other than 200 are errors. Redirects
    /// aren't followed. Blocks until it is there.
    #[doc(hidden)]
    pub fn fetch(&self, address: &str, timeout: Duration) -> Result<Vec<u8>, Error> {
        let (http, deadline) = (self.clone(), std::time::Instant::now() + timeout);
        let request = HttpRequest { url: address.to_owned(), ..HttpRequest::default() };
        let fetched = self
            .runtime()?
            .block_on(async move { http.respond(&request, &Context::new(deadline, None)).await })?;
        let response = fetched.map_err(|failure| failure.into_error().in_call(HTTP_SEND))?;
        match response.status {
            200 => Ok(response.body),
            status => {
                Err(Error::unavailable(format!("unexpected status of the response: {status}")))
            }
        }
    }

    /// Resolves a name for `net.lookup_ip_addr`. The name must be allowed, and all of its addresses
    /// must be within reach.
    #[doc(hidden)]
    pub async fn look_up(&self, name: &str, context: &Context) -> Result<Answer, Error> {
        let options = &self.0.options;
        let disallowed =
            |what: &str| Failure::Disallowed(format!("disallowed host: {name}{what}")).into_error();
        let host = url::Host::parse(name).map_err(|_| disallowed(""))?;
        let grant = options.allowed.knows(&host).ok_or_else(|| disallowed(""))?;
        let found = match host {
            url::Host::Ipv4(address) => vec![address.into()],
            url::Host::Ipv6(address) => vec![address.into()],
            url::Host::Domain(domain) => {
                let until = Instant::from_std(context.deadline);
                let looking = LookupSpan::begin(name);
                let answer = (options.lookup)(domain, 0).instrument(looking.span.clone());
                let looked = match tokio::time::timeout_at(until, answer).await {
                    Err(_) => Err(out_of_time()),
                    Ok(looked) => looked
                        .map_err(|error| Error::unavailable(format!("lookup {name}: {error}"))),
                };
                looking.end(&context.observer, looked.as_ref().err().map(Error::kind));
                looked?.iter().map(std::net::SocketAddr::ip).collect()
            }
        };
        if !found.iter().all(|address| options.allowed.reaches(grant, *address, 0)) {
            return Err(disallowed(" resolves to addresses that aren't allowed"));
        }
        let found = found.into_iter().map(|address| Value::from(address.to_string()));
        Ok(Answer::from(Value::from(found.collect::<Set>())))
    }
}

/// The error of a call for which the evaluation has no time left.
fn out_of_time() -> Error {
    Error::timed_out("no time is left for the call")
}
