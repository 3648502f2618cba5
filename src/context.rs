//! The authentication context: the service and the account that calls use, and the origin of each value.
//!
//! Owns the table of values with their variables and keys, the order of their sources and the addresses of hosted
//! services. `file` owns the configuration file of the service's command-line client; the builder of a platform
//! owns what the values are used for.

#[cfg(feature = "context")]
mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::client::{Credentials, Token};
use crate::http::tls::{authorities, inline};
use crate::text::escape_path;
use crate::{Error, Product, environment};
use rego_platform_client::files;

#[cfg(feature = "context")]
pub use file::default_path;
#[cfg(feature = "context")]
pub(crate) use file::{File, is_missing};
pub(crate) use rego_platform_client::PRODUCT_VARIABLE as VARIABLE;

/// The largest number of results of one call, by default.
const RESULTS: usize = 100_000;

/// The largest file of certificates, in bytes.
const MAX_CERTIFICATES: u64 = 16 << 20;

/// The origin of a value of the context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The program, in its own words, such as "option `--token`".
    Program(&'static str),
    /// An environment variable.
    Environment(String),
    /// A key of the configuration file of the service's command-line client.
    File {
        /// The key, such as `auth.token`.
        key: &'static str,
        /// The file's path.
        path: PathBuf,
    },
    /// The default for a product that is hosted.
    Hosted,
}

impl Origin {
    /// The origin of what a program sets without a word about it.
    pub(crate) const BUILDER: Self = Self::Program("");

    /// Adds to an error the origin of the value that it is about, unless it is the builder's caller.
    pub(crate) fn named_in(&self, error: Error) -> Error {
        if *self == Self::BUILDER { error } else { error.from_origin(self) }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program("") => f.write_str("the program"),
            Self::Program(words) => f.write_str(words),
            Self::Environment(name) => write!(f, "environment variable `{name}`"),
            Self::File { key, path } => {
                write!(f, "`{key}` in `{}`", escape_path(path))
            }
            Self::Hosted => f.write_str("default of the hosted service"),
        }
    }
}

/// A value that a platform uses, with its origin. It never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextValue {
    /// The value's name: `product`, `token`, `organization`, `controlplane-url`, `base-url`, or a key of the
    /// configuration file.
    pub name: String,
    /// The value; `(set)` for a token, and `(PEM)` for certificates themselves.
    pub value: String,
    /// The value's origin.
    pub origin: Origin,
}

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Secret,
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number of at least 1.
    Number,
    /// PEM, or the path of a file of it.
    Certificates,
}

/// A row of the table of values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub name: &'static str,
    /// The environment variable, without the product's prefix; empty if there is none.
    variable: &'static str,
    /// The key of the configuration file.
    #[cfg(feature = "context")]
    key: &'static str,
    form: Form,
}

macro_rules! rows {
    ($($ident:ident: $name:literal, $variable:literal, $key:literal, $form:ident;)*) => {
        $(pub(crate) const $ident: Row = Row {
            name: $name,
            variable: $variable,
            #[cfg(feature = "context")]
            key: $key,
            form: Form::$form,
        };)*
        const ROWS: &[Row] = &[$($ident),*];
    };
}

rows! {
    TOKEN: "token", "TOKEN", "auth.token", Secret;
    ORGANIZATION: "organization", "ORGANIZATION", "organization", Text;
    CONTROL_PLANE: "controlplane-url", "CONTROLPLANE_URL", "control-plane.url", Text;
    BACKEND: "base-url", "BASE_URL", "platform.url", Text;
    GRPC: "control-plane.api", "CONTROL_PLANE_API", "control-plane.api", Text;
    PLAIN_TEXT: "api-insecure", "API_INSECURE", "api-insecure", Flag;
    GRPC_CA: "control-plane.api-ca", "CONTROL_PLANE_API_CA", "control-plane.api-ca", Certificates;
    STORE: "artifact-cas.api", "ARTIFACT_CAS_API", "artifact-cas.api", Text;
    STORE_CA: "artifact-cas.api-ca", "ARTIFACT_CAS_API_CA", "artifact-cas.api-ca", Certificates;
    CA_CERT: "ca-cert", "", "ca-cert", Certificates;
    MAX_RESULTS: "max-results", "", "max-results", Number;
}

/// The product's row is none of the table: its variable has no prefix, and it has no key.
const PRODUCT: &str = "product";

/// The addresses of a product that is hosted, as its command-line client has them built in.
#[cfg(feature = "context")]
struct Hosted {
    product: &'static str,
    addresses: [(Row, &'static str); 3],
}

#[cfg(feature = "context")]
const HOSTED: &[Hosted] = &[Hosted {
    product: "chainloop",
    addresses: [
        (GRPC, "api.cp.chainloop.dev:443"),
        (STORE, "api.cas.chainloop.dev:443"),
        (BACKEND, "https://api.app.chainloop.dev"),
    ],
}];

/// A value and its origin.
#[derive(Debug, Clone)]
pub(crate) struct Sourced {
    pub text: String,
    pub origin: Origin,
}

/// The values that are set so far. A value that is set isn't replaced by a source that is read later.
#[derive(Clone, Default)]
pub(crate) struct Values {
    pub credentials: Credentials,
    /// The values by name; of the token only that there is one.
    texts: BTreeMap<&'static str, Sourced>,
    /// The paths of endpoints, by name.
    pub paths: BTreeMap<String, Sourced>,
    /// The path of the configuration file that was read.
    pub file: Option<PathBuf>,
}

impl Values {
    pub fn get(&self, row: Row) -> Option<&Sourced> {
        self.texts.get(row.name)
    }

    /// Sets a value that isn't secret, or records that there is a token.
    pub fn set(&mut self, row: Row, text: impl Into<String>, origin: Origin) {
        self.texts.insert(row.name, Sourced { text: text.into(), origin });
    }

    pub fn set_credentials(&mut self, credentials: Credentials, origin: Origin) {
        self.credentials = credentials;
        self.set(TOKEN, "(set)", origin);
    }

    pub fn set_path(&mut self, name: String, path: String) {
        self.paths.insert(name, Sourced { text: path, origin: Origin::BUILDER });
    }

    /// Sets the value with this name, in the spelling of variables and options.
    pub fn give(&mut self, name: &str, text: String, origin: Origin) -> Result<(), Error> {
        let row = ROWS.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| Error::internal("there is no such value"))?;
        self.take(*row, text, origin)
    }

    fn take(&mut self, row: Row, text: String, origin: Origin) -> Result<(), Error> {
        match row.form {
            Form::Secret => {
                let token = Token::new(text).map_err(|error| origin.named_in(error))?;
                self.set_credentials(Credentials::Fixed(token), origin);
            }
            Form::Flag => {
                // The spellings of the service's command-line client.
                let value = match text.as_str() {
                    "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
                    "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
                    _ => {
                        let message = format!("{origin} is neither `true` nor `false`");
                        return Err(Error::configuration(message));
                    }
                };
                self.set(row, value.to_string(), origin);
            }
            Form::Text | Form::Number | Form::Certificates => self.set(row, text, origin),
        }
        Ok(())
    }

    /// Records the product, unless it is recorded or the default.
    pub fn set_product(&mut self, product: &Product, origin: Origin) {
        if *product != Product::default() {
            let sourced = || Sourced { text: product.to_string(), origin };
            self.texts.entry(PRODUCT).or_insert_with(sourced);
        }
    }

    /// Reads the variables of all values that aren't set.
    pub fn read_environment(&mut self, product: &Product) -> Result<(), Error> {
        for row in ROWS.iter().filter(|row| !row.variable.is_empty()) {
            if self.get(*row).is_none() {
                let name = product.env(row.variable);
                if let Some(text) = environment::read(&name)? {
                    self.take(*row, text, Origin::Environment(name))?;
                }
            }
        }
        Ok(())
    }

    /// Takes from a configuration file the values that aren't set.
    #[cfg(feature = "context")]
    pub fn read_file(&mut self, file: &File) -> Result<(), Error> {
        for row in ROWS {
            // Also checked if it isn't used: a wrong value is an error in the same place always.
            let Some(text) = file.text(*row)? else { continue };
            if self.get(*row).is_none() {
                self.take(*row, text, file.origin(row.key))?;
            }
        }
        for (name, path) in file.endpoints()? {
            let sourced = Sourced { text: path, origin: file.origin(file::ENDPOINTS) };
            self.paths.entry(name).or_insert(sourced);
        }
        self.file = Some(file.path.clone());
        Ok(())
    }

    /// Adds the addresses of a hosted product, unless any address is set: a token for a self-hosted service is never
    /// sent to a hosted one.
    #[cfg(feature = "context")]
    pub fn add_hosted(&mut self, product: &Product) {
        let is_set =
            [CONTROL_PLANE, BACKEND, GRPC, STORE].iter().any(|row| self.get(*row).is_some());
        let hosted = HOSTED.iter().find(|hosted| hosted.product == product.as_str());
        for (row, address) in hosted.filter(|_| !is_set).iter().flat_map(|hosted| &hosted.addresses)
        {
            self.set(*row, *address, Origin::Hosted);
        }
    }

    /// Removes what isn't used: gRPC where the control plane's HTTP address is set, the content store without gRPC,
    /// and certificates without TLS.
    pub fn remove_unused(&mut self) {
        let grpc = cfg!(feature = "grpc") && self.get(CONTROL_PLANE).is_none();
        let grpc = grpc && self.get(GRPC).is_some();
        let store = grpc && self.get(STORE).is_some();
        let tls = !self.is_plain_text();
        for (row, is_used) in [
            (GRPC, grpc),
            (GRPC_CA, grpc && tls),
            (STORE, store),
            (STORE_CA, store && tls),
            (PLAIN_TEXT, grpc),
        ] {
            if !is_used {
                self.texts.remove(row.name);
            }
        }
    }

    /// The token, unless a provider supplies it.
    pub fn fixed_token(&self) -> Option<Token> {
        match &self.credentials {
            Credentials::Fixed(token) => Some(token.clone()),
            _ => None,
        }
    }

    pub fn max_results(&self) -> usize {
        let given = self.get(MAX_RESULTS).map(|value| &*value.text);
        // A number that is too large for this machine is no limit.
        given.map_or(RESULTS, |text| text.parse().unwrap_or(usize::MAX))
    }

    pub fn has_certificates(&self) -> bool {
        ROWS.iter().any(|row| row.form == Form::Certificates && self.get(*row).is_some())
    }

    pub fn is_plain_text(&self) -> bool {
        self.get(PLAIN_TEXT).is_some_and(|value| value.text == "true")
    }

    /// The certificates in PEM of the rows that are set and used, checked.
    pub fn certificates(&self, timeout: Duration) -> Result<Vec<Vec<u8>>, Error> {
        let rows = ROWS.iter().filter(|row| row.form == Form::Certificates);
        rows.filter_map(|row| self.pem(*row, timeout).transpose()).collect()
    }

    /// The certificates in PEM of one row, checked.
    pub fn pem(&self, row: Row, timeout: Duration) -> Result<Option<Vec<u8>>, Error> {
        let Some(Sourced { text, origin }) = self.get(row) else { return Ok(None) };
        let (pem, place) = if let Some(pem) = inline(text) {
            (pem, origin.to_string())
        } else {
            let path = located(text, origin);
            let what = format!("the certificate file (from {origin})");
            let pem = files::read(&what, &path, MAX_CERTIFICATES, timeout)?;
            (pem, format!("`{}`, {origin}", escape_path(path)))
        };
        authorities(&pem).map_err(|error| error.from_origin(&place))?;
        Ok(Some(pem))
    }

    /// The values that are used, in the order of the table, with their origins.
    pub fn shown(&self) -> Vec<ContextValue> {
        let value = |name: &str, text: &str, origin: &Origin| ContextValue {
            name: name.to_owned(),
            value: text.to_owned(),
            origin: origin.clone(),
        };
        let rows = ROWS.iter().map(|row| (row.name, row.form));
        let rows = std::iter::once((PRODUCT, Form::Text)).chain(rows);
        let set = rows.filter_map(|(name, form)| {
            let Sourced { text, origin } = self.texts.get(name)?;
            Some(match form {
                Form::Certificates if inline(text).is_some() => value(name, "(PEM)", origin),
                Form::Certificates => {
                    value(name, &located(text, origin).display().to_string(), origin)
                }
                _ => value(name, text, origin),
            })
        });
        let path = |(name, path): (&String, &Sourced)| {
            value(&format!("endpoints.{name}"), &path.text, &path.origin)
        };
        set.chain(self.paths.iter().map(path)).collect()
    }
}

/// Returns the path of a file that a value names: relative to the configuration file, if that names it.
fn located(text: &str, origin: &Origin) -> PathBuf {
    let folder = match origin {
        Origin::File { path, .. } => path.parent(),
        _ => None,
    };
    folder.unwrap_or(Path::new("")).join(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The reference page has a row for each variable and key.
    #[test]
    fn the_reference_has_every_variable_and_key() {
        let page = include_str!("../docs/reference/configuration.md");
        for row in ROWS {
            let variable = format!("`PLATFORM_{}`", row.variable);
            assert!(row.variable.is_empty() || page.contains(&variable), "{variable}");
            #[cfg(feature = "context")]
            assert!(page.contains(&format!("`{}`", row.key)), "{}", row.key);
        }
    }

    #[cfg(feature = "context")]
    #[test]
    fn hosted_addresses_count_only_without_any_address() {
        let chainloop = Product::new("chainloop").unwrap();
        let set = |row: Option<Row>, product: &Product| {
            let mut values = Values::default();
            if let Some(row) = row {
                values.set(row, "x", Origin::BUILDER);
            }
            values.add_hosted(product);
            values.shown()
        };
        let hosted = set(None, &chainloop);
        assert!(hosted.iter().all(|value| value.origin == Origin::Hosted));
        let hosted: Vec<_> = hosted.iter().map(|v| (v.name.as_str(), v.value.as_str())).collect();
        // As the vendor's client has them built in.
        let expected = [
            ("base-url", "https://api.app.chainloop.dev"),
            ("control-plane.api", "api.cp.chainloop.dev:443"),
            ("artifact-cas.api", "api.cas.chainloop.dev:443"),
        ];
        assert_eq!(hosted, expected);
        for row in [CONTROL_PLANE, BACKEND, GRPC, STORE] {
            assert_eq!(set(Some(row), &chainloop).len(), 1, "{}", row.name);
        }
        assert_eq!(set(Some(ORGANIZATION), &chainloop).len(), 4);
        assert!(set(None, &Product::default()).is_empty());
    }
}
