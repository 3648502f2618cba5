//! `POST /v1/agents/evaluate-evidence` and `GET /v1/operations/{id}`: canned AI answers, with
//! the waiting that real ones take.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::dataset::{Digest, Outcome, Timestamp};
use super::super::refusal::{Api, Refusal, json_response};
use super::super::server::Shared;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    digest: Option<String>,
    content: Option<String>,
    prompt: String,
}

/// The operations that were started.
#[derive(Default)]
pub(in crate::emulator) struct Operations(Mutex<HashMap<String, Operation>>);

struct Operation {
    organization: usize,
    pending: u32,
    running: u32,
    outcome: Outcome,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
}

pub(super) async fn evaluate_evidence(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match start(&shared, &headers, &body) {
        Ok(id) => json_response(&json!({ "operation_id": id })),
        Err(refusal) => refusal.respond(Api::Backend),
    }
}

fn start(shared: &Shared, headers: &HeaderMap, body: &[u8]) -> Result<String, Refusal> {
    let caller = shared.tokens.caller(&shared.dataset, headers)?.paid()?;
    let body: Body = serde_json::from_slice(body)
        .map_err(|error| Refusal::bad_request(format!("the request's body is wrong: {error}")))?;
    if body.prompt.trim().is_empty() {
        return Err(Refusal::bad_request("`prompt` is empty"));
    }
    let (digest, content) = match (body.digest, body.content) {
        (Some(digest), None) => {
            let digest = Digest::parse(&digest)
                .ok_or_else(|| Refusal::bad_request(format!("`{digest}` is not a digest")))?;
            if shared.dataset.graph.visible(&digest, caller.index).is_empty() {
                let message = format!("artifact with digest `{digest}` not found");
                return Err(Refusal::not_found(message));
            }
            let artifact = shared.dataset.artifacts.get(&digest);
            let text =
                artifact.map(|artifact| String::from_utf8_lossy(&artifact.bytes).into_owned());
            (Some(digest), text.unwrap_or_default())
        }
        (None, Some(content)) => (None, content),
        _ => return Err(Refusal::bad_request("send either `digest` or `content`")),
    };
    let (polls, outcome) = shared.dataset.prompts.answer(digest.as_ref(), &content, &body.prompt);
    let outcome = if caller.organization.ai { outcome } else { Outcome::Skipped(true) };
    let mut operations = shared.operations.0.lock().unwrap_or_else(PoisonError::into_inner);
    let id = format!("00000000-0000-4000-8000-{:012x}", operations.len() + 1);
    operations.insert(
        id.clone(),
        Operation {
            organization: caller.index,
            pending: polls.pending,
            running: polls.running,
            outcome,
            created_at: Timestamp::now(),
            started_at: None,
            finished_at: None,
        },
    );
    Ok(id)
}

pub(super) async fn operation(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    match poll(&shared, &id, &headers) {
        Ok(body) => json_response(&body),
        Err(refusal) => refusal.respond(Api::Backend),
    }
}

fn poll(shared: &Shared, id: &str, headers: &HeaderMap) -> Result<Value, Refusal> {
    let caller = shared.tokens.caller(&shared.dataset, headers)?.paid()?;
    let mut operations = shared.operations.0.lock().unwrap_or_else(PoisonError::into_inner);
    let operation = operations
        .get_mut(id)
        .filter(|operation| operation.organization == caller.index)
        .ok_or_else(|| Refusal::not_found(format!("operation `{id}` not found")))?;
    let (status, output, error) = operation.advance();
    let time = |time: Option<Timestamp>| time.map_or(Value::Null, |time| time.text().into());
    let shape = shared.shape(Api::Backend);
    let operation = shape.object(vec![
        ("id", id.into()),
        ("status", format!("ASYNC_OPERATION_STATUS_{status}").into()),
        ("output", output.into()),
        ("error_message", error.into()),
        ("created_at", operation.created_at.text().into()),
        ("started_at", time(operation.started_at)),
        ("finished_at", time(operation.finished_at)),
    ]);
    Ok(json!({ "operation": operation }))
}

impl Operation {
    /// Status, output and error message as one more poll finds them.
    fn advance(&mut self) -> (&'static str, String, String) {
        if self.pending > 0 {
            self.pending -= 1;
            return ("PENDING", String::new(), String::new());
        }
        let now = Timestamp::now();
        self.started_at.get_or_insert(now);
        if self.running > 0 {
            self.running -= 1;
            return ("RUNNING", String::new(), String::new());
        }
        self.finished_at.get_or_insert(now);
        let done = |output: Value| ("SUCCEEDED", output.to_string(), String::new());
        match &self.outcome {
            Outcome::Violations(list) => done(json!({ "skipped": false, "violations": list })),
            Outcome::Skipped(_) => done(json!({ "skipped": true, "violations": [] })),
            Outcome::Output(text) => ("SUCCEEDED", text.clone(), String::new()),
            Outcome::Failed(message) => ("FAILED", String::new(), message.clone()),
            Outcome::Cancelled(message) => ("CANCELLED", String::new(), message.clone()),
        }
    }
}
