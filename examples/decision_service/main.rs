//! A decision service: OPA's data API over this library, on axum. Each request has a deadline, one
//! whose client leaves is cancelled, and policies are exchanged while it runs.
//!
//! ```text
//! cargo run --example decision_service                          # asks itself, prints, ends
//! cargo run --example decision_service -- 127.0.0.1:8181 policies        # serves a folder
//! curl 'localhost:8181/v1/data/release/deny?timeout_ms=500' -d '{"input": {}}'
//! ```

mod clients;

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rego_platform::evaluate::sources::{SourceLimits, Sources};
use rego_platform::evaluate::{Policies, Pool};
use rego_platform::{CallEvent, ErrorKind, EvaluationEvent, Observer, Platform, Token};
use rego_platform::{TraceParent, Value, rustls, text};
use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
use serde_json::json;

#[derive(Debug, Default)]
struct Counts {
    evaluations: AtomicU64,
    failures: AtomicU64,
    cancelled: AtomicU64,
    calls: AtomicU64,
}

impl Observer for Counts {
    fn evaluation(&self, evaluation: &EvaluationEvent<'_>) {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        match evaluation.error {
            Some(ErrorKind::Cancelled) => self.cancelled.fetch_add(1, Ordering::Relaxed),
            Some(_) => self.failures.fetch_add(1, Ordering::Relaxed),
            None => 0,
        };
    }

    fn call(&self, _: &CallEvent<'_>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}

struct Service {
    folder: String,
    policies: RwLock<Policies>,
    platform: Platform,
    pool: Pool,
    counts: Arc<Counts>,
}

impl Service {
    /// Returns the current policies; a request keeps the ones that it started with.
    fn policies(&self) -> Policies {
        self.policies.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn load(folder: &str, platform: &Platform) -> Result<Policies, rego_platform::Error> {
    let sources = Sources::read([folder], SourceLimits::default())?;
    Policies::builder().platform(platform).load(&sources)
}

#[derive(serde::Deserialize)]
struct Limits {
    timeout_ms: Option<u64>,
}

async fn decide(
    State(service): State<Arc<Service>>,
    Path(path): Path<String>,
    Query(limits): Query<Limits>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let input = match Value::from_json(&body) {
        Ok(body) => body.get_str("input").cloned(),
        Err(error) => return refused(StatusCode::BAD_REQUEST, "invalid-json", &error.to_string()),
    };
    let mut options = service.platform.options();
    options.budget.timeout = Duration::from_millis(limits.timeout_ms.unwrap_or(1000).min(30_000));
    options.pool = Some(service.pool.clone());
    let parent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    options.trace = parent.and_then(|text| TraceParent::new(text).ok());

    let policies = service.policies();
    let query = policies.query_path(&path.split('/').collect::<Vec<_>>());
    // axum drops this future when the client leaves, which cancels the evaluation and its calls.
    match policies.evaluate_async(query, input, options).await.result {
        // As in OPA: no result if the rule is undefined, which doesn't mean "allowed".
        Ok(output) => {
            let value = output.value().map(|value| format!("\"result\":{}", value.to_json()));
            let body = format!("{{{}}}", value.unwrap_or_default());
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        Err(error) => {
            let status = match error.kind() {
                ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
                ErrorKind::Unavailable | ErrorKind::RateLimited => StatusCode::BAD_GATEWAY,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            refused(status, error.kind().code(), &error.report())
        }
    }
}

fn refused(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({"code": code, "message": text::escape(message)}))).into_response()
}

/// Loads the folder again; policies that don't load change nothing.
async fn reload(State(service): State<Arc<Service>>) -> Response {
    let loading = Arc::clone(&service);
    let loaded = tokio::task::spawn_blocking(move || load(&loading.folder, &loading.platform));
    match loaded.await {
        Ok(Ok(policies)) => {
            *service.policies.write().unwrap_or_else(PoisonError::into_inner) = policies;
            StatusCode::NO_CONTENT.into_response()
        }
        Ok(Err(error)) => refused(StatusCode::CONFLICT, error.kind().code(), &error.report()),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn metrics(State(service): State<Arc<Service>>) -> String {
    let Counts { evaluations, failures, cancelled, calls } = &*service.counts;
    let all = [("evaluations", evaluations), ("failures", failures), ("cancelled", cancelled)];
    let all = all.into_iter().chain([("calls", calls)]);
    let line = |(name, count): (&str, &AtomicU64)| {
        format!("rego_{name}_total {}\n", count.load(Ordering::Relaxed))
    };
    all.map(line).collect::<Vec<_>>().concat()
}

async fn serve(address: &str, service: Arc<Service>) -> std::io::Result<std::net::SocketAddr> {
    let router = Router::new()
        .route("/v1/data/{*path}", post(decide))
        .route("/reload", post(reload))
        .route("/metrics", get(metrics))
        .with_state(service);
    let listener = tokio::net::TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The TLS provider is the host's choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let counts = Arc::new(Counts::default());
    let builder = Platform::builder().observer(counts.clone());
    let pool = Pool::new(NonZeroUsize::new(4).unwrap_or(NonZeroUsize::MIN));
    let start = |platform: Platform, folder: String| {
        let policies = RwLock::new(load(&folder, &platform)?);
        let service = Service { folder, policies, platform, pool, counts };
        Ok::<_, rego_platform::Error>(Arc::new(service))
    };
    if let [_, address, folder] = &std::env::args().collect::<Vec<_>>()[..] {
        let service = start(builder.context()?.build()?, folder.clone())?;
        println!("listening on {}", serve(address, service).await?);
        std::future::pending::<()>().await;
        return Ok(());
    }

    // Without arguments: a service to ask, policies that change, and some clients.
    let data = Dataset::load("testdata/platform".as_ref())?;
    let emulator = Emulator::start(data, EmulatorOptions::default())?;
    let (control, base) = (emulator.controlplane_url(), emulator.base_url());
    let token = Token::new(emulator.default_token())?;
    let platform = builder.controlplane_url(control).base_url(base).token(token).build()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("policy.rego");
    std::fs::copy("policies/upstream_attestations.rego", &file)?;
    let service = start(platform, folder.path().display().to_string())?;
    let url = format!("http://{}", serve("127.0.0.1:0", service.clone()).await?);
    clients::ask_all(&url, &file, &emulator, &service).await
}
