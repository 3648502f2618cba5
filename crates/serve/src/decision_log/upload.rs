//! Uploads: chunks of entries to a server that takes OPA's log of decisions, again until it has them.
//!
//! Owns the thread that uploads, the pauses between attempts, and what is told of failures. The server's token
//! is read anew for each upload, and goes nowhere else.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use rego_platform::Error;
use rego_platform::reqwest::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use rego_platform::reqwest::{self, StatusCode};
use rego_platform_client::http::connection::{Cause, outside_client};
use rego_platform_client::http::origin::{is_exposed, origin};
use rego_platform_client::http::retry::{Failed, pauses};
use rego_platform_client::setting;
use rego_platform_client::text::escape_path;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};
use url::Url;

use super::spool::{Chunk, Spool};
use crate::journal::Journal;

/// The largest file of a token.
const MAX_TOKEN: u64 = 64 << 10;

/// The longest time for the end: a clock can't count much more.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// The destination and the settings of uploads.
#[derive(Clone)]
#[non_exhaustive]
pub struct Upload {
    address: Url,
    /// The folder in which entries wait; each server needs its own.
    pub spool: PathBuf,
    /// The file of the token with which the server is asked; none by default. It is read for each upload.
    pub token_file: Option<PathBuf>,
    /// Certificates (PEM) to trust in addition to the system's.
    pub certificates: Vec<Vec<u8>>,
    /// Set to allow plain HTTP to other hosts than this machine's loopback.
    pub insecure: bool,
    /// The size of a chunk, before it is compressed; 1 MiB by default.
    pub chunk: u64,
    /// The most bytes that wait; 256 MiB by default. Beyond it the oldest chunk is dropped.
    pub most: u64,
    /// The time in which entries are collected for one upload; 5 s by default.
    pub interval: Duration,
    /// The pause after a failure, doubled with each that follows; from 1 s to 1 min by default.
    pub pauses: (Duration, Duration),
    /// The time limit of an upload; 30 s by default.
    pub timeout: Duration,
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest of the address may be secret.
        f.debug_struct("Upload")
            .field("to", &self.origin())
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}

impl Upload {
    /// Creates an upload to an address, by way of a folder. An address without a path stands for its
    /// `/logs`, as in OPA.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) for an address that isn't one of HTTP, or has a user or a password.
    pub fn new(address: &str, spool: impl Into<PathBuf>) -> Result<Self, Error> {
        let wrong = || {
            Error::configuration("invalid URL of the decision log")
                .with_hint("write `https://host/path`, without a user and a password")
        };
        let mut address = Url::parse(address).map_err(|_| wrong())?;
        let is_bare = address.username().is_empty() && address.password().is_none();
        if !is_bare || !matches!(address.scheme(), "http" | "https") {
            return Err(wrong());
        }
        if address.path() == "/" {
            address.set_path("/logs");
        }
        Ok(Self {
            address,
            spool: spool.into(),
            token_file: None,
            certificates: Vec::new(),
            insecure: false,
            chunk: 1 << 20,
            most: 256 << 20,
            interval: Duration::from_secs(5),
            pauses: (Duration::from_secs(1), Duration::from_mins(1)),
            timeout: Duration::from_secs(30),
        })
    }

    fn origin(&self) -> String {
        origin(&self.address)
    }

    /// Returns the header with the token.
    fn authorization(&self) -> Result<Option<HeaderValue>, String> {
        let Some(path) = &self.token_file else { return Ok(None) };
        let text =
            token(path).map_err(|why| format!("the token in `{}` {why}", escape_path(path)))?;
        let mut value = HeaderValue::try_from(format!("Bearer {text}"))
            .map_err(|_| "the token can't be sent in a header".to_owned())?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

fn token(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_TOKEN + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("can't be read: {error}"))?;
    let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len() as u64 <= MAX_TOKEN);
    let text = text.map(str::trim).filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()));
    match text {
        Some("") => Err("is empty".to_owned()),
        Some(text) => Ok(text.to_owned()),
        None => Err("isn't one line of visible ASCII".to_owned()),
    }
}

/// The state of uploads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uploads {
    pub uploaded: u64,
    pub waiting: u64,
    pub dropped: u64,
    pub failed: u64,
}

/// State shared by the upload thread and the threads that add decisions.
#[derive(Debug)]
struct Shared {
    spool: Spool,
    journal: Arc<dyn Journal>,
    /// Wakes the thread.
    arrived: Notify,
    uploaded: AtomicU64,
    failed: AtomicU64,
    /// The error of the last upload, if it failed.
    failure: Mutex<Option<String>>,
}

/// The thread that uploads.
#[derive(Debug)]
pub(super) struct Uploader {
    shared: Arc<Shared>,
    /// The deadline after which entries are left in the spool.
    stop: watch::Sender<Option<Instant>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Uploader {
    pub fn start(upload: Upload, journal: Arc<dyn Journal>) -> Result<Self, Error> {
        if is_exposed(&upload.address) && !upload.insecure {
            let message = format!("decisions would go to {} over plain HTTP", upload.origin());
            return Err(Error::configuration(message).by_setting(setting::PLAIN_HTTP));
        }
        upload.authorization().map_err(Error::configuration)?;
        let client = outside_client(&upload.certificates)?;
        let spool = Spool::open(upload.spool.clone(), upload.chunk, upload.most)?;
        let failed = |error: std::io::Error| {
            Error::configuration("the upload of decisions can't be started")
                .with_source(error.to_string())
        };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (stop, stopping) = watch::channel(None);
        let shared = Arc::new(Shared {
            spool,
            journal,
            arrived: Notify::new(),
            uploaded: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            failure: Mutex::default(),
        });
        let work = Work { upload, client, shared: Arc::clone(&shared), stopping };
        let thread = std::thread::Builder::new()
            .name("decision-upload".to_owned())
            .spawn(move || runtime.block_on(work.run()))
            .map_err(failed)?;
        Ok(Self { shared, stop, thread: Mutex::new(Some(thread)) })
    }

    /// Returns what adds lines to those that are uploaded.
    pub fn adding(&self) -> impl Fn(&[u8]) -> std::io::Result<()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move |lines| {
            let dropped = shared.spool.add(lines)?;
            shared.arrived.notify_one();
            if dropped > 0 {
                let message = format!(
                    "{dropped} decisions were dropped from the log: the spool `{}` is full",
                    shared.spool.shown()
                );
                shared.journal.failed(&Error::too_large(message));
            }
            Ok(())
        }
    }

    /// Returns why the last upload failed.
    pub fn failure(&self) -> Option<String> {
        self.shared.failure.lock().clone()
    }

    pub fn uploads(&self) -> Uploads {
        let (waiting, dropped) = self.shared.spool.counts();
        Uploads {
            uploaded: self.shared.uploaded.load(Ordering::Relaxed),
            waiting,
            dropped,
            failed: self.shared.failed.load(Ordering::Relaxed),
        }
    }

    /// Uploads the queued entries, within a time limit. The rest stays in the spool.
    pub fn finish(&self, time: Duration) {
        let thread = self.thread.lock().take();
        let Some(thread) = thread else { return };
        self.stop.send_replace(Some(Instant::now() + time.min(LONGEST)));
        let _ = thread.join();
        self.shared.spool.close();
        let (waiting, _) = self.shared.spool.counts();
        if waiting > 0 {
            let message = format!("{waiting} decisions weren't uploaded");
            let spool = self.shared.spool.shown();
            let hint = format!("the next start uploads them from `{spool}`");
            self.shared.journal.failed(&Error::unavailable(message).with_hint(hint));
        }
    }
}

impl Drop for Uploader {
    fn drop(&mut self) {
        self.finish(Duration::ZERO);
    }
}

/// The response of a server to an upload.
enum Response {
    Accepted,
    /// The body is too large for the server.
    TooLarge,
}

struct Work {
    upload: Upload,
    client: reqwest::Client,
    shared: Arc<Shared>,
    stopping: watch::Receiver<Option<Instant>>,
}

impl Work {
    async fn run(mut self) {
        let (first, longest) = self.upload.pauses;
        let mut planned = pauses(first, longest);
        loop {
            let Some(chunk) = self.next().await else { return };
            match self.attempt(chunk).await {
                Ok(()) => planned = pauses(first, longest),
                Err(failed) => {
                    // A server that asks for more must not stop the log for good.
                    let asked = failed.retry_after.unwrap_or_default().min(longest);
                    self.fail(failed.error);
                    self.wait(planned.next().unwrap_or(longest).min(longest).max(asked)).await;
                }
            }
            let end = *self.stopping.borrow();
            if end.is_some_and(|end| Instant::now() >= end) {
                return;
            }
        }
    }

    /// Returns the next chunk, once there is one; `None` at the end of all.
    async fn next(&mut self) -> Option<Chunk> {
        loop {
            if let Some(chunk) = self.shared.spool.oldest(false) {
                return Some(chunk);
            }
            let is_last = self.stopping.borrow().is_some();
            if !is_last && self.shared.spool.counts().0 == 0 {
                tokio::select! {
                    () = self.shared.arrived.notified() => {}
                    _ = self.stopping.changed() => {}
                }
                continue;
            }
            if !is_last {
                self.wait(self.upload.interval).await;
            }
            let chunk = self.shared.spool.oldest(true);
            if chunk.is_some() || is_last {
                return chunk;
            }
        }
    }

    /// Waits, until the end if there is one; the beginning of the end ends it.
    async fn wait(&mut self, time: Duration) {
        let end = *self.stopping.borrow_and_update();
        let ended = async {
            match end {
                Some(end) => sleep_until(end).await,
                None => drop(self.stopping.changed().await),
            }
        };
        let _ = timeout(time, ended).await;
    }

    fn fail(&self, why: String) {
        self.shared.failed.fetch_add(1, Ordering::Relaxed);
        let mut failure = self.shared.failure.lock();
        // A reason is told once, not with each attempt.
        if failure.as_ref() != Some(&why) {
            let error = Error::unavailable("decisions can't be uploaded");
            self.shared.journal.failed(
                &error
                    .with_source(why.clone())
                    .with_hint("the upload is retried; the decisions stay in the spool"),
            );
            *failure = Some(why);
        }
    }

    /// Uploads a chunk, split if it is too large for the server.
    async fn attempt(&self, chunk: Chunk) -> Result<(), Failed<String>> {
        let lines = match self.shared.spool.lines(chunk) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let (lost, spool) = (chunk.entries(), self.shared.spool.shown());
                let message = format!("{lost} decisions are missing from the spool `{spool}`");
                self.shared.journal.failed(&Error::tampered(message));
                let _ = self.shared.spool.uploaded(chunk, lost);
                return Ok(());
            }
            lines => lines
                .map_err(|error| Failed::permanent(format!("the spool can't be read: {error}")))?,
        };
        let mut refused = 0;
        let whole: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
        let mut parts = vec![whole.as_slice()];
        while let Some(part) = parts.pop() {
            match self.send(part).await? {
                Response::Accepted => {}
                Response::TooLarge if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Response::TooLarge => {
                    refused += 1;
                    let message = format!(
                        "a decision was dropped from the log: {} takes no {} bytes",
                        self.upload.origin(),
                        part.iter().map(|line| line.len()).sum::<usize>()
                    );
                    self.shared.journal.failed(&Error::too_large(message));
                }
            }
        }
        self.shared.uploaded.fetch_add(chunk.entries().saturating_sub(refused), Ordering::Relaxed);
        *self.shared.failure.lock() = None;
        // One that can't be removed would be uploaded again without end.
        self.shared
            .spool
            .uploaded(chunk, refused)
            .map_err(|error| Failed::permanent(format!("the spool can't be written: {error}")))
    }

    async fn send(&self, lines: &[&[u8]]) -> Result<Response, Failed<String>> {
        let origin = self.upload.origin();
        let body = body(lines).map_err(|error| Failed::permanent(error.to_string()))?;
        let mut request = self
            .client
            .post(self.upload.address.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(CONTENT_ENCODING, "gzip")
            .body(body);
        if let Some(value) = self.upload.authorization().map_err(Failed::permanent)? {
            request = request.header(AUTHORIZATION, value);
        }
        let end = self.stopping.borrow().map(|end| end.saturating_duration_since(Instant::now()));
        let time = end.map_or(self.upload.timeout, |end| end.min(self.upload.timeout));
        let response = timeout(time, request.send())
            .await
            .map_err(|_| Failed::permanent(format!("request timed out: {origin}")))?
            .map_err(|error| {
                let cause = Cause::of(&error);
                Failed::permanent(format!("request to {origin} failed: {cause}"))
            })?;
        match response.status() {
            status if status.is_success() => Ok(Response::Accepted),
            StatusCode::PAYLOAD_TOO_LARGE => Ok(Response::TooLarge),
            status => {
                let why = format!("unexpected response of {origin}: status {}", status.as_u16());
                Err(Failed::of_status(why, status, response.headers()))
            }
        }
    }
}

/// Returns lines as a compressed array.
fn body(lines: &[&[u8]]) -> std::io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    for (index, line) in lines.iter().enumerate() {
        out.write_all(if index == 0 { b"[" } else { b"," })?;
        out.write_all(line.trim_ascii_end())?;
    }
    out.write_all(b"]")?;
    out.finish()
}
