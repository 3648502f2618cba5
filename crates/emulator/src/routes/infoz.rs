//! `GET /infoz`: the service's public description of itself (interface 1.6).

use axum::response::Response;
use serde_json::json;

use super::super::auth::Access;
use super::super::refusal::{Address, Refusal};
use super::super::schema::INFOZ as SHAPE;
use super::{Answer, Pages, Route, RouteRequest};

pub(super) static INFOZ: Route = Route {
    api: Address::ControlPlane,
    path: "/infoz",
    operation: "StatusService_Infoz",
    summary: "Returns the login address and the version of the service.",
    section: "1.6",
    access: Access::Anyone,
    query: &[],
    pages: Pages::None,
    body: None,
    answer: Answer::Json(&SHAPE),
    handle: get,
};

fn get(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let infoz = &request.shared.dataset.service.infoz;
    request.answer(json!({
        "loginURL": infoz.login_url,
        "version": infoz.version,
        "chartVersion": infoz.chart_version,
    }))
}
