//! The client of the service: one authenticated call with retries, within its limits.
//!
//! Owns the settings, the limit on requests in flight and the path from a request to a parsed
//! answer. Arguments and answers of the functions belong to `functions`; nothing here decides what a
//! policy sees.

mod answer;
#[cfg(feature = "artifact-store")]
mod artifact_store;
mod auth;
#[cfg(feature = "cache")]
pub mod cache;
mod content;
mod download;
mod endpoints;
#[cfg(feature = "grpc")]
mod grpc;
mod grpc_web;
mod kept;
mod operations;
mod page;
mod pages;
mod repeated;
mod row;
mod row_layout;
mod token_search;
mod transport;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use crate::http::Propagator;
use crate::http::retry::{self, Failed};
use crate::observe::{Attempt, Observers};
use crate::text::shorten;
use crate::{Error, Limit, Product};

#[cfg(feature = "artifact-store")]
pub use artifact_store::{ArtifactStore, ArtifactStoreBuilder};
pub use auth::{Token, TokenFuture, TokenKind, TokenProvider};
pub use endpoints::Api;

pub use crate::call::{Allowance, Context};
pub use auth::{Credentials, TokenSource};
pub use content::{Content, RequestedForm};
pub use download::download;
pub use endpoints::{
    APPROVE_ASSESSMENT, DISCOVER, DOWNLOAD, EFFECTIVE_ASSESSMENTS, ENVIRONMENTS, EVALUATE_EVIDENCE,
    EVIDENCE, Endpoint, Endpoints, FINDINGS, INFOZ, OPENAPI, OPENAPI_CONTROLPLANE, OPERATION,
    PRODUCT_COMPLIANCE, PRODUCT_VERSION, PRODUCTS, PROJECT_COMPLIANCE, PROJECTS,
};
pub use kept::Kept;
pub use operations::run_operation;
pub use page::{EnvelopeSeed, Rows, parse, parse_object, parse_one, parse_page, parse_rows};
pub use pages::{List, Pager, Paging, Reader, too_many, within_list};
pub use row::Row;
use transport::JSON;

/// The longest pause between two requests, unless the service asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The settings of a client.
#[derive(Clone)]
pub struct Settings {
    pub product: Product,
    pub organization: Option<(HeaderName, HeaderValue)>,
    pub organization_name: Option<String>,
    pub endpoints: Endpoints,
    pub ca_certificates: Vec<rustls::pki_types::CertificateDer<'static>>,
    pub insecure: bool,
    pub proxy: Option<String>,
    pub no_proxy: Option<String>,
    /// Headers that are sent to the service's own addresses with every request.
    pub headers: HeaderMap,
    pub user_agent: Option<HeaderValue>,
    /// Adds headers to a request to the service, within its span.
    pub propagator: Option<Arc<Propagator>>,
    /// The host's client, in place of this crate's own.
    pub http_client: Option<reqwest::Client>,
    pub crypto_provider: Option<Arc<rustls::crypto::CryptoProvider>>,
    pub observer: Observers,
    pub connect_timeout: Duration,
    pub idle_timeout: Duration,
    pub call_timeout: Duration,
    pub retries: usize,
    pub first_pause: Duration,
    pub concurrency: usize,
    /// The largest body of a response other than an artifact's.
    pub max_answer_bytes: u64,
    pub max_artifact_bytes: u64,
    pub max_results: usize,
    pub max_pages: usize,
    pub kept: Kept,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            product: Product::default(),
            organization: None,
            organization_name: None,
            endpoints: Endpoints::default(),
            ca_certificates: Vec::new(),
            insecure: false,
            proxy: None,
            no_proxy: None,
            headers: HeaderMap::new(),
            user_agent: None,
            propagator: None,
            http_client: None,
            crypto_provider: None,
            observer: None,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_mins(1),
            retries: 4,
            first_pause: Duration::from_millis(200),
            concurrency: 64,
            max_answer_bytes: 64 << 20,
            max_artifact_bytes: 512 << 20,
            max_results: 0,
            max_pages: 10_000,
            kept: Kept::default(),
        }
    }
}

impl std::fmt::Debug for Settings {
    // The proxy's address may contain a password, and a certificate tells a reader nothing.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("product", &self.product)
            .field("organization", &self.organization_name)
            .field("endpoints", &self.endpoints)
            .field("insecure", &self.insecure)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct Client {
    pub settings: Arc<Settings>,
    transport: transport::Transport,
    tokens: TokenSource,
    permits: Arc<Semaphore>,
    /// `true` once an emulator has answered.
    emulated: AtomicBool,
    /// `true` once the service turned out to have no usable signed URLs, so that the content store is used
    /// directly.
    #[cfg(feature = "grpc")]
    lacks_urls: AtomicBool,
}

/// The header of an emulator's responses.
const EMULATOR: &str = "x-rego-platform-emulator";

/// The maximum number of bytes read of an error's body.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// The longest URL; the service's HTTP servers accept less.
const MAX_URL_BYTES: usize = 32 << 10;

/// The maximum number of objects and arrays in a response. Each takes about 700 bytes of memory, but at least
/// three of text.
const MAX_VALUES: usize = 1_000_000;

/// A request to an endpoint, before the token is attached.
#[derive(Debug, Clone)]
pub struct ApiRequest {
    pub endpoint: Endpoint,
    /// The values of the path's placeholders, in their order.
    pub segments: Vec<String>,
    pub query: Vec<(&'static str, String)>,
    pub body: Option<Bytes>,
    /// The value of the `Accept` header.
    pub accept: &'static str,
    /// `true` if it may be retried after it may have arrived.
    pub idempotent: bool,
    pub authenticated: bool,
}

impl ApiRequest {
    pub fn get(endpoint: Endpoint, segments: impl IntoIterator<Item = String>) -> Self {
        Self {
            endpoint,
            segments: segments.into_iter().collect(),
            query: Vec::new(),
            body: None,
            accept: JSON,
            idempotent: true,
            authenticated: true,
        }
    }
}

impl Client {
    pub fn new(settings: Settings, credentials: Credentials) -> Self {
        let settings = Arc::new(settings);
        Self {
            transport: transport::Transport::new(Arc::clone(&settings)),
            tokens: TokenSource::new(credentials, settings.product.clone()),
            permits: Arc::new(Semaphore::new(settings.concurrency)),
            emulated: AtomicBool::new(false),
            #[cfg(feature = "grpc")]
            lacks_urls: AtomicBool::new(false),
            settings,
        }
    }

    /// Returns `true` if any response so far came from an emulator.
    pub fn emulated(&self) -> bool {
        self.emulated.load(Ordering::Relaxed)
    }

    pub fn retry_policy(&self, context: &Context, idempotent: bool) -> retry::Policy {
        retry::Policy {
            retries: self.settings.retries,
            first_pause: self.settings.first_pause,
            longest_pause: LONGEST_PAUSE,
            deadline: context.deadline,
            idempotent,
            waits_for_rate_limit: false,
        }
    }

    /// Sends a request and parses its response. One that ends too early counts as a broken connection and is
    /// retried.
    pub async fn json<T>(
        &self,
        context: &Context,
        call: &ApiRequest,
        parse: impl Fn(&str) -> serde_json::Result<T>,
    ) -> Result<T, Error> {
        let parse = &parse;
        self.retry_policy(context, call.idempotent)
            .run(|| async move {
                let body = self.attempt(context, call).await?;
                let text = std::str::from_utf8(&body).map_err(|error| {
                    let failed = Failed::permanent(Error::protocol(
                        "invalid UTF-8 in the service's response",
                    ));
                    Failed { retryable: error.error_len().is_none(), ..failed }
                })?;
                if memchr::memchr2_iter(b'{', b'[', &body).nth(MAX_VALUES).is_some() {
                    let message = format!(
                        "too many objects and arrays in a response: the limit is {MAX_VALUES}"
                    );
                    return Err(Error::too_large(message).into());
                }
                parse(text).map_err(|error| {
                    let failed = Failed::permanent(answer::not_json(&error));
                    Failed { retryable: error.is_eof() && !body.is_empty(), ..failed }
                })
            })
            .await
    }

    /// Makes one attempt. Returns the body of a success, or a classified failure.
    async fn attempt(&self, context: &Context, call: &ApiRequest) -> Result<Vec<u8>, Failed> {
        let (body, token) = self.body(context, call).await?;
        // An answer that repeats the token would carry it into errors, results and recordings.
        if token.is_some_and(|token| token.occurs_in(&body)) {
            return Err(Error::protocol("token in the service's response").into());
        }
        Ok(body)
    }

    async fn body(
        &self,
        context: &Context,
        call: &ApiRequest,
    ) -> Result<(Vec<u8>, Option<Token>), Failed> {
        #[cfg(feature = "grpc")]
        if self.settings.endpoints.grpc().is_some() {
            match call.endpoint {
                DISCOVER => {
                    let (body, token) = grpc::discover(self, context, call).await?;
                    return Ok((body, Some(token)));
                }
                INFOZ => return Ok((grpc::infoz(self, context).await?, None)),
                _ => {}
            }
        }
        let (reply, token) = self.open(context, call).await?;
        if reply.status != StatusCode::OK {
            return Err(self.refusal(call, reply, token.as_ref()).await);
        }
        if call.accept == JSON && !answer::is_json(&reply.headers) {
            return Err(answer::other_type(&reply.headers).into());
        }
        let mut body = Vec::new();
        context.read(reply.body(self.settings.max_answer_bytes), &mut body).await?;
        Ok((body, token))
    }

    /// Returns the failure of a response that isn't a success. The status decides, even if the body can't be
    /// read.
    pub async fn refusal(
        &self,
        call: &ApiRequest,
        reply: transport::Reply,
        token: Option<&Token>,
    ) -> Failed {
        let (status, headers) = (reply.status, reply.headers.clone());
        let mut body = reply.start(MAX_ERROR_BYTES, self.settings.idle_timeout).await;
        if token.is_some_and(|token| token.occurs_in(&body)) {
            body.clear();
        }
        let placeholders = call
            .endpoint
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')));
        let names = placeholders.chain(call.query.iter().map(|(name, _)| *name));
        let is_name = |name: &&str| ["_id", "_ids", "_name"].iter().any(|end| name.ends_with(end));
        let mut names: Vec<_> = names.filter(is_name).collect();
        names.dedup();
        let question = answer::Question {
            endpoint: call.endpoint,
            names,
            by_api_token: token
                .is_some_and(|token| token.kind(&self.settings.product) == TokenKind::Api),
            organization: token.and_then(|token| self.organization_name(token)),
        };
        let error = answer::error(&question, status, &headers, &body);
        answer::refused(error, status, &headers)
    }

    /// Sends a request and returns the start of its response; a refused token is replaced once.
    pub async fn open(
        &self,
        context: &Context,
        call: &ApiRequest,
    ) -> Result<(transport::Reply, Option<Token>), Failed> {
        if !call.authenticated {
            return Ok((self.send(context, call, None).await?, None));
        }
        let token = self.tokens.get(context.deadline).await?;
        let reply = self.send(context, call, Some(&token)).await?;
        if reply.status == StatusCode::UNAUTHORIZED {
            let fresh = self.tokens.replace(&token, context.deadline).await;
            // A request that costs money isn't sent twice; the new token is for the next call.
            if let Some(token) = fresh.filter(|_| call.idempotent) {
                drop(reply);
                let reply = self.send(context, call, Some(&token)).await?;
                return Ok((reply, Some(token)));
            }
        }
        Ok((reply, Some(token)))
    }

    async fn send(
        &self,
        context: &Context,
        call: &ApiRequest,
        token: Option<&Token>,
    ) -> Result<transport::Reply, Failed> {
        let product = &self.settings.product;
        let mut url = self.settings.endpoints.url(call.endpoint, &call.segments, product)?;
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        let length = url.as_str().len();
        if length > MAX_URL_BYTES {
            let message = format!(
                "URL of the request too long: {length} bytes, the limit is {MAX_URL_BYTES}"
            );
            let error = Error::too_large(message);
            return Err(error.with_hint("pass fewer or shorter arguments").into());
        }
        let request = transport::Request {
            method: if call.body.is_some() { Method::POST } else { Method::GET },
            url,
            body: call.body.clone(),
            accept: call.accept,
            content_type: JSON,
            authorization: token.map(Token::header).transpose()?,
            organization: token.and_then(|token| self.organization(token)),
            template: Some(call.endpoint.path),
            trace: context.trace.clone(),
            deadline: context.deadline,
        };
        self.exchange(context, request).await
    }

    /// Returns the header that selects the organization, which only user tokens send.
    fn organization(&self, token: &Token) -> Option<(HeaderName, HeaderValue)> {
        let is_user = token.kind(&self.settings.product) == TokenKind::User;
        self.settings.organization.clone().filter(|_| is_user)
    }

    /// Returns the name of the organization that a token selects.
    fn organization_name(&self, token: &Token) -> Option<&str> {
        self.organization(token).and(self.settings.organization_name.as_deref())
    }

    /// Sends one request within the limit on requests in flight. It counts as in flight until its response is
    /// read or dropped: drop a response before the next request, or a limit of one would deadlock.
    pub async fn exchange(
        &self,
        context: &Context,
        request: transport::Request,
    ) -> Result<transport::Reply, Failed> {
        let permits = Arc::clone(&self.permits).acquire_owned();
        let permit = tokio::time::timeout_at(context.deadline.into(), permits);
        let Ok(Ok(permit)) = permit.await else {
            return Err(Error::timed_out("no time is left to send the request")
                .at_limit(Limit::Timeout)
                .into());
        };
        context.attempts.fetch_add(1, Ordering::Relaxed);
        // On hosts other than the service, a path may be signed like a query.
        let (template, method) = (request.template, request.method.clone());
        let path = template.map(|_| shorten(request.url.path(), 120));
        let address = request.url.host_str().unwrap_or_default().to_owned();
        let attempt = Attempt {
            method: method.as_str(),
            address: &address,
            port: request.url.port_or_known_default(),
            template,
            path: path.as_deref(),
            name: "artifact",
        };
        let attempting = attempt.begin();
        let span = attempting.span.clone();
        let reply = self.transport.send(request, permit).instrument(span).await;
        let status = reply.as_ref().map(|reply| reply.status.as_u16());
        attempting.end(&self.settings.observer, status.map_err(|failed| failed.error.kind()));
        let reply = reply?;
        if reply.headers.contains_key(EMULATOR) {
            self.emulated.store(true, Ordering::Relaxed);
        }
        Ok(reply)
    }

    /// Returns the token that the next request would be sent with.
    pub async fn token(&self, deadline: Instant) -> Result<Token, Error> {
        self.tokens.get(deadline).await
    }
}
