//! `POST /v1/assessments/revisions/{revision_id}/approve`: a person approves a revision.
//!
//! Owns the revisions approved since the start; the data set's files stay unchanged.

use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::auth::Access;
use super::super::dataset::with;
use super::super::refusal::{Address, Refusal};
use super::super::scalars::Timestamp;
use super::super::schema::{APPROVAL, APPROVAL_ANSWER};
use super::{Answer, Pages, Route, RouteRequest};

pub(super) static APPROVE: Route = Route {
    api: Address::Backend,
    path: "/v1/assessments/revisions/{revision_id}/approve",
    operation: "AssessmentService_ApproveRevision",
    summary: "Approves a pending assessment revision.",
    section: "4.5",
    access: Access::PaidUser,
    query: &[],
    pages: Pages::None,
    body: Some(super::Body { resource: &APPROVAL, required: &[], either: &[], needed: false }),
    answer: Answer::Json(&APPROVAL_ANSWER),
    handle: approve,
};

/// The status of a revision that can be approved.
pub(crate) const PENDING: &str = "ASSESSMENT_APPROVAL_STATUS_PENDING";
/// The status of an approved revision.
pub(crate) const APPROVED: &str = "ASSESSMENT_APPROVAL_STATUS_APPROVED";

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Body {
    review_note: Option<String>,
}

fn approve(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let (shared, caller) = (request.shared, request.caller()?);
    let id = request.path_id("revision_id")?;
    let body = match request.body {
        [] => Body::default(),
        body => serde_json::from_slice(body).map_err(|error| {
            Refusal::bad_request(format!("invalid body of the request: {error}"))
        })?,
    };
    let mut revisions = shared.dataset.assessments.iter();
    let revision = revisions
        .find(|revision| revision.id == id && revision.organization == caller.index)
        .ok_or_else(|| {
            Refusal::not_found(format!("assessment revision `{}` not found", id.as_str()))
        })?;
    let status = revision.json.get("approval_status").and_then(Value::as_str).unwrap_or_default();
    let mut approvals = shared.approvals.0.lock();
    let status = if approvals.contains_key(&id) { APPROVED } else { status };
    if status != PENDING {
        return Err(Refusal::wrong_state(format!(
            "assessment revision `{}` isn't pending: it is `{status}`",
            id.as_str()
        )));
    }
    let now = Timestamp::now();
    approvals.insert(id, now);
    let reviewer = caller.user.and_then(|user| shared.dataset.identity.user(user));
    let note = body.review_note.map(Value::String);
    let note = note.or_else(|| revision.json.get("review_note").cloned());
    let result = with(
        revision.json.clone(),
        [
            ("approval_status", APPROVED.into()),
            ("reviewed_at", json!(now)),
            ("reviewer", json!(reviewer)),
            ("review_note", note.unwrap_or_default()),
        ],
    );
    request.answer(json!({ "result": result }))
}
