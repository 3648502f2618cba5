//! 100,000 rows of evidence, parsed into policy values and into `serde_json::Value`.
//!
//! ```text
//! cargo bench --bench rows
//! ```

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::pedantic)]
#![allow(clippy::panic, clippy::expect_used)]

mod support;

use rego_platform::functions::parse_rows;
use rego_platform::{Platform, Token, Value};

use support::service::{Content, Service, TOKEN, evidence_pages};
use support::{Contender, compare, is_measuring, wanted};

const ROWS: usize = 100_000;

fn main() {
    if !is_measuring() {
        return;
    }
    // One page of everything, and pages as the service sends them.
    let one = evidence_pages(ROWS, ROWS);
    let many = evidence_pages(ROWS, 1000);
    if wanted("parse") {
        for (name, pages) in [("one page", &one), ("100 pages", &many)] {
            let ours = || -> Vec<Value> {
                pages.iter().flat_map(|page| parse_rows("evidence", page).unwrap()).collect()
            };
            let untyped = || -> Vec<Value> {
                let text = |page| std::str::from_utf8(page).unwrap();
                pages.iter().map(|page| Value::from_json(text(page)).unwrap()).collect()
            };
            let plain = || -> Vec<serde_json::Value> {
                pages.iter().map(|page| serde_json::from_slice(page).unwrap()).collect()
            };
            assert_eq!(ours().len(), ROWS);
            let mut contenders = [
                Contender::new("rows as a policy sees them", ours),
                Contender::new("rego_platform::Value::from_json", untyped),
                Contender::new("serde_json::Value", plain),
            ];
            compare(&format!("100,000 rows in memory, {name}"), 15, &mut contenders);
        }
    }
    if wanted("fetch") {
        fetch(many);
    }
}

/// The same over HTTP, with all the client's checks.
fn fetch(pages: Vec<bytes::Bytes>) {
    let service = Service::start(Content { evidence: pages, ..Content::default() });
    let platform = Platform::builder()
        .controlplane_url(service.url())
        .base_url(service.url())
        .token(Token::new(TOKEN.to_owned()).unwrap())
        .max_results(ROWS)
        .build()
        .unwrap();
    let ours = || {
        let found = platform.call("evidence", &[Value::new_object()]).unwrap();
        assert_eq!(found.get_str("results").and_then(Value::as_array).unwrap().len(), ROWS);
        found
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = {
        let tls = rustls::ClientConfig::builder_with_provider(
            rustls::crypto::ring::default_provider().into(),
        )
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
        reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().build().unwrap()
    };
    let plain = || {
        runtime.block_on(async {
            let mut rows: Vec<serde_json::Value> = Vec::new();
            let mut cursor = String::new();
            loop {
                let url = format!("{}/v1/evidence?pagination.cursor={cursor}", service.url());
                let answer = client.get(url).bearer_auth(TOKEN).send().await.unwrap();
                let body = answer.bytes().await.unwrap();
                let mut page: serde_json::Value = serde_json::from_slice(&body).unwrap();
                let serde_json::Value::Array(more) = page["results"].take() else { panic!() };
                rows.extend(more);
                cursor = page["pagination"]["next_cursor"].as_str().unwrap().to_owned();
                if cursor.is_empty() {
                    break;
                }
            }
            assert_eq!(rows.len(), ROWS);
            rows
        })
    };
    let mut contenders = [
        Contender::new("platform.call(\"evidence\")", ours),
        Contender::new("reqwest and serde_json::Value", plain),
    ];
    compare("100,000 rows over HTTP, 100 pages", 11, &mut contenders);
}
