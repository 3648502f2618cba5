//! The cases of `docs/reference/regorus.md`: programs that regorus 0.14.1 answers differently from OPA,
//! or not at all. The answers are those of OPA 1.22.4.

use rego_platform::Value;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{DataSource, ModuleSource, Sources};
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies, QueryOutput};
use rego_platform::{Error, ErrorKind};

use crate::compare::differences::{Differences, surveyed};

struct Case {
    name: &'static str,
    modules: &'static [&'static str],
    data: &'static str,
    input: &'static str,
    query: &'static str,
    answer: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "a package in two files",
        modules: &[
            r"package p
y := 1",
            r#"package p
default allow := false
allow if not bad
bad if input.evil
violations contains "v" if bad"#,
        ],
        data: "{}",
        input: r#"{"evil": true}"#,
        query: "data.p",
        answer: r#"{"allow":false,"bad":true,"violations":["v"],"y":1}"#,
    },
    Case {
        name: "a package through an import",
        modules: &[
            r"package p
y := 1",
            r"package p
default allow := false
allow if not bad
bad if input.evil",
            r"package q
import data.p
r := p.allow",
        ],
        data: "{}",
        input: r#"{"evil": true}"#,
        query: "data.q.r",
        answer: "false",
    },
    Case {
        name: "imports of one name in two files",
        modules: &[
            r"package a
import data.real as cfg
x := cfg.v",
            r"package a
import data.fake as cfg
y := cfg.v",
        ],
        data: r#"{"real": {"v": 1}, "fake": {"v": 2}}"#,
        input: "{}",
        query: "data.a",
        answer: r#"{"x":1,"y":2}"#,
    },
    Case {
        name: "packages that import each other",
        modules: &[
            r"package a
import data.b
x := b.y
z := 1",
            r"package b
import data.a
y := a.z",
        ],
        data: "{}",
        input: "{}",
        query: "data.a.x",
        answer: "1",
    },
    Case {
        name: "not over an undefined operand",
        modules: &[r#"package p
r if not input.x == 1
s if not startswith(input.x, "a")"#],
        data: "{}",
        input: "{}",
        query: "data.p",
        answer: r#"{"r":true}"#,
    },
    Case {
        name: "an undefined operand in a head",
        modules: &[r#"package p
r contains sprintf("%s", [input.x]) if true"#],
        data: "{}",
        input: "{}",
        query: "data.p.r",
        answer: "[]",
    },
    Case {
        name: "some in what isn't a collection",
        modules: &[r"package p
r := [x | some x in input.s]"],
        data: "{}",
        input: r#"{"s": "abc"}"#,
        query: "data.p.r",
        answer: "[]",
    },
    Case {
        name: "with on a some",
        modules: &[r#"package p
r := [x, input] if {
	some x in input.a with input as {"a": [1]}
}"#],
        data: "{}",
        input: r#"{"a": [2]}"#,
        query: "data.p.r",
        answer: r#"[1,{"a":[2]}]"#,
    },
    Case {
        name: "a with value that reads a rule",
        modules: &[r#"package p
v := {"x": 1}
r if q with input as v
q if input.x == 1"#],
        data: "{}",
        input: "{}",
        query: "data.p.r",
        answer: "true",
    },
    Case {
        name: "an object pattern of another length",
        modules: &[r#"package p
r if {"a": 1} = input
s := x if {"a": x} = input"#],
        data: "{}",
        input: r#"{"a": 1, "b": 2}"#,
        query: "data.p",
        answer: "{}",
    },
    Case {
        name: "outer variables in every",
        modules: &[r#"package p
r if {
	x := 1
	every k, v in {"a": 1} { v == x; k == "a" }
}"#],
        data: "{}",
        input: "{}",
        query: "data.p.r",
        answer: "true",
    },
    Case {
        name: "numbers",
        modules: &[r"package p
r := [0.1 + 0.2 == 0.3, 9223372036854775807 + 1, 1.50]"],
        data: "{}",
        input: "{}",
        query: "data.p.r",
        answer: "[true,9223372036854775808,1.50]",
    },
    Case {
        name: "sets and objects in order",
        modules: &[r#"package p
r := sort([{1}, {"a": 1}, [1]])"#],
        data: "{}",
        input: "{}",
        query: "data.p.r",
        answer: r#"[[1],{"a":1},[1]]"#,
    },
    Case {
        name: "built-ins that differ",
        modules: &[r#"package p
r := [sprintf("%05d|%f", [3, 1.5]), floor(-0.5), strings.count("a", ""), object.subset([1], []), regex.split("a", "bab")]"#],
        data: "{}",
        input: "{}",
        query: "data.p.r",
        answer: r#"["00003|1.500000",0,2,true,["b","b"]]"#,
    },
    Case {
        name: "partial documents by a variable",
        modules: &[r#"package p
q["a"] := 1
q["b"] := 2
r := [k | some k; q[k] == 2]"#],
        data: "{}",
        input: "{}",
        query: "data.p.r",
        answer: r#"["b"]"#,
    },
];

fn ask(modules: &[&str], data: &str, input: &str, query: &str) -> Result<QueryOutput, Error> {
    let modules = modules.iter().enumerate();
    let modules = modules.map(|(n, text)| ModuleSource::new(format!("{n}.rego"), *text));
    let data = DataSource::new("data.json", Value::from_json(data).unwrap());
    let sources = Sources::new(modules, [data]);
    let policies = Policies::load(&sources, LoadOptions::default())?;
    let query = policies.query(query)?;
    let options = EvaluateOptions::new(Answers::Unavailable("there are no calls".to_owned()));
    policies.evaluate(&query, Some(&Value::from_json(input).unwrap()), &options).result
}

#[test]
fn the_answers_are_those_of_opa() {
    for case in CASES {
        let found = ask(case.modules, case.data, case.input, case.query);
        let found = found.unwrap_or_else(|error| panic!("{}: {}", case.name, error.report()));
        assert_eq!(found.value().unwrap().to_json(), case.answer, "{}", case.name);
    }
}

#[test]
fn a_query_is_undefined_where_one_of_its_expressions_is_false() {
    let found = ask(&["package p\nx := 1"], "{}", "{}", "data.p.x == 2; true").unwrap();
    assert!(found.is_undefined());
}

#[test]
fn an_error_in_one_of_several_definitions_is_the_result() {
    let module =
        "package p\nf(x) := 1 if to_number(x) == 1\nf(x) := 2 if x == \"a\"\nr := f(\"a\")";
    assert_eq!(ask(&[module], "{}", "{}", "data.p.r").unwrap_err().kind(), ErrorKind::Policy);
}

#[test]
fn functions_are_remembered_and_depth_ends_nothing() {
    let doubling: String =
        (0..22).map(|n| format!("f{n}(x) := f{0}(x) + f{0}(x)\n", n + 1)).collect();
    let doubling = format!("package p\n{doubling}f22(x) := x\nr := f0(1)");
    let found = ask(&[&doubling], "{}", "{}", "data.p.r").unwrap();
    assert_eq!(found.value().unwrap().to_json(), "4194304");
    let chain: String = (0..1500).map(|n| format!("r{n} := r{}\n", n + 1)).collect();
    let chain = format!("package p\n{chain}r1500 := 1");
    let found = ask(&[&chain], "{}", "{}", "data.p.r0").unwrap();
    assert_eq!(found.value().unwrap().to_json(), "1");
}

#[test]
fn a_program_that_would_not_end_is_refused() {
    let literal = format!("package p\nr := {}{}", "[".repeat(3000), "]".repeat(3000));
    let sum = format!("package p\nr := 1{}", " + 1".repeat(15_000));
    let conflict = "package p\nallow := false";
    for (module, data, code) in [
        ("package p\nf(x) := f(x + 1)\nr := f(1)", "{}", "recursion"),
        (literal.as_str(), "{}", "too-large"),
        (sum.as_str(), "{}", "too-large"),
        (conflict, r#"{"p": {"allow": true}}"#, "compile-error"),
        ("package p\nr if data.p.q with platform.discoverr as 1\nq := 1", "{}", "unknown-function"),
    ] {
        let error = ask(&[module], data, "{}", "data.p.r").unwrap_err();
        assert_eq!(error.diagnostics().first().unwrap().code, code);
    }
}

/// Every difference belongs to a row of `docs/reference/regorus.md`. A sample: all of them, which
/// `cargo run --example compare -- regorus FILE…` compares, take minutes.
#[test]
fn what_regorus_answers_otherwise_is_documented() {
    let file = |name: &str| format!("{}/crates/rego/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    let files = [file("generated.jsonl.gz"), file("calls.jsonl.gz")];
    let regressions = [file("regressions.jsonl")];
    let compare = std::thread::Builder::new().stack_size(256 << 20).spawn(move || {
        let unknown = Differences::of_files(&regressions, 1).unwrap().unknown;
        assert!(unknown.is_empty(), "{} of no row:\n{}", unknown.len(), unknown[0]);
        Differences::of_files(&files, 37).unwrap()
    });
    let found = compare.unwrap().join().unwrap();
    let unknown = &found.unknown;
    assert!(unknown.is_empty(), "{} of no row:\n{}", unknown.len(), unknown[0]);
    assert!(found.answers > 1_000 && found.rows.len() > 5, "{}", found.table());
    let page = include_str!("../../docs/reference/regorus.md");
    for row in found.rows.keys() {
        assert!(page.contains(&format!("| {row} | ")), "{row} isn't in the table");
    }
}

#[test]
fn a_record_of_what_is_reached_changes_no_answer() {
    let file = |name: &str| format!("{}/crates/rego/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    let files = [file("generated.jsonl.gz"), file("regressions.jsonl")];
    let compare =
        std::thread::Builder::new().stack_size(256 << 20).spawn(move || surveyed(&files, 11));
    let (answers, different) = compare.unwrap().join().unwrap().unwrap();
    assert!(different.is_empty(), "{} differ\n{}", different.len(), different[0]);
    assert!(answers > 1_000, "{answers}");
}
