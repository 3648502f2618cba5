//! A service that answers with generated data over real HTTP.
//!
//! Owns the data: every answer, failures included, is determined by the numbers in the digest, name
//! or text of the request, so one server serves every case at once. `generate` owns the policies.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use rego_platform::{Platform, PlatformBuilder, Token};
use serde_json::{Value, json};
use sha2::Digest as _;

/// The number of nodes of a world.
pub const NODES: u64 = 8;

/// Mixes numbers into one that looks random.
pub fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x9e37_79b9_7f4a_7c15, |state, number| {
        let mut z = (state ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Returns the digest of a node of a world.
pub fn digest(world: u64, node: u64) -> String {
    format!("sha256:{world:016x}{node:016x}{:032x}", 0)
}

/// Returns the input of a case.
pub fn input(world: u64) -> String {
    let digests: Vec<String> = (0..NODES).map(|node| digest(world, node)).collect();
    serde_json::json!({"d": digests, "n": 3, "other": {"d": [digest(world, 7)]}}).to_string()
}

/// Returns the text of an artifact of a world.
pub fn content(world: u64, node: u64) -> String {
    format!("{{\"world\":{world},\"size\":{}}}", mix(&[world, node, 77]) % 9)
}

/// Worlds from here on have a node 0 of this width: `WIDE + width`; every reference is a leaf.
pub const WIDE: u64 = 1 << 40;

/// A tree of some depth and width: `TREE + depth * 2^20 + width`. Node 0 is its root, and every
/// node of a level refers to all of the next.
pub const TREE: u64 = 1 << 50;

#[derive(Default)]
struct Shared {
    /// Texts of the prompts that were sent, by world.
    prompts: Mutex<HashMap<u64, Vec<String>>>,
    requests: AtomicUsize,
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
    latency: Mutex<Duration>,
}

pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let app = axum::Router::new().fallback(answer).with_state(Arc::clone(&shared));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        Self { address, shared }
    }

    pub fn builder(&self) -> PlatformBuilder {
        let url = format!("http://{}", self.address);
        Platform::builder()
            .controlplane_url(url.clone())
            .base_url(url)
            .token(Token::new("generated").unwrap())
            .retries(0)
    }

    /// Returns the prompts that were sent for a world since the last call, sorted.
    pub fn take_prompts(&self, world: u64) -> Vec<String> {
        let mut prompts = self.shared.prompts.lock().unwrap().remove(&world).unwrap_or_default();
        prompts.sort();
        prompts
    }

    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.load(Ordering::SeqCst)
    }

    pub fn max_in_flight(&self) -> usize {
        self.shared.max_in_flight.load(Ordering::SeqCst)
    }

    /// Sets the latency of every answer from now on.
    pub fn set_latency(&self, latency: Duration) {
        *self.shared.latency.lock().unwrap() = latency;
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    body: Bytes,
) -> Response {
    struct Leave(Arc<Shared>);
    impl Drop for Leave {
        fn drop(&mut self) {
            self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
        }
    }
    shared.requests.fetch_add(1, Ordering::SeqCst);
    let now = shared.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
    shared.max_in_flight.fetch_max(now, Ordering::SeqCst);
    let _leave = Leave(Arc::clone(&shared));
    if method == Method::POST {
        // It costs money from now on, even if no evaluation waits for the answer.
        note(&shared, &body);
    }
    let latency = *shared.latency.lock().unwrap();
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let path = uri.path();
    let query = uri.query().unwrap_or_default();
    if let Some(digest) = path.strip_prefix("/discover/") {
        return discover(digest, query);
    }
    if let Some(digest) = path.strip_prefix("/download/") {
        return download(digest);
    }
    if path == "/v1/evidence" {
        return evidence(query);
    }
    if method == Method::POST {
        return prompt(&body);
    }
    match path.strip_prefix("/v1/operations/").and_then(|id| id.split_once('-')) {
        Some((world, node)) => operation(world.parse().unwrap(), node.parse().unwrap()),
        None => refusal(404),
    }
}

fn ok(body: Value) -> Response {
    axum::Json(body).into_response()
}

fn refusal(status: u16) -> Response {
    let mut body = json!({"code": status, "message": format!("refused with {status}")});
    if status == 404 {
        body["reason"] = json!("not found");
        body["message"] = json!("no such digest");
    }
    let body = axum::Json(body);
    (StatusCode::from_u16(status).unwrap(), body).into_response()
}

/// Returns the failure of a request in a world, if it has one. A quarter of the worlds has none.
fn failure(world: u64, what: u64) -> Option<Response> {
    if world >= WIDE {
        return None;
    }
    let share = [0, 2, 6, 25][usize::try_from(mix(&[world]) % 4).unwrap()];
    let dice = mix(&[world, what, 1]);
    if dice % 100 >= share {
        return None;
    }
    Some(match dice / 100 % 7 {
        0 | 1 => refusal(404),
        2 => refusal(500),
        3 => {
            let body = json!({"code": 400, "message": "known under the kinds A, B: pass a kind"});
            (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
        }
        4 => refusal(403),
        5 => ok(json!({})),
        _ => refusal(429),
    })
}

fn parse(digest: &str) -> (u64, u64) {
    let hex = digest.strip_prefix("sha256:").unwrap();
    let part = |from| u64::from_str_radix(&hex[from..from + 16], 16).unwrap();
    (part(0), part(16))
}

fn discover(digest: &str, query: &str) -> Response {
    let (world, node) = parse(digest);
    if query.contains("kind=BAD") {
        return refusal(404);
    }
    if let Some(failure) = failure(world, node) {
        return failure;
    }
    // A digest is known under any kind that is requested.
    let asked = query.split('&').find_map(|part| part.strip_prefix("kind=")).map(str::to_owned);
    let references: Vec<Value> = references(world, node)
        .into_iter()
        .map(|to| json!({"digest": self::digest(world, to), "kind": kind(world, to), "rank": to}))
        .collect();
    ok(json!({
        "result": {
            "digest": digest,
            "kind": asked.unwrap_or_else(|| kind(world, node)),
            "public": mix(&[world, node, 3]).is_multiple_of(2),
            "downloadable": mix(&[world, node, 4]).is_multiple_of(2),
            "createdAt": "2026-01-01T00:00:00Z",
            "score": mix(&[world, node, 5]) % 5,
            "references": references,
        },
        "pagination": {"nextCursor": ""},
    }))
}

fn references(world: u64, node: u64) -> Vec<u64> {
    if world >= TREE {
        let (depth, width) = ((world - TREE) >> 20, (world - TREE) & 0xf_ffff);
        let level = node.div_ceil(width);
        return if level < depth {
            (level * width + 1..=(level + 1) * width).collect()
        } else {
            Vec::new()
        };
    }
    if world >= WIDE {
        return if node == 0 { (1..=world - WIDE).collect() } else { Vec::new() };
    }
    (0..NODES).filter(|to| mix(&[world, node, *to, 6]).is_multiple_of(3)).collect()
}

fn kind(world: u64, node: u64) -> String {
    format!("K{}", mix(&[world, node, 2]) % 3)
}

fn download(digest: &str) -> Response {
    // The request has the hash, so the worlds' contents are looked up by it.
    let known = CONTENTS.lock().unwrap().get(digest).copied();
    let Some((world, node)) = known else { return refusal(404) };
    failure(world, 500 + node).unwrap_or_else(|| content(world, node).into_response())
}

static CONTENTS: Mutex<std::collections::BTreeMap<String, (u64, u64)>> =
    Mutex::new(std::collections::BTreeMap::new());

/// Makes a world's artifact available for download and returns its digest.
pub fn store(world: u64, node: u64) -> String {
    let hash = sha2::Sha256::digest(content(world, node).as_bytes());
    let mut digest = "sha256:".to_owned();
    for byte in hash {
        let _ = write!(digest, "{byte:02x}");
    }
    CONTENTS.lock().unwrap().insert(digest.clone(), (world, node));
    digest
}

fn evidence(query: &str) -> Response {
    let name = query.split('&').find_map(|pair| pair.strip_prefix("project_name="));
    let Some((world, node)) = name.and_then(|name| name.split_once('-')) else {
        return refusal(400);
    };
    let (world, node): (u64, u64) = (world.parse().unwrap(), node.parse().unwrap());
    if let Some(failure) = failure(world, 1000 + node) {
        return failure;
    }
    let rows: Vec<Value> = (0..mix(&[world, node, 7]) % 4)
        .map(|row| json!({"id": format!("e{row}"), "digest": digest(world, (node + row) % NODES), "kind": kind(world, row)}))
        .collect();
    ok(json!({"results": rows, "pagination": {"next_cursor": ""}}))
}

fn prompted(body: &[u8]) -> (String, u64, u64) {
    let body: Value = serde_json::from_slice(body).unwrap();
    let text = body["content"].as_str().unwrap();
    let (world, node) = text.split_once('-').unwrap();
    (text.to_owned(), world.parse().unwrap(), node.parse().unwrap())
}

fn note(shared: &Shared, body: &[u8]) {
    let (text, world, _) = prompted(body);
    shared.prompts.lock().unwrap().entry(world).or_default().push(text);
}

fn prompt(body: &[u8]) -> Response {
    let (_, world, node) = prompted(body);
    failure(world, 2000 + node)
        .unwrap_or_else(|| ok(json!({"operation_id": format!("{world}-{node}")})))
}

fn operation(world: u64, node: u64) -> Response {
    let dice = mix(&[world, node, 8]);
    let status = if world < WIDE && dice.is_multiple_of(10) { "FAILED" } else { "SUCCEEDED" };
    let violations: Vec<String> = (0..dice / 10 % 3).map(|v| format!("violation {v}")).collect();
    let output = json!({"skipped": false, "violations": violations}).to_string();
    ok(json!({"operation": {
        "id": format!("{world}-{node}"),
        "status": format!("ASYNC_OPERATION_STATUS_{status}"),
        "output": output,
        "error_message": "",
        "finished_at": "2026-01-01T00:00:00Z",
    }}))
}
