//! A service that answers from generated documents: a reference graph, evidence, one artifact.
//!
//! Owns the content and the pause before each answer. It runs on a thread of the measuring process,
//! the same one for every contender, and shares no code with the client or the emulator.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::json;

pub const TOKEN: &str = "benchmark-token";

/// The content that is served.
#[derive(Clone, Default)]
pub struct Content {
    /// The pause before each answer of the two APIs.
    pub latency: Duration,
    /// The number of references of the root.
    pub width: usize,
    /// The number of levels below the root.
    pub depth: usize,
    /// The number of references on one page; 0 for all of them.
    pub page: usize,
    /// The rows of evidence on each page of the list, as JSON.
    pub evidence: Vec<Bytes>,
    /// The contents by digest, as hexadecimal digits.
    pub artifacts: BTreeMap<String, Bytes>,
}

impl Content {
    /// Returns the number of references of a node on `level`: the root refers to `width` nodes, each
    /// of which starts a chain.
    fn references(&self, level: usize) -> usize {
        match level {
            0 => self.width,
            level if level < self.depth => 1,
            _ => 0,
        }
    }

    /// Returns the digest of a reference of a node. Roots with different numbers have none in common.
    fn reference(&self, level: usize, index: usize, at: usize) -> String {
        let index = if level == 0 { index * self.width + at } else { index };
        digest(level + 1, index)
    }
}

struct Shared {
    content: Content,
    requests: AtomicUsize,
    store: SocketAddr,
}

pub struct Service {
    api: SocketAddr,
    store: SocketAddr,
    shared: Arc<Shared>,
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl Service {
    /// Serves until it is dropped.
    pub fn start(content: Content) -> Self {
        let bind = || {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            listener
        };
        let (api, store) = (bind(), bind());
        let addresses = (api.local_addr().unwrap(), store.local_addr().unwrap());
        let shared =
            Arc::new(Shared { content, requests: AtomicUsize::new(0), store: addresses.1 });
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let router = router(&shared);
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                for listener in [api, store] {
                    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                    // As Go's servers do: an answer in several frames doesn't wait for the client.
                    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
                    let router = router.clone();
                    tokio::spawn(async move { axum::serve(listener, router).await });
                }
                let _ = stopped.await;
            });
        });
        Self { api: addresses.0, store: addresses.1, shared, _stop: stop }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.api)
    }

    /// The same address for gRPC, in plain text.
    pub fn grpc_address(&self) -> String {
        self.api.to_string()
    }

    /// Returns the URL of an artifact's bytes, without a redirect.
    pub fn store_url(&self, digest: &str) -> String {
        format!("http://{}/content/{digest}", self.store)
    }

    /// Returns the number of requests to the two APIs since the last call.
    pub fn requests(&self) -> usize {
        self.shared.requests.swap(0, Ordering::Relaxed)
    }
}

/// Returns the digest of the node `index` on `level`; the root is on level 0.
pub fn digest(level: usize, index: usize) -> String {
    format!("sha256:{level:016x}{index:048x}")
}

fn place(digest: &str) -> Option<(usize, usize)> {
    let hex = digest.strip_prefix("sha256:")?;
    let (level, index) = hex.split_at_checked(16)?;
    Some((usize::from_str_radix(level, 16).ok()?, usize::from_str_radix(index, 16).ok()?))
}

fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/discover/{digest}", get(discover))
        .route("/controlplane.v1.ReferrerService/DiscoverPrivate", post(discover_over_grpc))
        .route("/v1/evidence", get(evidence))
        .route("/download/{digest}", get(download))
        .route("/content/{digest}", get(content))
        .with_state(Arc::clone(shared))
}

/// Waits for the pause, and checks the token.
async fn admit(shared: &Shared, headers: &HeaderMap) -> Result<(), Response> {
    shared.requests.fetch_add(1, Ordering::Relaxed);
    if !shared.content.latency.is_zero() {
        tokio::time::sleep(shared.content.latency).await;
    }
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if given == Some(&format!("Bearer {TOKEN}")) {
        Ok(())
    } else {
        Err(StatusCode::UNAUTHORIZED.into_response())
    }
}

fn cursor(query: Option<&str>) -> usize {
    url::form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .find(|(key, _)| key == "pagination.cursor")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0)
}

fn as_json(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

async fn discover(
    State(shared): State<Arc<Shared>>,
    Path(asked): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if let Err(refused) = admit(&shared, &headers).await {
        return refused;
    }
    let Some((level, index)) = place(&asked) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let content = &shared.content;
    let count = content.references(level);
    let start = cursor(query.as_deref());
    let page = if content.page == 0 { count } else { content.page };
    let end = (start + page).min(count);
    let references: Vec<_> = (start..end)
        .map(|at| {
            json!({
                "digest": content.reference(level, index, at), "kind": "SBOM_CYCLONEDX_JSON",
                "downloadable": true, "public": false, "createdAt": "2026-01-02T03:04:05Z",
            })
        })
        .collect();
    let next = if end < count { end.to_string() } else { String::new() };
    let answer = json!({
        "result": {
            "digest": asked, "kind": "CONTAINER_IMAGE", "downloadable": true, "public": false,
            "createdAt": "2026-01-02T03:04:05Z", "references": references,
        },
        "pagination": { "nextCursor": next },
    });
    as_json(answer.to_string())
}

/// The same in one message, for content that isn't in pages.
async fn discover_over_grpc(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Bytes,
) -> Response {
    if let Err(refused) = admit(&shared, &headers).await {
        return refused;
    }
    // The frame's head takes five bytes, the number and the length of the first field two.
    let length = usize::from(request[6]);
    let asked = std::str::from_utf8(&request[7..7 + length]).unwrap();
    let (level, index) = place(asked).unwrap();
    let content = &shared.content;
    assert_eq!(content.page, 0);
    let item = |digest: &str, kind: &str, references: &[Vec<u8>]| {
        // Downloadable, and created at a second.
        let rest: &[u8] = &[3 << 3, 1, 5 << 3 | 2, 6, 8, 0x80, 0xe8, 0xd8, 0xca, 0x06];
        let head = [field(1, digest.as_bytes()), field(2, kind.as_bytes())].concat();
        [&head, rest, &references.concat()].concat()
    };
    let references: Vec<_> = (0..content.references(level))
        .map(|at| {
            let digest = content.reference(level, index, at);
            field(4, &item(&digest, "SBOM_CYCLONEDX_JSON", &[]))
        })
        .collect();
    let answer = field(1, &item(asked, "CONTAINER_IMAGE", &references));
    let length = u32::try_from(answer.len()).unwrap().to_be_bytes();
    let message = Bytes::from([&[0], &length[..], &answer].concat());
    let status =
        HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), "0".parse().unwrap())]);
    let body = Full::new(message).with_trailers(std::future::ready(Some(Ok(status))));
    ([(header::CONTENT_TYPE, "application/grpc")], Body::new(body)).into_response()
}

/// Returns a field of a message that is a text or a message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        out.push(0x80 | (length & 0x7f) as u8);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(content);
    out
}

async fn evidence(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if let Err(refused) = admit(&shared, &headers).await {
        return refused;
    }
    match shared.content.evidence.get(cursor(query.as_deref())) {
        Some(page) => as_json(page.clone()),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn download(
    State(shared): State<Arc<Shared>>,
    Path(asked): Path<String>,
    headers: HeaderMap,
) -> Response {
    if let Err(refused) = admit(&shared, &headers).await {
        return refused;
    }
    let digest = asked.strip_prefix("sha256:").unwrap_or_default();
    let location = format!("http://{}/content/{digest}?ticket=1", shared.store);
    (StatusCode::FOUND, [(header::LOCATION, location)]).into_response()
}

async fn content(State(shared): State<Arc<Shared>>, Path(digest): Path<String>) -> Response {
    match shared.content.artifacts.get(&digest) {
        Some(content) => Body::from(content.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns pages of evidence, `rows` rows in all, in the backend's casing.
pub fn evidence_pages(rows: usize, page: usize) -> Vec<Bytes> {
    let pages = rows.div_ceil(page);
    let body = |at: usize| {
        let rows: Vec<_> = (at * page..rows.min((at + 1) * page)).map(evidence_row).collect();
        let next = if at + 1 < pages { (at + 1).to_string() } else { String::new() };
        json!({ "results": rows, "pagination": { "next_cursor": next } }).to_string().into()
    };
    (0..pages).map(body).collect()
}

fn evidence_row(index: usize) -> serde_json::Value {
    let uuid = |kind: u32, index: usize| format!("00000000-0000-4000-{kind:04x}-{index:012x}");
    json!({
        "id": uuid(1, index),
        "name": format!("sbom-of-component-{index}"),
        "digest": format!("sha256:{index:064x}"),
        "kind": "SBOM_CYCLONEDX_JSON",
        "subject_name": format!("registry.example.com/shop/component-{}", index % 500),
        "subject_version": format!("v1.{}.0", index % 40),
        "annotations": { "team": "payments", "scanner": "syft" },
        "organization_id": uuid(2, 0),
        "organization_name": "example",
        "workflow_id": uuid(3, index % 20),
        "workflow_name": format!("build-and-attest-{}", index % 20),
        "workflow_run_id": uuid(4, index / 10),
        "project_id": uuid(5, index % 50),
        "project_name": format!("project-{}", index % 50),
        "project_version_id": uuid(6, index % 100),
    })
}
