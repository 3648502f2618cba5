//! `GET /v1/evidence`: evidence by its filters, newest first.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::{Value, json};

use super::super::dataset::{Evidence, Paging};
use super::super::pages::{CURSOR_KEYS, PAGE_KEYS};
use super::super::query::Query;
use super::super::refusal::{Api, Refusal, json_response};
use super::super::rows::Shape;
use super::super::server::Shared;

const FILTERS: [&str; 9] = [
    "project_name",
    "project_version_name",
    "kind",
    "workflow_name",
    "search",
    "latest",
    "hide_attestation",
    "product_id",
    "product_version_id",
];

pub(super) async fn list(
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
    let query = Query::parse(uri.query(), &keys(shared.evidence_paging, &FILTERS))?;
    let rows = select(&shared.dataset.evidence, caller.index, &query)?;
    let shape = shared.shape(Api::Backend);
    let search = format!("evidence {}", caller.index);
    let page = shared.limits.cut(shared.evidence_paging, rows, &query, &search, shape)?;
    let organization = caller.organization;
    let organization = (organization.id.as_str(), organization.name.as_str());
    let rows: Vec<Value> = page.rows.iter().map(|row| show(row, organization, shape)).collect();
    Ok(shape.object(vec![("results", rows.into()), ("pagination", page.pagination)]))
}

/// A list's keys: its filters, and those of its paging.
pub(super) fn keys<'a>(paging: Paging, filters: &[&'a str]) -> Vec<&'a str> {
    let paging: &[&str] = match paging {
        Paging::Cursor => &CURSOR_KEYS,
        Paging::Page => &PAGE_KEYS,
    };
    [filters, paging].concat()
}

/// The rows that every filter lets through.
fn select<'a>(
    rows: &'a [Evidence],
    organization: usize,
    query: &Query,
) -> Result<Vec<&'a Evidence>, Refusal> {
    let project = query.one("project_name")?;
    let version = query.one("project_version_name")?;
    let kinds = query.many("kind")?;
    let workflows = query.many("workflow_name")?;
    let search = query.one("search")?.map(str::to_lowercase);
    let latest = query.flag("latest")?;
    let hide_attestation = query.flag("hide_attestation")?;
    let product = query.one("product_id")?;
    let product_version = query.one("product_version_id")?;
    let mut seen = HashSet::new();
    let fits = |row: &&Evidence| {
        row.organization == organization
            && project.is_none_or(|wanted| row.project_name == wanted)
            && version.is_none_or(|wanted| row.subject_version == wanted)
            && (kinds.is_empty() || kinds.iter().any(|kind| kind == row.kind.as_str()))
            && (workflows.is_empty() || workflows.contains(&row.workflow_name))
            && search.as_ref().is_none_or(|part| {
                row.name.to_lowercase().contains(part)
                    || row.subject_name.to_lowercase().contains(part)
            })
            && !(hide_attestation && row.kind.as_str() == "ATTESTATION")
            && product.is_none_or(|id| row.products.iter().any(|known| known.as_str() == id))
            && product_version
                .is_none_or(|id| row.product_versions.iter().any(|known| known.as_str() == id))
    };
    let mut rows: Vec<&Evidence> = rows.iter().filter(fits).collect();
    if latest {
        // They come newest first: the first of a kind and name is the latest.
        rows.retain(|row| seen.insert((row.kind.as_str(), row.name.as_str())));
    }
    Ok(rows)
}

fn show(row: &Evidence, organization: (&str, &str), shape: Shape) -> Value {
    shape.object(vec![
        ("id", row.id.as_str().into()),
        ("name", row.name.as_str().into()),
        ("digest", row.digest.as_str().into()),
        ("kind", row.kind.as_str().into()),
        ("subject_name", row.subject_name.as_str().into()),
        ("subject_version", row.subject_version.as_str().into()),
        ("annotations", json!(row.annotations)),
        ("organization_id", organization.0.into()),
        ("organization_name", organization.1.into()),
        ("workflow_id", row.workflow_id.as_str().into()),
        ("workflow_name", row.workflow_name.as_str().into()),
        ("workflow_run_id", row.workflow_run_id.as_str().into()),
        ("project_id", row.project_id.as_str().into()),
        ("project_name", row.project_name.as_str().into()),
        ("project_version_id", row.project_version_id.as_str().into()),
        ("created_at", row.created_at.text().into()),
    ])
}
