//! Each kind of failure, the retries, and "not found" as undefined.

use std::time::{Duration, Instant};

use rego_platform::ErrorKind::{self, *};
use rego_platform::NotFound as Mode;
use rego_platform_emulator::EmulatorOptions;

use super::*;
use crate::emulator::{AMBIGUOUS, CLEAN_IMAGE, STORED_ONLY, THREAT_MODEL, start};
use crate::support::HANG;

/// Returns these calls over each transport that changes them.
fn everything() -> impl Iterator<Item = (Transport, (&'static str, Value))> {
    let calls = TRANSPORTS.into_iter().flat_map(|t| good_calls().map(|call| (t, call)));
    calls.filter(|(transport, (function, _))| match transport {
        Transport::Http => true,
        Transport::Grpc => ["discover", "download_artifact"].contains(function),
        Transport::Stream => *function == "download_artifact",
    })
}

/// Returns a call of each function that succeeds without faults.
fn good_calls() -> [(&'static str, Value); 5] {
    [
        ("discover", json!([CLEAN_IMAGE, ""])),
        ("evidence", json!([{"kind": ["SARIF"]}])),
        ("project_compliance", json!([{"project_version_id": FAILING}])),
        ("evidence_prompt", json!(["something without an answer", "check"])),
        ("download_artifact", json!([THREAT_MODEL])),
    ]
}

#[test]
fn a_refused_caller_learns_why() {
    let emulator = start(EmulatorOptions::default());
    for (transport, (function, arguments)) in everything() {
        transport.misbehave(&emulator, &[]);
        let free = client_over(transport, &emulator, "free").build().unwrap();
        let error = ask(&free, function, &arguments).unwrap_err();
        // The image belongs to another organization; every other function needs a paid plan.
        if function == "discover" {
            assert_eq!(error.kind(), NotFound);
        } else {
            assert_eq!(error.kind(), PermissionDenied, "{function}");
            assert!(error.hint().unwrap().contains("paid plan"), "{:?}", error.hint());
        }
        let unknown = client_over(transport, &emulator, "ci");
        let unknown = unknown.token(Token::new("unknown-token").unwrap());
        let error = ask(&unknown.build().unwrap(), function, &arguments).unwrap_err();
        assert_eq!(error.kind(), Unauthenticated, "{function}");
        emulator.clear_requests();
        let expired = client_over(transport, &emulator, "expired").build().unwrap();
        let error = ask(&expired, function, &arguments).unwrap_err();
        assert_eq!(error.kind(), Unauthenticated);
        assert!(error.to_string().contains("expired") && error.to_string().ends_with("ago"));
        assert!(error.hint().unwrap().contains("log in again"));
        let without_token = Platform::builder()
            .controlplane_url(emulator.controlplane_url())
            .base_url(emulator.base_url());
        let error = ask(&without_token.build().unwrap(), function, &arguments).unwrap_err();
        assert_eq!(error.kind(), Unauthenticated);
        let hint = error.hint().unwrap();
        assert!(hint.contains("`PLATFORM_TOKEN`") && hint.contains("`platform auth login`"));
        assert_eq!(emulator.requests().len(), 0, "sent without a token that works");
    }
}

#[test]
fn an_unknown_digest_is_not_found_and_an_ambiguous_one_names_its_kinds() {
    let emulator = start(EmulatorOptions::default());
    for transport in TRANSPORTS {
        transport.misbehave(&emulator, &[]);
        finds_nothing(&client_over(transport, &emulator, "ci").build().unwrap());
    }
}

fn finds_nothing(platform: &Platform) {
    let nothing = format!("sha256:{}", "0".repeat(64));
    let kind = |function, arguments: Value| ask(platform, function, &arguments).unwrap_err().kind();
    assert_eq!(kind("discover", json!([nothing, ""])), NotFound);
    assert_eq!(kind("download_artifact", json!([nothing])), NotFound);
    assert_eq!(kind("evidence_prompt", json!([nothing, "check"])), Protocol);
    assert_eq!(kind("download_artifact", json!([STORED_ONLY])), PermissionDenied);
    for none in [json!(""), json!(null)] {
        let error = ask(platform, "discover", &json!([AMBIGUOUS, none])).unwrap_err();
        assert_eq!(error.kind(), InvalidArgument);
        let text = error.to_string();
        assert!(text.contains("ARTIFACT") && text.contains("SBOM_CYCLONEDX_JSON"), "{text}");
        assert!(error.hint().unwrap().contains("second argument"));
    }
    assert!(ask(platform, "discover", &json!([AMBIGUOUS, "ARTIFACT"])).is_ok());
    assert_eq!(kind("discover", json!([AMBIGUOUS, "SARIF"])), NotFound);
}

#[test]
fn only_not_found_becomes_undefined_and_only_on_request() {
    let emulator = start(EmulatorOptions::default());
    let nothing = format!("sha256:{}", "0".repeat(64));
    for transport in TRANSPORTS {
        let evaluate = |not_found, digest: &str| {
            let platform =
                client_over(transport, &emulator, "ci").not_found(not_found).build().unwrap();
            let policy = format!(
                "package p\ndefault found := false\nfound if platform.discover(\"{digest}\", \"\")"
            );
            crate::support::value(&platform, &policy, "data.p.found")
        };
        assert_eq!(evaluate(Mode::Undefined, &nothing).unwrap(), Rego::from(false));
        assert_eq!(evaluate(Mode::Undefined, CLEAN_IMAGE).unwrap(), Rego::from(true));
        assert_eq!(evaluate(Mode::Error, &nothing).unwrap_err().kind(), NotFound);
        for (fault, kind) in [
            ("discover:status=500", Unavailable),
            ("discover:status=403", PermissionDenied),
            ("discover:status=400", InvalidArgument),
            ("discover:status=200:body={}", Protocol),
        ] {
            misbehave(&emulator, &[fault]);
            assert_eq!(evaluate(Mode::Undefined, CLEAN_IMAGE).unwrap_err().kind(), kind, "{fault}");
        }
        misbehave(&emulator, &[]);
        assert_eq!(evaluate(Mode::Undefined, AMBIGUOUS).unwrap_err().kind(), InvalidArgument);
        // A literal that can't be valid is refused before anything is evaluated.
        assert_eq!(evaluate(Mode::Undefined, "nonsense").unwrap_err().kind(), Policy);
    }
}

#[test]
fn safe_calls_are_tried_again_and_prompts_are_not() {
    let emulator = start(EmulatorOptions::default());
    let platform = client(&emulator);
    let routes = [
        (Transport::Http, "discover", "discover", "/discover/"),
        (Transport::Http, "evidence", "evidence", "/v1/evidence"),
        (Transport::Http, "project_compliance", "compliance", "/v1/compliance"),
        (Transport::Http, "download_artifact", "download", "/download/"),
        (Transport::Http, "download_artifact", "store", ""),
        (Transport::Http, "evidence_prompt", "operations", "/v1/operations/"),
        (Transport::Grpc, "discover", "discover", "/controlplane.v1.ReferrerService/"),
        (Transport::Grpc, "download_artifact", "download", "/controlplane.v1.CASRedirectService/"),
        (Transport::Grpc, "download_artifact", "store", ""),
        (
            Transport::Stream,
            "download_artifact",
            "download",
            "/controlplane.v1.CASCredentialsService/",
        ),
        (Transport::Stream, "download_artifact", "store", ""),
    ];
    for (transport, function, route, path) in routes {
        // Each time another: a client knows once that there are no signed URLs.
        let platform = || client_over(transport, &emulator, "ci").build().unwrap();
        let (_, arguments) = good_calls().into_iter().find(|(f, _)| *f == function).unwrap();
        for what in [
            "status=503",
            "status=429:retry-after=0",
            "status=408",
            "status=500",
            "status=502",
            "cut=10",
            "reset",
        ] {
            transport.misbehave(&emulator, &[&format!("{route}:{what}:count=2")]);
            let answer = ask(&platform(), function, &arguments);
            answer.unwrap_or_else(|e| panic!("{route} {what}: {}", e.report()));
        }
        for (what, kind, requests) in [
            ("status=501", Unavailable, 1),
            ("status=503", Unavailable, 5),
            ("status=429:retry-after=0", RateLimited, 5),
            ("status=403", PermissionDenied, 1),
            ("reset", Unavailable, 5),
        ] {
            transport.misbehave(&emulator, &[&format!("{route}:{what}")]);
            let error = ask(&platform(), function, &arguments).unwrap_err();
            let (kind, requests) = match (route, what) {
                ("store", "status=403") => (Unavailable, 2),
                _ => (kind, requests),
            };
            assert_eq!(error.kind(), kind, "{route} {what}: {}", error.report());
            let is_store = |r: &&rego_platform_emulator::RequestRecord| {
                r.api == rego_platform_emulator::Address::Store
            };
            let sent = emulator.requests();
            let sent = sent.iter().filter(|r| {
                if route == "store" {
                    is_store(r)
                } else {
                    !is_store(r) && r.path().starts_with(path)
                }
            });
            assert_eq!(sent.count(), requests, "{route} {what}");
        }
    }
    for what in
        ["status=503", "status=429:retry-after=0", "status=408", "status=401", "cut=10", "reset"]
    {
        misbehave(&emulator, &[&format!("prompt:{what}:count=1")]);
        ask(&platform, "evidence_prompt", &json!(["x", "check"])).unwrap_err();
        assert_eq!(paths(&emulator), ["POST /v1/agents/evaluate-evidence"], "{what}");
    }
}

#[test]
fn each_failure_has_its_kind() {
    for transport in TRANSPORTS {
        fails_in_its_kind(transport);
    }
}

fn fails_in_its_kind(transport: Transport) {
    let emulator = start(EmulatorOptions::default());
    let client_as = |emulator: &_, token: &str| client_over(transport, emulator, token);
    let impatient =
        client_as(&emulator, "ci").idle_timeout(Duration::from_millis(200)).build().unwrap();
    let small =
        client_as(&emulator, "ci").max_artifact_bytes(100).max_answer_bytes(100).build().unwrap();
    let few = client_as(&emulator, "ci").max_results(5).build().unwrap();
    let platform = client_as(&emulator, "ci").build().unwrap();
    let fails = |platform: &Platform, fault: &str, function: &str, arguments: Value| -> ErrorKind {
        let faults: Vec<&str> = if fault.is_empty() { vec![] } else { vec![fault] };
        transport.misbehave(&emulator, &faults);
        ask(platform, function, &arguments).unwrap_err().kind()
    };
    let image = || json!([CLEAN_IMAGE, ""]);
    let model = || json!([THREAT_MODEL]);
    assert_eq!(fails(&platform, "store:wrong-bytes", "download_artifact", model()), Tampered);
    assert_eq!(fails(&impatient, "discover:latency=2s", "discover", image()), TimedOut);
    assert_eq!(fails(&impatient, "store:stall=5", "download_artifact", model()), TimedOut);
    assert_eq!(fails(&small, "", "download_artifact", model()), TooLarge);
    // A message has a bound of its own.
    if transport == Transport::Http {
        assert_eq!(fails(&small, "", "discover", image()), TooLarge);
    }
    assert_eq!(fails(&few, "", "evidence", json!([{}])), TooLarge);
    assert_eq!(fails(&few, "", "discover", image()), TooLarge);
    assert_eq!(fails(&platform, "evidence:status=200:body={}", "evidence", json!([{}])), Protocol);
    assert_eq!(
        fails(&platform, "", "evidence_prompt", json!(["x", "please fail"])),
        OperationFailed
    );
    assert_eq!(
        fails(&platform, "", "evidence_prompt", json!(["x", "please cancel"])),
        OperationFailed
    );
    assert_eq!(fails(&platform, "", "evidence_prompt", json!(["x", "please babble"])), Protocol);
    let hasty =
        client_as(&emulator, "ci").call_timeout(Duration::from_millis(400)).build().unwrap();
    assert_eq!(
        fails(&hasty, "", "evidence_prompt", json!(["x", "please take your time"])),
        TimedOut
    );
    drop(emulator);
    let error = ask(&platform, "discover", &image()).unwrap_err();
    assert_eq!(error.kind(), Unavailable);
    assert!(error.hint().unwrap().contains("address"));
}

#[test]
fn the_service_sets_the_pause_before_a_retry() {
    let emulator = start(EmulatorOptions::default());
    for transport in TRANSPORTS {
        let platform = client_over(transport, &emulator, "ci").build().unwrap();
        misbehave(&emulator, &["discover:status=429:retry-after=1:count=1"]);
        let started = Instant::now();
        ask(&platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap();
        assert!(started.elapsed() >= Duration::from_secs(1));
        // Longer than the remaining time: the refusal itself is the answer, at once.
        misbehave(&emulator, &["discover:status=429:retry-after=3600"]);
        let started = Instant::now();
        let error = ask(&platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap_err();
        assert_eq!(error.kind(), RateLimited);
        assert!(started.elapsed() < HANG);
        assert_eq!(emulator.requests().len(), 1);
    }
}

#[test]
fn an_expired_link_to_the_store_is_fetched_anew_once() {
    let emulator = start(EmulatorOptions { ticket_lifetime: Duration::ZERO, ..Default::default() });
    // A service without signed URLs is asked for one once.
    for (transport, requests) in TRANSPORTS.into_iter().zip([4, 4, 5]) {
        transport.misbehave(&emulator, &[]);
        let platform = client_over(transport, &emulator, "ci").build().unwrap();
        let error = ask(&platform, "download_artifact", &json!([THREAT_MODEL])).unwrap_err();
        assert_eq!(error.kind(), Unavailable);
        assert_eq!(emulator.requests().len(), requests, "{:?}", paths(&emulator));
    }
}

#[test]
fn a_call_that_works_again_is_sent_again() {
    let emulator = start(EmulatorOptions::default());
    for (transport, (function, arguments)) in everything() {
        let platform = client_over(transport, &emulator, "ci").retries(0).build().unwrap();
        transport.misbehave(&emulator, &["*:reset"]);
        assert_eq!(ask(&platform, function, &arguments).unwrap_err().kind(), Unavailable);
        transport.misbehave(&emulator, &[]);
        ask(&platform, function, &arguments).unwrap();
    }
}

/// What the message says before the text doesn't matter, what comes after it does.
#[test]
fn a_token_that_was_revoked_is_refused_at_once() {
    let emulator = start(EmulatorOptions::default());
    for transport in TRANSPORTS {
        let platform = client_over(transport, &emulator, "ci").build().unwrap();
        for (text, kind, requests) in [
            ("error setting current org and user: API token revoked", Unauthenticated, 1),
            ("token not found", Unauthenticated, 1),
            ("finding token: token not found: failed to connect", Unavailable, 5),
        ] {
            let body = json!({ "code": 500, "message": text }).to_string();
            let body = if transport == Transport::Http { &body } else { text };
            misbehave(&emulator, &[&format!("discover:status=500:body={body}")]);
            let error = ask(&platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap_err();
            assert_eq!(error.kind(), kind, "{transport:?}: {}", error.report());
            assert!(error.to_string().ends_with(text), "{error}");
            assert_eq!(emulator.requests().len(), requests, "{transport:?}: {text}");
            let log_in = error.hint().is_some_and(|hint| hint.contains("log in again"));
            assert_eq!(log_in, kind == Unauthenticated);
        }
    }
}

/// `GET /download` of the present service refuses them all.
#[test]
fn an_api_token_that_may_not_download_over_http_asks_by_grpc_web() {
    let emulator = start(EmulatorOptions::default());
    let method = "/controlplane.v1.CASRedirectService/GetDownloadURL";
    let get = format!("GET /download/{THREAT_MODEL}");
    let content = format!("GET /content/{THREAT_MODEL}");
    let platform = client(&emulator);
    misbehave(&emulator, &["/download/:status=403"]);
    ask(&platform, "download_artifact", &json!([THREAT_MODEL])).unwrap();
    assert_eq!(paths(&emulator), [get.clone(), format!("POST {method}"), content]);
    // Where that doesn't give a URL, the refusal stands.
    misbehave(&emulator, &["/download/:status=403", &format!("{method}:status=404")]);
    let error = ask(&platform, "download_artifact", &json!([THREAT_MODEL])).unwrap_err();
    assert_eq!(error.kind(), PermissionDenied);
    assert!(error.to_string().contains("(403): injected fault"), "{error}");
    let user = client_as(&emulator, "user").build().unwrap();
    misbehave(&emulator, &["/download/:status=403"]);
    let error = ask(&user, "download_artifact", &json!([THREAT_MODEL])).unwrap_err();
    assert_eq!(error.kind(), PermissionDenied);
    assert_eq!(paths(&emulator), [get]);
}
