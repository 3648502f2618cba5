//! An artifact store shared by many machines: artifacts by digest in an object store.
//!
//! Owns where an artifact lies there, and that the store never fails a call and never holds one up for long:
//! after a fault it isn't asked for a while, and its host is told. Content from it is checked by `content`, and
//! used only after the service granted access (`kept`).

mod address;
#[cfg(any(
    feature = "artifact-store-azure",
    feature = "artifact-store-gcs",
    feature = "artifact-store-s3"
))]
mod cloud;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use parking_lot::Mutex;
use url::Url;

use super::Content;
use crate::http::body::Source;
use crate::http::retry::Failed;
use crate::{Error, ErrorKind};

/// The time limit for the start of a response.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of bytes per additional second of the time limit.
const PER_SECOND: u64 = 8 << 20;

/// The time for which the store isn't used after a failure.
const ASIDE: Duration = Duration::from_mins(1);

/// The size of a part of an upload: at least 5 MiB, as S3 demands, and a multiple of three, since base64 is
/// decoded part by part.
const PART: usize = 6 << 20;

/// A callback for failures of a store.
type OnFault = dyn Fn(&Error) + Send + Sync;

/// A store of artifacts, shared by any number of gates. Cheap to clone.
///
/// An artifact is read from it only after the service has granted the token access, and only if it has its
/// digest. Any fault of the store is told to the host, and the artifact comes from the service.
#[derive(Debug, Clone)]
pub struct ArtifactStore(Arc<Inner>);

struct Inner {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    address: Url,
    on_fault: Option<Box<OnFault>>,
    reading: Suspension,
    writing: Suspension,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactStore")
            .field("address", &self.address.as_str())
            .finish_non_exhaustive()
    }
}

/// Builds an [`ArtifactStore`].
#[must_use]
pub struct ArtifactStoreBuilder {
    address: String,
    certificates: Vec<Vec<u8>>,
    insecure: bool,
    on_fault: Option<Box<OnFault>>,
}

impl fmt::Debug for ArtifactStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArtifactStoreBuilder(..)")
    }
}

impl ArtifactStoreBuilder {
    /// Trusts the certificates of a PEM file in addition to the system's.
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.push(pem.into());
        self
    }

    /// Sets whether plain HTTP is allowed beyond loopback, where the environment asks for it.
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }

    /// Sets a callback for failures of the store, called from any thread: denied access, timeouts and altered
    /// content. Without it they are only in the trace.
    pub fn on_fault(mut self, hear: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.on_fault = Some(Box::new(hear));
        self
    }

    /// Builds the store; nothing is connected before the first artifact.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for an address that isn't one of an object store, or of a kind whose
    /// feature is off, and for variables of the environment that the store can't use.
    pub fn build(self) -> Result<ArtifactStore, Error> {
        let address = address::parse(&self.address)?;
        let (objects, prefix) = address::open(&address, &self.certificates, self.insecure)?;
        Ok(ArtifactStore(Arc::new(Inner {
            objects,
            prefix,
            address,
            on_fault: self.on_fault,
            reading: Suspension::new(
                "read",
                "check the store; until then artifacts come from the service",
            ),
            writing: Suspension::new("written", "check the store"),
        })))
    }
}

/// A use of the store, suspended for a while after a failure.
#[derive(Debug)]
struct Suspension {
    /// The suspended action, and the hint about it.
    what: &'static str,
    hint: &'static str,
    until: Mutex<Option<Instant>>,
}

impl Suspension {
    const fn new(what: &'static str, hint: &'static str) -> Self {
        Self { what, hint, until: Mutex::new(None) }
    }

    fn is_set(&self) -> bool {
        let until = *self.until.lock();
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Suspends the use; returns `false` if it is suspended already.
    fn set(&self) -> bool {
        let mut until = self.until.lock();
        let now = Instant::now();
        let is_first = until.is_none_or(|until| until <= now);
        *until = Some(now + ASIDE);
        is_first
    }
}

impl ArtifactStore {
    /// Returns a builder for the store at an address: `file:///folder`, `s3://bucket/prefix`,
    /// `gs://bucket/prefix` or `az://container/prefix`, each with its feature. Credentials and the rest come
    /// from the variables of the environment that the crate `object_store` reads.
    pub fn builder(address: impl Into<String>) -> ArtifactStoreBuilder {
        ArtifactStoreBuilder {
            address: address.into(),
            certificates: Vec::new(),
            insecure: false,
            on_fault: None,
        }
    }

    /// Returns the path of the content of `digest` (`sha256:<hex>`).
    fn path(&self, digest: &str) -> Option<Path> {
        let hex = digest.strip_prefix("sha256:")?;
        Some(self.0.prefix.clone().join("sha256").join(hex.get(..2)?).join(hex))
    }

    /// Opens the content of `digest`, if it exists and has at most `cap` bytes.
    pub(super) async fn open(
        &self,
        digest: &str,
        cap: u64,
        deadline: Instant,
    ) -> Option<StoredArtifact> {
        if self.0.reading.is_set() {
            return None;
        }
        let path = self.path(digest)?;
        match in_time(until(deadline, 0), self.0.objects.get(&path)).await {
            // The service will say so, if it is that large there, too.
            Ok(found) if found.meta.size > cap => None,
            Ok(found) => Some(StoredArtifact {
                store: self.clone(),
                size: found.meta.size,
                until: until(deadline, found.meta.size),
                stream: found.into_stream(),
                total: 0,
                failed: false,
            }),
            Err(Some(object_store::Error::NotFound { .. })) => None,
            Err(fault) => {
                self.cannot(&self.0.reading, fault);
                None
            }
        }
    }

    /// Stores verified content.
    pub(super) async fn put(&self, digest: &str, content: &Content, deadline: Instant) {
        let Some(path) = self.path(digest).filter(|_| !self.0.writing.is_set()) else { return };
        let size = match content {
            Content::Bytes(bytes) => bytes.len(),
            Content::Text(text) | Content::Base64(text) => text.len(),
        };
        let until = until(deadline, size as u64);
        let stored = match size {
            ..=PART => {
                let put = async {
                    let part = parts(content).next().unwrap_or_else(|| Ok(Bytes::new()))?;
                    self.0.objects.put(&path, PutPayload::from_bytes(part)).await.map(|_| ())
                };
                in_time(until, put).await
            }
            _ => self.put_parts(&path, content, until).await,
        };
        if let Err(fault) = stored {
            self.cannot(&self.0.writing, fault);
        }
    }

    /// Stores content in parts, so that memory never holds it twice. It is there once all of it is.
    async fn put_parts(
        &self,
        path: &Path,
        content: &Content,
        until: Instant,
    ) -> Result<(), Option<object_store::Error>> {
        let mut upload = in_time(until, self.0.objects.put_multipart(path)).await?;
        let work = async {
            for part in parts(content) {
                upload.put_part(PutPayload::from_bytes(part?)).await?;
            }
            upload.complete().await.map(|_| ())
        };
        let stored = in_time(until, work).await;
        if stored.is_err() {
            // What can't be removed is left to the store's own rules.
            let _ = tokio::time::timeout(PATIENCE, upload.abort()).await;
        }
        stored
    }

    /// Reports that the content of `digest` was altered. It is replaced by the service's.
    pub(super) fn is_altered(&self, digest: &str) {
        let message =
            format!("digest mismatch in the artifact store `{}`: `{digest}`", self.shown());
        self.tell(
            &Error::tampered(message)
                .with_hint("check who may write to the store; the artifact is fetched from the service and replaced"),
        );
    }

    /// Reports why the store can't be used, and suspends its use.
    fn cannot(&self, aside: &Suspension, error: Option<object_store::Error>) {
        if !aside.set() {
            return;
        }
        let (kind, why) = match &error {
            None => (ErrorKind::TimedOut, "timed out"),
            Some(object_store::Error::PermissionDenied { .. }) => {
                (ErrorKind::PermissionDenied, "access denied")
            }
            Some(object_store::Error::Unauthenticated { .. }) => {
                (ErrorKind::Unauthenticated, "invalid credentials")
            }
            Some(object_store::Error::NotFound { .. }) => {
                (ErrorKind::Unavailable, "no such bucket or folder")
            }
            Some(_) => (ErrorKind::Unavailable, "the store failed"),
        };
        let message =
            format!("the artifact store `{}` can't be {}: {why}", self.shown(), aside.what);
        let mut told = Error::new(kind, message).with_hint(aside.hint);
        if let Some(cause) = error.as_ref().and_then(cause) {
            told = told.with_source(cause);
        }
        self.tell(&told);
    }

    fn shown(&self) -> String {
        crate::text::escape(self.0.address.as_str())
    }

    fn tell(&self, error: &Error) {
        tracing::warn!(error = %error.report(), "artifact store failed");
        if let Some(hear) = &self.0.on_fault {
            hear(error);
        }
    }
}

/// Waits for the store up to its time limit; `None` after a timeout.
async fn in_time<T>(
    until: Instant,
    work: impl Future<Output = object_store::Result<T>>,
) -> Result<T, Option<object_store::Error>> {
    tokio::time::timeout_at(until.into(), work).await.map_err(|_| None)?.map_err(Some)
}

/// Returns the time limit of the store for this many bytes, which leaves time for the service.
fn until(deadline: Instant, bytes: u64) -> Instant {
    let now = Instant::now();
    let left = deadline.saturating_duration_since(now) / 2;
    now + left.min(PATIENCE + Duration::from_secs(bytes / PER_SECOND))
}

/// Returns the innermost cause of an error of this machine. What a store's server says isn't repeated: it may
/// repeat a signed request.
fn cause(error: &object_store::Error) -> Option<String> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let (mut innermost, mut is_own) = (None, false);
    while let Some(error) = next {
        is_own |= error.is::<std::io::Error>() || address::is_of_connection(error);
        innermost = Some(error);
        next = error.source();
    }
    innermost.filter(|_| is_own).map(|cause| crate::text::shorten(&cause.to_string(), 300))
}

/// Returns the parts of content, which are decoded one by one.
fn parts(content: &Content) -> Box<dyn Iterator<Item = object_store::Result<Bytes>> + Send + '_> {
    let bytes = match content {
        Content::Bytes(bytes) => bytes,
        Content::Text(text) => text.as_bytes(),
        Content::Base64(text) => {
            return Box::new(text.as_bytes().chunks(PART / 3 * 4).map(|part| {
                let failed =
                    |error| object_store::Error::Generic { store: "base64", source: error };
                STANDARD.decode(part).map(Bytes::from).map_err(|error| failed(Box::new(error)))
            }));
        }
    };
    Box::new(bytes.chunks(PART).map(|part| Ok(Bytes::copy_from_slice(part))))
}

/// Content read from the store. What breaks it off is a fault of the store.
pub(super) struct StoredArtifact {
    store: ArtifactStore,
    size: u64,
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    until: Instant,
    total: u64,
    failed: bool,
}

impl StoredArtifact {
    /// Returns `true` if the read failed.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// The number of bytes read.
    pub fn total(&self) -> u64 {
        self.total
    }

    fn fail(&mut self, error: Option<object_store::Error>) -> Failed {
        self.failed = true;
        self.store.cannot(&self.store.0.reading, error);
        Failed::permanent(Error::unavailable("connection to the artifact store lost"))
    }
}

impl Source for StoredArtifact {
    fn announced(&self) -> Option<u64> {
        Some(self.size)
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Failed> {
        let chunk = in_time(self.until, self.stream.try_next()).await;
        let Some(chunk) = chunk.map_err(|fault| self.fail(fault))? else { return Ok(None) };
        self.total = self.total.saturating_add(chunk.len() as u64);
        // More than announced has another digest; it need not be read to its end.
        Ok(Some(chunk).filter(|_| self.total <= self.size))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::client::RequestedForm;
    use crate::client::content::Collector;

    #[tokio::test]
    async fn content_of_any_size_and_form_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("file://{}", folder.path().display());
        let store = ArtifactStore::builder(address).build().unwrap();
        let deadline = Instant::now() + Duration::from_mins(10);
        for size in [0, 1, PART, PART + 1, 2 * PART + 2] {
            for fill in [b'a', 0xff] {
                let bytes = vec![fill; size];
                let digest = format!("sha256:{}", crate::text::hex(&Sha256::digest(&bytes)));
                let mut collector = Collector::new(RequestedForm::Text, size);
                collector.push(&bytes);
                let content = collector.finish(&digest).unwrap();
                store.put(&digest, &content, deadline).await;
                let mut stored = store.open(&digest, u64::MAX, deadline).await.unwrap();
                let mut found = Vec::new();
                while let Some(chunk) = stored.next().await.unwrap() {
                    found.extend_from_slice(&chunk);
                }
                assert!(found == bytes, "{size} bytes of {fill}");
                assert!(store.open(&digest, size as u64, deadline).await.is_some());
                let below = (size as u64).checked_sub(1);
                let is_read = async |cap| store.open(&digest, cap, deadline).await.is_some();
                assert!(below.is_none() || !is_read(below.unwrap()).await, "beyond the limit");
            }
        }
    }
}
