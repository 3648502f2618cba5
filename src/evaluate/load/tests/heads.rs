//! Heads and memberships that are undefined for some bindings; the values are OPA's.

use serde_json::json;

use super::*;
use crate::evaluate::{Answers, EvaluateOptions, Policies};

/// The value of `data.p`, with the built-ins that evaluations have.
fn answer(module: &str, v0: bool) -> Result<Json, String> {
    let said = |error: Error| format!("{error}\n{}", rendered(&error));
    let options = LoadOptions { rego_v0: v0, ..LoadOptions::default() };
    let policies = Policies::load(&sources(&[module], &json!({})), options).map_err(said)?;
    let query = policies.query("data.p").map_err(said)?;
    let input = Value::from_json_str(r#"{"xs": [{"y": 1}, {"z": 2}], "b": 3}"#).unwrap();
    let options = EvaluateOptions::new(Answers::Nobody("there is no service".into()));
    let output = policies.evaluate(&query, Some(&input), &options).result;
    let rows = output.map_err(said)?.rows;
    Ok(serde_json::to_value(&rows[0].expressions[0].value).unwrap())
}

fn has(module: &str, v0: bool, wanted: &Json) {
    match answer(module, v0) {
        Ok(value) => assert_eq!(&value, wanted, "{module}"),
        Err(error) => panic!("{module}\n{error}"),
    }
}

#[test]
fn an_undefined_head_loses_no_other() {
    for (rules, wanted) in [
        (
            "f(d) := \"bad\" if d < 3\ndeny contains f(d) if some d in [1, 2, 3]",
            json!({"deny": ["bad"]}),
        ),
        (
            "f(d) := \"bad\" if d > 2\ndeny contains f(d) if { some d in [1, 2, 3] }\n\
             a[d] := f(d) if some d in [1, 3, 2]\nb[f(d)] := d if some d in [1, 3]\n\
             x := f(d) if some d in [1, 3]\ny := f(d) if some d in [3, 1]",
            json!({"deny": ["bad"], "a": {"3": "bad"}, "b": {"bad": 3}, "x": "bad", "y": "bad"}),
        ),
        (
            "s contains concat(\",\", [d.x,\n   d.z, # {what\n   \"q\"]) if { some d in \
             [{\"x\": \"a\", \"z\": \"1\"}, {\"y\": \"b\"}] # note\n   # closing }\n}",
            json!({"s": ["a,1,q"]}),
        ),
        (
            "p[x].q := y.v if some x, y in {\"a\": {\"v\": 1}, \"b\": {}}\n\
             q.r[x.k] contains x.v if some x in [{\"k\": \"a\", \"v\": 1}, {\"k\": \"b\"}, {\"v\": 2}]",
            json!({"p": {"a": {"q": 1}}, "q": {"r": {"a": [1]}}}),
        ),
        (
            "s contains input.xs[_].y\nt := input.xs[_].y\nu[input.xs[i].z] := i",
            json!({"s": [1], "t": 1, "u": {"2": 1}}),
        ),
        (
            "deny contains { # { first\n  # { second\n  \"m\": d.m,\n  \"x\": {\"a\": 1, \"b\": d},\n  \
             \"y\": set(),\n} if some d in [{\"m\": 1}, {}]",
            json!({"deny": [{"m": 1, "x": {"a": 1, "b": {"m": 1}}, "y": []}]}),
        ),
        (
            "x contains d.n if { some d in [{}, {\"n\": 3}]; not input.q == d.n; every z in [1] { z > 0 } }",
            json!({"x": [3]}),
        ),
        (
            "x := {\"a\": {y | y := input.xs[_].y}, \"b\": input.b} if { some _ in [1] }",
            json!({"x": {"a": [1], "b": 3}}),
        ),
    ] {
        has(&format!("package p\n{rules}\n"), false, &wanted);
        has(&format!("package p\r\n{}\r\n", rules.replace('\n', "\r\n")), false, &wanted);
    }
}

#[test]
fn an_undefined_value_leads_to_else() {
    let rules = "package p\nf(x) := x.a if x.b else := x.c if { x.c } else := input.q.r else := 9\n\
        a := f({\"b\": 1})\nb := f({\"b\": 1, \"c\": 2})\nc := f({\"b\": 1, \"a\": 7, \"c\": 2})\n\
        g(x) := r if { x > 0 } else := 3\nr := 1 if input.zz\nd := g(1)\n\
        e := r if { true } else := x if { x := 5 } else := 6\n";
    // A third `else` after one without a body isn't Rego.
    let rules = rules.replace(" else := input.q.r else := 9", " else := 9");
    has(&rules, false, &json!({"a": 9, "b": 2, "c": 7, "d": 3, "e": 5}));
}

#[test]
fn each_body_has_the_head() {
    let old = "package p\nx = y { y := 1; y > 2 } { y := 5 }\nf(a) = b { b := a; a > 5 } { b := 10 }\n\
        z = f(1)\ndeny[d.m] { d := [{\"m\": 1}, {}][_] }\nc[input.xs[_].y]\n\
        e = input.q { true } else = 7 { true }\nq[x] = y { y := \"a\"; x := 1 } { y := \"b\"; x := 2 }\n";
    let wanted = json!({
        "x": 5, "z": 10, "deny": [1], "c": [1], "e": 7, "q": {"1": "a", "2": "b"},
    });
    has(old, true, &wanted);
    has("package p\nx := f(1) if { input.no } { 2 > 1 }\nf(x) := x\n", false, &json!({"x": 1}));
}

#[test]
fn plain_heads_stay_as_they_are() {
    let module = "package p\ndeny contains msg if { some x in [1]; msg := sprintf(\"%v\", [x]) }\n\
        f(x) := [x, \"a\"]\ng(x) := x.y\nallow := true if input.x\nq[k] := {v} if some k, v in input\n\
        c contains {x | x := input.y} if input.z\nm := input.a.b\ndefault n := -1\n";
    let loaded = loaded(&[module]);
    assert_eq!(loaded.rewritten("0.rego").unwrap(), module);
}

#[test]
fn errors_in_a_head_have_its_place() {
    let module = "package p\n\ndeny contains [1,\n  d + 1] if {\n\tsome d in [\"a\"]\n}\n";
    let error = answer(module, false).unwrap_err();
    assert!(error.contains("0.rego:4:"), "{error}");
    assert!(error.contains("  d + 1] if {"), "{error}");
}

#[test]
fn membership_of_the_undefined_is_undefined() {
    let statements = [
        "y := input.zz in [3]; y == false",
        "y := 3 in input.zz; y == false",
        "y := (3, 4 in input.zz); y == false",
        "5, input.zz in [1]",
        "input.zz, 1 in [1]",
        "x := {\"a\": input.zz in [3]}",
        "y := [input.zz in\n [3]]",
    ];
    for statement in statements {
        has(&format!("package p\na if {{ {statement} }}\n"), false, &json!({}));
    }
    for statement in [
        "y := input.b in [3]; y",
        "y := \"b\", 3 in input; y",
        "y := (1, input.xs[1] in input.xs); y",
        "y := input.b in input.xs in {false}; y",
        "y := \"a\" in input.b; y == false",
        "y := (\"a\", input.b in {3}); y == false",
        "input.xs[_].y in {1}",
        "not (input.b, 3 in [1])",
    ] {
        has(&format!("package p\na if {{ {statement} }}\n"), false, &json!({"a": true}));
    }
}
