//! The routes, one file for each family, and which address has which.
//!
//! Owns the one table of them: the router, the check of tokens and queries, and the
//! specification all read it.

mod agents;
mod ask;
mod assessments;
mod compliance;
mod discover;
mod download;
mod environments;
mod evidence;
mod infoz;
mod products;
mod projects;
mod specification;

use std::sync::Arc;

use axum::Router;
use axum::response::Response;

use super::auth::Access;
use super::dataset::Paging;
use super::refusal::{Address, Refusal};
use super::schema::Resource;
use super::server::Shared;

pub(super) use agents::Operations;
pub(super) use ask::Ask;
pub(super) use assessments::Approvals;
pub(super) use download::Tickets;

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
    &download::REDIRECT,
    &download::CONTENT,
];

/// One route: everything that is served on it, and how the specification describes it.
pub(super) struct Route {
    pub api: Address,
    pub method: Method,
    /// Its parameters in braces, all of them texts.
    pub path: &'static str,
    /// The operation's id, service and purpose.
    pub operation: &'static str,
    pub tag: &'static str,
    pub summary: &'static str,
    /// Where the interface describes it.
    pub section: &'static str,
    pub access: Access,
    pub query: &'static [Parameter],
    pub pages: Pages,
    pub body: Option<Body>,
    pub answer: Answer,
    pub handle: fn(&Ask<'_>) -> Result<Response, Refusal>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
}

/// A query parameter.
pub(super) struct Parameter {
    pub name: &'static str,
    pub form: Form,
    pub required: bool,
    pub about: &'static str,
}

/// What a query parameter may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A text that isn't empty.
    Text,
    /// A text that may be empty: none, then.
    MaybeEmpty,
    /// `true` or `false`.
    Flag,
    /// Texts, the key repeated.
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
    pub shape: &'static Resource,
    pub required: &'static [&'static str],
    /// Exactly one of these must be there.
    pub either: &'static [&'static str],
    /// True if the body itself must be there.
    pub needed: bool,
}

/// What a route answers.
pub(super) enum Answer {
    Json(&'static Resource),
    /// The specification.
    Yaml,
    /// A redirect.
    Found,
    /// Content.
    Bytes,
}

/// Which way a route's list is paged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// It is no list.
    None,
    Always(Paging),
    /// As the data set or the options say for evidence.
    Evidence,
    /// As they say for compliance.
    Compliance,
}

impl Pages {
    /// The style that is meant.
    pub fn style(self, shared: &Shared) -> Option<Paging> {
        match self {
            Self::None => None,
            Self::Always(paging) => Some(paging),
            Self::Evidence => Some(shared.evidence_paging),
            Self::Compliance => Some(shared.compliance_paging),
        }
    }
}

/// The routes of an address.
pub(super) fn of(api: Address) -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().copied().filter(move |route| route.api == api)
}

/// The router of an address.
pub(super) fn router(api: Address) -> Router<Arc<Shared>> {
    of(api).fold(Router::new(), |router, route| router.route(route.path, ask::serve(route)))
}
