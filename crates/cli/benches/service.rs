//! Calls that are sent together: one image and its 200 or 2,000 references, and walks of the graph.
//!
//! ```text
//! cargo bench --bench service [-- references many grpc regorus walk]
//! ```
//! `OPA=/path/to/opa` adds the same policy on OPA with `http.send`.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::pedantic)]
#![allow(clippy::panic, clippy::expect_used)]

mod support;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use rego_platform::Value;
use rego_platform::evaluate::Policies;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::Sources;
use rego_platform::{Platform, Token};

use support::service::{Content, Service, TOKEN, digest};
use support::{Contender, again, command, compare, is_measuring, role, run, show, wanted};

const LATENCY: Duration = Duration::from_millis(20);
const REFERENCES: usize = 200;

const OURS: &str = r#"
package walk

image := platform.discover(input.digest, "")

found contains answer.digest if {
	some reference in image.references
	answer := platform.discover(reference.digest, "")
}
"#;

const OPAS: &str = r#"
package walk

discover(digest) := http.send({
	"method": "GET",
	"url": sprintf("%s/discover/%s", [input.url, digest]),
	"headers": {"authorization": sprintf("Bearer %s", [input.token])},
	"raise_error": true,
}).body.result

image := discover(input.digest)

found contains answer.digest if {
	some reference in image.references
	answer := discover(reference.digest)
}
"#;

fn main() {
    match role().as_deref() {
        Some("client") => return client(),
        Some(other) => panic!("no role `{other}`"),
        None => {}
    }
    if !is_measuring() {
        return;
    }
    if wanted("references") {
        references(REFERENCES, LATENCY, &[64, 256]);
    }
    if wanted("many") {
        references(2_000, Duration::from_millis(5), &[256]);
    }
    if wanted("grpc") {
        transports();
    }
    if wanted("regorus") {
        engines();
    }
    if wanted("walk") {
        walks();
    }
}

/// A bare client that requests URLs: all at once, or the first and then the others.
fn client() {
    let base = std::env::var("BENCH_URL").unwrap();
    let in_flight: usize = std::env::var("BENCH_IN_FLIGHT").unwrap().parse().unwrap();
    let dependent = std::env::var("BENCH_DEPENDENT").is_ok();
    let url = |level, index| format!("{base}/discover/{}", digest(level, index));
    let first = url(0, 0);
    let width: usize = std::env::var("BENCH_WIDTH").unwrap().parse().unwrap();
    let others: Vec<_> = (0..width).map(|index| url(1, index)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let total: usize = runtime.block_on(async {
        let provider = rustls::crypto::ring::default_provider();
        let tls = rustls::ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let client =
            reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().build().unwrap();
        let get = |url: String| {
            let request = client.get(url).bearer_auth(TOKEN);
            async move {
                let body = request.send().await.unwrap().bytes().await.unwrap();
                serde_json::from_slice::<serde_json::Value>(&body).unwrap()["result"].is_object()
            }
        };
        let mut good = 0;
        let mut urls = others;
        if dependent {
            good += usize::from(get(first).await);
        } else {
            urls.insert(0, first);
        }
        let mut answers = futures_util::stream::iter(urls).map(get).buffer_unordered(in_flight);
        while let Some(answer) = answers.next().await {
            good += usize::from(answer);
        }
        good
    });
    println!("{total}");
}

fn bare_client(service: &Service, width: usize, in_flight: usize, dependent: bool) -> Command {
    let mut command = again("client");
    command.env("BENCH_URL", service.url()).env("BENCH_IN_FLIGHT", in_flight.to_string());
    command.env("BENCH_WIDTH", width.to_string());
    if dependent {
        command.env("BENCH_DEPENDENT", "1");
    }
    command
}

/// One image and its references, whole commands against the same service.
fn references(width: usize, latency: Duration, in_flight: &[usize]) {
    let content = Content { latency, width, depth: 1, ..Content::default() };
    let service = Service::start(content);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (ours, opas) = (file("ours.rego", OURS), file("opas.rego", OPAS));
    let root = digest(0, 0);
    let input = file(
        "input.json",
        &format!(r#"{{"digest":"{root}","url":"{}","token":"{TOKEN}"}}"#, service.url()),
    );
    let query = "count(data.walk.found)";
    let answer = width.to_string();
    let bare = |in_flight, dependent| {
        let mut client = bare_client(&service, width, in_flight, dependent);
        expect(&mut client, &(1 + width).to_string(), width, &service)
    };
    for &in_flight in in_flight {
        let eval = || {
            let mut eval = command(&service);
            eval.args(["eval", "-d", &ours, "-i", &input, "-f", "raw", query]);
            eval.arg(format!("--concurrency={in_flight}"));
            expect(&mut eval, &answer, width, &service)
        };
        let mut contenders = vec![
            Contender::timed("rego-platform eval", eval),
            Contender::timed("bare client, the first answer first", || bare(in_flight, true)),
            Contender::timed("bare client, all URLs known", || bare(in_flight, false)),
        ];
        let rounds = rounds(15);
        if let Some(opa) = opa() {
            let (opas, input) = (opas.clone(), input.clone());
            let (service, answer) = (&service, answer.clone());
            contenders.insert(
                0,
                Contender::timed("opa eval with http.send", move || {
                    let mut eval = Command::new(&opa);
                    eval.args(["eval", "-d", &opas, "-i", &input, "-f", "raw", query]);
                    expect(&mut eval, &answer, width, service)
                }),
            );
        }
        compare(
            &format!("1 + {width} calls, {} ms each, {in_flight} in flight", latency.as_millis()),
            rounds,
            &mut contenders,
        );
        if let [opa, ours, ..] = contenders.as_slice()
            && contenders.len() == 4
        {
            let times = opa.median().as_secs_f64() / ours.median().as_secs_f64();
            println!("  OPA takes {times:.1} times as long as rego-platform");
        }
    }
}

/// The same command over gRPC and over HTTP.
fn transports() {
    let content = Content { latency: LATENCY, width: REFERENCES, depth: 1, ..Content::default() };
    let service = Service::start(content);
    let folder = tempfile::tempdir().unwrap();
    let (policy, input) = (folder.path().join("walk.rego"), folder.path().join("input.json"));
    std::fs::write(&policy, OURS).unwrap();
    std::fs::write(&input, format!(r#"{{"digest":"{}"}}"#, digest(0, 0))).unwrap();
    let eval = |mut command: Command| {
        command.arg("eval").arg("-d").arg(&policy).arg("-i").arg(&input);
        command.args(["-f", "raw", "count(data.walk.found)"]);
        expect(&mut command, "200", REFERENCES, &service)
    };
    let over_grpc = || {
        let mut command = command(&service);
        command.env_remove("PLATFORM_CONTROLPLANE_URL").env("PLATFORM_API_INSECURE", "true");
        command.env("PLATFORM_CONTROL_PLANE_API", service.grpc_address());
        eval(command)
    };
    let mut contenders = vec![
        Contender::timed("over gRPC", over_grpc),
        Contender::timed("over HTTP", || eval(command(&service))),
    ];
    compare("1 + 200 calls, 20 ms each, whole commands", rounds(15), &mut contenders);
}

/// The same calls by the library on both engines, within this process.
fn engines() {
    let content = Content { latency: LATENCY, width: REFERENCES, depth: 1, ..Content::default() };
    let service = Service::start(content);
    let platform = Platform::builder()
        .controlplane_url(service.url())
        .base_url(service.url())
        .token(Token::new(TOKEN.to_owned()).unwrap())
        .build()
        .unwrap();
    let input = format!(r#"{{"digest":"{}"}}"#, digest(0, 0));
    let options = platform.options();

    let sources = Sources::text("walk.rego", OURS);
    let policies = Policies::load(&sources, LoadOptions::default()).unwrap();
    let query = policies.query_path(&["walk", "found"]);
    let value = Value::from_json(&input).unwrap();
    let ours = || {
        let output = policies.evaluate(&query, Some(&value), &options).result.unwrap();
        assert_eq!(output.value().and_then(Value::len), Some(REFERENCES));
    };

    let mut engine = rego_platform::regorus::Engine::new();
    let functions = platform.register(&mut engine).unwrap();
    engine.add_policy("walk.rego".to_owned(), OURS.to_owned()).unwrap();
    engine.set_input_json(&input).unwrap();
    let regorus = || {
        let evaluated = functions
            .evaluate(&mut engine, &options, |engine| engine.eval_rule("data.walk.found".into()));
        assert_eq!(evaluated.result.unwrap().as_set().unwrap().len(), REFERENCES);
    };
    let mut contenders =
        vec![Contender::new("this crate's engine", ours), Contender::new("regorus", regorus)];
    compare("1 + 200 calls, 20 ms each, in one process", rounds(15), &mut contenders);
}

fn rounds(usual: usize) -> usize {
    std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn opa() -> Option<String> {
    std::env::var("OPA").ok().filter(|path| Path::new(path).exists())
}

/// Runs a contender, which must send a request for the image and each of its references, and print `answer`.
fn expect(command: &mut Command, answer: &str, width: usize, service: &Service) -> Duration {
    service.requests();
    let (took, said) = run(command);
    assert_eq!(said.trim(), answer, "{command:?}");
    assert_eq!(service.requests(), 1 + width);
    took
}

/// Walks to a depth: one round trip per level, whatever the width.
fn walks() {
    println!("\nwalks of the graph, 20 ms latency, 64 in flight, 100 references on a page");
    println!("  depth width  calls  passes that asked  requests  pages    time   at least");
    for depth in 1..=4_usize {
        for width in [10, 100, 1000, 5000] {
            if 1 + width * (depth - 1) > 20_000 {
                continue;
            }
            walk(depth, width);
        }
    }
}

fn walk(depth: usize, width: usize) {
    let page = 100;
    let content = Content { latency: LATENCY, width, depth, page, ..Content::default() };
    let service = Service::start(content);
    let platform = Platform::builder()
        .controlplane_url(service.url())
        .base_url(service.url())
        .token(Token::new(TOKEN.to_owned()).unwrap())
        .build()
        .unwrap();
    let mut text = "package walk\nlevel_0 contains input.digest\n".to_owned();
    for level in 1..=depth {
        text += &format!(
            "level_{level} contains r.digest if {{\n\tsome d in level_{}\n\tsome r in platform.discover(d, \"\").references\n}}\n",
            level - 1
        );
    }
    let sources = Sources::text("walk.rego", text);
    let policies = Policies::load(&sources, LoadOptions::default()).unwrap();
    let query = policies.query(&format!("count(data.walk.level_{depth})")).unwrap();
    let input = Value::from_json(&format!(r#"{{"digest":"{}"}}"#, digest(0, 0))).unwrap();
    let options = platform.options();
    let started = Instant::now();
    let evaluated = policies.evaluate(&query, Some(&input), &options);
    let took = started.elapsed();
    let value = evaluated.result.unwrap().value().unwrap().to_string();
    assert_eq!(value, width.to_string());
    // The last pass sends nothing.
    let asked = evaluated.ledger.passes - 1;
    let calls = evaluated.ledger.calls.len();
    let pages = width.div_ceil(page);
    // Pages come one after the other; on each further level, 64 calls at a time.
    let trips = pages + (depth - 1) * width.div_ceil(64);
    println!(
        "  {depth:>5} {width:>5} {calls:>6} {asked:>18} {:>9} {pages:>6} {:>9} {:>9}",
        service.requests(),
        show(took),
        show(LATENCY * u32::try_from(trips).unwrap()),
    );
    assert_eq!(usize::try_from(asked).unwrap(), depth, "a pass a level");
}
