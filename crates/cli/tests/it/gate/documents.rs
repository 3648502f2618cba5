//! What policy documents declare about themselves and their findings.

use crate::cli::{Output, Sandbox};

/// A document with these lines of metadata and of `spec`, whose findings are the input's.
fn run(sandbox: &Sandbox, metadata: &str, spec: &str, input: &str) -> Output {
    let text = format!(
        "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: scan\n{metadata}spec:\n{spec}  \
         policies:\n    - kind: EVIDENCE\n      attestation_phases: [INIT, PUSH]\n      embedded: |\n        \
         package main\n\n        import rego.v1\n\n        violations contains x if some x in input.found\n"
    );
    let file = sandbox.write("scan.yaml", text);
    let fixed = ["gate", "-d", &file, "-i", "-", "--kind", "EVIDENCE", "-f", "json"];
    sandbox.run(&fixed).stdin(input).output()
}

const FOUND: &str =
    r#"{"message": "m", "external_id": "CVE-1", "package_purl": "pkg:a/b", "severity": "HIGH"}"#;

#[test]
fn findings_fit_the_declared_type() {
    let sandbox = Sandbox::new();
    let scan = |found: &str| {
        run(&sandbox, "  finding_type: VULNERABILITY\n", "", &format!("{{\"found\": [{found}]}}"))
    };
    scan("").code(0);
    // A text is a violation of any type.
    scan("\"text\"").code(1);
    let report = scan(FOUND).code(1).json();
    let found = &report["inputs"][0]["verdicts"][0]["violations"][0];
    assert_eq!((&found["id"], &found["severity"]), (&"CVE-1".into(), &"HIGH".into()));
    for (from, to, says) in [
        ("external_id", "id", "without its `external_id`"),
        ("\"pkg:a/b\"", "1", "whose `package_purl` isn't a string"),
        ("}", ", \"cvss_v3_score\": 11}", "whose `cvss_v3_score` isn't a number from 0 to 10"),
    ] {
        let output = scan(&format!("\"text\", {}", FOUND.replace(from, to)));
        let needs = "`VULNERABILITY`: `message`, `external_id`, `package_purl`, `severity`";
        assert!(output.fails(says).stdout.contains(needs));
    }
    // Without a type, an object is what it is.
    let input = format!("{{\"found\": [{}]}}", FOUND.replace("external_id", "id"));
    run(&sandbox, "", "", &input).code(1);
    run(&sandbox, "  finding_type: OTHER\n", "", "{}")
        .fails("`OTHER`: expected one of `VULNERABILITY`");
}

#[test]
fn a_policy_document_makes_findings_of_vulnerabilities() {
    let sandbox = Sandbox::new();
    let text = |call: &str| {
        format!(
            "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata:\n  name: scan\n  finding_type: VULNERABILITY\n\
             spec:\n  policies:\n    - kind: EVIDENCE\n      embedded: |\n        package main\n\n        \
             import rego.v1\n\n        violations contains {call} if input.id\n"
        )
    };
    let gate = |call: &str, input: &str| {
        let file = sandbox.write("scan.yaml", text(call));
        let fixed = ["gate", "--product", "chainloop", "-d", &file, "-i", "-", "-f", "json"];
        sandbox.run(&[&fixed[..], &["--kind", "EVIDENCE"]].concat()).stdin(input).output()
    };
    let call = "chainloop.vulnerability(\"m\", input.id, \"pkg:a/b\", \"HIGH\")";
    let report = gate(call, "{\"id\": \"CVE-1\"}").code(1).json();
    let found = &report["inputs"][0]["verdicts"][0]["violations"][0];
    assert_eq!((&found["message"], &found["id"]), (&"m".into(), &"CVE-1".into()));
    assert_eq!(
        (&found["severity"], &found["fields"]["package_purl"]),
        (&"HIGH".into(), &"pkg:a/b".into())
    );
    // It asks nobody.
    assert_eq!(report["inventory"]["call_sites"], serde_json::json!([]));
    assert_eq!(report["inventory"]["service"]["answered_by"], serde_json::Value::Null);
    gate(call, "{\"id\": 1}").fails("chainloop.vulnerability: `external_id` isn't a string");
    gate(&call.replace("input.id", "input.cve"), "{\"id\": 1}").fails("call skipped");
    gate(&call.replace("\"m\", ", ""), "{}").fails("arity mismatch");
    let file = sandbox.write("scan.yaml", text(call));
    sandbox.run(&["check", "--product", "chainloop", &file]).output().code(0);
    // Elsewhere it is no function.
    let rego = sandbox.write("p.rego", format!("package p\n\ndeny contains {call}\n"));
    let plain = ["gate", "--product", "chainloop", "-d", &rego, "--no-input"];
    sandbox.run(&plain).output().fails("is a function of policy documents");
}

#[test]
fn a_module_is_a_file_with_a_digest() {
    let sandbox = Sandbox::new();
    // The rules that it leaves out don't count for its digest.
    let module = "package main\n\nimport rego.v1\n\nviolations contains \"bad\" if input.bad\n\n\
                  result := {\"skipped\": skipped, \"violations\": violations}\n";
    sandbox.write("d/p.rego", module);
    let gate = |reference: &str| {
        let file = sandbox.write(
            "d/p.yaml",
            format!(
                "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {{name: 'n'}}\nspec:\n  policies:\n    \
                 - ref: {reference}\n"
            ),
        );
        sandbox.run(&["gate", "-d", &file, "-i", "-", "-f", "json"]).stdin("{\"bad\": 1}").output()
    };
    let digest = super::digest_of(module.as_bytes());
    let report = gate("p.rego").code(1).json();
    let sources = report["sources"].as_array().unwrap();
    assert!(sources.iter().any(|source| source["digest"] == *digest), "{report}");
    // A digest belongs to what is fetched; behind the name of a file it is a part of it.
    gate(&format!("p.rego@{digest}"))
        .fails("unexpected extension of the module")
        .says("remove the digest");
    gate("https://example.com/p.rego").fails("missing digest of the policy");
}

#[test]
fn a_suppressed_violation_is_shown_and_does_not_fail() {
    let sandbox = Sandbox::new();
    let scan = |suppress: &str| {
        let found = format!("{{\"message\": \"m\", \"suppress\": {suppress}}}");
        run(&sandbox, "", "", &format!("{{\"found\": [{found}]}}"))
    };
    let report = scan("true").code(0).json();
    assert_eq!(report["inputs"][0]["verdicts"][0]["violations"][0]["effect"], "disregarded");
    for other in ["false", "\"true\"", "1", "null"] {
        scan(other).code(1);
    }
    // The field means nothing to other policies.
    let rego = "package p\n\ndeny contains {\"message\": \"m\", \"suppress\": true}\n";
    super::gate(&sandbox, rego, &[]).code(1);
}

#[test]
fn what_a_document_says_about_its_use_is_in_the_report() {
    let sandbox = Sandbox::new();
    let report =
        run(&sandbox, "  finding_type: SAST\n", "  auto_match: {path: match.rego}\n", "{}");
    let report = report.code(0).json();
    let policy = &report["policies"][0];
    assert_eq!(policy["attestation_phases"], serde_json::json!(["INIT", "PUSH"]));
    assert_eq!(policy["auto_match"], "match.rego");
    assert_eq!(policy["finding_type"], "SAST");
    let file = sandbox.path("scan.yaml");
    let shown = ["gate", "-v", "-d", file.to_str().unwrap(), "-i", "-", "--kind", "EVIDENCE"];
    let output = sandbox.run(&shown).stdin("{}").output().code(0);
    let line = "attestation phases INIT, PUSH; auto match by match.rego; findings of the type SAST";
    assert!(output.stdout.contains(line) || output.stderr.contains(line), "{output:?}");
}

/// Wherever the reference stands, and whatever it is called.
#[test]
fn an_argument_that_a_document_doesnt_declare_cant_be_read() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("i.json", "{\"list\": [1, 2, 3]}");
    for (body, inputs, expected) in [
        ("count(input.list) > limit(input.args)", "max", 2),
        ("args := input.args; args.mx == \"2\"", "max", 2),
        ("some name in [\"mx\"]; input.args[name] == \"2\"", "max", 2),
        ("arguments.mx == \"2\"", "max", 2),
        ("object.get(input.args, \"mx\", \"9\") == \"2\"", "max", 0),
        ("args := input.args; args.max == \"3\"", "max", 0),
        ("args := input.args; args.max == \"2\"", "max", 1),
        // One without a value.
        ("args := input.args; args.other == \"2\"", "other", 0),
    ] {
        let declared = if inputs == "max" { "" } else { "    - name: other\n" };
        let text = format!(
            "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata:\n  name: limits\nspec:\n  inputs:\n    - name: max\n\
             {declared}  policies:\n    - kind: EVIDENCE\n      embedded: |\n        package main\n\n        import \
             rego.v1\n\n        violations contains \"x\" if {{ {body} }}\n"
        );
        let rules = [
            ("limit(", "limit(args) := to_number(args.mx)"),
            ("arguments.", "arguments := input.args"),
        ];
        let rules = rules.iter().filter(|(used, _)| body.contains(used));
        let rules: String = rules.map(|(_, rule)| format!("\n        {rule}\n")).collect();
        let text = text + &rules;
        let file = sandbox.write("p.yaml", text);
        let gate = ["gate", "-d", &file, "-i", &input, "--arg", "max=2", "--kind", "EVIDENCE"];
        let output = sandbox.run(&gate).output();
        match expected {
            2 => drop(output.fails("missing member: neither the gate nor the service set")),
            code => drop(output.code(code)),
        }
    }
}

#[test]
fn a_violation_counts_beside_its_finding_that_is_suppressed() {
    let sandbox = Sandbox::new();
    for (violation, finding, code) in [
        ("\"m\"", "{\"message\": \"m\", \"suppress\": true}", 1),
        ("{\"message\": \"m\", \"suppress\": true}", "{\"message\": \"m\", \"suppress\": true}", 0),
        ("\"m\"", "{\"message\": \"m\", \"suppress\": false}", 1),
    ] {
        let text = format!(
            "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata:\n  name: both\nspec:\n  policies:\n    - kind: \
             EVIDENCE\n      embedded: |\n        package main\n\n        import rego.v1\n\n        result := \
             {{\"violations\": [{violation}], \"findings\": [{finding}], \"skipped\": false}}\n"
        );
        let file = sandbox.write("p.yaml", text);
        let gate = ["gate", "-d", &file, "-i", "-", "--kind", "EVIDENCE"];
        sandbox.run(&gate).stdin("{}").output().code(code);
    }
}

/// Neither in a bundle nor for another command.
#[test]
fn a_document_that_says_it_is_a_policy_never_becomes_data() {
    let sandbox = Sandbox::new();
    let text = |version: &str| {
        format!(
            "apiVersion: {version}\nkind: Policy\nmetadata: {{name: a}}\nspec:\n  policies:\n    - kind: EVIDENCE\n      \
             embedded: |\n        package main\n\n        import rego.v1\n\n        violations contains \"v\" if input.a\n"
        )
    };
    let known = sandbox.write("known.yaml", text("chainloop.dev/v1"));
    let unknown = sandbox.write("unknown.yaml", text("x/v1"));
    let test =
        sandbox.write("t_test.rego", "package t_test\n\ntest_x if data.main.violations == set()\n");
    sandbox.run(&["eval", "-d", &known, "data.main.violations"]).output().code(0);
    sandbox.run(&["test", &known, &test]).output().code(0);
    for arguments in [&["eval", "-d", &unknown, "data.main"][..], &["test", &unknown, &test]] {
        sandbox.run(arguments).output().fails("unknown apiVersion `x/v1`");
    }
    sandbox.write("b/p.rego", "package p\n\ndeny contains \"x\" if input.b\n");
    let bundle = sandbox.path("b");
    for version in ["chainloop.dev/v1", "x/v1"] {
        sandbox.write("b/data.yaml", text(version));
        let gate = ["gate", "-b", bundle.to_str().unwrap(), "-i", "-"];
        sandbox.run(&gate).stdin("{\"a\": 1}").output().fails("which is a policy document");
    }
}

#[test]
fn a_document_that_only_warns_has_no_verdict() {
    let sandbox = Sandbox::new();
    let file = sandbox.write(
        "p.yaml",
        "apiVersion: chainloop.dev/v1\nkind: Policy\nmetadata: {name: a}\nspec:\n  policies:\n    - kind: EVIDENCE\n      \
         embedded: |\n        package main\n\n        import rego.v1\n\n        warn contains \"v\" if input.a\n",
    );
    let gate = ["gate", "-d", &file, "-i", "-", "--kind", "EVIDENCE"];
    sandbox.run(&gate).stdin("{}").output().fails("has no verdict rule");
}

#[test]
fn a_mock_of_another_products_function_names_both_products() {
    let sandbox = Sandbox::new();
    let policy = "package p_test\n\ntest_a if data.p.x with platform.discover as {}\n";
    let file = sandbox.write("p_test.rego", policy);
    sandbox.write("p.rego", "package p\n\nx := true\n");
    let folder = file.strip_suffix("/p_test.rego").unwrap();
    let product = ["--product", "chainloop"];
    let hint = "functions of the product `chainloop` are registered: write `chainloop.discover`, \
                or set the product to `platform`";
    sandbox.run(&[&["test", folder], &product[..]].concat()).output().fails(hint);
    sandbox.write("p_test.rego", policy.replace("discover", "discovr"));
    let output = sandbox.run(&[&["test", folder], &product[..]].concat()).output();
    let output = output.fails("with keyword target must reference");
    assert!(!output.stderr.contains("are registered"), "{output:#?}");
}
