//! `GET /v1/products` and `GET /v1/products/{product_id}/versions/{version_id}`.

use axum::response::Response;
use serde_json::{Value, json};

use super::super::auth::Access;
use super::super::dataset::{Paging, Product};
use super::super::refusal::{Address, Refusal};
use super::super::schema::{PRODUCT_LIST, PRODUCT_VERSION_ANSWER};
use super::{Answer, Pages, Route, RouteRequest};

pub(super) static LIST: Route = Route {
    api: Address::Backend,
    path: "/v1/products",
    operation: "ProductsService_List",
    summary: "Lists products.",
    section: "4.2",
    access: Access::Paid,
    query: &[],
    pages: Pages::Always(Paging::Page),
    body: None,
    answer: Answer::Json(&PRODUCT_LIST),
    handle: list,
};

pub(super) static VERSION: Route = Route {
    api: Address::Backend,
    path: "/v1/products/{product_id}/versions/{version_id}",
    operation: "ProductsService_GetVersion",
    summary: "Returns a version of a product, with its projects and frameworks.",
    section: "4.1",
    access: Access::Paid,
    query: &[],
    pages: Pages::None,
    body: None,
    answer: Answer::Json(&PRODUCT_VERSION_ANSWER),
    handle: version,
};

/// Returns the products that the caller can see.
fn visible<'a>(
    request: &'a RouteRequest<'_>,
) -> Result<impl Iterator<Item = &'a Product>, Refusal> {
    let caller = request.caller()?.index;
    let products = request.shared.dataset.products.iter();
    Ok(products.filter(move |product| product.organization == caller))
}

fn list(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let page = request.page(visible(request)?.collect(), "")?;
    let rows: Vec<&Value> = page.rows.into_iter().map(|product| &product.json).collect();
    request.answer(json!({ "products": rows, "pagination": page.pagination }))
}

fn version(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let (id, version_id) = (request.path_id("product_id")?, request.path_id("version_id")?);
    let product = visible(request)?.find(|product| product.id == id);
    let product = product
        .ok_or_else(|| Refusal::not_found(format!("product `{}` not found", id.as_str())))?;
    let version = product.versions.iter().find(|version| version.id == version_id);
    let version = version.ok_or_else(|| {
        let version = version_id.as_str();
        Refusal::not_found(format!("product `{}` has no version `{version}`", id.as_str()))
    })?;
    request.answer(json!({ "version": version.json }))
}
