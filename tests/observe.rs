//! Evaluations as a host sees them: spans with parents across threads, each end reported once, and
//! the host's headers and trace on requests to the service alone.
//!
//! A separate program, since its subscriber is the process's.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::io::{Read as _, Write as _};
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Waker};
use std::time::Duration;

use rego_platform::evaluate::sources::Sources;
use rego_platform::evaluate::{Answers, Cancellation, EvaluateOptions, Policies};
use rego_platform::http::Http;
use rego_platform::{
    CallEvent, ErrorKind, EvaluationEvent, LookupEvent, Observer, Platform, PlatformBuilder,
    Product, RequestEvent, Token, TraceParent, reqwest,
};
use rego_platform_emulator::{
    Address, Dataset, Emulator, EmulatorOptions, Fault, FaultKind, FaultTarget, RouteKind,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Instrument as _};
use tracing_subscriber::layer::{Context as Layered, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

const IMAGE: &str = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";

#[derive(Clone, Debug, Default)]
struct Seen {
    name: &'static str,
    parent: Option<u64>,
    fields: BTreeMap<&'static str, String>,
    events: Vec<String>,
}

impl Visit for Seen {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

#[derive(Clone, Default)]
struct Spans(Arc<Mutex<BTreeMap<u64, Seen>>>);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Layered<'_, S>) {
        let parent =
            context.span(id).and_then(|span| span.parent().map(|parent| parent.id().into_u64()));
        let name = attributes.metadata().name();
        let mut seen = Seen { name, parent, ..Seen::default() };
        attributes.record(&mut seen);
        self.0.lock().unwrap().insert(id.into_u64(), seen);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, _: Layered<'_, S>) {
        if let Some(seen) = self.0.lock().unwrap().get_mut(&id.into_u64()) {
            record.record(seen);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Layered<'_, S>) {
        let Some(span) = context.event_span(event) else { return };
        if let Some(seen) = self.0.lock().unwrap().get_mut(&span.id().into_u64()) {
            let mut said = Seen::default();
            event.record(&mut said);
            seen.events.extend(said.fields.remove("message"));
        }
    }
}

impl Spans {
    /// Returns the process's spans. Each test begins with it: what runs before isn't traced, nor is
    /// it ever after, since tracing keeps that nobody wanted it.
    fn process() -> &'static Self {
        static SPANS: OnceLock<Spans> = OnceLock::new();
        SPANS.get_or_init(|| {
            let spans = Self::default();
            let subscriber = tracing_subscriber::registry().with(spans.clone());
            tracing::subscriber::set_global_default(subscriber).unwrap();
            spans
        })
    }

    /// Returns the spans below the span `id`: names from the top, and the fields of the last.
    fn below(&self, id: u64) -> Vec<(String, Seen)> {
        let all = self.0.lock().unwrap().clone();
        let path = |seen: &Seen| {
            let (mut names, mut parent) = (vec![seen.name], seen.parent?);
            while parent != id {
                let at = all.get(&parent)?;
                names.push(at.name);
                parent = at.parent?;
            }
            names.reverse();
            Some(names.join("/"))
        };
        all.values().filter_map(|seen| Some((path(seen)?, seen.clone()))).collect()
    }
}

#[derive(Debug, Default)]
struct ReportedEvents(Mutex<Vec<String>>);

impl Observer for ReportedEvents {
    fn evaluation(&self, event: &EvaluationEvent<'_>) {
        let line = format!("evaluation {} {} {:?}", event.query, event.calls, event.error);
        self.0.lock().unwrap().push(line);
    }

    fn call(&self, event: &CallEvent<'_>) {
        let line = format!("call {} {} {:?}", event.function, event.requests, event.error);
        self.0.lock().unwrap().push(line);
    }

    fn request(&self, event: &RequestEvent<'_>) {
        let line =
            format!("request {} {:?} {:?}", event.method, event.template, event.error_type());
        self.0.lock().unwrap().push(line);
    }

    fn lookup(&self, event: &LookupEvent<'_>) {
        self.0.lock().unwrap().push(format!("lookup {} {:?}", event.name, event.error));
    }
}

impl ReportedEvents {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn emulator() -> Emulator {
    let data = Dataset::load("testdata/platform".as_ref()).unwrap();
    Emulator::start(data, EmulatorOptions::default()).unwrap()
}

fn builder(emulator: &Emulator) -> PlatformBuilder {
    Platform::builder()
        .controlplane_url(emulator.controlplane_url())
        .base_url(emulator.base_url())
        .token(Token::new(emulator.default_token()).unwrap())
        .retries(0)
}

fn policies() -> Policies {
    let text = format!("package p\n\nx := platform.discover(\"{IMAGE}\", \"\").kind\n");
    Policies::builder().load(&Sources::text("p.rego", text)).unwrap()
}

/// Waits for something that another thread still has to do.
fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it didn't happen");
}

#[tokio::test]
async fn spans_have_parents_across_threads() {
    let spans = Spans::process();
    let (emulator, policies) = (emulator(), policies());
    let platform = builder(&emulator).build().unwrap();
    let query = policies.query("data.p.x").unwrap();
    let options = platform.options();
    let mut hosts = Vec::new();

    let span = tracing::info_span!("async host");
    let id = span.id().unwrap().into_u64();
    let evaluated = policies.evaluate_async(query.clone(), None, options.clone());
    evaluated.instrument(span).await.result.unwrap();
    hosts.push((id, "evaluation/"));

    let span = tracing::info_span!("blocking host");
    let id = span.id().unwrap().into_u64();
    span.in_scope(|| policies.evaluate(&query, None, &options)).result.unwrap();
    hosts.push((id, "evaluation/"));

    let span = tracing::info_span!("without a policy");
    let id = span.id().unwrap().into_u64();
    span.in_scope(|| platform.call("discover", &[IMAGE.into(), "".into()])).unwrap();
    hosts.push((id, ""));

    for (id, prefix) in hosts {
        let below = spans.below(id);
        let find = |path: &str| {
            let path = format!("{prefix}{path}");
            let found = below.iter().find(|(name, _)| *name == path);
            let Some((_, seen)) = found else { panic!("{path}: {below:?}") };
            seen.fields.clone()
        };
        assert_eq!(find("call")["rego.function"], "platform.discover");
        let attempt = find("call/attempt");
        for (name, value) in [
            ("http.request.method", "GET"),
            ("url.template", "/discover/{digest}"),
            ("server.address", "127.0.0.1"),
            ("http.response.status_code", "200"),
            ("otel.kind", "client"),
        ] {
            assert_eq!(attempt[name], value, "{attempt:?}");
        }
        if !prefix.is_empty() {
            find("pass");
            let whole = &below.iter().find(|(path, _)| path == "evaluation").unwrap().1.fields;
            assert_eq!(whole["rego.query"], "data.p.x");
            assert_eq!((&*whole["rego.passes"], &*whole["rego.calls"]), ("2", "1"));
        }
    }
}

#[test]
fn each_end_is_reported_once() {
    Spans::process();
    let (emulator, policies) = (emulator(), policies());
    let told = Arc::new(ReportedEvents::default());
    let platform = builder(&emulator).observer(told.clone()).build().unwrap();
    let query = policies.query("data.p.x").unwrap();
    let options = platform.options();
    policies.evaluate(&query, None, &options).result.unwrap();
    let request = "request GET Some(\"/discover/{digest}\")";
    let mut expected = vec![
        format!("{request} None"),
        "call platform.discover 1 None".to_owned(),
        "evaluation data.p.x 1 None".to_owned(),
    ];
    assert_eq!(told.lines(), expected);

    emulator.set_faults(vec!["discover:status=503".parse().unwrap()]);
    policies.evaluate(&query, None, &options).result.unwrap_err();
    expected.extend([
        format!("{request} Some(\"503\")"),
        "call platform.discover 1 Some(Unavailable)".to_owned(),
        "evaluation data.p.x 1 Some(Unavailable)".to_owned(),
    ]);
    assert_eq!(told.lines(), expected);

    // A dropped future ends too, and so does a call that only it waited for.
    emulator.set_faults(vec!["discover:latency=60s".parse().unwrap()]);
    {
        let mut evaluating = pin!(policies.evaluate_async(query, None, options));
        until(|| {
            let mut context = Context::from_waker(Waker::noop());
            let _ = evaluating.as_mut().poll(&mut context);
            platform.calls_in_flight() > 0
        });
    }
    until(|| told.lines().len() == expected.len() + 2);
    let mut rest = told.lines().split_off(expected.len());
    rest.sort();
    assert_eq!(
        rest,
        ["call platform.discover 0 Some(Cancelled)", "evaluation data.p.x 0 Some(Cancelled)"]
    );
}

#[test]
fn the_hosts_headers_go_to_the_service_alone() {
    Spans::process();
    let emulator = emulator();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let platform = builder(&emulator)
        .header("x-acme-key", "secret")
        .user_agent("acme/1")
        .propagator(|headers| {
            headers.insert("tracestate", reqwest::header::HeaderValue::from_static("acme=1"));
            headers.insert("authorization", reqwest::header::HeaderValue::from_static("none"));
        })
        .build()
        .unwrap();
    let attached = format!("platform.discover(\"{IMAGE}\", \"\").references[i].digest");
    let text = format!(
        "package p\n\nx := count([1 | some i; r := {attached}; platform.discover(\"{IMAGE}\", \"\")\
         .references[i].downloadable; platform.download_artifact(r)])\n"
    );
    let policies = Policies::builder().load(&Sources::text("p.rego", text)).unwrap();
    let mut options = platform.options();
    options.trace = Some(TraceParent::new(parent).unwrap());
    let query = policies.query("data.p.x").unwrap();
    policies.evaluate(&query, None, &options).result.unwrap();
    let (mut asked, mut stored) = (0, 0);
    for request in emulator.requests() {
        let has = |name: &str| request.header_names.iter().any(|header| header == name);
        let ours = request.api != Address::Store;
        for header in ["x-acme-key", "traceparent", "tracestate", "authorization"] {
            assert_eq!(has(header), ours, "{header} {request:?}");
        }
        assert!(has("user-agent"));
        *(if ours { &mut asked } else { &mut stored }) += 1;
    }
    assert!(asked > 1 && stored > 0, "{asked} {stored}");
}

/// A server on loopback: what it was sent, with the path as the first line. `/late` is never answered.
fn server() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut text, mut buffer) = (String::new(), [0; 4096]);
            while !text.contains("\r\n\r\n") {
                let count = stream.read(&mut buffer).unwrap();
                if count == 0 {
                    break;
                }
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
            let head = match text.split(' ').nth(1).unwrap_or_default() {
                "/from" => format!("302 Found\r\nlocation: http://localhost:{port}/to"),
                "/bad" => "503 Service Unavailable".to_owned(),
                "/late" => {
                    log.lock().unwrap().push(text);
                    kept.push(stream);
                    continue;
                }
                _ => "200 OK".to_owned(),
            };
            log.lock().unwrap().push(text);
            let answer =
                format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (port, asked)
}

/// The spans of an evaluation, and its error.
fn evaluated(
    spans: &Spans,
    query: &str,
    options: &EvaluateOptions,
) -> (Vec<(String, Seen)>, Option<rego_platform::Error>) {
    let policies = Policies::builder().load(&Sources::text("p.rego", "package p\n")).unwrap();
    let query = policies.query(query).unwrap();
    let span = tracing::info_span!("host");
    let id = span.id().unwrap().into_u64();
    let error = span.in_scope(|| policies.evaluate(&query, None, options)).result.err();
    (spans.below(id), error)
}

#[test]
fn requests_of_policies_have_spans_events_and_the_hosts_trace() {
    let spans = Spans::process();
    let (port, asked) = server();
    let told = Arc::new(ReportedEvents::default());
    let http = Http::builder()
        .allow_host(format!("127.0.0.1:{port}").parse().unwrap())
        .allow_host(format!("localhost:{port}").parse().unwrap())
        .propagator(|headers| {
            headers.insert("tracestate", reqwest::header::HeaderValue::from_static("acme=1"));
            headers.insert("authorization", reqwest::header::HeaderValue::from_static("none"));
        })
        .build();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut options = EvaluateOptions::new(Answers::Unavailable("none".to_owned()));
    options.http = Some(http);
    options.observer = Some(told.clone());
    options.trace = Some(TraceParent::new(parent).unwrap());
    let send = |path: &str, more: &str| {
        format!(
            "http.send({{\"method\": \"get\", \"url\": \"http://127.0.0.1:{port}/{path}\"{more}}})"
        )
    };

    // A redirect is a request of its own.
    let (below, error) = evaluated(spans, &send("from", ", \"enable_redirect\": true"), &options);
    assert!(error.is_none(), "{error:?}");
    let attempts: Vec<&Seen> = below
        .iter()
        .filter(|(path, _)| path == "evaluation/call/attempt")
        .map(|(_, seen)| seen)
        .collect();
    assert_eq!(attempts.len(), 2, "{below:?}");
    for (attempt, address, status) in
        [(attempts[0], "127.0.0.1", "302"), (attempts[1], "localhost", "200")]
    {
        for (name, value) in [
            ("http.request.method", "GET"),
            ("server.address", address),
            ("server.port", &*port.to_string()),
            ("http.response.status_code", status),
            ("otel.name", "GET"),
            ("otel.kind", "client"),
            // A path of a policy's may be a secret.
            ("url.path", "…"),
        ] {
            assert_eq!(attempt.fields[name], value, "{name} {attempt:?}");
        }
        assert!(!attempt.fields.contains_key("url.template"));
    }
    let expected = ["request GET None None", "request GET None None", "call http.send 2 None"];
    assert_eq!(told.lines()[..3], expected);
    for request in asked.lock().unwrap().drain(..) {
        assert!(request.contains(&format!("\r\ntraceparent: {parent}\r\n")), "{request}");
        assert!(request.contains("\r\ntracestate: acme=1\r\n"), "{request}");
        assert!(!request.contains("authorization"), "{request}");
    }

    // What the policy says of itself stays.
    let own = ", \"headers\": {\"traceparent\": \"own\", \"authorization\": \"Basic x\"}";
    let (_, error) = evaluated(spans, &send("to", own), &options);
    assert!(error.is_none(), "{error:?}");
    let request = asked.lock().unwrap().pop().unwrap();
    assert!(request.contains("\r\ntraceparent: own\r\n"), "{request}");
    assert!(request.contains("\r\nauthorization: Basic x\r\n"), "{request}");

    // A refusal, a request that takes too long, a port that nothing listens to.
    told.0.lock().unwrap().clear();
    let (below, _) = evaluated(spans, &send("bad", ""), &options);
    let attempt = below.iter().find(|(path, _)| path.ends_with("/attempt")).unwrap();
    assert_eq!(attempt.1.fields["error.type"], "503");
    let (below, error) = evaluated(spans, &send("late", ", \"timeout\": \"20ms\""), &options);
    assert_eq!(error.unwrap().kind(), ErrorKind::TimedOut);
    let attempt = below.iter().find(|(path, _)| path.ends_with("/attempt")).unwrap();
    assert_eq!(attempt.1.fields["error.type"], ErrorKind::TimedOut.code());
    assert!(!attempt.1.fields.contains_key("http.response.status_code"));
    let requests: Vec<String> =
        told.lines().into_iter().filter(|line| !line.starts_with("evaluation")).collect();
    let timed_out = ErrorKind::TimedOut.code();
    assert_eq!(
        requests,
        [
            "request GET None Some(\"503\")".to_owned(),
            "call http.send 1 None".to_owned(),
            format!("request GET None Some({timed_out:?})"),
            "call http.send 1 Some(TimedOut)".to_owned(),
        ]
    );

    // What may not be asked isn't.
    told.0.lock().unwrap().clear();
    let (below, error) =
        evaluated(spans, "http.send({\"method\": \"get\", \"url\": \"http://a.test/\"})", &options);
    assert_eq!(error.unwrap().kind(), ErrorKind::Configuration);
    assert!(below.iter().all(|(path, _)| !path.ends_with("/attempt")), "{below:?}");
    assert_eq!(told.lines()[0], "call http.send 0 Some(Configuration)");
}

/// The compiler's stages are in the logs in order, and each says what it found.
#[test]
fn each_stage_of_the_compiler_has_a_span_and_an_event() {
    let spans = Spans::process();
    let host = tracing::info_span!("host");
    let id = host.id().unwrap().into_u64();
    let _policies = host.in_scope(policies);
    let stages: Vec<Seen> = spans
        .below(id)
        .into_iter()
        .filter(|(path, _)| path.ends_with("compile_stage"))
        .map(|(_, seen)| seen)
        .collect();
    assert!(stages.iter().all(|seen| seen.events == ["stage done"]), "{stages:?}");
    let names: Vec<&str> = stages.iter().map(|seen| &*seen.fields["stage"]).collect();
    assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len(), "{names:?}");
    assert_eq!(names.first(), Some(&"ResolveRefs"));
    assert_eq!(names.last(), Some(&"BuildComprehensionIndices"));
}

#[test]
fn lookups_of_policies_have_spans_and_events() {
    let spans = Spans::process();
    let told = Arc::new(ReportedEvents::default());
    let mut options = EvaluateOptions::new(Answers::Unavailable("none".to_owned()));
    let http = Http::builder()
        .allow_host("localhost".parse().unwrap())
        .allow_host("127.0.0.1".parse().unwrap());
    options.http = Some(http.build());
    options.observer = Some(told.clone());
    let (below, error) = evaluated(spans, "net.lookup_ip_addr(\"localhost\")", &options);
    assert!(error.is_none(), "{error:?}");
    let attempt = below.iter().find(|(path, _)| path == "evaluation/call/attempt").unwrap();
    for (name, value) in [
        ("dns.question.name", "localhost"),
        ("otel.name", "DNS localhost"),
        ("otel.kind", "client"),
    ] {
        assert_eq!(attempt.1.fields[name], value);
    }
    assert_eq!(told.lines()[..2], ["lookup localhost None", "call net.lookup_ip_addr 0 None"]);
    // An address isn't looked up.
    told.0.lock().unwrap().clear();
    let (below, error) = evaluated(spans, "net.lookup_ip_addr(\"127.0.0.1\")", &options);
    assert!(error.is_none(), "{error:?}");
    assert!(below.iter().all(|(path, _)| !path.ends_with("/attempt")), "{below:?}");
    assert!(told.lines().iter().all(|line| !line.starts_with("lookup")), "{:?}", told.lines());
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    Spans::process();
    let kind = |builder: PlatformBuilder| builder.build().unwrap_err().kind();
    for name in ["Authorization", "host", "content-length", "user-agent", "a b", ""] {
        let error = Platform::builder().header(name, "canary").build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{name}");
        assert!(!error.report().contains("canary"));
    }
    let split = Platform::builder().header("x-a", "b\r\nc: d");
    assert_eq!(kind(split), ErrorKind::Configuration);
    let client = reqwest::Client::builder();
    let _ = rego_platform::rustls::crypto::ring::default_provider().install_default();
    let client = client.build().unwrap();
    let both = Platform::builder().http_client(client).proxy("http://localhost:1");
    assert_eq!(kind(both), ErrorKind::Configuration);

    // Policies of another product, and a function that only one side enabled.
    let emulator = emulator();
    let other = builder(&emulator).product(Product::new("acme").unwrap()).build().unwrap();
    let policies = policies();
    let query = policies.query("data.p.x").unwrap();
    let options = other.options();
    let error = policies.evaluate(&query, None, &options).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert_eq!(emulator.requests().len(), 0);
}

/// A redirect that the host's client followed leads to an unchecked target.
#[test]
fn a_client_of_the_hosts_sends_the_requests_and_must_not_follow_redirects() {
    Spans::process();
    let _ = rego_platform::rustls::crypto::ring::default_provider().install_default();
    let emulator = emulator();
    let policies = policies();
    let query = policies.query("data.p.x").unwrap();
    let follows = reqwest::Client::builder().build().unwrap();
    let policy = reqwest::redirect::Policy::none();
    let client = reqwest::Client::builder().redirect(policy).user_agent("own/1").build().unwrap();

    let platform = builder(&emulator).http_client(client).build().unwrap();
    let options = platform.options();
    policies.evaluate(&query, None, &options).result.unwrap();

    let location = ("location".to_owned(), format!("{}/infoz", emulator.controlplane_url()));
    let kind = FaultKind::Status { status: 302, headers: vec![location], body: None };
    emulator.set_faults(vec![Fault::new(FaultTarget::Route(RouteKind::Discover), kind)]);
    let platform = builder(&emulator).http_client(follows).build().unwrap();
    let options = platform.options();
    let error = policies.evaluate(&query, None, &options).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{}", error.report());
}

/// A host's function that never answers ends with the evaluation, without a service too.
#[test]
fn a_host_function_that_never_answers_ends_at_the_deadline_and_when_cancelled() {
    Spans::process();
    let text = "package p\n\nx := acme.never(1)\n";
    let policies = Policies::builder()
        .async_function("acme.never", 1, |_| std::future::pending())
        .load(&Sources::text("p.rego", text))
        .unwrap();
    let query = policies.query("data.p.x").unwrap();
    let mut options = EvaluateOptions::new(Answers::Unavailable("there is no service".to_owned()));
    options.budget.timeout = Duration::from_millis(50);
    let error = policies.evaluate(&query, None, &options).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);

    options.budget.timeout = Duration::from_mins(10);
    let cancellation = Cancellation::new();
    options.cancellation = Some(cancellation.clone());
    let error = std::thread::scope(|scope| {
        let evaluating = scope.spawn(|| policies.evaluate(&query, None, &options).result);
        cancellation.cancel();
        evaluating.join().unwrap().unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}
