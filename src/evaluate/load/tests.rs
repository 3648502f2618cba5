//! The cases in which the interpreter alone lets gates pass, dies or hangs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::format_push_string, reason = "tests")]

use regorus::{Engine, Value};
use serde_json::{Value as Json, json};

mod heads;
mod mocks;
mod places;
mod properties;

use super::*;
use crate::evaluate::sources::{DataSource, ModuleSource};

fn options() -> LoadOptions {
    let function = |short: &str, arity| FunctionName { short: short.into(), arity };
    LoadOptions {
        functions: vec![function("discover", 2), function("evidence", 1)],
        host_functions: vec![("host.lookup".into(), 1)],
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
            text += &format!("r{i} := r{} + 1\n", i - 1);
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
