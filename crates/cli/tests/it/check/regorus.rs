//! `check --engine regorus`: each row of `docs/reference/regorus.md` that is visible in a policy.

use super::{Finding, finding};
use crate::cli::Sandbox;

/// Returns the findings about regorus in these files.
#[track_caller]
fn findings(files: &[(&str, &str)]) -> Vec<Finding> {
    let sandbox = Sandbox::new();
    for (name, text) in files {
        sandbox.write(&format!("p/{name}"), text);
    }
    let folder = sandbox.path("p");
    let arguments = ["check", "--engine", "regorus", "--format", "json", folder.to_str().unwrap()];
    let report = sandbox.run(&arguments).output().silent().json();
    let all = report["findings"].as_array().unwrap().iter().map(finding);
    all.filter(|(code, ..)| code.starts_with("regorus/") || code == "unused-ignore").collect()
}

#[test]
fn the_shipped_policies_are_the_same_on_regorus() {
    let sandbox = Sandbox::new();
    // Not the collections: they use functions that regorus lacks.
    for files in ["policies/*.rego", "examples/release_gate"] {
        let arguments = ["check", "--engine", "regorus", "--functions", "all", files];
        let output = sandbox.run(&arguments).output().code(0);
        assert_eq!(output.stdout, "");
        assert!(output.stderr.starts_with("0 errors and 0 warnings in"), "{}", output.stderr);
    }
}

/// A policy's rules, and the column of the one finding in each line that has one.
#[test]
fn what_regorus_answers_otherwise_is_found() {
    let cases: &[(&str, &str, &[(u64, u64)])] = &[
        (
            "regorus/function",
            "x := crypto.md5(input.a)\ny := http.send({\"method\": \"get\", \"url\": input.u})\n\
             z := count(input.a) + 1\nw := plus(1, input.b)",
            &[(1, 6), (4, 6)],
        ),
        (
            "regorus/syntax",
            "x := $\"a {input.a}\"\ny := sprintf(\"a %v\", [input.a])\nz if { input.a + 1 = 2 }\nw if { 2 = input.a + 1 }",
            &[(1, 6), (3, 8)],
        ),
        (
            "regorus/negated-operand",
            "a if not startswith(input.x, \"a\")\nb if not input.x == 1\nc if not input.x > 1\n\
             d if not lower(input.x) == \"a\"\ne if not input.x\nf if not input.m[input.k]\n\
             g if {\n\tsome y in input.l\n\tnot startswith(y, \"a\")\n}\n\
             h if not startswith(object.get(input, \"x\", \"\"), \"a\")\n\
             i if not total(input)\ntotal(x) := object.get(x, \"x\", false)\n\
             j if not i in {true}\nk if not l in {true}\ndefault l := false\nl if input.l\n\
             m contains x.n if {\n\tsome x in input.l\n\tnot startswith(x.n, \"a\")\n}\n\
             n contains x.o if {\n\tsome x in input.l\n\tnot startswith(x.n, \"a\")\n}",
            &[(1, 6), (3, 6), (4, 6), (6, 6), (14, 6), (24, 2)],
        ),
        (
            "regorus/membership",
            "a := input.x in input.l\nb if input.x in input.l\nc := [x | some x in input.l]\n\
             d := [y | some x in input.l; y := x in [1, 2]]",
            &[(1, 6)],
        ),
        (
            "regorus/object-pattern",
            "a := [x | some {\"n\": x} in input.l]\nb := x if {\"n\": x} := input.o\n\
             c := x if [x] := input.l\nd({\"n\": x}) := x\ne := x if { x := {\"n\": 1} }\n\
             f := x if { y := input.a; x := {\"n\": y} }\ng := x if { y := input.a; {\"n\": x} = y }",
            &[(1, 16), (2, 11), (4, 3), (7, 27)],
        ),
        (
            "regorus/head",
            "a[x] contains 1 if some x in input.l\nb[x].c := 1 if some x in input.l\n\
             c[x] := 1 if some x in input.l\nd.e contains 1 if input.x\nf contains x if some x in input.l",
            &[(1, 3), (2, 3)],
        ),
        (
            "regorus/walk",
            "a := [p | [p, _] := walk(input)]\nb := [p | walk(input, [p, _])]",
            &[(1, 21)],
        ),
        (
            "regorus/with-some",
            "a := [x | some x in input.l with input as {\"l\": [1]}]\n\
             b := [x | x := input.l[_] with input as {\"l\": [1]}]",
            &[(1, 11)],
        ),
        (
            "regorus/with-undefined",
            "a if { input.b with input.a as input.x with input.b as 1 }\n\
             b if { input.b with input.a as 1 with input.b as input.x }",
            &[(1, 16)],
        ),
        (
            "regorus/with-value",
            "m := [1]\na if { input.l with input.x as m }\nb if { n := m; input.l with input.x as n }\n\
             f(x) := x + 1\ng(x) := m[x]\nc if { input.l with input.x as f(1) }\nd if { input.l with input.x as [g(0)] }\n\
             h := 1 if { f(1) == 2 with f as f }",
            &[(2, 16), (7, 16)],
        ),
        (
            "regorus/with-function",
            "f(x) := x\ng(_) := 9\na := f(1)\nb := x if { x := data.p.a with data.p.f as g }\n\
             c := x if { x := a with f as g }",
            &[(4, 27)],
        ),
        (
            "regorus/mock",
            "f(_) := {}\na := x if { x := lower(input.b) with lower as upper }\n\
             b := x if { x := lower(input.b) with lower as f }\n\
             c := x if { x := platform.discover(input.b, \"\") with platform.discover as {} }",
            &[(2, 33), (4, 49)],
        ),
        (
            "regorus/result-argument",
            "a := x if { platform.discover(input.d, \"\", x) }\nb := x if { count(input.d, x) }\n\
             c := x if { walk(input.d, [_, x]) }",
            &[(1, 13), (2, 13)],
        ),
        (
            "regorus/shadow",
            "a := [x | some x in input.l; count([x | some x in [1]]) == 1]\n\
             b := x if { x := [y | some y in input.l]; z := [y | some y in input.l]; x == z }\n\
             c if { y := 1; every x in [y] { some y in [1]; y == x } }\n\
             d if { y := 1; every y in [1] { y == 1 } }\nf(x) := [x | some x in input.l]\n\
             g := [f | some f in input.l]\nh := [f | f := input.l[_]]\n\
             i := [input | some input; [1][input]]",
            &[(1, 46), (3, 38), (5, 19), (6, 16), (8, 20)],
        ),
        (
            "regorus/every",
            "a if { u := 1; every v in input.l { u = v } }\nb if { every v in input.l { [_, v] = input.m } }\n\
             c if { u := 1; every v in input.l { u == v } }\nd if { every v in input.l { v.n = 1 } }\n\
             e if { every k, v in input.l { v == 1; not k = 2 } }\nf if { every v in input.l { x := v; x = 1 } }",
            &[(1, 37), (2, 29), (5, 40)],
        ),
        (
            "regorus/with-open",
            "a if { input.l[0] == 1 with input.l as [x]; x = 1 }\nb if { x = 1; input.l[0] == 1 with input.l as [x] }\n\
             c if { input.n == 2 with input.n as count([1, 2]) }\nd(x) if { input.n with input.n as x }\n\
             e if { input.n with input.n as json.unmarshal(\"{}\") }",
            &[(1, 24)],
        ),
        ("regorus/nesting", "a := [[[[[[[[[[[[1]]]]]]]]]]]]\nb := [[[[1]]]]", &[(1, 6)]),
    ];
    for (code, rules, expected) in cases {
        let text = format!("package p\ndeny contains \"1\" if input.x\n{rules}\n");
        let found = findings(&[("p.rego", &text)]);
        let expected: Vec<Finding> =
            expected.iter().map(|(line, column)| ((*code).to_owned(), line + 2, *column)).collect();
        assert_eq!(found, expected, "{rules}");
    }
}

#[test]
fn packages_in_several_files_and_imports_are_found() {
    let one = "package p\nimport data.real as cfg\nx := cfg.v\ndeny contains 1 if x\n";
    let two = "package p\nimport data.fake as cfg\ny := cfg.v\n";
    let user = "package q\nimport data.p\ndeny contains 1 if p.x\ndeny contains 2 if data.p[_]\n\
                deny contains 3 if data.p.y\n";
    let code = |code: &str, line, column| (code.to_owned(), line, column);
    assert_eq!(
        findings(&[("one.rego", one), ("two.rego", two), ("user.rego", user)]),
        [
            code("regorus/import", 2, 1),
            code("regorus/import", 2, 1),
            code("regorus/whole-package", 2, 8),
            code("regorus/whole-package", 4, 20),
        ]
    );
    let a = "package a\nimport data.b\ndeny contains 1 if b.y\nz := 1\n";
    let b = "package b\nimport data.a\ny := a.z\n";
    let calling = "package c\nx := 1\ny := platform.discover(input.d, \"\")\n";
    let importing = "package d\nimport data.c\ndeny contains 1 if c.x\n";
    let rule = "package e\nimport data.c.x\ndeny contains 1 if x\n";
    assert_eq!(
        findings(&[
            ("a.rego", a),
            ("b.rego", b),
            ("c.rego", calling),
            ("d.rego", importing),
            ("e.rego", rule)
        ]),
        [
            code("regorus/package-import", 2, 1),
            code("regorus/package-import", 2, 1),
            code("regorus/package-import", 2, 1),
        ]
    );
}

#[test]
fn a_comment_silences_a_warning_about_regorus() {
    let silenced =
        "package p\n# check:ignore regorus/walk\ndeny contains p if [p, _] := walk(input)\n";
    assert_eq!(findings(&[("p.rego", silenced)]), []);
    let idle = "package p\n# check:ignore regorus/walk\ndeny contains p if walk(input, [p, _])\n";
    assert_eq!(findings(&[("p.rego", idle)]), [("unused-ignore".to_owned(), 2, 16)]);
    // Without the engine, nothing is looked for that could be silenced.
    assert_eq!(super::findings(&[("p.rego", idle)]), []);
}

#[test]
fn a_second_body_is_found() {
    let sandbox = Sandbox::new();
    let policy = sandbox
        .write("p.rego", "package p\n\nf(x) = 1 { x == 1 } { x == 2 }\n\nf(x) = 2 { x == 3 }\n");
    let arguments =
        ["check", "--v0-compatible", "--engine", "regorus", "--format", "json", &policy];
    let report = sandbox.run(&arguments).output().silent().json();
    let all: Vec<Finding> = report["findings"].as_array().unwrap().iter().map(finding).collect();
    assert_eq!(all, [("regorus/second-body".to_owned(), 3, 21)]);
}
