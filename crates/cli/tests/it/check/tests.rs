//! Tests that can't fail: mocks of no answer, and statements that always hold.

use super::findings;
use crate::cli::Sandbox;

/// Returns the findings in a file of tests for a policy.
fn of(tests: &str) -> Vec<(String, u64, u64)> {
    let policy = "package p\n\ndeny contains \"no SBOM\" if not sbom\n\nsbom if {\n\tsome r in \
                  platform.discover(input.d, \"\").references\n\tr.kind == \"SBOM_SPDX_JSON\"\n}\n\n\
                  warn contains \"x\" if list[0]\n\nlist := [x | some x in input.l]\n\nlimit := 5 if \
                  count(deny) > 1\n\nwarn contains \"y\" if limit == 3\n";
    let tests = format!("package p_test\n\nimport data.p\n\n{tests}\n");
    findings(&[("p.rego", policy), ("p_test.rego", &tests)])
}

#[test]
fn mocks_have_the_type_of_an_answer() {
    let wrong =
        |mock: &str| format!("test_x if count(p.deny) == 1 with platform.discover as {mock}");
    for (mock, column) in [
        ("{\"refs\": []}", 57),
        ("[]", 56),
        ("null", 56),
        ("\"x\"", 56),
        ("{\"references\": {}}", 71),
        ("{\"references\": [{\"knid\": \"SARIF\"}]}", 73),
        ("{\"references\": [{\"kind\": 3}]}", 81),
        ("{\"references\": [\"SARIF\"]}", 72),
        ("{\"metadata\": {\"hasPolicyViolations\": true}}", 93),
        ("mock\n\nmock := {\"refs\": []}", 0),
        ("mock\n\nmock(_, _) := {\"refs\": []}", 0),
    ] {
        let found = of(&wrong(mock));
        let [(code, line, at)] = &*found else { panic!("{mock}: {found:?}") };
        assert_eq!(
            (code.as_str(), *line),
            ("wrong-mock", if mock.contains("mock") { 7 } else { 5 }),
            "{mock}"
        );
        assert!(mock.contains("mock") || *at == column, "{mock}: {at}");
    }
    for mock in [
        "{}",
        "{\"references\": []}",
        "{\"kind\": \"NEW_KIND\", \"references\": [{\"kind\": \"SARIF\", \"metadata\": {\"name\": \"x\"}}]}",
        "{\"references\": [r | some r in data.fixtures]} with data.fixtures as []",
        "{\"annotations\": {\"any\": \"thing\"}}",
        "mock\n\nmock(d, _) := {\"digest\": d}",
        "{\"refs\": []} # check:ignore wrong-mock",
    ] {
        assert_eq!(of(&wrong(mock)), [], "{mock}");
    }
}

#[test]
fn a_wrong_mock_is_an_error_of_the_tests() {
    let sandbox = Sandbox::new();
    let test = |more: &str| {
        let text = format!(
            "package p_test\n\ntest_x if platform.discover(\"sha256:a\", \"\") with platform.discover as {{\"refs\": []}}{more}\n"
        );
        sandbox.write("p_test.rego", text)
    };
    let output = sandbox.run(&["test", &test("")]).output().fails("error[wrong-mock]");
    assert!(output.stderr.contains("error[wrong-mock]"), "{output:?}");
    assert!(output.stderr.contains("the unknown field `refs`"), "{output:?}");
    sandbox.run(&["test", &test(" # check:ignore wrong-mock")]).output().code(0);
}

/// Mocks whose values are known when their tests run.
#[test]
fn what_a_mock_gives_is_held_against_the_type() {
    let sandbox = Sandbox::new();
    sandbox.write("mocks.json", "{\"wrong\": {\"refs\": []}, \"right\": {\"references\": []}}");
    for (mock, wrong) in [
        ("data.wrong", Some("the unknown field `refs`")),
        ("data.right", None),
        ("object.union({}, {\"refs\": []})", Some("the unknown field `refs`")),
        ("json.unmarshal(\"[]\")", Some("the type `array`")),
        ("made", Some("the unknown field `refs`")),
        ("made # check:ignore wrong-mock", Some("the unknown field `refs`")),
        ("data.p_test.chosen.wrong", Some("the unknown field `refs`")),
        ("data.p_test.chosen.right", None),
    ] {
        let text = format!(
            "package p_test\n\ntest_x if is_object(platform.discover(\"sha256:a\", \"\")) with platform.discover as {mock}\n\n\
             made(_, _) := object.union({{}}, data.wrong)\n\n\
             chosen := {{\"wrong\": data.wrong, \"right\": data.right}}\n"
        );
        sandbox.write("p_test.rego", text);
        let run = sandbox.run(&["test", sandbox.path("").to_str().unwrap()]).output();
        let Some(message) = wrong else {
            run.code(0);
            continue;
        };
        let shown = format!("{}{}", run.stdout, run.stderr);
        assert!(run.code != Some(0), "{mock}: {run:#?}");
        assert!(shown.contains("a mock of `platform.discover`"), "{mock}: {shown}");
        assert!(shown.contains(message), "{mock}: {shown}");
    }
}

#[test]
fn a_statement_that_is_a_set_or_an_object_always_holds() {
    for (test, column) in [
        ("test_x if p.deny with input as {\"l\": []}", 11),
        ("test_x if { d := p.deny with input as {\"l\": []}; d }", 50),
        ("test_x if p.list with input as {\"l\": []}", 11),
        ("test_x if {m | some m in p.deny} with input as {\"l\": []}", 11),
        ("test_x if p.warn with input as {\"l\": []}", 11),
        ("test_x if found(1)\n\nfound(x) := {m | some m in p.deny; m == x}", 11),
        ("test_x if all\n\nall := {\"deny\": p.deny}", 11),
        ("test_x if object.union({}, {\"x\": p.deny})", 11),
        ("test_x if p.deny | {\"x\"}", 11),
        ("test_x if {\"x\" | p.deny[\"x\"]}", 11),
        ("test_x if [p.deny]", 11),
    ] {
        assert_eq!(of(test), [("always-true".to_owned(), 5, column)], "{test}");
    }
    for test in [
        "test_x if count(p.deny) == 0 with input as {}",
        "test_x if p.deny == set() with input as {}",
        "test_x if p.deny[\"no SBOM\"] with input as {}",
        "test_x if p.deny[_] with input as {}",
        "test_x if p.limit with input as {}",
        "test_x if p.sbom with input as {}",
        "test_x if not p.deny with input as {}",
        "helper if p.deny\n\ntest_x if helper",
        "test_x if found(\"x\")\n\nfound(x) := {x} if p.deny[x]",
        "test_x if walk(p.deny, [_, \"x\"])",
        "test_x if split(\"a\", \",\", [m | some m in p.deny])",
        "test_x if p.deny # check:ignore always-true",
    ] {
        assert_eq!(of(test), [], "{test}");
    }
}
