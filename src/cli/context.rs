//! The authentication context: which service is asked, as whom, and who said so.
//!
//! Owns the order option, environment, configuration file, nothing, and the origin of each value.
//! With `--local` the emulator's own values take the place of everything that wasn't said on the
//! command line, so that real tokens stay away from it and its data away from real services.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use super::args::Options;
use super::config::{self, Config};
use super::local;
use super::output::Reporter;
use super::stdin::{self, Stdin};
use crate::emulator::Emulator;
use crate::text::escape;
use crate::{Error, ErrorKind, Platform, PlatformBuilder, Product, Token, TokenKind};

/// Who said a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// An option of the command line.
    Option(&'static str),
    /// An environment variable.
    Environment(String),
    /// A key of the configuration file.
    Config(&'static str, PathBuf),
    /// The emulator of `--local`.
    Emulator,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Option(name) => write!(f, "option `{name}`"),
            Self::Environment(name) => write!(f, "environment variable `{name}`"),
            Self::Config(key, path) => {
                write!(f, "`{key}` in `{}`", escape(&path.display().to_string()))
            }
            Self::Emulator => f.write_str("the emulator of `--local`"),
        }
    }
}

/// A value with who said it.
#[derive(Debug, Clone)]
pub(super) struct Sourced<T> {
    pub value: T,
    pub origin: Origin,
}

/// Everything that a call to the service needs.
pub(super) struct Context {
    pub product: Product,
    pub token: Option<Sourced<Token>>,
    pub organization: Option<Sourced<String>>,
    pub controlplane_url: Option<Sourced<String>>,
    pub base_url: Option<Sourced<String>>,
    /// The configuration file that was read.
    pub config: Option<PathBuf>,
    ca_cert: Option<Sourced<PathBuf>>,
    endpoints: BTreeMap<String, String>,
    max_results: Option<usize>,
}

impl Context {
    /// The context, and the emulator that it leads to, which serves until it is dropped.
    pub fn resolve(
        options: &Options,
        reporter: Reporter,
        stdin: &mut Stdin,
    ) -> Result<(Self, Option<Emulator>), Error> {
        let product = Product::new(&options.product)?;
        conflicts(options)?;
        let local = options.local.as_deref();
        // Only what was said on the command line applies beside `--local`.
        let config = match (local, options.config.as_deref()) {
            (Some(_), None) => Config::default(),
            (_, explicit) => Config::read(explicit, &product, reporter)?.unwrap_or_default(),
        };
        let find = Finder { product: &product, config: &config, environment: local.is_none() };
        let given = given_token(options, reporter, stdin)?;
        let mut context = Self {
            token: find.token(given, reporter)?,
            organization: find.text(
                ("--organization", options.organization.as_deref()),
                "ORGANIZATION",
                (config::ORGANIZATION, config.organization.as_deref()),
            )?,
            controlplane_url: find.text(
                ("--controlplane-url", options.controlplane_url.as_deref()),
                "CONTROLPLANE_URL",
                (config::CONTROLPLANE_URL, config.controlplane_url.as_deref()),
            )?,
            base_url: find.text(
                ("--base-url", options.base_url.as_deref()),
                "BASE_URL",
                (config::BASE_URL, config.base_url.as_deref()),
            )?,
            ca_cert: find.ca_cert(options.ca_cert.as_deref()),
            endpoints: config.endpoints.clone(),
            max_results: config.max_results,
            config: Some(config.path.clone()).filter(|path| !path.as_os_str().is_empty()),
            product: product.clone(),
        };
        let emulator = match local {
            Some(dir) => Some(context.use_emulator(dir, options)?),
            None => None,
        };
        Ok((context, emulator))
    }

    fn use_emulator(&mut self, dir: &Path, options: &Options) -> Result<Emulator, Error> {
        if let Some(said) = self.controlplane_url.as_ref().or(self.base_url.as_ref()) {
            let message =
                format!("`--local` and the address from {} exclude each other", said.origin);
            return Err(Error::new(ErrorKind::Configuration, message)
                .with_hint("the emulator has addresses of its own: leave one of the two out"));
        }
        if !self.endpoints.is_empty() {
            let message = "`--local` and `endpoints` in the configuration file exclude each other";
            return Err(Error::new(ErrorKind::Configuration, message)
                .with_hint("the emulator serves the default paths"));
        }
        let emulator = local::start(dir, &self.product, &options.fault)?;
        let ours = |value| Some(Sourced { value, origin: Origin::Emulator });
        self.controlplane_url = ours(emulator.controlplane_url());
        self.base_url = ours(emulator.base_url());
        if self.token.is_none() {
            let value = Token::new(emulator.default_token())?;
            self.token = Some(Sourced { value, origin: Origin::Emulator });
        }
        Ok(emulator)
    }

    /// A builder with everything that options and context say.
    pub fn builder(&self, options: &Options) -> Result<PlatformBuilder, Error> {
        self.check_each(options)?;
        let mut builder = Platform::builder()
            .product(self.product.clone())
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
        for (name, path) in &self.endpoints {
            builder = builder.endpoint(name, path);
        }
        if let Some(results) = self.max_results {
            builder = builder.max_results(results);
        }
        if let Some(file) = &self.ca_cert {
            builder = builder.ca_certificate(read_certificates(file)?);
        }
        Ok(builder)
    }

    /// The service.
    pub fn platform(&self, options: &Options) -> Result<Platform, Error> {
        self.builder(options)?.build()
    }

    /// Builds with each value alone, so that an error can name who said the value.
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

/// The same error, with who said the value that it is about.
fn from_origin(error: &Error, origin: &Origin) -> Error {
    let named = Error::new(error.kind(), format!("{error} (from {origin})"));
    match error.hint() {
        Some(hint) => named.with_hint(hint),
        None => named,
    }
}

fn conflicts(options: &Options) -> Result<(), Error> {
    let both = |a: &str, b: &str| {
        let message = format!("`{a}` and `{b}` exclude each other");
        Err(Error::new(ErrorKind::Configuration, message).with_hint("leave one of the two out"))
    };
    if options.token.is_some() && options.token_file.is_some() {
        return both("--token", "--token-file");
    }
    if !options.fault.is_empty() && options.local.is_none() {
        let message = "`--fault` makes an emulator misbehave, and there is none";
        return Err(Error::new(ErrorKind::Configuration, message)
            .with_hint("add `--local DIR`, or use it with `emulate`"));
    }
    Ok(())
}

/// The token of an option, as text.
fn given_token(
    options: &Options,
    reporter: Reporter,
    stdin: &mut Stdin,
) -> Result<Option<(SecretString, Origin)>, Error> {
    if let Some(token) = &options.token {
        reporter.warning(
            "others on this machine can see the token of `--token` in the list of processes; use \
             `--token-file`",
        );
        return Ok(Some((token.0.clone(), Origin::Option("--token"))));
    }
    let Some(path) = &options.token_file else { return Ok(None) };
    let shown = escape(&path.display().to_string());
    let bytes = if path.as_os_str() == "-" {
        stdin.read("`--token-file -`")?
    } else {
        read_small(path).map_err(|error| {
            let message = format!("the token file `{shown}` can't be read");
            Error::new(ErrorKind::Configuration, message).with_source(error)
        })?
    };
    let text = stdin::text(bytes, &shown)?;
    Ok(Some((SecretString::from(text), Origin::Option("--token-file"))))
}

fn read_small(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    const LARGEST: u64 = 64 << 10;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(std::io::Error::other("it is larger than a token can be"));
    }
    Ok(bytes)
}

fn read_certificates(file: &Sourced<PathBuf>) -> Result<Vec<u8>, Error> {
    std::fs::read(&file.value).map_err(|error| {
        let path = escape(&file.value.display().to_string());
        let message = format!("the certificates `{path}` can't be read (from {})", file.origin);
        Error::new(ErrorKind::Configuration, message).with_source(error)
    })
}

/// Looks for a value in options, environment and file, in that order.
struct Finder<'a> {
    product: &'a Product,
    config: &'a Config,
    environment: bool,
}

impl Finder<'_> {
    fn variable(&self, suffix: &str) -> Result<Option<(String, Origin)>, Error> {
        if !self.environment {
            return Ok(None);
        }
        let name = self.product.env(suffix);
        let Some(value) = std::env::var_os(&name).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        match value.into_string() {
            Ok(value) => Ok(Some((value, Origin::Environment(name)))),
            Err(_) => Err(Error::new(
                ErrorKind::Configuration,
                format!("the environment variable `{name}` isn't UTF-8"),
            )),
        }
    }

    fn text(
        &self,
        (option, given): (&'static str, Option<&str>),
        suffix: &str,
        (key, configured): (&'static str, Option<&str>),
    ) -> Result<Option<Sourced<String>>, Error> {
        if let Some(value) = given {
            return Ok(Some(Sourced { value: value.to_owned(), origin: Origin::Option(option) }));
        }
        if let Some((value, origin)) = self.variable(suffix)? {
            return Ok(Some(Sourced { value, origin }));
        }
        Ok(configured.map(|value| Sourced {
            value: value.to_owned(),
            origin: Origin::Config(key, self.config.path.clone()),
        }))
    }

    fn token(
        &self,
        given: Option<(SecretString, Origin)>,
        reporter: Reporter,
    ) -> Result<Option<Sourced<Token>>, Error> {
        let variable = self.variable("TOKEN")?.map(|(text, o)| (SecretString::from(text), o));
        let configured = || {
            let token = self.config.token.clone()?;
            Some((token, Origin::Config(config::TOKEN, self.config.path.clone())))
        };
        let Some((text, origin)) = given.or(variable).or_else(configured) else { return Ok(None) };
        let value = Token::new(text.expose_secret()).map_err(|e| from_origin(&e, &origin))?;
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci.eq_ignore_ascii_case("true"));
        if in_ci && value.kind(self.product) == TokenKind::User {
            reporter
                .warning("this is a user token, which lives for 24 hours; in CI use an API token");
        }
        Ok(Some(Sourced { value, origin }))
    }

    fn ca_cert(&self, given: Option<&Path>) -> Option<Sourced<PathBuf>> {
        let given = given.map(|path| (path.to_owned(), Origin::Option("--ca-cert")));
        let configured = || {
            let path = self.config.ca_cert.clone()?;
            Some((path, Origin::Config(config::CA_CERT, self.config.path.clone())))
        };
        let (value, origin) = given.or_else(configured)?;
        Some(Sourced { value, origin })
    }
}
