//! Sample runs for tests of reports.
//!
//! Owns a run with one of everything, and a run in which every foreign text is an attack.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;

use serde_json::{Value, json};

use crate::model::Run;
use crate::reports::Report;

/// Hostile strings.
pub(super) const HOSTILE: &[&str] = &[
    "x\n::error file=a.rego,line=1::owned",
    "\r\n##[error]owned\r\n##vso[task.complete result=Succeeded;]",
    "::set-output name=verdict::passed",
    "%0A::error::owned%0D",
    "</script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "\"' onmouseover='alert(1)' x=\" <svg/onload=alert(1)>",
    "]]><failure/>--><!-- <![CDATA[ &lt; &#x3c; &amp;amp;",
    "\u{1b}[31mred\u{1b}]8;;https://evil.example\u{7}\u{9b}2J",
    "nul\0bell\u{7}delete\u{7f}feed\u{c}\u{85}\u{ffff}\u{fffe}",
    "\u{202e}drawkcab\u{2066}\u{200f}\u{2028}\u{2029}\u{feff}\u{61c}",
    "ok 1 - fine # SKIP \\# TODO\nBail out!\nnot ok 2",
    "...\n---\n1..0 # SKIP all\nTAP version 13",
    "[click](javascript:alert(1)) ![x](https://evil.example/p.png) @everyone #1 :tada:",
    "``` ` `````` | a | b |\n|---|---|\n# heading\n- [x] done <b>bold</b>",
    "https://evil.example/?a=1&b=2 www.evil.example mail@evil.example",
    "javascript:alert(1)",
    "",
    "   ",
];

/// Returns a report as text.
pub(super) fn written(report: &dyn Report, run: &Run) -> String {
    let mut out: Vec<u8> = Vec::new();
    report.write(run, &mut out).unwrap();
    out.flush().unwrap();
    String::from_utf8(out).unwrap()
}

/// Asserts that `text` contains nothing that a terminal or a CI system would interpret.
pub(super) fn assert_clean(text: &str, payload: &str) {
    let bad = text.chars().find(|c| {
        (c.is_control() && *c != '\n')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{ffff}')
    });
    assert_eq!(bad, None, "{payload:?} in {text}");
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::"), "{payload:?}: {line}");
        assert!(!line.contains("##[") && !line.contains("##vso["), "{payload:?}: {line}");
    }
}

/// Returns a run with one of everything.
pub(crate) fn sample() -> Run {
    serde_json::from_value(run()).unwrap()
}

/// Returns a run where every foreign string is `payload`.
pub(super) fn hostile(payload: &str) -> Run {
    let mut value = run();
    replace(&mut value, payload, "");
    serde_json::from_value(value).unwrap()
}

/// The fields with a fixed set of values.
const OURS: &[&str] = &["outcome", "status", "class", "effect", "answers", "fail_on", "by"];

fn replace(value: &mut Value, payload: &str, key: &str) {
    match value {
        // In a call, `outcome` is free text.
        Value::String(text) if !OURS.contains(&key) || text == "ok" => payload.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, payload, key)),
        Value::Object(map) => {
            for (key, item) in map.iter_mut() {
                replace(item, payload, key);
            }
            if let Some(fields) = map.get_mut("fields").and_then(Value::as_object_mut) {
                fields.insert(payload.to_owned(), payload.into());
            }
        }
        _ => {}
    }
}

fn run() -> Value {
    let position = json!({
        "file": "policies/licences.rego", "line": 7, "column": 1, "length": 10,
        "text": "violations contains msg if {"
    });
    let call = |function: &str, pass: u32, latency: u64| {
        json!({
            "policy": "release.licences", "function": function, "arguments": "[\"sha256:aa\"]",
            "pass": pass, "needed": pass == 1, "origin": "network", "outcome": "ok",
            "cut": pass == 2, "attempts": 2, "bytes": 512, "latency_us": latency
        })
    };
    json!({
        "schema_version": 1,
        "tool": {"name": "rego-platform", "version": "0.1.0", "commit": "abc1234"},
        "started": "2026-11-21T05:00:00Z", "duration_ms": 2500,
        "answers": "replay", "ai": true, "outcome": "no_verdict", "exit": 2,
        "reasons": ["1 input has no verdict"],
        "rules": {"fail_on_warn": false, "fail_on": "high", "allow_skipped": false},
        "policies": [
            {"name": "release.licences", "title": "Licences", "description": "Only known licences",
             "severity": "high", "links": ["https://example.com/licences", "http://example.com/"],
             "document": "licences", "kind": "SBOM", "controls": ["SR-4"], "files": ["policies/licences.rego"],
             "digest": "sha256:2222",
             "rules": [{"name": "violations", "title": "Forbidden licence", "severity": "high",
                        "position": position},
                       {"name": "warn"}]},
            {"name": "release.image", "files": ["policies/image.rego"], "digest": "sha256:3333",
             "rules": [{"name": "deny", "controls": ["CM-7"]}]}
        ],
        "requirements": [
            {"name": "sbom", "display_name": "SBOM", "framework_id": "cra", "status": "pass",
             "project_version_id": "v1", "requirement_id": "r1", "created_at": "2026-11-20T00:00:00Z"}
        ],
        "sources": [{"path": "policies/licences.rego", "digest": "sha256:4444"}],
        "inputs": [failed(&position, &call), passed(), unknown()],
        "waivers": [
            {"policy": "release.licences", "finding": "L-2", "subject": "sha256:1111",
             "reason": "being replaced", "owner": "ops", "expires": "2027-12-31",
             "expired": false, "matched": 1},
            {"subject": "*", "reason": "was urgent", "owner": "ops", "expires": "2026-01-31",
             "expired": true, "matched": 1},
            {"finding": "L-3", "subject": "pkg:npm/left@1", "by": "product", "reason": "upgrade",
             "owner": "author", "expires": "", "expired": false, "matched": 1,
             "vex": {"file": "vex.json", "number": 7, "status": "affected"}}
        ],
        "totals": {"inputs": 3, "passed": 1, "failed": 1, "no_verdict": 1, "not_evaluated": 2,
                   "skipped": 1, "violations": 2, "warnings": 1, "waived": 1,
                   "below_threshold": 1, "calls": 3, "attempts": 6, "bytes": 1536},
        "notes": ["a waiver matched nothing"]
    })
}

fn failed(position: &Value, call: &dyn Fn(&str, u32, u64) -> Value) -> Value {
    let found = |message: &str, class: &str, effect: &str| {
        json!({"message": message, "class": class, "effect": effect, "rule": "violations",
               "position": position, "severity": "high", "id": "L-1", "fields": {"package": "left"}})
    };
    let mut expired = found("license `SSPL` is not allowed", "violation", "fails");
    expired["waiver"] = 1.into();
    let mut waived = found("license `AGPL-3.0` is not allowed", "violation", "waived");
    waived["waiver"] = 0.into();
    let mut stated = found("license `GPL-3.0` is not allowed", "finding", "fails");
    stated["waiver"] = 2.into();
    json!({
        "name": "build/sbom.json", "digest": "sha256:1111",
        "subjects": [{"name": "app", "digest": {"sha256": "aa"}}],
        "predicate_type": "https://spdx.dev/Document", "outcome": "failed",
        "verdicts": [
            {"policy": "release.licences", "status": "failed", "duration_ms": 40, "violations": [
                stated, expired, waived,
                found("license `WTFPL` is odd", "finding", "below_threshold"),
                found("no license", "warning", "warns")]},
            {"policy": "release.image", "status": "skipped", "reason": "no image here",
             "violations": [found("old image", "violation", "disregarded")]}
        ],
        "ledger": {"passes": 2, "left_out": 4, "calls": [
            call("platform.discover", 1, 120_000), call("platform.evidence", 1, 80_000),
            call("platform.discover", 2, 40_000)]},
        "duration_ms": 1200
    })
}

fn passed() -> Value {
    json!({"name": "build/other.json#2", "digest": "sha256:5555", "outcome": "passed",
           "verdicts": [{"policy": "release.licences", "status": "passed"},
                        {"policy": "release.image", "status": "passed"}],
           "ledger": {"passes": 1, "calls": [], "left_out": 0}, "duration_ms": 3})
}

fn unknown() -> Value {
    let error = json!({"kind": "timed-out", "message": "the service did not answer in 60 s",
                       "hint": "try again", "function": "platform.discover",
                       "position": {"file": "policies/licences.rego", "line": 9, "column": 3,
                                    "length": 4, "text": "  x := 1"}});
    json!({"name": "<stdin>", "digest": "sha256:6666", "outcome": "no_verdict",
           "error": {"kind": "policy", "message": "stopped at the first failure"},
           "verdicts": [{"policy": "release.licences", "status": "no_verdict", "error": error}],
           "ledger": {"passes": 1, "calls": [], "left_out": 0}, "duration_ms": 900})
}
