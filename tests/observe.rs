//! Evaluations as a host sees them: spans with parents across threads, each end reported once, and
//! the host's headers and trace on requests to the service alone.
//!
//! A separate program, since its subscriber is the process's.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Waker};
use std::time::Duration;

use rego_platform::emulator::{
    Address, Dataset, Emulator, EmulatorOptions, Fault, FaultKind, FaultTarget, RouteKind,
};
use rego_platform::evaluate::sources::Sources;
use rego_platform::evaluate::{Answers, Cancellation, EvaluateOptions, Policies};
use rego_platform::{
    CallEvent, ErrorKind, EvaluationEvent, Observer, Platform, PlatformBuilder, Product,
    RequestEvent, Token, TraceParent, reqwest,
};
use tracing::Instrument as _;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context as Layered, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

const IMAGE: &str = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";

#[derive(Clone, Debug, Default)]
struct Seen {
    name: &'static str,
    parent: Option<u64>,
    fields: BTreeMap<&'static str, String>,
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
        let parent = context.span(id).and_then(|span| span.parent().map(|it| it.id().into_u64()));
        let name = attributes.metadata().name();
        let mut seen = Seen { name, parent, fields: BTreeMap::new() };
        attributes.record(&mut seen);
        self.0.lock().unwrap().insert(id.into_u64(), seen);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, _: Layered<'_, S>) {
        if let Some(seen) = self.0.lock().unwrap().get_mut(&id.into_u64()) {
            record.record(seen);
        }
    }
}

impl Spans {
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
    fn evaluation(&self, it: &EvaluationEvent<'_>) {
        let line = format!("evaluation {} {} {:?}", it.query, it.calls, it.error);
        self.0.lock().unwrap().push(line);
    }

    fn call(&self, it: &CallEvent<'_>) {
        let line = format!("call {} {} {:?}", it.function, it.requests, it.error);
        self.0.lock().unwrap().push(line);
    }

    fn request(&self, it: &RequestEvent<'_>) {
        let line = format!("request {} {:?} {:?}", it.method, it.template, it.error_type());
        self.0.lock().unwrap().push(line);
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
    let options = EvaluateOptions::new(Answers::Service(platform.clone()));
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
    let (emulator, policies) = (emulator(), policies());
    let told = Arc::new(ReportedEvents::default());
    let platform = builder(&emulator).observer(told.clone()).build().unwrap();
    let query = policies.query("data.p.x").unwrap();
    let options = EvaluateOptions::new(Answers::Service(platform.clone()));
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
    let mut options = EvaluateOptions::new(Answers::Service(platform));
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

#[test]
fn settings_that_contradict_each_other_are_refused() {
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

    // Policies of another product, and a function that only one side turned on.
    let emulator = emulator();
    let other = builder(&emulator).product(Product::new("acme").unwrap()).build().unwrap();
    let policies = policies();
    let query = policies.query("data.p.x").unwrap();
    let options = EvaluateOptions::new(Answers::Service(other));
    let error = policies.evaluate(&query, None, &options).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert_eq!(emulator.requests().len(), 0);
}

/// A redirect that the host's client followed leads to an unchecked target.
#[test]
fn a_client_of_the_hosts_sends_the_requests_and_must_not_follow_redirects() {
    let _ = rego_platform::rustls::crypto::ring::default_provider().install_default();
    let emulator = emulator();
    let policies = policies();
    let query = policies.query("data.p.x").unwrap();
    let follows = reqwest::Client::builder().build().unwrap();
    let policy = reqwest::redirect::Policy::none();
    let client = reqwest::Client::builder().redirect(policy).user_agent("own/1").build().unwrap();

    let platform = builder(&emulator).http_client(client).build().unwrap();
    let options = EvaluateOptions::new(Answers::Service(platform));
    policies.evaluate(&query, None, &options).result.unwrap();

    let location = ("location".to_owned(), format!("{}/infoz", emulator.controlplane_url()));
    let kind = FaultKind::Status { status: 302, headers: vec![location], body: None };
    emulator.set_faults(vec![Fault::new(FaultTarget::Route(RouteKind::Discover), kind)]);
    let platform = builder(&emulator).http_client(follows).build().unwrap();
    let options = EvaluateOptions::new(Answers::Service(platform));
    let error = policies.evaluate(&query, None, &options).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{}", error.report());
}

/// A host's function that never answers ends with the evaluation, without a service too.
#[test]
fn a_host_function_that_never_answers_ends_at_the_deadline_and_when_cancelled() {
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

    options.budget.timeout = Duration::from_secs(600);
    let cancellation = Cancellation::new();
    options.cancellation = Some(cancellation.clone());
    let error = std::thread::scope(|scope| {
        let evaluating = scope.spawn(|| policies.evaluate(&query, None, &options).result);
        cancellation.cancel();
        evaluating.join().unwrap().unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}
