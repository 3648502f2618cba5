#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::cell::RefCell;
use std::sync::Arc;

use super::*;
use crate::engine::{Halt, HostAnswer, HostCall, NoHost};
use crate::formatter::FormatOptions;

fn compile(text: &str, options: &Options) -> Program {
    let source =
        SourceText { path: "p.rego".to_owned(), text: text.to_owned(), version: BaseVersion::V1 };
    Program::compile(vec![source], options).unwrap_or_else(|error| panic!("{error}"))
}

/// The value of a query against a program of one module, as text; `undefined` if it has none.
fn value(text: &str, query: &str, input: &str) -> String {
    let program = compile(text, &Options::default());
    let query = program.query(query).unwrap_or_else(|error| panic!("{error}"));
    let input = Value::from_json(input).unwrap();
    let mut run = Run::new(&NoHost).input(&input);
    run.strict_builtin_errors = true;
    let outcome = program.evaluate(&query, &run);
    match &outcome.result {
        Err(error) => program.display_error(error),
        Ok(_) => outcome.value().map_or("undefined".to_owned(), ToString::to_string),
    }
}

/// A host that records the arguments of calls, and answers with the first one.
#[derive(Default)]
struct Echo {
    arguments: RefCell<Vec<String>>,
    printed: RefCell<Vec<String>>,
    checks: RefCell<u32>,
}

impl Host for Echo {
    fn call(&self, call: &HostCall<'_>) -> HostAnswer {
        let first = call.args[0].clone();
        self.arguments.borrow_mut().push(first.to_string());
        match first.as_str() {
            Some("nothing") => HostAnswer::Undefined,
            Some(text) if text.starts_with('?') => HostAnswer::Pending,
            Some("stop") => HostAnswer::Fail(Arc::new(std::fmt::Error)),
            _ => HostAnswer::Value(first),
        }
    }

    fn print(&self, _: Span, text: &str) {
        self.printed.borrow_mut().push(text.to_owned());
    }

    fn check(&self) -> Result<(), Halt> {
        *self.checks.borrow_mut() += 1;
        if *self.checks.borrow() > 20 { Err(Halt::new("out of time")) } else { Ok(()) }
    }
}

fn with_echo(text: &str, query: &str) -> (Outcome, Echo) {
    let function = HostFunction {
        name: "svc.ask".to_owned(),
        signature: "any -> any".to_owned(),
        nondeterministic: true,
    };
    let program = compile(text, &Options { host_functions: vec![function], ..Options::default() });
    let query = program.query(query).unwrap_or_else(|error| panic!("{error}"));
    let echo = Echo::default();
    let outcome = program.evaluate(&query, &Run::new(&echo));
    (outcome, echo)
}

#[test]
fn a_package_document_has_rules_of_every_kind() {
    let text = r#"package p
c := 1
s contains x if some x in [2, 1]
o[k] := v if some k, v in {"a": 1}
n[k].b[l] contains 1 if { some k in ["x"]; some l in ["y"] }
f(x) := x
default d := false
d if input.never"#;
    let document =
        r#"{"c": 1, "d": false, "n": {"x": {"b": {"y": {1}}}}, "o": {"a": 1}, "s": {1, 2}}"#;
    assert_eq!(value(text, "data.p", "{}"), document);
}

#[test]
fn a_conflict_lists_its_values_as_opa_does() {
    let text = "package p\nr := 1 if input.a\nr := 2 if input.b\n";
    let message = "p.rego:3: eval_conflict_error: rule data.p.r produced conflicting values:\n  \
                   1 at p.rego:2\n  2 at p.rego:3";
    assert_eq!(value(text, "data.p.r", r#"{"a": 1, "b": 1}"#), message);
    assert_eq!(value(text, "data.p.r", r#"{"a": 1}"#), "1");
}

#[test]
fn early_exit_is_only_for_constant_values() {
    let (outcome, echo) = with_echo(
        "package p\nr if { some x in [1, 2, 3]; svc.ask(x) }\nq := y if { some x in [1, 2]; y := svc.ask(1) }",
        "data.p.r; data.p.q",
    );
    assert!(outcome.result.is_ok());
    assert_eq!(*echo.arguments.borrow(), ["1", "1", "1"]);
    assert_eq!(outcome.calls.values().sum::<u64>(), 3);
}

#[test]
fn functions_are_cached_by_arguments_and_rules_by_with_frame() {
    let text = "package p\nf(x) := svc.ask(x)\nr := [f(1), f(1), f(2)]\nq := svc.ask(5)\ns := [q, q]\n\
                t := [x | some y in [1, 2]; x := q with input as y]";
    let (outcome, echo) = with_echo(text, "data.p.r; data.p.s; data.p.t");
    assert!(outcome.result.is_ok());
    assert_eq!(*echo.arguments.borrow(), ["1", "2", "5", "5", "5"]);
}

#[test]
fn a_replacement_is_called_only_within_its_with() {
    let text = "package p\nf(x) := svc.ask(x)\ng(x) := x + 1\nr := y if y := [f(1) | true] with svc.ask as g\n\
                s := y if y := f(1) with f as 7\nt := f(3)";
    let (outcome, echo) = with_echo(text, "x = [data.p.r, data.p.s, data.p.t]");
    assert_eq!(outcome.result.unwrap()[0].bindings["x"].to_string(), "[[2], 7, 3]");
    assert_eq!(*echo.arguments.borrow(), ["3"]);
}

#[test]
fn the_host_ends_an_evaluation_with_its_own_error() {
    let (outcome, _) = with_echo("package p\nr := svc.ask(\"stop\")", "data.p.r");
    let error = outcome.result.unwrap_err();
    assert_eq!(error.code, ErrorCode::Host);
    assert!(error.source.unwrap().is::<std::fmt::Error>());
    let text = "package p\nr := count([1 | numbers.range(1, 300)[_]; numbers.range(1, 300)[_]])";
    let (outcome, _) = with_echo(text, "data.p.r");
    assert_eq!(outcome.result.unwrap_err().code, ErrorCode::Cancel);
}

#[test]
fn print_shows_undefined_values() {
    let text = "package p\nr if { print(\"a\", {1, 2}, input.nope); svc.ask(\"nothing\") }";
    let (outcome, echo) = with_echo(text, "data.p.r");
    assert!(outcome.result.unwrap().is_empty());
    assert_eq!(*echo.printed.borrow(), ["a {1, 2} <undefined>"]);
}

#[test]
fn a_query_has_the_values_of_its_expressions_and_variables() {
    let program = compile("package p\nr := [1, 2]", &Options::default());
    let query = program.query("x := data.p.r[i]; x > 1").unwrap_or_else(|error| panic!("{error}"));
    let solutions = program.evaluate(&query, &Run::new(&NoHost)).result.unwrap();
    assert_eq!(solutions.len(), 1);
    assert_eq!(solutions[0].bindings["x"].to_string(), "2");
    let texts: Vec<_> = solutions[0]
        .expressions
        .iter()
        .map(|expression| (&*expression.text, expression.position))
        .collect();
    assert_eq!(texts, [("x := data.p.r[i]", (1, 1)), ("x > 1", (1, 19))]);
    let query = program.rule_query(&["p", "r"]);
    assert_eq!(program.evaluate(&query, &Run::new(&NoHost)).value().unwrap().to_string(), "[1, 2]");
}

#[test]
fn an_empty_query_is_not_blamed_on_a_module() {
    let program = compile("package p\nr := 1", &Options::default());
    for query in ["", " ", "# nothing"] {
        let error = program.query(query).unwrap_err();
        let place = error.sources.position(error.problems[0].span);
        assert_eq!((place.path, place.line, place.column), ("", 1, 1), "{query:?}");
    }
}

#[test]
fn limits_end_an_evaluation() {
    let mut text = String::from("package p\nf0(x) := x\n");
    for level in 1..200 {
        text.push_str(&format!("f{level}(x) := f{}(x)\n", level - 1));
    }
    text.push_str("r := f199(1)\nbig := [x | some x in numbers.range(1, 100000)]");
    let program = compile(&text, &Options::default());
    let code = |path: &str, limits: Limits| {
        let mut run = Run::new(&NoHost);
        run.limits = limits;
        program.evaluate(&program.rule_query(&["p", path]), &run).result.map_err(|error| error.code)
    };
    let limits = Limits { memory: 1 << 20, depth: 100 };
    assert_eq!(code("r", limits).unwrap_err(), ErrorCode::Limit);
    assert_eq!(code("big", limits).unwrap_err(), ErrorCode::Limit);
    assert_eq!(code("r", Limits::default()).unwrap().len(), 1);
}

#[test]
fn a_program_lists_its_packages_and_rules() {
    let text = "package a.b\nr if f(1)\nf(x) if data.a.c[x]\n";
    let program = compile(text, &Options::default());
    let rules: Vec<_> = program.rules().iter().map(|rule| (&*rule.path, rule.kind)).collect();
    assert_eq!(rules, [("data.a.b.f", RuleKind::Function), ("data.a.b.r", RuleKind::Complete)]);
    assert_eq!(program.rules()[1].depends_on, [0]);
    assert_eq!(program.packages()[0].path, "data.a.b");
    let printed = program.core().display(program.sources()).to_string();
    assert!(printed.contains("set data.a.b.r complete early-exit single"), "{printed}");
}

#[test]
fn an_indexed_comprehension_is_evaluated_once_even_if_its_head_uses_outer_variables() {
    let text = r#"package p
o := {"x": 1, "y": 2, "z": 9}
bs := [1, 2, 1]
r := [s | some k, n in o; s := [[k, b] | some b in bs; svc.ask(b); b == n]]
"#;
    let (outcome, echo) = with_echo(text, "data.p.r");
    let value = outcome.value().unwrap().to_string();
    assert_eq!(value, r#"[[["x", 1], ["x", 1]], [["y", 2]], []]"#);
    // Once for all keys, and again for the one that has no group, as in OPA.
    assert_eq!(echo.arguments.borrow().concat(), "121121");
}

/// Runs `work` with a stack that holds only a few levels of a tree.
fn with_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 << 10).spawn(work).unwrap().join().unwrap();
}

#[test]
fn chains_of_operators_and_branches_may_be_long() {
    with_small_stack(|| {
        let chain = |operator: &str, operand: &str, count| vec![operand; count].join(operator);
        for (operator, operand, expected) in [
            ("+", "1", "5000"),
            ("-", "1", "-4998"),
            ("*", "1", "1"),
            ("|", "{1}", "{1}"),
            ("&", "{1}", "{1}"),
        ] {
            let text = format!("package p\nr := [{}]", chain(operator, operand, 5000));
            assert_eq!(value(&text, "data.p.r", "{}"), format!("[{expected}]"));
        }
        let text = format!(
            "package p\nimport rego.v2\nr := 1 if {}\nelse := 2 if {}",
            chain(" and ", "input.a", 1000),
            chain(" or ", "input.b", 1000),
        );
        assert_eq!(value(&text, "data.p.r", r#"{"b": 1}"#), "2");
        let branches: String =
            (1..2000).map(|at| format!("\nelse := {at} if input.a == {at}")).collect();
        let text = format!("package p\nr := 0 if input.a == 0{branches}");
        assert_eq!(value(&text, "data.p.r", r#"{"a": 1999}"#), "1999");
        let formatted = crate::formatter::format("p.rego", &text, FormatOptions::default());
        assert_eq!(formatted.unwrap().matches("else := ").count(), 1999);
    });
}

#[test]
fn annotations_that_cannot_be_read_are_reported_as_in_opa() {
    let block = "# METADATA\n# title: [\n";
    let wrong = |line| format!("p.rego:{line}: yaml: line 1: did not find expected node content");
    for (text, expected) in [
        // After the statement that can't be parsed, and up to it.
        (
            format!("package p\n{block}x := 1\ny :=\n{block}z := 2\n{block}"),
            vec!["p.rego:8: unexpected assign token".to_owned(), wrong(3), wrong(7)],
        ),
        (
            format!("package p\nimport data.a.$\n{block}x := 1\n"),
            vec!["p.rego:2: illegal $ character".to_owned()],
        ),
        // Before what keeps the statements from being a module, and before other blocks' scopes.
        (format!("package p\nx {{ true }}\n{block}y := 1\n"), vec![wrong(4)]),
        (format!("# METADATA\n# scope: rule\npackage p\n{block}y := 1\n"), vec![wrong(5)]),
    ] {
        let source =
            SourceText { path: "p.rego".to_owned(), text: text.clone(), version: BaseVersion::V1 };
        let error = Program::compile(vec![source], &Options::default()).unwrap_err();
        let shown = error.problems.iter().map(|problem| {
            let position = error.sources.position(problem.span);
            format!("{}:{}: {}", position.path, position.line, problem.message)
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{text}");
    }
}

/// The calls of an evaluation that has no response to those whose argument begins with `?`.
#[test]
fn calls_that_need_no_pending_response_are_found_in_one_evaluation() {
    for (rules, expected) in [
        // Constructors, operators, assignments, functions.
        ("x := [svc.ask(\"?a\"), svc.ask(\"?b\"), svc.ask(\"?c\")]", "?a ?b ?c"),
        ("x := {\"a\": svc.ask(\"?a\"), \"b\": svc.ask(\"?b\")}", "?a ?b"),
        ("x := {svc.ask(\"?a\"), svc.ask(\"?b\")}", "?a ?b"),
        ("x := svc.ask(\"?a\") + svc.ask(\"?b\")", "?a ?b"),
        ("x if { a := svc.ask(\"?a\"); b := svc.ask(\"?b\"); a == b }", "?a ?b"),
        ("x := concat(svc.ask(\"?a\"), [lower(svc.ask(\"?b\")), svc.ask(\"?c\")])", "?a ?b ?c"),
        ("x := f(\"?a\", \"?b\")\n\nf(a, b) := [svc.ask(a), svc.ask(b)]", "?a ?b"),
        ("x := [f(\"?a\"), f(\"?b\")]\n\nf(a) := upper(svc.ask(a))", "?a ?b"),
        // Rules.
        ("x := [a, b, a]\n\na := svc.ask(\"?a\")\n\nb := svc.ask(\"?b\")", "?a ?b"),
        ("x if { a; b }\n\na if svc.ask(\"?a\") == 1\n\nb if svc.ask(\"?b\") == 1", "?a ?b"),
        ("x if { count(s) > 1; svc.ask(\"?b\") }\n\ns contains svc.ask(\"?a\")", "?a ?b"),
        (
            "x if { o.k == 1; svc.ask(\"?b\") }\n\no[k] := svc.ask(v) if some k, v in {\"k\": \"?a\"}",
            "?a ?b",
        ),
        // Comprehensions, iterations, `every`, negations, `or`.
        (
            "x if { l := [svc.ask(i) | some i in [\"?a\", \"?b\"]]; count(l) > 1; svc.ask(\"?c\") }",
            "?a ?b ?c",
        ),
        ("x if { some i in [\"?a\", \"?b\"]; svc.ask(i) == svc.ask(\"?c\") }", "?a ?c ?b"),
        ("x if { every i in [\"?a\", \"?b\"] { svc.ask(i) == 1 }; svc.ask(\"?c\") }", "?a ?b ?c"),
        ("x if { not svc.ask(\"?a\") == 1; not svc.ask(\"?b\") }", "?a ?b"),
        ("x if { svc.ask(\"?a\") == 1 with input as {}; svc.ask(\"?b\") }", "?a ?b"),
        // What needs a response waits for it.
        ("x := svc.ask(svc.ask(\"?a\"))", "?a"),
        ("x if { a := svc.ask(\"?a\"); [y | y := svc.ask(a)]; svc.ask(\"?b\") }", "?a ?b"),
        ("x if { a := svc.ask(\"?a\"); every i in a { svc.ask(i) }; svc.ask(\"?b\") }", "?a ?b"),
        ("x if { some i in svc.ask(\"?a\"); svc.ask(i); svc.ask(\"?b\") }", "?a ?b"),
        ("x if { a := svc.ask(\"?a\"); {\"k\": k} := a; svc.ask(k); svc.ask(\"?b\") }", "?a ?b"),
        ("x := svc.ask(\"?a\") if true\nelse := svc.ask(\"?b\")", "?a"),
        // A condition that doesn't hold, whatever the response is.
        ("x if { svc.ask(\"?a\"); 1 == 2; svc.ask(\"?b\") }", "?a"),
        ("x if { a := svc.ask(\"?a\"); b := svc.ask(\"b\"); b == \"c\"; svc.ask(a) }", "?a b"),
    ] {
        let (outcome, echo) = with_echo(&format!("package p\n\n{rules}\n"), "data.p.x");
        // A call that is found twice is made once.
        let mut asked: Vec<String> = Vec::new();
        for text in echo.arguments.borrow().iter().map(|text| text.trim_matches('"')) {
            if !asked.iter().any(|known| known == text) {
                asked.push(text.to_owned());
            }
        }
        assert_eq!(asked.join(" "), expected, "{rules}");
        assert!(outcome.result.is_ok(), "{rules}: {:?}", outcome.result);
    }
}

/// Rules of which each takes the one before twice would take forever if all were evaluated again.
#[test]
fn an_unknown_rule_is_evaluated_once() {
    let rules: Vec<String> =
        (1..60).map(|index| format!("r{index} := [r{0}, r{0}]\n\n", index - 1)).collect();
    let text = format!("package p\n\nr0 := svc.ask(\"?a\")\n\n{}", rules.concat());
    let (_, echo) = with_echo(&text, "data.p.r59");
    assert_eq!(echo.arguments.borrow().len(), 1);
}
