//! Tokens: kinds, expiry and providers.
//!
//! Owns the secret and the reading of its claims (interface section 5), unverified: the service
//! verifies them. Doesn't look for tokens in options, environment or files; hosts do.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::FutureExt as _;
use secrecy::{ExposeSecret as _, SecretString};

use super::token_search::TokenSearch;
use crate::runtime::panicked;
use crate::{Error, Product, setting};

/// The clock skew that is allowed for before an expired token is refused without a request.
const LEEWAY: TimeDelta = TimeDelta::seconds(60);

/// The purpose that a token is issued for (interface 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenKind {
    /// A person's token, valid for 24 hours; it can select an organization by header.
    User,
    /// A token bound to one organization, meant for automation.
    Api,
}

impl std::fmt::Display for TokenKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::User => "user token",
            Self::Api => "API token",
        })
    }
}

/// A bearer token. Neither `Debug` nor any error of this crate shows it.
#[derive(Clone)]
pub struct Token {
    secret: Arc<SecretString>,
    audiences: Vec<String>,
    is_opaque: bool,
    expires_at: Option<DateTime<Utc>>,
    /// The search for it in answers, set up at the first one.
    search: Arc<OnceLock<TokenSearch>>,
}

#[derive(serde::Deserialize)]
struct Claims {
    #[serde(default)]
    aud: Option<Audience>,
    #[serde(default)]
    exp: Option<serde_json::Number>,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// Reads the claims of a JWT, unverified: they serve for the wording of errors and the choice
/// of headers only.
fn claims(token: &str) -> Option<Claims> {
    let mut parts = token.split('.');
    let (Some(_), Some(claims), Some(_), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let json = URL_SAFE_NO_PAD.decode(claims).ok()?;
    serde_json::from_slice(&json).ok()
}

impl Token {
    /// Creates a token from its text, without surrounding white space.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when it is empty or has characters that no header can carry.
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let secret = SecretString::from(text.into());
        let text = secret.expose_secret().trim();
        if text.is_empty() {
            return Err(Error::configuration("empty token"));
        }
        let invalid =
            |message: &str, hint: &str| Err(Error::configuration(message).with_hint(hint));
        let scheme = text.split_once(char::is_whitespace).map(|(scheme, _)| scheme);
        if scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer")) {
            return invalid("the token begins with `Bearer`", "remove `Bearer `");
        }
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return invalid(
                "invalid character in the token: expected printable ASCII without white space",
                "copy the token again, without quotes and line breaks",
            );
        }
        if text.starts_with(['"', '\'']) || text.ends_with(['"', '\'']) {
            return invalid("quotes around the token", "remove the quotes");
        }
        // Anything that isn't a JWT is an opaque token: no audience, no expiry.
        let claims = claims(text);
        let is_opaque = claims.is_none();
        let (aud, exp) = claims.map_or((None, None), |c| (c.aud, c.exp));
        let audiences = match aud {
            None => Vec::new(),
            Some(Audience::One(one)) => vec![one],
            Some(Audience::Many(many)) => many,
        };
        let expires_at = exp.and_then(|n| seconds(&n)).and_then(|s| DateTime::from_timestamp(s, 0));
        Ok(Self {
            secret: Arc::new(SecretString::from(text.to_owned())),
            audiences,
            is_opaque,
            expires_at,
            search: Arc::default(),
        })
    }

    /// Returns `true` if this isn't a JWT, so that it has no claims.
    pub const fn is_opaque(&self) -> bool {
        self.is_opaque
    }

    /// Returns [`TokenKind::Api`] for an API token of `product`; any other token, opaque ones
    /// included, is treated as a user token.
    pub fn kind(&self, product: &Product) -> TokenKind {
        if self.audiences.contains(&product.api_audience()) {
            TokenKind::Api
        } else {
            TokenKind::User
        }
    }

    /// Returns the time when it expires, if it has such a claim. Unverified.
    pub const fn expires_at(&self) -> Option<DateTime<Utc>> {
        self.expires_at
    }

    /// Returns `true` if it has expired at `now`, with a minute allowed for clock skew.
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_some_and(|at| now > at + LEEWAY)
    }

    /// Returns the time since it expired, or until it does, for people: `3 hours`.
    pub fn distance(&self, now: DateTime<Utc>) -> Option<String> {
        self.expires_at.map(|at| rounded((now - at).abs()))
    }

    pub fn header(&self) -> Result<reqwest::header::HeaderValue, Error> {
        let text = format!("Bearer {}", self.secret.expose_secret());
        let mut value = reqwest::header::HeaderValue::from_str(&text)
            .map_err(|_| Error::configuration("can't send the token in a header"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Returns `true` if a text contains the token: literally, percent-encoded or in base64.
    pub fn occurs_in(&self, text: &[u8]) -> bool {
        self.search.get_or_init(|| TokenSearch::new(self.secret.expose_secret())).finds(text)
    }

    pub fn same_as(&self, other: &Self) -> bool {
        self.secret.expose_secret() == other.secret.expose_secret()
    }

    pub fn expired_error(&self, product: &Product, now: DateTime<Utc>) -> Error {
        let ago = self.distance(now).unwrap_or_else(|| "some time".to_owned());
        let kind = self.kind(product);
        let hint = match kind {
            TokenKind::User => format!("log in again with `{product} auth login`"),
            TokenKind::Api => format!("create a new API token and set `{}`", product.env("TOKEN")),
        };
        Error::unauthenticated(format!("the {kind} expired {ago} ago")).with_hint(hint)
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

fn seconds(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        // Some issuers write `exp` as a float; beyond 2^53 it isn't a valid date anyway.
        #[allow(clippy::cast_possible_truncation)]
        number.as_f64().filter(|f| f.abs() < 9e15).map(|f| f as i64)
    })
}

fn rounded(distance: TimeDelta) -> String {
    let (count, unit) = match distance.num_seconds() {
        s if s < 120 => (s, "second"),
        s if s < 2 * 3600 => (s / 60, "minute"),
        s if s < 48 * 3600 => (s / 3600, "hour"),
        s => (s / 86400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// A future that a [`TokenProvider`] returns.
pub type TokenFuture<'a> = Pin<Box<dyn Future<Output = Result<Token, Error>> + Send + 'a>>;

/// Supplies tokens at the first call, and again when a token expires or is refused.
pub trait TokenProvider: Send + Sync + 'static {
    /// Returns the token to use from now on.
    fn token(&self) -> TokenFuture<'_>;
}

/// The source of a client's token.
#[derive(Clone, Default)]
pub enum Credentials {
    #[default]
    None,
    Fixed(Token),
    Provider(Arc<dyn TokenProvider>),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Fixed(_) => "Fixed(..)",
            Self::Provider(_) => "Provider(..)",
        })
    }
}

/// The token in use, refreshed from the provider when it expires.
#[derive(Debug)]
pub struct TokenSource {
    credentials: Credentials,
    product: Product,
    current: tokio::sync::Mutex<Option<Token>>,
}

impl TokenSource {
    pub fn new(credentials: Credentials, product: Product) -> Self {
        Self { credentials, product, current: tokio::sync::Mutex::new(None) }
    }

    /// Returns the token for the next call, never an expired one.
    ///
    /// Waits for the provider until `deadline` at most.
    pub async fn get(&self, deadline: Instant) -> Result<Token, Error> {
        match tokio::time::timeout_at(deadline.into(), self.current()).await {
            Ok(token) => token,
            Err(_) => Err(Error::timed_out("timed out waiting for a token")
                .with_hint("check the token provider")),
        }
    }

    async fn current(&self) -> Result<Token, Error> {
        let token = match &self.credentials {
            Credentials::None => {
                let (product, variable) = (&self.product, self.product.env("TOKEN"));
                let hint = format!(
                    "log in with `{product} auth login`, or set the environment variable `{variable}`"
                );
                return Err(Error::unauthenticated("missing token")
                    .with_hint(hint)
                    .by_setting(setting::TOKEN));
            }
            Credentials::Fixed(token) => token.clone(),
            Credentials::Provider(provider) => {
                let mut current = self.current.lock().await;
                match &*current {
                    Some(token) if !token.is_expired(Utc::now()) => token.clone(),
                    _ => {
                        let token = ask(provider).await?;
                        *current = Some(token.clone());
                        token
                    }
                }
            }
        };
        let now = Utc::now();
        if token.is_expired(now) {
            return Err(token.expired_error(&self.product, now));
        }
        Ok(token)
    }

    /// Returns another token after the service refused `refused`, if the provider has one.
    pub async fn replace(&self, refused: &Token, deadline: Instant) -> Option<Token> {
        tokio::time::timeout_at(deadline.into(), self.another(refused)).await.ok().flatten()
    }

    async fn another(&self, refused: &Token) -> Option<Token> {
        let Credentials::Provider(provider) = &self.credentials else { return None };
        let mut current = self.current.lock().await;
        if let Some(token) = &*current
            && !token.same_as(refused)
        {
            return Some(token.clone());
        }
        let token = ask(provider).await.ok()?;
        let fresh = !token.same_as(refused) && !token.is_expired(Utc::now());
        *current = Some(token.clone());
        fresh.then_some(token)
    }
}

/// Gets a token from a provider. A panic in it is an error of the call that needs the token.
async fn ask(provider: &Arc<dyn TokenProvider>) -> Result<Token, Error> {
    let asked = AssertUnwindSafe(async { provider.token().await }).catch_unwind();
    asked.await.unwrap_or_else(|_| Err(panicked("the token provider")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn jwt(claims: &str) -> String {
        let b64 = URL_SAFE_NO_PAD;
        format!("{}.{}.c2ln", b64.encode(r#"{"alg":"HS256","typ":"JWT"}"#), b64.encode(claims))
    }

    #[test]
    fn kinds_come_from_the_audience() {
        let product = Product::default();
        for (claims, kind) in [
            (r#"{"aud":"api-token-auth.platform"}"#, TokenKind::Api),
            (r#"{"aud":["x","api-token-auth.platform"]}"#, TokenKind::Api),
            (r#"{"aud":"user-auth.platform"}"#, TokenKind::User),
            (r#"{"aud":"api-token-auth.other"}"#, TokenKind::User),
            (r#"{"aud":7}"#, TokenKind::User),
            (r"{}", TokenKind::User),
        ] {
            assert_eq!(Token::new(jwt(claims)).unwrap().kind(&product), kind, "{claims}");
        }
        assert_eq!(Token::new("opaque").unwrap().kind(&product), TokenKind::User);
    }

    #[test]
    fn expiry_has_a_minute_of_leeway_and_words() {
        let token = Token::new(jwt(r#"{"exp":1000000}"#)).unwrap();
        let at = |s| DateTime::from_timestamp(s, 0).unwrap();
        assert!(!token.is_expired(at(1_000_030)));
        assert!(token.is_expired(at(1_000_061)));
        let error = token.expired_error(&Product::default(), at(1_000_000 + 3 * 3600));
        assert_eq!(error.to_string(), "the user token expired 3 hours ago");
        assert_eq!(Token::new(jwt(r#"{"exp":1e300}"#)).unwrap().expires_at(), None);
    }

    #[test]
    fn a_token_is_never_shown() {
        let token = Token::new(" canary-token\n").unwrap();
        assert!(!format!("{token:?}").contains("canary"));
        assert!(!format!("{:?}", token.header().unwrap()).contains("canary"));
        for bad in ["", " \n", "canary\u{7}x", "canary token", "canaryé", "canary\nx"] {
            let error = Token::new(bad).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_reading_a_token_panic(text in "\\PC{0,200}") {
            let _ = Token::new(text);
        }

        #[test]
        fn no_claims_make_reading_a_token_panic(claims in "\\PC{0,200}") {
            let _ = Token::new(jwt(&claims)).map(|t| t.distance(Utc::now()));
        }
    }
}
