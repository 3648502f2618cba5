//! `GET /discover/{digest}`: a node of the reference graph and its references.

use axum::response::Response;
use serde_json::{Value, json};

use super::super::auth::Access;
use super::super::dataset::{Graph, Node, Paging, with};
use super::super::refusal::{Address, Refusal};
use super::super::scalars::Digest;
use super::super::schema::DISCOVERY;
use super::{Answer, Form, Pages, Parameter, Route, RouteRequest};

pub(super) static DISCOVER: Route = Route {
    api: Address::ControlPlane,
    path: "/discover/{digest}",
    operation: "ReferrerService_Discover",
    summary: "Returns an artifact and its references.",
    section: "4.7",
    access: Access::Token,
    query: &[Parameter::new(
        "kind",
        Form::MaybeEmpty,
        "the artifact's kind, for a digest of several kinds",
    )],
    pages: Pages::Always(Paging::Cursor),
    body: None,
    answer: Answer::Json(&DISCOVERY),
    handle: discover,
};

fn discover(request: &RouteRequest<'_>) -> Result<Response, Refusal> {
    let graph = &request.shared.dataset.graph;
    let kind = request.query.optional("kind")?;
    let node = find(graph, request.caller()?.index, request.path("digest"), kind)?;
    let search = format!("{} {}", node.digest, node.kind.as_str());
    let page = request.page(graph.references(node), &search)?;
    let references = page.rows.into_iter().map(show).collect();
    let result = with(show(node), [("references", references)]);
    request.answer(json!({ "result": result, "pagination": page.pagination }))
}

/// Returns the node that a caller's organization asks for.
pub(super) fn find<'a>(
    graph: &'a Graph,
    organization: usize,
    digest: &str,
    kind: Option<&str>,
) -> Result<&'a Node, Refusal> {
    let digest = Digest::parse(digest)
        .ok_or_else(|| Refusal::bad_request(format!("`{digest}` is not a digest")))?;
    choose(&graph.visible(&digest, organization), &digest, kind)
}

/// Returns the node of the requested kind.
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

fn show(node: &Node) -> Value {
    json!({
        "digest": node.digest.as_str(),
        "kind": node.kind.as_str(),
        "downloadable": node.downloadable,
        "public": node.public,
        "created_at": node.created_at.text(),
        "metadata": node.metadata,
        "annotations": node.annotations,
    })
}
