//! `GET /openapi.yaml` on both addresses: valid, and matching what is served exactly.

use rego_platform_emulator::{Casing, EmulatorOptions, Paging};
use roas::v3_1::spec::Spec;
use roas::validation::{Options, Validate as _};
use serde_json::json;

use super::*;

const RELEASED: &str = "e6f7c74d-1750-5f0a-a1a0-1bb0531a1a5c";

/// The specification at an address, which needs no token.
pub fn document(base: &str) -> Value {
    let answer = get(&format!("{base}/openapi.yaml"), None);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/yaml");
    rego::internal::yaml::from_str(std::str::from_utf8(&answer.body).unwrap()).unwrap()
}

/// A request of an operation, and the status of its answer.
pub struct Example {
    pub operation: &'static str,
    pub target: String,
    pub token: Option<&'static str>,
    pub body: Option<&'static str>,
    pub status: u16,
}

fn example(operation: &'static str, target: impl Into<String>, status: u16) -> Example {
    Example { operation, target: target.into(), token: Some("user"), body: None, status }
}

/// Requests of every operation of the control plane.
pub fn of_controlplane() -> Vec<Example> {
    vec![
        example("StatusService_Infoz", "/infoz", 200),
        example("StatusService_Infoz", "/infoz?a=b", 400),
        example("SpecificationService_Get", "/openapi.yaml", 200),
        example("SpecificationService_Get", "/openapi.yaml?a=b", 400),
        example("ReferrerService_Discover", format!("/discover/{CLEAN_IMAGE}"), 200),
        example("ReferrerService_Discover", "/discover/x", 400),
        example("ReferrerService_Discover", format!("/discover/{AMBIGUOUS}"), 400),
        example("ReferrerService_Discover", format!("/discover/sha256:{}", "0".repeat(64)), 404),
        example("DownloadService_Download", format!("/download/{BINARY}"), 302),
        example("DownloadService_Download", format!("/download/{STORED_ONLY}"), 403),
        Example { token: Some("free"), ..example("DownloadService_Download", "/download/x", 403) },
    ]
}

/// Requests of every operation of the backend.
pub fn of_backend() -> Vec<Example> {
    let version = |product, version| format!("/v1/products/{product}/versions/{version}");
    let approve = format!("/v1/assessments/revisions/{PENDING}/approve");
    let product = |version| format!("/v1/compliance/product?product_version_id={version}");
    let project = |version| format!("/v1/compliance/project?project_version_id={version}");
    let prompt = "/v1/agents/evaluate-evidence";
    let ask = |body| Example {
        body: Some(body),
        ..example("AgentsService_EvaluateEvidence", prompt, 200)
    };
    let effective = |status, body| Example {
        body: Some(body),
        ..example("AssessmentService_ListEffective", "/v1/assessments/list-effective", status)
    };
    let note = r#"{"review_note":"checked"}"#;
    vec![
        example("SpecificationService_Get", "/openapi.yaml", 200),
        example("ProductsService_GetVersion", version(WEB_SHOP, WEB_SHOP_SPRING), 200),
        example("ProductsService_GetVersion", version(BACK_OFFICE, BACK_OFFICE_RELEASE), 200),
        example("ProductsService_GetVersion", version(WEB_SHOP, UNKNOWN), 404),
        example("ProductsService_GetVersion", version("a", "b"), 400),
        example("ProductsService_List", "/v1/products", 200),
        example("ProductsService_List", "/v1/products?a=b", 400),
        example("ProjectsService_List", "/v1/projects", 200),
        example("ProjectsService_List", "/v1/projects?project_name=none", 200),
        example("ProjectsService_List", "/v1/projects?project_name=", 400),
        example("EnvironmentsService_List", "/v1/environments?query=production", 200),
        example("EnvironmentsService_List", "/v1/environments?pagination.page=1", 200),
        example("EnvironmentsService_List", "/v1/environments?query=", 400),
        Example { body: Some(note), ..example("AssessmentService_ApproveRevision", &approve, 200) },
        example("AssessmentService_ApproveRevision", &approve, 400),
        Example { token: Some("ci"), ..example("AssessmentService_ApproveRevision", approve, 403) },
        example("ComplianceService_GetProductCompliance", product(BACK_OFFICE_RELEASE), 200),
        example("ComplianceService_GetProductCompliance", product(WEB_SHOP_SPRING), 200),
        example("ComplianceService_GetProductCompliance", product(UNKNOWN), 404),
        example("ComplianceService_GetProductCompliance", product(""), 400),
        example("EvidenceService_List", "/v1/evidence", 200),
        example("EvidenceService_List", "/v1/evidence?latest=x", 400),
        example("ComplianceService_ListProjectEvaluations", project(RELEASED), 200),
        example("ComplianceService_ListProjectEvaluations", project(UNKNOWN), 404),
        ask(r#"{"content":"x","prompt":"please"}"#),
        Example { status: 400, ..ask(r#"{"prompt":"please"}"#) },
        example(
            "AsyncOperationsService_Get",
            "/v1/operations/00000000-0000-4000-8000-000000000001",
            200,
        ),
        example("AsyncOperationsService_Get", "/v1/operations/1", 404),
        example("FindingService_List", "/v1/findings?project_name=payments-api", 200),
        example("FindingService_List", "/v1/findings?severity=HIGH", 400),
        effective(
            200,
            r#"{"project_name":"payments-api","lookups":[{"external_id":"CVE-2026-1001"}]}"#,
        ),
        effective(404, r#"{"project_name":"none","lookups":[]}"#),
        effective(400, r#"{"lookups":[]}"#),
    ]
}

/// Returns every operation of a specification: path, method and object.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let mut all = Vec::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            all.push((path.clone(), method.clone(), operation.clone()));
        }
    }
    all
}

/// Checks an answer against `schema`, which may refer to others of the document.
fn conforms(document: &Value, schema: &Value, instance: &Value, what: &str) {
    let schema = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&schema);
    let validator = validator.unwrap();
    let errors: Vec<String> =
        validator.iter_errors(instance).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}\n{instance:#}");
}

fn ask(emulator: &Emulator, base: &str, method: &str, example: &Example) -> Answer {
    let url = format!("{base}{}", example.target);
    let token = example.token.map(|name| emulator.token(name).unwrap());
    send(|client| {
        let request = if method == "post" { client.post(url) } else { client.get(url) };
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.body(example.body.unwrap_or_default())
    })
    .unwrap()
}

/// Sends every example and checks each answer against the specification; returns the successful
/// ones.
pub fn send_all(
    emulator: &Emulator,
    base: &str,
    document: &Value,
    examples: &[Example],
) -> Vec<(Value, Value)> {
    let operations = operations(document);
    let mut good = Vec::new();
    for example in examples {
        let named = |(_, _, operation): &&(String, String, Value)| {
            operation["operationId"] == example.operation
        };
        let (path, method, operation) = operations.iter().find(named).unwrap();
        let pattern: Vec<&str> = path.split('/').collect();
        let target = example.target.split('?').next().unwrap();
        let fits = pattern.len() == target.split('/').count()
            && pattern.iter().zip(target.split('/')).all(|(p, t)| p.starts_with('{') || *p == t);
        assert!(fits, "{target} is none of {path}");
        let answer = ask(emulator, base, method, example);
        let what = format!("{method} {} as {:?}", example.target, example.token);
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, example.status, "{what}: {text}");
        let listed = &operation["responses"][answer.status.to_string()];
        let unexpected = answer.status > 500;
        let response = if unexpected { &operation["responses"]["default"] } else { listed };
        assert!(response.is_object(), "{what}: {} isn't listed", answer.status);
        if response.get("headers").is_some() {
            assert!(!answer.header("location").is_empty(), "{what}");
            continue;
        }
        let content = response["content"].as_object().unwrap();
        let (media, schema) = content.iter().next().unwrap();
        assert_eq!(answer.header("content-type"), media, "{what}");
        let schema = &schema["schema"];
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        conforms(document, schema, &body, &what);
        if answer.status == 200 {
            good.push((schema.clone(), body));
        }
    }
    good
}

fn both(emulator: &Emulator) -> [(String, Vec<Example>); 2] {
    [(emulator.controlplane_url(), of_controlplane()), (emulator.base_url(), of_backend())]
}

#[test]
fn both_specifications_are_valid() {
    let emulator = start(EmulatorOptions::default());
    for (base, _) in both(&emulator) {
        let document = document(&base);
        assert_eq!(document["openapi"], "3.1.0");
        assert_eq!(document["info"]["version"], "1.0");
        let spec: Spec = serde_json::from_value(document).unwrap();
        // Nothing is tolerated: unused schemas, missing tags and duplicate ids are errors too.
        spec.validate(Options::empty(), None).unwrap();
    }
}

#[test]
fn a_broken_specification_would_be_found() {
    let emulator = start(EmulatorOptions::default());
    let mut document = document(&emulator.base_url());
    document["components"]["schemas"]["Unused"] = json!({ "type": "object" });
    let spec: Spec = serde_json::from_value(document).unwrap();
    assert!(spec.validate(Options::empty(), None).is_err());
}

#[test]
fn every_operation_is_requested_and_answers_as_specified() {
    let emulator = start(EmulatorOptions::default());
    for (base, examples) in both(&emulator) {
        let document = document(&base);
        let mut listed: Vec<String> = operations(&document)
            .iter()
            .map(|(.., operation)| operation["operationId"].as_str().unwrap().to_owned())
            .collect();
        let good = |example: &&Example| matches!(example.status, 200 | 302);
        let mut requested: Vec<String> =
            examples.iter().filter(good).map(|example| example.operation.to_owned()).collect();
        listed.sort();
        requested.sort();
        requested.dedup();
        assert_eq!(requested, listed);
        send_all(&emulator, &base, &document, &examples);
    }
}

#[test]
fn other_spellings_and_pages_are_specified_as_they_are_served() {
    for options in [
        EmulatorOptions { omit_defaults: true, ..EmulatorOptions::default() },
        EmulatorOptions { casing: Some(Casing::Camel), ..EmulatorOptions::default() },
        EmulatorOptions { casing: Some(Casing::Snake), ..EmulatorOptions::default() },
        EmulatorOptions {
            evidence_paging: Some(Paging::Page),
            compliance_paging: Some(Paging::Page),
            max_page_size: Some(1),
            ..EmulatorOptions::default()
        },
    ] {
        let emulator = start(options);
        for (base, examples) in both(&emulator) {
            send_all(&emulator, &base, &document(&base), &examples);
        }
    }
}

#[test]
fn without_a_token_or_a_paid_plan_the_refusals_are_those_listed() {
    let emulator = start(EmulatorOptions::default());
    for (base, examples) in both(&emulator) {
        let document = document(&base);
        for (_, _, operation) in operations(&document) {
            let id = operation["operationId"].as_str().unwrap();
            let found = examples.iter().find(|example| example.operation == id).unwrap();
            let again = |token, status| Example {
                operation: found.operation,
                target: found.target.clone(),
                token,
                body: found.body,
                status,
            };
            let open = operation["security"].as_array().unwrap().is_empty();
            assert_eq!(open, operation["responses"].get("401").is_none(), "{id}");
            let mut refused = vec![again(None, if open { 200 } else { 401 })];
            if operation["description"].as_str().unwrap().contains("paid plan") {
                refused.push(again(Some("free"), 403));
            }
            send_all(&emulator, &base, &document, &refused);
        }
    }
}

#[test]
fn errors_of_the_server_are_as_listed_too() {
    let emulator = start(EmulatorOptions::default());
    for (base, examples) in both(&emulator) {
        let document = document(&base);
        for status in [500, 503] {
            let failing = examples.iter().map(|example| Example {
                operation: example.operation,
                target: example.target.clone(),
                token: example.token,
                body: example.body,
                status,
            });
            let failing: Vec<Example> = failing.collect();
            emulator.set_faults(vec![format!("*:status={status}").parse().unwrap()]);
            send_all(&emulator, &base, &document, &failing);
            emulator.set_faults(Vec::new());
        }
    }
}

#[test]
fn the_parameters_are_those_that_are_taken() {
    let emulator = start(EmulatorOptions::default());
    let unknown = |answer: &Answer| {
        let body = answer.json();
        answer.status == 400
            && body["message"].as_str().unwrap().starts_with("unknown query parameter")
    };
    for (base, examples) in both(&emulator) {
        for (_, method, operation) in operations(&document(&base)) {
            let id = operation["operationId"].as_str().unwrap();
            let found = examples.iter().find(|example| example.operation == id).unwrap();
            let path = found.target.split('?').next().unwrap();
            let asked = |query: String| {
                let target = format!("{path}?{query}");
                ask(&emulator, &base, &method, &Example { target, ..example("", "", 0) })
            };
            for parameter in operation["parameters"].as_array().unwrap() {
                let name = parameter["name"].as_str().unwrap();
                match parameter["in"].as_str().unwrap() {
                    "query" => assert!(!unknown(&asked(format!("{name}=1"))), "{id} {name}"),
                    "header" => assert_eq!(name, "platform-organization"),
                    other => assert_eq!(other, "path"),
                }
            }
            for name in ["unlisted", "page", "limit", "Kind"] {
                assert!(unknown(&asked(format!("{name}=1"))), "{id} {name}");
            }
        }
    }
}

#[test]
fn nothing_is_served_that_is_not_listed() {
    let emulator = start(EmulatorOptions::default());
    let (control, base) = (document(&emulator.controlplane_url()), document(&emulator.base_url()));
    let paths = |document: &Value| {
        let paths = document["paths"].as_object().unwrap();
        paths.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        paths(&control),
        ["/discover/{digest}", "/download/{digest}", "/infoz", "/openapi.yaml"]
    );
    assert_eq!(
        paths(&base),
        [
            "/openapi.yaml",
            "/v1/agents/evaluate-evidence",
            "/v1/assessments/list-effective",
            "/v1/assessments/revisions/{revision_id}/approve",
            "/v1/compliance/product",
            "/v1/compliance/project",
            "/v1/environments",
            "/v1/evidence",
            "/v1/findings",
            "/v1/operations/{id}",
            "/v1/products",
            "/v1/products/{product_id}/versions/{version_id}",
            "/v1/projects",
        ]
    );
    // The other methods of every path, and the paths of the other address.
    for (base, document, other) in
        [(emulator.controlplane_url(), &control, &base), (emulator.base_url(), &base, &control)]
    {
        for (path, method, _) in operations(document) {
            let url = format!("{base}{}", path.replace(['{', '}'], ""));
            let wrong = if method == "get" { "POST" } else { "GET" };
            for wrong in [wrong, "PUT", "PATCH", "DELETE"] {
                let method = reqwest::Method::from_bytes(wrong.as_bytes()).unwrap();
                let answer = send(|client| client.request(method, &url)).unwrap();
                assert_eq!(answer.status, 405, "{wrong} {url}");
            }
        }
        for path in paths(other).iter().filter(|path| *path != "/openapi.yaml") {
            let url = format!("{base}{}", path.replace(['{', '}'], ""));
            assert_eq!(get(&url, None).status, 404, "{url}");
        }
    }
}
