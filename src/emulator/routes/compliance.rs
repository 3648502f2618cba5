//! `GET /v1/compliance/project`: how a project version meets its requirements.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::Value;

use super::super::dataset::{Evaluation, Id};
use super::super::query::Query;
use super::super::refusal::{Api, Refusal, json_response};
use super::super::rows::Shape;
use super::super::server::Shared;
use super::evidence::keys;

pub(super) async fn project(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    match answer(&shared, &headers, &uri) {
        Ok(body) => json_response(&body),
        Err(refusal) => refusal.respond(Api::Backend),
    }
}

fn answer(shared: &Shared, headers: &HeaderMap, uri: &Uri) -> Result<Value, Refusal> {
    let caller = shared.tokens.caller(&shared.dataset, headers)?.paid()?;
    let keys = keys(shared.compliance_paging, &["project_version_id", "framework_ids"]);
    let query = Query::parse(uri.query(), &keys)?;
    let version = query.one("project_version_id")?;
    let version =
        version.ok_or_else(|| Refusal::bad_request("`project_version_id` is required"))?;
    let version = Id::parse(version)
        .ok_or_else(|| Refusal::bad_request("`project_version_id` must be a valid UUID"))?;
    let projects = &shared.dataset.projects;
    if projects.version(&version).is_none_or(|(project, _)| project.organization != caller.index) {
        let message = format!("project version `{}` not found", version.as_str());
        return Err(Refusal::not_found(message));
    }
    let compliance = &shared.dataset.compliance;
    let wanted = query.many("framework_ids")?;
    for id in wanted {
        // An unknown framework has no failures, which would read as a pass.
        if !compliance.frameworks.iter().any(|known| known.as_str() == id) {
            return Err(Refusal::not_found(format!("framework `{id}` not found")));
        }
    }
    let fits = |row: &&Evaluation| {
        let framework = || wanted.iter().any(|id| id == row.framework_id.as_str());
        row.project_version_id == version && (wanted.is_empty() || framework())
    };
    let rows: Vec<&Evaluation> = compliance.evaluations.iter().filter(fits).collect();
    let shape = shared.shape(Api::Backend);
    let search = format!("compliance {}", caller.index);
    let page = shared.limits.cut(shared.compliance_paging, rows, &query, &search, shape)?;
    let rows: Vec<Value> = page.rows.into_iter().map(|row| show(row, shape)).collect();
    Ok(shape.object(vec![("evaluations", rows.into()), ("pagination", page.pagination)]))
}

fn show(row: &Evaluation, shape: Shape) -> Value {
    shape.object(vec![
        ("requirement_id", row.requirement_id.as_str().into()),
        ("requirement_version_id", row.requirement_version_id.as_str().into()),
        ("requirement_revision", row.requirement_revision.into()),
        ("name", row.name.as_str().into()),
        ("display_name", row.display_name.as_str().into()),
        ("description", row.description.as_str().into()),
        ("project_version_id", row.project_version_id.as_str().into()),
        ("framework_id", row.framework_id.as_str().into()),
        ("status", row.status.as_str().into()),
        ("created_at", row.created_at.text().into()),
    ])
}
