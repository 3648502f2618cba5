//! Layouts, names and documents that try to hide something from a gate.

use crate::cli::{Output, Sandbox};

/// A policy that always passes, beside which the other content has to be noticed.
const PASSES: &str = "package passes\n\ndeny contains \"x\" if false\n";

fn run(sandbox: &Sandbox, files: &[(&str, &str)], more: &[&str]) -> Output {
    let _ = std::fs::remove_dir_all(sandbox.path("policies"));
    sandbox.write("policies/passes.rego", PASSES);
    for (name, text) in files {
        sandbox.write(&format!("policies/{name}"), text);
    }
    let folder = sandbox.path("policies");
    let fixed = ["gate", "-d", folder.to_str().unwrap(), "-i", "-", "-f", "json"];
    sandbox.run(&[&fixed[..], more].concat()).stdin("{\"bad\": true}").output()
}

const DOCUMENT: &str = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: 'n'\nspec:\n  policies:\n    \
    - embedded: |\n        package main\n\n        import rego.v1\n\n        violations contains \"bad\" if input.bad\n";

#[test]
fn a_file_with_a_version_and_the_kind_of_a_policy_is_one() {
    let sandbox = Sandbox::new();
    run(&sandbox, &[("p.yaml", DOCUMENT)], &[]).code(1);
    let merged = DOCUMENT.replace("kind:", "<<: &x {kind: Policy}\nkind:");
    for (text, says) in [
        (format!("{DOCUMENT}---\nb: 2\n"), "another document follows"),
        (DOCUMENT.replace("metadata:", "kind: Policy\nmetadata:"), "the key `kind` appears twice"),
        (format!("{DOCUMENT}      embedded: |\n        package main\n"), "appears twice"),
        (merged, "merge keys (`<<`) aren't supported"),
        (
            DOCUMENT.replace("Policy", "\"\\x50olicy\"").replace("name: 'n'", "nam: 'n'"),
            "unknown field `nam`",
        ),
        (DOCUMENT.replace("spec:", "Spec:"), "unknown field `Spec`"),
        (DOCUMENT.replace("policies:", "Policies:"), "unknown field `Policies`"),
        (format!("{DOCUMENT}broken: [\n"), "invalid YAML"),
    ] {
        for name in ["p.yaml", "p.YML"] {
            run(&sandbox, &[(name, &text)], &[]).fails(says);
        }
    }
    // Keys in quotes, and documents in flow style, begin as JSON does.
    let module =
        "package main\\n\\nimport rego.v1\\n\\nviolations contains \\\"bad\\\" if input.bad\\n";
    let flow = format!(
        "{{apiVersion: workflowcontract.example/v1, kind: Policy, metadata: {{name: 'n'}}, spec: {{policies: [{{embedded: \"{module}\"}}]}}}}"
    );
    let quoted = DOCUMENT
        .replace("apiVersion:", "\"apiVersion\":")
        .replace("kind:", "\"kind\" :")
        .replace("spec:", "'spec':");
    for text in [&flow, &quoted, &quoted.replacen("\"kind\" ", "? \"kind\"\n", 1)] {
        run(&sandbox, &[("p.yaml", text)], &[]).code(1);
    }
    // Anything else is data, and a file is accounted for by its first document.
    for text in [
        DOCUMENT.replace("kind: Policy", "kind: Contract"),
        format!("kind: List\nitems:\n- {}", DOCUMENT.replace('\n', "\n  ")),
        "a: {apiVersion: workflowcontract.example/v1, kind: Policy}\n".to_owned(),
    ] {
        run(&sandbox, &[("d.yaml", &text)], &[]).code(0);
        let file = sandbox.path("policies/d.yaml");
        let alone = ["gate", "-d", file.to_str().unwrap(), "-i", "-"];
        sandbox.run(&alone).stdin("{}").output().fails("no policies to evaluate");
    }
    // What says that it is a policy is one, whatever its version.
    let version = |text: &str| DOCUMENT.replace("workflowcontract.example/v1", text);
    for (text, says) in [
        (version("policies.example/v1"), "unknown apiVersion `policies.example/v1`"),
        (version("workflowcontract.example/v2"), "unknown apiVersion"),
        (version("chainloop.dev/v2"), "expected `chainloop.dev/v1` or `workflowcontract."),
        (version("1"), "invalid policy document: invalid type: integer `1`"),
        (version("policies.example/v1").replace("Policy", "PolicyGroup"), "invalid policy group"),
    ] {
        let output = run(&sandbox, &[("p.yaml", &text)], &[]);
        output.fails(says);
        run(&sandbox, &[("p.yaml", &text)], &["--ignore", "p.yaml"]).code(0);
    }
    for text in [version("chainloop.dev/v1"), version("workflowcontract.chainloop.dev/v1")] {
        let report = run(&sandbox, &[("p.yaml", &text)], &[]).code(1).json();
        assert!(report["policies"].to_string().contains("chainloop.dev/v1"), "{report}");
    }
    // A policy whose kind is misspelt isn't left unevaluated.
    for (kind, says) in [
        ("kind: policy\n", "invalid policy document: unknown variant `policy`"),
        ("", "missing field `kind`"),
    ] {
        let text = DOCUMENT.replace("kind: Policy\n", kind);
        run(&sandbox, &[("p.yaml", &text)], &[]).fails(says);
    }
    let second = format!("a: 1\n---\n{DOCUMENT}");
    for text in
        [second, format!("a: 1\n---\nb: 1\n---\n{DOCUMENT}"), format!("{DOCUMENT}---\n{DOCUMENT}")]
    {
        run(&sandbox, &[("d.yaml", &text)], &[]).fails("has a policy document behind `---`");
    }
    let report = run(&sandbox, &[("d.yaml", "a: 1\n---\nb: 1\n")], &[]).code(0).json();
    let left = &report["inventory"]["policies"][0]["left_out"][0];
    assert_eq!(left["reason"], "1 further documents: one is read");
}

#[test]
fn constants_are_no_tests() {
    let sandbox = Sandbox::new();
    let module =
        |rule: &str| format!("package load_test\n\n{rule}\n\ndeny contains \"bad\" if input.bad\n");
    for rule in ["test_mode := true", "default test_x := true", "test_mode := \"on\""] {
        run(&sandbox, &[("a.rego", &module(rule))], &[]).code(1);
    }
    run(&sandbox, &[("a.rego", &module("test_x if input.x"))], &[])
        .fails("verdict rule `deny` never evaluated: the package `load_test` has tests");
}

#[test]
fn a_policy_document_that_needs_other_files_is_refused() {
    let sandbox = Sandbox::new();
    let module = |rule: &str| DOCUMENT.replace("violations contains \"bad\" if input.bad", rule);
    let others = [
        ("o.rego", "package lib\n\ndeny contains \"x\" if input.x\n"),
        ("d.json", r#"{"blocked": {"x": true}}"#),
    ];
    for rule in [
        "violations contains \"blocked\" if data.blocked[input.n]",
        "violations := [x | some x in data.lib.deny]",
        "import data.lib\n        violations := [x | some x in lib.deny]",
    ] {
        let text = module(rule);
        let mut files = vec![("p.yaml", text.as_str())];
        files.extend(others);
        let output = run(&sandbox, &files, &[]).fails("reference outside of the policy document");
        assert!(
            output.stderr.contains("reference outside of the policy document"),
            "{rule}: {}",
            output.stderr
        );
    }
    for rule in [
        "violations contains \"bad\" if data.main.bad\n\n        bad if input.bad",
        "import data.other\n        violations contains \"bad\" if input.bad",
    ] {
        run(&sandbox, &[("p.yaml", &module(rule))], &[]).code(1);
    }
}

#[test]
fn packages_with_dots_in_their_names_are_distinguished() {
    let sandbox = Sandbox::new();
    let files = [
        ("a.rego", "package a.b.c\n\ndeny contains \"one\" if input.bad\n"),
        ("b.rego", "package a[\"b.c\"]\n\ndeny contains \"two\" if input.bad\n"),
    ];
    let report = run(&sandbox, &files, &[]).code(1).json();
    let verdicts = report["inputs"][0]["verdicts"].as_array().unwrap();
    let names: Vec<_> = verdicts.iter().map(|v| v["policy"].as_str().unwrap()).collect();
    assert_eq!(names, ["a.b.c", "a[\"b.c\"]", "passes"]);
    let waivers = sandbox.write(
        "w.yaml",
        "max_days: 1000000\nwaivers:\n- {policy: a.b.c, reason: r, owner: o, expires: 2999-01-01, subject: {input: '**'}}\n",
    );
    let report = run(&sandbox, &files, &["--waivers", &waivers]).code(1).json();
    assert_eq!(report["totals"]["waived"], 1);
    run(&sandbox, &files, &["-n", "a[\"b.c\"]"]).code(1);
}

#[test]
fn verdict_rules_in_packages_of_tests_are_refused() {
    let sandbox = Sandbox::new();
    let suite = "package p_test\n\ntest_x if true\n\ndeny contains \"x\" if input.bad\n";
    run(&sandbox, &[("p_test.rego", suite)], &[]).fails("the package `p_test` has tests");
    run(&sandbox, &[("p_test.rego", suite)], &["-n", "p_test"]).code(1);
    let plain = suite.replace("test_x if true", "");
    run(&sandbox, &[("p_test.rego", &plain)], &[]).code(1);
}

#[test]
fn unusual_verdict_rules_have_their_own_verdict_or_none() {
    let sandbox = Sandbox::new();
    for (rule, code) in [
        ("default deny := false\n\ndeny if input.bad", 2),
        ("default deny := []\n\ndeny := [\"x\"] if input.bad", 1),
        ("deny(doc) := \"x\" if doc.bad", 2),
        ("deny.more contains \"x\" if input.bad", 2),
        ("deny[\"x\"] := true if input.bad", 2),
        ("Deny contains \"x\" if input.bad", 2),
        ("deny contains {\"msg\": \"x\"} if input.bad", 1),
        ("deny contains \"x\" if f(1) with f as g\n\nf(_) := false\n\ng(_) if input.bad", 1),
        ("import data.passes as deny\n\nviolations contains \"x\" if deny.deny == set()", 1),
        ("result.violations contains \"x\" if input.bad", 2),
        ("deny contains \"x\" if {\n\tinput.bad with input as {\"bad\": true}\n}", 1),
        ("deny contains \"x\" if some x in data.none\n\nwarn := 1", 2),
    ] {
        let text = format!("package p\n\n{rule}\n");
        run(&sandbox, &[("p.rego", &text)], &[]).code(code);
    }
}

#[test]
fn a_time_out_names_what_it_hung_on() {
    let sandbox = Sandbox::new();
    let error = |report: &serde_json::Value| {
        let error = &report["inputs"][0]["verdicts"][0]["error"];
        (error["message"].as_str().unwrap().to_owned(), error["position"]["line"].clone())
    };
    let slow = sandbox.write(
        "slow.rego",
        "package slow\n\ndeny contains \"x\" if {\n\tsome i in numbers.range(1, 100000)\n\t\
         some j in numbers.range(1, 100000)\n\ti * j == -1\n}\n",
    );
    let fixed = ["--no-input", "-f", "json", "--timeout", "2s"];
    let report = sandbox
        .run(&[&["gate", "-d", &slow], &fixed[..]].concat())
        .output()
        .fails("the evaluation timed out after 2s")
        .json();
    let (message, line) = error(&report);
    assert!(message.starts_with("the evaluation timed out after "), "{message}");
    assert!((4..=6).contains(&line.as_u64().unwrap()), "{line}");
    let digest = format!("sha256:{}", "a".repeat(64));
    let asks = sandbox.write(
        "asks.rego",
        format!(
            "package asks\n\ndeny contains \"x\" if platform.discover(\"{digest}\", \"\").kind\n"
        ),
    );
    let more = ["--fault", "discover:latency=30s"];
    let run = sandbox.served(&[&["gate", "-d", &asks], &fixed[..], &more].concat());
    let report = run.output().fails("the evaluation timed out after 2s, waiting for").json();
    let (message, _) = error(&report);
    assert!(message.contains("waiting for `platform.discover` [\"sha256:aaaa"), "{message}");
}

#[test]
fn long_reports_name_the_file_with_the_rest() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write(
        "p.rego",
        "package p\n\ndeny contains sprintf(\"bad %d\", [n]) if some n in input.bad\n\n\
         deny contains \"x\" if input.n + 1 == 0\n",
    );
    for n in 0..400 {
        sandbox.write(&format!("in/{n:03}.json"), "{\"n\": \"no number\"}");
    }
    let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    sandbox.write("in/a.json", format!("{{\"bad\": [{}]}}", many.join(",")));
    sandbox.write("in/b.json", "{}");
    let inputs = sandbox.path("in").to_str().unwrap().to_owned();
    let json = format!("json={}", sandbox.path("all.json").display());
    let fixed = ["gate", "-d", &policy, "-i", &inputs, "--output", &json, "-f"];
    for format in ["human", "github", "markdown", "html"] {
        let output = sandbox
            .run(&[&fixed[..], &[format]].concat())
            .output()
            .fails("operand 1 must be number");
        let text = &output.stdout;
        assert!(text.contains("399 more inputs for the same reason"), "{format}: {text}");
        assert!(text.contains("more in ") && text.contains("all.json"), "{format}: {text}");
        assert!(text.matches("operand 1").count() < 4, "{format}: {text}");
        let limit = if format == "html" { 200_000 } else { 64_000 };
        assert!(text.len() < limit, "{format}: {}", text.len());
    }
    let all: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path("all.json")).unwrap()).unwrap();
    assert_eq!(all["inputs"].as_array().unwrap().len(), 402);
    assert_eq!(all["totals"]["violations"], 100);
}
