//! The configuration file of the platform's command-line client.
//!
//! Owns the file's location and the keys that are used here; other keys are for other programs. No
//! message repeats any of its text: it may contain a token.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy as _;
use rego_platform::{Error, ErrorKind, Product};
use rego_platform_client::text::escape;
use rego_platform_client::unreadable::unreadable;
use secrecy::SecretString;
use toml::{Table, Value};

use super::option_files;

/// The settings of a configuration file; empty values count as absent.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub path: PathBuf,
    pub token: Option<SecretString>,
    pub organization: Option<String>,
    pub controlplane_url: Option<String>,
    pub base_url: Option<String>,
    pub grpc_address: Option<String>,
    /// A file, or PEM.
    pub grpc_ca: Option<String>,
    pub store_address: Option<String>,
    /// A file, or PEM.
    pub store_ca: Option<String>,
    pub grpc_plain_text: Option<bool>,
    pub endpoints: BTreeMap<String, String>,
    pub max_results: Option<usize>,
    pub ca_cert: Option<PathBuf>,
}

pub(super) const TOKEN: &str = "auth.token";
pub(super) const ORGANIZATION: &str = "organization";
pub(super) const CONTROLPLANE_URL: &str = "control-plane.url";
pub(super) const BASE_URL: &str = "platform.url";
pub(super) const GRPC_ADDRESS: &str = "control-plane.api";
pub(super) const GRPC_CA: &str = "control-plane.api-ca";
pub(super) const STORE_ADDRESS: &str = "artifact-cas.api";
pub(super) const STORE_CA: &str = "artifact-cas.api-ca";
pub(super) const GRPC_PLAIN_TEXT: &str = "api-insecure";
pub(super) const CA_CERT: &str = "ca-cert";
pub(super) const ENDPOINTS: &str = "endpoints";
pub(super) const MAX_RESULTS: &str = "max-results";

/// The largest configuration file, in bytes; it is a page of text.
const MAX_BYTES: u64 = 1 << 20;

/// The name of the file in errors.
const WHAT: &str = "the configuration file";

impl Config {
    /// Reads `explicit`, which must exist, or else the default file, which need not.
    pub fn read(
        explicit: Option<&Path>,
        product: &Product,
        timeout: Duration,
    ) -> Result<Option<Self>, Error> {
        let path = match explicit {
            Some(path) => path.to_owned(),
            None => match default_path(product) {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        let missing = || {
            use std::io::ErrorKind::{NotADirectory, NotFound};
            let error = std::fs::metadata(&path).err();
            error.is_some_and(|error| matches!(error.kind(), NotFound | NotADirectory))
        };
        if explicit.is_none() && missing() {
            return Ok(None);
        }
        let text = String::from_utf8(option_files::read(WHAT, &path, MAX_BYTES, timeout)?)
            .map_err(|_| unreadable(WHAT, &path, std::io::Error::other("it isn't UTF-8")))?;
        Self::parse(&text, path).map(Some)
    }

    fn parse(text: &str, path: PathBuf) -> Result<Self, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let table: Table = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.bytes().take(start);
            let line = before.filter(|byte| *byte == b'\n').count() + 1;
            let message = format!("line {line} of {} isn't valid TOML", shown(&path));
            Error::new(ErrorKind::Configuration, message)
                .with_hint("the line isn't shown, since it may hold a token")
        })?;
        let keys = Keys { table: &table, path: &path };
        let max_results = match keys.get(MAX_RESULTS) {
            None => None,
            Some(Value::Integer(n)) if *n >= 1 => Some(usize::try_from(*n).unwrap_or(usize::MAX)),
            Some(_) => return Err(keys.wrong(MAX_RESULTS, "a whole number of at least 1")),
        };
        // Relative to the configuration file, wherever the command runs.
        let folder = path.parent().unwrap_or(Path::new("."));
        let ca_cert = keys.string(CA_CERT)?.map(|file| folder.join(file));
        Ok(Self {
            token: keys.string(TOKEN)?.map(SecretString::from),
            organization: keys.string(ORGANIZATION)?,
            controlplane_url: keys.string(CONTROLPLANE_URL)?,
            base_url: keys.string(BASE_URL)?,
            grpc_address: keys.string(GRPC_ADDRESS)?,
            grpc_ca: keys.string(GRPC_CA)?,
            store_address: keys.string(STORE_ADDRESS)?,
            store_ca: keys.string(STORE_CA)?,
            grpc_plain_text: keys.boolean(GRPC_PLAIN_TEXT)?,
            endpoints: keys.endpoints()?,
            max_results,
            ca_cert,
            path,
        })
    }
}

struct Keys<'a> {
    table: &'a Table,
    path: &'a Path,
}

impl Keys<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        let mut table = self.table;
        let mut parts = key.split('.').peekable();
        while let Some(part) = parts.next() {
            let value = table.get(part)?;
            if parts.peek().is_none() {
                return Some(value);
            }
            // A scalar where a table is expected is another program's key with that name.
            table = value.as_table()?;
        }
        None
    }

    fn string(&self, key: &str) -> Result<Option<String>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(key, "a string")),
        }
    }

    fn boolean(&self, key: &str) -> Result<Option<bool>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Boolean(value)) => Ok(Some(*value)),
            Some(_) => Err(self.wrong(key, "`true` or `false`")),
        }
    }

    fn endpoints(&self) -> Result<BTreeMap<String, String>, Error> {
        let Some(value) = self.get(ENDPOINTS) else { return Ok(BTreeMap::new()) };
        let table = value.as_table().ok_or_else(|| self.wrong(ENDPOINTS, "a table of paths"))?;
        table
            .iter()
            .map(|(name, path)| match path {
                Value::String(path) => Ok((name.clone(), path.clone())),
                _ => Err(self.wrong(&format!("{ENDPOINTS}.{name}"), "a path")),
            })
            .collect()
    }

    fn wrong(&self, key: &str, expected: &str) -> Error {
        let message = format!("`{}` in {} isn't {expected}", escape(key), shown(self.path));
        Error::new(ErrorKind::Configuration, message)
    }
}

/// Returns `<configuration folder>/<product>/config.toml`; the folder follows the XDG rules on
/// every system.
pub(super) fn default_path(product: &Product) -> Option<PathBuf> {
    let base = etcetera::base_strategy::Xdg::new().ok()?;
    Some(base.config_dir().join(product.as_str()).join("config.toml"))
}

fn shown(path: &Path) -> String {
    format!("`{}`", escape(&path.display().to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parse(text: &str) -> Result<Config, Error> {
        Config::parse(text, PathBuf::from("/folder/config.toml"))
    }

    #[test]
    fn known_keys_are_read_and_others_ignored() {
        let config = parse(
            "organization = 'acme'\napi-insecure = true\nca-cert = 'ca.pem'\nmax-results = 7\nother = [1]\n\
             [auth]\ntoken = 't'\nmode = 3\n[control-plane]\nurl = 'https://c'\napi = 'h:443'\napi-ca = 'x'\n\
             [artifact-cas]\napi = 's:443'\napi-ca = 'y'\n\
             [platform]\nurl = 'https://b'\n[endpoints]\ndiscover = '/d/{digest}'\n",
        )
        .unwrap();
        assert!(config.token.is_some());
        assert_eq!(config.organization.as_deref(), Some("acme"));
        assert_eq!(config.controlplane_url.as_deref(), Some("https://c"));
        assert_eq!(config.base_url.as_deref(), Some("https://b"));
        assert_eq!(config.grpc_address.as_deref(), Some("h:443"));
        assert_eq!(config.grpc_ca.as_deref(), Some("x"));
        assert_eq!(config.store_address.as_deref(), Some("s:443"));
        assert_eq!(config.store_ca.as_deref(), Some("y"));
        assert_eq!(config.grpc_plain_text, Some(true));
        assert_eq!(config.endpoints.get("discover").map(String::as_str), Some("/d/{digest}"));
        assert_eq!(config.max_results, Some(7));
        assert_eq!(config.ca_cert, Some(PathBuf::from("/folder/ca.pem")));
    }

    proptest::proptest! {
        #[test]
        fn random_text_never_sets_a_token_or_an_address(text in "\\PC{0,200}") {
            // Random text never spells one of the keys: a file that parses sets nothing.
            if let Ok(config) = parse(&text) {
                proptest::prop_assert!(config.token.is_none() && config.base_url.is_none());
            }
        }

        #[test]
        fn a_value_is_read_whole_or_refused(
            key in "token|mode|tokens",
            value in "[ -~]{0,30}",
            quoted in proptest::bool::ANY,
        ) {
            let written = if quoted { Value::String(value.clone()).to_string() } else { value.clone() };
            match parse(&format!("[auth]\n{key} = {written}\n")) {
                Ok(config) => {
                    use secrecy::ExposeSecret as _;
                    let token = config.token.as_ref().map(|token| token.expose_secret().to_owned());
                    if key != "token" || (quoted && value.trim().is_empty()) {
                        proptest::prop_assert_eq!(token, None);
                    } else if quoted {
                        proptest::prop_assert_eq!(token, Some(value));
                    }
                }
                Err(error) => {
                    let shown = format!("{} {error:?} {:?}", error.report(), error.hint());
                    proptest::prop_assert!(!quoted, "{}", shown);
                    proptest::prop_assert!(value.len() < 8 || !shown.contains(&value), "{}", shown);
                }
            }
        }
    }

    #[test]
    fn empty_values_count_as_absent() {
        let config = parse("organization = ' '\n[auth]\ntoken = ''\n").unwrap();
        assert!(config.token.is_none() && config.organization.is_none());
        assert!(parse("platform = 'x'").unwrap().base_url.is_none());
    }

    #[test]
    fn errors_name_the_key_and_never_repeat_the_value() {
        for (text, expected) in [
            ("a = 1\n[auth]\ntoken = \"canary\n", "line 3 of `/folder/config.toml`"),
            ("canary\n", "line 1 of"),
            ("[auth]\ntoken = canary", "line 2 of"),
            ("[auth]\ntoken = ['canary']", "`auth.token` in `/folder/config.toml` isn't a string"),
            ("max-results = 0", "`max-results`"),
            ("max-results = 'canary'", "`max-results`"),
            ("api-insecure = 'canary'", "`api-insecure`"),
            ("[control-plane]\napi = 443", "`control-plane.api`"),
            ("endpoints = 'canary'", "`endpoints`"),
            ("[endpoints]\ndiscover = 1", "`endpoints.discover`"),
        ] {
            let error = parse(text).unwrap_err();
            let all = format!("{} {:?}", error.report(), error);
            assert!(all.contains(expected) && !all.contains("canary"), "{text}: {all}");
        }
    }
}
