//! Blocking fetches and pushes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rego_platform_client::http::{AllowedHost, AllowedHosts};
use rego_platform_client::runtime::{LazyRuntime, refuse_blocking};
use rego_platform_client::text::escape;
use rego_platform_client::{Error, Limit};

use reqwest::StatusCode;
use reqwest::header::{ETAG, HeaderValue};

use crate::address::{Address, Archive, Reference};
use crate::artifact::{Artifact, Content, Limits, layers};
use crate::comment::{Comments, Published, Thread};
use crate::digest::Digest;
use crate::image::{Image, ImageQuery};
use crate::layout::Layout;
use crate::registry::{Action, Session};
use crate::store::{ImageReference, Store};
use crate::transport::{DEADLINE, Request, Transport, body, success};
use crate::{git, setting};

/// Fetches policies from registries, web servers and repositories; cheap to clone.
#[derive(Debug, Clone)]
pub struct Remote(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    transport: Transport,
    runtime: LazyRuntime,
    limits: Limits,
    timeout: Duration,
    allowed: AllowedHosts,
}

/// Builds a [`Remote`].
#[derive(Debug, Clone)]
#[must_use]
pub struct RemoteBuilder {
    limits: Limits,
    timeout: Duration,
    allowed: AllowedHosts,
    certificates: Vec<Vec<u8>>,
    insecure: bool,
}

/// A fetched source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// The digest for pinning: of the manifest in a registry, of the archive, or of the commit.
    pub digest: Digest,
    /// The content.
    pub content: Content,
    /// The version of an archive (`ETag`).
    version: Option<HeaderValue>,
}

impl RemoteBuilder {
    /// Sets the time limit for one source; 60 s by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the limits on one source; 256 MiB a file, 1 GiB in 100,000 files by default.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Allows a host as a source of unpinned archives, and as a token service that receives a registry's
    /// credentials.
    pub fn allow_host(mut self, host: AllowedHost) -> Self {
        self.allowed.add(host);
        self
    }

    /// Trusts the certificates of a PEM file in addition to the system's.
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.push(pem.into());
        self
    }

    /// Sets whether plain HTTP is allowed beyond loopback, where an address asks for it; certificates
    /// are checked all the same.
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }

    /// Builds the [`Remote`]; nothing is connected before the first source.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform_client::ErrorKind::Configuration) for certificates or a proxy that can't be used.
    pub fn build(self) -> Result<Remote, Error> {
        Ok(Remote(Arc::new(Inner {
            transport: Transport::new(&self.certificates, self.insecure)?,
            runtime: LazyRuntime::of_requests(),
            limits: self.limits,
            timeout: self.timeout,
            allowed: self.allowed,
        })))
    }
}

impl Remote {
    /// Returns a builder.
    pub fn builder() -> RemoteBuilder {
        RemoteBuilder {
            limits: Limits { file_bytes: 256 << 20, total_bytes: 1 << 30, files: 100_000 },
            timeout: Duration::from_mins(1),
            allowed: AllowedHosts::default(),
            certificates: Vec::new(),
            insecure: false,
        }
    }

    /// Fetches a source, which must have the digest `pinned` if given. For a repository, this is the commit,
    /// independent of branches. Blocks until it is there.
    ///
    /// # Errors
    /// [`ErrorKind::Tampered`](rego_platform_client::ErrorKind::Tampered) for content with another digest; the kinds of a call's errors for
    /// anything that prevents that all of it is there.
    pub fn fetch(&self, address: &Address, pinned: Option<&Digest>) -> Result<Fetched, Error> {
        let (inner, address, pinned) = (Arc::clone(&self.0), address.clone(), pinned.cloned());
        let fetched = self.wait(address.to_string(), async move {
            inner.fetch(&address, pinned.as_ref(), None).await
        })?;
        fetched.ok_or_else(|| Error::internal("missing content of a new source"))
    }

    /// Fetches an unpinned source, unless it is unchanged since `known` was fetched: checked by manifest
    /// (registry), `If-None-Match` (web server) or commit (repository). Blocks until it is there.
    ///
    /// What a web server gives may have the digest of `known`, if the server gives no versions or another one for
    /// the same content. It is to be the `known` of the next time.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub fn fetch_changed(
        &self,
        address: &Address,
        known: &Fetched,
    ) -> Result<Option<Fetched>, Error> {
        let (inner, address) = (Arc::clone(&self.0), address.clone());
        let (digest, version) = (known.digest.clone(), known.version.clone());
        self.wait(address.to_string(), async move {
            inner.fetch(&address, None, Some(KnownSource { digest: &digest, version })).await
        })
    }

    /// Returns an image of a registry or a layout with its attached artifacts: referrers, from the registry's API or the
    /// fallback tag, and artifacts with cosign's tags. An index has those of its platforms too. Blocks until all of
    /// it is there.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch). What isn't attached is no error; what is listed and isn't there is one.
    pub fn image(&self, reference: &ImageReference, query: &ImageQuery) -> Result<Image, Error> {
        let (inner, reference, query) = (Arc::clone(&self.0), reference.clone(), query.clone());
        self.wait(reference.to_string(), async move {
            let Inner { transport, allowed, limits, .. } = &*inner;
            let store = match &reference {
                ImageReference::Registry(reference) => {
                    Store::Registry(Session::new(transport, allowed, reference, Action::Pull)?)
                }
                ImageReference::Layout(layout) => Store::Layout(Layout::open(layout.clone())?),
            };
            store.image(*limits, &query).await
        })
    }

    /// Returns the digest of the tag `latest` in the repository of a reference; `None` without such a tag.
    /// Blocks until the registry has answered.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub fn latest(&self, reference: &Reference) -> Result<Option<Digest>, Error> {
        let (inner, reference) = (Arc::clone(&self.0), reference.clone());
        self.wait(reference.to_string(), async move {
            let Inner { transport, allowed, .. } = &*inner;
            Session::new(transport, allowed, &reference, Action::Pull)?.latest().await
        })
    }

    /// Stores files or a bundle in a registry. Returns the digest of the manifest, which is the same
    /// for equal content.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch), also for content that couldn't be fetched.
    pub fn push(&self, reference: &Reference, content: &Content) -> Result<Digest, Error> {
        let (inner, reference) = (Arc::clone(&self.0), reference.clone());
        let artifact = Artifact::of(content)?;
        layers(&reference.to_string(), &artifact.manifest, &inner.limits)?;
        self.wait(reference.to_string(), async move {
            let Inner { transport, allowed, .. } = &*inner;
            Session::new(transport, allowed, &reference, Action::Push)?.push(artifact).await
        })
    }

    /// Publishes a comment, whose first line identifies it. A comment of the token's account with this first line
    /// is updated, unless it has the same text. Blocks until the service has answered.
    ///
    /// # Errors
    /// The kinds of a call's errors, for anything that prevents that the comment is there.
    pub fn comment(&self, thread: &Thread, token: &str, text: &str) -> Result<Published, Error> {
        let (inner, thread) = (Arc::clone(&self.0), thread.clone());
        let (token, text) = (token.to_owned(), text.to_owned());
        self.wait("the comment".to_owned(), async move {
            Comments::new(&inner.transport, &token)?.publish(&thread, &text).await
        })
    }

    fn wait<T: Send + 'static>(
        &self,
        what: String,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        refuse_blocking()?;
        let timeout = self.0.timeout;
        self.0.runtime.get()?.block_on(async move {
            let work = DEADLINE.scope(Instant::now() + timeout, work);
            tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| {
                let message = format!("timed out after {timeout:?}: `{}`", escape(&what));
                Err(Error::timed_out(message).at_limit(Limit::Timeout))
            })
        })?
    }
}

/// A source that was fetched before.
struct KnownSource<'a> {
    digest: &'a Digest,
    version: Option<HeaderValue>,
}

impl Inner {
    /// Fetches a source; `None` if it is `known`.
    async fn fetch(
        &self,
        address: &Address,
        pinned: Option<&Digest>,
        known: Option<KnownSource<'_>>,
    ) -> Result<Option<Fetched>, Error> {
        match address {
            Address::Registry(reference) => self.files(reference, pinned, known).await,
            Address::Archive(archive) => self.archive(archive, pinned, known).await,
            Address::Repository(repository) => {
                let known = known.map(|known| known.digest);
                let fetched = git::fetch(repository, pinned, known, &self.limits).await?;
                let whole = |(digest, content)| Fetched { digest, content, version: None };
                Ok(fetched.map(whole))
            }
        }
    }

    async fn files(
        &self,
        reference: &Reference,
        pinned: Option<&Digest>,
        known: Option<KnownSource<'_>>,
    ) -> Result<Option<Fetched>, Error> {
        let session = Session::new(&self.transport, &self.allowed, reference, Action::Pull)?;
        let (manifest, digest) = session.manifest().await?;
        refuse_moved(&reference.to_string(), pinned, &digest)?;
        if known.is_some_and(|known| *known.digest == digest) {
            return Ok(None);
        }
        let content = session.content(&manifest, &self.limits).await?;
        Ok(Some(Fetched { digest, content, version: None }))
    }

    async fn archive(
        &self,
        archive: &Archive,
        pinned: Option<&Digest>,
        known: Option<KnownSource<'_>>,
    ) -> Result<Option<Fetched>, Error> {
        let url = archive.url();
        if pinned.is_none() && !self.allowed.allow(url) {
            let message =
                format!("unpinned source on a host that isn't allowed: `{}`", escape(url.as_str()));
            return Err(Error::configuration(message).by_setting(setting::OTHER_HOSTS));
        }
        let unless = known.and_then(|known| known.version);
        let request = Request { unless, ..Request::get(url.clone()) };
        let answer = self.transport.send(&request).await?;
        let answer = self.transport.follow(&request, answer).await?;
        if request.unless.is_some() && answer.status() == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let answer = success(&format!("`{}`", escape(url.as_str())), url, answer)?;
        let version = answer.headers().get(ETAG).cloned();
        let limit = self.limits.file_bytes.min(self.limits.total_bytes);
        let bytes = body(url, answer, limit).await?;
        let digest = Digest::of(&bytes);
        refuse_moved(url.as_str(), pinned, &digest)?;
        Ok(Some(Fetched { digest, content: Content::Bundle(bytes), version }))
    }
}

/// Refuses content whose digest differs from the pinned one.
fn refuse_moved(what: &str, pinned: Option<&Digest>, found: &Digest) -> Result<(), Error> {
    let Some(pinned) = pinned.filter(|pinned| *pinned != found) else { return Ok(()) };
    let message =
        format!("digest mismatch for `{}`: found `{found}`, pinned `{pinned}`", escape(what));
    Err(Error::tampered(message)
        .with_hint("review the changes of the source")
        .by_setting(setting::LOCK))
}
