//! The configuration file of the service's command-line client.
//!
//! Owns the file's location and the form of its values; keys that aren't in the table are for other programs. No
//! message repeats any of its text: it may contain a token.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy as _;
use rego_platform_client::files;
use rego_platform_client::unreadable::unreadable;
use toml::{Table, Value};

use super::{Form, Origin, Row};
use crate::text::{escape, escape_path};
use crate::{Error, Product};

/// The table with the paths of endpoints.
pub const ENDPOINTS: &str = "endpoints";

/// The largest configuration file, in bytes; it is a page of text.
const MAX_BYTES: u64 = 1 << 20;

/// The name of the file in errors.
const WHAT: &str = "the configuration file";

/// A configuration file.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    table: Table,
}

impl File {
    /// Reads a file, which must exist. A pipe must end within `timeout`.
    pub fn read(path: PathBuf, timeout: Duration) -> Result<Self, Error> {
        let text = String::from_utf8(files::read(WHAT, &path, MAX_BYTES, timeout)?)
            .map_err(|_| unreadable(WHAT, &path, std::io::Error::other("it isn't UTF-8")))?;
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: PathBuf) -> Result<Self, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match toml::from_str(text) {
            Ok(table) => Ok(Self { path, table }),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                let before = text.bytes().take(start);
                let line = before.filter(|byte| *byte == b'\n').count() + 1;
                let message = format!("line {line} of {} isn't valid TOML", shown(&path));
                Err(Error::configuration(message)
                    .with_hint("the line isn't shown, since it may hold a token"))
            }
        }
    }

    pub fn origin(&self, key: &'static str) -> Origin {
        Origin::File { key, path: self.path.clone() }
    }

    /// Returns the value of a row's key; `None` if it is missing or blank.
    pub fn text(&self, row: Row) -> Result<Option<String>, Error> {
        let Some(value) = self.get(row.key) else { return Ok(None) };
        match (row.form, value) {
            (Form::Secret | Form::Text | Form::Certificates, Value::String(text)) => {
                Ok(Some(text.clone()).filter(|text| !text.trim().is_empty()))
            }
            (Form::Flag, Value::Boolean(value)) => Ok(Some(value.to_string())),
            (Form::Number, Value::Integer(number)) if *number >= 1 => Ok(Some(number.to_string())),
            (Form::Flag, _) => Err(self.unexpected(row.key, "`true` or `false`")),
            (Form::Number, _) => Err(self.unexpected(row.key, "a whole number of at least 1")),
            _ => Err(self.unexpected(row.key, "a string")),
        }
    }

    fn get(&self, key: &str) -> Option<&Value> {
        let mut parts = key.split('.');
        let first = self.table.get(parts.next()?)?;
        // A scalar where a table is expected is another program's key with that name.
        parts.try_fold(first, |value, part| value.as_table()?.get(part))
    }

    /// Returns the paths of endpoints, by name.
    pub fn endpoints(&self) -> Result<BTreeMap<String, String>, Error> {
        let Some(value) = self.get(ENDPOINTS) else { return Ok(BTreeMap::new()) };
        let table =
            value.as_table().ok_or_else(|| self.unexpected(ENDPOINTS, "a table of paths"))?;
        table
            .iter()
            .map(|(name, path)| match path {
                Value::String(path) => Ok((name.clone(), path.clone())),
                _ => Err(self.unexpected(&format!("{ENDPOINTS}.{name}"), "a path")),
            })
            .collect()
    }

    fn unexpected(&self, key: &str, expected: &str) -> Error {
        let message = format!("`{}` in {} isn't {expected}", escape(key), shown(&self.path));
        Error::configuration(message)
    }
}

/// Returns the path of the configuration file of a product's command-line client, whether it exists or not:
/// `$XDG_CONFIG_HOME/<product>/config.toml`, with the defaults of XDG on every system.
pub fn default_path(product: &Product) -> Option<PathBuf> {
    let base = etcetera::base_strategy::Xdg::new().ok()?;
    Some(base.config_dir().join(product.as_str()).join("config.toml"))
}

/// Returns `true` if there is no file at the path. A file that can't be looked at counts as one that exists.
pub fn is_missing(path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let error = std::fs::metadata(path).err();
    error.is_some_and(|error| matches!(error.kind(), NotFound | NotADirectory))
}

fn shown(path: &Path) -> String {
    format!("`{}`", escape_path(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

    use super::super::{
        CA_CERT, GRPC, MAX_RESULTS, ORGANIZATION, PLAIN_TEXT, ROWS, Row, TOKEN, Values,
    };
    use super::*;

    fn parse(text: &str) -> Result<File, Error> {
        File::parse(text, PathBuf::from("/folder/config.toml"))
    }

    /// Reads all that a platform takes from the file.
    fn read(text: &str) -> Result<Values, Error> {
        let mut values = Values::default();
        values.read_file(&parse(text)?).map(|()| values)
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
        for row in ROWS {
            assert!(config.text(*row).unwrap().is_some(), "{}", row.name);
        }
        let of = |row: Row| config.text(row).unwrap().unwrap();
        assert_eq!(of(ORGANIZATION), "acme");
        assert_eq!(of(GRPC), "h:443");
        assert_eq!((of(PLAIN_TEXT), of(MAX_RESULTS)), ("true".to_owned(), "7".to_owned()));
        assert_eq!(config.endpoints().unwrap()["discover"], "/d/{digest}");
        let mut values = Values::default();
        values.set(ORGANIZATION, "before", Origin::BUILDER);
        values.read_file(&config).unwrap();
        assert_eq!(values.get(ORGANIZATION).unwrap().text, "before");
        let shown = values.shown();
        let certificate = shown.iter().find(|value| value.name == CA_CERT.name).unwrap();
        assert_eq!(certificate.value, "/folder/ca.pem");
        let token = shown.iter().find(|value| value.name == TOKEN.name).unwrap();
        assert_eq!(token.value, "(set)");
        assert_eq!(token.origin.to_string(), "`auth.token` in `/folder/config.toml`");
    }

    proptest::proptest! {
        #[test]
        fn random_text_never_sets_a_value(text in "\\PC{0,200}") {
            // Random text never spells one of the keys: a file that parses sets nothing.
            if let Ok(values) = read(&text) {
                proptest::prop_assert!(values.shown().is_empty());
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
                Ok(config) => match config.text(TOKEN) {
                    Ok(token) if key != "token" || (quoted && value.trim().is_empty()) => {
                        proptest::prop_assert_eq!(token, None);
                    }
                    Ok(token) => proptest::prop_assert!(!quoted || token == Some(value)),
                    Err(_) => proptest::prop_assert!(!quoted),
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
        for text in ["organization = ' '\n[auth]\ntoken = ''\n", "platform = 'x'"] {
            assert!(read(text).unwrap().shown().is_empty());
        }
    }

    #[test]
    fn errors_name_the_key_and_never_repeat_the_value() {
        for (text, expected) in [
            ("a = 1\n[auth]\ntoken = \"canary\n", "line 3 of `/folder/config.toml`"),
            ("canary\n", "line 1 of"),
            ("[auth]\ntoken = canary", "line 2 of"),
            ("[auth]\ntoken = ['canary']", "`auth.token` in `/folder/config.toml` isn't a string"),
            ("[auth]\ntoken = 'canary \u{e9}'", "(from `auth.token` in `/folder/config.toml`)"),
            ("max-results = 0", "`max-results`"),
            ("max-results = 'canary'", "`max-results`"),
            ("api-insecure = 'canary'", "`api-insecure`"),
            ("[control-plane]\napi = 443", "`control-plane.api`"),
            ("endpoints = 'canary'", "`endpoints`"),
            ("[endpoints]\ndiscover = 1", "`endpoints.discover`"),
        ] {
            let Err(error) = read(text) else { panic!("{text}") };
            let all = format!("{} {:?}", error.report(), error);
            assert!(all.contains(expected) && !all.contains("canary"), "{text}: {all}");
        }
    }
}
