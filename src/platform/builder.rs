//! The builder of a platform: its settings, their defaults and checks.
//!
//! Owns the settings, and the checks that `build` makes. `platform` owns the platform itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, TRANSFER_ENCODING, USER_AGENT,
};

use super::{Inner, NotFound, Platform};
use crate::client::certificates::authorities;
use crate::client::{
    Client, Credentials, Endpoints, Kept, LazyRuntime, Propagator, Settings, Token, TokenProvider,
    crypto_provider,
};
use crate::environment::{self, Variable};
use crate::flight::Flights;
use crate::functions::FunctionSet;
use crate::observe::{Observer, Observers};
use crate::text::escape;
use crate::{Error, ErrorKind, Product};

/// The default time limits for connecting, and for silence within an answer.
const CONNECT: Duration = Duration::from_secs(5);
const IDLE: Duration = Duration::from_secs(10);

/// The longest timeout; a longer one is shortened to it, so that a deadline can always be computed.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// Builds a [`Platform`]; every setting has a safe default except the addresses and the token.
#[derive(Clone)]
#[must_use]
pub struct PlatformBuilder {
    product: Product,
    credentials: Credentials,
    organization: Option<String>,
    control_plane: Option<String>,
    backend: Option<String>,
    #[cfg(feature = "grpc")]
    grpc: Option<String>,
    #[cfg(feature = "grpc")]
    store: Option<String>,
    #[cfg(feature = "grpc")]
    grpc_plain_text: bool,
    ca_certificates: Vec<Vec<u8>>,
    insecure: bool,
    paths: BTreeMap<String, String>,
    connect_timeout: Option<Duration>,
    idle_timeout: Option<Duration>,
    call_timeout: Duration,
    retries: usize,
    first_pause: Duration,
    concurrency: usize,
    max_answer_bytes: u64,
    max_artifact_bytes: u64,
    max_results: usize,
    max_pages: usize,
    not_found: NotFound,
    functions: FunctionSet,
    proxy_from_env: bool,
    share_answers: Duration,
    #[cfg(feature = "cache")]
    cache: Option<(std::path::PathBuf, u64)>,
    #[cfg(feature = "artifact-store")]
    artifact_store: Option<crate::ArtifactStore>,
    proxy: Option<String>,
    no_proxy: Option<String>,
    headers: Vec<(String, String)>,
    user_agent: Option<String>,
    propagator: Option<Arc<Propagator>>,
    http_client: Option<reqwest::Client>,
    crypto_provider: Option<Arc<rustls::crypto::CryptoProvider>>,
    observer: Observers,
}

impl std::fmt::Debug for PlatformBuilder {
    // Addresses that aren't checked yet may contain passwords.
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
            #[cfg(feature = "grpc")]
            grpc: None,
            #[cfg(feature = "grpc")]
            store: None,
            #[cfg(feature = "grpc")]
            grpc_plain_text: false,
            ca_certificates: Vec::new(),
            insecure: false,
            paths: BTreeMap::new(),
            connect_timeout: None,
            idle_timeout: None,
            call_timeout: Duration::from_mins(1),
            retries: 4,
            first_pause: Duration::from_millis(200),
            concurrency: 64,
            max_answer_bytes: 64 << 20,
            max_artifact_bytes: 512 << 20,
            max_results: 100_000,
            max_pages: 10_000,
            not_found: NotFound::Error,
            functions: FunctionSet::default(),
            proxy_from_env: true,
            share_answers: Duration::ZERO,
            #[cfg(feature = "cache")]
            cache: None,
            #[cfg(feature = "artifact-store")]
            artifact_store: None,
            proxy: None,
            no_proxy: None,
            headers: Vec::new(),
            user_agent: None,
            propagator: None,
            http_client: None,
            crypto_provider: None,
            observer: None,
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
    /// Sets the time limit for connecting; 5 s by default.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = Some(limit);
        self
    }

    /// Sets how long the service may be silent within an answer; 10 s by default.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.idle_timeout = Some(limit);
        self
    }

    setters! {
        /// Sets the product whose names are used; `platform` by default.
        product: Product => product;
        /// Allows plain HTTP beyond loopback. Never switches off certificate checks.
        insecure: bool => insecure;
        /// Sets the time limit of one call, with its pages, pauses and retries; 60 s by default.
        call_timeout: Duration => call_timeout;
        /// Sets the number of attempts after the first, for calls that are safe to repeat; 4 by
        /// default.
        retries: usize => retries;
        /// Sets the pause before the first retry, 200 ms by default; later ones grow to 5 s.
        first_pause: Duration => first_pause;
        /// Sets the largest answer other than an artifact, in bytes; 64 MiB by default.
        max_answer_bytes: u64 => max_answer_bytes;
        /// Sets the largest artifact, in bytes; 512 MiB by default.
        max_artifact_bytes: u64 => max_artifact_bytes;
        /// Sets the largest number of results of one call; more is an error. 100,000 by default.
        max_results: usize => max_results;
        /// Sets the largest number of pages of one list; more is an error. 10,000 by default.
        max_pages: usize => max_pages;
        /// Sets what a policy sees when the service has no such resource; an error by default.
        not_found: NotFound => not_found;
        /// Sets the functions of `Platform::register` and [`Platform::call`]; by default the five
        /// of interface section 4.7. Policies are loaded with the functions of
        /// [`LoadOptions::enabled`](crate::load::LoadOptions::enabled).
        functions: FunctionSet => functions;
        /// Sets how long an answer also serves later evaluations on this platform; not at all by
        /// default. Only successes are shared, within about 64 MiB of memory: no failures, no calls
        /// that cost money, and no artifacts, which have their own cache.
        share_answers: Duration => share_answers;
        /// Sets whether `HTTPS_PROXY` and `NO_PROXY` are honoured; `true` by default.
        proxy_from_env: bool => proxy_from_env;
    }

    /// Sets a fixed token.
    pub fn token(mut self, token: Token) -> Self {
        self.credentials = Credentials::Fixed(token);
        self
    }

    /// Sets a provider that is asked for a token at the first call, and again when a token expires.
    pub fn token_provider(mut self, provider: impl TokenProvider) -> Self {
        self.credentials = Credentials::Provider(Arc::new(provider));
        self
    }

    /// Sets the organization that a user token selects (interface 5.4); an API token is bound to
    /// its own.
    pub fn organization(mut self, name: impl Into<String>) -> Self {
        self.organization = Some(name.into());
        self
    }

    /// Sets the address of the control plane.
    pub fn controlplane_url(mut self, url: impl Into<String>) -> Self {
        self.control_plane = Some(url.into());
        self
    }

    /// Sets the address of the platform backend.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.backend = Some(url.into());
        self
    }

    /// Sets the gRPC address of the control plane, `host:port`: `discover` and `download_artifact` use
    /// it where [`controlplane_url`](Self::controlplane_url) isn't set.
    #[cfg(feature = "grpc")]
    pub fn grpc_address(mut self, address: impl Into<String>) -> Self {
        self.grpc = Some(address.into());
        self
    }

    /// Sets the gRPC address of the content store, `host:port`: where the control plane, over gRPC, has
    /// no signed URLs, `download_artifact` reads from it, with a token of the store's own.
    #[cfg(feature = "grpc")]
    pub fn store_address(mut self, address: impl Into<String>) -> Self {
        self.store = Some(address.into());
        self
    }

    /// Sets whether the gRPC addresses are plain text instead of TLS. Beyond loopback that needs
    /// [`insecure`](Self::insecure) as well.
    #[cfg(feature = "grpc")]
    pub fn grpc_plain_text(mut self, plain_text: bool) -> Self {
        self.grpc_plain_text = plain_text;
        self
    }

    /// Trusts the certificates of a PEM file in addition to the system's.
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca_certificates.push(pem.into());
        self
    }

    /// Takes the token, organization and addresses from the environment (`PLATFORM_TOKEN`,
    /// `PLATFORM_ORGANIZATION`, `PLATFORM_CONTROLPLANE_URL`, `PLATFORM_BASE_URL`) if they are set
    /// and not blank; `PLATFORM` stands for the product's name in upper case.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for a token that can't be valid, and for a variable that isn't
    /// UTF-8, which the message names.
    pub fn from_env(mut self) -> Result<Self, Error> {
        if let Some(token) = Variable::Token.read(&self.product)? {
            self.credentials = Credentials::Fixed(Token::new(token)?);
        }
        let read = |variable: Variable| variable.read(&self.product);
        let organization = read(Variable::Organization)?;
        let (control_plane, backend) = (read(Variable::ControlPlane)?, read(Variable::Backend)?);
        self.organization = organization.or(self.organization);
        self.control_plane = control_plane.or(self.control_plane);
        self.backend = backend.or(self.backend);
        Ok(self)
    }

    /// Sets the proxy for https, in place of the environment's. Neither loopback nor plain HTTP is
    /// ever proxied, so that no proxy sees a token.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Sets the hosts that are reached without the proxy, in the form of `NO_PROXY`.
    pub fn no_proxy(mut self, hosts: impl Into<String>) -> Self {
        self.no_proxy = Some(hosts.into());
        self
    }

    /// Adds a header to every request to the service's two addresses; the content store doesn't get
    /// it. Headers that the client sets itself are refused.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the user agent; `rego-platform/` and the version by default.
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = Some(name.into());
        self
    }

    /// Sets a function that adds headers to each request to the service's two addresses, within the
    /// span of the request, such as the context of a trace. It can't set `authorization`.
    pub fn propagator(
        mut self,
        propagate: impl Fn(&mut HeaderMap) + Send + Sync + 'static,
    ) -> Self {
        self.propagator = Some(Arc::new(propagate));
        self
    }

    /// Sends requests with this client, and so with its timeouts, proxy and certificates:
    /// [`build`](Self::build) refuses settings of these in addition.
    ///
    /// The client must not follow redirects (`reqwest::redirect::Policy::none()`): a redirect that
    /// it followed is an error, but the other host has got the headers that
    /// [`header`](Self::header) and [`propagator`](Self::propagator) add by then. It must not store
    /// cookies, if platforms for several users share it, nor decompress answers. Requests run on the
    /// platform's own thread, so that a connection opened by this platform doesn't depend on the
    /// host's runtime.
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.http_client = Some(client);
        self
    }

    /// Sets the provider of TLS cryptography. The default is the one installed for the process
    /// ([`rustls::crypto::CryptoProvider::install_default`]), else ring, with the feature of that
    /// name.
    pub fn crypto_provider(mut self, provider: Arc<rustls::crypto::CryptoProvider>) -> Self {
        self.crypto_provider = Some(provider);
        self
    }

    /// Sets the observer of requests, and of evaluations with this platform and their calls, unless
    /// [`EvaluateOptions::observer`](crate::evaluate::EvaluateOptions::observer) sets another for
    /// those.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Sets another path for an endpoint (`discover`, `download`, `evidence`, `project_compliance`,
    /// `evaluate_evidence`, `operation`, `products`, `product_version`, `projects`, `environments`,
    /// `approve_assessment`, `product_compliance`, `infoz`, `openapi`, `openapi_controlplane`);
    /// never another host.
    pub fn endpoint(mut self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.paths.insert(name.into(), path.into());
        self
    }

    /// Sets the largest number of requests in flight at once, over all clones of the platform; 64
    /// by default, at least 1.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.clamp(1, 10_000);
        self
    }

    /// Keeps artifacts in `folder`, `max_bytes` of them at most; nowhere by default.
    ///
    /// An artifact is read from there only after the service has granted this token access to it.
    /// Any number of processes can share the folder, which is made accessible to its owner only.
    #[cfg(feature = "cache")]
    pub fn artifact_cache(mut self, folder: impl Into<std::path::PathBuf>, max_bytes: u64) -> Self {
        self.cache = Some((folder.into(), max_bytes));
        self
    }

    /// Keeps artifacts in a store that many gates share; in none by default.
    ///
    /// An artifact is read from there only after the service has granted this token access to it. With
    /// [`artifact_cache`](Self::artifact_cache), the cache is asked first.
    #[cfg(feature = "artifact-store")]
    pub fn artifact_store(mut self, store: crate::ArtifactStore) -> Self {
        self.artifact_store = Some(store);
        self
    }

    /// Checks the settings and builds the platform. Nothing is connected, and no HTTP client
    /// created, before the first call.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`], with a message that never repeats a secret; also when there is
    /// no TLS provider: none is given, none is installed for the process, and the feature `ring` is
    /// off.
    pub fn build(self) -> Result<Platform, Error> {
        let endpoints = Endpoints::new(
            self.control_plane.as_deref(),
            self.backend.as_deref(),
            self.insecure,
            &self.paths,
        )?;
        #[cfg(feature = "grpc")]
        let endpoints = endpoints.with_grpc(
            self.grpc.as_deref(),
            self.store.as_deref(),
            self.grpc_plain_text,
            self.insecure,
        )?;
        let header = self
            .organization
            .as_deref()
            .map(|name| organization(&self.product, name))
            .transpose()?;
        let env = |read: fn() -> Result<Option<String>, Error>| {
            if self.proxy_from_env { read() } else { Ok(None) }
        };
        let own_proxy = self.proxy.is_some();
        let proxy = match self.proxy {
            Some(proxy) => Some(proxy),
            None => env(environment::proxy)?,
        };
        let no_proxy = match self.no_proxy {
            Some(hosts) => Some(hosts),
            None => env(environment::no_proxy)?,
        };
        let is_set = own_proxy
            || !self.ca_certificates.is_empty()
            || self.crypto_provider.is_some()
            || self.connect_timeout.is_some()
            || self.idle_timeout.is_some();
        if self.http_client.is_some() && is_set {
            let message = "a proxy, certificates, a TLS provider, and the time limits of connections \
                           are the given HTTP client's";
            return Err(Error::new(ErrorKind::Configuration, message)
                .with_hint("set them where that client is built"));
        }
        if self.http_client.is_none() {
            crypto_provider(self.crypto_provider.as_ref())?;
        }
        let authorities: Result<Vec<_>, _> =
            self.ca_certificates.iter().map(|pem| authorities(pem)).collect();
        let own = header.as_ref().map(|(name, _)| name);
        let headers = headers(&self.headers, own)?;
        let proxy = proxy.filter(|_| self.http_client.is_none());
        let user_agent = self.user_agent.as_deref().map(|name| value(&USER_AGENT, name));
        let settings = Settings {
            headers,
            user_agent: user_agent.transpose()?,
            propagator: self.propagator,
            http_client: self.http_client,
            crypto_provider: self.crypto_provider,
            observer: self.observer,
            organization: header,
            organization_name: self.organization,
            endpoints,
            ca_certificates: authorities?.concat(),
            insecure: self.insecure,
            proxy,
            no_proxy,
            connect_timeout: self.connect_timeout.unwrap_or(CONNECT).min(LONGEST),
            idle_timeout: self.idle_timeout.unwrap_or(IDLE).min(LONGEST),
            call_timeout: self.call_timeout.min(LONGEST),
            retries: self.retries,
            first_pause: self.first_pause,
            concurrency: self.concurrency,
            max_answer_bytes: self.max_answer_bytes,
            max_artifact_bytes: self.max_artifact_bytes,
            max_results: self.max_results,
            max_pages: self.max_pages,
            kept: Kept {
                #[cfg(feature = "cache")]
                cache: self
                    .cache
                    .map(|(folder, max)| Arc::new(crate::client::cache::Cache::new(folder, max))),
                #[cfg(feature = "artifact-store")]
                store: self.artifact_store,
            },
            product: self.product,
        };
        Ok(Platform {
            inner: Arc::new(Inner {
                client: Arc::new(Client::new(settings, self.credentials)),
                runtime: LazyRuntime::of_requests(),
                flights: Arc::new(Flights::new(self.share_answers)),
                not_found: self.not_found,
                functions: self.functions,
            }),
        })
    }
}

/// Returns the host's headers after checking them; errors don't repeat their values.
fn headers(given: &[(String, String)], own: Option<&HeaderName>) -> Result<HeaderMap, Error> {
    const RESERVED: [HeaderName; 8] = [
        ACCEPT,
        AUTHORIZATION,
        CONNECTION,
        CONTENT_LENGTH,
        CONTENT_TYPE,
        HOST,
        TRANSFER_ENCODING,
        USER_AGENT,
    ];
    let mut headers = HeaderMap::new();
    for (name, text) in given {
        let bad = |what: &str| {
            let message = format!("the header `{}` {what}", escape(name));
            Error::new(ErrorKind::Configuration, message)
        };
        let name = HeaderName::try_from(name).map_err(|_| bad("has no name that can be sent"))?;
        if RESERVED.contains(&name) || Some(&name) == own {
            return Err(bad("is the client's own")
                .with_hint("tokens, organization and user agent are settings of their own"));
        }
        let text = value(&name, text)?;
        headers.append(name, text);
    }
    Ok(headers)
}

fn value(name: &HeaderName, text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        let message = format!("the value of the header `{name}` can't be sent");
        Error::new(ErrorKind::Configuration, message)
    })?;
    value.set_sensitive(*name != USER_AGENT);
    Ok(value)
}

fn organization(product: &Product, name: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let bad = |message: String| Error::new(ErrorKind::Configuration, message);
    if name.trim().is_empty() {
        return Err(bad("the organization's name is empty".to_owned()));
    }
    if name.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(bad(format!("`{}` isn't a valid organization name", escape(name)))
            .with_hint("it is the name that the platform shows, not its title"));
    }
    let header = HeaderName::try_from(product.organization_header())
        .map_err(|_| bad("the organization's header can't be sent".to_owned()))?;
    let value = HeaderValue::from_str(name.trim())
        .map_err(|_| bad("the organization's name can't be sent".to_owned()))?;
    Ok((header, value))
}
