//! The contents and destinations of requests: tokens, the organization, paths, queries, and the
//! number in flight.

use std::time::Duration;

use rego_platform::Product;
use rego_platform_emulator::{Address, EmulatorOptions};

use super::*;
use crate::emulator::{CLEAN_IMAGE, THREAT_MODEL, start};

#[test]
fn the_store_never_sees_a_token_and_the_service_always_does() {
    let emulator = start(EmulatorOptions::default());
    for (transport, address) in
        [(Transport::Http, Address::ControlPlane), (Transport::Grpc, Address::Grpc)]
    {
        emulator.clear_requests();
        let platform = client_over(transport, &emulator, "ci").build().unwrap();
        ask(&platform, "download_artifact", &json!([THREAT_MODEL])).unwrap();
        let sent = emulator.requests();
        let seen: Vec<_> = sent.iter().map(|r| (r.api, r.had_authorization)).collect();
        assert_eq!(seen, [(address, true), (Address::Store, false)]);
        let allowed = ["host", "accept", "user-agent"];
        let names = &sent[1].header_names;
        assert!(names.iter().all(|name| allowed.contains(&name.as_str())), "{names:?}");
    }
    // Over gRPC it gets its own token, which the emulator checks, and nothing of the host.
    Transport::Stream.misbehave(&emulator, &[]);
    let platform = client_over(Transport::Stream, &emulator, "user").organization("acme");
    let platform = platform.header("x-host", "secret").build().unwrap();
    ask(&platform, "download_artifact", &json!([THREAT_MODEL])).unwrap();
    let sent = emulator.requests();
    let seen: Vec<_> = sent.iter().map(|r| (r.api, r.organization.as_deref())).collect();
    let organization = Some("acme");
    assert_eq!(
        seen,
        [(Address::Grpc, organization), (Address::Grpc, organization), (Address::Store, None)]
    );
    let mut names = sent[2].header_names.clone();
    names.sort();
    let allowed = [
        "accept",
        "authorization",
        "content-length",
        "content-type",
        "grpc-timeout",
        "te",
        "user-agent",
    ];
    assert_eq!(names, allowed);
    misbehave(&emulator, &[]);
    client(&emulator).infoz().unwrap();
    assert!(!emulator.requests()[0].had_authorization);
}

#[test]
fn user_tokens_select_the_organization_and_api_tokens_do_not() {
    let emulator = start(EmulatorOptions::default());
    for (token, organization, sent) in [
        ("user", Some("globex"), Some("globex")),
        ("user", None, None),
        ("ci", Some("globex"), None),
    ] {
        let mut builder = client_as(&emulator, token);
        if let Some(name) = organization {
            builder = builder.organization(name);
        }
        emulator.clear_requests();
        let answer = ask(&builder.build().unwrap(), "evidence", &json!([{"limit": 1}])).unwrap();
        assert_eq!(emulator.requests()[0].organization.as_deref(), sent);
        emulator.clear_requests();
        let mut builder = client_over(Transport::Grpc, &emulator, token);
        if let Some(name) = organization {
            builder = builder.organization(name);
        }
        let _ = ask(&builder.build().unwrap(), "discover", &json!([CLEAN_IMAGE, ""]));
        assert_eq!(emulator.requests()[0].organization.as_deref(), sent);
        let expected = sent.unwrap_or("acme");
        assert_eq!(answer["results"][0]["organization_name"], expected);
    }
}

#[test]
fn an_answer_of_too_many_objects_is_an_error() {
    let emulator = start(EmulatorOptions::default());
    let many = vec!["[]"; 1_000_001].join(",");
    let body = format!(r#"evidence:status=200:body={{"results":[],"x":[{many}]}}"#);
    misbehave(&emulator, &[&body]);
    let error = ask(&client(&emulator), "evidence", &json!([{}])).unwrap_err();
    assert_eq!(error.kind(), rego_platform::ErrorKind::TooLarge, "{error}");
}

#[test]
fn another_product_has_its_own_names() {
    let product = Product::new("chainloop").unwrap();
    let options = EmulatorOptions { product: product.to_string(), ..Default::default() };
    let emulator = start(options);
    let platform = client_as(&emulator, "user")
        .product(product.clone())
        .organization("globex")
        .build()
        .unwrap();
    let policy = "package p\norganization := chainloop.evidence({\"limit\": 1}).results[0].organization_name";
    let value = crate::support::value(&platform, policy, "data.p.organization").unwrap();
    assert_eq!(value, Rego::from("globex"));
    assert!(emulator.requests()[0].header_names.contains(&"chainloop-organization".to_owned()));
    let error = ask(&platform, "discover", &json!(["x", ""])).unwrap_err();
    assert_eq!(error.function(), Some("chainloop.discover"));
    // Its API tokens are recognized by their audience, and don't select an organization.
    let api = client_as(&emulator, "ci").product(product).organization("globex").build().unwrap();
    emulator.clear_requests();
    ask(&api, "evidence", &json!([{"limit": 1}])).unwrap();
    assert_eq!(emulator.requests()[0].organization, None);
}

#[test]
fn paths_can_be_replaced_and_queries_are_what_they_must_be() {
    let emulator = start(EmulatorOptions::default());
    let platform = client_as(&emulator, "ci")
        .endpoint("discover", "/api/x/{digest}")
        .endpoint("evidence", "/api/evidence")
        .build()
        .unwrap();
    ask(&platform, "discover", &json!([CLEAN_IMAGE, "a b&c=d#e?é%2f+"])).unwrap_err();
    let awkward = "../?#%2f&kind=X 😀+=;\u{7f}é";
    let filters =
        json!([{"search": awkward.replace('\u{7f}', ""), "kind": ["B", "A", "B"], "latest": true}]);
    ask(&platform, "evidence", &filters).unwrap_err();
    let targets: Vec<String> = emulator.requests().iter().map(|r| r.target.clone()).collect();
    assert_eq!(
        targets[0],
        format!("/api/x/{CLEAN_IMAGE}?kind=a+b%26c%3Dd%23e%3F%C3%A9%252f%2B&pagination.limit=100")
    );
    assert_eq!(
        targets[1],
        "/api/evidence?kind=A&kind=B&search=..%2F%3F%23%252f%26kind%3DX+%F0%9F%98%80%2B%3D%3B%C3%A9&latest=true&pagination.limit=1000"
    );
}

#[test]
fn no_more_is_in_flight_than_allowed_answers_that_are_being_read_included() {
    let emulator = start(EmulatorOptions::default());
    for transport in TRANSPORTS {
        let platform = client_over(transport, &emulator, "ci").concurrency(3).build().unwrap();
        transport.misbehave(&emulator, &["*:latency=10ms"]);
        std::thread::scope(|scope| {
            for n in 0..24 {
                let platform = &platform;
                scope.spawn(move || match n % 3 {
                    0 => ask(platform, "discover", &json!([CLEAN_IMAGE, ""])).unwrap(),
                    1 => ask(platform, "download_artifact", &json!([THREAT_MODEL])).unwrap(),
                    _ => ask(platform, "evidence_prompt", &json!(["x", "check"])).unwrap(),
                });
            }
        });
        assert!(emulator.max_in_flight() <= 3, "{} in flight", emulator.max_in_flight());
        assert!(emulator.max_in_flight() >= 2, "no calls were sent together");
    }
}

#[test]
fn one_place_in_flight_is_enough_for_redirects_retries_and_polls() {
    let emulator = start(EmulatorOptions::default());
    for transport in TRANSPORTS {
        let platform = client_over(transport, &emulator, "ci")
            .concurrency(1)
            .call_timeout(Duration::from_secs(10))
            .build()
            .unwrap();
        let faults = ["store:status=503:count=1", "download:status=503:count=1"];
        transport.misbehave(&emulator, &faults);
        ask(&platform, "download_artifact", &json!([THREAT_MODEL])).unwrap();
        ask(&platform, "evidence_prompt", &json!(["x", "check"])).unwrap();
        assert_eq!(emulator.max_in_flight(), 1);
    }
}
