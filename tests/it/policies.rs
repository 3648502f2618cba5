//! The shipped policies over the shipped data: their verdicts on their inputs, in passes and one
//! call at a time, and on missing and hostile answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rego_platform::Value;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{SourceLimits, Sources};
use rego_platform::evaluate::{Evaluated, Policies, QueryOutput};
use rego_platform::functions::FunctionSet;
use rego_platform::{NotFound, Platform, Token};
use rego_platform_emulator::Emulator;
use serde_json::{Value as Json, json};

use crate::support::{self, builder, emulator, options, platform};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root(path)).unwrap()
}

fn input(path: &str) -> String {
    text(&format!("testdata/inputs/{path}.json"))
}

fn policy(name: &str) -> (String, String) {
    let folder = if name == "release_gate" { "examples/release_gate" } else { "policies" };
    let path = format!("{folder}/{name}.rego");
    let text = text(&path);
    (path, text)
}

fn token(emulator: &Emulator, name: &str) -> Token {
    Token::new(emulator.token(name).unwrap()).unwrap()
}

/// Returns a policy, which is compiled once.
fn compiled(name: &str) -> Arc<Policies> {
    static COMPILED: Mutex<BTreeMap<String, Arc<Policies>>> = Mutex::new(BTreeMap::new());
    let compile = || {
        let (path, text) = policy(name);
        Arc::new(support::policies(&[(&path, &text)]))
    };
    let mut compiled = COMPILED.lock().unwrap();
    Arc::clone(compiled.entry(name.to_owned()).or_insert_with(compile))
}

/// Evaluates a rule in passes.
fn batched(platform: &Platform, name: &str, rule: &str, input: &str) -> Evaluated {
    let policies = compiled(name);
    support::evaluate(&policies, &format!("data.{name}.{rule}"), input, &options(platform))
}

/// Evaluates a rule with one call at a time.
fn plain(platform: &Platform, name: &str, rule: &str, input: &str) -> Value {
    let policies = compiled(name);
    let mut options = options(platform);
    options.budget.one_at_a_time = true;
    let query = format!("data.{name}.{rule}");
    let evaluated = support::evaluate(&policies, &query, input, &options);
    let output = evaluated.result.unwrap_or_else(|e| panic!("{name}: {}", e.report()));
    output.value().unwrap_or_else(|| panic!("{name}: {rule} is undefined")).clone()
}

fn as_json(value: &Value) -> Json {
    serde_json::to_value(value).unwrap()
}

fn value(output: &QueryOutput) -> Json {
    as_json(output.value().unwrap())
}

/// Returns the messages of a set of violations, in its order.
fn messages(value: &Json) -> Vec<String> {
    let list = value.as_array().unwrap_or_else(|| panic!("not a list: {value}"));
    let message = |v: &Json| v.as_str().or(v["message"].as_str()).unwrap().to_owned();
    list.iter().map(message).collect()
}

/// Returns the verdict rule's answer: the same in passes, one call after another, and with a record of what
/// is reached.
fn verdict(platform: &Platform, name: &str, rule: &str, input: &str) -> Json {
    let evaluated = batched(platform, name, rule, input);
    let output = evaluated.result.unwrap_or_else(|e| panic!("{name}: {}", e.report()));
    let found = value(&output);
    assert_eq!(found, as_json(&plain(platform, name, rule, input)), "{name}.{rule}");
    let mut surveyed = options(platform);
    surveyed.reached = true;
    let policies = compiled(name);
    let evaluated = support::evaluate(&policies, &format!("data.{name}.{rule}"), input, &surveyed);
    assert_eq!(found, value(&evaluated.result.unwrap()), "{name}.{rule} differs when surveyed");
    found
}

/// Checks the violations of a policy's two inputs.
#[track_caller]
fn check(name: &str, rule: &str, expected: &[&str]) {
    let emulator = emulator();
    let platform = platform(&emulator);
    let passed = verdict(&platform, name, rule, &input(&format!("{name}/pass")));
    assert_eq!(passed, json!([]), "{name}");
    let failed = verdict(&platform, name, rule, &input(&format!("{name}/fail")));
    assert_eq!(messages(&failed), expected, "{name}");
}

#[test]
fn upstream_attestations() {
    check("upstream_attestations", "deny", &["attestation `barcode-kit` has policy violations"]);
}

#[test]
fn required_evidence() {
    check(
        "required_evidence",
        "deny",
        &[
            "SARIF `codescan` comes from the workflow `manual-upload`, not from `security-scan`",
            "missing SARIF from the workflow `security-scan`",
        ],
    );
}

#[test]
fn sbom_licences() {
    check(
        "sbom_licences",
        "deny",
        &[
            "`acme-legacy-fonts@0.9.0` in SBOM `sbom` has the licence `name:see LICENSE.txt`, \
             which is not approved",
            "`barcode-kit@2.1.0` in SBOM `sbom` has the licence `GPL-3.0-or-later`, \
             which is not approved",
            "`ghostscript-wasm@10.4.0` in SBOM `sbom` has the licence `AGPL-3.0-only`, \
             which is not approved",
            "`tiny-queue@0.2.1` in SBOM `sbom` has no licence",
        ],
    );
}

#[test]
fn release_compliance() {
    check(
        "release_compliance",
        "violations",
        &[
            "`Static analysis` of the framework `product-security` has the status `fail`",
            "`Tests pass` of the framework `product-security` has the status `fail`",
            "`Threat model reviewed` of the framework `product-security` has the status `pending`",
            "`Dependencies attested` of the framework `secure-supply-chain` has the status `fail`",
            "`Licences approved` of the framework `secure-supply-chain` has the status `fail`",
        ],
    );
}

#[test]
fn release_gate() {
    check(
        "release_gate",
        "deny",
        &[
            "`Dependencies attested` has the status `pending` because of `ledger-batch`",
            "`Hosted build` has the status `fail` because of `ledger-batch`",
            "`Licences approved` has the status `fail` because of `ledger-batch`",
            "`SBOM present` has the status `partial` because of `ledger-batch`",
            "`Secrets scanned` has the status `pending`",
            "`Tests pass` depends on the test `month-end-closing`, which has expired",
            "`Tests pass` depends on the test `restore-from-backup`, which has expired",
            "`Tests pass` has the status `fail` because of `ledger-batch`",
            "`Threat model reviewed` depends on the test `attack-tree-current`, which has expired",
            "`Threat model reviewed` has the status `partial` because of `ledger-batch`",
            "`Two-person review` has the status `inactive` because of `ledger-batch`",
            "`staging` isn't an environment for releases",
        ],
    );
}

#[test]
fn document_review() {
    check(
        "document_review",
        "deny",
        &[
            "the AI review of `payments-api.openvex.json` was skipped, \
             and no reviewer approved it",
            "the document `threat-model-draft.md`: SQL injection in search is accepted \
             without a mitigation",
            "the document `threat-model-draft.md`: the assets are not named",
            "the document `threat-model-draft.md`: the document has no owner \
             and was never reviewed",
        ],
    );
}

#[test]
fn base_image_provenance() {
    check(
        "base_image_provenance",
        "deny",
        &[
            "`sha256:ba7cc925207eb68348b3d0e3a6f3d12629dac1d61d51ede974a4f6108e9238b5`, \
             provenance of the base image, comes from the builder \
             `https://laptop.example/local-build`",
            "`sha256:ba7cc925207eb68348b3d0e3a6f3d12629dac1d61d51ede974a4f6108e9238b5`, \
             provenance of the base image, describes another image",
        ],
    );
}

#[test]
fn test_reports() {
    check("test_reports", "deny", &["`unit-tests` reports 1 with the outcome `failure`"]);
}

#[test]
fn static_analysis() {
    check(
        "static_analysis",
        "problems",
        &["codescan: error: query is built from user input (src/search.js:42)"],
    );
    let emulator = emulator();
    let result = verdict(&platform(&emulator), "static_analysis", "result", &input("release/pass"));
    assert_eq!(
        result,
        json!({"skipped": false, "skip_reason": "", "ignore": false, "violations": []})
    );
}

#[test]
fn a_review_by_hand_is_shown() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let shown = verdict(&platform, "document_review", "warn", &input("document_review/pass"));
    assert_eq!(
        messages(&shown),
        ["the AI review of `payments-api.openvex.json` was skipped; \
             `security@acme.example` approved it"]
    );
    // The AI is off for the other organization, and no document was approved there.
    let other = builder(&emulator).token(token(&emulator, "globex-ci")).build().unwrap();
    let notes = r#"{"documents": [{"name": "notes", "digest":
        "sha256:882ee3b7f6847fffd751afebb5f4f000098af868eb65be8f010c3c42a21822a9"}]}"#;
    let denied = verdict(&other, "document_review", "deny", notes);
    let expected = ["the AI review of `notes` was skipped, and no reviewer approved it"];
    assert_eq!(messages(&denied), expected);
}

/// Every policy and its verdict rule.
const POLICIES: [(&str, &str); 9] = [
    ("base_image_provenance", "deny"),
    ("document_review", "deny"),
    ("release_compliance", "violations"),
    ("release_gate", "deny"),
    ("required_evidence", "deny"),
    ("sbom_licences", "deny"),
    ("static_analysis", "problems"),
    ("test_reports", "deny"),
    ("upstream_attestations", "deny"),
];

#[test]
fn every_policy_is_tested() {
    let mut found: Vec<String> = std::fs::read_dir(root("policies"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".rego").map(str::to_owned))
        .filter(|name| !name.ends_with("_test"))
        .collect();
    // It calls functions that are off by default, and so has its own folder.
    found.push("release_gate".to_owned());
    found.sort();
    assert_eq!(found, POLICIES.map(|(name, _)| name));
    for name in found {
        assert!(policy(&name).1.contains(&format!("\npackage {name}\n")), "{name}");
        assert!(root(&format!("testdata/inputs/{name}/pass.json")).exists(), "{name}");
    }
}

#[test]
fn one_input_serves_all_policies() {
    let emulator = emulator();
    let platform = platform(&emulator);
    for (name, rule) in POLICIES {
        let passed = verdict(&platform, name, rule, &input("release/pass"));
        assert_eq!(passed, json!([]), "{name}");
        let failed = verdict(&platform, name, rule, &input("release/fail"));
        // Both releases have the same base image.
        assert_eq!(messages(&failed).is_empty(), name == "base_image_provenance", "{name}");
    }
}

#[test]
fn an_input_without_anything_passes_nowhere() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let null = r#"{"image": null, "project": null, "version": null, "project_version_id": null,
        "documents": [null], "product_id": null, "product_version_id": null,
        "environment": null}"#;
    for (name, rule) in POLICIES {
        for text in ["{}", "[]", "null", r#""release""#, null] {
            let evaluated = batched(&platform, name, rule, text);
            // A malformed argument is an error, which isn't a verdict either.
            if let Ok(output) = evaluated.result {
                assert!(!messages(&value(&output)).is_empty(), "{name} passes {text}");
            }
        }
    }
}

/// If the call at `index` fails, a policy never passes.
#[test]
fn no_policy_passes_when_a_call_fails() {
    let emulator = emulator();
    for (name, rule) in POLICIES {
        let text = input(&format!("{name}/pass"));
        emulator.set_faults(Vec::new());
        emulator.clear_requests();
        batched(&platform(&emulator), name, rule, &text).result.unwrap();
        let requests = emulator.requests().len();
        assert!(requests > 0, "{name} asks nothing");
        for index in (0..requests).step_by(requests.div_ceil(8)) {
            // Not one of the failures that are retried.
            emulator
                .set_faults(vec![format!("*:status=501:after={index}:count=1").parse().unwrap()]);
            let evaluated = batched(&platform(&emulator), name, rule, &text);
            assert!(evaluated.result.is_err(), "{name} passes without the answer to call {index}");
        }
    }
}

/// A host may choose that "not found" is undefined: then a missing resource is a violation.
#[test]
fn no_policy_passes_on_what_is_not_found() {
    let emulator = emulator();
    let platform = builder(&emulator).not_found(NotFound::Undefined).build().unwrap();
    // A 404 of a list or a prompt is still an error: it comes from another server.
    let mut verdicts = 0;
    for (name, rule) in POLICIES {
        let text = input(&format!("{name}/pass"));
        emulator.set_faults(Vec::new());
        emulator.clear_requests();
        batched(&platform, name, rule, &text).result.unwrap();
        let requests = emulator.requests().len();
        for index in (0..requests).step_by(requests.div_ceil(8)) {
            let fault = format!("*:status=404:after={index}:count=1");
            emulator.set_faults(vec![fault.parse().unwrap()]);
            // Content that the store lacks is still an error: the platform has it.
            if let Ok(output) = batched(&platform, name, rule, &text).result {
                let found = messages(&value(&output));
                assert!(!found.is_empty(), "{name} passes without the answer to call {index}");
                verdicts += 1;
            }
        }
    }
    assert!(verdicts > 0);
}

#[test]
fn independent_calls_are_sent_together() {
    let emulator = emulator();
    let platform = platform(&emulator);
    for (name, rule) in POLICIES {
        let evaluated = batched(&platform, name, rule, &input(&format!("{name}/pass")));
        evaluated.result.unwrap();
        // One pass for each level of the graph, one for the result; downloads depend on a list.
        let most = match name {
            "upstream_attestations" => 4,
            "base_image_provenance" => 5,
            _ => 3,
        };
        assert!(evaluated.ledger.passes <= most, "{name}: {}", evaluated.ledger.table());
    }
}

#[test]
fn missing_evidence_is_named() {
    let emulator = emulator();
    let platform = platform(&emulator);
    let unevaluated = r#"{"project_version_id": "2fb90197-269e-5a23-8348-44b594d0d003"}"#;
    let violations = verdict(&platform, "release_compliance", "violations", unevaluated);
    assert_eq!(
        messages(&violations),
        [
            "the framework `product-security` was not evaluated",
            "the framework `secure-supply-chain` was not evaluated",
        ]
    );
    let silent = input("base_image_provenance/fail");
    let violations = verdict(&platform, "upstream_attestations", "deny", &silent);
    assert_eq!(
        messages(&violations),
        ["attestation `build` doesn't say whether it has policy violations"]
    );
    // An image without attestations.
    let older =
        r#"{"image": "sha256:f48d2c5c7620217fdb41c0fd0dbe0630db8b31b90ee7ef35fa84d41089edaa37"}"#;
    for (name, expected) in [
        ("upstream_attestations", "no attestation refers to `sha256:f48d"),
        ("base_image_provenance", "no attestation describes how `sha256:f48d"),
    ] {
        let violations = messages(&verdict(&platform, name, "deny", older));
        assert!(matches!(violations.as_slice(), [one] if one.starts_with(expected)), "{name}");
    }
}

/// The policies' own tests, with mocks in place of the service.
#[test]
fn the_policies_own_tests_pass() {
    let sources = Sources::read([root("policies").to_str().unwrap()], SourceLimits::default());
    let mut all = LoadOptions::default();
    all.enabled = FunctionSet::all();
    let policies =
        Policies::load(&sources.unwrap(), all).unwrap_or_else(|e| panic!("{}", e.report()));
    // No address: a call that isn't mocked fails.
    let everything = Platform::builder().functions(FunctionSet::all());
    let options = options(&everything.build().unwrap());
    let (mut tests, mut failed) = (0, Vec::new());
    for package in policies.packages().filter(|package| package.is_test) {
        for rule in package.rules.iter().map(|rule| rule.path.join(".")) {
            if !rule.contains(".test_") {
                continue;
            }
            let query = policies.query(&format!("data.{rule}")).unwrap();
            let output = policies.evaluate(&query, None, &options).result;
            match output {
                Ok(output) if output.value() == Some(&Value::from(true)) => {}
                Ok(output) => failed.push(format!("{rule}: {:?}", output.value())),
                Err(error) => failed.push(format!("{rule}: {}", error.report())),
            }
            tests += 1;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(tests > 30, "{tests}");
}
