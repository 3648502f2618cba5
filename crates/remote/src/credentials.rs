//! Credentials for registries, from Docker's configuration and its credential helpers.
//!
//! A registry's credentials are those of its name there, with or without a scheme and a path. Nothing that a helper
//! prints is shown.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rego_platform_client::text::{escape, escape_path};
use rego_platform_client::{Error, environment};
use secrecy::SecretString;
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// The maximum size of a configuration, and of a helper's response, in bytes.
const MAX_CONFIGURATION: u64 = 1 << 20;
const MAX_ANSWER: u64 = 64 << 10;

/// The user name with which helpers mark an identity token.
const TOKEN_USER: &str = "<token>";

/// Credentials for a registry.
#[derive(Debug, Clone)]
pub(crate) enum Credentials {
    Password(String, SecretString),
    /// An identity token, exchanged for access tokens.
    Identity(SecretString),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Configuration {
    #[serde(rename = "auths")]
    entries: BTreeMap<String, Login>,
    #[serde(rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
    #[serde(rename = "credsStore")]
    store: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Login {
    /// The user and the password, in base64.
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperResponse {
    username: String,
    secret: String,
}

/// The result of a search for credentials.
pub(crate) enum Found {
    None,
    Credentials(Credentials),
    /// The name of a helper that isn't installed.
    MissingHelper(String),
}

/// Returns the credentials of a repository, by its registry's name in Docker's configuration.
pub(crate) async fn find(registry: &str, repository: &str) -> Result<Found, Error> {
    let Some(path) = path()? else { return Ok(Found::None) };
    let Some(text) = read(&path)? else { return Ok(Found::None) };
    let shown = escape_path(path);
    // The parser's message may repeat a part of the text.
    let mut configuration: Configuration = serde_json::from_str(&text)
        .map_err(|_| Error::configuration(format!("invalid configuration of Docker: `{shown}`")))?;
    if let Some(helper) = configuration.helpers.get(registry) {
        return ask(helper, registry).await;
    }
    let key = key(configuration.entries.keys(), registry, repository).map(str::to_owned);
    if let Some(entry) = key.and_then(|key| configuration.entries.remove(&key))
        && let Some(found) = entry.credentials().ok_or_else(|| {
            Error::configuration(format!(
                "invalid credentials of `{}` in `{shown}`",
                escape(registry)
            ))
            .with_hint("log in again with `docker login`")
        })?
    {
        return Ok(Found::Credentials(found));
    }
    match configuration.store.as_str() {
        "" => Ok(Found::None),
        store => ask(store, registry).await,
    }
}

/// Returns the key for a repository: the longest path prefix (`REGISTRY/TEAM`, as written by Podman), the
/// registry's name, or an address of it (`https://REGISTRY/v2/`, as written by older clients).
fn key<'k>(
    keys: impl Iterator<Item = &'k String>,
    registry: &str,
    repository: &str,
) -> Option<&'k str> {
    let host = |text: &'_ str| -> Option<String> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
        Some(rest.split('/').next().unwrap_or_default().to_ascii_lowercase())
    };
    let own = host(registry).unwrap_or_else(|| registry.to_ascii_lowercase());
    let whole = format!("{own}/{repository}/");
    let rank = |key: &str| {
        if key == registry {
            return Some(1);
        }
        let key = key.trim_end_matches('/');
        // The versions of the interface aren't repositories.
        let bare = key.strip_suffix("/v1").or_else(|| key.strip_suffix("/v2")).unwrap_or(key);
        match host(key) {
            Some(other) => (other == own).then_some(0),
            None if key.eq_ignore_ascii_case(&own) => Some(1),
            None if bare.eq_ignore_ascii_case(&own) => Some(0),
            None => whole.starts_with(&format!("{key}/")).then(|| 1 + key.len()),
        }
    };
    let ranked = keys.filter_map(|key| Some((rank(key)?, key.as_str())));
    ranked.max_by_key(|(rank, _)| *rank).map(|(_, key)| key)
}

/// Returns the path of Docker's configuration.
fn path() -> Result<Option<PathBuf>, Error> {
    let folder = match environment::read("DOCKER_CONFIG")? {
        Some(folder) => Some(PathBuf::from(folder)),
        None => std::env::home_dir().map(|home| home.join(".docker")),
    };
    Ok(folder.map(|folder| folder.join("config.json")))
}

fn read(path: &std::path::Path) -> Result<Option<String>, Error> {
    use std::io::Read as _;
    let failed = |error: std::io::Error| {
        Error::configuration(format!("`{}` can't be read", escape_path(path))).with_source(error)
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut text = String::new();
    file.take(MAX_CONFIGURATION).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

impl Login {
    /// Returns the credentials, if there are any; `None` if they can't be read.
    fn credentials(self) -> Option<Option<Credentials>> {
        if !self.identitytoken.is_empty() {
            return Some(Some(Credentials::Identity(self.identitytoken.into())));
        }
        if self.auth.is_empty() {
            let is_there = !self.username.is_empty();
            let found =
                is_there.then(|| Credentials::Password(self.username, self.password.into()));
            return Some(found);
        }
        let decoded = String::from_utf8(STANDARD.decode(self.auth.trim()).ok()?).ok()?;
        let (user, password) = decoded.split_once(':')?;
        let password = password.trim_end_matches('\0').to_owned();
        Some(Some(Credentials::Password(user.to_owned(), password.into())))
    }
}

/// Runs a helper from the search path. Without credentials it fails, as it also does where it isn't set up;
/// then there are none.
async fn ask(helper: &str, registry: &str) -> Result<Found, Error> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if helper.is_empty() || !helper.chars().all(is_name) {
        let message = format!("invalid name of a credential helper: `{}`", escape(helper));
        return Err(
            Error::configuration(message).with_hint("correct the name in Docker's configuration")
        );
    }
    let mut command = Command::new(format!("docker-credential-{helper}"));
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = match command.kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Found::MissingHelper(helper.to_owned()));
        }
        Err(error) => {
            let message = format!("can't start the credential helper `{helper}`");
            return Err(Error::configuration(message).with_source(error));
        }
    };
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    if let Some(mut stdin) = stdin {
        // A helper that reads nothing has ended already.
        let _ = stdin.write_all(registry.as_bytes()).await;
    }
    let mut text = Vec::new();
    let failed = |error: std::io::Error| {
        Error::configuration(format!("can't communicate with the credential helper `{helper}`"))
            .with_source(error)
    };
    if let Some(stdout) = stdout {
        stdout.take(MAX_ANSWER).read_to_end(&mut text).await.map_err(failed)?;
    }
    if !child.wait().await.map_err(failed)?.success() {
        return Ok(Found::None);
    }
    let answer: HelperResponse = serde_json::from_slice(&text).map_err(|_| {
        Error::configuration(format!("invalid response of the credential helper `{helper}`"))
            .with_hint("log in again with `docker login`")
    })?;
    let secret = SecretString::from(answer.secret);
    Ok(Found::Credentials(if answer.username == TOKEN_USER {
        Credentials::Identity(secret)
    } else {
        Credentials::Password(answer.username, secret)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_registry_an_address_of_it_or_a_path_in_it() {
        let find = |keys: &[&str], repository: &str| {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            key(keys.iter(), "r.example:5000", repository).map(str::to_owned)
        };
        for key in [
            "r.example:5000",
            "R.example:5000",
            "https://r.example:5000",
            "https://R.EXAMPLE:5000/",
            "https://r.example:5000/v2/",
            "http://r.example:5000/v1/",
            "r.example:5000/v2/",
            "r.example:5000/team",
            "r.example:5000/team/app",
        ] {
            assert_eq!(find(&[key], "team/app").as_deref(), Some(key));
        }
        for key in [
            "r.example",
            "https://r.example",
            "https://x.r.example:5000",
            "r.example:5000/other",
            "r.example:5000/te",
            "r.example:5000/team/app/more",
            "https://evil.example/r.example:5000",
        ] {
            assert_eq!(find(&[key], "team/app"), None, "{key}");
        }
        let all = ["http://r.example:5000", "r.example:5000", "r.example:5000/team"];
        assert_eq!(find(&all, "team/app").as_deref(), Some("r.example:5000/team"));
        assert_eq!(find(&all, "app").as_deref(), Some("r.example:5000"));
        let hub = "https://index.docker.io/v1/".to_owned();
        let other = "index.docker.io".to_owned();
        for keys in [[&other, &hub], [&hub, &hub]] {
            assert_eq!(key(keys.into_iter(), &hub, "library/app"), Some(hub.as_str()));
        }
        assert_eq!(key([&other].into_iter(), &hub, "library/app"), Some(other.as_str()));
    }
}
