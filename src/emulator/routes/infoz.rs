//! `GET /infoz`: what the service says of itself, to anybody (interface 1.6).

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use super::super::refusal::json_response;
use super::super::server::Shared;

pub(super) async fn get(State(shared): State<Arc<Shared>>) -> Response {
    let infoz = &shared.dataset.service.infoz;
    json_response(&json!({
        "loginURL": infoz.login_url,
        "version": infoz.version,
        "chartVersion": infoz.chart_version,
    }))
}
