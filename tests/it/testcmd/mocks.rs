//! `with platform.… as …` in tests, and calls that nobody answers.

use super::test;

#[test]
fn all_five_functions_take_values_and_functions() {
    let calls = [
        ("discover", "\"a\", \"b\"", "_, _"),
        ("evidence", "{}", "_"),
        ("project_compliance", "{}", "_"),
        ("evidence_prompt", "\"a\", \"b\"", "_, _"),
        ("download_artifact", "\"a\"", "_"),
    ];
    for (function, arguments, parameters) in calls {
        let policy = format!(
            "package p\n\nfetch(_) := platform.{function}({arguments})\n\nfound := fetch(1).x + input.n"
        );
        let tests = format!(
            "package p_test\n\nimport data.p\n\nmock({parameters}) := {{\"x\": data.base}}\n\n\
            test_value if p.found == 3 with platform.{function} as {{\"x\": 1}} with input.n as 2\n\n\
            test_function if {{\n\tp.found == 9 with platform.{function} as mock \
            with input as {{\"n\": 4}} with data.base as 5\n}}\n\n\
            inner := p.found with platform.{function} as {{\"x\": 1}}\n\n\
            test_nested if {{\n\t[inner, p.found] == [3, 12] \
            with platform.{function} as {{\"x\": 10}} with input.n as 2\n}}\n"
        );
        test(&[("p.rego", &policy), ("p_test.rego", &tests)], &[]).code(0).silent();
    }
}

#[test]
fn an_unmocked_function_is_an_error_that_says_how_to_mock_it() {
    let policy =
        "package p\n\ndefault ok := true\n\nok := false if platform.discover(\"sha256:0\", \"\")\n";
    let digest = format!("sha256:{}", "0".repeat(64));
    let policy = policy.replace("sha256:0", &digest);
    let tests = "package p_test\n\nimport data.p\n\ntest_ok if p.ok\n";
    let output = test(&[("p.rego", &policy), ("p_test.rego", tests)], &[]).code(2);
    for text in ["ERROR", "p.rego:5:", "platform.discover: ", "with platform.discover as {...}"] {
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

#[test]
fn a_package_called_platform_is_refused_with_a_reason() {
    let files = [
        ("q.rego", "package q\n\nx := 1\n"),
        (
            "a_test.rego",
            "package a_test\n\nimport data.q as platform\n\ntest_x if platform.x == 1\n",
        ),
    ];
    let output = test(&files, &[]);
    assert!(output.code == Some(0) || output.stderr.contains("platform"), "{output:#?}");
}
