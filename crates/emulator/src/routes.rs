//! The routes, one file for each family, and the address of each.
//!
//! Owns the one table of routes: the router, the checks of tokens and queries, and the
//! specification all use it.

mod agents;
mod assessments;
mod compliance;
mod discover;
mod download;
mod environments;
mod evidence;
mod findings;
mod grpc;
mod infoz;
mod paging;
mod products;
mod projects;
mod request;
mod specification;

use std::sync::Arc;

use axum::Router;
use axum::response::Response;

use super::auth::Access;
use super::refusal::{Address, Refusal};
use super::schema::Resource;
use super::state::Shared;

pub(super) use paging::Pages;
pub(super) use request::RouteRequest;

/// All routes, in the order of the interface.
static ROUTES: &[&Route] = &[
    &infoz::INFOZ,
    &specification::CONTROLPLANE,
    &specification::BACKEND,
    &products::VERSION,
    &products::LIST,
    &projects::LIST,
    &environments::LIST,
    &assessments::APPROVE,
    &compliance::PRODUCT,
    &discover::DISCOVER,
    &evidence::LIST,
    &compliance::PROJECT,
    &agents::EVALUATE_EVIDENCE,
    &agents::OPERATION,
    &findings::LIST,
    &findings::EFFECTIVE,
    &download::REDIRECT,
    &download::CONTENT,
];

/// One route: its handler, and its description in the specification.
pub(super) struct Route {
    pub api: Address,
    /// The path, with its parameters in braces, all of them texts.
    pub path: &'static str,
    /// The operation's id: `Service_Purpose`.
    pub operation: &'static str,
    pub summary: &'static str,
    /// The section of the interface that describes it.
    pub section: &'static str,
    pub access: Access,
    pub query: &'static [Parameter],
    pub pages: Pages,
    /// The body of a `POST`; a route without one is a `GET`.
    pub body: Option<Body>,
    pub answer: Answer,
    pub handle: fn(&RouteRequest<'_>) -> Result<Response, Refusal>,
}

impl Route {
    /// Returns the service that its operation belongs to.
    pub fn tag(&self) -> &'static str {
        self.operation.split('_').next().unwrap_or_default()
    }
}

/// A query parameter.
pub(super) struct Parameter {
    pub name: &'static str,
    pub form: Form,
    pub required: bool,
    pub about: &'static str,
}

/// The values that a query parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A text that isn't empty.
    Text,
    /// A text that may be empty, which counts as absent.
    MaybeEmpty,
    /// `true` or `false`.
    Flag,
    /// Texts, by repeating the key.
    Texts,
    /// A UUID.
    Id,
}

impl Parameter {
    const fn new(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, form, required: false, about }
    }

    const fn required(self) -> Self {
        Self { required: true, ..self }
    }
}

/// A request's body.
pub(super) struct Body {
    pub resource: &'static Resource,
    pub required: &'static [&'static str],
    /// Exactly one of these must be given.
    pub either: &'static [&'static str],
    /// `true` if the body is required.
    pub needed: bool,
}

/// The form of a route's response.
pub(super) enum Answer {
    Json(&'static Resource),
    /// The specification.
    Yaml,
    /// A redirect.
    Found,
    /// Content.
    Bytes,
}

pub(super) fn of(api: Address) -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().copied().filter(move |route| route.api == api)
}

pub(super) fn router(api: Address) -> Router<Arc<Shared>> {
    let first = match api {
        Address::Grpc => grpc::router(),
        Address::ControlPlane => grpc::web(),
        Address::Store => grpc::store(),
        Address::Backend => Router::new(),
    };
    of(api).fold(first, |router, route| router.route(route.path, request::serve(route)))
}
