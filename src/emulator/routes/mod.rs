//! The routes, one file for each family, and which address has which.

mod agents;
mod compliance;
mod discover;
mod download;
mod evidence;
mod infoz;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::server::Shared;

pub(super) use agents::Operations;
pub(super) use download::Tickets;

type Routes = Router<Arc<Shared>>;

/// The routes of `{controlplane_url}`.
pub(super) fn controlplane() -> Routes {
    Router::new()
        .route("/infoz", get(infoz::get))
        .route("/discover/{digest}", get(discover::get))
        .route("/download/{digest}", get(download::redirect))
}

/// The routes of `{base_url}`.
pub(super) fn backend() -> Routes {
    Router::new()
        .route("/v1/evidence", get(evidence::list))
        .route("/v1/compliance/project", get(compliance::project))
        .route("/v1/agents/evaluate-evidence", post(agents::evaluate_evidence))
        .route("/v1/operations/{id}", get(agents::operation))
}

/// The routes of the content store.
pub(super) fn store() -> Routes {
    Router::new().route("/content/{digest}", get(download::content))
}
