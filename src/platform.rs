//! The service as a host sees it: built once, shared, asked by policies and by the host itself.
//!
//! Owns the builder, its defaults and checks, and blocking and async calls. How policies reach it
//! is `register` (an engine of the host's own) and `evaluate` (this crate's evaluation).

mod environment;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use regorus::Value;
use reqwest::header::{HeaderName, HeaderValue};

use crate::builtins::{Answer, Request, function};
use crate::client::{
    Api, Call, Client, Context, Credentials, Endpoints, INFOZ, Runtime, Settings, Token,
    TokenProvider, parse_object, protocol,
};
use crate::evaluate::Flights;
use crate::text::{escape, nearest};
use crate::{Error, ErrorKind, Product};

/// A connection to the service: cheap to clone, usable from any thread, nothing global.
#[derive(Debug, Clone)]
pub struct Platform {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    client: Arc<Client>,
    runtime: OnceLock<Result<Runtime, Error>>,
    flights: Arc<Flights>,
    not_found: NotFound,
}

/// A timeout beyond this is none; moments that far ahead can still be computed with.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// What a policy sees when the service knows no such thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NotFound {
    /// The evaluation ends with an error.
    #[default]
    Error,
    /// The call is undefined: the only failure that a host may turn into that.
    Undefined,
}

/// What `GET /infoz` says (interface 1.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Infoz {
    /// Where people log in.
    #[serde(rename = "loginURL")]
    pub login_url: String,
    /// The control plane's version.
    pub version: String,
    /// The version of the chart that it was installed from.
    #[serde(rename = "chartVersion")]
    pub chart_version: String,
}

impl Platform {
    /// A builder with the defaults.
    pub fn builder() -> PlatformBuilder {
        PlatformBuilder::default()
    }

    /// The product whose names are used.
    pub fn product(&self) -> &Product {
        &self.inner.client.settings.product
    }

    /// What a policy sees when the service knows no such thing.
    pub fn not_found(&self) -> NotFound {
        self.inner.not_found
    }

    /// The organization that user tokens select, if one is configured.
    pub fn organization(&self) -> Option<&str> {
        self.inner.client.settings.organization_name.as_deref()
    }

    /// The configured address of one of the two APIs.
    pub fn address(&self, api: Api) -> Option<&str> {
        self.inner.client.settings.endpoints.address(api).map(url::Url::as_str)
    }

    /// Calls a function by its name without prefix (`discover`) and waits for the answer.
    ///
    /// Works on any thread, also inside an async runtime (whose thread it then blocks).
    ///
    /// # Errors
    /// What the call fails with; an unknown name is [`ErrorKind::InvalidArgument`].
    pub fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, Error> {
        let full = self.product().function(name);
        let run = || {
            let request = find(name)?.request(self.product(), arguments)?;
            Ok(self.send(request, self.call_deadline())?.value)
        };
        run().map_err(|e: Error| e.in_call(full))
    }

    /// Calls a function by its name without prefix (`discover`).
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_async(&self, name: &str, arguments: &[Value]) -> Result<Value, Error> {
        let full = self.product().function(name);
        let request = find(name).and_then(|f| f.request(self.product(), arguments));
        let answer = match request {
            Ok(request) => self.send_async(request, self.call_deadline()).await,
            Err(error) => Err(error),
        };
        answer.map(|a| a.value).map_err(|e| e.in_call(full))
    }

    /// An artifact's bytes, verified against `digest` (`sha256:<64 hex>`), as they are: what
    /// `download_artifact` gives a policy as text, or as base64 where it isn't UTF-8.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn download(&self, digest: &str) -> Result<Vec<u8>, Error> {
        let name = "download_artifact";
        let client = Arc::clone(&self.inner.client);
        let deadline = self.call_deadline();
        let run = || {
            // The function's own check of its argument; the request itself isn't sent.
            find(name)?.request(self.product(), &[Value::from(digest)])?;
            let digest = digest.to_owned();
            self.runtime()?.block_on(async move {
                crate::client::download(&client, &Context::new(deadline, None), &digest).await
            })?
        };
        run().map_err(|e: Error| e.in_call(self.product().function(name)))
    }

    /// The control plane's public information; needs no token.
    ///
    /// # Errors
    /// When the control plane can't be reached or answers with something else.
    pub fn infoz(&self) -> Result<Infoz, Error> {
        let client = Arc::clone(&self.inner.client);
        let deadline = self.call_deadline();
        self.runtime()?.block_on(async move {
            let call = Call { authenticated: false, ..Call::get(INFOZ, None) };
            let context = Context::new(deadline, None);
            let infoz = client.json(&context, &call, parse_object::<Infoz>).await?;
            // An envelope never defaults: an object without any of this is another service's.
            if infoz == Infoz::default() {
                return Err(protocol("the control plane's answer says nothing of itself"));
            }
            Ok(infoz)
        })?
    }

    /// The token that the next call would send; asks the token provider, never the service.
    ///
    /// # Errors
    /// [`ErrorKind::Unauthenticated`] when there is none or it expired.
    pub fn token(&self) -> Result<Token, Error> {
        let client = Arc::clone(&self.inner.client);
        let deadline = self.call_deadline();
        self.runtime()?.block_on(async move { client.token(deadline).await })?
    }

    /// How many calls are under way.
    pub fn calls_in_flight(&self) -> usize {
        self.inner.flights.under_way()
    }

    pub(crate) fn call_deadline(&self) -> Instant {
        Instant::now() + self.inner.client.settings.call_timeout
    }

    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.inner.client
    }

    pub(crate) fn flights(&self) -> &Arc<Flights> {
        &self.inner.flights
    }

    pub(crate) fn runtime(&self) -> Result<&Runtime, Error> {
        self.inner.runtime.get_or_init(Runtime::start).as_ref().map_err(Clone::clone)
    }

    /// Sends a checked call and waits for its answer.
    pub(crate) fn send(
        &self,
        request: Arc<dyn Request>,
        deadline: Instant,
    ) -> Result<Answer, Error> {
        let client = Arc::clone(&self.inner.client);
        self.runtime()?.block_on(async move {
            let context = Context::new(deadline, None);
            request.send(&client, &context).await
        })?
    }

    pub(crate) async fn send_async(
        &self,
        request: Arc<dyn Request>,
        deadline: Instant,
    ) -> Result<Answer, Error> {
        let client = Arc::clone(&self.inner.client);
        let task = self.runtime()?.handle().spawn(async move {
            let context = Context::new(deadline, None);
            request.send(&client, &context).await
        });
        task.await.map_err(|_| Error::new(ErrorKind::Internal, "a call ended without an answer"))?
    }
}

fn find(name: &str) -> Result<&'static crate::builtins::Function, Error> {
    function(name).ok_or_else(|| {
        let error = Error::new(
            ErrorKind::InvalidArgument,
            format!("there is no function `{}`", escape(name)),
        );
        match nearest(name, crate::builtins::FUNCTIONS.iter().map(|f| f.name)) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None => error,
        }
    })
}

/// Builds a [`Platform`]; every setting has a safe default but the addresses and the token.
#[derive(Clone)]
#[must_use]
pub struct PlatformBuilder {
    product: Product,
    credentials: Credentials,
    organization: Option<String>,
    control_plane: Option<String>,
    backend: Option<String>,
    ca_certificates: Vec<Vec<u8>>,
    insecure: bool,
    paths: BTreeMap<String, String>,
    connect_timeout: Duration,
    idle_timeout: Duration,
    call_timeout: Duration,
    retries: usize,
    first_pause: Duration,
    concurrency: usize,
    max_answer_bytes: u64,
    max_artifact_bytes: u64,
    max_results: usize,
    max_pages: usize,
    not_found: NotFound,
    proxy_from_env: bool,
    share_answers: Duration,
    #[cfg(feature = "cache")]
    cache: Option<(std::path::PathBuf, u64)>,
    proxy: Option<String>,
    no_proxy: Option<String>,
}

impl std::fmt::Debug for PlatformBuilder {
    // Addresses that are not checked yet can hold passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlatformBuilder")
            .field("product", &self.product)
            .field("credentials", &self.credentials)
            .field("organization", &self.organization)
            .finish_non_exhaustive()
    }
}

impl Default for PlatformBuilder {
    fn default() -> Self {
        Self {
            product: Product::default(),
            credentials: Credentials::None,
            organization: None,
            control_plane: None,
            backend: None,
            ca_certificates: Vec::new(),
            insecure: false,
            paths: BTreeMap::new(),
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(60),
            retries: 4,
            first_pause: Duration::from_millis(200),
            concurrency: 64,
            max_answer_bytes: 64 << 20,
            max_artifact_bytes: 512 << 20,
            max_results: 100_000,
            max_pages: 10_000,
            not_found: NotFound::Error,
            proxy_from_env: true,
            share_answers: Duration::ZERO,
            #[cfg(feature = "cache")]
            cache: None,
            proxy: None,
            no_proxy: None,
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $ty:ty => $field:ident;)*) => {
        $($(#[$doc])* pub fn $name(mut self, value: $ty) -> Self {
            self.$field = value;
            self
        })*
    };
}

impl PlatformBuilder {
    setters! {
        /// The product whose names are used; `platform` by default.
        product: Product => product;
        /// Allows plain HTTP beyond loopback. Never switches off certificate checks.
        insecure: bool => insecure;
        /// How long connecting may take; 5 s by default.
        connect_timeout: Duration => connect_timeout;
        /// How long the service may be silent in the middle of an answer; 10 s by default.
        idle_timeout: Duration => idle_timeout;
        /// How long one call may take with its pages, pauses and retries; 60 s by default.
        call_timeout: Duration => call_timeout;
        /// Attempts after the first, for calls that are safe to repeat; 4 by default.
        retries: usize => retries;
        /// The pause before the first repetition, 200 ms by default; later ones grow to 5 s.
        first_pause: Duration => first_pause;
        /// The largest answer other than an artifact, in bytes; 64 MiB by default.
        max_answer_bytes: u64 => max_answer_bytes;
        /// The largest artifact, in bytes; 512 MiB by default.
        max_artifact_bytes: u64 => max_artifact_bytes;
        /// The most results of one call; more is an error. 100,000 by default.
        max_results: usize => max_results;
        /// The most pages of one list; more is an error. 10,000 by default.
        max_pages: usize => max_pages;
        /// What a policy sees when the service knows no such thing; an error by default.
        not_found: NotFound => not_found;
        /// How long an answer also serves later evaluations on this platform; not at all by
        /// default. Successes alone, within some 64 MiB of memory; never failures, never what
        /// costs money, and no artifacts, which have a cache of their own.
        share_answers: Duration => share_answers;
        /// Whether `HTTPS_PROXY` and `NO_PROXY` are honoured; true by default.
        proxy_from_env: bool => proxy_from_env;
    }

    /// A fixed token.
    pub fn token(mut self, token: Token) -> Self {
        self.credentials = Credentials::Fixed(token);
        self
    }

    /// A provider that is asked for a token at the first call, and again when one runs out.
    pub fn token_provider(mut self, provider: impl TokenProvider) -> Self {
        self.credentials = Credentials::Provider(Arc::new(provider));
        self
    }

    /// The organization that a user token selects (interface 5.4); API tokens are bound to theirs.
    pub fn organization(mut self, name: impl Into<String>) -> Self {
        self.organization = Some(name.into());
        self
    }

    /// The address of the control plane.
    pub fn controlplane_url(mut self, url: impl Into<String>) -> Self {
        self.control_plane = Some(url.into());
        self
    }

    /// The address of the platform backend.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.backend = Some(url.into());
        self
    }

    /// Trusts the certificates of a PEM file besides the platform's own store.
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca_certificates.push(pem.into());
        self
    }

    /// The proxy for https, instead of what the environment says. Loopback is never proxied, and
    /// plain HTTP neither, so that no proxy sees a token.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// The hosts that are reached without the proxy, in the form of `NO_PROXY`.
    pub fn no_proxy(mut self, hosts: impl Into<String>) -> Self {
        self.no_proxy = Some(hosts.into());
        self
    }

    /// Another path for an endpoint (`discover`, `download`, `infoz`, `evidence`,
    /// `project_compliance`, `evaluate_evidence`, `operation`); never another host.
    pub fn endpoint(mut self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.paths.insert(name.into(), path.into());
        self
    }

    /// The most requests in flight at once, over everything that shares the platform; 64 by
    /// default, at least 1.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.clamp(1, 10_000);
        self
    }

    /// Keeps artifacts in `folder`, at most `max_bytes` of them; nowhere by default.
    ///
    /// An artifact is taken from there only after the service granted this token access to it.
    /// Any number of processes can share the folder, which is made private to its user.
    #[cfg(feature = "cache")]
    pub fn artifact_cache(mut self, folder: impl Into<std::path::PathBuf>, max_bytes: u64) -> Self {
        self.cache = Some((folder.into(), max_bytes));
        self
    }

    /// Checks everything and builds the platform. Nothing is connected and no HTTP client made
    /// before the first call.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`], which says what is wrong and never repeats a secret.
    pub fn build(self) -> Result<Platform, Error> {
        let endpoints = Endpoints::new(
            self.control_plane.as_deref(),
            self.backend.as_deref(),
            self.insecure,
            &self.paths,
        )?;
        let header = self
            .organization
            .as_deref()
            .map(|name| organization(&self.product, name))
            .transpose()?;
        let env = |names: &[&str]| {
            names
                .iter()
                .filter(|_| self.proxy_from_env)
                .find_map(|name| environment::text(name, |name| std::env::var_os(name)).transpose())
                .transpose()
        };
        let proxy = match self.proxy {
            Some(proxy) => Some(proxy),
            None => env(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])?,
        };
        let no_proxy = match self.no_proxy {
            Some(hosts) => Some(hosts),
            None => env(&["NO_PROXY", "no_proxy"])?,
        };
        let settings = Settings {
            organization: header,
            organization_name: self.organization,
            endpoints,
            ca_certificates: self.ca_certificates,
            insecure: self.insecure,
            proxy,
            no_proxy,
            connect_timeout: self.connect_timeout.min(LONGEST),
            idle_timeout: self.idle_timeout.min(LONGEST),
            call_timeout: self.call_timeout.min(LONGEST),
            retries: self.retries,
            first_pause: self.first_pause,
            concurrency: self.concurrency,
            max_answer_bytes: self.max_answer_bytes,
            max_artifact_bytes: self.max_artifact_bytes,
            max_results: self.max_results,
            max_pages: self.max_pages,
            #[cfg(feature = "cache")]
            cache: self
                .cache
                .map(|(folder, max)| Arc::new(crate::client::cache::Cache::new(folder, max))),
            product: self.product,
        };
        Ok(Platform {
            inner: Arc::new(Inner {
                client: Arc::new(Client::new(settings, self.credentials)),
                runtime: OnceLock::new(),
                flights: Arc::new(Flights::new(self.share_answers)),
                not_found: self.not_found,
            }),
        })
    }
}

fn organization(product: &Product, name: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let bad = |message: String| Error::new(ErrorKind::Configuration, message);
    if name.trim().is_empty() || name.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(bad(format!("`{}` is no organization's name", escape(name)))
            .with_hint("it is the name that the platform shows, not its title"));
    }
    let header = HeaderName::try_from(product.organization_header())
        .map_err(|_| bad("the organization's header can't be sent".to_owned()))?;
    let value = HeaderValue::from_str(name.trim())
        .map_err(|_| bad("the organization's name can't be sent".to_owned()))?;
    Ok((header, value))
}
