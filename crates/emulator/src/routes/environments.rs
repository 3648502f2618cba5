//! `GET /v1/environments`: environments, searched by name and description.

use axum::response::Response;
use serde_json::{Value, json};

use super::super::auth::Access;
use super::super::dataset::{Environment, Paging};
use super::super::refusal::{Address, Refusal};
use super::super::schema::ENVIRONMENT_LIST;
use super::{Answer, Form, Pages, Parameter, Route, RouteRequest};

pub(super) static LIST: Route = Route {
    api: Address::Backend,
    path: "/v1/environments",
    operation: "EnvironmentsService_List",
    summary: "Lists environments.",
    section: "4.4",
    access: Access::Paid,
    query: &[Parameter::new("query", Form::Text, "part of the name or description, any case")],
    pages: Pages::Always(Paging::Page),
    body: None,
    answer: Answer::Json(&ENVIRONMENT_LIST),
    handle: list,
};

fn list(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let caller = request.caller()?.index;
    let part = request.query.one("query")?.map(str::to_lowercase);
    let fits = |environment: &&Environment| {
        let holds = |text: &str, part: &str| text.to_lowercase().contains(part);
        environment.organization == caller
            && part.as_ref().is_none_or(|part| {
                holds(&environment.name, part) || holds(&environment.description, part)
            })
    };
    let page =
        request.page(request.shared.dataset.environments.iter().filter(fits).collect(), "")?;
    let rows: Vec<&Value> = page.rows.into_iter().map(|environment| &environment.json).collect();
    request.answer(json!({ "environments": rows, "pagination": page.pagination }))
}
