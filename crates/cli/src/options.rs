//! The options that subcommands share.
//!
//! Owns their names, defaults and help texts; the module that reads an option implements it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use rego_platform::check::declared_functions;
use rego_platform::evaluate::Policies;
use rego_platform::functions::FunctionSet;
use rego_platform::http::{AllowedHost, Http};
use rego_platform::load::LoadOptions;
use rego_platform::sources::{SchemaSet, SourceLimits};
use rego_platform::{Error, NotFound, Product};
use rego_platform_gate::model::Source;
use rego_platform_gate::{Parser, conversion_for};
use secrecy::SecretString;

use super::{option_files, parse_config, stdin};

pub(super) const SERVICE: &str = "Service options";
pub(super) const LIMITS: &str = "Limits";
const LANGUAGE: &str = "Language";
const NOT_FOUND: &[(&str, NotFound)] =
    &[("error", NotFound::Error), ("undefined", NotFound::Undefined)];
pub(super) const GENERAL: &str = "General options";

/// The options that every subcommand takes.
#[derive(Debug, Clone, Args)]
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Options {
    /// Product name: the prefix of functions, environment variables and folders
    /// [default: the variable `REGO_PLATFORM_PRODUCT`, or `platform`]
    #[arg(long, global = true, value_name = "NAME", help_heading = SERVICE)]
    pub product: Option<String>,
    /// API or user token; other users can see it in the process list
    #[arg(long, global = true, value_name = "TOKEN", help_heading = SERVICE, hide_short_help = true)]
    pub token: Option<SecretString>,
    /// Read the token from this file; `-` for standard input
    #[arg(long, global = true, value_name = "FILE", help_heading = SERVICE)]
    pub token_file: Option<PathBuf>,
    /// Organization to use with a user token
    #[arg(long, global = true, value_name = "NAME", help_heading = SERVICE)]
    pub organization: Option<String>,
    /// The address of the control plane
    #[arg(long, global = true, value_name = "URL", help_heading = SERVICE)]
    pub controlplane_url: Option<String>,
    /// The address of the platform backend
    #[arg(long, global = true, value_name = "URL", help_heading = SERVICE)]
    pub base_url: Option<String>,
    /// Configuration file, instead of `<product>/config.toml` of the user
    #[arg(long, global = true, value_name = "FILE", help_heading = SERVICE, hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// Certificates (PEM) to trust in addition to the system's
    #[arg(long, global = true, value_name = "FILE", help_heading = SERVICE, hide_short_help = true)]
    pub ca_cert: Option<PathBuf>,
    /// Allow plain HTTP to hosts other than loopback; certificates are still checked
    #[arg(long, global = true, help_heading = SERVICE, hide_short_help = true)]
    pub insecure: bool,
    /// Use an emulator that serves the data in this folder, instead of the service
    #[arg(long, global = true, value_name = "DIR", help_heading = SERVICE)]
    pub local: Option<PathBuf>,
    /// Inject a fault, such as `discover:status=503:count=2`; repeatable
    #[arg(long, global = true, value_name = "FAULT", help_heading = SERVICE, hide_short_help = true)]
    pub fault: Vec<String>,
    /// Time limit of one evaluation or call, such as `30s`
    #[arg(long, global = true, value_name = "TIME", default_value = "60s",
        value_parser = duration, allow_hyphen_values = true, help_heading = SERVICE)]
    pub timeout: Duration,
    /// Maximum number of concurrent requests
    #[arg(long, global = true, value_name = "N", default_value_t = 64,
        value_parser = concurrency, help_heading = LIMITS, hide_short_help = true)]
    pub concurrency: u16,
    /// Maximum number of distinct calls of one evaluation
    #[arg(long, global = true, value_name = "N", default_value_t = 20_000,
        value_parser = number::<u64>, help_heading = LIMITS, hide_short_help = true)]
    pub max_calls: u64,
    /// Maximum size of all responses of one evaluation, such as `512MiB`
    #[arg(long, global = true, value_name = "SIZE", default_value = "1GiB",
        value_parser = size, help_heading = LIMITS, hide_short_help = true)]
    pub max_bytes: u64,
    /// Maximum number of passes (rounds of calls) of one evaluation
    #[arg(long, global = true, value_name = "N", default_value_t = 200,
        value_parser = number::<u32>, help_heading = LIMITS, hide_short_help = true)]
    pub max_passes: u32,
    /// Send prompts before it is certain that they are needed: faster, but costs money
    #[arg(long, global = true, help_heading = LIMITS, hide_short_help = true)]
    pub eager_prompts: bool,
    /// Write every response to this file, for `--replay`
    #[arg(long, global = true, value_name = "FILE", help_heading = SERVICE)]
    pub record: Option<PathBuf>,
    /// Take the responses to calls only from this recording
    #[arg(long, global = true, value_name = "FILE", help_heading = SERVICE,
        conflicts_with_all = ["local", "record"])]
    pub replay: Option<PathBuf>,
    /// Don't use the artifact cache on disk
    #[arg(long, global = true, help_heading = LIMITS, hide_short_help = true)]
    pub no_cache: bool,
    /// Shared artifact store of many gates, such as `s3://bucket/prefix`
    ///
    /// Credentials come from the environment (`AWS_*`, `GOOGLE_*`, `AZURE_*`).
    #[cfg(feature = "artifact-store")]
    #[arg(long, global = true, value_name = "URL", help_heading = SERVICE, hide_short_help = true)]
    pub artifact_store: Option<String>,
    /// Result of a call after a "not found" response
    #[arg(long, global = true, value_name = "WHAT", value_parser = one_of(NOT_FOUND), default_value = "error",
        help_heading = SERVICE, hide_short_help = true)]
    pub not_found: NotFound,
    /// Print no warnings or notes, and no lines for passes
    #[arg(short, long, global = true, help_heading = GENERAL)]
    pub quiet: bool,
    /// Log each request; repeatable
    ///
    /// `gate -v` prints the basis of each verdict, `eval -v` a table of its calls, `test -v` the tests that passed; these
    /// log requests with `-vv`.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = GENERAL)]
    pub verbose: u8,
}

impl Options {
    /// Returns the product of the option, or else of the environment.
    pub fn product(&self) -> Result<Product, Error> {
        self.product.as_deref().map_or_else(Product::from_env, Product::new)
    }

    /// Returns the files and folders that are read because of these options.
    pub fn read(&self) -> impl Iterator<Item = PathBuf> {
        let files = [&self.token_file, &self.config, &self.ca_cert, &self.local, &self.replay];
        let given = files.into_iter().flatten().filter(|path| *path != Path::new("-"));
        given.cloned().chain(self.default_config())
    }

    /// Returns the path of the configuration file that is read without `--config`.
    fn default_config(&self) -> Option<PathBuf> {
        if self.config.is_some() || self.local.is_some() {
            return None;
        }
        rego_platform::context::default_path(&self.product().ok()?)
    }
}

/// The functions that policies can call.
#[derive(Debug, Clone, Args)]
pub(super) struct FunctionsArgs {
    /// Enable optional functions: `all`, or names separated by commas
    #[arg(long, value_name = "NAMES", value_parser = functions, help_heading = LANGUAGE, hide_short_help = true)]
    functions: Option<FunctionSet>,
}

/// Options for loading policies.
#[derive(Debug, Clone, Args)]
pub(super) struct LoadArgs {
    /// Skip files and folders that match, such as `*.sarif`; repeatable
    #[arg(long, value_name = "GLOB", value_parser = text)]
    pub ignore: Vec<String>,
    /// Read policies as Rego v0
    #[arg(long, visible_alias = "v0", help_heading = LANGUAGE, hide_short_help = true)]
    v0_compatible: bool,
    /// Read policies as Rego v1, which is the default
    #[arg(long, hide = true, conflicts_with = "v0_compatible")]
    #[allow(dead_code, reason = "accepted, as by OPA")]
    v1_compatible: bool,
    /// JSON Schema of `input`, or folder of schemas, to type-check policies with
    ///
    /// In a folder, `a/b.json` is `schema.a.b` of `# METADATA` annotations. Inputs aren't validated.
    #[arg(short, long, value_name = "PATH", help_heading = LANGUAGE, hide_short_help = true)]
    schema: Option<PathBuf>,
    /// OPA capabilities document with another host's functions
    ///
    /// Reaching a call to one is an error, unless a test mocks it.
    #[arg(long, value_name = "FILE", help_heading = LANGUAGE, hide_short_help = true)]
    capabilities: Option<PathBuf>,
    #[command(flatten)]
    functions: FunctionsArgs,
}

impl LoadArgs {
    /// Returns the files and folders that are read because of these options.
    pub fn read(&self) -> impl Iterator<Item = PathBuf> {
        self.schema.clone().into_iter().chain(self.capabilities.clone())
    }

    /// Returns the options for loading. A schema that is a pipe must end within `timeout`.
    pub fn options(&self, product: Product, timeout: Duration) -> Result<LoadOptions, Error> {
        let schemas = self.schema.as_deref().map(|path| schemas(path, timeout)).transpose()?;
        let mut host_functions = match &self.capabilities {
            Some(path) => declared_functions(&option_files::json(path)?, &product)
                .map_err(|error| option_files::in_file(path, "can't be used", error))?,
            None => Vec::new(),
        };
        parse_config::declare(&mut host_functions);
        let mut load = LoadOptions::default();
        load.product = product;
        load.enabled = self.functions.set();
        load.host_functions = host_functions;
        load.rego_v0 = self.v0_compatible;
        load.schemas = schemas.unwrap_or_default();
        Ok(load)
    }
}

fn schemas(path: &Path, timeout: Duration) -> Result<SchemaSet, Error> {
    if option_files::is_regular(path).unwrap_or(true) {
        return SchemaSet::read(path);
    }
    let max = SourceLimits::default().file_bytes;
    let name = path.display().to_string();
    let text = option_files::read("the schema", path, max, timeout)?;
    SchemaSet::of_input(&name, &stdin::text(text, &name)?)
}

/// The interpreter of policies.
#[derive(Debug, Args)]
pub(super) struct EngineArgs {
    /// Engine: the built-in one, regorus, or both, which must agree
    #[arg(long, value_enum, default_value_t = Engine::Opa, value_name = "ENGINE")]
    pub engine: Engine,
}

/// An interpreter of policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    Opa,
    Regorus,
    Both,
}

impl EngineArgs {
    /// Returns the name of an engine other than this crate's own.
    pub const fn name(&self) -> Option<&'static str> {
        match self.engine {
            Engine::Opa => None,
            Engine::Regorus => Some("regorus"),
            Engine::Both => Some("both"),
        }
    }

    /// Returns policies that are evaluated on this engine.
    pub fn policies(&self, policies: Policies) -> Policies {
        match self.engine {
            Engine::Opa => policies,
            Engine::Regorus => policies.on_regorus(false),
            Engine::Both => policies.on_regorus(true),
        }
    }
}

/// Options for evaluating policies.
#[derive(Debug, Args)]
pub(super) struct EvaluationArgs {
    /// Stop on errors of built-in functions; the default of `gate`
    #[arg(long, overrides_with = "no_strict_builtin_errors", help_heading = LANGUAGE, hide_short_help = true)]
    strict_builtin_errors: bool,
    /// Treat a built-in's error as undefined, as OPA does (default of other commands)
    #[arg(long, overrides_with = "strict_builtin_errors", help_heading = LANGUAGE, hide_short_help = true)]
    no_strict_builtin_errors: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub network: NetworkArgs,
}

impl EvaluationArgs {
    /// Returns `true` if a built-in function's error ends the evaluation; the last option counts.
    pub const fn is_strict(&self) -> bool {
        self.strict_builtin_errors
    }

    /// Returns `true` if a built-in function's error ends the evaluation of a gate.
    pub const fn is_strict_gate(&self) -> bool {
        !self.no_strict_builtin_errors
    }
}

/// The hosts other than the service that policies may contact.
#[derive(Debug, Clone, Args)]
pub(super) struct NetworkArgs {
    /// Host that policies may contact (`http.send`), or be fetched from; repeatable
    ///
    /// Without a port, all ports are allowed. `*.example.com` allows public addresses only; loopback must be given as an
    /// address. It is also for `net.lookup_ip_addr`, and hosts that policies from elsewhere need besides a registry.
    #[arg(long, value_name = "HOST[:PORT]", help_heading = LANGUAGE, hide_short_help = true)]
    pub allow_host: Vec<AllowedHost>,
}

impl NetworkArgs {
    /// Returns the client for policies' own requests, or `None`, without reading `certificates`, if
    /// no host is allowed.
    pub fn http(
        &self,
        options: &Options,
        certificates: impl FnOnce() -> Result<Option<Vec<u8>>, Error>,
    ) -> Result<Option<Http>, Error> {
        if self.allow_host.is_empty() {
            return Ok(None);
        }
        let mut builder = Http::builder().concurrency(usize::from(options.concurrency));
        for host in &self.allow_host {
            builder = builder.allow_host(host.clone());
        }
        if let Some(pem) = certificates()? {
            builder = builder.ca_certificate(pem);
        }
        Ok(Some(builder.build()))
    }
}

impl FunctionsArgs {
    pub fn set(&self) -> FunctionSet {
        self.functions.unwrap_or_default()
    }
}

/// Parses a value that isn't blank, as that of a variable which isn't set would be.
pub(super) fn text(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("expected a value, found an empty string".to_owned());
    }
    Ok(text.to_owned())
}

/// The options for a file of options. Its reader takes them before the others are known.
#[derive(Debug, Args)]
pub(super) struct SettingsArgs {
    /// Take options from this file, which may loosen the gate
    ///
    /// Without `-d`, `rego-platform.toml` is looked for in this folder and those above it in the repository.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = GENERAL)]
    pub settings: Option<PathBuf>,
    /// Let a settings file that no option named loosen the gate
    #[arg(long, hide_short_help = true, help_heading = GENERAL)]
    pub trust_settings: bool,
    /// Use the options of this profile of the file, `[gate.NAME]`, as well
    #[arg(long, value_name = "NAME", value_parser = text, hide_short_help = true, help_heading = GENERAL)]
    pub profile: Option<String>,
    /// The file that was used, for reports.
    #[arg(skip)]
    pub used: Option<Source>,
    /// Why the file can't be used.
    #[arg(skip)]
    pub failed: Option<rego_platform::Error>,
    /// The handler of signals, if it was started before the file was read.
    #[arg(skip)]
    pub interrupt: Option<super::interrupt::Interrupt>,
}

/// The option for the parser of inputs.
#[derive(Debug, Args)]
pub(super) struct ParserArgs {
    /// Read inputs as `json`, `yaml`, `toml`, `hcl2` or the like, whatever their names
    #[arg(long, value_name = "NAME", value_parser = input_parser, hide_short_help = true, help_heading = "Inputs")]
    pub parser: Option<Parser>,
}

fn input_parser(name: &str) -> Result<Parser, String> {
    Parser::named(name).ok_or_else(|| match conversion_for(name) {
        Some(convert) => format!("no parser for this format; {convert}"),
        None => format!("the parsers are {}", Parser::names().join(", ")),
    })
}

fn functions(text: &str) -> Result<FunctionSet, String> {
    text.parse().map_err(|error: Error| match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    })
}

/// Returns the parser of an option whose value is one of these names.
pub(super) fn one_of<T: Clone + Send + Sync + 'static>(
    named: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let value = |name: String| named.iter().find(|(own, _)| *own == name).map(|(_, value)| value);
    let names = PossibleValuesParser::new(named.iter().map(|(name, _)| *name));
    names.try_map(move |name| value(name).cloned().ok_or("unknown name"))
}

/// The largest number of concurrent requests.
const MAX_CONCURRENCY: u16 = 10_000;

/// The limit of a duration; longer ones overflow clocks on some systems.
pub(super) const MAX_DURATION: Duration = Duration::from_hours(7 * 24);

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|_| "expected a number with a unit, such as `30s`, `500ms` or `2m`".to_owned())?;
    if duration.is_zero() || duration > MAX_DURATION {
        return Err("expected a time longer than zero and at most 7 days".to_owned());
    }
    Ok(duration)
}

/// Parses a whole number from 1.
pub(super) fn number<T: FromStr + Default + PartialEq>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number != T::default());
    number.ok_or_else(|| "expected a whole number of at least 1".to_owned())
}

fn concurrency(text: &str) -> Result<u16, String> {
    number(text)
        .ok()
        .filter(|number| *number <= MAX_CONCURRENCY)
        .ok_or_else(|| format!("expected a whole number from 1 to {MAX_CONCURRENCY}"))
}

/// Parses a number of bytes: `1048576`, `64KiB`, `512MiB`, `2GiB`; `KB` and the like are decimal.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let bad = || "expected a number of bytes, such as `1048576`, `512MiB` or `2GB`".to_owned();
    let zero = "expected a size of at least 1 byte".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match text.get(digits.len()..).unwrap_or_default() {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(bad()),
    };
    match digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)) {
        Some(0) => Err(zero),
        Some(bytes) => Ok(bytes),
        None => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_bounds() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        for bad in ["", "30", "0s", "8days", "-1s", "soon"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("7"), Ok(7));
        assert_eq!(size("512MiB"), Ok(512 << 20));
        assert_eq!(size("2GB"), Ok(2_000_000_000));
        assert_eq!(size("0MiB"), Err("expected a size of at least 1 byte".to_owned()));
        for bad in ["", "0", "-1", "1.5G", "1 TiB", "MiB", "99999999999GiB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
