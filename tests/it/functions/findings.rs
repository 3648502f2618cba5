//! `findings` and `effective_assessments`: two functions of newer services.

use std::sync::{Arc, Mutex};

use rego_platform::ErrorKind::{InvalidArgument, Protocol, Unavailable};
use rego_platform::functions::FunctionSet;
use rego_platform_emulator::EmulatorOptions;

use super::*;
use crate::emulator::start;
use crate::hostile::script::{ok, status};
use crate::hostile::server::Server;

/// The functions are off by default.
fn enabled(builder: PlatformBuilder) -> Platform {
    builder.functions(FunctionSet::all()).build().unwrap()
}

fn released() -> Value {
    json!({"project_name": "payments-api", "project_version_name": "v2.4.0"})
}

/// Returns a request with more members.
fn with(more: Value) -> Value {
    let mut request = released();
    let Value::Object(more) = more else { panic!("{more}") };
    request.as_object_mut().unwrap().extend(more);
    json!([request])
}

#[test]
fn findings_are_filtered_with_and_without_prefixes() {
    let emulator = start(EmulatorOptions { max_page_size: Some(1), ..Default::default() });
    let platform = enabled(client_as(&emulator, "ci"));
    let names = |more: Value| -> Vec<String> {
        let rows = ask(&platform, "findings", &with(more)).unwrap();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["external_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(json!({})), ["CVE-2026-1001", "CVE-2026-1002"]);
    for high in [
        json!({"severity": "HIGH"}),
        json!({"severity": "FINDING_SEVERITY_HIGH"}),
        json!({"severity": ["CRITICAL", "FINDING_SEVERITY_HIGH"], "status": "OPEN"}),
        json!({"finding_type": "VULNERABILITY", "status": ["FINDING_STATUS_OPEN"]}),
    ] {
        assert_eq!(names(high.clone()), ["CVE-2026-1001"], "{high}");
    }
    assert!(names(json!({"severity": "CRITICAL"})).is_empty());
    let rows = ask(&platform, "findings", &with(json!({"severity": "HIGH"}))).unwrap();
    let row = &rows[0];
    for (field, value) in [
        ("id", json!("1c7d9d2e-3f0a-5b6e-8a51-6a0f6c2b7d01")),
        ("severity", json!("FINDING_SEVERITY_HIGH")),
        ("package_purl", json!("pkg:cargo/hyper@0.14.27")),
        ("is_in_kev", json!(false)),
        ("first_seen_at", json!("2026-02-20T08:00:00Z")),
        ("project_name", json!("payments-api")),
        ("artifact_ids", json!(["5d1f0a77-7c8e-5a42-9b1d-1f7f0a7c8e01"])),
    ] {
        assert_eq!(row[field], value, "{field}");
    }
}

#[test]
fn assessments_are_those_of_what_was_looked_up() {
    let emulator = start(EmulatorOptions::default());
    let platform = enabled(client_as(&emulator, "ci"));
    let purl = "pkg:cargo/hyper@0.14.27";
    for more in [
        json!({"lookups": [{"external_id": "CVE-2026-1001"}, {"external_id": "CVE-0"}]}),
        json!({"finding_type": "VULNERABILITY", "lookups": [
            {"external_id": "CVE-2026-1001", "identity": purl}, {"external_id": "CVE-0"},
        ]}),
    ] {
        let answer = ask(&platform, "effective_assessments", &with(more)).unwrap();
        let rows = answer.as_array().unwrap();
        let of = |id: &str| rows.iter().find(|row| row["lookup"]["external_id"] == id).unwrap();
        assert_eq!(of("CVE-2026-1001")["effective_status"], "ASSESSMENT_STATUS_NOT_AFFECTED");
        assert_eq!(of("CVE-2026-1001")["assessments"].as_array().unwrap().len(), 1);
        assert_eq!(of("CVE-0")["effective_status"], "");
        assert_eq!(of("CVE-0")["assessments"], json!([]));
        assert_eq!(of("CVE-0")["lookup"]["identity"], "");
    }
    // It reads, so that a failure is retried although it is a POST.
    misbehave(&emulator, &["effective-assessments:status=503:count=1"]);
    let lookups = json!({"lookups": [{"external_id": "CVE-2026-1001"}]});
    ask(&platform, "effective_assessments", &with(lookups)).unwrap();
    let post = "POST /v1/assessments/list-effective";
    assert_eq!(paths(&emulator), [post, post]);
    let unknown = json!([{"project_name": "none", "lookups": [{"external_id": "x"}]}]);
    let error = ask(&platform, "effective_assessments", &unknown).unwrap_err();
    assert_eq!(error.kind(), Protocol);
    assert_eq!(error.hint(), Some("check the names in the arguments"));
}

#[test]
fn wrong_requests_are_refused_before_anything_is_sent() {
    let emulator = start(EmulatorOptions::default());
    let platform = enabled(client_as(&emulator, "ci"));
    for (function, request, says) in [
        ("findings", json!({}), "lacks the key `project_name`"),
        ("findings", json!({"project_name": "a"}), "lacks the key `project_version_name`"),
        ("findings", with(json!({"severity": ""}))[0].clone(), "`request.severity` is ``"),
        ("findings", with(json!({"severity": "high"}))[0].clone(), "expected a name"),
        ("findings", with(json!({"severity": []}))[0].clone(), "`request.severity` is empty"),
        ("findings", with(json!({"severity": 7}))[0].clone(), "expected an array"),
        ("findings", with(json!({"status": ["OPEN", ""]}))[0].clone(), "`request.status[1]` is"),
        ("findings", with(json!({"limit": 3}))[0].clone(), "unknown key `limit`"),
        ("effective_assessments", released(), "lacks the key `lookups`"),
        ("effective_assessments", with(json!({"lookups": []}))[0].clone(), "lookups` is empty"),
        ("effective_assessments", with(json!({"lookups": [{}]}))[0].clone(), "`external_id`"),
        (
            "effective_assessments",
            with(json!({"lookups": [{"external_id": "x", "purl": "y"}]}))[0].clone(),
            "unknown key `purl`",
        ),
    ] {
        let error = ask(&platform, function, &json!([request])).unwrap_err();
        assert_eq!(error.kind(), InvalidArgument, "{request}");
        assert!(error.report().contains(says), "{says}: {}", error.report());
    }
    assert_eq!(emulator.requests().len(), 0);
}

/// A result about something else would be taken for the finding's.
#[test]
fn a_result_is_about_what_was_asked_for() {
    let body = Arc::new(Mutex::new(Value::Null));
    let shared = Arc::clone(&body);
    let server = Server::start(move |_| match &*shared.lock().unwrap() {
        Value::Null => status(503, &[], ""),
        body => ok(body.to_string().into_bytes()),
    });
    let platform = enabled(crate::hostile::builder().base_url(server.url()));
    let lookups = with(json!({"lookups": [{"external_id": "CVE-1", "identity": "a"}]}));
    let row = |lookup: Value| json!({"results": [{"lookup": lookup, "effective_status": "S"}]});
    let own = row(json!({"externalId": "CVE-1", "identity": "a"}));
    for (function, request, answer, kind) in [
        ("effective_assessments", &lookups, own, None),
        ("effective_assessments", &lookups, json!({"results": []}), None),
        ("effective_assessments", &lookups, row(json!({"external_id": "CVE-2"})), Some(Protocol)),
        ("effective_assessments", &lookups, row(json!({"external_id": "CVE-1"})), Some(Protocol)),
        ("effective_assessments", &lookups, row(Value::Null), Some(Protocol)),
        ("effective_assessments", &lookups, json!({}), Some(Protocol)),
        ("effective_assessments", &lookups, Value::Null, Some(Unavailable)),
        (
            "findings",
            &with(json!({})),
            json!({"results": [{"project_name": "payments-api"}], "pagination": {"total_count": 1}}),
            None,
        ),
        ("findings", &with(json!({})), json!({"results": [{"project_name": "x"}]}), Some(Protocol)),
        ("findings", &with(json!({})), json!({}), Some(Protocol)),
    ] {
        *body.lock().unwrap() = answer.clone();
        let result = ask(&platform, function, request);
        assert_eq!(result.as_ref().err().map(Error::kind), kind, "{answer}: {result:?}");
    }
}
