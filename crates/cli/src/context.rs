//! The authentication context: the service and the identity to use, and the origin of each value.
//!
//! Owns the combination of the values; `lookup` owns the search for each. With `--local` the
//! emulator's values replace everything that isn't given on the command line, so that real tokens
//! stay away from the emulator and its data away from real services.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[cfg(feature = "artifact-store")]
use rego_platform::ArtifactStore;
use rego_platform::functions::FunctionSet;
use rego_platform::{Error, ErrorKind, Platform, PlatformBuilder, Product, Token, TokenKind};
use rego_platform_client::client::certificates;
use rego_platform_client::environment::Variable;
use rego_platform_client::text::escape;
use rego_platform_client::unreadable::unreadable;
use rego_platform_emulator::Emulator;

use super::config::{self, Config};
use super::local;
use super::lookup::{Finder, Origin, Sourced, from_origin, given_token};
use super::options::Options;
use super::output::Reporter;
use super::stdin::Stdin;

/// The largest artifact, unless `--max-bytes` is less.
const MAX_ARTIFACT: u64 = 512 << 20;

/// The limit on artifacts on disk, in bytes.
const CACHE_BYTES: u64 = 2 << 30;

/// Everything that a call to the service needs.
pub(super) struct Context {
    pub product: Product,
    pub token: Option<Sourced<Token>>,
    pub organization: Option<Sourced<String>>,
    pub controlplane_url: Option<Sourced<String>>,
    pub base_url: Option<Sourced<String>>,
    /// The gRPC address of the service's own client; used without `controlplane_url`.
    pub grpc_address: Option<Sourced<String>>,
    pub grpc_plain_text: Option<Sourced<bool>>,
    grpc_ca: Option<Sourced<String>>,
    store_address: Option<Sourced<String>>,
    store_ca: Option<Sourced<String>>,
    /// The configuration file that was read.
    pub config: Option<PathBuf>,
    ca_cert: Option<Sourced<PathBuf>>,
    endpoints: BTreeMap<String, String>,
    max_results: Option<usize>,
}

impl Context {
    /// Returns the context, and the emulator of `--local`, which serves until it is dropped.
    pub fn resolve(
        options: &Options,
        reporter: Reporter,
        stdin: &mut Stdin,
    ) -> Result<(Self, Option<Emulator>), Error> {
        let mut context = Self::found(options, reporter, stdin)?;
        let emulator = match options.local.as_deref() {
            Some(dir) => Some(context.use_emulator(dir, options)?),
            None => None,
        };
        context.warn_of_ignored_organization(reporter);
        Ok((context, emulator))
    }

    /// Returns what options, environment and configuration file say.
    pub fn found(options: &Options, reporter: Reporter, stdin: &mut Stdin) -> Result<Self, Error> {
        let product = Product::new(&options.product)?;
        conflicts(options)?;
        let local = options.local.as_deref();
        // With `--local`, only values from the command line apply.
        let config = match (local, options.config.as_deref()) {
            (Some(_), None) => Config::default(),
            (_, explicit) => Config::read(explicit, &product, options.timeout)?.unwrap_or_default(),
        };
        let finder = Finder { product: &product, config: &config, environment: local.is_none() };
        let given = given_token(options, reporter, stdin)?;
        Ok(Self {
            token: finder.token(given, reporter)?,
            organization: finder.text(
                ("--organization", options.organization.as_deref()),
                Variable::Organization,
                (config::ORGANIZATION, config.organization.as_deref()),
            )?,
            controlplane_url: finder.text(
                ("--controlplane-url", options.controlplane_url.as_deref()),
                Variable::ControlPlane,
                (config::CONTROLPLANE_URL, config.controlplane_url.as_deref()),
            )?,
            base_url: finder.text(
                ("--base-url", options.base_url.as_deref()),
                Variable::Backend,
                (config::BASE_URL, config.base_url.as_deref()),
            )?,
            grpc_address: finder.variable_or_key(
                Variable::GrpcAddress,
                (config::GRPC_ADDRESS, config.grpc_address.as_deref()),
            )?,
            grpc_plain_text: finder.grpc_plain_text()?,
            grpc_ca: finder.variable_or_key(
                Variable::GrpcAuthority,
                (config::GRPC_CA, config.grpc_ca.as_deref()),
            )?,
            store_address: finder.variable_or_key(
                Variable::StoreAddress,
                (config::STORE_ADDRESS, config.store_address.as_deref()),
            )?,
            store_ca: finder.variable_or_key(
                Variable::StoreAuthority,
                (config::STORE_CA, config.store_ca.as_deref()),
            )?,
            ca_cert: finder.ca_cert(options.ca_cert.as_deref()),
            endpoints: config.endpoints.clone(),
            max_results: config.max_results,
            config: Some(config.path.clone()).filter(|path| !path.as_os_str().is_empty()),
            product: product.clone(),
        })
    }

    /// Returns what is set and used, each by the name of its option or key, with its origin. Of the token it only
    /// has that there is one.
    pub fn shown(&self) -> Vec<(String, String, Origin)> {
        fn one<T>(
            name: &str,
            value: Option<&Sourced<T>>,
            text: impl Fn(&T) -> String,
        ) -> Option<(String, String, Origin)> {
            value.map(|own| (name.to_owned(), text(&own.value), own.origin.clone()))
        }
        let certificates = |text: &String| {
            if certificates::inline(text).is_some() { "(PEM)".to_owned() } else { text.clone() }
        };
        let (grpc, store) = (self.grpc(), self.store());
        let own = [
            one("token", self.token.as_ref(), |_| "(set)".to_owned()),
            one("organization", self.organization.as_ref(), String::clone),
            one("controlplane-url", self.controlplane_url.as_ref(), String::clone),
            one("base-url", self.base_url.as_ref(), String::clone),
            one(config::GRPC_ADDRESS, grpc, String::clone),
            one(config::GRPC_PLAIN_TEXT, grpc.and(self.grpc_plain_text.as_ref()), bool::to_string),
            one(config::GRPC_CA, grpc.and(self.grpc_ca.as_ref()), certificates),
            one(config::STORE_ADDRESS, store, String::clone),
            one(config::STORE_CA, store.and(self.store_ca.as_ref()), certificates),
            one("ca-cert", self.ca_cert.as_ref(), |path| path.display().to_string()),
        ];
        let of_file = |key| Origin::Config(key, self.config.clone().unwrap_or_default());
        let results = self.max_results.map(|number| {
            (config::MAX_RESULTS.to_owned(), number.to_string(), of_file(config::MAX_RESULTS))
        });
        let endpoints = self.endpoints.iter().map(|(name, path)| {
            let key = config::ENDPOINTS;
            (format!("{key}.{name}"), path.clone(), of_file(key))
        });
        own.into_iter().flatten().chain(results).chain(endpoints).collect()
    }

    /// Warns of an option that selects another organization than the token's own.
    fn warn_of_ignored_organization(&self, reporter: Reporter) {
        let api = |token: &Sourced<Token>| token.value.kind(&self.product) == TokenKind::Api;
        let given = |name: &Sourced<String>| matches!(name.origin, Origin::Option(_));
        if self.token.as_ref().is_some_and(api) && self.organization.as_ref().is_some_and(given) {
            reporter.warning(
                "`--organization` has no effect: an API token is bound to its organization",
            );
        }
    }

    fn use_emulator(&mut self, dir: &Path, options: &Options) -> Result<Emulator, Error> {
        if let Some(address) = self.controlplane_url.as_ref().or(self.base_url.as_ref()) {
            let message =
                format!("`--local` and the address from {} can't be used together", address.origin);
            return Err(Error::new(ErrorKind::Configuration, message)
                .with_hint("the emulator has its own addresses: use only one of them"));
        }
        if !self.endpoints.is_empty() {
            let message =
                "`--local` and `endpoints` in the configuration file can't be used together";
            return Err(Error::new(ErrorKind::Configuration, message)
                .with_hint("the emulator serves the default paths"));
        }
        let emulator = local::start(dir, &self.product, &options.fault)?;
        let from_emulator = |value| Some(Sourced { value, origin: Origin::Emulator });
        self.controlplane_url = from_emulator(emulator.controlplane_url());
        self.base_url = from_emulator(emulator.base_url());
        if self.token.is_none() {
            let value = Token::new(emulator.default_token())?;
            self.token = Some(Sourced { value, origin: Origin::Emulator });
        }
        Ok(emulator)
    }

    /// Returns a builder with every setting of the options and the context.
    pub fn builder(&self, options: &Options) -> Result<PlatformBuilder, Error> {
        self.check_each(options)?;
        let mut builder = Platform::builder()
            .product(self.product.clone())
            // The functions that policies may call are set where they are loaded.
            .functions(FunctionSet::all())
            .insecure(options.insecure)
            .call_timeout(options.timeout)
            .concurrency(usize::from(options.concurrency))
            .not_found(options.not_found.into());
        if let Some(token) = &self.token {
            builder = builder.token(token.value.clone());
        }
        if let Some(name) = &self.organization {
            builder = builder.organization(&name.value);
        }
        if let Some(url) = &self.controlplane_url {
            builder = builder.controlplane_url(&url.value);
        }
        if let Some(url) = &self.base_url {
            builder = builder.base_url(&url.value);
        }
        if let Some(address) = self.grpc() {
            builder = builder.grpc_address(&address.value).grpc_plain_text(self.is_plain_text());
            if let Some(store) = self.store() {
                builder = builder.store_address(&store.value);
            }
        }
        for (pem, place) in self.authorities()? {
            let alone = Platform::builder().ca_certificate(pem.clone()).build();
            alone.map_err(|error| from_origin(&error, &place))?;
            builder = builder.ca_certificate(pem);
        }
        for (name, path) in &self.endpoints {
            builder = builder.endpoint(name, path);
        }
        builder = builder.max_artifact_bytes(options.max_bytes.min(MAX_ARTIFACT));
        if let Some(folder) = self.cache(options) {
            builder = builder.artifact_cache(folder, CACHE_BYTES);
        }
        #[cfg(feature = "artifact-store")]
        if let Some(address) = &options.artifact_store {
            builder = builder.artifact_store(self.artifact_store(address, options)?);
        }
        if let Some(results) = self.max_results {
            builder = builder.max_results(results);
        }
        Ok(builder)
    }

    /// The gRPC address, if it is used: an HTTP address that was given wins.
    pub fn grpc(&self) -> Option<&Sourced<String>> {
        self.grpc_address.as_ref().filter(|_| self.controlplane_url.is_none())
    }

    /// The content store's gRPC address, if it can be used.
    pub fn store(&self) -> Option<&Sourced<String>> {
        self.store_address.as_ref().filter(|_| self.grpc().is_some())
    }

    fn is_plain_text(&self) -> bool {
        self.grpc_plain_text.as_ref().is_some_and(|set| set.value)
    }

    /// The certificates to trust in addition to the system's, with where they are.
    fn authorities(&self) -> Result<Vec<(Vec<u8>, String)>, Error> {
        let own = self.ca_cert.clone().map(|file| (read_certificates(&file), located(&file)));
        let grpc =
            [self.grpc().and(self.grpc_ca.as_ref()), self.store().and(self.store_ca.as_ref())];
        let grpc = grpc.into_iter().flatten().filter(|_| !self.is_plain_text()).map(|ca| {
            if let Some(pem) = certificates::inline(&ca.value) {
                return (Ok(pem), ca.origin.to_string());
            }
            // A file of the configuration file is beside it, one of the environment where the command runs.
            let config = self.config.as_deref().filter(|_| matches!(ca.origin, Origin::Config(..)));
            let folder = config.and_then(Path::parent).unwrap_or(Path::new("."));
            let file = Sourced { value: folder.join(&ca.value), origin: ca.origin.clone() };
            (read_certificates(&file), located(&file))
        });
        own.into_iter().chain(grpc).map(|(pem, place)| Ok((pem?, place))).collect()
    }

    /// The certificates of `--ca-cert`.
    pub fn certificates(&self) -> Result<Option<Vec<u8>>, Error> {
        self.ca_cert.as_ref().map(read_certificates).transpose()
    }

    /// The folder for artifacts; none when they come from an emulator's files anyway.
    fn cache(&self, options: &Options) -> Option<PathBuf> {
        if options.no_cache || options.local.is_some() {
            return None;
        }
        super::cache::folder(&self.product).ok()
    }

    /// Opens the store of artifacts at an address.
    #[cfg(feature = "artifact-store")]
    fn artifact_store(&self, address: &str, options: &Options) -> Result<ArtifactStore, Error> {
        let reporter = Reporter::new(options.quiet);
        let mut store = ArtifactStore::builder(address)
            .insecure(options.insecure)
            .on_fault(move |fault| reporter.fault(fault));
        if let Some(pem) = self.certificates()? {
            store = store.ca_certificate(pem);
        }
        store.build()
    }

    /// Builds the connection to the service.
    pub fn platform(&self, options: &Options) -> Result<Platform, Error> {
        self.builder(options)?.build()
    }

    /// Builds with each value alone, so that an error can name the value's origin.
    fn check_each(&self, options: &Options) -> Result<(), Error> {
        let base = || Platform::builder().product(self.product.clone()).insecure(options.insecure);
        let mut checks = Vec::new();
        if let Some(name) = &self.organization {
            checks.push((base().organization(&name.value), &name.origin));
        }
        if let Some(url) = &self.controlplane_url {
            checks.push((base().controlplane_url(&url.value), &url.origin));
        }
        if let Some(url) = &self.base_url {
            checks.push((base().base_url(&url.value), &url.origin));
        }
        let grpc = || base().grpc_plain_text(self.is_plain_text());
        if let Some(address) = self.grpc() {
            checks.push((grpc().grpc_address(&address.value), &address.origin));
        }
        if let Some(address) = self.store() {
            checks.push((grpc().store_address(&address.value), &address.origin));
        }
        for (builder, origin) in checks {
            builder.build().map_err(|error| from_origin(&error, origin))?;
        }
        for (name, path) in &self.endpoints {
            base().endpoint(name, path).build().map_err(|error| {
                let path = self.config.clone().unwrap_or_default();
                from_origin(&error, &Origin::Config("endpoints", path))
            })?;
        }
        Ok(())
    }
}

fn conflicts(options: &Options) -> Result<(), Error> {
    let both = |a: &str, b: &str| {
        let message = format!("`{a}` and `{b}` can't be used together");
        Err(Error::new(ErrorKind::Configuration, message).with_hint("use only one of them"))
    };
    if options.token.is_some() && options.token_file.is_some() {
        return both("--token", "--token-file");
    }
    if !options.fault.is_empty() && options.local.is_none() {
        let message = "`--fault` needs an emulator";
        return Err(Error::new(ErrorKind::Configuration, message)
            .with_hint("add `--local DIR`, or use it with `emulate`"));
    }
    Ok(())
}

/// Reads the certificates that the options name, for a command without a context.
pub(super) fn certificates(options: &Options) -> Result<Option<Vec<u8>>, Error> {
    let file =
        options.ca_cert.clone().map(|value| Sourced { value, origin: Origin::Option("--ca-cert") });
    file.as_ref().map(read_certificates).transpose()
}

/// Returns where a file is, and what names it.
fn located(file: &Sourced<PathBuf>) -> String {
    format!("`{}`, {}", escape(&file.value.display().to_string()), file.origin)
}

fn read_certificates(file: &Sourced<PathBuf>) -> Result<Vec<u8>, Error> {
    std::fs::read(&file.value).map_err(|error| {
        let what = format!("the certificate file (from {})", file.origin);
        unreadable(&what, &file.value, error)
    })
}
