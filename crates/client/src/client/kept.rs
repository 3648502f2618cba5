//! Storage of artifacts by digest: the cache on disk, and the shared artifact store.
//!
//! Owns the order in which they are asked, and that none of them fails a call: what they don't have, or have
//! altered, comes from the service. The caller decides whether they are asked: it has asked the service for
//! this very token first (`download`).

#[cfg(feature = "cache")]
use std::sync::Arc;
#[cfg(any(feature = "cache", feature = "artifact-store"))]
use std::sync::atomic::Ordering;

#[cfg(feature = "artifact-store")]
use super::artifact_store::ArtifactStore;
#[cfg(feature = "cache")]
use super::cache::{Cache, NewEntry};
use super::content::{Collector, Incoming};
use super::{Content, Context, RequestedForm};
use crate::http::body::Source;
use crate::http::retry::Failed;

/// The storage of artifacts; none by default.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// The cache on disk, for this machine's processes.
    #[cfg(feature = "cache")]
    pub cache: Option<Arc<Cache>>,
    /// The artifact store, for the gates of many machines.
    #[cfg(feature = "artifact-store")]
    pub store: Option<ArtifactStore>,
}

/// A requested artifact.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub digest: &'a str,
    pub form: RequestedForm,
    /// The maximum size, in bytes.
    pub cap: u64,
}

impl Kept {
    /// Returns stored content.
    #[cfg_attr(
        not(any(feature = "cache", feature = "artifact-store")),
        allow(clippy::unused_async, unused_variables)
    )]
    pub async fn find(
        &self,
        context: &Context,
        wanted: Wanted<'_>,
    ) -> Result<Option<Content>, Failed> {
        #[cfg(feature = "cache")]
        if let Some(content) = self.in_cache(context, wanted).await? {
            context.kept.store(true, Ordering::Relaxed);
            return Ok(Some(content));
        }
        #[cfg(feature = "artifact-store")]
        if let Some(content) = self.in_store(context, wanted).await? {
            context.kept.store(true, Ordering::Relaxed);
            return Ok(Some(content));
        }
        Ok(None)
    }

    /// Reads the service's content to its end, and stores it.
    pub async fn collect(
        &self,
        context: &Context,
        wanted: Wanted<'_>,
        source: impl Source,
    ) -> Result<Content, Failed> {
        let mut incoming = self.incoming(wanted, source.announced()).await;
        context.read(source, &mut incoming).await?;
        let content = incoming.finish(wanted.digest).await?;
        #[cfg(feature = "artifact-store")]
        if let Some(store) = &self.store {
            store.put(wanted.digest, &content, context.deadline).await;
        }
        Ok(content)
    }

    /// Returns a receiver of content with the announced length, which also writes to the cache.
    #[cfg_attr(not(feature = "cache"), allow(clippy::unused_async, clippy::unused_self))]
    async fn incoming(&self, wanted: Wanted<'_>, announced: Option<u64>) -> Incoming {
        let announced = announced.unwrap_or_default();
        let collector = Collector::new(wanted.form, usize::try_from(announced).unwrap_or_default());
        #[cfg(feature = "cache")]
        let collector = collector.copying(self.cache_entry(announced).await);
        Incoming::new(collector)
    }

    /// Opens a cache entry for content of an announced size.
    #[cfg(feature = "cache")]
    async fn cache_entry(&self, size: u64) -> Option<NewEntry> {
        let cache = self.cache.clone()?;
        tokio::task::spawn_blocking(move || cache.create(size)).await.ok()?
    }

    #[cfg(feature = "cache")]
    async fn in_cache(
        &self,
        context: &Context,
        wanted: Wanted<'_>,
    ) -> Result<Option<Content>, Failed> {
        let Some(cache) = self.cache.clone() else { return Ok(None) };
        let Wanted { digest, form, cap } = wanted;
        let digest = digest.to_owned();
        let read = tokio::task::spawn_blocking(move || {
            cache.read(&digest, cap, |file, size| {
                let mut collector = Collector::new(form, usize::try_from(size).unwrap_or(0));
                // An entry that has grown since its size was read fails the check.
                collector.read(file).map_err(|error| error.to_string())?;
                let content = collector.finish(&digest).map_err(|error| error.to_string())?;
                Ok((content, size))
            })
        });
        let Ok(Some((content, size))) = read.await else { return Ok(None) };
        context.count(size)?;
        Ok(Some(content))
    }

    #[cfg(feature = "artifact-store")]
    async fn in_store(
        &self,
        context: &Context,
        wanted: Wanted<'_>,
    ) -> Result<Option<Content>, Failed> {
        let Some(store) = &self.store else { return Ok(None) };
        let opened = store.open(wanted.digest, wanted.cap, context.deadline).await;
        let Some(mut stored) = opened else { return Ok(None) };
        let mut incoming = self.incoming(wanted, stored.announced()).await;
        match context.read(&mut stored, &mut incoming).await {
            Ok(()) => {}
            Err(_) if stored.has_failed() => return Ok(None),
            // The limit of the evaluation, which the service's bytes would exceed, too.
            Err(failed) => return Err(failed),
        }
        match incoming.finish(wanted.digest).await {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == crate::ErrorKind::Tampered => {
                context.uncount(stored.total());
                store.is_altered(wanted.digest);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}
