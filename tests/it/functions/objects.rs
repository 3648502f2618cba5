//! The objects that a policy sees: documented, complete, filtered, over all pages, within limits.

use rego_platform_emulator::{Casing, EmulatorOptions, Paging};

use super::*;
use crate::emulator::{AMBIGUOUS, BINARY, CLEAN_IMAGE, THREAT_MODEL, data, start};
use crate::hostile::documented;

const PRODUCT: &str = "f6ffc9c7-4dc5-52a6-89b3-c3bcdf4abf63";
const PRODUCT_VERSION: &str = "a89601f5-271a-55e5-a205-4a3be66201af";
const SECURITY: &str = "05bb449f-aba1-5eee-918b-786ed8b8839a";

/// Returns the ways in which the service may write and page the same objects: each value of an option with
/// each of every other.
fn ways() -> Vec<EmulatorOptions> {
    let mut ways = Vec::new();
    for (c, casing) in [None, Some(Casing::Camel), Some(Casing::Snake)].into_iter().enumerate() {
        let pages = [(Paging::Cursor, false), (Paging::Cursor, true), (Paging::Page, false)];
        for (p, (paging, ragged_pages)) in pages.into_iter().enumerate() {
            ways.push(EmulatorOptions {
                casing,
                omit_defaults: (c + p) % 2 == 0,
                ragged_pages,
                evidence_paging: Some(paging),
                compliance_paging: Some(paging),
                max_page_size: Some(7),
                ..EmulatorOptions::default()
            });
        }
    }
    ways
}

/// Returns an answer without undocumented fields, which are kept as the service wrote them: the
/// rows' time of creation, flags of references, and annotations.
fn comparable(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("annotations");
    }
    for (list, undocumented) in [
        ("results", &["createdAt", "created_at"][..]),
        ("references", &["downloadable", "public", "annotations"]),
    ] {
        for row in answer.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            for name in undocumented.iter().copied() {
                row.as_object_mut().unwrap().remove(name);
            }
        }
    }
    answer
}

fn names(value: &Value) -> Vec<&str> {
    let mut names: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_objects_are_the_same_however_the_service_writes_and_pages_them() {
    let calls = [
        ("discover", json!([CLEAN_IMAGE, ""])),
        ("discover", json!([AMBIGUOUS, "ARTIFACT"])),
        ("evidence", json!([{}])),
        ("evidence", json!([{"project_name": "nothing"}])),
        ("project_compliance", json!([{"project_version_id": FAILING}])),
        ("evidence_prompt", json!(["something without an answer", "check"])),
        ("download_artifact", json!([THREAT_MODEL])),
    ];
    let expected: Vec<Value> = {
        let emulator = start(EmulatorOptions::default());
        let platform = client(&emulator);
        calls
            .iter()
            .map(|(function, arguments)| ask(&platform, function, arguments).unwrap())
            .collect()
    };
    for options in ways() {
        let way = format!("{options:?}");
        let omits = options.omit_defaults;
        let emulator = start(options);
        let platforms =
            TRANSPORTS.map(|over| (over, client_over(over, &emulator, "ci").build().unwrap()));
        let calls = platforms.iter().flat_map(|(transport, platform)| {
            let calls = calls.iter().zip(&expected);
            calls.map(move |((function, arguments), expected)| {
                (transport, platform, function, arguments, expected)
            })
        });
        for (transport, platform, function, arguments, expected) in calls {
            transport.misbehave(&emulator, &[]);
            // The emulator then leaves out the whole envelope, which makes it a protocol error.
            if omits && expected["results"].as_array().is_some_and(Vec::is_empty) {
                continue;
            }
            let answer = ask(platform, function, arguments).unwrap();
            assert_eq!(comparable(&answer), comparable(expected), "{function} {way}");
            documented(function, &Rego::from_json(&answer.to_string()).unwrap()).unwrap();
        }
    }
}

/// `public` is there only if the service sent it; everything else is the same over HTTP and gRPC, also where
/// defaults are left out.
#[test]
fn discover_has_one_shape_and_invents_no_public() {
    const BASE_IMAGE: &str =
        "sha256:99add481bff769e418dea38ceca60c294097a657a8d0cbf7a18816bc2f65ee70";
    let set = |item: &Value| item.get("public").cloned();
    let mut all = Vec::new();
    for options in ways() {
        let omits = options.omit_defaults;
        let emulator = start(options);
        for transport in [Transport::Http, Transport::Grpc] {
            let platform = client_over(transport, &emulator, "ci").build().unwrap();
            let discover = |digest| ask(&platform, "discover", &json!([digest, ""])).unwrap();
            let (image, base) = (discover(CLEAN_IMAGE), discover(BASE_IMAGE));
            assert_eq!(set(&image), None);
            let sent = (transport == Transport::Http).then_some(json!(true));
            assert_eq!(set(&base), sent.clone(), "{omits}");
            for item in image["references"].as_array().unwrap().iter().chain([&image]) {
                let fields =
                    ["digest", "kind", "downloadable", "createdAt", "metadata", "annotations"];
                let missing = fields.iter().find(|field| item[**field].is_null());
                assert_eq!(missing, None, "{transport:?}, {omits}: {item}");
            }
            let is_list = |item: &Value| item.get("references").is_some();
            assert!(
                is_list(&image) && !image["references"].as_array().unwrap().iter().any(is_list)
            );
            let mut base = base;
            for reference in base["references"].as_array_mut().unwrap() {
                assert_eq!(reference.as_object_mut().unwrap().remove("public"), sent);
            }
            base.as_object_mut().unwrap().remove("public");
            all.push((image, base));
        }
    }
    for pair in all.windows(2) {
        assert_eq!(pair[0], pair[1]);
    }
}

#[test]
fn discover_shows_the_node_and_every_reference_with_its_metadata() {
    let emulator = start(EmulatorOptions { max_page_size: Some(7), ..Default::default() });
    let answer = ask(&client(&emulator), "discover", &json!([CLEAN_IMAGE, null])).unwrap();
    assert_eq!(answer["digest"], CLEAN_IMAGE);
    assert_eq!(answer["kind"], "CONTAINER_IMAGE");
    assert_eq!(answer["createdAt"], "2026-03-02T09:00:00Z");
    assert_eq!((&answer["downloadable"], answer.get("public")), (&json!(false), None));
    let references = answer["references"].as_array().unwrap();
    assert_eq!(references.len(), 40);
    assert!(emulator.requests().len() >= 6, "40 references come in pages of 7");
    assert_eq!(references[0]["metadata"]["hasPolicyViolations"], "false");
    assert!(references.iter().all(|r| r["digest"].is_string() && r["kind"].is_string()));
}

#[test]
fn evidence_and_compliance_have_their_documented_fields_and_no_other_spelling() {
    for casing in [Casing::Camel, Casing::Snake] {
        let emulator = start(EmulatorOptions { casing: Some(casing), ..Default::default() });
        let platform = client(&emulator);
        let filters = json!([{"kind": ["SBOM_CYCLONEDX_JSON"], "project_version_name": "v1.8.0"}]);
        let answer = ask(&platform, "evidence", &filters).unwrap();
        let row = &answer["results"][0];
        assert_eq!(row["subject_name"], "registry.acme.example/catalog-web");
        assert_eq!(row["project_version_id"], FAILING);
        assert_eq!(row["annotations"]["tool"], "sbomgen");
        let undocumented = ["createdAt", "created_at"];
        let mut documented = names(row).into_iter().filter(|name| !undocumented.contains(name));
        assert!(documented.all(|name| !name.contains(char::is_uppercase)), "{row}");
        let filters = json!([{"project_version_id": FAILING}]);
        let answer = ask(&platform, "project_compliance", &filters).unwrap();
        let rows = answer["evaluations"].as_array().unwrap();
        assert_eq!(rows.len(), 11);
        assert_eq!(rows.iter().filter(|row| row["status"] == "fail").count(), 4);
        assert!(names(&rows[0]).iter().all(|name| !name.contains(char::is_uppercase)));
        assert!(rows[0]["requirement_revision"].is_u64());
    }
}

/// Returns `true` if a field of a row matches a filter.
type Test = fn(&str) -> bool;

#[test]
fn every_filter_reaches_the_service() {
    let emulator = start(EmulatorOptions::default());
    let platform = client(&emulator);
    let rows = |filters: Value| {
        let answer = ask(&platform, "evidence", &json!([filters])).unwrap();
        answer["results"].as_array().unwrap().clone()
    };
    let everything = rows(json!({}));
    assert_eq!(everything.len(), 29);
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let filters: [(Value, &str, Test); 8] = [
        (json!({"project_name": "catalog-web"}), "project_name", |v| v == "catalog-web"),
        (json!({"project_version_name": "v2.4.0"}), "project_version_id", |v| v == RELEASED),
        (json!({"kind": ["SARIF"]}), "kind", |v| v == "SARIF"),
        (json!({"kind": ["SARIF", "JUNIT_XML"]}), "kind", |v| v == "SARIF" || v == "JUNIT_XML"),
        (json!({"workflow_name": ["release"]}), "workflow_name", |v| v == "release"),
        (json!({"search": "catalog"}), "subject_name", |v| v.contains("catalog")),
        (json!({"hide_attestation": true}), "kind", |v| v != "ATTESTATION"),
        (json!({"product_version_id": PRODUCT_VERSION}), "project_version_id", |v| {
            v == RELEASED || v == FAILING
        }),
    ];
    for (filter, key, test) in filters {
        let found = rows(filter.clone());
        let expected = everything.iter().filter(|row| test(&text(row, key))).count();
        assert!(expected > 0 && expected < everything.len(), "{filter}");
        assert_eq!(found.len(), expected, "{filter}");
        assert!(found.iter().all(|row| test(&text(row, key))), "{filter}");
    }
    assert!(
        rows(json!({"product_id": PRODUCT})).len()
            > rows(json!({"product_version_id": PRODUCT_VERSION})).len()
    );
    let latest = rows(json!({"latest": true}));
    assert!(latest.len() < everything.len() && !latest.is_empty());
    assert_eq!(rows(json!({"latest": false, "hide_attestation": false})).len(), 29);
    let both = rows(json!({"project_name": "payments-api", "kind": ["SARIF"]}));
    assert!(both.iter().all(|r| r["project_name"] == "payments-api" && r["kind"] == "SARIF"));
    let one = json!([{"project_version_id": RELEASED, "framework_ids": [SECURITY]}]);
    let answer = ask(&platform, "project_compliance", &one).unwrap();
    let evaluations = answer["evaluations"].as_array().unwrap();
    assert_eq!(evaluations.len(), 5);
    assert!(evaluations.iter().all(|row| row["framework_id"] == SECURITY));
}

#[test]
fn a_limit_bounds_the_results_whatever_the_pages() {
    for options in ways() {
        let way = format!("{options:?}");
        let emulator = start(options);
        let platform = client(&emulator);
        let all = ask(&platform, "evidence", &json!([{}])).unwrap();
        for limit in [1, 6, 7, 8, 28, 29, 30, 1_000_000] {
            let answer = ask(&platform, "evidence", &json!([{"limit": limit}])).unwrap();
            let expected = &all["results"].as_array().unwrap()[..limit.min(29)];
            assert_eq!(answer["results"].as_array().unwrap(), expected, "{limit} {way}");
        }
        let limited = json!([{"project_version_id": FAILING, "limit": 4}]);
        let answer = ask(&platform, "project_compliance", &limited).unwrap();
        assert_eq!(answer["evaluations"].as_array().unwrap().len(), 4, "{way}");
    }
}

#[test]
fn a_limit_asks_for_no_more_pages_than_it_needs() {
    let emulator = start(EmulatorOptions { max_page_size: Some(7), ..Default::default() });
    ask(&client(&emulator), "evidence", &json!([{"limit": 8}])).unwrap();
    assert_eq!(emulator.requests().len(), 2);
}

#[test]
fn downloads_are_text_where_they_are_utf8_and_base64_elsewhere() {
    use base64::Engine as _;
    let emulator = start(EmulatorOptions::default());
    let file = |digest: &str| {
        std::fs::read(data().join("artifacts").join(digest.replace(':', "/"))).unwrap()
    };
    for transport in TRANSPORTS {
        transport.misbehave(&emulator, &[]);
        let platform = client_over(transport, &emulator, "ci").build().unwrap();
        let text = ask(&platform, "download_artifact", &json!([THREAT_MODEL])).unwrap();
        assert_eq!(text.as_str().unwrap().as_bytes(), file(THREAT_MODEL));
        let binary = ask(&platform, "download_artifact", &json!([BINARY])).unwrap();
        let decoded = base64::engine::general_purpose::STANDARD.decode(binary.as_str().unwrap());
        assert_eq!(decoded.unwrap(), file(BINARY));
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(ask(&platform, "download_artifact", &json!([empty])).unwrap(), "");
    }
}

#[test]
fn prompts_take_digests_and_content() {
    let emulator = start(EmulatorOptions::default());
    let platform = client(&emulator);
    let prompt = |evidence: &str, prompt: &str| {
        ask(&platform, "evidence_prompt", &json!([evidence, prompt])).unwrap()
    };
    assert_eq!(prompt(THREAT_MODEL, "complete?"), json!({"skipped": false, "violations": []}));
    let draft = "sha256:f8cdbfa3c29620ca5747bbab8a32a8850f43585311bf98ba321cfe80fb6de55d";
    assert_eq!(prompt(draft, "complete?")["violations"].as_array().unwrap().len(), 3);
    assert_eq!(
        prompt("injection: accepted for now", "check"),
        json!({"skipped": false, "violations": ["a threat is accepted without a mitigation"]})
    );
    let skipped = json!({"skipped": true, "violations": []});
    assert_eq!(prompt("something without an answer", "check"), skipped);
    let bodies: Vec<Value> = emulator
        .requests()
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect();
    assert_eq!(bodies[0], json!({"digest": THREAT_MODEL, "prompt": "complete?"}));
    assert_eq!(bodies[2], json!({"content": "injection: accepted for now", "prompt": "check"}));
}
