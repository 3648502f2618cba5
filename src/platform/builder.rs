//! The builder of a platform: its settings, their defaults and checks.
//!
//! Owns what can be set and what is refused when it is built. What a platform does is `platform`'s.

mod environment;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, TRANSFER_ENCODING, USER_AGENT,
};

use super::{Inner, NotFound, Platform};
use crate::builtins::FunctionSet;
use crate::client::{Client, Credentials, Endpoints, Propagator, Settings, Token, TokenProvider};
use crate::flight::Flights;
use crate::observe::{Observer, Observers};
use crate::text::escape;
use crate::{Error, ErrorKind, Product};

/// A timeout beyond this is none; moments that far ahead can still be computed with.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

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
    functions: FunctionSet,
    proxy_from_env: bool,
    share_answers: Duration,
    #[cfg(feature = "cache")]
    cache: Option<(std::path::PathBuf, u64)>,
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
            functions: FunctionSet::default(),
            proxy_from_env: true,
            share_answers: Duration::ZERO,
            #[cfg(feature = "cache")]
            cache: None,
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
        /// The functions of `Platform::register` and [`Platform::call`]: the five, unless more
        /// are turned on. Policies are loaded with those of
        /// [`LoadOptions::enabled`](crate::load::LoadOptions::enabled).
        functions: FunctionSet => functions;
        /// How long an answer also serves later evaluations on this platform; not at all by
        /// default. Successes alone, within some 64 MiB of memory; never failures, never what
        /// costs money, and no artifacts, which have a cache of their own.
        share_answers: Duration => share_answers;
        /// True if `HTTPS_PROXY` and `NO_PROXY` are honoured; true by default.
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

    /// A header of every request to the service's two addresses; the content store doesn't get
    /// it. Those that the client makes itself are refused.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// What the client calls itself; `rego-platform/` and the version by default.
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = Some(name.into());
        self
    }

    /// Adds headers to each request to the service's two addresses, within the span of the
    /// request: where a host puts the context of a trace. It can't set `authorization`.
    pub fn propagator(
        mut self,
        propagate: impl Fn(&mut HeaderMap) + Send + Sync + 'static,
    ) -> Self {
        self.propagator = Some(Arc::new(propagate));
        self
    }

    /// Sends requests with this client, whose timeouts, proxy and certificates then hold:
    /// [`build`](Self::build) refuses settings of these beside it.
    ///
    /// It must not follow redirects (`reqwest::redirect::Policy::none()`); a redirect that it
    /// followed is an error. Requests run on a thread of the platform's own, so that a connection
    /// that this platform opened doesn't depend on the host's runtime.
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.http_client = Some(client);
        self
    }

    /// Who does the cryptography of TLS: by default what the process installed
    /// ([`rustls::crypto::CryptoProvider::install_default`]), else ring, with the feature of that
    /// name.
    pub fn crypto_provider(mut self, provider: Arc<rustls::crypto::CryptoProvider>) -> Self {
        self.crypto_provider = Some(provider);
        self
    }

    /// Who is told of requests, and of evaluations that this platform answers and of their calls,
    /// unless [`EvaluateOptions::observer`](crate::evaluate::EvaluateOptions::observer) is another.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Another path for an endpoint (`discover`, `download`, `evidence`, `project_compliance`,
    /// `evaluate_evidence`, `operation`, `products`, `product_version`, `projects`,
    /// `environments`, `approve_assessment`, `product_compliance`, `infoz`, `openapi`,
    /// `openapi_controlplane`); never another host.
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
        let own_proxy = self.proxy.is_some();
        let proxy = match self.proxy {
            Some(proxy) => Some(proxy),
            None => env(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])?,
        };
        let no_proxy = match self.no_proxy {
            Some(hosts) => Some(hosts),
            None => env(&["NO_PROXY", "no_proxy"])?,
        };
        if self.http_client.is_some()
            && (own_proxy || !self.ca_certificates.is_empty() || self.crypto_provider.is_some())
        {
            let message = "a proxy, certificates and a TLS provider are the given HTTP client's";
            return Err(Error::new(ErrorKind::Configuration, message)
                .with_hint("set them where that client is built"));
        }
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
                functions: self.functions,
            }),
        })
    }
}

/// The host's headers, checked; what they hold isn't repeated.
fn headers(given: &[(String, String)], own: Option<&HeaderName>) -> Result<HeaderMap, Error> {
    const OURS: [HeaderName; 8] = [
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
        if OURS.contains(&name) || Some(&name) == own {
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
    if name.trim().is_empty() || name.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(bad(format!("`{}` isn't a valid organization name", escape(name)))
            .with_hint("it is the name that the platform shows, not its title"));
    }
    let header = HeaderName::try_from(product.organization_header())
        .map_err(|_| bad("the organization's header can't be sent".to_owned()))?;
    let value = HeaderValue::from_str(name.trim())
        .map_err(|_| bad("the organization's name can't be sent".to_owned()))?;
    Ok((header, value))
}
