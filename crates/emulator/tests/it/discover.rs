//! `GET /discover/{digest}`.

use std::collections::{BTreeMap, HashMap};

use rego_platform_emulator::Casing;
use serde_json::Value;

use super::*;

fn references(emulator: &Emulator, digest: &str, limit: usize) -> (Vec<Value>, usize) {
    every_page(
        |cursor| {
            let target = format!(
                "/discover/{digest}?kind=&pagination.cursor={cursor}&pagination.limit={limit}"
            );
            let answer = control(emulator, &target);
            assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
            answer.json()
        },
        &["result", "references"],
        &["pagination", "nextCursor"],
    )
}

#[test]
fn the_documented_object_comes_in_camel_case() {
    let emulator = start(EmulatorOptions::default());
    let answer = control(&emulator, &format!("/discover/{CLEAN_IMAGE}?pagination.limit=100"));
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    let body = answer.json();
    let result = &body["result"];
    assert_eq!(result["digest"], CLEAN_IMAGE);
    assert_eq!(result["kind"], "CONTAINER_IMAGE");
    assert_eq!(result["downloadable"], false);
    // The service sends it only where it knows; this data set says nothing about this digest.
    assert_eq!(result.get("public"), None);
    assert_eq!(result["createdAt"], "2026-03-02T09:00:00Z");
    assert_eq!(result["references"].as_array().unwrap().len(), 40);
    let first = &result["references"][0];
    assert_eq!(first["kind"], "ATTESTATION");
    assert_eq!(first["metadata"]["hasPolicyViolations"], "false");
    assert_eq!(first["metadata"]["project"], "payments-api");
    assert_eq!(body["pagination"]["nextCursor"], "");
}

#[test]
fn snake_case_and_left_out_defaults_are_options() {
    let options = EmulatorOptions {
        casing: Some(Casing::Snake),
        omit_defaults: true,
        ..EmulatorOptions::default()
    };
    let body = control(&start(options), &format!("/discover/{CLEAN_IMAGE}")).json();
    assert_eq!(body["result"]["created_at"], "2026-03-02T09:00:00Z");
    assert_eq!(body["result"].get("public"), None);
    assert!(body["pagination"]["next_cursor"].as_str().is_some_and(|cursor| !cursor.is_empty()));
}

#[test]
fn the_graphs_have_their_documented_depth_and_size() {
    let emulator = start(EmulatorOptions::default());
    for (image, nodes, violations_at) in [(CLEAN_IMAGE, 158, None), (BAD_IMAGE, 12, Some(2))] {
        let mut depths = BTreeMap::from([(image.to_owned(), 0)]);
        let mut front = vec![image.to_owned()];
        let mut violations = HashMap::new();
        for depth in 1..=4 {
            let mut next = Vec::new();
            for digest in &front {
                let target = format!("/discover/{digest}?pagination.limit=100");
                let answer = control(&emulator, &target);
                // The only digest with two kinds has no references under either.
                if answer.status == 400 && digest == AMBIGUOUS {
                    continue;
                }
                for to in answer.json()["result"]["references"].as_array().unwrap() {
                    let to_digest = to["digest"].as_str().unwrap().to_owned();
                    if to["metadata"]["hasPolicyViolations"] == "true" {
                        violations.entry(to_digest.clone()).or_insert(depth);
                    }
                    if !depths.contains_key(&to_digest) {
                        depths.insert(to_digest.clone(), depth);
                        next.push(to_digest);
                    }
                }
            }
            front = next;
        }
        assert_eq!(depths.len(), nodes, "{image}");
        assert_eq!(depths.values().max(), Some(&3), "{image}");
        assert_eq!(violations.into_values().next(), violations_at, "{image}");
    }
}

#[test]
fn references_come_in_pages_that_together_are_all() {
    let emulator = start(EmulatorOptions::default());
    let (all, pages) = references(&emulator, BUNDLE, 1000);
    assert_eq!((all.len(), pages), (158, 2), "a limit above the maximum is the maximum");
    let (in_sevens, pages) = references(&emulator, BUNDLE, 7);
    assert_eq!(pages, 158usize.div_ceil(7));
    assert_eq!(in_sevens, all);
}

#[test]
fn short_and_empty_pages_lose_nothing() {
    let usual = references(&start(EmulatorOptions::default()), BUNDLE, 10);
    let options = EmulatorOptions { ragged_pages: true, ..EmulatorOptions::default() };
    let ragged = references(&start(options), BUNDLE, 10);
    assert_eq!(ragged.0, usual.0);
    assert!(ragged.1 > usual.1 * 3 / 2, "{} {}", ragged.1, usual.1);
}

#[test]
fn a_cursor_is_good_for_its_own_list_only() {
    let emulator = start(EmulatorOptions::default());
    let first = control(&emulator, &format!("/discover/{CLEAN_IMAGE}?pagination.limit=5")).json();
    let cursor = first["pagination"]["nextCursor"].as_str().unwrap();
    for (digest, cursor) in [(BUNDLE, cursor), (CLEAN_IMAGE, "nonsense"), (CLEAN_IMAGE, "5")] {
        let answer = control(&emulator, &format!("/discover/{digest}?pagination.cursor={cursor}"));
        assert_eq!(answer.status, 400, "{cursor}");
    }
}

#[test]
fn an_ambiguous_digest_names_its_kinds() {
    let emulator = start(EmulatorOptions::default());
    let answer = control(&emulator, &format!("/discover/{AMBIGUOUS}?kind="));
    let body = answer.json();
    assert_eq!(answer.status, 400);
    assert_eq!(body["code"], 400);
    assert_eq!(body["reason"], "bad request");
    assert_eq!(body["metadata"]["kinds"], "ARTIFACT,SBOM_CYCLONEDX_JSON");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("ARTIFACT, SBOM_CYCLONEDX_JSON"), "{message}");
    for kind in ["ARTIFACT", "SBOM_CYCLONEDX_JSON"] {
        let answer = control(&emulator, &format!("/discover/{AMBIGUOUS}?kind={kind}"));
        assert_eq!((answer.status, &answer.json()["result"]["kind"]), (200, &Value::from(kind)));
    }
}

#[test]
fn a_missing_artifact_is_404_and_an_invalid_request_is_400() {
    let emulator = start(EmulatorOptions::default());
    let unknown = format!("sha256:{}", "0".repeat(64));
    let of_another_organization =
        "sha256:a90d3c343b7834b49a309ab326f79575140596932ecbe7ac3cd52c07356bfb54";
    for (target, status) in [
        (format!("/discover/{unknown}"), 404),
        (format!("/discover/{of_another_organization}"), 404),
        (format!("/discover/{CLEAN_IMAGE}?kind=SARIF"), 404),
        (format!("/discover/{}", CLEAN_IMAGE.to_uppercase()), 400),
        ("/discover/sha256:abc".to_owned(), 400),
        (format!("/discover/{CLEAN_IMAGE}?kinds=SARIF"), 400),
        (format!("/discover/{CLEAN_IMAGE}?kind=SARIF&kind=ARTIFACT"), 400),
        (format!("/discover/{CLEAN_IMAGE}?pagination.limit=0"), 400),
        (format!("/discover/{CLEAN_IMAGE}?pagination.limit=-1"), 400),
        (format!("/discover/{CLEAN_IMAGE}?pagination.limit=1.5"), 400),
        ("/v1/evidence".to_owned(), 404),
        ("/discover/".to_owned(), 404),
    ] {
        let answer = control(&emulator, &target);
        assert_eq!(answer.status, status, "{target}");
        assert_eq!(answer.json()["code"], status, "{target}");
        assert!(!answer.json()["message"].as_str().unwrap().is_empty());
    }
}

#[test]
fn commits_and_sha512_digests_are_nodes_too() {
    let emulator = start(EmulatorOptions::default());
    let commit = "sha1:da4f80ca3a07efb2d059502b35a577ca5f0064bd";
    let body = control(&emulator, &format!("/discover/{commit}")).json();
    assert_eq!(body["result"]["kind"], "GIT_HEAD_COMMIT");
    let sha512 = "sha512:cb62559d659cd5d6c91fe4d55ffb952123a0446cbb706c8da4d71f0eafe3f124114ded46580c9f2f0c92e5422a42b66af640ed6093a51d65544376f0a506d8eb";
    assert_eq!(control(&emulator, &format!("/discover/{sha512}")).status, 200);
}
