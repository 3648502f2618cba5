//! `GET /openapi.yaml`: the specification of an address (interface 1.5).

use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use super::super::auth::Access;
use super::super::refusal::{Address, Refusal};
use super::{Answer, Pages, Route, RouteRequest};

pub(super) static CONTROLPLANE: Route = specification(Address::ControlPlane);
pub(super) static BACKEND: Route = specification(Address::Backend);

const fn specification(api: Address) -> Route {
    Route {
        api,
        path: "/openapi.yaml",
        operation: "SpecificationService_Get",
        summary: "Returns this specification.",
        section: "1.5",
        access: Access::Anyone,
        query: &[],
        pages: Pages::None,
        body: None,
        answer: Answer::Yaml,
        handle: get,
    }
}

fn get(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let document = (request.shared.specification)(request.shared, request.route.api);
    // JSON is YAML.
    let text = serde_json::to_string_pretty(&document)
        .map_err(|_| Refusal::internal("the specification can't be written"))?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], text).into_response())
}
