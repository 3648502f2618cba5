//! Functions of the product under `with`, and names that collide with theirs.

use serde_json::json;

use super::*;

const USER: &str = "package p\nimport data.lib\nx := platform.discover(input.d, \"\")\n\
    y := lib.through(1)\nz := host.lookup(1)\n";
const LIB: &str = "package lib\nthrough(a) := platform.evidence({})\nmock(a, b) := \"mock\"\n";

#[test]
fn d17_the_shim_goes_only_where_it_is_needed() {
    let plain = loaded(&[USER, LIB]);
    assert!(!plain.uses().shim);
    assert_eq!(plain.uses().functions, ["platform.discover", "platform.evidence"]);
    assert!(plain.rewritten("0.rego").unwrap().contains("platform.discover(input.d"));
    let tests = "package t\nimport data.p\nx := p.x with platform.discover as \"m\"\n\
        with input as {\"d\": 1}\n"
        .replace("x := p.x with", "x := v if { v := p.x with")
        .replace("{\"d\": 1}\n", "{\"d\": 1} }\n");
    let tests = tests.replace("\"m\"\n", "\"m\" ");
    for text in [
        tests.clone(),
        tests.replace('\n', "\r\n"),
        format!("\u{feff}# METADATA\n# title: é\n{tests}"),
        tests.replace("package t\n", "package t # c\n"),
        tests.replace("package t\n", "package t  "),
    ] {
        let loaded = loaded(&[USER, LIB, &text]);
        assert!(loaded.uses().shim);
        assert_eq!(evaluate(&loaded, "data.t.x", &json!({})), Ok(json!("m")), "{text}");
        assert!(loaded.rewritten("1.rego").unwrap().contains("platform.evidence({})"));
    }
}

#[test]
fn d18_collisions_are_refused() {
    for (module, code) in [
        ("package p\nimport data.x as platform\ny := platform.z\n", "name-collision"),
        ("package p\nimport data.platform\ny := platform.discover(\"\", \"\")\n", "name-collision"),
        ("package p\ny := platform.discoverr(1, 2)\n", "unknown-function"),
        ("package p\ny if { false; platform.nope }\n", "unknown-function"),
        ("package p\ny := platform.discover\n", "function-as-value"),
        ("package p\ny := [x | x := platform]\n", "unknown-name"),
        ("package p\nf(platform) := platform.discover(1, 2)\n", "unknown-function"),
        ("package p\nplatform := {}\ny := platform.discover(1, 2)\n", "unknown-function"),
    ] {
        let found = codes(&[module]);
        assert!(found.iter().any(|c| c == code), "{module}: {found:?}");
    }
    let beside = "package p\nx contains platform if some platform in [1]\n\
        y := platform.evidence({})\n";
    assert_eq!(answer(&[beside], "data.p.x", &json!({})), json!([1]));
    assert_eq!(answer(&[beside], "data.p.y", &json!({})), json!("real platform.evidence"));
}

#[test]
fn d19_mocks_work_everywhere() {
    let cases = [
        ("p.x with platform.discover as lib.mock with input as {\"d\": 1}", json!("mock")),
        ("p.x with platform.discover as \"value\" with input as {\"d\": 1}", json!("value")),
        (
            "p.x with platform.discover as platform.discover with input.d as 1",
            json!("real platform.discover"),
        ),
        ("p.y with platform.evidence as count with input as {}", json!(0)),
        ("p.y with platform.evidence as {\"results\": []}", json!({"results": []})),
        ("[v | v := p.y with platform.evidence as 7]", json!([7])),
        ("p.z with host.lookup as 3", json!(3)),
        ("count([1, 2]) with count as lib.one", json!("one")),
        ("data.deep.a with platform.evidence as 5 with data.cfg as {\"k\": 2}", json!([5, 2])),
    ];
    let deep = "package deep\na := [b, data.cfg.k]\nb := platform.evidence({}) if {\n\
        every x in [1] { x == 1; not false }\n}\n";
    let mut text = String::from("package t\nimport data.lib\nimport data.p\n");
    for (index, (expression, _)) in cases.iter().enumerate() {
        text += &format!("x{index} := v if {{ v := {expression} }}\n");
    }
    text.push_str("n if { not p.y with platform.evidence as false }\n");
    let lib = format!("{LIB}one(x) := \"one\"\n");
    let loaded = loaded(&[USER, &lib, deep, &text]);
    for (index, (expression, wanted)) in cases.iter().enumerate() {
        let query = format!("data.t.x{index}");
        assert_eq!(evaluate(&loaded, &query, &json!({})).as_ref(), Ok(wanted), "{expression}");
    }
    assert_eq!(evaluate(&loaded, "data.t.n", &json!({})), Ok(json!(true)));
}

#[test]
fn a_mock_by_any_name_reaches_every_call() {
    let modules = [
        "package p\nimport data.q\nf(a) := a\ng(a) := 7\nh := f(1)\n\
         by_path := v if { v := h with data.p.f as g }\n\
         by_name := v if { v := [h, q.h] with f as 3 }\n\
         by_alias := v if { v := [h, q.h] with q.f as 4 }\n",
        "package q\nf(a) := a + 1\nh := f(1)\n",
    ];
    let loaded = loaded(&modules);
    let ask = |query: &str| evaluate(&loaded, query, &json!({})).unwrap();
    assert_eq!(ask("data.p.by_path"), json!(7));
    assert_eq!(ask("data.p.by_name"), json!([3, 2]));
    assert_eq!(ask("data.p.by_alias"), json!([1, 4]));
}

#[test]
fn an_undefined_replacement_is_never_overlooked() {
    let module = "package p\nq if input == 5\n\
        a if { not q with input as data.missing with data.z as 1 }\n\
        b if { not q with data.z as data.missing with input as 1 }\n\
        c := v if { v := [input, data.z] with input as data.p.one with data.z as 2 }\none := 1\n";
    let loaded = loaded(&[module]);
    let ask = |query: &str| evaluate(&loaded, query, &json!({})).unwrap();
    assert_eq!(ask("data.p.a"), json!("undefined"));
    assert_eq!(ask("data.p.b"), json!("undefined"));
    assert_eq!(ask("data.p.c"), json!([1, 2]));
}

#[test]
fn replacements_are_evaluated_before_what_they_are_for() {
    let module = "package p\nd := data.base\nq if input.i == d\n\
        a if q with input as {\"i\": d}\n\
        b if # {\n\tq with input as {\"i\": [v | v := d][0]}\n\
        c if not q with input as {\"i\": d} with data.base as 7\n\
        e := n if { n := count(input) with input as data.w }\n\
        g(x) := x + input.n + data.base\nf(x) := x\nh := f(1)\n\
        both := v if { v := h with f as g with input as {\"n\": d} with data.base as 20 }\n";
    let with = "package w\nx := 1\ny := 2\n";
    let data = json!({"base": 5});
    let loaded = load(&sources(&[module, with], &data), &options()).unwrap();
    let ask = |query: &str| evaluate(&loaded, query, &json!({})).unwrap();
    for rule in ["a", "b", "c"] {
        assert_eq!(ask(&format!("data.p.{rule}")), json!(true), "{rule}");
    }
    assert_eq!(ask("data.p.e"), json!(2));
    assert_eq!(ask("data.p.both"), json!(26));
    assert_eq!(ask("[v | v := data.p.q with input as {\"i\": data.p.d}]"), json!([true]));
    assert_eq!(ask("[1 | not data.p.q with input as {\"i\": data.p.d}]"), json!([]));
    assert_eq!(ask("[v | v := count(input) with input as data.w]"), json!([2]));
}

#[test]
fn a_query_replaces_what_modules_call_or_is_refused() {
    let tests = "package t\nimport data.p\nx if p.x with platform.discover as 1\n";
    let loaded = loaded(&[USER, LIB, tests]);
    let ask = |query: &str| evaluate(&loaded, query, &json!({"d": 1}));
    assert_eq!(ask("[v | v := data.p.x with platform.discover as 3]"), Ok(json!([3])));
    assert_eq!(ask("[v | v := data.p.x]"), Ok(json!(["real platform.discover"])));
    let error = ask("[v | v := data.p.y with platform.evidence as 3]").unwrap_err();
    assert!(error.contains("a query can't replace functions"), "{error}");
}

/// OPA's compiler makes `=` of `==` in modules, which reads a reference with the equation; in
/// queries it doesn't.
#[test]
fn a_negated_comparison_in_a_query_evaluates_its_operands_first() {
    let loaded = loaded(&["package p\nu := input.nope\nn if not u == 1\n"]);
    let ask = |query: &str| evaluate(&loaded, query, &json!({})).unwrap();
    assert_eq!(ask("data.p.n"), json!(true));
    assert_eq!(ask("[1 | not data.p.u == 1]"), json!([]));
    assert_eq!(ask("[1 | x := 1; not x == data.p.u]"), json!([]));
    assert_eq!(ask("[1 | not data.p.u = 1]"), json!([1]));
}
