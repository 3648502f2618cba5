//! The cases in which the interpreter alone lets gates pass, dies or hangs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use proptest::prelude::*;
use regorus::{Engine, Value};
use serde_json::{Value as Json, json};

use super::*;
use crate::evaluate::sources::{DataSource, ModuleSource};

fn options() -> LoadOptions {
    let function = |short: &str, arity| FunctionName { short: short.into(), arity };
    LoadOptions {
        functions: vec![function("discover", 2), function("evidence", 1)],
        host_functions: vec![("host.lookup".into(), 1)],
        include_tests: true,
        ..LoadOptions::default()
    }
}

fn sources(modules: &[&str], data: &Json) -> Sources {
    Sources {
        modules: modules
            .iter()
            .enumerate()
            .map(|(i, text)| ModuleSource { path: format!("{i}.rego"), text: (*text).into() })
            .collect(),
        data: vec![DataSource {
            path: "data.json".into(),
            value: serde_json::from_value(data.clone()).unwrap(),
        }],
    }
}

fn loaded(modules: &[&str]) -> Loaded {
    match load(&sources(modules, &json!({})), &options()) {
        Ok(loaded) => loaded,
        Err(error) => panic!("{}", rendered(&error)),
    }
}

fn rendered(error: &Error) -> String {
    error.diagnostics().iter().map(crate::Diagnostic::render).collect::<Vec<_>>().join("\n\n")
}

/// Code, message, line and column of each refusal.
fn refused(
    modules: &[&str],
    data: &Json,
    options: &LoadOptions,
) -> Vec<(String, String, u32, u32)> {
    let error = load(&sources(modules, data), options).expect_err("loads");
    error
        .diagnostics()
        .iter()
        .map(|d| {
            let (line, column) = d.position.as_ref().map_or((0, 0), |p| (p.line, p.column));
            (d.code.to_owned(), d.message.clone(), line, column)
        })
        .collect()
}

fn codes(modules: &[&str]) -> Vec<String> {
    refused(modules, &json!({}), &options()).into_iter().map(|r| r.0).collect()
}

/// The loaded modules' engine with functions that say who they are.
fn engine(loaded: &Loaded) -> Engine {
    let mut engine = loaded.engine();
    for (name, arity) in [("platform.discover", 2), ("platform.evidence", 1), ("host.lookup", 1)] {
        let answer = Box::new(move |_| Ok(Value::from(format!("real {name}"))));
        engine.add_extension(name.into(), arity, answer).unwrap();
    }
    engine
}

fn evaluate(loaded: &Loaded, query: &str, input: &Json) -> Result<Json, String> {
    let query = loaded.rewrite_query(query).map_err(|e| rendered(&e))?;
    let mut engine = engine(loaded);
    engine.set_input(serde_json::from_value(input.clone()).unwrap());
    if let Some((path, text)) = query.module {
        engine.add_policy(path, text).unwrap();
    }
    let results = engine
        .eval_query(query.text, false)
        .map_err(|e| loaded.diagnose(&e.to_string()).render())?;
    Ok(match results.result.first() {
        Some(result) => serde_json::to_value(&result.expressions[0].value).unwrap(),
        None => json!("undefined"),
    })
}

fn answer(modules: &[&str], query: &str, input: &Json) -> Json {
    evaluate(&loaded(modules), query, input).unwrap()
}

const SPLIT: [&str; 3] = [
    "package p\ny := 1\n",
    "package p\ndefault allow := false\nallow if not bad\nbad if input.evil\n\
     violations contains v if some v in helper\nhelper contains \"v\" if bad\n",
    "package p.sub\nz := 2\n",
];

#[test]
fn a1_packages_over_files_are_answered_rule_by_rule() {
    let input = json!({"evil": true});
    let user = "package q\nimport data.p\nimport data.p as whole\n\
        rule := p.allow\nall := whole\nsome_of := {v | v := p[_]; is_boolean(v)}\n\
        picked := p[input.name]\nfound := {v | some v in data[_].violations}\n\
        listed := {k | some k, _ in p}\n";
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]] {
        let all = [SPLIT[0], SPLIT[1], SPLIT[2], user];
        let modules: Vec<&str> = order.iter().map(|i| all[*i]).collect();
        let loaded = loaded(&modules);
        let whole = json!({
            "allow": false, "bad": true, "helper": ["v"], "violations": ["v"], "y": 1,
            "sub": {"z": 2},
        });
        let ask = |query: &str| evaluate(&loaded, query, &input).unwrap();
        assert_eq!(ask("data.p"), whole);
        assert_eq!(ask("data.q.all"), whole);
        assert_eq!(ask("data.q.rule"), json!(false));
        assert_eq!(ask("data.q.some_of"), json!([false, true]));
        assert_eq!(ask("data.q.found"), json!(["v"]));
        assert_eq!(
            ask("data.q.listed"),
            json!(["allow", "bad", "helper", "sub", "violations", "y"])
        );
        assert_eq!(ask("data.q.picked"), json!("undefined"));
        assert_eq!(ask("data").get("p"), Some(&whole));
        assert_eq!(ask("{k | data[k]}"), json!(["p", "q"]));
    }
}

#[test]
fn a2_imports_belong_to_their_file() {
    let modules = [
        "package p\nimport data.real as cfg\nfirst := cfg.x\n",
        "package p\nimport data.fake as cfg\nsecond := cfg.x\n",
        "package real\nx := \"real\"\n",
        "package fake\nx := \"fake\"\n",
    ];
    assert_eq!(answer(&modules, "data.p", &json!({})), json!({"first": "real", "second": "fake"}));
    let conflict = ["package p\nimport data.a.x\nimport data.b.x\ny := x.z\n"];
    assert_eq!(codes(&conflict), ["import-conflict"]);
    let mut options = options();
    options.include_tests = false;
    let modules = ["package p\nx := 1\n", "package p_test\nx := data.nope.f(1)\n"];
    let loaded = load(&sources(&modules, &json!({})), &options).unwrap();
    assert_eq!(loaded.packages().count(), 1);
}

#[test]
fn a3_data_never_overrides_rules() {
    let rules = ["package p\ndefault allow := false\n"];
    for data in
        [json!({"p": {"allow": true}}), json!({"p": [1]}), json!({"p": {"allow": {"x": 1}}})]
    {
        let found = refused(&rules, &data, &options());
        assert_eq!(found.len(), 1, "{data}");
        assert_eq!(found[0].0, "data-conflict", "{data}");
    }
    let beside = load(&sources(&rules, &json!({"p": {"extra": 1}})), &options()).unwrap();
    let whole = evaluate(&beside, "data.p", &json!({})).unwrap();
    assert_eq!(whole, json!({"allow": false, "extra": 1}));
    let twice = Sources {
        data: [1, 2]
            .map(|n| DataSource {
                path: format!("{n}.json"),
                value: Value::from_json_str(&format!("{{\"a\": {{\"b\": {n}}}}}")).unwrap(),
            })
            .into(),
        ..Sources::default()
    };
    let error = load(&twice, &options()).unwrap_err();
    assert_eq!(error.diagnostics()[0].code, "data-conflict");
}

#[test]
fn a4_one_rule_evaluates_no_other() {
    let modules = [
        "package p\nimport data.q\nx := q.fine\nback := 1\n",
        "package q\nimport data.p\nfine := p.back\nbroken := 1 / 0\n",
    ];
    assert_eq!(answer(&modules, "data.p.x", &json!({})), json!(1));
    let whole = evaluate(&loaded(&modules), "data.q", &json!({})).unwrap_err();
    assert!(whole.contains("1.rego:4:13"), "{whole}");
}

#[test]
fn a7_mocks_of_what_doesnt_exist_are_refused() {
    for (target, code) in [
        ("platform.discoverr as 1", "unknown-function"),
        ("platform as 1", "unknown-name"),
        ("cuont as 1", "with-target"),
        ("host.nope as 1", "with-target"),
        ("data.lib.fetchh as data.lib.fetch", "with-target"),
        ("print as 1", "with-target"),
        ("walk as 1", "with-target"),
        ("platform.discover as data.lib.fetch", "arity"),
    ] {
        let module = format!("package p\nx if {{ true with {target} }}\n");
        let modules = [module.as_str(), "package lib\nfetch(a) := a\n"];
        let found = refused(&modules, &json!({}), &options());
        assert_eq!(found.len(), 1, "{target}: {found:?}");
        assert_eq!(found[0].0, code, "{target}: {found:?}");
        assert_eq!(found[0].2, 2);
    }
}

#[test]
fn b8_recursion_is_refused_with_the_cycle() {
    let found = refused(&["package p\nf(x) := f(x + 1)\n"], &json!({}), &options());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1, "`data.p.f` depends on itself: data.p.f → data.p.f");
    assert_eq!((found[0].2, found[0].3), (2, 9));
    let modules = [
        "package a\nimport data.b\nx := b.y\n",
        "package b\nimport data.c\ny := [1 | c.z[_] > 1]\n",
        "package c\nz := [q | q := data[k].x]\n",
    ];
    let found = refused(&modules, &json!({}), &options());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("data.a.x → data.b.y → data.c.z → data.a.x"), "{found:?}");
    assert_eq!(codes(&["package p\nx := data\n"]), ["recursion"]);
    assert_eq!(codes(&["package p\nx := 1 with data.p.x as 2\n"]), ["parse-error"]);
    assert_eq!(codes(&["package p\nx if { true with data.p as 2 }\n"]), ["recursion"]);
}

#[test]
fn b8_chains_and_sources_are_bounded() {
    let chain = |n: usize| {
        let mut text = String::from("package p\nr0 := 1\n");
        for i in 1..n {
            text.push_str(&format!("r{i} := r{} + 1\n", i - 1));
        }
        text
    };
    loaded(&[&chain(1_000)]);
    assert_eq!(codes(&[&chain(cycles::MAX_CHAIN + 2)]), ["too-deep"]);
    for text in [
        format!("package p\nx := 1{}\n", " + 1".repeat(15_000)),
        format!("package p\nx := {}1{}\n", "abs(".repeat(5_000), ")".repeat(5_000)),
        format!("package p\nx := 1{}\n", "\n+ 1".repeat(15_000)),
    ] {
        assert_eq!(codes(&[&text]), ["too-deep"]);
    }
}

#[test]
fn b9_nested_literals_dont_hang_the_parser() {
    for text in ["[".repeat(30), "[{".repeat(30), "[\n".repeat(25), "{[{".repeat(8)] {
        let start = std::time::Instant::now();
        let module = format!("package p\nx := {text}\n");
        assert_eq!(codes(&[&module]).len(), 1);
        assert!(start.elapsed().as_secs() < 5, "{text}");
    }
    let deep = format!("package p\nx := {}1{}\n", "{\"a\": [".repeat(4), "]}".repeat(4));
    loaded(&[&deep]);
}

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
        text.push_str(&format!("x{index} := v if {{ v := {expression} }}\n"));
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
fn locals_hide_imports_and_rules() {
    let module = "package p\nimport data.cfg\nr := 5\n\
        a if { some cfg in [1]; cfg == 1 }\n\
        b := f(2)\nf(cfg) := cfg\n\
        c := [cfg | some cfg in [3]]\n\
        d if { every cfg in [4] { cfg == 4 } }\n\
        e := cfg.x\n\
        g if { some r in [1]; r == 1 }\n\
        h if { some r; {\"k\": 1}[r] == 1 }\n\
        i := [v | cfg := {\"x\": 9}; v := cfg.x]\n\
        j := {\"cfg\": cfg.x, cfg.x: 1}\n";
    let wanted = json!({
        "a": true, "b": 2, "c": [3], "d": true, "e": "x", "g": true, "h": true, "i": [9],
        "j": {"cfg": "x", "x": 1}, "r": 5,
    });
    let loaded = load(&sources(&[module], &json!({"cfg": {"x": "x"}})), &options()).unwrap();
    assert_eq!(evaluate(&loaded, "data.p", &json!({})), Ok(wanted));
}

#[test]
fn old_modules_and_quoted_packages_keep_working() {
    let old = "package a[\"b-c\"]\nimport future.keywords.in\nimport data.cfg[\"k-1\"] as k\n\
        x = k.v { 1 in [1] }\ns[v] { v := k.list[_] }\nf(a) = a { true }\n";
    let user = "package u\nimport rego.v1\nimport data.a[\"b-c\"] as lib\n\
        y := [lib.x, lib.s, lib.f(3)]\nall := lib\n";
    let data = json!({"cfg": {"k-1": {"v": 7, "list": [1, 2]}}});
    let options = LoadOptions { rego_v0: true, ..options() };
    let loaded = load(&sources(&[old, user], &data), &options).unwrap();
    let ask = |query: &str| evaluate(&loaded, query, &json!({})).unwrap();
    assert_eq!(ask("data.u.y"), json!([7, [1, 2], 3]));
    assert_eq!(ask("data.u.all"), json!({"x": 7, "s": [1, 2]}));
    assert_eq!(ask("data.a[\"b-c\"].x"), json!(7));
}

#[test]
fn every_refusal_has_its_place() {
    for (module, code, line, column) in [
        ("package p\nx := y\n", "unsafe-variable", 2, 6),
        ("package p\nx if { not input.xs[_] == 1 }\n", "unsafe-variable", 2, 21),
        ("package p\nx := http.send({})\n", "unsupported-builtin", 2, 6),
        ("package p\nx := io.jwt.decode(\"\")\n", "unsupported-builtin", 2, 6),
        ("package p\nx := cuont([])\n", "unknown-function", 2, 6),
        ("package p\n# é\nx := \"é\" if { count([], 1, 2) }\n", "arity", 3, 15),
        ("package p\nf(a) := a\nx := f(1, 2)\n", "arity", 3, 6),
        ("package p\nf(a) := a\nf(a, b) := a\n", "arity", 3, 1),
        ("package p\nx := 1\nx contains 2\n", "rule-conflict", 3, 1),
        ("package p\ndefault x := 1\ndefault x := 2\n", "rule-conflict", 3, 9),
        ("package p\nx := 1\nx.y := 2\n", "rule-conflict", 3, 1),
        ("package p\ndefault x := input.y\n", "default-value", 2, 14),
        ("package p\nx if any([true])\n", "deprecated-builtin", 2, 6),
        ("package p\nx := 1 +\n", "parse-error", 3, 1),
        ("package p\nf(input) := 1\n", "name-collision", 2, 3),
        ("package p\nx if { some y; true }\n", "unused-variable", 2, 13),
    ] {
        let found = refused(&[module], &json!({}), &options());
        assert_eq!(found.len(), 1, "{module}: {found:?}");
        assert_eq!(
            (found[0].0.as_str(), found[0].2, found[0].3),
            (code, line, column),
            "{module}: {found:?}"
        );
    }
    let below = ["package p\nq := 1\n", "package p.q\nx := 1\n"];
    assert_eq!(codes(&below), ["package-conflict"]);
    let many = ["package p\nx := y\nz := nope.f(1)\n", "package q\nx := w\n"];
    assert_eq!(codes(&many).len(), 3);
    assert_eq!(codes(&["package p\nx := \n", "package q\ny := ]\n"]), ["parse-error"; 2]);
}

#[test]
fn positions_and_prints_lead_back_to_the_author() {
    let module = "package p\nimport data.a.long.path as s\n\
        x := concat(s.sep, [s.n, 1 / s.zero]) if print(\"é\", s.n)\n";
    let data = json!({"a": {"long": {"path": {"sep": "", "n": "n", "zero": 0}}}});
    let loaded = load(&sources(&[module], &data), &options()).unwrap();
    let mut engine = loaded.engine();
    engine.set_gather_prints(true);
    let error = engine.eval_query("data.p.x".into(), false).unwrap_err();
    let diagnostic = loaded.diagnose(&error.to_string());
    let position = diagnostic.position.unwrap();
    assert_eq!((position.file.as_str(), position.line), ("0.rego", 3));
    assert_eq!(position.text, module.lines().nth(2).unwrap());
    assert!(diagnostic.message.contains("divi"), "{}", diagnostic.message);
    let prints = engine.take_prints().unwrap();
    let line = loaded.print_line(&prints[0]);
    assert_eq!((line.file.as_str(), line.line, line.message.as_str()), ("0.rego", 3, "é n"));
}

#[test]
fn queries_are_checked_and_told_apart() {
    let loaded = loaded(&SPLIT);
    let form = |query: &str| loaded.rewrite_query(query).unwrap().form;
    let reference = |path: &[&str], target| QueryForm::Reference {
        path: path.iter().map(ToString::to_string).collect(),
        target,
    };
    assert_eq!(form("data"), reference(&[], QueryTarget::Root));
    assert_eq!(form("data.p"), reference(&["p"], QueryTarget::Package));
    assert_eq!(form("data.p.allow"), reference(&["p", "allow"], QueryTarget::Rule));
    assert_eq!(form("data[\"p\"].helper.v"), reference(&["p", "helper", "v"], QueryTarget::Rule));
    assert_eq!(form("data.cfg.x"), reference(&["cfg", "x"], QueryTarget::Document));
    assert_eq!(form("data.p[x]"), QueryForm::Expression);
    assert_eq!(form("data.p.allow == true"), QueryForm::Expression);
    for query in ["platform.discoverr(1, 2)", "x", "data.p.allow with nope as 1", "1 +", "allow"] {
        let error = loaded.rewrite_query(query).expect_err(query);
        assert_eq!(error.diagnostics()[0].position.as_ref().unwrap().file, "<query>", "{query}");
    }
    let called = loaded.rewrite_query("platform.evidence({}); x := data.p[_]").unwrap();
    assert_eq!(called.functions, ["platform.evidence"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn garbage_neither_panics_nor_hangs(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "package p", "import data.q as a", "x", "y", " := ", " = ", " if ", "{", "}", "[", "]",
                "(", ")", "a.b", "some ", " in ", "not ", "every ", " with input as ", "else", "\n",
                "\"s\"", "`r`", "|", ",", ":", ";", "1", "-", "data.p", "input", "_", "f(", "é", "#c\n",
                "contains ", "default ", "\t", "\r\n", "set(", "platform.discover(", ".",
            ]),
            0..60,
        ),
        v0: bool,
    ) {
        let text = format!("package p\n{}", words.concat());
        let options = LoadOptions { rego_v0: v0, ..options() };
        let start = std::time::Instant::now();
        if let Err(error) = load(&sources(&[&text], &json!({})), &options) {
            prop_assert!(!error.diagnostics().is_empty(), "{}: {}", error, text);
        }
        prop_assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn rewriting_keeps_lines(
        body in prop::collection::vec(
            prop::sample::select(vec![
                "x%N := cfg.a\n", "x%N := [v | v := cfg[_]]\n", "x%N if { some y in cfg.l; y == lib.n }\n",
                "# cfg.a é\n\n", "x%N := data.q\n", "f%N(cfg) := cfg.b\n",
                "x%N if {\n\tnot lib.n\n\tevery y in cfg { y }\n}\n",
                "x%N := \"cfg.a\"\n", "x%N := `\ncfg.a\n`\n",
            ]),
            0..12,
        ),
    ) {
        let rules: String =
            body.iter().enumerate().map(|(i, rule)| rule.replace("%N", &i.to_string())).collect();
        let text = format!("package p\nimport data.a.b.cfg\nimport data.q as\n lib\n{rules}");
        let loaded = loaded(&[&text, "package q\nn := 1\n"]);
        let rewritten = loaded.rewritten("0.rego").unwrap();
        prop_assert_eq!(rewritten.matches('\n').count(), text.matches('\n').count());
        for (index, line) in text.lines().enumerate() {
            let number = u32::try_from(index + 1).unwrap();
            let position = loaded.position("0.rego", number, 1).unwrap();
            prop_assert_eq!((position.line, position.column), (number, 1));
            prop_assert_eq!(position.text.as_str(), line);
        }
    }
}
