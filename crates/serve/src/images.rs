//! Decisions about images, for the webhooks: the gate's verdict over what a reference names.
//!
//! Owns the input that policies get of an image, and which decisions are shared: equal questions in flight have
//! one run, and its verdict may be kept for a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use quick_cache::sync::Cache;
use rego_platform::evaluate::{Recording, compact};
use rego_platform::{Error, Value};
use rego_platform_gate::InputSource;
use rego_platform_gate::model::{Effect, Outcome, Run};
use sha2::{Digest as _, Sha256};

use super::answer::object;
use super::app::App;
use super::decide::Asking;
use super::judgement::judge;
use super::policy_set::PolicySet;

/// The number of decisions that are kept.
const KEPT: usize = 4096;

/// The most reasons and the most warnings of a decision.
const REASONS: usize = 20;

/// The member of the input with the review's request.
const REQUEST: &str = "request";

/// An image, by the reference that names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ImageReference {
    /// The whole reference.
    text: String,
    /// Its digest, `sha256:…`.
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
    fn input(&self, request: Option<&Value>) -> Value {
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

    fn of(run: &Run) -> Self {
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

type Key = [u8; 32];
type Flight = BoxFuture<'static, Judged>;

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
    fn kept(&self, key: &Key, time: Duration) -> Option<Arc<ImageDecision>> {
        let (since, decision) = self.kept.get(key)?;
        (since.elapsed() < time).then_some(decision)
    }

    /// Returns the run for a question that is in flight, or begins one.
    fn join_or_begin(&self, key: Key, begin: impl FnOnce() -> Flight) -> Shared<Flight> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(&key).and_then(WeakShared::upgrade) {
            return flight;
        }
        flights.retain(|_, flight| flight.upgrade().is_some());
        let flight = begin().shared();
        flights.extend(flight.downgrade().map(|weak| (key, weak)));
        flight
    }
}

/// Decides about an image within the time of a request. Requests that wait for the same run share it, and it is
/// cancelled once none of them is left.
pub(crate) async fn decide(
    app: &App,
    set: &Arc<PolicySet>,
    asking: &Asking,
    image: &ImageReference,
    request: Option<&Value>,
) -> Judged {
    let key = match key(set, image, request) {
        Ok(key) => key,
        Err(error) => return ImageDecision::undecided(error.report()).into(),
    };
    if let Some(decision) = app.decision_cache.and_then(|time| set.images.kept(&key, time)) {
        return Judged { decision, recording: None };
    }
    let flight = set.images.join_or_begin(key, || {
        let input = image.input(request);
        // The time of this request isn't that of others which wait for the same decision.
        let (app, set, asking) = (app.clone(), Arc::clone(set), asking.without_limit());
        let name = image.text.clone();
        async move { run(&app, &set, &asking, key, name, &input).await }.boxed()
    });
    let time = asking.options(app).budget.timeout;
    tokio::time::timeout(time, flight).await.unwrap_or_else(|_| {
        let error = Error::timed_out_after("the decision", asking.limit(app));
        ImageDecision::undecided(error.report()).into()
    })
}

async fn run(
    app: &App,
    set: &Arc<PolicySet>,
    asking: &Asking,
    key: Key,
    name: String,
    input: &Value,
) -> Judged {
    let source = InputSource::Document(name, input.to_json().into());
    let judged = judge(app, set, asking, vec![source], app.decision_log.is_some()).await;
    let (decision, recording) = match judged {
        Ok((run, recording)) => (ImageDecision::of(&run), recording),
        Err(refusal) => (ImageDecision::undecided(refusal.reason()), None),
    };
    let decision = Arc::new(decision);
    // The next question may have a verdict where this one has none.
    if app.decision_cache.is_some() && decision.outcome != Outcome::NoVerdict {
        set.images.kept.insert(key, (Instant::now(), Arc::clone(&decision)));
    }
    Judged { decision, recording: recording.map(Arc::new) }
}

/// Returns the key of a question: what its answer depends on. The `uid` names the review, and nothing in it.
fn key(set: &PolicySet, image: &ImageReference, request: Option<&Value>) -> Result<Key, Error> {
    let is_read = set.gate.as_ref().is_ok_and(|gate| gate.reads_field(REQUEST));
    let request = request.filter(|_| is_read).map(|request| {
        let mut request = request.clone();
        if let Some(members) = request.as_object_mut() {
            members.remove(&Value::from("uid"));
        }
        request
    });
    let text = compact(&image.input(request.as_ref()))?;
    Ok(Sha256::digest(text).into())
}

/// Returns the recordings of decisions as one.
pub(crate) fn recorded<'j>(judged: impl Iterator<Item = &'j Judged>) -> Recording {
    let mut all = Recording::new();
    for recording in judged.filter_map(|judged| judged.recording.as_deref()) {
        all.replace(recording.clone());
    }
    all
}
