//! The typed client against a service that lies and breaks; approvals and pages have their own
//! files.

use std::sync::Arc;
use std::time::Duration;

use rego_platform::Value as Rego;
use rego_platform::api::*;
use rego_platform::functions::FunctionSet;
use rego_platform::{Error, ErrorKind, Platform, Token};
use serde_json::{Value, json};

use crate::hostile::script::{ok, status};
use crate::hostile::server::Server;

pub const TOKEN: &str = "canary-token-5d1e";

pub fn platform(server: &Server) -> Platform {
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

pub fn server(body: impl Into<String>) -> Server {
    let body = body.into();
    Server::start(move |_| ok(body.clone().into_bytes()))
}

pub fn blocking(server: &Server) -> BlockingApiClient {
    platform(server).api().blocking()
}

type Operation = (&'static str, fn(&BlockingApiClient) -> Result<(), Error>);

/// Every operation, with the arguments of the samples.
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
fn the_status_decides_the_kind_whatever_the_body() {
    let refusal = r#"{"code":7,"message":"why it is","details":[]}"#;
    for (code, kind) in [
        (400, ErrorKind::InvalidArgument),
        (401, ErrorKind::Unauthenticated),
        (403, ErrorKind::PermissionDenied),
        (404, ErrorKind::Protocol),
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

#[test]
fn an_answer_about_something_else_is_refused() {
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

/// Every position in a value, as a JSON pointer.
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
    let filters = ProductComplianceFilters::new("v-1");
    let argument = Rego::from_json(r#"{"product_version_id": "v-1"}"#).unwrap();
    let (mut refused, mut read) = (0, 0);
    for (index, place) in all.iter().enumerate() {
        let wrongs =
            [json!(null), json!(-1.5), json!("x"), json!([[]]), json!({"a": {}}), json!(true)];
        // One at each position, two at some.
        for wrong in [&wrongs[index % wrongs.len()], &wrongs[index / 7 % wrongs.len()]] {
            let mut bad = right.clone();
            *bad.pointer_mut(place).unwrap() = wrong.clone();
            *body.lock().unwrap() = bad.to_string().into_bytes();
            let typed = platform.api().blocking().product_compliance(&filters);
            let seen = platform.call("product_compliance", std::slice::from_ref(&argument));
            for error in [typed.as_ref().err(), seen.as_ref().err()].into_iter().flatten() {
                assert_eq!(error.kind(), ErrorKind::Protocol, "{place} = {wrong}");
            }
            assert!(typed.is_err() || seen.is_ok(), "{place} = {wrong}: {seen:?}");
            if typed.is_ok() { read += 1 } else { refused += 1 }
        }
    }
    assert!(refused > 300 && read > 50, "{refused} refused, {read} read");
}
