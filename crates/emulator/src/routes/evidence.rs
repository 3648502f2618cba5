//! `GET /v1/evidence`: evidence by its filters, newest first.

use std::collections::HashSet;

use axum::response::Response;
use serde_json::{Value, json};

use super::super::auth::Access;
use super::super::dataset::Evidence;
use super::super::query::Query;
use super::super::refusal::{Address, Refusal};
use super::super::schema::EVIDENCE_LIST;
use super::{Answer, Form, Pages, Parameter, Route, RouteRequest};

pub(super) static LIST: Route = Route {
    api: Address::Backend,
    path: "/v1/evidence",
    operation: "EvidenceService_List",
    summary: "Lists evidence, newest first.",
    section: "4.7",
    access: Access::Paid,
    query: &[
        Parameter::new("project_name", Form::Text, "the project's name"),
        Parameter::new("project_version_name", Form::Text, "the project version's name"),
        Parameter::new("kind", Form::Texts, "material types"),
        Parameter::new("workflow_name", Form::Texts, "names of workflows"),
        Parameter::new("search", Form::Text, "part of the evidence's or subject's name, any case"),
        Parameter::new("latest", Form::Flag, "only the latest of each kind and name"),
        Parameter::new("hide_attestation", Form::Flag, "no attestations"),
        Parameter::new("product_id", Form::Text, "the product's id"),
        Parameter::new("product_version_id", Form::Text, "the product version's id"),
    ],
    pages: Pages::Evidence,
    body: None,
    answer: Answer::Json(&EVIDENCE_LIST),
    handle: list,
};

fn list(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let caller = request.caller()?;
    let page = request
        .page(select(&request.shared.dataset.evidence, caller.index, &request.query)?, "")?;
    let organization = (caller.organization.id.as_str(), caller.organization.name.as_str());
    let rows: Vec<Value> = page.rows.into_iter().map(|row| show(row, organization)).collect();
    request.answer(json!({ "results": rows, "pagination": page.pagination }))
}

/// Returns the rows that match every filter.
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
        // They are sorted newest first: the first of a kind and name is the latest.
        rows.retain(|row| seen.insert((row.kind.as_str(), row.name.as_str())));
    }
    Ok(rows)
}

fn show(row: &Evidence, (organization_id, organization_name): (&str, &str)) -> Value {
    json!({
        "id": row.id.as_str(),
        "name": row.name,
        "digest": row.digest.as_str(),
        "kind": row.kind.as_str(),
        "subject_name": row.subject_name,
        "subject_version": row.subject_version,
        "annotations": row.annotations,
        "organization_id": organization_id,
        "organization_name": organization_name,
        "workflow_id": row.workflow_id.as_str(),
        "workflow_name": row.workflow_name,
        "workflow_run_id": row.workflow_run_id.as_str(),
        "project_id": row.project_id.as_str(),
        "project_name": row.project_name,
        "project_version_id": row.project_version_id.as_str(),
    })
}
