//! `check` and `gate` over policies that come packed: bundles that `opa build` made, and policy
//! documents; with schemas.

use serde_json::{Value, json};

use crate::cli::Sandbox;

/// What `opa build -b` made of two packages, `good` and `p`, and the data `cfg`.
const BUNDLE: &[u8] = include_bytes!("../../../../../testdata/bundles/policies.tar.gz");

const SCHEMA: &str = "{\"required\": [\"a\"], \"properties\": {\"a\": {\"type\": \"number\"}, \"b\": \
                      {\"type\": \"string\"}}}";

const DOCUMENT: &str = "apiVersion: workflowcontract.example/v1
kind: Policy
metadata:
  name: release
spec:
  policies:
    - embedded: |
        package main

        import rego.v1

        # METADATA
        # schemas:
        #   - input.more: {required: [x], properties: {x: {type: string}, y: {type: string}}}
        violations contains \"y\" if startswith(input.more.y, \"x\")

        violations contains \"b\" if startswith(input.b, \"x\")

        violations contains \"nope\" if input.nope == 1

        result := {\"skipped\": false, \"violations\": violations}
";

/// Code, line, and where the message's file begins to be the path inside.
fn found(sandbox: &Sandbox, arguments: &[&str]) -> Vec<(String, u64, String)> {
    let arguments = [&["check", "--format", "json"], arguments].concat();
    let report = sandbox.run(&arguments).output().silent().json();
    let of = |finding: &Value| {
        let file = finding["position"]["file"].as_str().unwrap();
        let inside = file.rsplit(['/', '\\']).next().unwrap().to_owned();
        let code = finding["code"].as_str().unwrap().to_owned();
        (code, finding["position"]["line"].as_u64().unwrap(), inside)
    };
    report["findings"].as_array().unwrap().iter().map(of).collect()
}

fn finding(code: &str, line: u64, file: &str) -> (String, u64, String) {
    (code.to_owned(), line, file.to_owned())
}

#[test]
fn a_bundle_is_checked_like_its_files() {
    let sandbox = Sandbox::new();
    let bundle = sandbox.write("b.tar.gz", BUNDLE);
    let schema = sandbox.write("schema.json", SCHEMA);
    assert_eq!(found(&sandbox, &[&bundle]), []);
    let expected = [finding("type-error", 5, "p.rego")];
    assert_eq!(found(&sandbox, &["-s", &schema, &bundle]), expected);
    assert_eq!(found(&sandbox, &["-s", &schema, "-d", &bundle, "--level", "error"]), expected);
    let output = sandbox.run(&["check", "-s", &schema, &bundle]).output().code(1);
    assert!(output.stdout.contains("b.tar.gz:/p.rego:5:22\n"), "{output:#?}");
    assert!(output.stdout.contains("deny contains \"c\" if input.nope == data.cfg.x"));
    // Nothing is written into a bundle.
    let output = sandbox.run(&["check", "--fix", "-s", &schema, &bundle]).output().code(1);
    assert!(!output.stderr.contains("put "), "{output:#?}");
    assert_eq!(std::fs::read(&bundle).unwrap(), BUNDLE);
    // A file beside it, which the bundle's data is for, too.
    let more = sandbox
        .write("more.rego", "package more\n\ndeny contains \"1\" if input.b == data.cfg.x\n");
    assert_eq!(found(&sandbox, &["-s", &schema, &bundle, &more]), expected);
    let same = sandbox.write("cfg.json", "{\"cfg\": {\"x\": 2}}");
    let report =
        sandbox.run(&["check", "--format", "json", &bundle, "-d", &same]).output().code(1).json();
    assert_eq!(report["findings"][0]["code"], "data-conflict", "{report:#}");
}

#[test]
fn a_gate_over_a_bundle_and_a_document_holds_them_to_the_schema() {
    let sandbox = Sandbox::new();
    let bundle = sandbox.write("b.tar.gz", BUNDLE);
    let document = sandbox.write("release.yaml", DOCUMENT);
    let schema = sandbox.write("schema.json", SCHEMA);
    let input =
        sandbox.write("i.json", "{\"a\": 1, \"b\": \"xy\", \"nope\": 0, \"more\": {\"x\": \"x\"}}");
    for policy in [&bundle, &document] {
        let refused = ["gate", "-s", &schema, "-d", policy, "-i", &input, "--format", "json"];
        let report =
            sandbox.local(&refused).output().fails("undefined ref: input.nope; have").json();
        assert_eq!(report["outcome"], "no_verdict", "{report:#}");
        let message = report["failure"]["message"].as_str().unwrap();
        assert!(message.contains("undefined ref: input.nope"), "{report:#}");
        let asked = ["gate", "-d", policy, "-i", &input, "--format", "json"];
        let report = sandbox.local(&asked).output().code(1).json();
        assert_eq!(report["outcome"], "failed", "{report:#}");
    }
    // A schema that fits changes no verdict.
    let fits = SCHEMA.replace("\"b\":", "\"nope\": {\"type\": \"number\"}, \"more\": {}, \"b\":");
    let fits = sandbox.write("fits.json", fits);
    for policy in [&bundle, &document] {
        let verdict = |more: &[&str]| {
            let asked = ["gate", "-d", policy, "-i", &input, "--format", "json"];
            let report = sandbox.local(&[&asked[..], more].concat()).output().code(1).json();
            let verdicts = report["inputs"][0]["verdicts"].as_array().unwrap();
            let said =
                verdicts.iter().map(|verdict| json!([verdict["outcome"], verdict["violations"]]));
            json!([report["outcome"], said.collect::<Vec<_>>()])
        };
        assert_eq!(verdict(&["-s", &fits]), verdict(&[]));
    }
}

#[test]
fn a_policy_document_is_checked_with_its_annotations() {
    let sandbox = Sandbox::new();
    let document = sandbox.write("release.yaml", DOCUMENT);
    let schema = sandbox.write("schema.json", SCHEMA.replace("\"b\":", "\"more\": {}, \"b\":"));
    let inside = "release.yaml";
    assert_eq!(found(&sandbox, &[&document]), []);
    let expected = [finding("type-error", 19, inside)];
    assert_eq!(found(&sandbox, &["-s", &schema, &document]), expected);
}

#[test]
fn a_bundle_in_a_folder_is_loaded() {
    let sandbox = Sandbox::new();
    sandbox.write("policies/r.rego", "package r\n\nviolations contains 1 if data.p.deny\n");
    sandbox.write("policies/b.tar.gz", BUNDLE);
    let folder = sandbox.path("policies");
    let folder = folder.to_str().unwrap();
    let output = sandbox.run(&["eval", "-d", folder, "data.r", "-f", "raw"]).output().code(0);
    assert_eq!(output.stdout.trim(), "{\"violations\":[1]}");
}
