//! References of images, decisions about them, and their cache.
//!
//! Owns the input that policies get of an image, and which decisions are shared: equal questions in flight have
//! one run, and its verdict may be kept for a time. `image_verdict` makes the decisions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use rego_platform::Value;
use rego_platform::evaluate::Recording;
use rego_platform_gate::model::{Effect, Outcome, Run};

use super::answer::object;

/// The number of decisions that are kept.
const KEPT: usize = 4096;

/// The most reasons and the most warnings of a decision.
const REASONS: usize = 20;

/// The member of the input with the review's request.
pub(crate) const REQUEST: &str = "request";

/// An image, by the reference that names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ImageReference {
    /// The whole reference.
    pub text: String,
    /// The digest of the image, `sha256:…`.
    digest: String,
}

impl ImageReference {
    /// Reads a reference with a digest.
    ///
    /// # Errors
    /// The reason why it doesn't say which image it means.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('@');
        let (name, digest, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let is_name =
            |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_name(name) || more.is_some() {
            return Err("invalid reference of an image".to_owned());
        }
        let Some(digest) = digest else {
            return Err("the reference has no digest: expected `NAME@sha256:…`".to_owned());
        };
        let hex = digest.strip_prefix("sha256:");
        let is_hex = |hex: &str| {
            let mut bytes = hex.bytes();
            hex.len() == 64 && bytes.all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        if !hex.is_some_and(is_hex) {
            let message =
                "invalid digest: expected `sha256:` and 64 hexadecimal digits in lower case";
            return Err(message.to_owned());
        }
        Ok(Self { text: text.to_owned(), digest: digest.to_owned() })
    }

    /// Returns the input of policies, as `gate --image` names its members.
    pub fn input(&self, request: Option<&Value>) -> Value {
        object([
            ("image", Some(self.digest.as_str().into())),
            ("reference", Some(self.text.as_str().into())),
            (REQUEST, request.cloned()),
        ])
    }
}

/// A decision about an image.
#[derive(Debug)]
pub(crate) struct ImageDecision {
    pub outcome: Outcome,
    /// The reasons why it didn't pass.
    pub reasons: Vec<String>,
    /// The warnings of policies.
    pub warnings: Vec<String>,
}

impl ImageDecision {
    /// An image without a verdict.
    pub fn undecided(reason: impl Into<String>) -> Self {
        Self { outcome: Outcome::NoVerdict, reasons: vec![reason.into()], warnings: Vec::new() }
    }

    pub fn of(run: &Run) -> Self {
        let verdicts = run.inputs.iter().flat_map(|input| &input.verdicts);
        let found = verdicts.flat_map(|verdict| &verdict.violations);
        let warnings = found.filter(|own| own.effect == Effect::Warns);
        Self {
            outcome: run.outcome,
            reasons: bounded(run.explanations().into_iter().map(str::to_owned).collect()),
            warnings: bounded(warnings.map(|own| own.message.clone()).collect()),
        }
    }

    pub fn passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }
}

/// Returns the first lines, and how many more there are.
fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(REASONS);
    if more > 0 {
        lines.truncate(REASONS);
        lines.push(format!("and {more} more"));
    }
    lines
}

/// A decision, with the calls of its run unless it was kept.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub decision: Arc<ImageDecision>,
    pub recording: Option<Arc<Recording>>,
}

impl From<ImageDecision> for Judged {
    fn from(decision: ImageDecision) -> Self {
        Self { decision: Arc::new(decision), recording: None }
    }
}

pub(crate) type Key = [u8; 32];
pub(crate) type Flight = BoxFuture<'static, Judged>;

/// The decisions about images by one set of policies: those in flight, and those that are kept.
pub(crate) struct ImageDecisions {
    flights: Mutex<HashMap<Key, WeakShared<Flight>>>,
    kept: Cache<Key, (Instant, Arc<ImageDecision>)>,
}

impl std::fmt::Debug for ImageDecisions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImageDecisions").field("kept", &self.kept.len()).finish_non_exhaustive()
    }
}

impl Default for ImageDecisions {
    fn default() -> Self {
        Self { flights: Mutex::default(), kept: Cache::new(KEPT) }
    }
}

impl ImageDecisions {
    /// Returns a decision that is kept, and not older than a time.
    pub fn kept(&self, key: &Key, time: Duration) -> Option<Arc<ImageDecision>> {
        let (since, decision) = self.kept.get(key)?;
        (since.elapsed() < time).then_some(decision)
    }

    /// Caches a decision.
    pub fn keep(&self, key: Key, decision: Arc<ImageDecision>) {
        self.kept.insert(key, (Instant::now(), decision));
    }

    /// Returns the run for a question that is in flight, or begins one.
    pub fn join_or_begin(&self, key: Key, begin: impl FnOnce() -> Flight) -> Shared<Flight> {
        let mut flights = self.flights.lock();
        if let Some(flight) = flights.get(&key).and_then(WeakShared::upgrade) {
            return flight;
        }
        flights.retain(|_, flight| flight.upgrade().is_some());
        let flight = begin().shared();
        flights.extend(flight.downgrade().map(|weak| (key, weak)));
        flight
    }
}

/// Returns the recordings of decisions as one.
pub(crate) fn recorded<'j>(judged: impl Iterator<Item = &'j Judged>) -> Recording {
    let mut all = Recording::new();
    for recording in judged.filter_map(|judged| judged.recording.as_deref()) {
        all.replace(recording.clone());
    }
    all
}
