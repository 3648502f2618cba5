//! What a newer service may add (A5): every function's verdict is the same as without it.
//!
//! One policy asks all functions over one hostile server, whose answers have an addition at every
//! place of its kind.

use std::sync::{Arc, Mutex};

use rego_platform::Platform;
use rego_platform::functions::FunctionSet;
use serde_json::{Value, json};

use super::script;
use super::server::{Request, Server, Step};
use crate::support::value;

const DIGEST: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const VERSION: &str = "1a1a1a1a-0000-4000-8000-00000000000a";

/// The path of each request, its right answer, and the rows and objects in it.
fn answers() -> Vec<(String, Value, &'static [&'static str])> {
    let by_page = json!({"total_count": 2, "page": 0, "page_size": 2, "total_pages": 1});
    vec![
        (
            format!("/discover/{DIGEST}"),
            json!({"result": {
                "digest": DIGEST, "kind": "CONTAINER_IMAGE", "downloadable": true, "public": false,
                "createdAt": "2026-01-02T03:04:05Z", "metadata": {"name": "image"},
                "references": [
                    {"digest": DIGEST, "kind": "ATTESTATION", "metadata": {"hasPolicyViolations": "true"}},
                    {"digest": "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", "kind": "GIT_HEAD_COMMIT"},
                ],
            }, "pagination": {"nextCursor": ""}}),
            &["/result", "/result/references/0", "/result/references/1"],
        ),
        (
            "/v1/evidence".to_owned(),
            json!({"results": [
                {"id": "1", "name": "sbom", "kind": "SBOM_SPDX_JSON", "annotations": {"a": "b"}},
                {"id": "2", "name": "scan", "kind": "SARIF"},
            ], "pagination": {"next_cursor": ""}}),
            &["/results/0", "/results/1"],
        ),
        (
            "/v1/compliance/project".to_owned(),
            json!({"evaluations": [
                {"requirement_id": "1", "name": "signed", "status": "pass"},
                {"requirement_id": "2", "name": "scanned", "status": "fail"},
            ], "pagination": {"next_cursor": ""}}),
            &["/evaluations/0", "/evaluations/1"],
        ),
        ("/v1/agents/evaluate-evidence".to_owned(), json!({"operation_id": "op-1"}), &[]),
        (
            "/v1/operations/op-1".to_owned(),
            json!({"operation": {
                "id": "op-1", "status": "ASYNC_OPERATION_STATUS_SUCCEEDED",
                "output": r#"{"skipped":false,"violations":["no owner"]}"#,
            }}),
            &["/operation"],
        ),
        (
            "/v1/products".to_owned(),
            json!({"products": [{"id": "p-1", "name": "shop"}, {"id": "p-2"}], "pagination": by_page}),
            &["/products/0", "/products/1"],
        ),
        (
            "/v1/products/p-1/versions/v-1".to_owned(),
            json!({"version": {"id": "v-1", "product_id": "p-1", "name": "one"}}),
            &["/version"],
        ),
        (
            "/v1/projects".to_owned(),
            json!({"results": [{"id": "1", "name": "web"}, {"id": "2"}], "pagination": by_page}),
            &["/results/0", "/results/1"],
        ),
        (
            "/v1/environments".to_owned(),
            json!({"environments": [{"id": "1", "name": "live"}, {"id": "2"}], "pagination": by_page}),
            &["/environments/0", "/environments/1"],
        ),
        (
            "/v1/compliance/product".to_owned(),
            json!({"frameworks": [{
                "framework_id": "f-1", "framework_name": "slsa",
                "evaluations": [{"requirement_id": "1", "name": "signed", "overall_status": "fail"}],
                "metrics": {"failing_requirements": 1},
            }]}),
            &["/frameworks/0", "/frameworks/0/evaluations/0", "/frameworks/0/metrics"],
        ),
        (
            "/v1/findings".to_owned(),
            json!({"results": [{"id": "1", "external_id": "CVE-1"}, {"id": "2"}], "pagination": by_page}),
            &["/results/0", "/results/1"],
        ),
        (
            "/v1/assessments/list-effective".to_owned(),
            json!({"results": [{
                "lookup": {"external_id": "CVE-1"}, "effective_status": "FIXED",
                "assessments": [{"id": "1"}],
            }]}),
            &["/results/0", "/results/0/lookup", "/results/0/assessments/0"],
        ),
    ]
}

/// Denies with something of every answer.
const POLICY: &str = r#"package p
digest := "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
version := "1a1a1a1a-0000-4000-8000-00000000000a"
found := platform.discover(digest, "")
deny contains sprintf("%v %v", [found.createdAt, found.metadata.name])
deny contains r.digest if { some r in found.references; r.metadata.hasPolicyViolations == "true" }
deny contains sprintf("%d references", [count(found.references)])
deny contains e.name if some e in platform.evidence({}).results
deny contains e.name if {
	some e in platform.project_compliance({"project_version_id": version}).evaluations
	e.requirement_id == "2"
}
deny contains v if some v in platform.evidence_prompt("text", "check").violations
deny contains platform.download_artifact(digest)
deny contains p.name if some p in platform.products({}).products
deny contains platform.product_version("p-1", "v-1").name
deny contains p.name if some p in platform.projects({}).results
deny contains e.name if some e in platform.environments({}).environments
deny contains sprintf("%v %v %v", [f.framework_name, e.name, f.metrics.failing_requirements]) if {
	some f in platform.product_compliance({"product_version_id": "v-1"}).frameworks
	some e in f.evaluations
}
project := {"project_name": "web", "project_version_name": "v1"}
deny contains f.external_id if some f in platform.findings(project)
deny contains sprintf("%v %v", [r.lookup.external_id, r.effective_status]) if {
	some r in platform.effective_assessments(object.union(project, {"lookups": [{"external_id": "CVE-1"}]}))
}
"#;

/// An addition, and where it is made.
#[derive(Clone, Debug)]
enum Addition {
    None,
    /// In every row and object.
    Within(&'static str, Value),
    /// Beside the contents of every answer.
    Beside(&'static str, Value),
    /// In every `pagination`.
    Paging(&'static str, Value),
    /// Another value of an enumeration, wherever it is.
    Value(&'static str, &'static str),
    Header(&'static str, &'static str),
}

/// Sixty additions.
fn additions() -> Vec<Addition> {
    use Addition::{Beside, Header, Paging, Value, Within};
    let rows = [
        ("details", json!([{"@type": "x", "reason": "y"}])),
        ("count", json!(1e300)),
        ("total", json!([{"a": 1e20}, "900"])),
        ("error", json!({"code": 13, "message": "internal"})),
        ("errors", json!(["one shard is down"])),
        ("warning", json!("this is old")),
        ("warnings", json!([{"text": "old"}])),
        ("next", json!("https://example.com/2")),
        ("nextPageToken", json!("c")),
        ("partial", json!(true)),
        ("truncated", json!(true)),
        ("incomplete", json!("yes")),
        ("failed", json!(3)),
        ("success", json!(false)),
        ("has_more", json!(true)),
        ("pagination", json!({"next_cursor": "c", "total_count": 7})),
        ("References", json!([{"digest": "x"}])),
        ("Status", json!("FAILED")),
        ("metaData", json!({"hasPolicyViolations": true})),
        ("referencesTotalCount", json!(900)),
        ("children", json!([[{"deep": [1, [2, [3]]]}]])),
        ("organization", json!({"id": "x", "name": "another"})),
        ("created-at", json!(7)),
        ("owner", json!(null)),
        ("\u{200b}kind", json!("SARIF")),
    ];
    let beside = [
        ("details", json!([])),
        ("count", json!(1)),
        ("code", json!(13)),
        ("message", json!("1 of 7 shards answered")),
        ("error", json!("timed out")),
        ("warning", json!(true)),
        ("next", json!(2)),
        ("nextCursor", json!("c")),
        ("total_count", json!(7)),
        ("partial", json!(true)),
        ("truncated", json!(["x"])),
        ("status", json!("PARTIAL")),
        ("meta", json!({"page_info": {"hasNextPage": true}})),
        ("items", json!([{"id": "3"}])),
        ("Results", json!([{"id": "3"}])),
        ("skipped", json!(4)),
    ];
    let paging = [
        ("has_more", json!(true)),
        ("next", json!("c")),
        ("nextPageToken", json!("c")),
        ("prev_cursor", json!("c")),
        ("count", json!(7)),
        ("limit", json!(100)),
        ("pagination", json!({"next_cursor": "c"})),
    ];
    let values = [
        ("kind", "SBOM_OF_TOMORROW"),
        ("status", "waived"),
        ("overall_status", "REQUIREMENT_STATUS_FAIL"),
        ("type", "ENVIRONMENT_TYPE_EDGE"),
    ];
    let headers = [
        ("warning", "199 - \"old\""),
        ("link", "</v2>; rel=\"next\""),
        ("x-next-page", "2"),
        ("x-total-count", "900"),
        ("content-range", "items 0-1/900"),
        ("grpc-status", "13"),
        ("x-partial", "true"),
        ("deprecation", "true"),
    ];
    let mut all: Vec<Addition> = Vec::new();
    all.extend(rows.map(|(key, value)| Within(key, value)));
    all.extend(beside.map(|(key, value)| Beside(key, value)));
    all.extend(paging.map(|(key, value)| Paging(key, value)));
    all.extend(values.map(|(key, value)| Value(key, value)));
    all.extend(headers.map(|(name, value)| Header(name, value)));
    all
}

/// Replaces the field `name`, wherever it is.
fn replace(body: &mut Value, name: &str, text: &str) {
    match body {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, name, text)),
        Value::Object(fields) => {
            for (key, value) in fields {
                // The state of an operation is no enumeration of what there is.
                let is_state = value.as_str().is_some_and(|text| text.starts_with("ASYNC_"));
                if key == name && !is_state {
                    *value = json!(text);
                } else {
                    replace(value, name, text);
                }
            }
        }
        _ => {}
    }
}

fn answer(request: &Request, addition: &Addition) -> Vec<Step> {
    if request.path() == format!("/download/{DIGEST}") {
        return script::ok(b"abc".to_vec());
    }
    let Some((_, mut body, objects)) =
        answers().into_iter().find(|(path, ..)| path == request.path())
    else {
        return script::status(404, &[], "");
    };
    let mut headers = vec![("content-type", "application/json; charset=utf-8")];
    match addition {
        Addition::None => {}
        Addition::Within(key, value) => {
            for place in objects {
                body.pointer_mut(place).unwrap()[*key] = value.clone();
            }
        }
        Addition::Beside(key, value) => body[*key] = value.clone(),
        Addition::Paging(key, value) => {
            if let Some(pagination) = body.get_mut("pagination") {
                pagination[*key] = value.clone();
            }
        }
        Addition::Value(key, text) => replace(&mut body, key, text),
        Addition::Header(name, value) => headers.push((*name, *value)),
    }
    vec![Step::Send(script::http(200, &headers, body.to_string().as_bytes()))]
}

#[test]
fn what_a_newer_service_adds_changes_no_verdict() {
    let addition = Arc::new(Mutex::new(Addition::None));
    let shared = Arc::clone(&addition);
    let server = Server::start(move |request| answer(request, &shared.lock().unwrap()));
    let platform: Platform = super::stage::builder()
        .controlplane_url(server.url())
        .base_url(server.url())
        .functions(FunctionSet::all())
        .build()
        .unwrap();
    let verdict = || value(&platform, POLICY, "data.p.deny");
    let expected = verdict().unwrap();
    assert_eq!(expected.len(), Some(16), "{expected}");
    assert!(server.requests().iter().any(|request| request.target().contains(VERSION)));
    let all = additions();
    assert_eq!(all.len(), 60);
    let mut wrong = Vec::new();
    for one in all {
        *addition.lock().unwrap() = one.clone();
        match verdict() {
            Ok(found) if found == expected => {}
            Ok(found) => wrong.push(format!("{one:?}: {found}")),
            Err(error) => wrong.push(format!("{one:?}: {}", error.report())),
        }
    }
    assert!(wrong.is_empty(), "{} of 60 differ:\n{}", wrong.len(), wrong.join("\n"));
}
