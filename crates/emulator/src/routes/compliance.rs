//! `GET /v1/compliance/project` and `GET /v1/compliance/product`: the compliance of versions with
//! their requirements, for a project row by row, for a product as a whole.

use axum::response::Response;
use serde_json::{Value, json};

use super::super::auth::Access;
use super::super::dataset::Evaluation;
use super::super::refusal::{Address, Refusal};
use super::super::schema::{EVALUATION_LIST, PRODUCT_COMPLIANCE};
use super::{Answer, Form, Pages, Parameter, Route, RouteRequest};

const FRAMEWORK_IDS: Parameter =
    Parameter::new("framework_ids", Form::Texts, "the frameworks; all by default");

pub(super) static PROJECT: Route = Route {
    api: Address::Backend,
    path: "/v1/compliance/project",
    operation: "ComplianceService_ListProjectEvaluations",
    summary: "Lists the evaluations of a project version against its requirements.",
    section: "4.7",
    access: Access::Paid,
    query: &[
        Parameter::new("project_version_id", Form::Id, "the project version").required(),
        FRAMEWORK_IDS,
    ],
    pages: Pages::Compliance,
    body: None,
    answer: Answer::Json(&EVALUATION_LIST),
    handle: project,
};

pub(super) static PRODUCT: Route = Route {
    api: Address::Backend,
    path: "/v1/compliance/product",
    operation: "ComplianceService_GetProductCompliance",
    summary: "Returns the compliance of a product version, across its project versions.",
    section: "4.6",
    access: Access::Paid,
    query: &[
        Parameter::new("product_version_id", Form::Id, "the product version").required(),
        FRAMEWORK_IDS,
    ],
    pages: Pages::None,
    body: None,
    answer: Answer::Json(&PRODUCT_COMPLIANCE),
    handle: product,
};

fn project(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let version = request.required_id("project_version_id")?;
    let dataset = &request.shared.dataset;
    let caller = request.caller()?.index;
    let found = dataset.projects.version(&version);
    if found.is_none_or(|(project, _)| project.organization != caller) {
        let message = format!("project version `{}` not found", version.as_str());
        return Err(Refusal::not_found(message));
    }
    let wanted = request.query.many("framework_ids")?;
    for id in wanted {
        // An unknown framework has no failures, which would read as a pass.
        if !dataset.frameworks.iter().any(|known| known.is(id) && known.visible(caller)) {
            return Err(Refusal::not_found(format!("framework `{id}` not found")));
        }
    }
    let fits = |row: &&Evaluation| {
        let framework = || wanted.iter().any(|id| id == row.framework_id.as_str());
        row.project_version_id == version && (wanted.is_empty() || framework())
    };
    let page = request.page(dataset.evaluations.iter().filter(fits).collect(), "")?;
    let rows: Vec<Value> = page.rows.into_iter().map(show).collect();
    request.answer(json!({ "evaluations": rows, "pagination": page.pagination }))
}

fn show(row: &Evaluation) -> Value {
    let requirement = &row.requirement;
    json!({
        "requirement_id": requirement.id,
        "requirement_version_id": requirement.version_id,
        "requirement_revision": requirement.revision,
        "name": requirement.name,
        "display_name": requirement.display_name,
        "description": requirement.description,
        "project_version_id": row.project_version_id,
        "framework_id": row.framework_id,
        "status": row.status,
        "created_at": row.created_at,
    })
}

fn product(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let id = request.required_id("product_version_id")?;
    let caller = request.caller()?.index;
    let products = request.shared.dataset.products.iter();
    let mut versions = products
        .filter(|product| product.organization == caller)
        .flat_map(|product| &product.versions);
    let version = versions.find(|version| version.id == id);
    let version = version.ok_or_else(|| {
        Refusal::not_found(format!("product version `{}` not found", id.as_str()))
    })?;
    let wanted = request.query.many("framework_ids")?;
    for id in wanted {
        // A framework that the version doesn't have has no failures, which would read as a pass.
        if !version.compliance.iter().any(|(known, _)| known.as_str() == id) {
            let version = version.id.as_str();
            let message = format!("product version `{version}` has no framework `{id}`");
            return Err(Refusal::not_found(message));
        }
    }
    let chosen = version.compliance.iter().filter(|(framework, _)| {
        wanted.is_empty() || wanted.iter().any(|id| id == framework.as_str())
    });
    let frameworks: Vec<&Value> = chosen.map(|(_, compliance)| compliance).collect();
    request.answer(json!({ "frameworks": frameworks }))
}
