//! The gate's verdict over an image, for the webhooks.

use std::sync::Arc;

use futures_util::FutureExt as _;
use rego_platform::evaluate::compact;
use rego_platform::{Error, Value};
use rego_platform_gate::InputSource;
use rego_platform_gate::model::Outcome;
use sha2::{Digest as _, Sha256};

use super::decide::Asking;
use super::images::{ImageDecision, ImageReference, Judged, Key, REQUEST};
use super::judgement::judge;
use super::policy_set::PolicySet;

/// Decides about an image within the time of a request. Requests that wait for the same run share it, and it is
/// cancelled once none of them is left.
pub(crate) async fn decide(
    asking: &Asking,
    image: &ImageReference,
    request: Option<&Value>,
) -> Judged {
    let Asking { app, set, .. } = asking;
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
        let (asking, name) = (asking.without_limit(), image.text.clone());
        async move { run(&asking, key, name, &input).await }.boxed()
    });
    let time = asking.options().budget.timeout;
    tokio::time::timeout(time, flight).await.unwrap_or_else(|_| {
        let error = Error::timed_out_after("the decision", asking.limit());
        ImageDecision::undecided(error.report()).into()
    })
}

async fn run(asking: &Asking, key: Key, name: String, input: &Value) -> Judged {
    let Asking { app, set, .. } = asking;
    let source = InputSource::Document(name, input.to_json().into());
    let judged = judge(asking, vec![source], app.decision_log.is_some()).await;
    let (decision, recording) = match judged {
        Ok((run, recording)) => (ImageDecision::of(&run), recording),
        Err(refusal) => (ImageDecision::undecided(refusal.reason()), None),
    };
    let decision = Arc::new(decision);
    // The next question may have a verdict where this one has none.
    if app.decision_cache.is_some() && decision.outcome != Outcome::NoVerdict {
        set.images.keep(key, Arc::clone(&decision));
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
