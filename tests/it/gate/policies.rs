//! Bundles, policy documents and waivers.

use super::{DENY_BAD, gate};
use crate::cli::Sandbox;

const DOCUMENT: &str = "apiVersion: example/v1\nkind: Policy\nmetadata:\n  name: limits\nspec:\n  \
    inputs:\n    - name: max\n      required: true\n    - name: names\n      default: a,b\n  \
    policies:\n    - kind: JSON\n      embedded: |\n        package main\n\n        \
    valid_input if input.n\n\n        \
    violations contains \"too many\" if input.n > to_number(input.args.max)\n\n        \
    violations contains \"names\" if count(input.args.names) != 2\n";

fn document(sandbox: &Sandbox, text: &str, arguments: &[&str], input: &str) -> crate::cli::Output {
    let file = sandbox.write("policy.yaml", text);
    let fixed = ["gate", "-d", &file, "-i", "-", "-f", "json"];
    sandbox.run(&[&fixed[..], arguments].concat()).stdin(input).output()
}

#[test]
fn policy_documents_get_their_arguments() {
    let sandbox = Sandbox::new();
    let run = |arguments: &[&str], input: &str| document(&sandbox, DOCUMENT, arguments, input);
    run(&["--arg", "max=5"], "{\"n\": 5}").code(0);
    let report = run(&["--arg", "max=5"], "{\"n\": 6}").code(1).json();
    let verdict = &report["inputs"][0]["verdicts"][0];
    assert_eq!(verdict["policy"], "limits");
    // The rule's line in the document.
    let line = verdict["violations"][0]["position"]["line"].as_u64().unwrap();
    let line = DOCUMENT.lines().nth(usize::try_from(line).unwrap() - 1).unwrap();
    assert!(line.contains("violations contains"), "{line}");
    let report = run(&["--arg", "max=5"], "{}").code(2).json();
    let verdict = &report["inputs"][0]["verdicts"][0];
    assert_eq!(verdict["reason"], "the file content is not recognized");
    run(&[], "{\"n\": 5}").code(2).says("needs the argument `max`");
    run(&["--arg", "max=5", "--arg", "mx=1"], "{\"n\": 5}").code(2).says("did you mean `max`");
    run(&["--arg", "max=5", "-n", "limits"], "{\"n\": 5}").code(0);
    run(&["--arg", "max=5", "-n", "limit"], "{\"n\": 5}").code(2).says("did you mean `limits`");
    run(&["--arg", "max=5", "--kind", "JSON"], "{\"n\": 5}").code(0);
    run(&["--arg", "max=5", "--kind", "SARIF"], "{\"n\": 5}").code(2).says("no policies");
}

#[test]
fn policies_for_other_kinds_are_left_out_and_named() {
    let sandbox = Sandbox::new();
    let text = "apiVersion: example/v1\nkind: Policy\nmetadata:\n  name: NAME\nspec:\n  policies:\n    \
        - kind: KIND\n      embedded: |\n        package main\n\n        \
        violations contains \"never\"\n";
    let file =
        sandbox.write("p.yaml", text.replace("NAME", "sbom").replace("KIND", "SBOM_SPDX_JSON"));
    let plain = sandbox.write("p.rego", DENY_BAD);
    let run = |kind: &str| {
        let arguments =
            ["gate", "-d", &file, "-d", &plain, "-i", "-", "-f", "json", "--kind", kind];
        sandbox.run(&arguments).stdin("{}").output()
    };
    let report = run("SARIF").code(0).json();
    assert!(report["notes"][0].as_str().unwrap().contains("`sbom` is for `SBOM_SPDX_JSON`"));
    run("SBOM_SPDX_JSON").code(1);
    for misspelt in ["SBOM_SPDX_JSN", "sbom_spdx_json", "SBOM_SPXD_JSON"] {
        run(misspelt).code(2).says("nearly");
    }
}

#[test]
fn broken_policy_documents_are_refused_with_a_place() {
    let sandbox = Sandbox::new();
    for (from, to, says) in [
        ("kind: JSON", "knd: JSON", "policy.yaml:"),
        ("kind: Policy", "kind: Polcy", "unknown"),
        ("violations contains", "violation contains", "misspelt"),
        ("violations contains", "allow contains", "no verdict rule"),
        ("to_number(", "platform.discoverr(", "platform.discoverr"),
    ] {
        let text = DOCUMENT.replace(from, to);
        document(&sandbox, &text, &["--arg", "max=5"], "{\"n\": 5}").code(2).says(says);
    }
    // In a folder too: a policy document is never taken for data.
    sandbox.write("d/policy.yaml", DOCUMENT);
    sandbox.write("d/p.rego", DENY_BAD);
    let folder = sandbox.path("d");
    let fixed = ["gate", "-d", folder.to_str().unwrap(), "-i", "-", "-f", "json"];
    let run = sandbox.run(&[&fixed[..], &["--arg", "max=5"]].concat()).stdin("{\"n\": 6}");
    let report = run.output().code(1).json();
    assert_eq!(report["policies"].as_array().unwrap().len(), 2);
}

#[test]
fn functions_of_a_newer_service_are_named() {
    let sandbox = Sandbox::new();
    for name in ["vulnerability", "findings", "effective_assessments"] {
        let text = DOCUMENT.replace("to_number(", &format!("platform.{name}("));
        let says = format!("`platform.{name}` is a function of a newer service");
        document(&sandbox, &text, &["--arg", "max=5"], "{\"n\": 5}").code(2).says(&says);
    }
}

#[test]
fn policies_of_a_document_are_chosen_by_the_names_of_reports() {
    let sandbox = Sandbox::new();
    let module = |rule: &str| format!("embedded: |\n        package main\n\n        {rule}\n");
    let text = format!(
        "apiVersion: example/v1\nkind: Policy\nmetadata:\n  name: p\nspec:\n  policies:\n    \
         - kind: SARIF\n      {}    - kind: JUNIT_XML\n      {}",
        module("violations contains \"s\" if input.s"),
        module("violations contains \"j\" if input.j")
    );
    let run = |arguments: &[&str], input: &str| document(&sandbox, &text, arguments, input);
    let both = run(&[], "{\"s\": 1, \"j\": 1}").code(1).json();
    let names = |report: &serde_json::Value| -> Vec<String> {
        let verdicts = report["inputs"][0]["verdicts"].as_array().unwrap().iter();
        verdicts.map(|verdict| verdict["policy"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&both), ["p/SARIF", "p/JUNIT_XML"]);
    let one = run(&["-n", "p/SARIF"], "{\"s\": 1, \"j\": 1}").code(1).json();
    assert_eq!(names(&one), ["p/SARIF"]);
    assert_eq!(one["inventory"]["packages"][1]["reason"], "it isn't among the chosen packages");
    run(&["-n", "p/SARIF"], "{\"j\": 1}").code(0);
    run(&["-n", "p"], "{\"j\": 1}").code(1);
    run(&["-n", "p/SARIFF"], "{}").code(2).says("did you mean `p/SARIF`");
    // A waiver for one of two policies of one name would cover both.
    let plain = sandbox.write("p.rego", DENY_BAD);
    let one = text.replace("- kind: JUNIT_XML", "- kind: SARIF");
    let report = run(&[], "{\"j\": 1}").code(1).json();
    assert_eq!(names(&report), ["p/SARIF", "p/JUNIT_XML"]);
    let report = document(&sandbox, &one, &[], "{\"j\": 1}").code(1).json();
    assert_eq!(names(&report), ["p/SARIF/1", "p/SARIF/2"]);
    let single = DOCUMENT.replace("limits", "p");
    document(&sandbox, &single, &["--arg", "max=5", "-d", &plain], "{}")
        .code(2)
        .says("both have a policy with the name `p`");
}

#[test]
fn documents_may_leave_out_what_others_supply() {
    let sandbox = Sandbox::new();
    let text = "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata:\n  name: old\n  \
        finding_type: SAST\n  organization: o\nspec:\n  type: SARIF\n  auto_match: {embedded: x}\n  \
        embedded: |\n    package main\n\n    import rego.v1\n\n    result := {\n      \"skipped\": \
        skipped,\n      \"violations\": violations,\n      \"skip_reason\": skip_reason,\n    }\n\n    \
        default skipped := true\n\n    skipped := false if valid_input\n\n    \
        violations contains \"bad\" if input.bad\n";
    document(&sandbox, text, &[], "{\"bad\": true}").code(1);
    document(&sandbox, text, &[], "{}").code(0);
    let wasm = text.replace("embedded: |", "path: policy.wasm\n  xx: |");
    document(&sandbox, wasm.split("  xx").next().unwrap(), &[], "{}").code(2).says("WASM");
}

#[test]
fn bundles_are_loaded() {
    let sandbox = Sandbox::new();
    let file = std::fs::File::create(sandbox.path("b.tar.gz")).unwrap();
    let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    for (name, text) in [(".manifest", "{\"revision\": \"r\"}"), ("p/p.rego", DENY_BAD)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap();
    let bundle = sandbox.path("b.tar.gz");
    let run = |input: &str| {
        let arguments = ["gate", "-d", bundle.to_str().unwrap(), "-i", "-", "-f", "json"];
        sandbox.run(&arguments).stdin(input).output()
    };
    run("{}").code(0);
    let report = run("{\"bad\": true}").code(1).json();
    let digests: Vec<_> = report["sources"].as_array().unwrap().iter().collect();
    assert_eq!(digests.len(), 1);
    assert_eq!(report["inventory"]["policies"][0]["taken"], 2);
    std::fs::write(&bundle, b"no archive").unwrap();
    run("{}").code(2).says("the bundle");
}

#[test]
fn waivers_cover_what_they_name_until_they_expire() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("in.json", "{\"bad\": true}");
    let run = |rest: &str| {
        let text = format!("waivers:\n- {{reason: because, owner: me, {rest}}}\n");
        let file = sandbox.write("w.yaml", text);
        gate(&sandbox, DENY_BAD, &["-i", &input, "--waivers", &file])
    };
    let report =
        run("policy: p, subject: {input: '*/in.json'}, expires: 2999-01-01").code(0).json();
    let violation = &report["inputs"][0]["verdicts"][0]["violations"][0];
    assert_eq!((&violation["effect"], &violation["waiver"]), (&"waived".into(), &0.into()));
    assert_eq!(
        (&report["waivers"][0]["matched"], &report["waivers"][0]["by"]),
        (&1.into(), &"input".into())
    );
    run("policy: p, subject: '*.json', expires: 2999-01-01")
        .code(2)
        .says("subject: {input: '*.json'}");
    let own = report["inputs"][0]["digest"].as_str().unwrap();
    let report = run(&format!("policy: p, subject: '{own}', expires: 2999-01-01")).code(0).json();
    assert_eq!(report["waivers"][0]["by"], "digest");
    let report =
        run("policy: p, subject: {input: '*/in.json'}, expires: 2020-01-01").code(1).json();
    assert!(report["reasons"].to_string().contains("expired on 2020-01-01"));
    let report = run("policy: q, subject: {input: '*'}, expires: 2999-01-01").code(1).json();
    assert!(report["notes"].to_string().contains("matched nothing"));
    run("policy: p, subject: {input: '*'}, expires: 2999-01-01, why: x")
        .code(2)
        .says("unknown field");
}

#[test]
fn a_policy_document_without_a_kind_is_no_data() {
    let sandbox = Sandbox::new();
    let plain = sandbox.write("p.rego", DENY_BAD);
    let embedded = "embedded: |\n        package main\n\n        violations contains \"x\"\n";
    for spec in [format!("spec:\n  policies:\n    - {embedded}"), format!("spec:\n  {embedded}")] {
        for kind in ["", "type: Policy\n"] {
            let text = format!("apiVersion: example/v1\n{kind}metadata:\n  name: n\n{spec}");
            let file = sandbox.write("policy.yaml", text);
            let run = sandbox.run(&["gate", "-d", &plain, "-d", &file, "--no-input"]).output();
            run.code(2).says("policy document");
        }
    }
    let data = sandbox.write("data.yaml", "spec:\n  policies: [a]\n");
    sandbox.run(&["gate", "-d", &plain, "-d", &data, "--no-input"]).output().code(0);
}

#[test]
fn empty_values_choose_nothing() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", super::DENY_BAD);
    let document = sandbox.write("d.yaml", DOCUMENT);
    let input = sandbox.write("i.json", "{}");
    let fixed = ["gate", "-d", &policy, "-d", &document, "-i", &input];
    for option in
        ["--kind", "--project", "--project-version", "-n", "--ignore", "--arg", "--waivers"]
    {
        for value in ["", " "] {
            sandbox.run(&[&fixed[..], &[option, value]].concat()).output().code(2);
        }
        let attached = format!("{option}=");
        sandbox.run(&[&fixed[..], &[&attached]].concat()).output().code(2);
    }
    sandbox.run(&[&fixed[..], &["--kind", ""]].concat()).output().code(2).says("it is empty");
    for kind in ["\"\"", "' '"] {
        let document = DOCUMENT.replace("kind: JSON", &format!("kind: {kind}"));
        let document = sandbox.write("d.yaml", document);
        for more in [&[][..], &["--kind", "SARIF"]] {
            let fixed = ["gate", "-d", &policy, "-d", &document, "-i", &input];
            sandbox.run(&[&fixed[..], more].concat()).output().code(2).says("policy 1 is empty");
        }
    }
}
