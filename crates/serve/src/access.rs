//! Access control: the address that a server listens on, tokens, certificates, and headers of browsers.
//!
//! Owns the refusal of a request before anything of it is read.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header, uri::Authority};
use rego_platform::Error;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::answer::Refusal;
use super::setting;
use super::tls::Tls;

/// The path of the webhook for admission.
pub(crate) const ADMISSION: &str = "/v1/admission";

/// The path of the provider of external data.
pub(crate) const PROVIDER: &str = "/v1/provider";

/// The fewest characters of a token, so that it can't be guessed.
const SHORTEST: usize = 16;

/// The clients that a server accepts.
///
/// A request is refused if a page in a browser sent it: it has `Origin`, or a `Sec-Fetch-Site` other than
/// `none`. On loopback it must name a loopback address as its host. With tokens, every request but `GET /health` must carry one.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Access {
    /// Set to allow an address that other machines can reach.
    pub expose: bool,
    /// The tokens, one of which a request must carry as `Authorization: Bearer`; none by default.
    pub tokens: Vec<AccessToken>,
    /// Encryption, and the certificates that clients must show; none by default.
    pub tls: Option<Tls>,
    /// The secret at the end of the webhooks' addresses, which stands for a token; none by default, and their
    /// addresses have none. With it alone, an exposed server answers the webhooks and `GET /health` only.
    pub webhook_secret: Option<WebhookSecret>,
}

/// The secret at the end of the webhooks' addresses, for clients that can't send a token. Only its digest is kept.
#[derive(Debug, Clone)]
pub struct WebhookSecret(AccessToken);

impl WebhookSecret {
    /// Creates a secret from its text.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) when it has less than 16 characters, or others than letters, digits,
    /// `-`, `.`, `_` and `~`.
    pub fn new(text: &str) -> Result<Self, Error> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if !text.bytes().all(is_plain) {
            let message = "the webhook secret has a character other than letters, digits, `-`, `.`, `_` and `~`";
            let hint = "generate one with `openssl rand -hex 32`";
            return Err(Error::configuration(message).with_hint(hint));
        }
        AccessToken::new(text).map(Self)
    }
}

/// A token that a client may carry. Only its digest is kept.
#[derive(Clone)]
pub struct AccessToken([u8; 32]);

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken(..)")
    }
}

impl AccessToken {
    /// Creates a token from its text.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) when it has less than 16 characters, or others than those of ASCII that
    /// can be seen.
    pub fn new(text: &str) -> Result<Self, Error> {
        let wrong = |message: String| {
            Error::configuration(message).with_hint("generate one with `openssl rand -hex 32`")
        };
        if text.len() < SHORTEST {
            return Err(wrong(format!("token too short: expected at least {SHORTEST} characters")));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("invalid token: expected visible ASCII characters".to_owned()));
        }
        Ok(Self(digest(text)))
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl Access {
    /// Checks that `listen` may be listened on.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) when other machines could reach it and that isn't allowed, or anyone
    /// could ask.
    pub(crate) fn check(&self, listen: SocketAddr) -> Result<(), Error> {
        let wrong = |message| Error::configuration(message);
        if !listen.ip().is_loopback() && !self.expose {
            let error = wrong(format!("address reachable from other machines: `{listen}`"));
            return Err(error.with_hint("listen on 127.0.0.1").by_setting(setting::EXPOSED));
        }
        if self.expose && self.is_open() && self.webhook_secret.is_none() {
            let error = wrong(format!("no access control for `{listen}`"));
            return Err(error.by_setting(setting::CLIENTS));
        }
        Ok(())
    }

    /// Returns `true` if neither tokens nor certificates limit the clients.
    fn is_open(&self) -> bool {
        self.tokens.is_empty() && !self.tls.as_ref().is_some_and(Tls::knows_clients)
    }

    /// Returns why a request isn't answered, if its client may not ask.
    pub(crate) fn refusal(&self, request: &Request) -> Option<Refusal> {
        let refused = |status, message: &str| Some(Refusal::new(status, "unauthorized", message));
        if is_of_page(request.headers()) {
            let message = "request refused: it is from a page in a browser";
            return refused(StatusCode::FORBIDDEN, message);
        }
        let host = host(request);
        if !self.expose && !host.as_deref().is_some_and(is_loopback) {
            let message = "request refused: its host isn't a loopback address";
            return refused(StatusCode::FORBIDDEN, message);
        }
        let path = request.uri().path();
        if let (Some(secret), Some(given)) = (&self.webhook_secret, webhook_secret(path)) {
            let is_right = secret.0.0.ct_eq(&digest(given)).into();
            let message = "the address doesn't end with the webhook secret";
            return if is_right { None } else { refused(StatusCode::UNAUTHORIZED, message) };
        }
        // Exposed by the webhook secret alone, it is nobody else's.
        let needs_token = !self.tokens.is_empty() || self.expose && self.is_open();
        if needs_token && path != "/health" && !self.has_token(request.headers()) {
            return refused(StatusCode::UNAUTHORIZED, "the request has no valid token");
        }
        None
    }

    /// Returns `true` if the headers have one of the tokens. The time that it takes doesn't depend on
    /// which, or on how much of one is right.
    fn has_token(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        // Of two, a proxy may have looked at the other.
        let (Some(only), None) = (given.next(), given.next()) else { return false };
        let Some((scheme, given)) = only.to_str().ok().and_then(|value| value.split_once(' '))
        else {
            return false;
        };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return false;
        }
        let given = digest(given.trim());
        let equal = |all, token: &AccessToken| all | token.0.ct_eq(&given);
        self.tokens.iter().fold(subtle::Choice::from(0), equal).into()
    }
}

/// Returns what follows the address of a webhook, and may be the secret.
fn webhook_secret(path: &str) -> Option<&str> {
    [ADMISSION, PROVIDER].iter().find_map(|address| {
        let rest = path.strip_prefix(address)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    })
}

fn is_of_page(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    headers.contains_key(header::ORIGIN) || sites.any(|site| site != "none")
}

/// Returns the host that a request names, without its port: that of its address, if it has one, and that of
/// its only `Host` otherwise.
fn host(request: &Request) -> Option<String> {
    if let Some(authority) = request.uri().authority() {
        return Some(authority.host().to_owned());
    }
    let mut named = request.headers().get_all(header::HOST).iter();
    let (Some(only), None) = (named.next(), named.next()) else { return None };
    let authority: Authority = only.to_str().ok()?.parse().ok()?;
    Some(authority.host().to_owned())
}

fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let is_address = || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    host.eq_ignore_ascii_case("localhost") || is_address()
}
