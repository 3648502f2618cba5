//! An artifact's content while it arrives: hashed, converted to the requested form, and copied to
//! the cache.
//!
//! Owns the check of the digest: no content leaves this module before. Large content is processed on
//! another thread than the one that reads from the network; no thread waits for the network.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};

#[cfg(feature = "cache")]
use super::cache::NewEntry;
use crate::Error;
use crate::http::body::Sink;
use crate::text::hex;

/// Verified content.
#[derive(Debug)]
pub enum Content {
    Bytes(Vec<u8>),
    /// UTF-8 text.
    Text(String),
    /// Base64 of content that isn't UTF-8.
    Base64(String),
}

/// The requested form of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedForm {
    Bytes,
    /// Text if the content is UTF-8, otherwise base64.
    Text,
}

/// The number of bytes at the beginning that are checked for UTF-8 as they arrive. The rest is checked
/// at the end.
const SNIFFED: usize = 64 << 10;

/// The number of bytes from which a batch is passed to another thread.
const BATCH: usize = 256 << 10;

/// Limits the concurrent batches to the number of processors: waiting batches would only use memory.
static PROCESSORS: LazyLock<Semaphore> = LazyLock::new(|| {
    Semaphore::new(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
});

fn gone() -> Error {
    Error::internal("the thread for content has ended")
}

/// Runs `work` on another thread, within the limit of concurrent batches.
async fn process<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    let turn = PROCESSORS.acquire().await.map_err(|_| gone())?;
    Ok(spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    }))
}

/// The number of bytes read from the cache at a time.
#[cfg(feature = "cache")]
const CHUNK: usize = 256 << 10;

/// Collects content, chunk by chunk.
pub(super) struct Collector {
    wanted: RequestedForm,
    /// The announced length, or 0.
    announced: usize,
    hasher: Sha256,
    total: u64,
    collected: Collected,
    #[cfg(feature = "cache")]
    copy: Option<NewEntry>,
}

enum Collected {
    Bytes(Vec<u8>),
    /// Base64 of all but the last bytes, which are fewer than three.
    Base64(String, Vec<u8>),
}

impl Collector {
    pub fn new(wanted: RequestedForm, announced: usize) -> Self {
        Self {
            wanted,
            announced,
            hasher: Sha256::new(),
            total: 0,
            collected: Collected::Bytes(Vec::new()),
            #[cfg(feature = "cache")]
            copy: None,
        }
    }

    /// Sets the cache entry, which is committed if the digest matches.
    #[cfg(feature = "cache")]
    pub fn copying(mut self, copy: Option<NewEntry>) -> Self {
        self.copy = copy;
        self
    }

    /// Returns `true` if content is written to the cache.
    #[cfg(feature = "cache")]
    fn writes(&self) -> bool {
        self.copy.is_some()
    }

    /// Adds a chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        self.total += chunk.len() as u64;
        #[cfg(feature = "cache")]
        if let Some(copy) = &mut self.copy {
            copy.write(chunk);
        }
        match &mut self.collected {
            Collected::Bytes(bytes) => {
                let sniffed = bytes.len() >= SNIFFED;
                let more = reserved(bytes.len(), bytes.capacity(), chunk.len(), self.announced);
                bytes.reserve_exact(more);
                bytes.extend_from_slice(chunk);
                // The rest of a character may still arrive.
                let is_binary =
                    || std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_some());
                if self.wanted == RequestedForm::Text && !sniffed && is_binary() {
                    let bytes = std::mem::take(bytes);
                    self.collected = Collected::Base64(String::new(), Vec::with_capacity(3));
                    self.encode(&bytes);
                }
            }
            Collected::Base64(..) => self.encode(chunk),
        }
    }

    fn encode(&mut self, chunk: &[u8]) {
        let Collected::Base64(text, rest) = &mut self.collected else { return };
        let length = |bytes: usize| bytes.div_ceil(3).saturating_mul(4);
        let announced = length(self.announced);
        text.reserve_exact(reserved(text.len(), text.capacity(), length(chunk.len()), announced));
        let missing = if rest.is_empty() { 0 } else { chunk.len().min(3 - rest.len()) };
        let (first, chunk) = chunk.split_at_checked(missing).unwrap_or((chunk, &[]));
        rest.extend_from_slice(first);
        if rest.len() == 3 {
            STANDARD.encode_string(&*rest, text);
            rest.clear();
        }
        let whole = chunk.len() / 3 * 3;
        let (whole, last) = chunk.split_at_checked(whole).unwrap_or((chunk, &[]));
        STANDARD.encode_string(whole, text);
        rest.extend_from_slice(last);
    }

    /// Reads to the end, chunk by chunk.
    #[cfg(feature = "cache")]
    pub fn read(&mut self, mut from: impl std::io::Read) -> std::io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        loop {
            match from.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(length) => self.push(chunk.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the content, if it has the digest (`sha256:<64 hex>`).
    pub fn finish(self, digest: &str) -> Result<Content, Error> {
        let found = format!("sha256:{}", hex(&self.hasher.finalize()));
        if found != digest {
            let total = self.total;
            let message = format!(
                "digest mismatch for the content of `{digest}`: found `{found}` ({total} bytes)"
            );
            return Err(Error::tampered(message)
                .with_hint("check the content store and the network; the content wasn't used"));
        }
        #[cfg(feature = "cache")]
        if let Some(copy) = self.copy {
            copy.keep(digest);
        }
        Ok(match self.collected {
            Collected::Bytes(bytes) if self.wanted == RequestedForm::Bytes => Content::Bytes(bytes),
            Collected::Bytes(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Content::Text(text),
                Err(binary) => Content::Base64(STANDARD.encode(binary.as_bytes())),
            },
            Collected::Base64(mut text, rest) => {
                STANDARD.encode_string(rest, &mut text);
                Content::Base64(text)
            }
        })
    }
}

/// Returns the capacity to reserve. Memory for all content is reserved early, since growth by doubling would
/// hold it twice at the end. A store that announces much and sends little gets at most 64 times the bytes
/// that it sent.
fn reserved(length: usize, capacity: usize, more: usize, announced: usize) -> usize {
    let needed = length.saturating_add(more);
    let early = needed > capacity && announced > needed && announced / 64 <= needed;
    if early { announced - length } else { 0 }
}

/// Content that arrives from the network, processed in batches.
pub(super) struct Incoming {
    collector: Option<Collector>,
    /// The bytes since the last batch.
    batch: Vec<u8>,
    processing: Option<JoinHandle<(Collector, Vec<u8>)>>,
}

impl Incoming {
    pub fn new(collector: Collector) -> Self {
        Self { collector: Some(collector), batch: Vec::new(), processing: None }
    }

    /// Waits for the last batch; returns the collector and an empty buffer.
    async fn collector(&mut self) -> Result<(Collector, Vec<u8>), Error> {
        match self.processing.take() {
            Some(work) => work.await.map_err(|_| gone()),
            None => Ok((self.collector.take().ok_or_else(gone)?, Vec::new())),
        }
    }

    /// Returns the content, if it has the digest.
    pub async fn finish(mut self, digest: &str) -> Result<Content, Error> {
        let is_large = self.processing.is_some();
        let (mut collector, _) = self.collector().await?;
        // Neither long work nor writing to the disk belongs on the thread of the network.
        let elsewhere = is_large;
        #[cfg(feature = "cache")]
        let elsewhere = elsewhere || collector.writes();
        let (digest, batch) = (digest.to_owned(), self.batch);
        let finish = move || {
            collector.push(&batch);
            drop(batch);
            collector.finish(&digest)
        };
        if !elsewhere {
            return finish();
        }
        process(finish).await?.await.map_err(|_| gone())?
    }
}

impl Sink for Incoming {
    async fn take(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.batch.extend_from_slice(chunk);
        if self.batch.len() >= BATCH {
            let (mut collector, next) = self.collector().await?;
            let mut batch = std::mem::replace(&mut self.batch, next);
            let processing = process(move || {
                collector.push(&batch);
                batch.clear();
                (collector, batch)
            });
            self.processing = Some(processing.await?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use crate::ErrorKind;

    fn collected(content: &[u8], chunk: usize, wanted: RequestedForm, announced: usize) -> Content {
        let mut collector = Collector::new(wanted, announced);
        for chunk in content.chunks(chunk) {
            collector.push(chunk);
        }
        collector.finish(&format!("sha256:{}", hex(&Sha256::digest(content)))).unwrap()
    }

    #[test]
    fn the_form_depends_on_the_content_and_not_on_its_chunks() {
        // Each small chunk has the sniffed part read again: the long text has larger ones.
        for (length, chunks) in
            [(SNIFFED / 64, &[1, 2, 3, 7][..]), (SNIFFED / 8, &[101, 1000, 65_537, 1 << 20])]
        {
            let text = "größer ".repeat(length).into_bytes();
            // Invalid at the beginning, in the sniffed part, after that of the long text, and at the end.
            let bad = |at: usize| {
                let mut bytes = text.clone();
                *bytes.get_mut(at).unwrap() = 0xff;
                bytes
            };
            let cut = text.get(..text.len() - 4).unwrap().to_vec();
            let binary = [bad(0), bad(1000), bad(text.len() / 10 * 9), bad(text.len() - 1), cut];
            for &chunk in chunks {
                for announced in [0, text.len(), 10 * text.len()] {
                    let how = |bytes, wanted| collected(bytes, chunk, wanted, announced);
                    let Content::Text(found) = how(&text, RequestedForm::Text) else {
                        panic!("no text in chunks of {chunk}")
                    };
                    assert_eq!(found.as_bytes(), text);
                    for bytes in &binary {
                        let Content::Base64(found) = how(bytes, RequestedForm::Text) else {
                            panic!("no base64 in chunks of {chunk}")
                        };
                        assert_eq!(found, STANDARD.encode(bytes));
                        let Content::Bytes(found) = how(bytes, RequestedForm::Bytes) else {
                            panic!("no bytes in chunks of {chunk}")
                        };
                        assert_eq!(found, *bytes);
                    }
                }
            }
        }
    }

    #[test]
    fn content_with_another_digest_is_refused() {
        let mut collector = Collector::new(RequestedForm::Text, 0);
        collector.push(b"content");
        let digest = format!("sha256:{}", hex(&Sha256::digest(b"other")));
        assert_eq!(collector.finish(&digest).unwrap_err().kind(), ErrorKind::Tampered);
    }

    #[test]
    fn an_announced_length_is_reserved_once_enough_has_arrived() {
        let mut collector = Collector::new(RequestedForm::Bytes, 100_000);
        for _ in 0..100 {
            collector.push(&[7; 1000]);
        }
        assert!(
            matches!(&collector.collected, Collected::Bytes(bytes) if bytes.capacity() == 100_000)
        );
        assert_eq!(reserved(0, 0, 1000, 1 << 40), 0);
    }
}
