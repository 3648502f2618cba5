//! The command's options on top of the authentication context, which the library resolves.
//!
//! With `--local` neither the environment nor a configuration file is read, so that real tokens stay away from the
//! emulator and its data away from real services.

use std::path::Path;

#[cfg(feature = "artifact-store")]
use rego_platform::ArtifactStore;
use rego_platform::context::{ContextValue, Origin};
use rego_platform::functions::FunctionSet;
use rego_platform::{Error, Platform, PlatformBuilder, Product, Token, TokenKind};
use rego_platform_client::text::escape_path;
use rego_platform_emulator::Emulator;
use secrecy::ExposeSecret as _;

use super::options::Options;
use super::output::Reporter;
use super::stdin::{self, Stdin};
use super::{local, option_files};

/// The largest artifact, unless `--max-bytes` is less.
const MAX_ARTIFACT: u64 = 512 << 20;

/// The limit on artifacts on disk, in bytes.
const CACHE_BYTES: u64 = 2 << 30;

/// The largest file with a token, in bytes.
const MAX_TOKEN: u64 = 64 << 10;

/// The settings of calls to the service.
pub(super) struct Context {
    pub product: Product,
    builder: PlatformBuilder,
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
        let is_api = context.token_kind() == Some(TokenKind::Api);
        if is_api && context.organization().is_some_and(|name| is_option(&name.origin)) {
            reporter.warning(
                "`--organization` has no effect: an API token is bound to its organization",
            );
        }
        Ok((context, emulator))
    }

    /// Returns what options, environment and configuration file say.
    pub fn found(options: &Options, reporter: Reporter, stdin: &mut Stdin) -> Result<Self, Error> {
        conflicts(options)?;
        let product = options.product()?;
        let mut builder =
            Platform::builder().insecure(options.insecure).call_timeout(options.timeout);
        if options.product.is_some() {
            builder = builder.product(product.clone());
        }
        let path = |path: &Path| path.to_string_lossy().into_owned();
        for (name, value, words) in [
            ("organization", options.organization.clone(), "option `--organization`"),
            ("controlplane-url", options.controlplane_url.clone(), "option `--controlplane-url`"),
            ("base-url", options.base_url.clone(), "option `--base-url`"),
            ("ca-cert", options.ca_cert.as_deref().map(path), "option `--ca-cert`"),
        ] {
            if let Some(value) = value {
                builder = builder.given(name, value, words)?;
            }
        }
        if let Some((text, words)) = token(options, reporter, stdin)? {
            builder = builder.given("token", text, words)?;
        }
        let builder = match (&options.local, &options.config) {
            (Some(_), _) => builder.product(product.clone()),
            (None, Some(file)) => builder.context_from(file)?,
            (None, None) => builder.context()?,
        };
        let context = Self { product, builder };
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci.eq_ignore_ascii_case("true"));
        if in_ci && context.token_kind() == Some(TokenKind::User) {
            reporter.warning(
                "this is a user token, which expires after 24 hours; use an API token in CI",
            );
        }
        Ok(context)
    }

    /// The kind of the token, if there is one.
    pub fn token_kind(&self) -> Option<TokenKind> {
        self.builder.fixed_token().as_ref().map(|token: &Token| token.kind(&self.product))
    }

    /// The organization that a user token selects.
    pub fn organization(&self) -> Option<ContextValue> {
        self.builder.origins().into_iter().find(|value| value.name == "organization")
    }

    fn use_emulator(&mut self, dir: &Path, options: &Options) -> Result<Emulator, Error> {
        let emulator = local::start(dir, &self.product, &options.fault)?;
        let words = "the emulator of `--local`";
        let mut values = vec![
            ("controlplane-url", emulator.controlplane_url()),
            ("base-url", emulator.base_url()),
        ];
        if self.token_kind().is_none() {
            values.push(("token", emulator.default_token()));
        }
        for (name, value) in values {
            self.builder = self.builder.clone().given(name, value, words)?;
        }
        Ok(emulator)
    }

    /// Returns a builder with every setting of the options and the context.
    pub fn builder(&self, options: &Options) -> Result<PlatformBuilder, Error> {
        let mut builder = self
            .builder
            .clone()
            // The functions that policies may call are set where they are loaded.
            .functions(FunctionSet::all())
            .concurrency(usize::from(options.concurrency))
            .not_found(options.not_found)
            .max_artifact_bytes(options.max_bytes.min(MAX_ARTIFACT));
        // An emulator's artifacts come from files anyway.
        if !options.no_cache
            && options.local.is_none()
            && let Ok(folder) = super::cache::folder(&self.product)
        {
            builder = builder.artifact_cache(folder, CACHE_BYTES);
        }
        #[cfg(feature = "artifact-store")]
        if let Some(address) = &options.artifact_store {
            builder = builder.artifact_store(self.artifact_store(address, options)?);
        }
        Ok(builder)
    }

    /// The certificates of `ca-cert`.
    pub fn certificates(&self) -> Result<Option<Vec<u8>>, Error> {
        self.builder.ca_cert()
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
}

/// Returns `true` for a value of the command line.
pub(super) fn is_option(origin: &Origin) -> bool {
    matches!(origin, Origin::Program(_))
}

/// Returns the token of an option, and the option.
fn token(
    options: &Options,
    reporter: Reporter,
    stdin: &mut Stdin,
) -> Result<Option<(String, &'static str)>, Error> {
    if let Some(token) = &options.token {
        reporter.warning("token visible in the list of processes: `--token`; use `--token-file`");
        return Ok(Some((token.expose_secret().to_owned(), "option `--token`")));
    }
    let Some(path) = &options.token_file else { return Ok(None) };
    let bytes = if path.as_os_str() == "-" {
        stdin.read("`--token-file -`")?
    } else {
        option_files::read("the token file", path, MAX_TOKEN, options.timeout)?
    };
    let text = stdin::text(bytes, &escape_path(path))?;
    Ok(Some((text, "option `--token-file`")))
}

fn conflicts(options: &Options) -> Result<(), Error> {
    for (both, [one, other]) in [
        (options.token.is_some() && options.token_file.is_some(), ["--token", "--token-file"]),
        (options.local.is_some() && options.config.is_some(), ["--local", "--config"]),
        (
            options.local.is_some() && options.controlplane_url.is_some(),
            ["--local", "--controlplane-url"],
        ),
        (options.local.is_some() && options.base_url.is_some(), ["--local", "--base-url"]),
    ] {
        if both {
            let message = format!("`{one}` and `{other}` can't be used together");
            return Err(Error::configuration(message).with_hint("use only one of them"));
        }
    }
    if !options.fault.is_empty() && options.local.is_none() {
        let message = "`--fault` needs an emulator";
        return Err(
            Error::configuration(message).with_hint("add `--local DIR`, or use it with `emulate`")
        );
    }
    Ok(())
}

/// Reads the certificates that the options name, for a command without a context.
pub(super) fn certificates(options: &Options) -> Result<Option<Vec<u8>>, Error> {
    let Some(path) = &options.ca_cert else { return Ok(None) };
    let path = path.to_string_lossy().into_owned();
    Platform::builder().given("ca-cert", path, "option `--ca-cert`")?.ca_cert()
}
