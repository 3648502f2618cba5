//! `POST /v1/agents/evaluate-evidence` and `GET /v1/operations/{id}`: canned AI responses, with the polling
//! that real ones need.

use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::super::auth::Access;
use super::super::dataset::PromptOutcome;
use super::super::operations::Operation;
use super::super::refusal::{Address, Refusal};
use super::super::scalars::{Digest, Timestamp};
use super::super::schema::{OPERATION_ANSWER, PROMPT, STARTED};
use super::{Answer, Pages, Route, RouteRequest};

pub(super) static EVALUATE_EVIDENCE: Route = Route {
    api: Address::Backend,
    path: "/v1/agents/evaluate-evidence",
    operation: "AgentsService_EvaluateEvidence",
    summary: "Starts an AI evaluation of an artifact (`digest`) or a string (`content`).",
    section: "4.7",
    access: Access::Paid,
    query: &[],
    pages: Pages::None,
    body: Some(super::Body {
        resource: &PROMPT,
        required: &["prompt"],
        either: &["digest", "content"],
        needed: true,
    }),
    answer: Answer::Json(&STARTED),
    handle: start,
};

pub(super) static OPERATION: Route = Route {
    api: Address::Backend,
    path: "/v1/operations/{id}",
    operation: "AsyncOperationsService_Get",
    summary: "Returns the state of an asynchronous operation.",
    section: "4.7",
    access: Access::Paid,
    query: &[],
    pages: Pages::None,
    body: None,
    answer: Answer::Json(&OPERATION_ANSWER),
    handle: poll,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    digest: Option<String>,
    content: Option<String>,
    prompt: String,
}

fn start(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let (shared, caller) = (request.shared, request.caller()?);
    let body: Body = serde_json::from_slice(request.body)
        .map_err(|error| Refusal::bad_request(format!("invalid body of the request: {error}")))?;
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
    let outcome = if caller.organization.ai { outcome } else { PromptOutcome::Skipped(true) };
    let mut operations = shared.operations.0.lock();
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
    request.answer(json!({ "operation_id": id }))
}

fn poll(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let (shared, caller) = (request.shared, request.caller()?);
    let id = request.path("id");
    let mut operations = shared.operations.0.lock();
    let operation = operations
        .get_mut(id)
        .filter(|operation| operation.organization == caller.index)
        .ok_or_else(|| Refusal::not_found(format!("operation `{id}` not found")))?;
    let (status, output, error) = operation.advance();
    request.answer(json!({ "operation": {
        "id": id,
        "status": format!("ASYNC_OPERATION_STATUS_{status}"),
        "output": output,
        "error_message": error,
        "created_at": operation.created_at.text(),
        "started_at": operation.started_at.map(Timestamp::text),
        "finished_at": operation.finished_at.map(Timestamp::text),
    } }))
}
