//! `call`: each function through the emulator, and every way to write an argument.

use serde_json::json;

use super::Sandbox;
use crate::emulator::{AMBIGUOUS, BINARY, CLEAN_IMAGE, STORED_ONLY, THREAT_MODEL};

const VERSION: &str = "e6f7c74d-1750-5f0a-a1a0-1bb0531a1a5c";

#[test]
fn discover_takes_a_digest_and_perhaps_a_kind() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["call", "discover", CLEAN_IMAGE][..],
        &["call", "platform.discover", CLEAN_IMAGE, "CONTAINER_IMAGE"],
        &["call", "discover", CLEAN_IMAGE, ""],
    ] {
        let answer = sandbox.local(arguments).output().code(0).silent().json();
        assert_eq!(answer["digest"], CLEAN_IMAGE);
        assert!(!answer["references"].as_array().unwrap().is_empty());
    }
    let output = sandbox
        .local(&["call", "discover", AMBIGUOUS])
        .output()
        .fails("platform.discover: the service rejected the request");
    let output = output.says("error: platform.discover: ").says("SBOM_CYCLONEDX_JSON");
    assert_eq!(output.stdout, "");
}

#[test]
fn evidence_takes_words_or_json() {
    let sandbox = Sandbox::new();
    let count = |arguments: &[&str]| {
        let output = sandbox.local(&[&["call", "evidence"], arguments].concat()).output().code(0);
        output.json()["results"].as_array().unwrap().len()
    };
    let all = count(&[]);
    let two = count(&["kind=SARIF", "kind=JUNIT_XML"]);
    assert!(two > 0 && two < all);
    assert_eq!(count(&[r#"kind=["SARIF","JUNIT_XML"]"#]), two);
    assert_eq!(count(&[r#"{"kind": ["SARIF", "JUNIT_XML"]}"#]), two);
    assert_eq!(count(&["limit=2"]), 2);
    assert!(count(&["latest=true"]) < all);
    for (word, says) in [
        ("knd=x", "did you mean `kind`"),
        ("latest=yes", "expected a boolean"),
        ("limit=1.5", "whole number"),
        ("kind=", "is empty"),
        ("word", "isn't a valid filter"),
        ("{", "isn't a JSON object"),
        ("{\"kind\": \"A\", \"kind\": \"B\"}", "the key `kind` appears twice"),
    ] {
        sandbox.local(&["call", "evidence", word]).output().fails(says);
    }
    let output = sandbox.local(&["call", "evidence", "kind=SARIFF"]).output().code(0);
    output.says("warning: `SARIFF` isn't a known `kind`; did you mean `\"SARIF\"`?");
    let output = sandbox.local(&["call", "evidence", "kind=SARIF"]).output().code(0);
    assert!(!output.stderr.contains("warning"), "{output:#?}");
}

#[test]
fn compliance_needs_its_version() {
    let sandbox = Sandbox::new();
    let version = format!("project_version_id={VERSION}");
    let answer = sandbox.local(&["call", "project_compliance", &version]).output().code(0).json();
    assert_eq!(answer["evaluations"].as_array().unwrap().len(), 11);
    let output = sandbox
        .local(&["call", "project_compliance"])
        .output()
        .fails("platform.project_compliance: argument `filters` lacks the");
    output.says("lacks the key `project_version_id`");
}

#[test]
fn prompts_take_digests_texts_files_and_standard_input() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("doc.md", "a document");
    let at = format!("@{file}");
    for evidence in [THREAT_MODEL, "a document", &at, "-"] {
        let run = sandbox.local(&["call", "evidence_prompt", evidence, "is it complete?"]);
        let answer = run.stdin("from standard input").output().code(0).json();
        assert!(answer["skipped"].is_boolean() && answer["violations"].is_array());
    }
    let run = sandbox.local(&["call", "evidence_prompt", "x", "please fail"]);
    run.output().fails("error: platform.evidence_prompt:");
    let run = sandbox.local(&["call", "evidence_prompt", "@/nonexistent", "p"]);
    run.output().fails("doesn't exist").says("`@@`");
}

#[test]
fn downloads_are_json_or_the_bytes() {
    let sandbox = Sandbox::new();
    let bytes = std::fs::read(
        crate::emulator::data().join("artifacts/sha256").join(BINARY.split_once(':').unwrap().1),
    )
    .unwrap();
    let call = ["call", "download_artifact", BINARY];
    let text = sandbox.local(&call).output().code(0).json();
    assert_eq!(base64(&bytes), text);
    let (output, raw) = sandbox.local(&[&call[..], &["--format", "raw"]].concat()).bytes();
    assert_eq!((output.code, &raw), (Some(0), &bytes));
    let file = sandbox.write("out", "before");
    let arguments = ["--format", "raw", "--output", &file];
    let output = sandbox.local(&[&call[..], &arguments].concat()).output().code(0);
    assert_eq!(output.stdout, "");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let run = sandbox.local(&["call", "discover", CLEAN_IMAGE, "--format", "raw"]);
    run.output().fails("`--format raw`");
}

#[test]
fn a_failed_call_leaves_the_file_as_it_was() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("out", "before");
    let arguments = ["call", "download_artifact", BINARY, "--format", "raw", "-o", &file];
    let run = sandbox.local(&[&arguments[..], &["--fault", "store:wrong-bytes"]].concat());
    run.output().fails("digest mismatch");
    assert_eq!(std::fs::read(&file).unwrap(), b"before");
    let run = sandbox.local(&["call", "download_artifact", STORED_ONLY, "-o", &file]);
    run.output().fails("platform.download_artifact: not found or not allowed for this API token");
    assert_eq!(std::fs::read(&file).unwrap(), b"before");
}

#[test]
fn an_unknown_function_names_the_nearest_and_all() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["call", "discoverr"]).output().fails("unknown function `discoverr`");
    let output = output.says("unknown function `discoverr`").says("did you mean `discover`?");
    output.says("`download_artifact`");
    let output = sandbox.run(&["call", "platform.\u{1b}[31m"]).output().fails("unknown function");
    assert!(!output.stderr.contains('\u{1b}'));
    sandbox.local(&["call", "discover"]).output().fails("missing argument: `digest`");
    let run = sandbox.local(&["call", "discover", CLEAN_IMAGE, "", "x"]);
    run.output().fails("unexpected argument `x`").says("discover(digest, kind)");
}

#[test]
fn not_found_is_undefined_only_when_asked_for() {
    let sandbox = Sandbox::new();
    let digest = format!("sha256:{}", "0".repeat(64));
    let call = ["call", "discover", &digest];
    sandbox.local(&call).output().fails("platform.discover: no such resource of the service");
    let run = sandbox.local(&[&call[..], &["--not-found", "undefined"]].concat());
    assert_eq!(run.output().code(0).stdout, "");
    let faults = ["--not-found", "undefined", "--fault", "discover:status=403"];
    sandbox
        .local(&[&call[..], &faults].concat())
        .output()
        .fails("platform.discover: not found or not allowed for this API token (403)");
}

#[test]
fn text_from_the_service_gives_no_commands() {
    let sandbox = Sandbox::new();
    let body = r#"discover:status=400:body={"message":"x\n::error::owned\u001b[2J"}"#;
    let run = sandbox.local(&["call", "discover", CLEAN_IMAGE, "--fault", body]);
    let output = run.output().fails("owned");
    assert!(!output.stderr.contains('\u{1b}'));
    assert!(!output.stderr.lines().any(|line| line.starts_with("::")), "{output:#?}");
}

#[test]
fn faults_need_an_emulator() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["call", "evidence", "--fault", "evidence:status=500"]);
    run.output().fails("`--local DIR`");
    let run = sandbox.local(&["call", "evidence", "--fault", "evidence:explode"]);
    run.output().fails("fault `evidence:explode`");
    let run =
        sandbox.local(&["call", "evidence", "limit=1", "--fault", "evidence:status=503:count=1"]);
    run.output().code(0);
}

fn base64(bytes: &[u8]) -> serde_json::Value {
    use ::base64::Engine as _;
    json!(::base64::engine::general_purpose::STANDARD.encode(bytes))
}

#[test]
fn hints_have_the_products_name() {
    let sandbox = Sandbox::new();
    for (product, arguments) in
        [("platform", &["discover"][..]), ("chainloop", &["discover", "a", "b", "c"])]
    {
        let run = sandbox.local(&[&["call", "--product", product], arguments].concat());
        run.output().fails(&format!("call it as {product}.discover(digest, kind);"));
    }
    let query = "chainloop.evidence_prompt(\"\", 1)";
    let output = sandbox
        .local(&["eval", "--product", "chainloop", query])
        .output()
        .fails("`chainloop.evidence_prompt`: argument `evidence` is empty");
    output.says("call it as chainloop.evidence_prompt(evidence, prompt)\n");
}
