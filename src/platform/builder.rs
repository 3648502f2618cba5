//! The builder of a platform: its settings, their defaults and checks.
//!
//! Owns the settings, and the checks that `build` makes. `platform` owns the platform itself.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, TRANSFER_ENCODING, USER_AGENT,
};

use super::{Inner, NotFound, Platform};
use crate::client::{Api, Client, Credentials, Endpoints, Settings, Token, TokenProvider};
use crate::context::{self, Origin, Values};
use crate::environment;
use crate::flight::Flights;
use crate::functions::FunctionSet;
use crate::http::tls::{authorities, crypto_provider};
use crate::observe::Observer;
use crate::runtime::LazyRuntime;
use crate::text::escape;
use crate::{Error, IntoProduct, Product};

/// The longest timeout; a longer one is shortened to it, so that a deadline can always be computed.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// Builds a [`Platform`]; every setting has a safe default except the addresses and the token.
#[derive(Clone, Default)]
#[must_use]
pub struct PlatformBuilder {
    /// An invalid one is an error where it is first needed.
    product: Option<Result<Product, Error>>,
    values: Values,
    /// Settings of the client. `build` adds those that depend on several values.
    settings: Settings,
    ca_certificates: Vec<Vec<u8>>,
    /// `true` if a time limit of connections was set.
    limits_connections: bool,
    not_found: NotFound,
    functions: FunctionSet,
    ignores_proxy_env: bool,
    share_answers: Duration,
    headers: Vec<(String, String)>,
    user_agent: Option<String>,
}

impl std::fmt::Debug for PlatformBuilder {
    // Addresses that aren't checked yet may contain passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlatformBuilder")
            .field("product", &self.product)
            .field("credentials", &self.values.credentials)
            .field("organization", &self.text(context::ORGANIZATION))
            .finish_non_exhaustive()
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $ty:ty => $($field:ident).+;)*) => {
        $($(#[$doc])* pub fn $name(mut self, value: $ty) -> Self {
            self.$($field).+ = value;
            self
        })*
    };
}

impl PlatformBuilder {
    /// Sets the time limit for connecting; 5 s by default.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.settings.connect_timeout = limit;
        self.limits_connections = true;
        self
    }

    /// Sets how long the service may be silent within an answer; 10 s by default.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.settings.idle_timeout = limit;
        self.limits_connections = true;
        self
    }

    setters! {
        /// Allows plain HTTP beyond loopback. Never switches off certificate checks.
        insecure: bool => settings.insecure;
        /// Sets the time limit of one call, with its pages, pauses and retries; 60 s by default.
        call_timeout: Duration => settings.call_timeout;
        /// Sets the number of attempts after the first, for calls that are safe to repeat; 4 by
        /// default.
        retries: usize => settings.retries;
        /// Sets the pause before the first retry, 200 ms by default; later ones grow to 5 s.
        first_pause: Duration => settings.first_pause;
        /// Sets the largest answer other than an artifact, in bytes; 64 MiB by default.
        max_answer_bytes: u64 => settings.max_answer_bytes;
        /// Sets the largest artifact, in bytes; 512 MiB by default.
        max_artifact_bytes: u64 => settings.max_artifact_bytes;
        /// Sets the largest number of pages of one list; more is an error. 10,000 by default.
        max_pages: usize => settings.max_pages;
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
    }

    /// Sets whether `HTTPS_PROXY` and `NO_PROXY` are honoured; `true` by default.
    pub fn proxy_from_env(mut self, value: bool) -> Self {
        self.ignores_proxy_env = !value;
        self
    }

    /// Sets the product whose names are used: a [`Product`], or its name. `platform` by default;
    /// `context` and [`from_env`](Self::from_env) read `REGO_PLATFORM_PRODUCT` if no product is set
    /// before. A name that isn't valid is an error of those two, or of [`build`](Self::build).
    pub fn product(mut self, product: impl IntoProduct) -> Self {
        self.product = Some(product.into_product());
        self
    }

    /// Sets the largest number of results of one call; more is an error. 100,000 by default.
    pub fn max_results(self, results: usize) -> Self {
        self.set(context::MAX_RESULTS, results.to_string())
    }

    /// Sets a fixed token.
    pub fn token(mut self, token: Token) -> Self {
        self.values.set_credentials(Credentials::Fixed(token), Origin::BUILDER);
        self
    }

    /// Sets a provider that is asked for a token at the first call, and again when a token expires.
    pub fn token_provider(mut self, provider: impl TokenProvider) -> Self {
        self.values.set_credentials(Credentials::Provider(Arc::new(provider)), Origin::BUILDER);
        self
    }

    /// Sets the organization that a user token selects (interface 5.4); an API token is bound to
    /// its own.
    pub fn organization(self, name: impl Into<String>) -> Self {
        self.set(context::ORGANIZATION, name)
    }

    /// Sets the address of the control plane.
    pub fn controlplane_url(self, url: impl Into<String>) -> Self {
        self.set(context::CONTROL_PLANE, url)
    }

    /// Sets the address of the platform backend.
    pub fn base_url(self, url: impl Into<String>) -> Self {
        self.set(context::BACKEND, url)
    }

    /// Sets the gRPC address of the control plane, `host:port`: `discover` and `download_artifact` use
    /// it where [`controlplane_url`](Self::controlplane_url) isn't set.
    #[cfg(feature = "grpc")]
    pub fn grpc_address(self, address: impl Into<String>) -> Self {
        self.set(context::GRPC, address)
    }

    /// Sets the gRPC address of the content store, `host:port`: where the control plane, over gRPC, has
    /// no signed URLs, `download_artifact` reads from it, with a token of the store's own.
    #[cfg(feature = "grpc")]
    pub fn store_address(self, address: impl Into<String>) -> Self {
        self.set(context::STORE, address)
    }

    /// Sets whether the gRPC addresses are plain text instead of TLS. Beyond loopback that needs
    /// [`insecure`](Self::insecure) as well.
    #[cfg(feature = "grpc")]
    pub fn grpc_plain_text(self, plain_text: bool) -> Self {
        self.set(context::PLAIN_TEXT, plain_text.to_string())
    }

    fn set(mut self, row: context::Row, text: impl Into<String>) -> Self {
        self.values.set(row, text, Origin::BUILDER);
        self
    }

    fn text(&self, row: context::Row) -> Option<&str> {
        self.values.get(row).map(|value| value.text.as_str())
    }

    /// Sets a value by its name in [`ContextValue`](crate::context::ContextValue), with the program's words for
    /// where it comes from.
    #[doc(hidden)]
    pub fn given(mut self, name: &str, text: String, words: &'static str) -> Result<Self, Error> {
        self.values.give(name, text, Origin::Program(words))?;
        Ok(self)
    }

    /// The values that are set so far, with their origins.
    #[doc(hidden)]
    pub fn origins(&self) -> Vec<context::ContextValue> {
        self.values.shown()
    }

    /// The fixed token that is set so far.
    #[doc(hidden)]
    pub fn fixed_token(&self) -> Option<Token> {
        self.values.fixed_token()
    }

    /// The certificates of `ca-cert`, which are also for other connections than the service's.
    #[doc(hidden)]
    pub fn ca_cert(&self) -> Result<Option<Vec<u8>>, Error> {
        self.values.pem(context::CA_CERT, self.settings.call_timeout)
    }

    /// Trusts the certificates of a PEM file in addition to the system's.
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca_certificates.push(pem.into());
        self
    }

    /// Takes what isn't set from the environment: the product from `REGO_PLATFORM_PRODUCT`, and then, with its name
    /// in upper case for `PLATFORM`, `PLATFORM_TOKEN`, `PLATFORM_ORGANIZATION`, `PLATFORM_CONTROLPLANE_URL`,
    /// `PLATFORM_BASE_URL`, `PLATFORM_CONTROL_PLANE_API`, `PLATFORM_ARTIFACT_CAS_API` and
    /// `PLATFORM_API_INSECURE`. A blank variable counts as unset.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a token that can't be valid, and for a variable that isn't
    /// UTF-8, which the message names.
    pub fn from_env(mut self) -> Result<Self, Error> {
        let product = self.product_or(Product::from_env)?;
        self.values.read_environment(&product)?;
        Ok(self)
    }

    /// Takes what isn't set from the authentication context of the service's command-line client: the environment
    /// (as [`from_env`](Self::from_env)), then the client's configuration file
    /// ([`default_path`](crate::context::default_path)), then, if no address is set anywhere, the addresses of a
    /// product that is hosted. [`Platform::origins`] says where each value came from.
    ///
    /// No file is read if a token or a token provider is set before. Set the [`product`](Self::product) before, too.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration), as [`from_env`](Self::from_env), and for a file that can't be read or whose
    /// values don't have their form. No message contains text of the file.
    #[cfg(feature = "context")]
    pub fn context(self) -> Result<Self, Error> {
        self.context_of(None)
    }

    /// Takes what isn't set from the authentication context with this configuration file, which must exist. See
    /// [`context`](Self::context).
    ///
    /// # Errors
    /// Those of [`context`](Self::context).
    #[cfg(feature = "context")]
    pub fn context_from(self, file: impl Into<std::path::PathBuf>) -> Result<Self, Error> {
        self.context_of(Some(file.into()))
    }

    #[cfg(feature = "context")]
    fn context_of(mut self, file: Option<std::path::PathBuf>) -> Result<Self, Error> {
        let has_token =
            self.values.get(context::TOKEN).is_some_and(|token| token.origin == Origin::BUILDER);
        self = self.from_env()?;
        let product = self.product_or(Product::from_env)?;
        let default = || context::default_path(&product).filter(|path| !context::is_missing(path));
        match file.clone().or_else(default) {
            // It may name another service, so that no default counts either.
            Some(_) if has_token && file.is_none() => return Ok(self),
            Some(path) => {
                self.values.read_file(&context::File::read(path, self.settings.call_timeout)?)?;
            }
            None => {}
        }
        self.values.add_hosted(&product);
        Ok(self)
    }

    /// Returns the product that is set, or else sets this one.
    fn product_or(
        &mut self,
        default: impl FnOnce() -> Result<Product, Error>,
    ) -> Result<Product, Error> {
        if self.product.is_none() {
            let product = default()?;
            self.values.set_product(&product, Origin::Environment(context::VARIABLE.to_owned()));
            self.product = Some(Ok(product));
        }
        self.product.clone().unwrap_or_else(|| Ok(Product::default()))
    }

    /// Sets the proxy for https, in place of the environment's. Neither loopback nor plain HTTP is
    /// ever proxied, so that no proxy sees a token.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.settings.proxy = Some(url.into());
        self
    }

    /// Sets the hosts that are reached without the proxy, in the form of `NO_PROXY`.
    pub fn no_proxy(mut self, hosts: impl Into<String>) -> Self {
        self.settings.no_proxy = Some(hosts.into());
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
        self.settings.propagator = Some(Arc::new(propagate));
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
        self.settings.http_client = Some(client);
        self
    }

    /// Sets the provider of TLS cryptography. The default is the one installed for the process
    /// ([`rustls::crypto::CryptoProvider::install_default`]), else ring, with the feature of that
    /// name.
    pub fn crypto_provider(mut self, provider: Arc<rustls::crypto::CryptoProvider>) -> Self {
        self.settings.crypto_provider = Some(provider);
        self
    }

    /// Sets the observer of requests, and of evaluations with this platform and their calls, unless
    /// [`EvaluateOptions::observer`](crate::evaluate::EvaluateOptions::observer) sets another for
    /// those.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.settings.observer = Some(observer);
        self
    }

    /// Sets another path for an endpoint (`discover`, `download`, `evidence`, `project_compliance`,
    /// `evaluate_evidence`, `operation`, `products`, `product_version`, `projects`, `environments`,
    /// `approve_assessment`, `product_compliance`, `infoz`, `openapi`, `openapi_controlplane`);
    /// never another host.
    pub fn endpoint(mut self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.values.set_path(name.into(), path.into());
        self
    }

    /// Sets the largest number of requests in flight at once, over all clones of the platform; 64
    /// by default, at least 1.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.settings.concurrency = requests.clamp(1, 10_000);
        self
    }

    /// Keeps artifacts in `folder`, `max_bytes` of them at most; nowhere by default.
    ///
    /// An artifact is read from there only after the service has granted this token access to it.
    /// Any number of processes can share the folder, which is made accessible to its owner only.
    #[cfg(feature = "cache")]
    pub fn artifact_cache(mut self, folder: impl Into<std::path::PathBuf>, max_bytes: u64) -> Self {
        let cache = crate::client::cache::Cache::new(folder.into(), max_bytes);
        self.settings.kept.cache = Some(Arc::new(cache));
        self
    }

    /// Keeps artifacts in a store that many gates share; in none by default.
    ///
    /// An artifact is read from there only after the service has granted this token access to it. With
    /// [`artifact_cache`](Self::artifact_cache), the cache is asked first.
    #[cfg(feature = "artifact-store")]
    pub fn artifact_store(mut self, store: crate::ArtifactStore) -> Self {
        self.settings.kept.store = Some(store);
        self
    }

    /// Checks the settings and builds the platform. Nothing is connected, and no HTTP client
    /// created, before the first call.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration), with a message that never repeats a secret; also when there is
    /// no TLS provider: none is given, none is installed for the process, and the feature `ring` is
    /// off.
    pub fn build(mut self) -> Result<Platform, Error> {
        let mut settings = self.settings;
        settings.product = self.product.unwrap_or_else(|| Ok(Product::default()))?;
        self.values.set_product(&settings.product, Origin::BUILDER);
        self.values.remove_unused();
        let values = self.values;
        settings.endpoints = endpoints(&values, settings.insecure)?;
        if let Some(name) = values.get(context::ORGANIZATION) {
            let header = organization(&settings.product, &name.text);
            settings.organization = Some(header.map_err(|error| name.origin.named_in(error))?);
            settings.organization_name = Some(name.text.clone());
        }
        let has_client = settings.http_client.is_some();
        let is_set = settings.proxy.is_some()
            || !self.ca_certificates.is_empty()
            || values.has_certificates()
            || settings.crypto_provider.is_some()
            || self.limits_connections;
        if !self.ignores_proxy_env {
            settings.proxy = settings.proxy.map_or_else(environment::proxy, |url| Ok(Some(url)))?;
            let no_proxy = settings.no_proxy;
            settings.no_proxy = no_proxy.map_or_else(environment::no_proxy, |all| Ok(Some(all)))?;
        }
        if has_client && is_set {
            let message = "not supported with a given HTTP client: a proxy, certificates, a TLS provider or time limits of connections";
            return Err(
                Error::configuration(message).with_hint("set them where that client is built")
            );
        }
        if has_client {
            settings.proxy = None;
        } else {
            crypto_provider(settings.crypto_provider.as_ref())?;
        }
        let named = values.certificates(settings.call_timeout)?;
        let authorities: Result<Vec<_>, _> =
            self.ca_certificates.iter().chain(&named).map(|pem| authorities(pem)).collect();
        let own = settings.organization.as_ref().map(|(name, _)| name);
        settings.headers = headers(&self.headers, own)?;
        let user_agent = self.user_agent.as_deref().map(|name| value(&USER_AGENT, name));
        settings.user_agent = user_agent.transpose()?;
        settings.ca_certificates = authorities?.concat();
        let Settings { connect_timeout, idle_timeout, call_timeout, .. } = &mut settings;
        for limit in [connect_timeout, idle_timeout, call_timeout] {
            *limit = LONGEST.min(*limit);
        }
        settings.max_results = values.max_results();
        Ok(Platform {
            inner: Arc::new(Inner {
                client: Arc::new(Client::new(settings, values.credentials.clone())),
                origins: values.shown(),
                token: values.fixed_token(),
                config_file: values.file,
                runtime: LazyRuntime::of_requests(),
                flights: Arc::new(Flights::new(self.share_answers)),
                not_found: self.not_found,
                functions: self.functions,
            }),
        })
    }
}

/// Returns the addresses and paths; an error names where its value came from.
fn endpoints(values: &Values, insecure: bool) -> Result<Endpoints, Error> {
    let mut endpoints = Endpoints::default();
    for (name, path) in &values.paths {
        let set = endpoints.set_path(name, &path.text);
        set.map_err(|error| path.origin.named_in(error))?;
    }
    for (row, api) in
        [(context::CONTROL_PLANE, Api::ControlPlane), (context::BACKEND, Api::Backend)]
    {
        if let Some(url) = values.get(row) {
            let set = endpoints.set_http(api, &url.text, insecure);
            set.map_err(|error| url.origin.named_in(error))?;
        }
    }
    #[cfg(feature = "grpc")]
    {
        let plain_text = values.is_plain_text();
        if let Some(address) = values.get(context::GRPC) {
            let set = endpoints.set_grpc(&address.text, plain_text, insecure);
            set.map_err(|error| address.origin.named_in(error))?;
        }
        if let Some(address) = values.get(context::STORE) {
            let set = endpoints.set_store(&address.text, plain_text, insecure);
            set.map_err(|error| address.origin.named_in(error))?;
        }
    }
    Ok(endpoints)
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
            Error::configuration(message)
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
        Error::configuration(message)
    })?;
    value.set_sensitive(*name != USER_AGENT);
    Ok(value)
}

fn organization(product: &Product, name: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let bad = |message: String| Error::configuration(message);
    if name.trim().is_empty() {
        return Err(bad("the organization's name is empty".to_owned()));
    }
    if name.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(bad(format!("`{}` isn't a valid organization name", escape(name)))
            .with_hint("use the name that the platform shows, not the title"));
    }
    let header = HeaderName::try_from(product.organization_header())
        .map_err(|_| bad("the organization's header can't be sent".to_owned()))?;
    let value = HeaderValue::from_str(name.trim())
        .map_err(|_| bad("the organization's name can't be sent".to_owned()))?;
    Ok((header, value))
}
