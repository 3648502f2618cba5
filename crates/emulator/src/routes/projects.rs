//! `GET /v1/projects`: projects by name, product and description.

use axum::response::Response;
use serde_json::{Value, json};

use super::super::auth::Access;
use super::super::dataset::{Paging, Project};
use super::super::refusal::{Address, Refusal};
use super::super::schema::PROJECT_LIST;
use super::{Answer, Form, Pages, Parameter, Route, RouteRequest};

pub(super) static LIST: Route = Route {
    api: Address::Backend,
    path: "/v1/projects",
    operation: "ProjectsService_List",
    summary: "Lists projects.",
    section: "4.3",
    access: Access::Paid,
    query: &[
        Parameter::new("project_name", Form::Text, "the project's name"),
        Parameter::new("product_id", Form::Id, "a product that the project is part of"),
        Parameter::new("description", Form::Text, "part of the description, any case"),
    ],
    pages: Pages::Always(Paging::Page),
    body: None,
    answer: Answer::Json(&PROJECT_LIST),
    handle: list,
};

fn list(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let caller = request.caller()?.index;
    let name = request.query.one("project_name")?;
    let product = request.query_id("product_id")?;
    let description = request.query.one("description")?.map(str::to_lowercase);
    let fits = |project: &&Project| {
        project.organization == caller
            && name.is_none_or(|wanted| project.name == wanted)
            && product.as_ref().is_none_or(|id| project.products.contains(id))
            && description
                .as_ref()
                .is_none_or(|part| project.description.to_lowercase().contains(part))
    };
    let page =
        request.page(request.shared.dataset.projects.projects.iter().filter(fits).collect(), "")?;
    let rows: Vec<&Value> = page.rows.into_iter().map(|project| &project.json).collect();
    request.answer(json!({ "results": rows, "pagination": page.pagination }))
}
