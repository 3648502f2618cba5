//! The webhook of a server of Kubernetes: `/v1/admission`.
//!
//! Owns which images an object has, and the response to a review. A request without a pod is refused: nothing in
//! it could be judged.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use rego_platform::Value;
use rego_platform_gate::model::Outcome;

use crate::answer::{Refusal, json, object};
use crate::body::Members;
use crate::decide::{Asked, Asking};
use crate::decision_log::{Event, Subject};
use crate::image_verdict::decide;
use crate::images::{ImageDecision, ImageReference, Judged, recorded};

/// The path of the route, and of its entries in the log.
pub(super) const ROUTE: &str = crate::access::ADMISSION;

const VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// The most images of a request that are decided about at the same time.
pub(super) const TOGETHER: usize = 16;

/// The longest warning, in characters; Kubernetes cuts off what is longer.
const WARNING: usize = 256;

/// Locations of a pod's specification in objects: a pod itself, a workload with a template, one that makes jobs
/// from a template, and a template alone.
const SPECIFICATIONS: [&[&str]; 4] = [
    &["spec"],
    &["spec", "template", "spec"],
    &["spec", "jobTemplate", "spec", "template", "spec"],
    &["template", "spec"],
];

/// The lists of a pod's containers.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Answers a review. It is allowed if the gate passes for each image of its object.
pub(super) async fn post(asked: Asked, body: Members) -> Result<Response, Refusal> {
    let Asked { asking, parameters, .. } = asked;
    let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    let (version, kind) = (text(body.get("apiVersion")), text(body.get("kind")));
    if version.as_deref() != Some(VERSION) || kind.as_deref() != Some(KIND) {
        return Err(Refusal::invalid(format!(
            "the body isn't a review: expected `{KIND}` of `{VERSION}`"
        )));
    }
    let request = body.get("request").unwrap_or_default();
    let Some(uid) = request.get_str("uid").filter(|uid| uid.as_str().is_some()).cloned() else {
        return Err(Refusal::invalid("the review has no `request.uid`"));
    };
    // The response has to arrive in this time.
    let asking = asking.waiting(|timeout| timeout.map(|time| time.saturating_sub(margin(time))));
    let (began, id) = (Instant::now(), asking.identity());
    let (decisions, recording) = match images(&request) {
        Err(reason) => (vec![(String::new(), ImageDecision::undecided(reason).into())], None),
        Ok(images) => {
            let judged = judge_all(&asking, images, &request).await;
            let recording = recorded(judged.iter().map(|(_, judged)| judged));
            (judged, Some(recording))
        }
    };
    let response = response(uid, &decisions);
    if let Some(id) = id {
        let event = Event {
            input: Some(request),
            outcome: Ok(Some(response.clone())),
            recording: Ok(recording.unwrap_or_default()),
            metrics: asking.metrics(body.parsing, began.elapsed()).into_iter().collect(),
            ..asking.event(id, Subject::Route(ROUTE))
        };
        asking.log(event).await?;
    }
    let answer = object([
        ("apiVersion", Some(VERSION.into())),
        ("kind", Some(KIND.into())),
        ("response", Some(response)),
    ]);
    json(StatusCode::OK, &answer, parameters.is_pretty(), asking.app.bounds.answer)
}

/// Returns the part of a client's time that is left for the way back.
pub(super) fn margin(time: Duration) -> Duration {
    (time / 10).clamp(Duration::from_millis(100), Duration::from_secs(1)).min(time / 2)
}

/// Decides about each image, and returns the decisions by their references in the same order.
async fn judge_all(asking: &Asking, images: Vec<String>, request: &Value) -> Vec<(String, Judged)> {
    let decide_each = images.into_iter().map(|text| async move {
        let judged = match ImageReference::parse(&text) {
            Ok(image) => decide(asking, &image, Some(request)).await,
            Err(reason) => ImageDecision::undecided(reason).into(),
        };
        (text, judged)
    });
    stream::iter(decide_each).buffered(TOGETHER).collect().await
}

/// Returns the references of all images in the object of a request, each once.
fn images(request: &Value) -> Result<Vec<String>, String> {
    let none = Value::default();
    let object = request.get_str("object").unwrap_or(&none);
    let mut images: Vec<String> = Vec::new();
    let mut add = |image: Option<&Value>, owner: &dyn Fn() -> String| {
        let image = image.and_then(Value::as_str).filter(|image| !image.is_empty());
        let image = image.ok_or_else(|| format!("{} has no image", owner()))?;
        if !images.iter().any(|own| own == image) {
            images.push(image.to_owned());
        }
        Ok::<_, String>(())
    };
    let mut found = false;
    for path in SPECIFICATIONS {
        let specification = path.iter().try_fold(object, |value, name| value.get_str(name));
        let Some(specification) = specification else { continue };
        for list in CONTAINERS {
            let Some(containers) = present(specification, list) else { continue };
            found = true;
            let wrong = || format!("`{}.{list}` isn't an array", path.join("."));
            for container in containers.as_array().ok_or_else(wrong)? {
                let name = || {
                    let name =
                        container.get_str("name").and_then(Value::as_str).unwrap_or_default();
                    format!("the container `{name}`")
                };
                add(container.get_str("image"), &name)?;
            }
        }
        let volumes = present(specification, "volumes").filter(|_| found);
        for volume in volumes.and_then(Value::as_array).into_iter().flat_map(|all| all.iter()) {
            // Only a volume that is an image has this member.
            let Some(image) = present(volume, "image") else { continue };
            let name = volume.get_str("name").and_then(Value::as_str).unwrap_or_default();
            add(image.get_str("reference"), &|| format!("the volume `{name}`"))?;
        }
    }
    if found && !images.is_empty() {
        return Ok(images);
    }
    let kind = request.get_str("kind").and_then(|kind| kind.get_str("kind"));
    let kind = kind.and_then(Value::as_str).unwrap_or("object");
    Err(format!(
        "no container in the {kind}: register the webhook for pods and for workloads with a pod template"
    ))
}

/// Returns a member that isn't `null`.
fn present<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.get_str(name).filter(|value| **value != Value::Null)
}

/// Returns the response to a review by the decisions about its images.
fn response(uid: Value, decisions: &[(String, Judged)]) -> Value {
    let lines = |text: &str, reasons: &[String]| {
        let place = if text.is_empty() { String::new() } else { format!("`{text}`: ") };
        format!("{place}{}", reasons.join("; "))
    };
    let denied: Vec<_> = decisions.iter().filter(|(_, judged)| !judged.decision.passed()).collect();
    let messages: Vec<String> =
        denied.iter().map(|(text, judged)| lines(text, &judged.decision.reasons)).collect();
    let is_failed = denied.iter().any(|(_, judged)| judged.decision.outcome == Outcome::Failed);
    // A violation is the policies' decision; anything else only means that they couldn't decide.
    let code = if is_failed { StatusCode::FORBIDDEN } else { StatusCode::INTERNAL_SERVER_ERROR };
    let status = (!denied.is_empty()).then(|| {
        object([
            ("code", Some(i64::from(code.as_u16()).into())),
            ("message", Some(messages.join("\n").into())),
        ])
    });
    let warnings = decisions.iter().flat_map(|(text, judged)| {
        let own = judged.decision.warnings.iter();
        own.map(move |warning| Value::from(cut(&format!("{warning} (`{text}`)"))))
    });
    let warnings: Vec<Value> = warnings.collect();
    object([
        ("uid", Some(uid)),
        ("allowed", Some(denied.is_empty().into())),
        ("status", status),
        ("warnings", (!warnings.is_empty()).then(|| warnings.into())),
    ])
}

/// Returns a warning that Kubernetes shows whole: one line that isn't too long.
fn cut(text: &str) -> String {
    let line = text.split(char::is_control).collect::<Vec<_>>().join(" ");
    if line.chars().count() <= WARNING {
        return line;
    }
    line.chars().take(WARNING - 1).chain(['…']).collect()
}
