//! Findings that a gate would refuse.

use super::findings;
use crate::cli::Sandbox;

fn of(rules: &str) -> Vec<(String, u64, u64)> {
    findings(&[("p.rego", &format!("package p\n{rules}\n"))])
}

#[test]
fn verdict_rules_have_the_shape_that_a_gate_reads() {
    for (rules, column) in [
        ("deny if input.x", 1),
        ("deny := true if input.x", 9),
        ("default violations := false", 23),
        ("deny contains 42", 15),
        ("deny contains n if { n := count(input.x) }", 15),
        ("deny contains {\"text\": \"x\"} if input.x", 15),
        ("deny contains {\"message\": 3} if input.x", 27),
        ("deny_size contains [\"x\"]", 20),
        ("warn[x] := y if { x := input.x; y := input.y }", 1),
        ("violations := \"x\"", 15),
        ("violations := [1]", 16),
        ("violations := [n | n := count(input.x)]", 16),
        ("deny := \"a\" if input.x else := \"b\" if input.y", 9),
        ("result := [1]", 11),
        ("result if input.x", 1),
        ("result := {\"violations\": [], \"passed\": false}", 30),
        ("result := {\"errors\": [\"x\"], \"violations\": []}", 12),
    ] {
        let found = of(rules);
        assert_eq!(found.first(), Some(&("verdict-shape".to_owned(), 2, column)), "{rules}");
    }
    for rules in [
        "deny contains \"x\" if input.x",
        "deny contains $\"x{input.x}\" if input.x",
        "deny contains {\"message\": sprintf(\"%v\", [1]), \"severity\": 3} if input.x",
        "deny contains {\"msg\": \"x\"} if input.x",
        "deny contains object.union({}, {\"message\": \"x\"}) if input.x",
        "deny contains msg if { some msg in input.messages }",
        "violations := [msg | some msg in input.messages]",
        "default violations := []",
        "result := {\"violations\": [\"x\"]}",
        "result := x if { x := object.union({}, {\"violations\": []}) }",
        "deny contains {input.key: 1, \"message\": \"x\"} if input.x",
    ] {
        assert_eq!(of(rules), [], "{rules}");
    }
    assert_eq!(of("deny if input.x # check:ignore verdict-shape"), []);
}

#[test]
fn names_that_a_gate_refuses_are_found() {
    let found = of("deny contains \"x\"\nresult := {\"violations\": []}");
    assert_eq!(found, [("switched-off".to_owned(), 2, 1)]);
    let found = of("deny contains m if some m in x.y.deny\nx.y.deny contains \"x\"");
    assert_eq!(found, []);
    assert_eq!(of("deny contains \"x\" if limits.warn\nlimits.warn := 5"), []);
}

#[test]
fn what_a_gate_refuses_is_found() {
    let sandbox = Sandbox::new();
    let text = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: mine\nspec:\n  policies:\n  \
                - kind: SARIF\n    embedded: |\n      package main\n\n      import rego.v1\n\n      \
                violations contains \"x\" if input.x\n";
    let (one, two) = (sandbox.write("one.yaml", text), sandbox.write("two.yaml", text));
    let output = sandbox.run(&["check", &one, &two]).output().code(1);
    assert!(output.stdout.contains("error[gate-error]"), "{output:#?}");
    assert!(output.stdout.contains("duplicate policy name in"), "{output:#?}");
    sandbox.run(&["check", &one]).output().code(0);
    // Arguments are given to the gate, and a library needs no verdict.
    let needs = text.replace("spec:\n", "spec:\n  inputs:\n  - {name: max, required: true}\n");
    let needs = sandbox.write("needs.yaml", needs);
    sandbox.run(&["check", &needs]).output().code(0);
    let library = sandbox.write("lib/lib_test.rego", "package lib_test\n\ntest_x if 1 == 1\n");
    sandbox.run(&["check", &library]).output().code(0);
    let empty = sandbox.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let output = sandbox.run(&["check", &one, empty.to_str().unwrap()]).output().code(1);
    assert!(output.stdout.contains("no policies and no data in"), "{output:#?}");
    // JSON is read as a policy document, too.
    let json = "{\"apiVersion\": \"workflowcontract.example/v1\", \"kind\": \"Policy\", \"metadata\": {\"name\": \
                \"m\"}, \"spec\": {\"policies\": []}}";
    let json = sandbox.write("policy.json", json);
    sandbox.run(&["check", &one, &json]).output().fails("empty `policies`");
}

#[test]
fn policy_documents_and_bundles_are_checked() {
    let sandbox = Sandbox::new();
    let document = |rego: &str| {
        let rego = rego.replace('\n', "\n    ");
        format!(
            "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  \
             name: mine\nspec:\n  policies:\n  - kind: SARIF\n    embedded: |\n      {}\n",
            rego.replace('\n', "\n  ")
        )
    };
    let good = sandbox.write(
        "good.yaml",
        document(
            "package main\nimport rego.v1\nresult := {\"violations\": [], \"skipped\": false}",
        ),
    );
    sandbox.run(&["check", &good]).output().code(0);
    let bad =
        sandbox.write("bad.yaml", document("package main\nimport rego.v1\nviolations contains 42"));
    let output = sandbox.run(&["check", &bad]).output().code(1);
    assert!(output.stdout.contains("[verdict-shape]"), "{output:#?}");
}

#[test]
fn findings_with_one_right_answer_are_fixed() {
    let sandbox = Sandbox::new();
    let old = sandbox.write(
        "old.rego",
        "package old\n\nallow if { true }\n\ndeny[msg] {\n\tallow\n\tmsg := \"x\"\n}\n",
    );
    let names = sandbox.write(
        "names.rego",
        "package names\n\nimport data.unused\nimport data.old\n\ndeny contains \"x\" if {\n\t\
         found := platform.discvoer(input.x, \"\")\n\tfound.knid == \"SARIF\"\n\told.alow\n\t\
         conut(found.references) > 1\n}\n\nwarn contains 42\n",
    );
    let output = sandbox.run(&["check", "--fix", &old, &names]).output().code(1);
    assert!(output.stderr.contains("in 2 files"), "{output:#?}");
    // Findings without a single right answer stay.
    assert!(output.stdout.contains("[verdict-shape]"), "{output:#?}");
    assert!(!output.stdout.contains("did you mean"), "{output:#?}");
    assert_eq!(
        std::fs::read_to_string(&old).unwrap(),
        "package old\n\nallow := true\n\ndeny contains msg if {\n\tallow\n\tmsg := \"x\"\n}\n"
    );
    assert_eq!(
        std::fs::read_to_string(&names).unwrap(),
        "package names\n\nimport data.old\n\ndeny contains \"x\" if {\n\t\
         found := platform.discover(input.x, \"\")\n\tfound.kind == \"SARIF\"\n\told.allow\n\t\
         count(found.references) > 1\n}\n\nwarn contains 42\n"
    );
    // Nothing else was changed, and nothing is left to fix.
    let output = sandbox.run(&["check", "--fix", &names]).output();
    assert!(!output.stderr.contains("fixed"), "{output:#?}");
    // Names of the policy's own: a variable to the language, and a function of an import.
    let lib = sandbox.write("lib.rego", "package lib\n\ntrusted(x) if x == 1\n");
    for (wrong, right) in [("allowd", "allowed"), ("lib.trustd(input)", "lib.trusted(input)")] {
        let text = format!(
            "package own\n\nimport data.lib\n\ndeny contains \"x\" if not {wrong}\n\nallowed if \
             lib.trusted(input.x)\n\nwarn contains \"y\" if not allowed\n"
        );
        let own = sandbox.write("own.rego", &text);
        sandbox.run(&["check", "--fix", &own, &lib]).output().code(0);
        assert_eq!(std::fs::read_to_string(&own).unwrap(), text.replace(wrong, right));
    }
}
