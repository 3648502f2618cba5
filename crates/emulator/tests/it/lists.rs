//! `GET /v1/evidence` and `GET /v1/compliance/project`.

use rego_platform_emulator::Paging;

use super::*;

const RELEASED: &str = "e6f7c74d-1750-5f0a-a1a0-1bb0531a1a5c";
const FAILING: &str = "643224fb-4763-546c-9387-69d5984a8501";
const NOT_EVALUATED: &str = "2fb90197-269e-5a23-8348-44b594d0d003";
const OF_GLOBEX: &str = "a9a7fe02-71ca-5c72-b70d-176f66ef5db3";
const SECURITY: &str = "05bb449f-aba1-5eee-918b-786ed8b8839a";
const SUPPLY_CHAIN: &str = "ed7889a0-4842-5a66-b59c-6a1d1017500d";
const PRODUCT: &str = "f6ffc9c7-4dc5-52a6-89b3-c3bcdf4abf63";
const PRODUCT_VERSION: &str = "a89601f5-271a-55e5-a205-4a3be66201af";

fn evidence(emulator: &Emulator, filters: &str) -> Vec<Value> {
    let (rows, _) = every_page(
        |cursor| {
            let target = format!("/v1/evidence?pagination.cursor={cursor}&{filters}");
            let answer = backend(emulator, &target);
            assert_eq!(answer.status, 200, "{filters} {}", answer.json());
            answer.json()
        },
        &["results"],
        &["pagination", "next_cursor"],
    );
    rows
}

fn all(rows: &[Value], key: &str, test: impl Fn(&str) -> bool) -> bool {
    !rows.is_empty() && rows.iter().all(|row| test(row[key].as_str().unwrap()))
}

#[test]
fn evidence_is_the_documented_object_in_snake_case() {
    let emulator = start(EmulatorOptions::default());
    let rows = evidence(&emulator, "kind=SBOM_CYCLONEDX_JSON&project_version_name=v1.8.0");
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    for (key, value) in [
        ("name", "sbom"),
        ("kind", "SBOM_CYCLONEDX_JSON"),
        ("digest", "sha256:aca23eee49bec93e551c9c57038a9df40a7549d64d1a9b79ad86b18c205229f3"),
        ("subject_name", "registry.acme.example/catalog-web"),
        ("subject_version", "v1.8.0"),
        ("organization_name", "acme"),
        ("workflow_name", "build"),
        ("project_name", "catalog-web"),
        ("project_version_id", FAILING),
    ] {
        assert_eq!(row[key], value, "{key}");
    }
    assert_eq!(row["annotations"]["tool"], "sbomgen");
    for key in ["id", "organization_id", "workflow_id", "workflow_run_id", "project_id"] {
        assert_eq!(row[key].as_str().unwrap().len(), 36, "{key}");
    }
}

#[test]
fn every_filter_filters() {
    let emulator = start(EmulatorOptions::default());
    let everything = evidence(&emulator, "");
    assert_eq!(everything.len(), 29);
    let fewer = |filters: &str| {
        let rows = evidence(&emulator, filters);
        assert!(rows.len() < everything.len() && !rows.is_empty(), "{filters}: {}", rows.len());
        rows
    };
    assert!(all(&fewer("project_name=catalog-web"), "project_name", |v| v == "catalog-web"));
    assert!(all(&fewer("project_version_name=v2.4.0"), "project_version_id", |v| v == RELEASED));
    assert!(all(&fewer("kind=SARIF"), "kind", |v| v == "SARIF"));
    let two = fewer("kind=SARIF&kind=JUNIT_XML");
    assert!(all(&two, "kind", |v| v == "SARIF" || v == "JUNIT_XML"));
    assert!(two.len() > fewer("kind=SARIF").len());
    assert!(all(&fewer("workflow_name=release"), "workflow_name", |v| v == "release"));
    let two = fewer("workflow_name=release&workflow_name=security-scan");
    assert!(all(&two, "workflow_name", |v| v == "release" || v == "security-scan"));
    assert!(all(&fewer("search=SBOM"), "name", |v| v.contains("sbom")));
    assert!(all(&fewer("search=catalog"), "subject_name", |v| v.contains("catalog")));
    assert!(all(&fewer("hide_attestation=true"), "kind", |v| v != "ATTESTATION"));
    let product = fewer(&format!("product_id={PRODUCT}"));
    assert!(all(&product, "subject_version", |v| v != "v2.5.0-rc.1"));
    let version = fewer(&format!("product_version_id={PRODUCT_VERSION}"));
    assert!(all(&version, "project_version_id", |v| v == RELEASED || v == FAILING));
    assert!(version.len() < product.len());
    assert_eq!(evidence(&emulator, "hide_attestation=false&latest=false").len(), 29);
    assert_eq!(evidence(&emulator, "project_name=nothing").len(), 0);
    assert_eq!(evidence(&emulator, "kind=SARIF&project_version_name=v2.3.0").len(), 0);
}

#[test]
fn latest_is_the_newest_of_each_kind_and_name() {
    let emulator = start(EmulatorOptions::default());
    let sboms = "project_version_name=v2.4.0&kind=SBOM_CYCLONEDX_JSON&search=sbom";
    let names = |rows: Vec<Value>| {
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut every = names(evidence(&emulator, sboms));
    every.sort();
    assert_eq!(every, ["sbom", "sbom", "ui-sbom"]);
    let latest = evidence(&emulator, &format!("{sboms}&latest=true"));
    assert!(latest.iter().all(|row| row["annotations"].get("superseded").is_none()));
    assert_eq!(latest.len(), 2);
}

#[test]
fn wrong_filters_are_refused() {
    let emulator = start(EmulatorOptions::default());
    for filters in [
        "project=x",
        "Kind=SARIF",
        "limit=5",
        "latest=yes",
        "latest=",
        "search=",
        "project_name=a&project_name=b",
        "pagination.page=0",
        "pagination.limit=0",
        "pagination.cursor=abc",
    ] {
        let answer = backend(&emulator, &format!("/v1/evidence?{filters}"));
        assert_eq!((answer.status, &answer.json()["code"]), (400, &3.into()), "{filters}");
        assert_eq!(answer.json()["details"], serde_json::json!([]));
    }
}

#[test]
fn evidence_comes_in_cursor_pages() {
    let emulator = start(EmulatorOptions { max_page_size: Some(4), ..EmulatorOptions::default() });
    let first = backend(&emulator, "/v1/evidence?pagination.limit=100").json();
    assert_eq!(first["results"].as_array().unwrap().len(), 4);
    let rows = evidence(&emulator, "pagination.limit=3");
    assert_eq!(rows.len(), 29);
    assert_eq!(rows, evidence(&start(EmulatorOptions::default()), ""));
}

#[test]
fn either_list_can_come_in_pages_by_offset() {
    let paged = Some(Paging::Page);
    let options = EmulatorOptions {
        evidence_paging: paged,
        compliance_paging: paged,
        ..EmulatorOptions::default()
    };
    let emulator = start(options);
    let mut rows = Vec::new();
    while rows.len() < 29 {
        let target = format!("/v1/evidence?pagination.page={}&pagination.page_size=8", rows.len());
        let body = backend(&emulator, &target).json();
        let pagination = serde_json::json!({
            "total_count": 29, "page": rows.len(), "total_pages": 4, "page_size": 8
        });
        assert_eq!(body["pagination"], pagination);
        rows.extend(body["results"].as_array().unwrap().clone());
    }
    assert_eq!(rows, evidence(&start(EmulatorOptions::default()), ""));
    let target = format!("/v1/compliance/project?project_version_id={RELEASED}&pagination.limit=4");
    let body = backend(&emulator, &target).json();
    assert_eq!(body["pagination"]["total_count"], 11);
    assert_eq!(body["evaluations"].as_array().unwrap().len(), 4);
    assert_eq!(backend(&emulator, "/v1/evidence?pagination.cursor=abc").status, 400);
}

fn evaluations(emulator: &Emulator, version: &str, more: &str) -> Vec<Value> {
    let (rows, _) = every_page(
        |cursor| {
            let target = format!(
                "/v1/compliance/project?project_version_id={version}&pagination.cursor={cursor}{more}"
            );
            backend(emulator, &target).json()
        },
        &["evaluations"],
        &["pagination", "next_cursor"],
    );
    rows
}

#[test]
fn compliance_is_the_documented_object() {
    let emulator = start(EmulatorOptions::default());
    let rows = evaluations(&emulator, RELEASED, "");
    assert_eq!(rows.len(), 11);
    assert!(all(&rows, "status", |status| status == "pass"));
    let row = &rows[0];
    assert_eq!(row["name"], "signed-provenance");
    assert_eq!(row["display_name"], "Signed provenance");
    assert_eq!(row["requirement_revision"], 1);
    assert_eq!(row["project_version_id"], RELEASED);
    assert_eq!(row["framework_id"], SUPPLY_CHAIN);
    assert_eq!(row["created_at"], "2026-03-02T10:00:00Z");
    for key in ["requirement_id", "requirement_version_id"] {
        assert_eq!(row[key].as_str().unwrap().len(), 36, "{key}");
    }
    assert!(!row["description"].as_str().unwrap().is_empty());
    let failing = evaluations(&emulator, FAILING, "");
    assert_eq!(failing.iter().filter(|row| row["status"] == "fail").count(), 4);
    assert_eq!(evaluations(&emulator, NOT_EVALUATED, "").len(), 0);
}

#[test]
fn compliance_filters_by_framework_and_pages() {
    let emulator = start(EmulatorOptions::default());
    let one = evaluations(&emulator, FAILING, &format!("&framework_ids={SECURITY}"));
    assert_eq!(one.len(), 5);
    assert!(all(&one, "framework_id", |id| id == SECURITY));
    let both = format!("&framework_ids={SECURITY}&framework_ids={SUPPLY_CHAIN}&pagination.limit=2");
    assert_eq!(evaluations(&emulator, FAILING, &both).len(), 11);
}

#[test]
fn wrong_versions_and_frameworks_are_refused() {
    let emulator = start(EmulatorOptions::default());
    let unknown = "00000000-0000-0000-0000-000000000000";
    for (query, status) in [
        (format!("project_version_id={unknown}"), 404),
        (format!("project_version_id={OF_GLOBEX}"), 404),
        (format!("project_version_id={RELEASED}&framework_ids={unknown}"), 404),
        ("project_version_id=v2.4.0".to_owned(), 400),
        ("project_version_id=".to_owned(), 400),
        (String::new(), 400),
        (format!("project_version_id={RELEASED}&frameworks={SECURITY}"), 400),
    ] {
        let answer = backend(&emulator, &format!("/v1/compliance/project?{query}"));
        assert_eq!(answer.status, status, "{query}");
        assert_eq!(answer.json()["code"], if status == 404 { 5 } else { 3 }, "{query}");
    }
}
