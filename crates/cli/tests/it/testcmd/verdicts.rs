//! The tests that are found, and their outcomes, as in OPA 1.22.4 unless noted otherwise.

use super::test;

fn one(body: &str, arguments: &[&str]) -> crate::cli::Output {
    test(&[("a_test.rego", &format!("package a_test\n\n{body}\n"))], arguments)
}

/// Returns the name and outcome of each test.
fn outcomes(body: &str) -> Vec<(String, &'static str)> {
    let output = one(body, &["--format", "json"]);
    let results = output.json();
    let results = results.as_array().unwrap();
    results
        .iter()
        .map(|result| {
            let outcome = ["fail", "skip", "error"]
                .into_iter()
                .find(|key| result.get(key).is_some())
                .unwrap_or("pass");
            (result["name"].as_str().unwrap().to_owned(), outcome)
        })
        .collect()
}

#[test]
fn only_true_passes() {
    for (body, outcome) in [
        ("test_x if 1 == 1", "pass"),
        ("test_x if 1 == 2", "fail"),
        ("test_x := true", "pass"),
        ("test_x := false", "fail"),
        ("test_x := 1", "fail"),
        ("test_x := null", "fail"),
        ("test_x := \"true\"", "fail"),
        ("test_x := {}", "fail"),
        ("test_x := {\"a\": true}", "fail"),
        ("test_x if input.x", "fail"),
        ("test_x contains 1", "fail"),
        ("test_x.a if true", "fail"),
        ("test_x(_) if true", "error"),
        ("test_x if 1 / 0 == 1", "fail"),
        ("test_x := false if { 1 == 2 } else := true", "pass"),
        ("todo_test_x if false", "skip"),
    ] {
        assert_eq!(outcomes(body), [("test_x".replace("test_x", name(body)), outcome)], "{body}");
    }
}

fn name(body: &str) -> &str {
    if body.starts_with("todo_") { "todo_test_x" } else { "test_x" }
}

#[test]
fn each_definition_is_a_test() {
    let body = "test_x if false\n\ntest_x if true\n\ndefault test_y := true\n\ntest_y if false";
    let names = ["test_x", "test_x#01", "test_y", "test_y#01"].map(str::to_owned);
    let expected = names.into_iter().zip(["fail", "pass", "pass", "fail"]).collect::<Vec<_>>();
    assert_eq!(outcomes(body), expected);
}

#[test]
fn a_case_that_is_left_out_failed() {
    let table =
        |cases: &str| format!("test_x[note] if {{\n\tsome note, tc in {cases}\n\ttc == 1\n}}");
    let output = one(&table(r#"{"one": 1, "two": 2}"#), &[]).code(1);
    assert!(output.stdout.contains("  one: PASS\n  two: FAIL\n"), "{output:#?}");
    assert_eq!(outcomes(&table(r#"{"one": 1}"#)), [("test_x".to_owned(), "pass")]);
    // OPA passes these two: they tested nothing.
    assert_eq!(outcomes(&table("{}")), [("test_x".to_owned(), "fail")]);
    assert_eq!(outcomes(&table("input.cases")), [("test_x".to_owned(), "fail")]);
}

#[test]
fn a_member_of_a_document_is_not_a_test() {
    for key in ["1", "true", "null", "\"a\"", "-1.5", "(1)"] {
        let body = format!("test_x[{key}] if true");
        assert_eq!(outcomes(&body), [("test_x".to_owned(), "fail")], "{body}");
    }
    // As in OPA, a member without a body is a case, as of an object that is listed.
    for head in ["test_x[1]", "test_x[\"a\"]", "test_x.a"] {
        assert_eq!(outcomes(&format!("{head} := true")), [("test_x".to_owned(), "pass")]);
        assert_eq!(outcomes(&format!("{head} := false")), [("test_x".to_owned(), "fail")]);
    }
    // OPA replaces these by variables, so they are keys of a table.
    for key in ["lower(\"A\")", "[1]"] {
        let body = format!("test_x[{key}] if true");
        assert_eq!(outcomes(&body), [("test_x".to_owned(), "pass")], "{body}");
    }
}

#[test]
fn exit_statuses() {
    one("test_x if true", &[]).code(0).silent();
    one("test_x if false", &[]).code(1);
    one("todo_test_x if true", &[]).code(1);
    one("todo_test_x if true", &["-z"]).code(0);
    let error = one("test_x if false\n\ntest_y(_) if true", &[]).fails("a test takes no arguments");
    assert!(error.stdout.contains("a test takes no arguments"), "{error:?}");
    one("x := 1", &[]).fails("no tests found").says("name the folder with the tests");
    one("test_x if false", &["--run", "nothing"]).fails("matches none of 1");
    one("test_x if true", &["--fail-on-empty", "--run", "nothing"]).fails("matches none of 1");
    one("test_x if true", &["--fail-on-empty"]).code(0).silent();
    one("test_x if false\n\ntest_y if true", &["--run", "data.a_test.test_y$"]).code(0);
    one("test_x if false\n\ntest_y if true", &["--run", "\\Qtest_y\\E$"]).code(0).silent();
    // As in OPA, the second test of a name has a reference with brackets.
    let twice = "test_x if true\n\ntest_x if false";
    one(twice, &["--run", "a_test.test_x"]).code(0).silent();
    one(twice, &["--run", "a_test[[]\"test_x#01\"]"]).code(1);
    one("test_x if", &[]).fails("unexpected eof token");
    one("test_x if true", &["--run", "("]).fails("isn't a valid regular expression");
    one("test_x if true\n\ny if {\n\tinput.z\n}", &["--threshold", "90"]).code(1).says("33.33 %");
    one("test_x if true\n\ny if {\n\tinput.z\n}", &["--threshold", "33"]).code(0);
}

#[test]
fn a_failure_shows_the_expression_and_its_operands() {
    let body = "test_x if {\n\tx := {\"n\": 1}\n\tprint(\"hi\")\n\tx.n + 1 == 3 # no\n}\n\n\
        test_y if {\n\tprint(\"other\")\n}";
    let output = one(body, &[]).code(1);
    for text in [
        "a_test.rego:6:2: this is false\n",
        "6 | \tx.n + 1 == 3 # no\n",
        "x.n + 1: 2\n",
        "a_test.rego:5: hi\n",
    ] {
        assert!(output.stdout.contains(text), "{text}: {output:#?}");
    }
    assert!(!output.stdout.contains("other"), "{output:#?}");
    let output = one("test_x if {\n\tsome x in [1]\n\tnot x == 1\n}", &[]).code(1);
    assert!(output.stdout.contains("a_test.rego:5:2: this is false\n"), "{output:#?}");
    let output =
        one("test_x if {\n\tx := json.unmarshal(\"{\\\"a\\\":1}\")\n\tx.b.c == 2\n}", &[]).code(1);
    assert!(output.stdout.contains("x.b.c: undefined\n"), "{output:#?}");
    assert!(output.stdout.contains("x: {\"a\": 1}\n"), "{output:#?}");
}

#[test]
fn documents_are_operands_with_the_values_they_have_there() {
    let files = |body: &str| {
        let tests = format!("package p_test\n\nimport data.p\n\ntest_x if {body}\n");
        let policy = "package p\n\ndeny contains \"none\" if not input.name\n\nlimit := 5 if input.big\n\n\
                      level := {\"a\": {1, 2}}\n";
        test(&[("p.rego", policy), ("p_test.rego", &tests)], &[]).code(1).stdout
    };
    for (body, verdict, operand) in [
        ("p.deny == {\"x\"} with input as {}", "is false", "p.deny: {\"none\"}\n"),
        ("p.deny == {\"x\"} with input.name as 1", "is false", "p.deny: set()\n"),
        ("p.limit == 5 with input as {}", "is undefined", "p.limit: undefined\n"),
        ("p.limit == 6 with input.big as true", "is false", "p.limit: 5\n"),
        ("p.level == {\"a\": {1}}", "is false", "p.level: {\"a\": {1, 2}}\n"),
        ("not p.deny.none with input as {}", "is false", "p.deny.none: \"none\"\n"),
    ] {
        let output = files(body);
        assert!(output.contains(&format!("this {verdict}\n")), "{body}: {output}");
        assert!(output.contains(&format!("    {operand}")), "{body}: {output}");
        assert!(!output.contains("{\"x\"}: "), "{body}: {output}");
    }
    // A value that depends on a variable of the rule isn't that of the reference by itself.
    let output = files("{\n\tx := 2\n\tp.level.a[x] == 3\n}");
    assert!(output.contains("    x: 2\n") && !output.contains("p.level.a[x]: "), "{output}");
    let output = files("{\n\ti := {}\n\tp.deny == set() with input as i\n}");
    assert!(!output.contains("p.deny: undefined"), "{output}");
}

#[test]
fn coverage_counts_files_that_no_test_reached() {
    let files = [
        ("a.rego", "package a\n\nx := 1\n"),
        ("b.rego", "package b\n\ny if {\n\tinput.z\n}\n"),
        ("a_test.rego", "package a_test\n\nimport data.a\n\ntest_x if {\n\ta.x == 1\n}\n"),
    ];
    let report = test(&files, &["--coverage", "--format", "json"]).code(0).json();
    let files = report["files"].as_object().unwrap();
    let file = |name: &str| {
        files.iter().find(|(path, _)| path.ends_with(name)).map(|(_, file)| file).unwrap()
    };
    let rows: Vec<_> = file("/b.rego")["not_covered"].as_array().unwrap().iter().collect();
    let rows: Vec<_> = rows.iter().map(|range| range["start"]["row"].clone()).collect();
    assert_eq!(rows, [3, 4]);
    assert_eq!(file("/a.rego")["coverage"], 100.0);
    assert_eq!(report["not_covered_lines"], 2);
}

#[test]
fn junit_names_what_failed() {
    let output = one("test_x if {\n\t1 == 2\n}", &["--format", "junit"]).code(1);
    for text in ["<testsuites", "classname=\"data.a_test\"", "<failure", "`1 == 2` is false"] {
        assert!(output.stdout.contains(text), "{text}: {output:#?}");
    }
}

#[test]
fn data_beside_the_tests_is_loaded() {
    let files = [
        ("cases.yaml", "cases:\n  one: 1\n"),
        (
            "t_test.rego",
            "package t_test\n\ntest_x[n] if {\n\tsome n, v in data.cases\n\tv == 1\n}\n",
        ),
    ];
    test(&files, &[]).code(0);
}

#[test]
fn a_test_runs_no_other_rule_of_its_package() {
    let body = "test_x if true\n\nother := platform.discover(input.a, \"b\") if print(\"ran\")";
    let output = one(body, &["-v"]).code(0);
    assert!(!output.stdout.contains("ran"), "{output:#?}");
}

#[test]
fn the_shipped_policies_pass_with_and_without_coverage() {
    let sandbox = crate::cli::Sandbox::new();
    sandbox.run(&["test", "policies"]).output().code(0);
    sandbox.run(&["test", "policies", "--coverage"]).output().code(0);
    let gate = ["test", "examples/release_gate", "--functions", "all"];
    sandbox.run(&gate).output().code(0);
}

#[test]
fn errors_of_built_ins_are_undefined_unless_they_are_asked_for() {
    let body = "test_a if not startswith(input.n, \"a\") with input as {\"n\": 1}";
    one(body, &[]).code(0).says("1 error of a built-in function was undefined");
    let strict = one(body, &["--strict-builtin-errors"]).fails("startswith");
    assert!(strict.stdout.contains("startswith"), "{strict:?}");
}

#[test]
fn names_are_those_of_opa_where_packages_have_keywords() {
    let sandbox = crate::cli::Sandbox::new();
    let package = "foo[\"some\"].x[\"in\"][\"a-b\"].contain";
    let file = sandbox.write("a_test.rego", format!("package {package}\n\ntest_m if true\n"));
    let pattern = "^data\\.foo\\[\"some\"\\]\\.x";
    let output = sandbox.run(&["test", "-v", &file, "--run", pattern]).output().code(0);
    assert!(output.stdout.contains(&format!("data.{package}.test_m: PASS")), "{output:?}");
}

/// As for conftest, whose `test` evaluates policies against inputs.
#[test]
fn arguments_of_a_gate_are_pointed_to_it() {
    let sandbox = crate::cli::Sandbox::new();
    sandbox.write("policy/p.rego", "package p\n\ndeny contains \"x\" if input.a\n");
    sandbox.write("i.yaml", "a: 1\n");
    for arguments in [
        &["test", "-p", "policy"][..],
        &["test", "-p", "policy", "i.yaml"],
        &["test", "policy", "i.yaml"],
        &["test", "i.yaml"],
    ] {
        let run = sandbox.run(arguments).within(sandbox.path("."));
        run.output().fails("no tests found").says("rego-platform gate -d POLICIES -i INPUT");
    }
    sandbox.write("Dockerfile", "FROM scratch\n");
    let run = sandbox.run(&["test", "-p", "policy", "Dockerfile"]).within(sandbox.path("."));
    run.output().fails("unknown-file").says("rego-platform gate -d POLICIES -i INPUT");
}
