//! The typed client against a service that lies and breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use proptest::prelude::*;
use rego_platform::api::*;
use rego_platform::builtins::FunctionSet;
use rego_platform::regorus::Value as Rego;
use rego_platform::{Error, ErrorKind, Platform, Token};
use serde_json::{Value, json};

use crate::hostile::script::{http, ok, status};
use crate::hostile::server::{Request, Server, Step, runtime};

const TOKEN: &str = "canary-token-5d1e";

fn platform(server: &Server) -> Platform {
    Platform::builder()
        .controlplane_url(server.url())
        .base_url(server.url())
        .token(Token::new(TOKEN).unwrap())
        .proxy_from_env(false)
        .functions(FunctionSet::all())
        .first_pause(Duration::from_millis(1))
        .idle_timeout(Duration::from_millis(500))
        .call_timeout(Duration::from_secs(5))
        .build()
        .unwrap()
}

fn server(body: impl Into<String>) -> Server {
    let body = body.into();
    Server::start(move |_| ok(body.clone().into_bytes()))
}

fn blocking(server: &Server) -> BlockingApiClient {
    platform(server).api().blocking()
}

type Operation = (&'static str, fn(&BlockingApiClient) -> Result<(), Error>);

/// Every operation, with what it is asked for in the samples.
const OPERATIONS: &[Operation] = &[
    ("version", |api| api.product_version("p", "v").map(drop)),
    ("products", |api| api.products().collect::<Result<Vec<_>, _>>().map(drop)),
    ("results", |api| {
        api.projects(&ProjectFilters::new()).collect::<Result<Vec<_>, _>>().map(drop)
    }),
    ("environments", |api| {
        api.environments(&EnvironmentFilters::new()).collect::<Result<Vec<_>, _>>().map(drop)
    }),
    ("result", |api| api.approve("r", None).map(drop)),
    ("frameworks", |api| api.product_compliance(&ProductComplianceFilters::new("v")).map(drop)),
    ("infoz", |api| api.infoz().map(drop)),
    ("openapi", |api| api.openapi(rego_platform::Api::Backend).map(drop)),
];

#[test]
fn an_answer_without_its_envelope_is_a_protocol_error() {
    for (name, run) in OPERATIONS {
        for body in [
            "{}".to_owned(),
            "[]".to_owned(),
            "null".to_owned(),
            String::new(),
            "<html>".to_owned(),
            r#"{"code":5,"message":"not found","details":[]}"#.to_owned(),
            json!({ *name: null }).to_string(),
            json!({ *name: {} }).to_string(),
            json!({ *name: 7 }).to_string(),
            json!({ *name: [7] }).to_string(),
            json!({ *name: [[]] }).to_string(),
        ] {
            let server = server(body.clone());
            let error = run(&blocking(&server)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{name}: {body}: {error}");
        }
    }
}

#[test]
fn statuses_decide_the_kind_whatever_the_body_says() {
    let refusal = r#"{"code":7,"message":"why it is","details":[]}"#;
    for (code, kind) in [
        (400, ErrorKind::InvalidArgument),
        (401, ErrorKind::Unauthenticated),
        (403, ErrorKind::PermissionDenied),
        (404, ErrorKind::NotFound),
        (429, ErrorKind::RateLimited),
        (500, ErrorKind::Unavailable),
        (501, ErrorKind::Unavailable),
        (418, ErrorKind::Protocol),
    ] {
        for (name, run) in OPERATIONS {
            for body in [refusal, "", "{}", "<html>"] {
                let server = Server::start(move |_| status(code, &[], body));
                let error = run(&blocking(&server)).unwrap_err();
                assert_eq!(error.kind(), kind, "{name}: {code}");
                assert_eq!(error.to_string().contains("why it is"), body == refusal, "{error}");
                assert!(!format!("{error:?}").contains(TOKEN));
                let again = *name != "result" && [429, 500].contains(&code);
                assert_eq!(server.requests().len(), if again { 5 } else { 1 }, "{name}: {code}");
            }
        }
    }
}

/// Nobody can tell whether it was approved: it must not be asked for again.
#[test]
fn an_approval_is_sent_once_whatever_becomes_of_its_answer() {
    let broken: Vec<(&str, Vec<Step>)> = vec![
        ("reset", vec![Step::Reset]),
        ("closed", vec![]),
        ("silence", vec![Step::Pause(Duration::from_secs(2))]),
        ("half a head", vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()), Step::Reset]),
        (
            "half a body",
            vec![
                Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"result\":".to_vec()),
                Step::Reset,
            ],
        ),
        ("cut JSON", vec![Step::Send(http(200, &[], br#"{"result":{"id":"#))]),
        ("busy", status(503, &[("retry-after", "0")], "")),
        ("too many", status(429, &[("retry-after", "0")], "")),
        ("timeout", status(408, &[], "")),
        ("moved", status(307, &[("location", "/elsewhere")], "")),
        ("nothing", ok(b"{}".to_vec())),
        ("nobody", ok(br#"{"result":{}}"#.to_vec())),
    ];
    for (name, steps) in broken {
        let server = Server::start(move |_| steps.clone());
        let error = blocking(&server).approve("r/../1", Some("fine")).unwrap_err();
        let requests = server.requests();
        assert_eq!(requests.len(), 1, "{name}");
        assert_eq!(
            requests[0].line(),
            "POST /v1/assessments/revisions/r%2F..%2F1/approve HTTP/1.1"
        );
        let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
        assert_eq!(body, json!({"review_note": "fine"}));
        let lost = !["too many", "moved"].contains(&name);
        let hint = error.hint().unwrap_or_default().to_owned();
        assert_eq!(hint.contains("may be approved all the same"), lost, "{name}: {error}: {hint}");
    }
}

/// Gives another token each time.
struct Fresh(AtomicUsize);

impl rego_platform::TokenProvider for Fresh {
    fn token(&self) -> rego_platform::TokenFuture<'_> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Token::new(format!("token-{number}")) })
    }
}

#[test]
fn an_approval_that_never_left_is_tried_again_and_a_refused_token_is_not() {
    let closed = Server::start(|_| vec![]).address;
    let platform = Platform::builder()
        .base_url(format!("http://{closed}"))
        .token(Token::new(TOKEN).unwrap())
        .first_pause(Duration::from_millis(1))
        .build()
        .unwrap();
    let error = platform.api().blocking().approve("r", None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);

    let server = Server::start(|_| status(401, &[], ""));
    let platform = Platform::builder()
        .base_url(server.url())
        .token_provider(Fresh(AtomicUsize::new(0)))
        .build()
        .unwrap();
    platform.api().blocking().approve("r", None).unwrap_err();
    assert_eq!(server.requests().len(), 1);
    platform.api().blocking().product_version("p", "v").unwrap_err();
    assert_eq!(server.requests().len(), 3);
}

/// A list of `total` environments, in pages of at most `size`, by offset or cursor.
fn paged(total: usize, size: usize, cursors: bool, announced: bool) -> Server {
    Server::start(move |request| {
        let number = |key| request.query(key).pop().map_or(0, |v| v.parse::<usize>().unwrap());
        let at = number(if cursors { "pagination.cursor" } else { "pagination.page" });
        let until = total.min(at + size);
        let rows: Vec<Value> = (at..until).map(|n| json!({"id": n.to_string()})).collect();
        let mut pagination = json!({"page": at, "page_size": size});
        if cursors {
            let next = if until < total { until.to_string() } else { String::new() };
            pagination = json!({ "next_cursor": next });
        } else if announced {
            pagination["total_count"] = json!(total);
        }
        ok(json!({"environments": rows, "pagination": pagination}).to_string().into_bytes())
    })
}

fn ids(rows: Vec<Environment>) -> Vec<String> {
    rows.into_iter().map(|row| row.id.unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_style_of_pages_gives_every_row_once(
        total in 0_usize..12, size in 1_usize..6, cursors: bool, announced: bool,
    ) {
        let server = paged(total, size, cursors, announced);
        let platform = platform(&server);
        let expected: Vec<String> = (0..total).map(|n| n.to_string()).collect();
        let filters = EnvironmentFilters::new();
        let rows = platform.api().blocking().environments(&filters).collect::<Result<Vec<_>, _>>();
        prop_assert_eq!(ids(rows.unwrap()), expected.clone());
        let stream = platform.api().environments(&filters);
        let rows = runtime().block_on(stream.try_collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(ids(rows), expected.clone());
        // What a policy sees is the same list.
        let answer = platform.call("environments", &[Rego::new_object()]).unwrap();
        let answer = serde_json::to_value(answer).unwrap();
        let rows = answer["environments"].as_array().unwrap();
        prop_assert_eq!(rows.iter().map(|r| r["id"].as_str().unwrap()).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn pages_are_asked_for_as_they_are_needed_and_errors_end_the_list() {
    let server = paged(100, 2, false, true);
    let api = blocking(&server);
    let mut rows = api.environments(&EnvironmentFilters::new());
    assert_eq!(server.requests().len(), 0);
    assert_eq!(rows.next().unwrap().unwrap().id.as_deref(), Some("0"));
    assert_eq!(rows.next().unwrap().unwrap().id.as_deref(), Some("1"));
    assert_eq!(server.requests().len(), 1);
    drop(rows);

    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let server = Server::start(move |_| match seen.fetch_add(1, Ordering::SeqCst) {
        0 => ok(br#"{"products":[{"id":"a"}],"pagination":{"total_count":2}}"#.to_vec()),
        _ => status(404, &[], ""),
    });
    let mut products = blocking(&server).products();
    assert!(products.next().unwrap().is_ok());
    // A list that has begun can't be unknown.
    assert_eq!(products.next().unwrap().unwrap_err().kind(), ErrorKind::Protocol);
    assert!(products.next().is_none());
}

#[test]
fn rows_that_come_twice_and_totals_that_do_not_hold_are_refused() {
    let same = Server::start(|_| ok(br#"{"results":[{"id":"a"}],"pagination":{}}"#.to_vec()));
    let rows = |server: &Server| {
        let projects = blocking(server).projects(&ProjectFilters::new());
        projects.collect::<Result<Vec<_>, _>>().map(drop).map_err(|e| e.kind())
    };
    assert_eq!(rows(&same), Err(ErrorKind::Protocol));
    let more = server(r#"{"results":[{"id":"a"}],"pagination":{"total_count":0}}"#);
    assert_eq!(rows(&more), Err(ErrorKind::Protocol));
    let less = Server::start(|request: &Request| {
        let rows = if request.target().contains("page=0") { r#"{"id":"a"}"# } else { "" };
        let body = format!(r#"{{"results":[{rows}],"pagination":{{"totalCount":3}}}}"#);
        ok(body.into_bytes())
    });
    assert_eq!(rows(&less), Err(ErrorKind::Protocol));
}

#[test]
fn what_was_not_asked_for_is_refused() {
    for version in [
        json!({"id": "w", "product_id": "p"}),
        json!({"product_id": "p"}),
        json!({"id": ""}),
        json!({"id": "v", "productId": "q"}),
    ] {
        let server = server(json!({ "version": version }).to_string());
        let error = blocking(&server).product_version("p", "v").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{version}");
        let arguments = [Rego::from("p"), Rego::from("v")];
        let error = platform(&server).call("product_version", &arguments).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{version}");
    }
    let server = server(r#"{"version":{"id":"V"}}"#);
    assert!(blocking(&server).product_version("p", "v").is_ok());
}

#[test]
fn nothing_is_sent_with_empty_filters_or_impossible_identifiers() {
    let server = server("{}");
    let api = blocking(&server);
    let empty = || String::new();
    let errors: Vec<Error> = vec![
        api.projects(&ProjectFilters::new().project_name("")).next().unwrap().unwrap_err(),
        api.projects(&ProjectFilters::new().product_id("")).next().unwrap().unwrap_err(),
        api.projects(&ProjectFilters::new().description("")).next().unwrap().unwrap_err(),
        api.environments(&EnvironmentFilters::new().query("")).next().unwrap().unwrap_err(),
        api.environments(&EnvironmentFilters::new().query("a\nb")).next().unwrap().unwrap_err(),
        api.product_compliance(&ProductComplianceFilters::new("")).unwrap_err(),
        api.product_compliance(&ProductComplianceFilters::new("v").framework_ids([empty()]))
            .unwrap_err(),
        api.product_compliance(
            &ProductComplianceFilters::new("v").framework_ids(Vec::<String>::new()),
        )
        .unwrap_err(),
        api.product_version("", "v").unwrap_err(),
        api.product_version("p", "..").unwrap_err(),
        api.approve("%2e", None).unwrap_err(),
        api.approve("r", Some(" ")).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn public_operations_carry_no_token() {
    let server = Server::start(|request| match request.path() {
        "/infoz" => ok(br#"{"version":"1"}"#.to_vec()),
        _ => ok(b"openapi: 3.0.3\n".to_vec()),
    });
    let api = blocking(&server);
    api.infoz().unwrap();
    assert_eq!(api.openapi(rego_platform::Api::Backend).unwrap(), "openapi: 3.0.3\n");
    api.openapi(rego_platform::Api::ControlPlane).unwrap();
    assert!(server.requests().iter().all(|r| r.header("authorization").is_none()));
    assert_eq!(server.requests()[0].header("accept"), Some("application/json"));
    assert!(server.requests()[1].header("accept").unwrap().starts_with("application/yaml"));
}

/// Every place in a value, as a JSON pointer.
fn places(value: &Value, here: &str, out: &mut Vec<String>) {
    let mut inner = |name: &str, value: &Value| places(value, &format!("{here}/{name}"), out);
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| inner(&at.to_string(), item));
        }
        Value::Object(fields) => fields.iter().for_each(|(name, field)| inner(name, field)),
        _ => {}
    }
    out.push(here.to_owned());
}

#[test]
fn a_wrong_shape_anywhere_is_a_protocol_error_to_hosts_and_policies_alike() {
    let right = json!({"frameworks": [super::samples::framework_compliance()]});
    let mut all = Vec::new();
    places(&right, "", &mut all);
    let body = Arc::new(std::sync::Mutex::new(Vec::new()));
    let served = Arc::clone(&body);
    let server = Server::start(move |_| ok(served.lock().unwrap().clone()));
    let platform = platform(&server);
    let filters = ProductComplianceFilters::new("v");
    let argument = Rego::from_json_str(r#"{"product_version_id": "v"}"#).unwrap();
    let (mut refused, mut read) = (0, 0);
    for (index, place) in all.iter().enumerate() {
        let wrongs =
            [json!(null), json!(-1.5), json!("x"), json!([[]]), json!({"a": {}}), json!(true)];
        // One at each place, two at some.
        for wrong in [&wrongs[index % wrongs.len()], &wrongs[index / 7 % wrongs.len()]] {
            let mut bad = right.clone();
            *bad.pointer_mut(place).unwrap() = wrong.clone();
            *body.lock().unwrap() = bad.to_string().into_bytes();
            let typed = platform.api().blocking().product_compliance(&filters);
            let seen = platform.call("product_compliance", std::slice::from_ref(&argument));
            for error in [typed.as_ref().err(), seen.as_ref().err()].into_iter().flatten() {
                assert_eq!(error.kind(), ErrorKind::Protocol, "{place} = {wrong}");
            }
            // A policy reads null in a list as the default; a host is told.
            assert!(typed.is_err() || seen.is_ok(), "{place} = {wrong}: {seen:?}");
            if typed.is_ok() { read += 1 } else { refused += 1 }
        }
    }
    assert!(refused > 300 && read > 50, "{refused} refused, {read} read");
}
