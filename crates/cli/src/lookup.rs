//! The origin of a value: an option, the environment or the configuration file, in that order.
//!
//! Owns the order and the origin. `context` owns the values.

use std::path::{Path, PathBuf};

use rego_platform::{Error, ErrorKind, Product, Token, TokenKind};
use rego_platform_client::environment::Variable;
use rego_platform_client::text::escape;
use secrecy::{ExposeSecret as _, SecretString};

use super::config::{self, Config};
use super::option_files;
use super::options::Options;
use super::output::Reporter;
use super::stdin::{self, Stdin};

/// The origin of a value.
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

/// A value with its origin.
#[derive(Debug, Clone)]
pub(super) struct Sourced<T> {
    pub value: T,
    pub origin: Origin,
}

/// Adds to an error the origin of the value that it is about.
pub(super) fn from_origin(error: &Error, origin: &impl std::fmt::Display) -> Error {
    let named = Error::new(error.kind(), format!("{} (from {origin})", error.report()));
    match error.hint() {
        Some(hint) => named.with_hint(hint),
        None => named,
    }
}

/// The largest file with a token, in bytes.
const MAX_TOKEN: u64 = 64 << 10;

/// Returns the token of an option, as text.
pub(super) fn given_token(
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
        option_files::read("the token file", path, MAX_TOKEN, options.timeout)?
    };
    let text = stdin::text(bytes, &shown)?;
    Ok(Some((SecretString::from(text), Origin::Option("--token-file"))))
}

/// Looks for a value in options, environment and configuration file, in that order.
pub(super) struct Finder<'a> {
    pub product: &'a Product,
    pub config: &'a Config,
    /// `true` if the environment is searched.
    pub environment: bool,
}

impl Finder<'_> {
    fn variable(&self, variable: Variable) -> Result<Option<(String, Origin)>, Error> {
        if !self.environment {
            return Ok(None);
        }
        let origin = || Origin::Environment(variable.name(self.product));
        Ok(variable.read(self.product)?.map(|value| (value, origin())))
    }

    pub fn text(
        &self,
        (option, given): (&'static str, Option<&str>),
        variable: Variable,
        (key, configured): (&'static str, Option<&str>),
    ) -> Result<Option<Sourced<String>>, Error> {
        if let Some(value) = given {
            return Ok(Some(Sourced { value: value.to_owned(), origin: Origin::Option(option) }));
        }
        self.variable_or_key(variable, (key, configured))
    }

    /// Looks for a value that has no option.
    pub fn variable_or_key(
        &self,
        variable: Variable,
        (key, configured): (&'static str, Option<&str>),
    ) -> Result<Option<Sourced<String>>, Error> {
        if let Some((value, origin)) = self.variable(variable)? {
            return Ok(Some(Sourced { value, origin }));
        }
        Ok(self.key(key, configured))
    }

    /// Returns a value of the configuration file.
    pub fn key(&self, key: &'static str, configured: Option<&str>) -> Option<Sourced<String>> {
        let origin = || Origin::Config(key, self.config.path.clone());
        configured.map(|value| Sourced { value: value.to_owned(), origin: origin() })
    }

    /// Returns whether the service's own client is set to plain text.
    pub fn grpc_plain_text(&self) -> Result<Option<Sourced<bool>>, Error> {
        let Some((text, origin)) = self.variable(Variable::GrpcPlainText)? else {
            let origin = || Origin::Config(config::GRPC_PLAIN_TEXT, self.config.path.clone());
            let configured = self.config.grpc_plain_text;
            return Ok(configured.map(|value| Sourced { value, origin: origin() }));
        };
        // The spellings of that client.
        let value = match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
            "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
            _ => {
                let message = format!("{origin} is neither `true` nor `false`");
                return Err(Error::new(ErrorKind::Configuration, message));
            }
        };
        Ok(Some(Sourced { value, origin }))
    }

    pub fn token(
        &self,
        given: Option<(SecretString, Origin)>,
        reporter: Reporter,
    ) -> Result<Option<Sourced<Token>>, Error> {
        let variable =
            self.variable(Variable::Token)?.map(|(text, o)| (SecretString::from(text), o));
        let configured = || {
            let token = self.config.token.clone()?;
            Some((token, Origin::Config(config::TOKEN, self.config.path.clone())))
        };
        let Some((text, origin)) = given.or(variable).or_else(configured) else { return Ok(None) };
        let value = Token::new(text.expose_secret()).map_err(|e| from_origin(&e, &origin))?;
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci.eq_ignore_ascii_case("true"));
        if in_ci && value.kind(self.product) == TokenKind::User {
            reporter.warning(
                "this is a user token, which expires after 24 hours; use an API token in CI",
            );
        }
        Ok(Some(Sourced { value, origin }))
    }

    pub fn ca_cert(&self, given: Option<&Path>) -> Option<Sourced<PathBuf>> {
        let given = given.map(|path| (path.to_owned(), Origin::Option("--ca-cert")));
        let configured = || {
            let path = self.config.ca_cert.clone()?;
            Some((path, Origin::Config(config::CA_CERT, self.config.path.clone())))
        };
        let (value, origin) = given.or_else(configured)?;
        Some(Sourced { value, origin })
    }
}
