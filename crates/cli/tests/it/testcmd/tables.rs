//! Tests over tables, with the results of OPA 1.22.4 unless noted otherwise.

use serde_json::{Value, json};

use super::test;

const CASES: &str = r#"{"x": {"one": {"a": 1, "b": 2}, "two": {"a": 2, "b": 3}}, "y": {"three": {"a": 5, "b": 7}}}"#;

/// Returns the results within the only test of a module, and the exit status.
fn within(body: &str) -> (Value, i32) {
    let module = format!("package a_test\n\ncases := {CASES}\n\n{body}\n");
    let output = test(&[("a_test.rego", &module)], &["--format", "json"]);
    let results = output.json();
    let [only] = results.as_array().unwrap().as_slice() else { panic!("{results}") };
    (only["sub_results"].clone(), output.code.unwrap())
}

fn passed(name: &str) -> Value {
    json!({"name": name})
}

fn failed(name: &str) -> Value {
    json!({"name": name, "fail": true})
}

#[test]
fn each_key_is_a_level() {
    let body = "test_x[group][name] if {\n\tsome group, list in cases\n\t\
        some name, tc in list\n\ttc.a + 1 == tc.b\n}";
    let x = json!({"name": "x", "sub_results": {"one": passed("one"), "two": passed("two")}});
    let y = json!({"name": "y", "fail": true, "sub_results": {"three": failed("three")}});
    assert_eq!(within(body), (json!({"x": x, "y": y}), 1));
}

#[test]
fn a_fixed_key_is_a_level_too() {
    let body = "test_x.sub[name] if {\n\tsome name, tc in cases.x\n\ttc.a + 1 == tc.b\n}";
    let sub = json!({"name": "sub", "sub_results": {"one": passed("one"), "two": passed("two")}});
    assert_eq!(within(body), (json!({"sub": sub}), 0));
    let body = "test_x[name][\"a b\"] if {\n\tsome name, tc in cases.x\n\ttc.a == 1\n}";
    let (found, code) = within(body);
    let one = json!({"name": "one", "sub_results": {"a b": passed("a b")}});
    let two = json!({"name": "two", "fail": true, "sub_results": {"a b": failed("a b")}});
    assert_eq!((found, code), (json!({"one": one, "two": two}), 1));
    // Without a variable there is no case.
    assert_eq!(within("test_x[\"a\"][\"b\"] if true"), (Value::Null, 1));
}

#[test]
fn names_are_numbers_arrays_and_made_of_parts() {
    let body = "test_x[i] if {\n\tsome i, n in [1, 2]\n\tn == 1\n}";
    assert_eq!(within(body), (json!({"0": passed("0"), "1": failed("1")}), 1));
    let body = "test_x[[a, b]] if {\n\tsome a in [1]\n\tsome b in [2]\n}";
    assert_eq!(within(body), (json!({"[1,2]": passed("[1,2]")}), 0));
    let body = "test_x[sprintf(\"%s-%d\", [name, tc.a])] if {\n\tsome name, tc in cases.x\n\t\
        tc.a == 1\n}";
    assert_eq!(within(body), (json!({"one-1": passed("one-1"), "two-2": failed("two-2")}), 1));
    let body = "test_x[name] := same if {\n\tsome name, tc in cases.y\n\tsame := tc.a == tc.b\n}";
    assert_eq!(within(body), (json!({"three": failed("three")}), 1));
}

/// OPA 1.22.4's, except that it also passes a case whose value is null or an empty object.
#[test]
fn the_members_of_a_case_s_value_are_cases() {
    let body = "test_x[name] := {\"a\": {\"b\": ok}, \"c\": true} if {\n\tsome name, tc in cases.x\n\t\
        ok := tc.a == 1\n}";
    let case = |name: &str, ok: bool| {
        let b = if ok { passed("b") } else { failed("b") };
        let mut a = json!({"name": "a", "sub_results": {"b": b}});
        let mut all = json!({"name": name});
        if !ok {
            a["fail"] = json!(true);
            all["fail"] = json!(true);
        }
        all["sub_results"] = json!({"a": a, "c": passed("c")});
        all
    };
    let (found, code) = within(body);
    assert_eq!((found, code), (json!({"one": case("one", true), "two": case("two", false)}), 1));
    for value in ["null", "{}", "[true]", "{\"a\": \"b\"}"] {
        assert_eq!(within(&format!("test_x[\"a\"] := {value} if input.n != 1")).1, 1, "{value}");
    }
}

#[test]
fn cases_that_fail_because_a_value_is_undefined_have_names() {
    for condition in ["tc.a == input.z", "tc.a == data.z.z", "input.z + 1 == tc.b", "input.z"] {
        let body = format!("test_x[name] if {{\n\tsome name, tc in cases.x\n\t{condition}\n}}");
        let names = json!({"one": failed("one"), "two": failed("two")});
        assert_eq!(within(&body), (names, 1), "{condition}");
    }
}

#[test]
fn two_tables_of_one_name_are_two_tests() {
    let module = "package a_test\n\ntest_x[a][b] if {\n\tsome a in [1]\n\tsome b in [2]\n}\n\n\
        test_x[a][b] if {\n\tsome a in [3]\n\tsome b in [4]\n\tfalse\n}\n";
    let output = test(&[("a_test.rego", module)], &["-v"]).code(1);
    let lines: Vec<&str> = output.stdout.lines().map(|l| l.split(" (").next().unwrap()).collect();
    let expected = [
        "./a_test.rego:",
        "data.a_test.test_x: PASS",
        "  1: PASS",
        "    2: PASS",
        "data.a_test.test_x#01: FAIL",
        "  3: FAIL",
        "    4: FAIL",
    ];
    assert_eq!(lines[..7], expected, "{output:#?}");
    // Cases are counted, as OPA counts them.
    assert!(output.stdout.ends_with("PASS: 1/2\nFAIL: 1/2\n"), "{output:#?}");
}

#[test]
fn cases_come_from_data_files_beside_the_tests() {
    let policy = "package release\n\ndeny contains \"no SBOM\" if {\n\t\
        kinds := {r.kind | some r in platform.discover(input.image, \"\").references}\n\t\
        not \"SBOM_SPDX_JSON\" in kinds\n}\n";
    let tests = "package release_test\n\nimport data.release\n\ntest_x[name] if {\n\t\
        some name, tc in data.release.cases\n\tcount(release.deny) == tc.denied \
        with platform.discover as {\"references\": tc.references} with input.image as \"x\"\n}\n";
    // The folder is the data's path; a folder `release` beside a rule's package doesn't clash with
    // its rules.
    let cases = r#"{"cases": {"with": {"references": [{"kind": "SBOM_SPDX_JSON"}], "denied": 0},
        "without": {"references": [], "denied": 1}, "wrong": {"references": [], "denied": 0}}}"#;
    let files =
        [("release.rego", policy), ("release_test.rego", tests), ("release/cases.json", cases)];
    let output = test(&files, &[]).code(1);
    assert!(
        output.stdout.contains("  with: PASS\n  without: PASS\n  wrong: FAIL\n"),
        "{output:#?}"
    );
    assert!(output.stdout.ends_with("PASS: 2/3\nFAIL: 1/3\n"), "{output:#?}");
}

#[test]
fn the_first_failed_case_shows_the_expression_and_its_operands() {
    let module = format!(
        "package a_test\n\ncases := {CASES}\n\ntest_x[group][name] if {{\n\t\
        some group, list in cases\n\tsome name, tc in list\n\ttc.a > 0\n\t\
        tc.a + 1 == tc.b # no\n}}\n"
    );
    let output = test(&[("a_test.rego", &module)], &[]).code(1);
    for text in [
        "  case y/three:\n  ./a_test.rego:9:2: this is false\n",
        "9 | \ttc.a + 1 == tc.b # no\n",
        "tc.a + 1: 6\n",
        "tc.b: 7\n",
    ] {
        assert!(output.stdout.contains(text), "{text}: {output:#?}");
    }
    // A number isn't the string of its digits, and a key composed of parts is a single one.
    for (head, some, shown) in [
        ("n", "some n in [\"1\", 1]\n\tn == \"1\"", "case 1:\n  ./a_test.rego:5:2: this is false"),
        (
            "sprintf(\"%d-x\", [n])",
            "some n in [1, 2]\n\tn == 1",
            "case 2-x:\n  ./a_test.rego:5:2: this is false",
        ),
        (
            "[n, m]",
            "some n, m in [7, 8]\n\tm == 7",
            "case [1,8]:\n  ./a_test.rego:5:2: this is false",
        ),
    ] {
        let module = format!("package a_test\n\ntest_x[{head}] if {{\n\t{some}\n}}\n");
        let output = test(&[("a_test.rego", &module)], &[]).code(1);
        assert!(output.stdout.contains(shown), "{head}: {output:#?}");
    }
}
