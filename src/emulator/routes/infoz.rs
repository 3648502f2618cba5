//! `GET /infoz`: what the service says of itself, to anybody (interface 1.6).

use axum::response::Response;
use serde_json::json;

use super::super::auth::Access;
use super::super::refusal::{Address, Refusal};
use super::super::schema::INFOZ as SHAPE;
use super::{Answer, Ask, Method, Pages, Route};

pub(super) static INFOZ: Route = Route {
    api: Address::ControlPlane,
    method: Method::Get,
    path: "/infoz",
    operation: "StatusService_Infoz",
    tag: "StatusService",
    summary: "Says where to log in and which version is running.",
    section: "1.6",
    access: Access::Anyone,
    query: &[],
    pages: Pages::None,
    body: None,
    answer: Answer::Json(&SHAPE),
    handle: get,
};

fn get(ask: &Ask<'_>) -> Result<Response, Refusal> {
    let infoz = &ask.shared.dataset.service.infoz;
    ask.answer(json!({
        "loginURL": infoz.login_url,
        "version": infoz.version,
        "chartVersion": infoz.chart_version,
    }))
}
