//! The start of every route: authentication, permission, and the query.
//!
//! Owns the way from an HTTP request to a checked one, and the paging of lists.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use bytes::Bytes;
use serde_json::Value;

use super::super::auth::{Access, Caller};
use super::super::pages::Page;
use super::super::query::Query;
use super::super::refusal::{Refusal, json_response};
use super::super::scalars::Id;
use super::super::state::Shared;
use super::{Answer, Route};

/// The parameters of a path, unless it isn't UTF-8.
type Parameters = Result<Path<HashMap<String, String>>, PathRejection>;

/// A request whose token and query keys have been checked.
pub(crate) struct RouteRequest<'a> {
    pub shared: &'a Shared,
    pub route: &'static Route,
    pub query: Query,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
    path: HashMap<String, String>,
    caller: Option<Caller<'a>>,
}

/// Returns the handler of a route.
pub(super) fn serve(route: &'static Route) -> MethodRouter<Arc<Shared>> {
    let filter = if route.body.is_some() { MethodFilter::POST } else { MethodFilter::GET };
    let handler = move |State(shared): State<Arc<Shared>>,
                        path: Parameters,
                        headers: HeaderMap,
                        uri: Uri,
                        body: Bytes| async move {
        let answer = RouteRequest::new(route, &shared, path, &headers, &uri, &body)
            .and_then(|request| (route.handle)(&request));
        answer.unwrap_or_else(|refusal| refusal.respond(route.api))
    };
    on(filter, handler)
}

impl<'a> RouteRequest<'a> {
    fn new(
        route: &'static Route,
        shared: &'a Shared,
        path: Parameters,
        headers: &'a HeaderMap,
        uri: &Uri,
        body: &'a [u8],
    ) -> Result<Self, Refusal> {
        let caller = match route.access {
            Access::Anyone => None,
            access => {
                let caller = shared.tokens.caller(&shared.dataset, headers)?;
                caller.require(access)?;
                Some(caller)
            }
        };
        let filters = route.query.iter().map(|parameter| parameter.name);
        let paging = route.pages.keys(shared).map(|(name, _)| name);
        let known: Vec<&str> = filters.chain(paging).collect();
        let query = Query::parse(uri.query(), &known)?;
        let Path(path) = path.map_err(|_| Refusal::bad_request("the path isn't UTF-8"))?;
        Ok(Self { shared, route, query, headers, body, path, caller })
    }

    /// Returns the caller; an error on a public route.
    pub fn caller(&self) -> Result<&Caller<'a>, Refusal> {
        let caller = self.caller.as_ref();
        caller.ok_or_else(|| Refusal::unauthenticated("authentication is required"))
    }

    /// Returns a parameter of the path.
    pub fn path(&self, name: &str) -> &str {
        self.path.get(name).map(String::as_str).unwrap_or_default()
    }

    /// Returns a parameter of the path that is a UUID.
    pub fn path_id(&self, name: &str) -> Result<Id, Refusal> {
        id(name, self.path(name))
    }

    /// Returns a filter that is a UUID.
    pub fn query_id(&self, name: &str) -> Result<Option<Id>, Refusal> {
        self.query.one(name)?.map(|text| id(name, text)).transpose()
    }

    /// Returns a required filter that is a UUID.
    pub fn required_id(&self, name: &str) -> Result<Id, Refusal> {
        let value = self.query_id(name)?;
        value.ok_or_else(|| Refusal::bad_request(format!("`{name}` is required")))
    }

    /// Returns the requested page of `rows`. For cursors, `search` distinguishes this list from
    /// others of the route with the same filters.
    pub fn page<T>(&self, rows: Vec<T>, search: &str) -> Result<Page<T>, Refusal> {
        let style = self.route.pages.style(self.shared).unwrap_or_default();
        let caller = self.caller()?.index;
        let search = format!("{} {caller} {search}", self.route.operation);
        self.shared.limits.cut(style, rows, &self.query, &search)
    }

    /// Returns `value` as a response in this address's casing.
    #[allow(clippy::unnecessary_wraps)] // so that routes can end with it
    pub fn answer(&self, value: Value) -> Result<Response, Refusal> {
        let Answer::Json(resource) = self.route.answer else {
            return Ok(json_response(&value));
        };
        Ok(json_response(&resource.spell(self.shared.style(self.route.api), value)))
    }
}

fn id(name: &str, text: &str) -> Result<Id, Refusal> {
    Id::parse(text).ok_or_else(|| Refusal::bad_request(format!("`{name}` must be a valid UUID")))
}
