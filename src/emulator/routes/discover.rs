//! `GET /discover/{digest}`: a node of the reference graph and what it refers to.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::{Value, json};

use super::super::dataset::{Digest, Node, Paging};
use super::super::pages::CURSOR_KEYS;
use super::super::query::Query;
use super::super::refusal::{Api, Refusal, json_response};
use super::super::rows::Shape;
use super::super::server::Shared;

pub(super) async fn get(
    State(shared): State<Arc<Shared>>,
    Path(digest): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    match answer(&shared, &digest, &headers, &uri) {
        Ok(body) => json_response(&body),
        Err(refusal) => refusal.respond(Api::ControlPlane),
    }
}

fn answer(shared: &Shared, digest: &str, headers: &HeaderMap, uri: &Uri) -> Result<Value, Refusal> {
    let caller = shared.tokens.caller(&shared.dataset, headers)?;
    let [cursor, limit] = CURSOR_KEYS;
    let query = Query::parse(uri.query(), &["kind", cursor, limit])?;
    let digest = Digest::parse(digest)
        .ok_or_else(|| Refusal::bad_request(format!("`{digest}` is not a digest")))?;
    let nodes = shared.dataset.graph.visible(&digest, caller.index);
    let node = choose(&nodes, &digest, query.optional("kind")?)?;
    let shape = shared.shape(Api::ControlPlane);
    let search = format!("discover {} {digest} {}", caller.index, node.kind.as_str());
    let references = shared.dataset.graph.references(node);
    let page = shared.limits.cut(Paging::Cursor, references, &query, &search, shape)?;
    let references: Vec<Value> = page.rows.into_iter().map(|to| reference(to, shape)).collect();
    let result = shape.object(vec![
        ("digest", node.digest.as_str().into()),
        ("kind", node.kind.as_str().into()),
        ("downloadable", node.downloadable.into()),
        ("public", node.public.into()),
        ("created_at", node.created_at.text().into()),
        ("metadata", json!(node.metadata)),
        ("references", references.into()),
    ]);
    Ok(json!({ "result": result, "pagination": page.pagination }))
}

/// The one node that is meant.
fn choose<'a>(
    nodes: &[&'a Node],
    digest: &Digest,
    kind: Option<&str>,
) -> Result<&'a Node, Refusal> {
    if nodes.is_empty() {
        return Err(Refusal::not_found(format!("artifact with digest `{digest}` not found")));
    }
    let mut kinds: Vec<&str> = nodes.iter().map(|node| node.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    match kind {
        Some(wanted) => {
            nodes.iter().copied().find(|node| node.kind.as_str() == wanted).ok_or_else(|| {
                Refusal::not_found(format!("artifact `{digest}` of kind `{wanted}` not found"))
            })
        }
        None => match (nodes, kinds.as_slice()) {
            ([node, ..], [_]) => Ok(node),
            _ => Err(Refusal::bad_request(format!(
                "digest `{digest}` is present in {} kinds: {}; choose one with `kind`",
                kinds.len(),
                kinds.join(", ")
            ))
            .with("kinds", kinds.join(","))),
        },
    }
}

fn reference(node: &Node, shape: Shape) -> Value {
    shape.object(vec![
        ("digest", node.digest.as_str().into()),
        ("kind", node.kind.as_str().into()),
        ("downloadable", node.downloadable.into()),
        ("public", node.public.into()),
        ("created_at", node.created_at.text().into()),
        ("metadata", json!(node.metadata)),
    ])
}
