//! Another product's policy runner: functions under its own name, its own host functions, a token
//! from its own login, and dry runs answered from its own store.
//!
//! ```text
//! cargo run --example runner
//! ```

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rego_platform::evaluate::sources::Sources;
use rego_platform::evaluate::{
    Answers, EvaluateOptions, Evaluated, FunctionCall, Policies, Responder,
};
use rego_platform::{ErrorKind, Platform, Product, Token, TokenFuture, TokenProvider, Value};
use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};

/// `acme.*` asks the service, `ci.*` the runner itself.
const POLICY: &str = r#"
package release

deny contains sprintf("%s has no SBOM", [input.image]) if {
	kinds := {reference.kind | some reference in acme.discover(input.image, "").references}
	not "SBOM_CYCLONEDX_JSON" in kinds
	not "SBOM_SPDX_JSON" in kinds
}

deny contains sprintf("%s is %s's, and none of them approved", [input.repository, team]) if {
	team := ci.team(input.repository)
	count({person | some person in ci.members(team)} & {p | some p in input.approvals}) == 0
}

deny contains "the repository belongs to no team" if not ci.team(input.repository)
"#;

/// The runner's login: a token is asked for at the first call, and again once one is refused.
struct Login {
    asked: Arc<AtomicU64>,
    token: String,
}

impl TokenProvider for Login {
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(async {
            let times = self.asked.fetch_add(1, Ordering::Relaxed);
            // The first token has been revoked in the meantime.
            Token::new(if times == 0 { "revoked" } else { &self.token })
        })
    }
}

/// The answers in a dry run: the runner's own builds, and nothing from the service.
#[derive(Debug)]
struct Store;

impl Responder for Store {
    fn answer<'a>(
        &'a self,
        calls: &'a [FunctionCall],
        _: Instant,
    ) -> Pin<Box<dyn Future<Output = Vec<Result<Value, rego_platform::Error>>> + Send + 'a>> {
        let answer = |call: &FunctionCall| {
            let digest = call.arguments.first().and_then(Value::as_str).unwrap_or_default();
            if &*call.function != "acme.discover" {
                let message = "a dry run knows what was built, and nothing else";
                return Err(rego_platform::Error::new(ErrorKind::NotAnswered, message));
            }
            let sbom = format!("sha256:{:064x}", 1);
            let built = |digest: &str, kind: &str, references: &[serde_json::Value]| {
                serde_json::json!({
                    "digest": digest, "kind": kind, "downloadable": false, "public": false,
                    "createdAt": "2026-01-02T03:04:05Z", "references": references,
                })
            };
            let sbom = built(&sbom, "SBOM_CYCLONEDX_JSON", &[]);
            let answer = built(digest, "CONTAINER_IMAGE", &[sbom]);
            Value::from_json(&answer.to_string()).map_err(|error| {
                rego_platform::Error::new(ErrorKind::Internal, "no JSON").with_source(error)
            })
        };
        Box::pin(async move { calls.iter().map(answer).collect() })
    }
}

fn policies(platform: &Platform) -> Result<Policies, rego_platform::Error> {
    Policies::builder()
        .platform(platform)
        // Answers at once, from its arguments alone. Nothing makes the call undefined.
        .function("ci.team", 1, |arguments| {
            let repository = arguments.first().and_then(Value::as_str).unwrap_or_default();
            Ok(repository.split_once('/').map(|(team, _)| Value::from(team)))
        })
        // Asks another system: batched, at most once per evaluation, recorded.
        .async_function("ci.members", 1, |arguments| async move {
            let team = arguments.first().and_then(Value::as_str).unwrap_or_default();
            let members: &[&str] = if team == "payments" { &["ada", "grace"] } else { &[] };
            Ok(Value::from(members.iter().map(|name| Value::from(*name)).collect::<Vec<_>>()))
        })
        .load(&Sources::text("release.rego", POLICY))
}

/// The runner's interpretation of an evaluation: only an empty set is a pass.
fn verdict(name: &str, evaluated: Evaluated) -> Result<bool, Box<dyn Error>> {
    let output = evaluated.result.map_err(|error| format!("{name}: {}", error.report()))?;
    let violations = output.value().and_then(Value::as_set).ok_or("the rule isn't a set")?;
    println!("{name}: {}", if violations.is_empty() { "passed" } else { "not passed" });
    for violation in violations.iter().filter_map(Value::as_str) {
        println!("  {}", rego_platform::text::escape(violation));
    }
    for call in evaluated.ledger.needed() {
        println!("  asked {} ({:?})", call.function, call.origin);
    }
    Ok(violations.is_empty())
}

fn main() -> Result<(), Box<dyn Error>> {
    // One name determines the functions' prefix, the variables, the header, and the audience of
    // tokens.
    let product = Product::new("acme")?;
    let dataset = Dataset::load("testdata/platform".as_ref())?;
    let serving = EmulatorOptions { product: product.to_string(), ..EmulatorOptions::default() };
    let service = Emulator::start(dataset, serving)?;

    let asked = Arc::new(AtomicU64::new(0));
    let login = Login { asked: Arc::clone(&asked), token: service.default_token() };
    let platform = Platform::builder()
        .product(product)
        .controlplane_url(service.controlplane_url())
        .base_url(service.base_url())
        .token_provider(login)
        .user_agent("acme-runner/2.1")
        .header("x-acme-pipeline", "4711")
        .build()?;

    let policies = policies(&platform)?;
    let query = policies.query_path(&["release", "deny"]);
    let input = |repository: &str, approvals: &[&str]| {
        let image = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";
        let input = serde_json::json!({
            "image": image, "repository": repository, "approvals": approvals,
        });
        Value::from_json(&input.to_string())
    };
    let (good, bad) = (input("payments/api", &["ada"])?, input("payments/api", &["mallory"])?);

    let dry = EvaluateOptions::new(Answers::Responder(Arc::new(Store)));
    let mut held = verdict("dry run", policies.evaluate(&query, Some(&good), &dry))?;
    let real = platform.options();
    held &= verdict("good", policies.evaluate(&query, Some(&good), &real))?;
    held &= !verdict("bad", policies.evaluate(&query, Some(&bad), &real))?;
    println!("the login was asked {} times", asked.load(Ordering::Relaxed));
    if held && asked.load(Ordering::Relaxed) == 2 { Ok(()) } else { Err("that is wrong".into()) }
}
