//! OSCAL's assessment results: controls that policies name, and those that the service evaluates.

use serde_json::{Value, json};

use crate::cli::Sandbox;
use crate::hostile::script;
use crate::hostile::server::Server;

const VERSION: &str = "1a1a1a1a-0000-4000-8000-00000000000a";

fn policy() -> String {
    format!(
        "# METADATA\n# custom:\n#   controls: [AC-2, \"AC 3\"]\npackage p\n\n\
         # METADATA\n# custom:\n#   controls: [CM-7]\ndeny contains \"it is bad\" if input.bad\n\n\
         # METADATA\n# custom:\n#   controls: CM-8\ndeny_worse contains \"it is worse\" if input.worse\n\n\
         deny_incomplete contains \"an evaluation is missing\" if {{\n\t\
         count(platform.project_compliance({{\"project_version_id\": \"{VERSION}\"}}).evaluations) != 3\n}}\n"
    )
}

fn evaluations() -> Value {
    let row = |name: &str, framework: &str, status: &str| {
        json!({
            "requirement_id": name.to_uppercase(), "name": name, "display_name": format!("The {name}"),
            "framework_id": framework, "status": status, "project_version_id": VERSION,
        })
    };
    let rows = [row("sbom", "a", "pass"), row("sbom", "b", "pass"), row("scan", "a", "partial")];
    json!({"evaluations": rows, "pagination": {"next_cursor": ""}})
}

/// Returns the state of each control, by its identifier.
fn states(report: &Value) -> Vec<String> {
    let findings = report["assessment-results"]["results"][0]["findings"].as_array().unwrap();
    let state = |finding: &Value| {
        let target = &finding["target"];
        let texts = [&target["target-id"], &target["status"]["state"], &target["status"]["reason"]];
        texts.map(|text| text.as_str().unwrap()).join(" ")
    };
    findings.iter().map(state).collect()
}

#[test]
fn the_controls_of_policies_and_of_the_service_are_findings() {
    let server = Server::start(|_| {
        script::status(200, &[("content-type", "application/json")], &evaluations().to_string())
    });
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", policy());
    let (good, bad) =
        (sandbox.write("good.json", "{}"), sandbox.write("bad.json", "{\"bad\": true}"));
    let file = sandbox.path("oscal.json");
    let output = format!("oscal={}", file.display());
    let given = ["gate", "-d", &policy, "-o", &output, "-f", "json", "-i", &good];
    let service = ["--base-url", &server.url(), "--controlplane-url", &server.url()];
    let run = |more: &[&str]| {
        let run = sandbox
            .run(&[&given[..], more].concat())
            .env("PLATFORM_TOKEN", "token-of-this-test")
            .output();
        let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        (run, report)
    };
    let (output, report) = run(&service);
    let json = output.code(0).json();
    let other = "_cde51faa-1432-501c-a104-03d7f0d979e2";
    let expected = |ac: &str, cm: &str, sbom: &str| {
        let scan = "scan not-satisfied other".to_owned();
        [
            format!("{other} {ac}"),
            format!("AC-2 {ac}"),
            format!("CM-7 {cm}"),
            format!("sbom {sbom}"),
            scan,
        ]
    };
    let pass = "satisfied pass";
    assert_eq!(states(&report), expected(pass, pass, pass));
    let rows = json["requirements"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!((&rows[0]["name"], &rows[0]["status"]), (&json!("sbom"), &json!("pass")));
    // The controls of `deny_worse` aren't in the form that they have.
    let notes = json["notes"].to_string();
    assert!(
        notes.contains("isn't an array of names above a package or a verdict rule")
            && notes.contains("p.rego:11:1"),
        "{notes}"
    );

    // The same run again has the same identifiers.
    let (_, again) = run(&service);
    assert_eq!(again["assessment-results"]["uuid"], report["assessment-results"]["uuid"]);

    let (output, report) = run(&[&service[..], &["-i", &bad]].concat());
    output.code(1);
    assert_eq!(states(&report), expected("not-satisfied fail", "not-satisfied fail", pass));

    // What passes with answers of an emulator isn't evidence.
    let fault = format!("compliance:status=200:body={}", evaluations());
    let file_of_data = sandbox.path("oscal.json");
    let local = [&given[..], &["--fault", &fault]].concat();
    sandbox.served(&local).output().code(0);
    let report: Value = serde_json::from_slice(&std::fs::read(file_of_data).unwrap()).unwrap();
    let open = "not-satisfied other";
    assert_eq!(states(&report), expected(open, open, open));
    let text = report.to_string();
    assert!(text.contains("responses from an emulator"), "{text}");
}

#[test]
fn a_list_that_a_policy_cuts_meets_no_control() {
    let server = Server::start(|_| {
        script::status(200, &[("content-type", "application/json")], &evaluations().to_string())
    });
    let sandbox = Sandbox::new();
    let cut = policy().replace("\"}).evaluations) != 3", "\", \"limit\": 1}).evaluations) != 1");
    let policy = sandbox.write("p.rego", cut);
    let input = sandbox.write("good.json", "{}");
    let arguments = ["gate", "-d", &policy, "-i", &input, "-f", "oscal"];
    let service = ["--base-url", &server.url(), "--controlplane-url", &server.url()];
    let run = sandbox.run(&[&arguments[..], &service].concat());
    let report = run.env("PLATFORM_TOKEN", "token-of-this-test").output().code(0).json();
    assert!(states(&report).contains(&"sbom not-satisfied other".to_owned()), "{report}");
}

#[test]
fn a_policy_that_is_left_out_leaves_every_control_open() {
    let sandbox = Sandbox::new();
    let policy = |name: &str| {
        let head = "# METADATA\n# custom:\n#   controls: [AC-2]\npackage";
        sandbox.write(
            &format!("{name}.rego"),
            format!("{head} {name}\n\ndeny contains \"no\" if input.bad\n"),
        )
    };
    let (one, other) = (policy("one"), policy("other"));
    let input = sandbox.write("good.json", "{}");
    let arguments = ["gate", "-d", &one, "-d", &other, "-i", &input, "-f", "oscal"];
    let report = sandbox.run(&arguments).output().code(0).json();
    assert_eq!(states(&report), ["AC-2 satisfied pass"]);
    let skip = [&arguments[..], &["--skip", "other"]].concat();
    let report = sandbox.run(&skip).output().code(0).json();
    assert_eq!(states(&report), ["AC-2 not-satisfied other"]);
    assert!(report.to_string().contains("policies left out by name"), "{report}");
}
