//! `GET /v1/findings` and `POST /v1/assessments/list-effective`: findings and their assessments.

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::auth::Access;
use super::super::dataset::{Finding, Paging};
use super::super::refusal::{Address, Refusal};
use super::super::schema::{EFFECTIVE_LIST, EFFECTIVE_REQUEST, FINDING_LIST};
use super::{Answer, Form, Pages, Parameter, Route, RouteRequest};

pub(super) static LIST: Route = Route {
    api: Address::Backend,
    path: "/v1/findings",
    operation: "FindingService_List",
    summary: "Lists findings.",
    section: "1.4",
    access: Access::Paid,
    query: &[
        Parameter::new("project_name", Form::Text, "the project's name"),
        Parameter::new("project_version_name", Form::Text, "the project version's name"),
        Parameter::new("finding_type", Form::Texts, "types"),
        Parameter::new("status", Form::Texts, "statuses"),
        Parameter::new("severity", Form::Texts, "severities"),
    ],
    pages: Pages::Always(Paging::Page),
    body: None,
    answer: Answer::Json(&FINDING_LIST),
    handle: list,
};

pub(super) static EFFECTIVE: Route = Route {
    api: Address::Backend,
    path: "/v1/assessments/list-effective",
    operation: "AssessmentService_ListEffective",
    summary: "Lists the assessments of findings, and the status that they result in.",
    section: "1.4",
    access: Access::Paid,
    query: &[],
    pages: Pages::None,
    body: Some(super::Body {
        resource: &EFFECTIVE_REQUEST,
        required: &["project_name", "lookups"],
        either: &[],
        needed: true,
    }),
    answer: Answer::Json(&EFFECTIVE_LIST),
    handle: effective,
};

fn list(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let (query, caller) = (&request.query, request.caller()?.index);
    let project = query.one("project_name")?;
    let version = query.one("project_version_name")?;
    let mut rows: Vec<&Finding> = request.shared.dataset.findings.iter().collect();
    rows.retain(|row| {
        let is = |key: &str, wanted: Option<&str>| wanted.is_none_or(|text| row.text(key) == text);
        row.organization == caller
            && is("project_name", project)
            && is("project_version_name", version)
    });
    for (key, prefix) in [
        ("finding_type", "FINDING_TYPE_"),
        ("status", "FINDING_STATUS_"),
        ("severity", "FINDING_SEVERITY_"),
    ] {
        let wanted = query.many(key)?;
        if let Some(wrong) = wanted.iter().find(|text| !text.starts_with(prefix)) {
            return Err(Refusal::bad_request(format!("unknown value of `{key}`: `{wrong}`")));
        }
        rows.retain(|row| wanted.is_empty() || wanted.iter().any(|text| row.text(key) == text));
    }
    let page = request.page(rows, "")?;
    let rows: Vec<&Value> = page.rows.into_iter().map(|row| &row.json).collect();
    request.answer(json!({ "results": rows, "pagination": page.pagination }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    project_name: String,
    project_version_name: Option<String>,
    finding_type: Option<String>,
    lookups: Vec<Lookup>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Lookup {
    external_id: String,
    #[serde(default)]
    identity: String,
}

fn effective(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let caller = request.caller()?.index;
    let body: Body = serde_json::from_slice(request.body)
        .map_err(|error| Refusal::bad_request(format!("invalid body of the request: {error}")))?;
    let is =
        |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|text| text == found);
    let findings = &request.shared.dataset.findings;
    let mut own = findings.iter().filter(|row| row.organization == caller);
    if !own.any(|row| row.text("project_name") == body.project_name) {
        let message = format!("project `{}` not found", body.project_name);
        return Err(Refusal::not_found(message));
    }
    let results = body.lookups.into_iter().map(|lookup| {
        let found = findings.iter().find(|row| {
            row.organization == caller
                && row.text("project_name") == body.project_name
                && is(&body.project_version_name, row.text("project_version_name"))
                && is(&body.finding_type, row.text("finding_type"))
                && row.text("external_id") == lookup.external_id
                && (lookup.identity.is_empty() || row.text("package_purl") == lookup.identity)
        });
        json!({
            "lookup": lookup,
            "effective_status": found.map_or("", |row| row.effective_status.as_str()),
            "assessments": found.map_or(&[][..], |row| row.assessments.as_slice()),
        })
    });
    request.answer(json!({ "results": results.collect::<Vec<_>>() }))
}
