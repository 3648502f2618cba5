//! A registry's interface (the OCI distribution specification): manifests, blobs, uploads, tokens.
//!
//! Owns who is told the credentials: the registry itself, and another host only if it is allowed. Every
//! content is held against its digest before anyone sees it.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use parking_lot::Mutex;
use rego_platform_client::Error;
use rego_platform_client::http::AllowedHosts;
use rego_platform_client::http::origin::{is_loopback, origin};
use reqwest::header::{HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, Response, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use crate::address::Reference;
use crate::artifact::{Artifact, Content, File, INDEX, Limits, MANIFEST, layers};
use crate::challenge::Challenge;
use crate::credentials::{self, Credentials, Found};
use crate::digest::Digest;
use crate::transport::{Request, Transport, absent, body, location, success};
use crate::{link, setting};

/// The maximum size of a manifest, as in registries.
pub(crate) const MAX_MANIFEST: u64 = 4 << 20;

/// The size of the largest response of a token service.
const MAX_TOKEN: u64 = 1 << 20;

/// The statuses of registries without an API for referrers.
const WITHOUT_LIST: [StatusCode; 5] = [
    StatusCode::NOT_FOUND,
    StatusCode::BAD_REQUEST,
    StatusCode::METHOD_NOT_ALLOWED,
    StatusCode::NOT_ACCEPTABLE,
    StatusCode::NOT_IMPLEMENTED,
];

/// The blobs and manifests that are fetched at once.
pub(crate) const CONCURRENCY: usize = 8;

/// An action on a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Pull,
    Push,
}

/// A session with a registry about one repository.
pub(crate) struct Session<'a> {
    transport: &'a Transport,
    /// The hosts that may receive a registry's credentials besides the registry.
    allowed: &'a AllowedHosts,
    reference: &'a Reference,
    base: Url,
    action: Action,
    authorization: Mutex<Option<HeaderValue>>,
    /// A credential helper of Docker's configuration that isn't installed.
    missing_helper: OnceLock<String>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl<'a> Session<'a> {
    pub fn new(
        transport: &'a Transport,
        allowed: &'a AllowedHosts,
        reference: &'a Reference,
        action: Action,
    ) -> Result<Self, Error> {
        let base = reference.origin()?;
        let authorization = Mutex::new(None);
        let missing_helper = OnceLock::new();
        Ok(Self { transport, allowed, reference, base, action, authorization, missing_helper })
    }

    /// The reference of the session.
    pub const fn reference(&self) -> &Reference {
        self.reference
    }

    /// The address of the registry's interface.
    pub const fn base(&self) -> &Url {
        &self.base
    }

    /// Returns the manifest's bytes, and their digest.
    pub async fn manifest(&self) -> Result<(Bytes, Digest), Error> {
        self.named(self.reference.manifest(), MANIFEST)
            .await?
            .ok_or_else(|| absent(&format!("`{}`", self.reference), &self.base))
    }

    /// Returns the manifest with this tag or digest, and its digest; `None` if it doesn't exist. `accept` are
    /// the media types that are asked for.
    pub async fn named(
        &self,
        name: &str,
        accept: &'static str,
    ) -> Result<Option<(Bytes, Digest)>, Error> {
        let url = self.url(&format!("manifests/{name}"))?;
        let request = Request { accept: Some(accept), ..Request::get(url.clone()) };
        let answer = self.send(request).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let what = format!("the manifest `{name}` of `{}`", self.reference);
        let manifest = body(&url, success(&what, &url, answer)?, MAX_MANIFEST).await?;
        let digest = Digest::of(&manifest);
        match Digest::parse(name) {
            Some(wanted) if wanted != digest => Err(tampered(&url, &wanted, &digest)),
            _ => Ok(Some((manifest, digest))),
        }
    }

    /// Returns the address of the list of a manifest's referrers.
    pub fn referrers(&self, digest: &Digest) -> Result<Url, Error> {
        self.url(&format!("referrers/{digest}"))
    }

    /// Returns a page of such a list, and the address of the next one; `None` if the list doesn't exist.
    pub async fn page(&self, url: &Url) -> Result<Option<(Bytes, Option<Url>)>, Error> {
        let request = Request { accept: Some(INDEX), ..Request::get(url.clone()) };
        let answer = self.send(request).await?;
        if WITHOUT_LIST.contains(&answer.status()) {
            return Ok(None);
        }
        let what = format!("the referrers of `{}`", self.reference);
        let answer = success(&what, url, answer)?;
        if answer.headers().contains_key("oci-filters-applied") {
            return Err(filtered(url));
        }
        let next = link::next(url, &answer)?;
        Ok(Some((body(url, answer, MAX_MANIFEST).await?, next)))
    }

    /// Fetches the content of a manifest.
    pub async fn content(&self, manifest: &[u8], limits: &Limits) -> Result<Content, Error> {
        let layers = layers(&self.reference.to_string(), manifest, limits)?;
        let fetched = layers.into_iter().map(|layer| async move {
            let bytes = self.blob(&layer.digest, layer.size).await?;
            Ok::<_, Error>((layer.name, bytes))
        });
        let fetched: Vec<(Option<String>, Bytes)> =
            stream::iter(fetched).buffered(CONCURRENCY).try_collect().await?;
        let mut files = Vec::with_capacity(fetched.len());
        for (name, bytes) in fetched {
            match name {
                None => return Ok(Content::Bundle(bytes)),
                Some(name) => files.push(File { name, bytes }),
            }
        }
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Content::Files(files))
    }

    /// Fetches a blob.
    pub async fn blob(&self, digest: &Digest, size: u64) -> Result<Bytes, Error> {
        let url = self.url(&format!("blobs/{digest}"))?;
        let request = Request::get(url.clone());
        let answer = self.send(request.clone()).await?;
        // Registries keep blobs elsewhere; manifests they answer themselves.
        let answer = self.transport.follow(&request, answer).await?;
        let answer = success(&format!("the blob `{digest}`"), &url, answer)?;
        let bytes = body(&url, answer, size).await?;
        let found = Digest::of(&bytes);
        if found != *digest {
            return Err(tampered(&url, digest, &found));
        }
        digest.check_size(&bytes, size).map_err(|e| e.with_hint("push the artifact again"))?;
        Ok(bytes)
    }

    /// Stores an artifact. Returns the digest of its manifest.
    pub async fn push(&self, artifact: Artifact) -> Result<Digest, Error> {
        for blob in artifact.blobs {
            self.upload(blob).await?;
        }
        let digest = Digest::of(&artifact.manifest);
        let reference = self.reference.manifest();
        if Digest::parse(reference).is_some_and(|wanted| wanted != digest) {
            let message = format!("digest mismatch: the pushed artifact has `{digest}`");
            return Err(
                Error::configuration(message).with_hint("use a tag or this digest in the address")
            );
        }
        let url = self.url(&format!("manifests/{reference}"))?;
        let request = Request {
            method: Method::PUT,
            body: Some((artifact.manifest, MANIFEST)),
            ..Request::get(url.clone())
        };
        success(&format!("`{}`", self.reference), &url, self.send(request).await?)?;
        Ok(digest)
    }

    async fn upload(&self, blob: Bytes) -> Result<(), Error> {
        let what = format!("`{}`", self.reference);
        let digest = Digest::of(&blob);
        let known = self.url(&format!("blobs/{digest}"))?;
        let head = Request { method: Method::HEAD, ..Request::get(known) };
        if self.send(head).await?.status() == StatusCode::OK {
            return Ok(());
        }
        let begin = self.url("blobs/uploads/")?;
        let post = Request { method: Method::POST, ..Request::get(begin.clone()) };
        let begun = success(&what, &begin, self.send(post).await?)?;
        let mut url = location(&begin, &begun)?;
        if url.origin() != self.base.origin() {
            let message = format!(
                "upload address of {} on a different host: {}",
                origin(&begin),
                origin(&url)
            );
            return Err(Error::protocol(message)
                .with_hint("check the registry: credentials are sent to no other host"));
        }
        url.query_pairs_mut().append_pair("digest", digest.as_str());
        let body = Some((blob, "application/octet-stream"));
        let put = Request { method: Method::PUT, body, ..Request::get(url.clone()) };
        success(&what, &begin, self.send(put).await?).map(drop)
    }

    /// Returns an address in the repository.
    fn url(&self, path: &str) -> Result<Url, Error> {
        let url = self.base.join(&format!("{}/{path}", self.reference.repository()));
        url.map_err(|_| Error::protocol(format!("invalid address of `{}`", self.reference)))
    }

    fn authorization(&self) -> Option<HeaderValue> {
        self.authorization.lock().clone()
    }

    /// Sends a request to the registry, with credentials if it asks for them.
    async fn send(&self, mut request: Request) -> Result<Response, Error> {
        request.authorization = self.authorization();
        let answer = self.transport.send(&request).await?;
        if answer.status() != StatusCode::UNAUTHORIZED || request.authorization.is_some() {
            return Ok(answer);
        }
        let challenges = answer.headers().get_all(WWW_AUTHENTICATE);
        let mut challenges = challenges.iter().filter_map(|value| value.to_str().ok());
        let Some(challenge) = challenges.find_map(Challenge::parse) else { return Ok(answer) };
        let authorization = self.answer(challenge).await;
        let Some(authorization) = authorization.map_err(|error| self.without_helper(error))? else {
            return match self.missing_helper.get() {
                Some(_) => Err(self.without_helper(unauthenticated(&self.base))),
                None => Ok(answer),
            };
        };
        let own = Some(authorization);
        self.authorization.lock().clone_from(&own);
        request.authorization = own;
        let answer = self.transport.send(&request).await?;
        let is_refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
        if is_refused.contains(&answer.status()) && self.missing_helper.get().is_some() {
            return Err(self.without_helper(unauthenticated(&self.base)));
        }
        Ok(answer)
    }

    /// Returns the error for a refusal when the credential helper isn't installed.
    fn without_helper(&self, error: Error) -> Error {
        let Some(helper) = self.missing_helper.get() else { return error };
        let message = format!("the credential helper `docker-credential-{helper}` isn't installed");
        Error::configuration(message).with_source(error.report()).with_hint(
            "install the helper, or remove it from Docker's configuration and log in again",
        )
    }

    /// Returns the header for a challenge, if any.
    async fn answer(&self, challenge: Challenge) -> Result<Option<HeaderValue>, Error> {
        let name = self.reference.in_docker_configuration();
        let credentials = match credentials::find(name, self.reference.repository()).await? {
            Found::Credentials(credentials) => Some(credentials),
            Found::None => None,
            Found::MissingHelper(helper) => {
                // Much can be read without credentials.
                let _ = self.missing_helper.set(helper);
                None
            }
        };
        match (challenge, credentials) {
            (Challenge::Basic, Some(Credentials::Password(user, password))) => {
                basic(&user, &password).map(Some)
            }
            (Challenge::Basic, _) => Ok(None),
            (Challenge::Bearer { realm, service }, credentials) => {
                self.token(&realm, service.as_deref(), credentials).await.map(Some)
            }
        }
    }

    /// Asks a token service for a token of this repository.
    async fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        credentials: Option<Credentials>,
    ) -> Result<HeaderValue, Error> {
        let registry = origin(&self.base);
        let mut url = Url::parse(realm).ok().filter(Url::has_host).ok_or_else(|| {
            Error::protocol(format!("invalid address of the token service of {registry}"))
        })?;
        let is_safe = url.scheme() == "https"
            || url.scheme() == "http" && self.base.scheme() == "http" && is_loopback(&url);
        let is_own = url.origin() == self.base.origin();
        if !(is_safe || is_own) {
            let message = format!("insecure token service of {registry}: {}", origin(&url));
            return Err(Error::protocol(message).with_hint("serve the token service over TLS"));
        }
        if credentials.is_some() && !is_own && !self.allowed.allow(&url) {
            let message =
                format!("token service of {registry} on a different host: {}", origin(&url));
            return Err(Error::unauthenticated(message)
                .with_hint("check that the host belongs to the registry")
                .by_setting(setting::OTHER_HOSTS));
        }
        let actions = match self.action {
            Action::Pull => "pull",
            Action::Push => "pull,push",
        };
        let scope = format!("repository:{}:{actions}", self.reference.repository());
        let mut query = vec![("scope", scope.as_str())];
        query.extend(service.map(|service| ("service", service)));
        let mut request = Request::get(url.clone());
        match &credentials {
            Some(Credentials::Identity(token)) => {
                query.push(("grant_type", "refresh_token"));
                query.push(("client_id", "rego-platform"));
                query.push(("refresh_token", token.expose_secret()));
                let form = url::form_urlencoded::Serializer::new(String::new())
                    .extend_pairs(&query)
                    .finish();
                request.method = Method::POST;
                request.body = Some((form.into(), "application/x-www-form-urlencoded"));
            }
            other => {
                url.query_pairs_mut().extend_pairs(&query);
                request.url = url.clone();
                if let Some(Credentials::Password(user, password)) = other {
                    request.authorization = Some(basic(user, password)?);
                }
            }
        }
        let answer = self.transport.send(&request).await?;
        let answer = success(&format!("a token for `{}`", self.reference), &url, answer)?;
        let bytes = body(&url, answer, MAX_TOKEN).await?;
        let unusable = || Error::protocol(format!("no usable token from {}", origin(&url)));
        // The parser's message may repeat a part of the text.
        let token: Token = serde_json::from_slice(&bytes).map_err(|_| unusable())?;
        let token = token.token.or(token.access_token).ok_or_else(unusable)?;
        header(&format!("Bearer {token}")).ok_or_else(unusable)
    }
}

fn unauthenticated(base: &Url) -> Error {
    let message = format!("missing credentials for {}", origin(base));
    Error::unauthenticated(message)
}

/// Returns the error for a list that is filtered without a request for it.
pub(crate) fn filtered(url: &Url) -> Error {
    let message = format!("unexpected filter in the referrers of an image by {}", origin(url));
    Error::protocol(message).with_hint("report it to the registry's operator")
}

fn basic(user: &str, password: &SecretString) -> Result<HeaderValue, Error> {
    let pair = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
    header(&format!("Basic {pair}"))
        .ok_or_else(|| Error::configuration("can't send the registry's credentials"))
}

/// Returns the value of a header, marked as sensitive.
fn header(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

pub(crate) fn tampered(url: &Url, wanted: &Digest, found: &Digest) -> Error {
    let message =
        format!("digest mismatch from {}: found `{found}`, expected `{wanted}`", origin(url));
    Error::tampered(message).with_hint("check who may write to the source")
}
