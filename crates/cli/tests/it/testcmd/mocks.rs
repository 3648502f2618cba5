//! `with platform.… as …` in tests, and calls without an answer.

use super::test;

#[test]
fn all_five_functions_take_values_and_functions() {
    let calls = [
        ("discover", "x, x", "_, _"),
        ("evidence", "x", "_"),
        ("project_compliance", "x", "_"),
        ("evidence_prompt", "x, x", "_, _"),
        ("download_artifact", "x", "_"),
    ];
    for (function, arguments, parameters) in calls {
        let policy = format!(
            "package p\n\nfetch(x) := platform.{function}({arguments})\n\nfound := base + input.n\n\nbase := json.unmarshal(json.marshal(fetch(json.unmarshal(\"1\")))).x"
        );
        let tests = format!(
            "package p_test\n\nimport data.p\n\nmock({parameters}) := {{\"x\": data.base}} # check:ignore wrong-mock\n\n\
            test_value if p.found == 3 with platform.{function} as {{\"x\": 1}} with input.n as 2 # check:ignore wrong-mock\n\n\
            test_function if {{\n\tp.base == 5 with data.base as 5 \
            with platform.{function} as mock\n}}\n\n\
            inner := n if n := p.found with platform.{function} as {{\"x\": 1}} # check:ignore wrong-mock\n\n\
            test_nested if {{\n\t[inner, p.found] == [3, 12] \
            with platform.{function} as {{\"x\": 10}} with input.n as 2 # check:ignore wrong-mock\n}}\n"
        );
        test(&[("p.rego", &policy), ("p_test.rego", &tests)], &[]).code(0).silent();
    }
}

#[test]
fn an_unmocked_function_is_an_error_that_explains_how_to_mock_it() {
    let policy =
        "package p\n\ndefault ok := true\n\nok := false if platform.discover(\"sha256:0\", \"\")\n";
    let digest = format!("sha256:{}", "0".repeat(64));
    let policy = policy.replace("sha256:0", &digest);
    let tests = "package p_test\n\nimport data.p\n\ntest_ok if p.ok\n";
    let output = test(&[("p.rego", &policy), ("p_test.rego", tests)], &[])
        .fails("no source of responses for this call");
    for text in ["ERROR", "p.rego:5:", "platform.discover: ", "with platform.discover as {...}"] {
        assert!(output.stdout.contains(text), "{text}: {output:#?}");
    }
}

#[test]
fn an_unmocked_call_with_an_invalid_argument_explains_how_to_mock_it() {
    let policy = "package p\n\nok if platform.discover(input.digest, \"\")\n";
    let tests = "package p_test\n\nimport data.p\n\n\
                 test_ok if p.ok with input as {\"digest\": \"foo\"}\n";
    let output =
        test(&[("p.rego", policy), ("p_test.rego", tests)], &[]).fails("isn't a valid digest");
    for text in ["write `sha256:", "with platform.discover as {...}"] {
        assert!(output.stdout.contains(text), "{text}: {output:#?}");
    }
}

#[test]
fn marks_comments_and_old_syntax_keep_positions() {
    for (start, arguments) in [
        ("\u{feff}# METADATA\n# title: a\npackage a_test\n\ntest_x if {\n\t1 == 2\n}\n", &[][..]),
        ("\u{feff}# METADATA\n# title: a\npackage a_test\n\ntest_x {\n\t1 == 2\n}\n", &["--v0"]),
    ] {
        let output = test(&[("a_test.rego", start)], arguments).code(1);
        assert!(output.stdout.contains("a_test.rego:6:2: this is false"), "{output:#?}");
    }
}

/// Runs a policy's module with the test `test_x if {value}`.
fn one(policy: &str, import: &str, value: &str) -> crate::cli::Output {
    let tests = format!("package a_test\n{import}\ntest_x if {value}\n");
    test(&[("q.rego", policy), ("a_test.rego", &tests)], &[])
}

#[test]
fn an_import_called_platform_is_refused_with_a_reason() {
    let package = "package platform\n\nx := 1\n\ndiscover(_, _) := 7\n";
    for (policy, import, value) in [
        ("package q\n\nx := 1\n", "import data.q as platform", "platform.x == 1"),
        ("package q\n\nx := 1\n", "import input.platform", "platform.x == 1"),
        (package, "import data.platform", "platform.x == 1"),
        // As the product's name, this would be a call; as the package's, a rule.
        (package, "import data.platform", "platform.discover(1, 2) == 7"),
    ] {
        let output = one(policy, import, value).fails("error[name-collision]: the import");
        let output = output.says("import it under another name with `as`");
        assert!(output.stderr.contains("./a_test.rego:2:1"), "{output:#?}");
        assert_eq!(output.stdout, "", "nothing was run");
    }
}

#[test]
fn a_rule_that_hides_a_function_is_refused() {
    let policy = "package q\n\nplatform.discover(_, _) := {\"references\": []}\n\nx := 1\n";
    let output = one(policy, "", "data.q.x == 1")
        .fails("the rule `platform.discover` hides the function of that name");
    let output = output.says("the rule `platform.discover` hides the function of that name");
    assert!(output.stderr.contains("./q.rego:3:1"), "{output:#?}");
    // `data.platform.discover(…)` would read as a call of the service.
    for policy in
        ["package platform\n\ndiscover(_, _) := 1\n", "package platform.discover\n\nf(_) := 1\n"]
    {
        let output = one(policy, "", "true").fails("hides the function of that name");
        output.says("hides the function of that name");
    }
}

#[test]
fn packages_rules_and_variables_called_platform_keep_working() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let calls = format!("x := platform.discover(\"{digest}\", \"\").kind\n");
    let mocked = "with platform.discover as {\"kind\": \"K\"}";
    for (policy, value) in [
        (format!("package platform\n\n{calls}"), format!("data.platform.x == \"K\" {mocked}")),
        (format!("package platform.q\n\n{calls}"), format!("data.platform.q.x == \"K\" {mocked}")),
        (format!("package q\n\n{calls}"), format!("data.q.x == \"K\" {mocked}")),
        (
            "package q\n\nplatform := {\"discover\": 1}\n\nx := platform.discover\n".to_owned(),
            "data.q.x == 1".to_owned(),
        ),
        (
            "package q\n\nx contains platform.a if some platform in [{\"a\": 1}]\n".to_owned(),
            "data.q.x == {1}".to_owned(),
        ),
        (
            "package q\n\nf(platform) := platform.a\n".to_owned(),
            "data.q.f({\"a\": 1}) == 1".to_owned(),
        ),
    ] {
        let output = one(&policy, "", &value).code(0).silent();
        assert_eq!(output.stdout, "PASS: 1/1\n", "{policy}");
        // The same test fails when the value is wrong: it was evaluated.
        one(&policy, "", &value.replace("==", "!=")).code(1);
    }
}

#[test]
fn a_function_is_never_called_through_another_thing_of_its_name() {
    for policy in [
        "package q\n\nx contains platform.discover(1, 2) if some platform in [{\"a\": 1}]\n",
        "package q\n\nf(platform) := platform.discover(1, 2)\n",
        "package q\n\nplatform := {\"a\": 1}\n\nx := platform.discover(1, 2)\n",
    ] {
        let output = one(policy, "", "true").fails("error[unknown-function]");
        assert_eq!(output.stdout, "", "nothing was run");
    }
}
